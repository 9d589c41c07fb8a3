"""Tests and effect sizes for pairs and for two groups, without an assumption on the distribution."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.stats import binom, permutation_test

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

EXACT = 1 << 20
"""Sums of flipped differences that are enumerated; beyond that they are drawn."""


FEWEST = 999
"""Labellings drawn at least, however long the groups are."""

WORK = 200_000_000
"""Labels given out at most, beyond which fewer labellings are drawn."""


class Tested(NamedTuple):
    """A p-value, or None where there is nothing to test, and how it was found: ``exact`` or ``drawn``."""

    p: float | None
    how: str


def sign_flips(differences: Floats, draws: int, seed: int) -> Tested:
    """Two-sided p-value of a mean difference of pairs: the share of all flips of signs that go as far.

    Under the hypothesis that within a pair the labels mean nothing, each sign is as likely as the other
    (Fisher 1935, The Design of Experiments, section 21). Differences of equal size are flipped together,
    the number of positive ones among n being binomial, so that all 2ⁿ flips are enumerated by a few sums.

    Args:
        differences: of each pair (pairs,).
        draws: flips drawn where there are too many sums; p is then (1 + b) / (1 + draws).
        seed: of the draws.
    """
    sizes, counts = np.unique(np.round(np.abs(differences), 12), return_counts=True)
    counts, sizes = counts[sizes > 0], sizes[sizes > 0]
    if not len(differences):
        return Tested(None, "exact")
    observed = abs(float(np.round(differences, 12).sum()))
    edge = observed - 1e-9 * max(observed, 1.0)
    if prod((counts + 1).tolist()) <= EXACT:
        sums, chances = np.zeros(1), np.ones(1)
        for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
            up = np.arange(count + 1)
            sums = (sums[:, None] + size * (2 * up - count)).ravel()
            chances = (chances[:, None] * binom.pmf(up, count, 0.5)).ravel()
        return Tested(min(float(chances[np.abs(sums) >= edge].sum()), 1.0), "exact")
    chance = np.random.default_rng(seed)
    found = np.zeros(draws)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        found += size * (2.0 * chance.binomial(count, 0.5, draws) - count)
    return Tested((1 + int((np.abs(found) >= edge).sum())) / (1 + draws), "drawn")


def label_swaps(
    first: Floats, second: Floats, weights: tuple[Floats, Floats], draws: int, seed: int
) -> Tested:
    """Two-sided p-value of the difference of two groups' weighted means, by giving out the labels anew.

    Twice the smaller of the two one-sided shares, as the null need not be symmetric; of drawn labellings
    each share is (1 + b) / (1 + draws), of all of them b / draws (``scipy.stats.permutation_test``).

    Args:
        first: values of the first group (n,).
        second: values of the second (m,).
        weights: weight of each value, which it keeps.
        draws: most labellings, fewer for very long lists; all are gone through where there are no more.
        seed: of the draws.
    """
    if min(len(first), len(second)) < 2:  # one term says nothing of a group
        return Tested(None, "exact")
    value, weight = np.concatenate([first, second]), np.concatenate(weights)
    scaled = value * weight
    draws = min(draws, max(FEWEST, WORK // len(value)))

    def apart(one: NDArray[np.int64], two: NDArray[np.int64], axis: int) -> Floats:
        means = [scaled[each].sum(axis) / weight[each].sum(axis) for each in (one, two)]
        found: Floats = np.round(means[1] - means[0], 12)
        return found

    places = np.arange(len(value))
    found = permutation_test(
        (places[: len(first)], places[len(first) :]),
        apart,
        permutation_type="independent",
        vectorized=True,
        n_resamples=draws,
        batch=max(1, (1 << 19) // len(value)),
        rng=np.random.default_rng(seed),
    )
    exact = len(found.null_distribution) != draws
    return Tested(min(float(found.pvalue), 1.0), "exact" if exact else "drawn")


def cohens_dz(differences: Floats) -> float | None:
    """Mean over standard deviation of the differences (Lakens 2013); None where they do not vary."""
    if len(differences) < 2:
        return None
    spread = float(differences.std(ddof=1))
    return float(differences.mean() / spread) if spread > 1e-12 else None


def cliffs_delta(first: Floats, second: Floats) -> float | None:
    """Chance that a value of the second group is the greater, less the chance that it is the smaller.

    Cliff 1993, "Dominance statistics"; over all n × m pairs of values.
    """
    if not len(first) or not len(second):
        return None
    ordered = np.sort(np.round(first, 12))
    values = np.round(second, 12)
    below = np.searchsorted(ordered, values, "left").sum()
    above = (len(ordered) - np.searchsorted(ordered, values, "right")).sum()
    return float(below - above) / (len(first) * len(second))


def matched(first: Floats, second: Floats, apart: float) -> NDArray[np.int64]:
    """As many pairs of two groups as can be made whose values are no more than ``apart`` from each other.

    Both are gone through in rising order; the lower of two that are too far apart finds no partner among the
    later ones either, so no other choice gives more pairs.

    Args:
        first: values of the first group (n,), NaN for those that are not to be paired.
        second: values of the second (m,), likewise.
        apart: greatest difference within a pair.

    Returns:
        Places in both groups (pairs, 2), each at most once.
    """
    one, two = np.argsort(first, kind="stable"), np.argsort(second, kind="stable")
    one, two = one[: np.isfinite(first).sum()], two[: np.isfinite(second).sum()]
    pairs, here, there = [], 0, 0
    while here < len(one) and there < len(two):
        gap = first[one[here]] - second[two[there]]
        if abs(gap) <= apart + 1e-9:
            pairs.append((one[here], two[there]))
        here += int(gap <= apart + 1e-9)
        there += int(gap >= -apart - 1e-9)
    return np.array(pairs, np.int64).reshape(-1, 2)
