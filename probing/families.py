"""Whether a change of form is one direction: offsets of a suffix, and analogies by them; splits compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from probing.directions import check, finite, known, units
from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from probing.directions import Bools, Floats, Ints, Masked, States

DRAWS = 1_000
"""Shuffles and resamples by default."""

AT_ONCE = 1 << 22
"""Numbers held at a time."""


class Constancy(NamedTuple):
    """How much alike the offsets of a suffix are.

    Attributes:
        cosine: mean cosine of two pairs' offsets; None below two pairs.
        baseline: the same with each base beside the derived word of another, mean over shuffles.
        p: (1 + shuffles with at least this cosine) / (1 + shuffles).
        pairs: with an offset that has a direction.
    """

    cosine: float | None
    baseline: float | None
    p: float | None
    pairs: int


class Analogy(NamedTuple):
    """Analogies a : a' as b : b' over all ordered pairs of pairs.

    Attributes:
        accuracy: share of questions whose answer is first; None below two pairs.
        without_offset: the same from b alone (Linzen 2016): what nearness gives.
        chance: of a random candidate.
        questions: how many.
    """

    accuracy: float | None
    without_offset: float | None
    chance: float | None
    questions: int


class Matched(NamedTuple):
    """Means of two groups of rows, compared where they are alike in something else.

    Attributes:
        difference: of the flagged rows less that of the others; None where no stratum holds both.
        low: 2.5th percentile of the bootstrap.
        high: 97.5th percentile.
        p: two-sided, flags exchanged within strata: (1 + b) / (1 + m).
        flagged: rows compared.
        others: rows compared with them.
        strata: that hold both.
        left_out: rows without a value, or of a stratum that holds one group only.
    """

    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    flagged: int
    others: int
    strata: int
    left_out: int


def constancy(base: States, derived: States, *, draws: int = DRAWS, seed: int = 0) -> Constancy:
    """Mean cosine of two offsets d − b: (|Σ u|² − n) / (n (n − 1)), beside shuffled pairs.

    The baseline holds what base and derived words have in common as groups, which alone makes offsets alike.

    Args:
        base: of each pair (pairs, width).
        derived: of each pair.
        draws: shuffles.
        seed: of the shuffles.

    Raises:
        SutureError: the shapes differ.
    """
    check(base, derived)
    use = finite(base) & finite(derived)
    one, two = np.asarray(base[use], np.float64), np.asarray(derived[use], np.float64)
    value, count = _alike(two - one)
    if value is None:
        return Constancy(None, None, None, count)
    chance = np.random.default_rng(seed)
    found = [_alike(two[chance.permutation(len(two))] - one)[0] for _ in range(draws)]
    told = np.array([each for each in found if each is not None])
    if not len(told):
        return Constancy(value, None, None, count)
    beyond = int((told >= value - 1e-12).sum())
    return Constancy(value, float(told.mean()), (1 + beyond) / (1 + len(told)), count)


def analogies(base: States, derived: States, others: States | None = None) -> Analogy:
    """Accuracy of 3CosAdd: the word nearest to a' − a + b, rows of length 1, the three words left out.

    Mikolov et al. (2013). The candidates are all words of all pairs, and others; an answer that another word
    equals is not first.

    Args:
        base: a of each pair (pairs, width).
        derived: a' of each pair.
        others: further candidates.

    Raises:
        SutureError: the shapes differ.
    """
    check(base, derived)
    (one, first), (two, second) = units(base), units(derived)
    use = first & second
    count = int(use.sum())
    if count < 2:
        return Analogy(None, None, None, 0)
    more = np.zeros((0, base.shape[1])) if others is None else _directed(others)
    pool = np.concatenate([one[use], two[use], more])
    near = pool[: 2 * count] @ pool.T
    right = plain = 0
    for at in range(count):
        right += _first(near[count + at] - near[at] + near[:count], at, count)
        plain += _first(near[:count], at, count)
    questions = count * (count - 1)
    return Analogy(right / questions, plain / questions, 1 / (len(pool) - 3), questions)


def matched(
    values: Masked,
    flags: Bools,
    strata: NDArray[Any],
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> Matched:
    """Difference of two groups' means within strata, such as aligned and other splits of equal frequency.

    Σ_s w_s (mean_s flagged − mean_s others) / Σ_s w_s with w_s = n₁ n₀ / (n₁ + n₀), the weights of Cochran.
    The interval is the percentile bootstrap, rows drawn again within each stratum and group.

    Args:
        values: of each row; masked ones are left out.
        flags: which rows are of the first group.
        strata: label of each row, see ``bands``.
        draws: of the bootstrap and of the permutation.
        seed: of both.
    """
    if not values.shape == flags.shape == strata.shape:
        raise SutureError(
            "values, flags and strata must be one to a row; got "
            f"{values.shape}, {flags.shape} and {strata.shape}"
        )
    told = known(values)
    _, stratum = np.unique(strata, return_inverse=True)
    sizes = [
        np.bincount(stratum[told & group], minlength=stratum.max(initial=0) + 1) for group in (flags, ~flags)
    ]
    use = told & ((sizes[0] > 0) & (sizes[1] > 0))[stratum] if len(stratum) else told
    if not use.any():
        return Matched(None, None, None, None, 0, 0, 0, len(flags))
    # By stratum, the flagged rows of each before the others.
    order = np.lexsort((~flags[use], stratum[use]))
    value, flag = values.data[use][order], flags[use][order]
    _, stratum = np.unique(stratum[use][order], return_inverse=True)
    chance = np.random.default_rng(seed)
    observed = float(_difference(value[None], flag, stratum)[0])
    low, high = np.quantile(_resampled(value, flag, stratum, draws, chance), [0.025, 0.975])
    away = np.abs(_exchanged(value, flag, stratum, draws, chance))
    beyond = int((away >= abs(observed) - 1e-12 * float(np.abs(value).max())).sum())
    return Matched(
        observed,
        float(low),
        float(high),
        (1 + beyond) / (1 + draws),
        int(flag.sum()),
        int((~flag).sum()),
        int(stratum[-1]) + 1,
        len(flags) - len(flag),
    )


def bands(counts: Ints) -> Ints:
    """Strata of frequency: band n holds 2^n to 2^(n+1) − 1 occurrences, and −1 none."""
    whole = np.asarray(counts, np.int64)
    return np.where(whole > 0, np.floor(np.log2(np.maximum(whole, 1))), -1).astype(np.int64)


def _alike(offsets: Floats) -> tuple[float | None, int]:
    unit, defined = units(offsets)
    count, total = int(defined.sum()), unit.sum(0)
    return (float(total @ total - count) / (count * (count - 1)) if count > 1 else None), count


def _directed(states: States) -> Floats:
    rows, defined = units(states)
    return rows[defined]


def _first(scores: Floats, at: int, count: int) -> int:
    """Questions of pair ``at`` and every other pair whose answer scores above all candidates."""
    scores, every = scores.copy(), np.arange(count)
    own = scores[every, count + every].copy()
    scores[:, [at, count + at]] = -np.inf
    scores[every, every] = scores[every, count + every] = -np.inf
    won = own > scores.max(axis=1) + 1e-12
    return int(won.sum() - won[at])


def _difference(values: Floats, flag: Bools, stratum: Ints) -> Floats:
    """The weighted difference for many rows of values at once (draws,)."""
    count = int(stratum[-1]) + 1
    cell = 2 * stratum + ~flag
    starts = np.searchsorted(cell, np.arange(2 * count))
    sizes = np.diff(np.append(starts, len(cell)))
    means = np.add.reduceat(values, starts, axis=1) / sizes
    weights = sizes[::2] * sizes[1::2] / (sizes[::2] + sizes[1::2])
    found: Floats = (means[:, ::2] - means[:, 1::2]) @ weights / weights.sum()
    return found


def _resampled(value: Floats, flag: Bools, stratum: Ints, draws: int, chance: np.random.Generator) -> Floats:
    """Differences with the rows of each stratum and group drawn again."""
    _, starts, cell, sizes = np.unique(
        2 * stratum + ~flag, return_index=True, return_inverse=True, return_counts=True
    )
    found = []
    for size in _steps(draws, len(value)):
        drawn = starts[cell] + (chance.random((size, len(value))) * sizes[cell]).astype(np.int64)
        found.append(_difference(value[drawn], flag, stratum))
    return np.concatenate(found)


def _exchanged(value: Floats, flag: Bools, stratum: Ints, draws: int, chance: np.random.Generator) -> Floats:
    """Differences with the values of each stratum in any order."""
    found = []
    for size in _steps(draws, len(value)):
        order = np.argsort(chance.random((size, len(value))) + stratum, axis=1)
        found.append(_difference(value[order], flag, stratum))
    return np.concatenate(found)


def _steps(draws: int, rows: int) -> Iterator[int]:
    step = max(1, AT_ONCE // max(1, rows))
    for start in range(0, draws, step):
        yield min(step, draws - start)
