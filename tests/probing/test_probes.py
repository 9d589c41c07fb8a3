"""Probes against scikit-learn, and on states whose content is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probing import probes
from tests.outside import without
from workbench.errors import MissingExtra, SutureError


def language(rows=1500, width=40, seed=0, kinds=120, classes=5, strength=1.5, identity=1.0):
    """Words of types; a type has a usual class, from which a tenth of its occurrences depart.

    States hold the class along a few directions and the identity of the type along others.
    """
    rng = np.random.default_rng(seed)
    types = rng.zipf(1.3, rows) % kinds
    usual = rng.integers(0, classes, kinds)
    labels = np.where(rng.random(rows) < 0.1, rng.integers(0, classes, rows), usual[types])
    states = rng.normal(size=(rows, width))
    states += strength * rng.normal(size=(classes, width))[labels]
    states += identity * rng.normal(size=(kinds, width))[types]
    return states.astype(np.float32), labels, types, np.arange(rows) // 10


def test_no_group_is_in_both_parts():
    groups = np.repeat(np.arange(40), 5)
    found = probes.split(groups, seed=3)
    assert not set(groups[found.train]) & set(groups[found.test])
    assert len(set(groups[found.test])) == 10
    assert sorted([*found.train, *found.test]) == list(range(200))


@pytest.mark.parametrize("width", [10, 400])
def test_the_ridge_is_scikit_learns(width):
    from sklearn.linear_model import RidgeClassifier
    from sklearn.preprocessing import StandardScaler

    states, labels, types, _ = language(300, width)
    control = probes.control_labels(types, labels)
    found, converged = probes.predictions(
        states[:200], [labels[:200], control[:200]], states[200:], "ridge", 3.0
    )
    scaler = StandardScaler().fit(states[:200].astype(np.float64))
    for ours, target in zip(found, (labels, control), strict=True):
        theirs = RidgeClassifier(alpha=3.0).fit(
            scaler.transform(states[:200].astype(np.float64)), target[:200]
        )
        assert (ours == theirs.predict(scaler.transform(states[200:].astype(np.float64)))).all()
    assert converged


def test_the_figures_are_those_counted_by_hand():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    states, labels, types, groups = language(600)
    found = probes.probe(states, labels, types, groups, kind="logistic", draws=50)
    train, test = probes.split(groups)
    control = probes.control_labels(types, labels)
    accuracy = []
    for target in (labels, control):
        fitted = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(
            states[train], target[train]
        )
        accuracy.append(fitted.predict(states[test]) == target[test])
    seen = np.array([word in set(types[train]) for word in types[test]])
    assert found.accuracy.value == pytest.approx(accuracy[0].mean(), abs=0.007)
    assert found.control.value == pytest.approx(accuracy[1].mean(), abs=0.007)
    assert found.selectivity.value == pytest.approx(found.accuracy.value - found.control.value)
    assert found.seen.value == pytest.approx(accuracy[0][seen].mean(), abs=0.007)
    assert found.unseen.value == pytest.approx(accuracy[0][~seen].mean(), abs=0.1)
    assert found.seen_share == pytest.approx(seen.mean())
    common = np.bincount(labels[train]).argmax()
    assert found.majority == pytest.approx((labels[test] == common).mean())
    usual = {word: np.bincount(labels[train][types[train] == word]).argmax() for word in set(types[train])}
    by_type = [usual.get(word, common) for word in types[test]]
    assert found.type_majority == pytest.approx((np.array(by_type) == labels[test]).mean())
    assert (found.train, found.test, found.classes, found.converged) == (len(train), len(test), 5, True)


@pytest.mark.parametrize("kind", ["ridge", "logistic"])
def test_a_layer_of_identity_is_less_selective_than_one_of_the_property(kind):
    words = probes.probe(*language(strength=0.0, identity=4.0), kind=kind, draws=20)
    property_ = probes.probe(*language(strength=3.0, identity=0.0), kind=kind, draws=20)
    assert words.control.value > 0.8 > property_.control.value
    assert property_.selectivity.value > words.selectivity.value + 0.3
    assert words.accuracy.value <= words.type_majority + 0.05
    assert property_.unseen.value > 0.9


def test_control_labels_are_one_to_a_type_and_as_frequent_as_the_labels():
    types = np.repeat(np.arange(4000), 2)
    labels = np.random.default_rng(0).choice(3, 8000, p=[0.7, 0.2, 0.1])
    found = probes.control_labels(types, labels)
    assert (found[::2] == found[1::2]).all()
    np.testing.assert_allclose(np.bincount(found) / 8000, [0.7, 0.2, 0.1], atol=0.03)
    assert (found == probes.control_labels(types, labels)).all()
    assert (found != probes.control_labels(types, labels, seed=1)).any()


def test_a_split_by_type_has_no_control():
    states, labels, types, _ = language()
    found = probes.probe(states, labels, types, types, draws=20)
    assert found.control == found.selectivity == found.seen == (None, None, None)
    assert found.seen_share == 0
    assert found.unseen == found.accuracy
    assert found.type_majority == found.majority


def test_the_interval_is_over_groups():
    states, labels, types, groups = language(2000, strength=0.5)
    rows = probes.probe(states, labels, types, np.arange(2000), draws=500)
    share = rows.accuracy.value
    normal = 2 * 1.96 * np.sqrt(share * (1 - share) / rows.test)
    assert rows.accuracy.high - rows.accuracy.low == pytest.approx(normal, rel=0.15)
    tenfold = [np.repeat(each, 10, axis=0) for each in (states, labels, types, np.arange(2000))]
    whole = probes.probe(*tenfold, draws=500)
    assert whole.accuracy.high - whole.accuracy.low > 2 * np.sqrt(share * (1 - share) / whole.test) * 1.96 * 2
    assert probes.probe(states, labels, types, groups, draws=0).accuracy.low is None


def test_a_probe_of_noise_reaches_no_more_than_the_majority():
    _, labels, types, groups = language()
    noise = np.random.default_rng(7).normal(size=(1500, 20)).astype(np.float32)
    found = probes.probe(noise, labels, types, groups, draws=20)
    assert found.accuracy.value < found.majority + 0.06


def test_rows_that_are_not_finite_and_dimensions_that_never_vary_do_no_harm():
    states, labels, types, groups = language(600)
    clean = probes.probe(states[1:], labels[1:], types[1:], groups[1:], draws=20)
    wide = np.concatenate([states, np.full((600, 1), 0.3, np.float32)], axis=1)
    wide[0, 0] = np.nan
    found = probes.probe(wide, labels, types, groups, draws=20)
    assert found.undefined == 1
    assert found._replace(undefined=0) == clean


@settings(max_examples=20, deadline=None)
@given(st.permutations(["a", "b", "c", "d", "e"]))
def test_names_of_classes_do_not_matter_but_for_ties(names):
    states, labels, types, groups = language(400)
    found = probes.probe(states, np.array(names)[labels], types, groups, draws=0)
    assert found.accuracy == probes.probe(states, labels, types, groups, draws=0).accuracy


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"labels": np.zeros(600, int)}, "two classes"),
        ({"groups": np.zeros(600, int)}, "two groups"),
        ({"types": np.zeros(9, int)}, "one to a row"),
        ({"kind": "forest"}, "ridge, logistic; got 'forest'"),
    ],
)
def test_what_cannot_be_probed_is_refused_in_a_sentence(change, said):
    given_ = dict(zip(("states", "labels", "types", "groups"), language(600), strict=True))
    with pytest.raises(SutureError, match=said):
        probes.probe(**{**given_, **change})


def test_without_scikit_learn_the_install_line_is_said(monkeypatch):
    without(monkeypatch, "sklearn")
    with pytest.raises(MissingExtra, match="pip install"):
        probes.probe(*language(100))
