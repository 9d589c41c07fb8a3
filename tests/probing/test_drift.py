"""Drift against pairs formed one by one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cosine as distance

from probing import directions, drift
from workbench.errors import SutureError

VIEWS = ("raw", "centred", "standardised")
MATRIX = arrays(np.float32, st.tuples(st.integers(3, 9), st.just(4)), elements=st.integers(-8, 8))


def states(rows=60, width=7, seed=0, offset=1.0):
    return (np.random.default_rng(seed).normal(size=(rows, width)) + offset).astype(np.float32)


def seen(rows, view):
    """The view written out: less the mean, over the deviation."""
    wide = rows.astype(np.float64)
    if view == "raw":
        return wide
    away = wide - wide.mean(0)
    return away if view == "centred" else away / wide.std(0)


@pytest.mark.parametrize("view", VIEWS)
def test_cosine_and_baseline_are_those_of_single_pairs(view):
    one, two = states(), states(seed=1)
    left, right = seen(one, view), seen(two, view)
    pairs = np.array([[1 - distance(x, y) for y in right] for x in left])
    found = drift.drift(one, two, view)
    np.testing.assert_allclose(found.cosine.data, np.diag(pairs), atol=1e-9)
    others = pairs[~np.eye(len(one), dtype=bool)].mean()
    assert found.baseline == pytest.approx(others, abs=1e-9)
    np.testing.assert_allclose(found.adjusted.data, np.diag(pairs) - others, atol=1e-9)
    np.testing.assert_allclose(found.rescaled.data, (np.diag(pairs) - others) / (1 - others), atol=1e-9)
    np.testing.assert_allclose(found.angle.data, np.arccos(np.diag(pairs)), atol=1e-6)
    length = np.linalg.norm(two.astype(float), axis=1)
    np.testing.assert_allclose(
        found.update.data, np.linalg.norm((one - two).astype(float), axis=1) / length, rtol=1e-6
    )


def test_the_size_of_a_block_changes_nothing(monkeypatch):
    one, two = states(), states(seed=1)
    labels = np.repeat(np.arange(12), 5)
    whole = [drift.drift(one, two, view) for view in VIEWS], directions.group_sums(one, labels, 12)
    monkeypatch.setattr(directions, "AT_ONCE", 30)
    parts = [drift.drift(one, two, view) for view in VIEWS], directions.group_sums(one, labels, 12)
    for a, b in zip(whole[0], parts[0], strict=True):
        np.testing.assert_allclose(a.cosine.data, b.cosine.data, atol=1e-12)
        assert a.baseline == pytest.approx(b.baseline, abs=1e-12)
    np.testing.assert_allclose(whole[1][0], parts[1][0], atol=1e-12)
    assert (whole[1][1] == parts[1][1]).all()


def test_sums_are_taken_in_64_bits():
    """In 16 or 32 bits, the sum of so many equal rows would be far off."""
    rows = np.full((70_000, 2), 0.1, np.float16)
    assert drift.baseline(rows, rows) == pytest.approx(1.0, abs=1e-9)
    assert directions.moments(rows).mean == pytest.approx(float(np.float16(0.1)), abs=1e-9)


def test_what_has_no_direction_is_masked_and_out_of_every_mean():
    one, two = states(), states(seed=1)
    clean = drift.drift(one[3:], two[3:])
    one[0], two[1], one[2, 3] = 0, 0, np.nan
    found = drift.drift(one, two)
    assert directions.known(found.cosine).tolist() == [False] * 3 + [True] * 57
    assert found.cosine.tolist()[:3] == [None] * 3
    assert found.baseline == pytest.approx(clean.baseline, abs=1e-12)
    assert directions.mean(found.cosine) == pytest.approx(directions.mean(clean.cosine), abs=1e-12)
    assert found.update.tolist()[1:3] == [None, None]
    assert drift.norm(one).tolist()[0] == 0
    assert drift.norm(one).tolist()[2] is None
    for values in found:
        assert np.isfinite(np.ma.getdata(values)).all()


def test_a_dimension_that_never_varies_does_not_undo_the_rest():
    one = states()
    without = drift.baseline(one[:, 1:], one[:, 1:], "standardised")
    one[:, 0] = 3.7
    assert drift.baseline(one, one, "standardised") == pytest.approx(without, abs=1e-9)


def test_rows_all_alike_have_no_centred_direction():
    rows = np.full((5, 3), 0.1, np.float32)
    found = drift.drift(rows, rows, "centred")
    assert (found.cosine.tolist(), found.baseline) == ([None] * 5, None)
    raw = drift.drift(rows, rows)
    assert raw.rescaled.tolist() == [None] * 5
    assert raw.adjusted.tolist() == pytest.approx([0] * 5)


def test_the_cross_layer_baseline_is_not_that_of_one_layer():
    """Two layers of strong but opposite anisotropy: chance between them is −1, not +1."""
    one = states(offset=50.0)
    two = states(seed=1, offset=-50.0)
    found = drift.drift(one, two)
    assert drift.baseline(one, one) > 0.99
    assert found.baseline < -0.99
    assert abs(directions.mean(found.adjusted)) < 0.01


def test_a_way_round_a_circle_is_straight_and_one_there_and_back_is_not():
    turns = np.radians([0, 30, 60, 90])
    layers = [np.array([[np.cos(turn), np.sin(turn)]]) for turn in turns]
    steps = [drift.angle(drift.cosine(b, a)) for a, b in pairwise(layers)]
    whole = drift.angle(drift.cosine(layers[-1], layers[0]))
    assert drift.path(steps).tolist() == pytest.approx([np.pi / 2])
    assert drift.straightness(steps, whole).tolist() == pytest.approx([1.0])
    back = [*steps, *steps]
    assert drift.straightness(back, drift.angle(drift.cosine(layers[0], layers[0]))).tolist() == [0.0]
    still = drift.angle(drift.cosine(layers[0], layers[0]))
    assert drift.straightness([still, still], still).tolist() == [None]


def test_a_cosine_that_rounding_puts_beyond_one_has_an_angle():
    rows = states(500, 3)
    found = drift.cosine(rows, rows * 3)
    assert found.max() <= 1
    assert np.isfinite(drift.angle(found).data).all()


def test_moments_of_more_units_than_these_may_be_given():
    every = states(200)
    about = directions.moments(every)
    found = drift.cosine(every[:9], every[:9] * 2 - 1, "centred", (about, about))
    far = seen(every, "centred")[:9]
    other = (every[:9] * 2 - 1).astype(float) - every.astype(float).mean(0)
    expected = [1 - distance(x, y) for x, y in zip(far, other, strict=True)]
    np.testing.assert_allclose(found.data, expected, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(MATRIX, st.floats(0.25, 4))
def test_raw_cosine_ignores_length_and_rotation(rows, factor):
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))
    other = rows[::-1]
    found = drift.drift(rows, other)
    turned = drift.drift(rows @ rotation * factor, other @ rotation)
    np.testing.assert_allclose(found.cosine.data, turned.cosine.data, atol=1e-9)
    if found.baseline is not None:
        assert found.baseline == pytest.approx(turned.baseline, abs=1e-9)
        assert -1 - 1e-9 <= found.baseline <= 1 + 1e-9


@pytest.mark.parametrize(
    ("one", "two", "said"),
    [
        (states(3), states(4), "one shape"),
        (states(3), states(3, 5), "one shape"),
        (np.ones((3, 7), int), states(3), "floats"),
        (np.ones(3), np.ones(3), "floats"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(one, two, said):
    with pytest.raises(SutureError, match=said):
        drift.drift(one, two)
