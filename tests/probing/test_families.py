"""Offsets, analogies and matched splits against loops over pairs and against what was put in."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cosine as distance

from probing import families
from workbench.errors import SutureError


def draw(rows, width=8, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)


def test_constancy_is_the_mean_cosine_of_two_offsets():
    base, derived = draw(9), draw(9, seed=1) + 1
    offsets = derived.astype(np.float64) - base
    expected = np.mean([1 - distance(a, b) for a, b in combinations(offsets, 2)])
    found = families.constancy(base, derived, draws=50)
    assert found.cosine == pytest.approx(expected, abs=1e-9)
    assert found.pairs == 9


def test_a_suffix_with_one_offset_is_constant_and_shuffled_pairs_are_not():
    base = draw(30)
    found = families.constancy(base, base + np.ones(8, np.float32), draws=200)
    assert found.cosine == pytest.approx(1.0, abs=1e-5)
    assert found.baseline < 0.6
    assert found.p == 1 / 201


def test_two_groups_far_apart_make_offsets_alike_without_a_suffix():
    found = families.constancy(draw(30), draw(30, seed=1) + 50, draws=200)
    assert found.cosine > 0.99
    assert found.cosine - found.baseline == pytest.approx(0, abs=0.001)
    p = [
        families.constancy(draw(30, seed=seed), draw(30, seed=seed + 99) + 50, draws=49).p
        for seed in range(40)
    ]
    assert np.mean(p) == pytest.approx(0.5, abs=0.15)
    assert np.mean(np.array(p) <= 0.1) <= 0.25


def test_pairs_without_an_offset_are_left_out():
    base, derived = draw(4), draw(4, seed=1)
    derived[0], derived[1, 0] = base[0], np.nan
    assert families.constancy(base, derived, draws=5).pairs == 2
    assert families.constancy(base[:1], derived[:1]) == (None, None, None, 0)
    assert families.constancy(base[2:3], derived[2:3]) == (None, None, None, 1)


def one_by_one(base, derived, others):
    words = np.concatenate([base, derived, others]).astype(np.float64)
    words /= np.linalg.norm(words, axis=1)[:, None]
    n, right, plain, questions = len(base), 0, 0, 0
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            questions += 1
            candidates = [w for w in range(len(words)) if w not in {i, n + i, j}]
            query = words[n + i] - words[i] + words[j]
            right += max(candidates, key=lambda w: words[w] @ query) == n + j
            plain += max(candidates, key=lambda w: words[w] @ words[j]) == n + j
    return right / questions, plain / questions, 1 / (len(words) - 3), questions


def test_analogies_are_those_asked_one_by_one():
    base = draw(10)
    derived = base + 0.8 * draw(1, seed=3) + 0.5 * draw(10, seed=4)
    others = draw(15, seed=5)
    expected = one_by_one(base, derived, others)
    assert families.analogies(base, derived, others) == pytest.approx(expected)
    assert 0 < expected[1] < expected[0] < 1


def test_analogies_of_one_offset_are_right_and_of_noise_are_not():
    base = draw(40, 64) * 0.1 + draw(1, 64, 9)
    exact = families.analogies(base, base + draw(1, 64, 1) * 0.3)
    assert exact.accuracy > 0.95
    noise = families.analogies(draw(40, 64), draw(40, 64, 1))
    assert noise.accuracy < 0.1
    assert families.analogies(base[:1], base[:1]).accuracy is None


def stratified(values, flags, strata):
    total = weights = 0.0
    for stratum in set(strata.tolist()):
        here = strata == stratum
        a, b = values[here & flags], values[here & ~flags]
        if len(a) and len(b):
            weight = len(a) * len(b) / (len(a) + len(b))
            total, weights = total + weight * (a.mean() - b.mean()), weights + weight
    return total / weights


def sample(rows=300, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    strata = rng.integers(0, 6, rows)
    flags = rng.random(rows) < strata / 6  # none in stratum 0, most in 5
    return np.ma.masked_array(rng.normal(size=rows) + strata + shift * flags), flags, strata


def test_the_difference_is_taken_within_strata():
    values, flags, strata = sample()
    found = families.matched(values, flags, strata)
    assert found.difference == pytest.approx(stratified(values.data, flags, strata), abs=1e-9)
    raw = values[flags].mean() - values[~flags].mean()
    assert raw > 1.0 > abs(found.difference)  # frequency alone makes the whole of it
    assert found.low < found.difference < found.high
    assert (found.strata, found.left_out) == (5, (strata == 0).sum())
    assert found.flagged + found.others + found.left_out == 300
    assert found.low < 0 < found.high
    assert found.p > 0.05


def test_a_difference_that_is_there_is_found():
    found = families.matched(*sample(shift=0.8))
    assert found.low > 0.2
    assert found.p == 1 / 1001


def test_p_is_as_often_small_as_it_should_be():
    values = [families.matched(*sample(80, seed=seed), draws=199).p for seed in range(200)]
    assert 0.02 <= np.mean(np.array(values) <= 0.05) <= 0.09


def test_the_interval_is_about_as_wide_as_normal_theory_says():
    values, flags, strata = sample(2000)
    found = families.matched(values, flags, strata)
    use = strata > 0
    sizes = [(np.sum(flags & (strata == s)), np.sum(~flags & (strata == s))) for s in range(1, 6)]
    spread = 1 / np.sqrt(sum(a * b / (a + b) for a, b in sizes))
    assert use.any()
    assert (found.high - found.low) / (2 * 1.96 * spread) == pytest.approx(1, abs=0.12)


def test_masked_rows_and_lone_strata_are_left_out():
    values = np.ma.masked_array([1.0, 2, 3, 4], mask=[False, False, True, False])
    flags = np.array([True, False, True, False])
    found = families.matched(values, flags, np.array(["a", "a", "b", "b"]))
    assert (found.difference, found.flagged, found.others, found.left_out) == (-1.0, 1, 1, 2)
    nothing = families.matched(values, flags, np.arange(4))
    assert (nothing.difference, nothing.p, nothing.left_out) == (None, None, 4)
    with pytest.raises(SutureError, match="one to a row"):
        families.matched(values, flags, np.arange(3))


def test_bands_double():
    assert families.bands(np.array([0, 1, 2, 3, 4, 7, 8, 1 << 40])).tolist() == [-1, 0, 1, 1, 2, 2, 3, 40]
