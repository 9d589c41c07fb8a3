"""P-values by enumeration of every flip and labelling, effect sizes by their definitions."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.stats import permutation_test

from vocab_audits.signflips import cliffs_delta, cohens_dz, label_swaps, matched, sign_flips
from workbench.multiple import holm

NUMBERS = st.integers(-6, 6).map(lambda value: value / 4)


@given(st.lists(NUMBERS, min_size=1, max_size=9))
def test_sign_flips_are_those_of_every_flip(values):
    differences = np.array(values)
    sums = [abs(sum(signs * differences)) for signs in product((-1, 1), repeat=len(values))]
    share = np.mean(np.array(sums) >= abs(differences.sum()) - 1e-9)
    found = sign_flips(differences, 10, 0)
    assert found.how == "exact"
    assert found.p == pytest.approx(share)


def test_sign_flips_are_those_of_scipy():
    differences = np.array([2, 1, 1, -1, 3, 0, 1, 2, 1, 1.0])
    theirs = permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert sign_flips(differences, 10, 0).p == pytest.approx(theirs.pvalue)


def test_what_cannot_be_gone_through_is_drawn():
    chance = np.random.default_rng(3)
    differences = chance.normal(0.1, 1, 40)
    drawn = sign_flips(differences, 20_000, 1)
    assert drawn.how == "drawn"
    assert drawn == sign_flips(differences, 20_000, 1)
    signs = chance.choice((-1, 1), (200_000, 40))
    other = np.mean(np.abs(signs @ differences) >= abs(differences.sum()))
    assert drawn.p == pytest.approx(other, abs=0.015)
    assert sign_flips(np.abs(differences), 99, 1).p == pytest.approx(1 / 100)  # none of 99 goes as far


def test_no_pair_and_no_difference():
    assert sign_flips(np.array([]), 10, 0).p is None
    assert sign_flips(np.zeros(5), 10, 0).p == 1


@given(st.lists(NUMBERS, min_size=2, max_size=4), st.lists(NUMBERS, min_size=2, max_size=4))
def test_label_swaps_are_those_of_every_labelling(one, two):
    first, second = np.array(one), np.array(two)
    every = np.concatenate([first, second])
    weight = np.arange(1.0, len(every) + 1)

    def apart(places) -> float:
        inside = np.isin(np.arange(len(every)), places)
        means = [np.average(every[side], weights=weight[side]) for side in (inside, ~inside)]
        return round(float(means[1] - means[0]), 12)

    observed = apart(range(len(first)))
    found = [apart(places) for places in combinations(range(len(every)), len(first))]
    sides = [np.mean([value <= observed for value in found]), np.mean([value >= observed for value in found])]
    weights = (weight[: len(first)], weight[len(first) :])
    tested = label_swaps(first, second, weights, 1000, 0)
    assert tested.how == "exact"
    assert tested.p == pytest.approx(min(1.0, 2 * min(sides)))


def test_long_groups_are_drawn():
    chance = np.random.default_rng(0)
    first, second = chance.normal(0, 1, 60), chance.normal(1, 1, 50)
    weights = (np.ones(60), np.ones(50))
    tested = label_swaps(first, second, weights, 999, 0)
    assert (tested.how, tested.p) == ("drawn", pytest.approx(2 / 1000))
    assert label_swaps(first, second[:0], (weights[0], weights[1][:0]), 999, 0).p is None


def test_holm_as_in_a_worked_example():
    # 0.01 × 4, 0.02 × 3 and 0.03 × 2 both 0.06, then 0.05 held up by it; None does not count.
    assert holm([0.05, None, 0.01, 0.03, 0.02]) == pytest.approx([0.06, None, 0.04, 0.06, 0.06], nan_ok=True)
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_as_the_step_down_rule_says(values):
    adjusted = holm(values)
    for level in (0.01, 0.05, 0.3):
        rejected: set[int] = set()
        for rank, place in enumerate(np.argsort(values, kind="stable").tolist()):
            if values[place] * (len(values) - rank) > level:
                break
            rejected.add(place)
        assert {place for place, value in enumerate(adjusted) if value <= level} >= rejected
        assert all(adjusted[place] <= level for place in rejected)


@given(st.lists(NUMBERS, min_size=1, max_size=9), st.lists(NUMBERS, min_size=1, max_size=9))
def test_cliffs_delta_counts_all_pairs(one, two):
    wins = sum((b > a) - (b < a) for a, b in product(one, two))
    assert cliffs_delta(np.array(one), np.array(two)) == pytest.approx(wins / (len(one) * len(two)))
    assert cliffs_delta(np.array(two), np.array(one)) == pytest.approx(-wins / (len(one) * len(two)))


def test_cohens_dz_by_hand():
    assert cohens_dz(np.array([1.0, 2.0, 3.0])) == pytest.approx(2.0)
    assert cohens_dz(np.array([1.0, 1.0])) is None
    assert cohens_dz(np.array([1.0])) is None
    assert cliffs_delta(np.array([]), np.array([1.0])) is None


@given(st.lists(st.integers(0, 20), max_size=7), st.lists(st.integers(0, 20), max_size=7), st.integers(0, 6))
def test_as_many_pairs_as_can_be_made(one, two, apart):
    first, second = np.array(one, float), np.array(two, float)
    pairs = matched(first, second, apart)
    assert all(abs(first[a] - second[b]) <= apart for a, b in pairs.tolist())
    assert len({a for a, _ in pairs.tolist()}) == len({b for _, b in pairs.tolist()}) == len(pairs)
    allowed = np.abs(first[:, None] - second[None]) <= apart
    rows, columns = linear_sum_assignment(allowed, maximize=True)
    assert len(pairs) == allowed[rows, columns].sum()


def test_unknown_values_are_not_paired():
    assert matched(np.array([np.nan, 1.0]), np.array([np.nan, 1.1, np.nan]), 0.25).tolist() == [[1, 1]]
