"""Permutation tests against enumeration by hand and against scipy."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test

from probing import significance
from workbench.errors import SutureError
from workbench.multiple import holm


def by_hand(scores, first):
    """Every partition, one at a time."""
    chosen = [list(part) for part in combinations(range(len(scores)), first)]
    others = [[i for i in range(len(scores)) if i not in part] for part in chosen]
    found = [np.mean(scores[a]) - np.mean(scores[b]) for a, b in zip(chosen, others, strict=True)]
    observed = found[0]
    return (
        np.mean([value >= observed - 1e-12 for value in found]),
        np.mean([abs(value) >= abs(observed) - 1e-12 for value in found]),
    )


@pytest.mark.parametrize(("first", "second"), [(4, 4), (3, 5), (1, 6), (5, 2)])
def test_counted_out_p_is_that_of_enumeration(first, second):
    scores = np.random.default_rng(first).normal(size=(3, first + second))
    found = significance.repartitioned(scores, first)
    assert found.kind == "exact"
    for row, greater, beyond in zip(scores, found.greater, found.two_sided, strict=True):
        assert (greater, beyond) == pytest.approx(by_hand(row, first), abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-2, 2), min_size=2, max_size=8), st.data())
def test_ties_count_as_extreme(values, data):
    first = data.draw(st.integers(1, len(values) - 1))
    scores = np.array(values) / 10
    found = significance.repartitioned(scores[None], first)
    assert (found.greater[0], found.two_sided[0]) == pytest.approx(by_hand(scores, first), abs=1e-12)


def test_the_same_p_as_scipys_exact_test():
    rng = np.random.default_rng(3)
    one, two = rng.normal(size=6) + 0.5, rng.normal(size=7)
    theirs = permutation_test(
        (one, two), lambda a, b: a.mean() - b.mean(), alternative="greater", n_resamples=np.inf
    )
    found = significance.repartitioned(np.concatenate([one, two])[None], 6)
    assert found.greater[0] == pytest.approx(theirs.pvalue, abs=1e-12)


def test_scores_all_alike_are_no_evidence():
    found = significance.repartitioned(np.full((1, 8), 0.1), 4)
    assert (found.greater[0], found.two_sided[0]) == (1.0, 1.0)


def test_larger_sets_are_drawn_and_never_give_p_zero(monkeypatch):
    scores = np.random.default_rng(1).normal(size=(1, 16))
    scores[0, :8] += 0.7
    exact = significance.repartitioned(scores, 8)
    monkeypatch.setattr(significance, "COUNTED_OUT", 100)
    drawn = significance.repartitioned(scores, 8, draws=40_000)
    assert (drawn.kind, drawn.looked_at) == ("monte carlo", 40_000)
    assert drawn.greater[0] == pytest.approx(exact.greater[0], abs=0.004)
    far = significance.repartitioned(np.array([[9.0] * 20 + [0.0] * 20]), 20, draws=500)
    assert far.greater[0] == 1 / 501
    assert (
        significance.repartitioned(scores, 8, draws=99).greater
        == significance.repartitioned(scores, 8, draws=99).greater
    )


def test_blocks_change_nothing(monkeypatch):
    scores = np.random.default_rng(1).normal(size=(2, 10))
    whole = significance.repartitioned(scores, 5), significance.sign_flipped(scores)
    monkeypatch.setattr(significance, "AT_ONCE", 70)
    parts = significance.repartitioned(scores, 5), significance.sign_flipped(scores)
    for a, b in zip(whole, parts, strict=True):
        assert (a.greater == b.greater).all()
        assert (a.two_sided == b.two_sided).all()


def test_signs_are_flipped_in_every_pattern():
    differences = np.random.default_rng(2).normal(size=7) + 0.4
    found = significance.sign_flipped(differences[None])
    means = [np.mean(differences * signs) for signs in product((1, -1), repeat=7)]
    observed = differences.mean()
    assert found.greater[0] == pytest.approx(np.mean([m >= observed - 1e-12 for m in means]))
    assert found.two_sided[0] == pytest.approx(np.mean([abs(m) >= abs(observed) - 1e-12 for m in means]))


def test_holm_is_the_step_down_rule():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, None, 0.9]) == [1.0, None, 1.0]
    assert holm([]) == []


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_keeps_the_order_and_never_lowers_p(values):
    found = holm(values)
    assert all(value <= corrected <= 1 for value, corrected in zip(values, found, strict=True))
    assert [found[i] for i in np.argsort(values, kind="stable")] == sorted(found)
    assert max(found) <= max(min(1, len(values) * value) for value in values) + 1e-12


def test_an_interval_is_over_whole_groups_and_of_what_is_defined():
    rng = np.random.default_rng(5)
    middle = rng.normal(size=200)
    values = np.ma.masked_array(np.repeat(middle, 10), mask=np.arange(2000) % 10 == 3)
    found = significance.interval(values, np.repeat(np.arange(200), 10))
    assert found.value == pytest.approx(middle.mean())
    assert found.high - found.low == pytest.approx(2 * 1.96 * middle.std() / np.sqrt(200), rel=0.12)
    alone = significance.interval(values, np.arange(2000))
    assert found.high - found.low > 2.5 * (alone.high - alone.low)


def test_what_is_nowhere_defined_has_no_interval():
    nothing = np.ma.masked_array(np.zeros(3), mask=True)
    assert significance.interval(nothing, np.arange(3)) == (None, None, None)
    with pytest.raises(SutureError, match="one to a row"):
        significance.interval(nothing, np.arange(2))
