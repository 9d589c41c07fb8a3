"""Permutation tests, exact where the partitions can be counted out, and intervals of means over groups.

Ties count as being as extreme as what was observed.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, combinations
from math import comb
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from probing.directions import known
from workbench.errors import SutureError
from workbench.resampling import ratios

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from probing.directions import Bools, Floats, Masked

COUNTED_OUT = 200_000
"""Partitions or patterns of signs that are all looked at; above, some are drawn."""

DRAWS = 100_000
"""Partitions drawn where they cannot be counted out."""

AT_ONCE = 1 << 22
"""Numbers held at a time."""

TIE = 1e-10
"""Statistics no further apart than this share of their scale are one."""


class Significance(NamedTuple):
    """How extreme observed statistics are under exchange of labels.

    Attributes:
        greater: p of a statistic at least as great, one-sided, for each row (rows,).
        two_sided: p of one at least as far from zero, of either sign (rows,).
        kind: ``exact`` or ``monte carlo``.
        looked_at: partitions counted out, or drawn.
    """

    greater: Floats
    two_sided: Floats
    kind: Literal["exact", "monte carlo"]
    looked_at: int


class Share(NamedTuple):
    """A mean with its 95 % interval over groups drawn again; None where it is undefined."""

    value: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, value: float, low: float, high: float) -> Share:
        """From figures that are NaN where they are undefined."""
        return cls(*(float(each) if np.isfinite(each) else None for each in (value, low, high)))


def interval(values: Masked, groups: NDArray[Any], *, draws: int = 1_000, seed: int = 0) -> Share:
    """Mean of what is defined, with the percentile bootstrap over whole groups (Efron 1979).

    Rows of one sentence or one word are no independent witnesses; as groups they are drawn together.

    Args:
        values: of each row.
        groups: sentence, text or word of each row.
        draws: resamples.
        seed: of the draws.

    Raises:
        SutureError: the groups are not one to a row.
    """
    if values.shape != groups.shape:
        raise SutureError(f"groups must be one to a row, {values.shape}; got shape {groups.shape}")
    told = known(values)
    _, which = np.unique(groups[told], return_inverse=True)
    sums = [np.bincount(which, each).astype(np.float64) for each in (values.data[told], np.ones(len(which)))]
    found = ratios(sums[0][:, None], sums[1][:, None], draws, seed)
    return Share.of(*(float(each[0]) for each in found))


def repartitioned(scores: Floats, first: int, *, draws: int = DRAWS, seed: int = 0) -> Significance:
    """Difference of the means of two sets of fixed sizes, over partitions of their union.

    Exact where C(n, first) is at most ``COUNTED_OUT``: p is the share of partitions, the observed one among
    them. Else (1 + b) / (1 + m) over m partitions drawn at random (Phipson & Smyth 2010), each a draw without
    replacement of the first set from the union.

    Args:
        scores: of all words, the first set's before the second's (rows, n); rows, such as layers, share the
            partitions.
        first: size of the first set, at least 1 and below n.
        draws: partitions to draw.
        seed: of the draws.
    """
    size = scores.shape[1]
    exact = comb(size, first) <= COUNTED_OUT
    parts = _counted_out(size, first) if exact else _drawn(size, first, draws, seed)
    # The difference of means is a linear function of the first set's sum alone.
    weight, total = 1 / first + 1 / (size - first), scores.sum(1) / (size - first)
    return _extreme(
        (scores @ part.T * weight - total[:, None] for part in parts),
        scores[:, :first].sum(1) * weight - total,
        np.abs(scores).max(axis=1, initial=0.0),
        comb(size, first) if exact else draws,
        exact=exact,
    )


def sign_flipped(differences: Floats, *, draws: int = DRAWS, seed: int = 0) -> Significance:
    """Mean of paired differences over patterns of their signs (Fisher's test of pairs).

    Args:
        differences: of each pair (rows, pairs); rows share the patterns.
        draws: patterns to draw where 2^pairs is more than ``COUNTED_OUT``.
        seed: of the draws.
    """
    pairs = differences.shape[1]
    exact = 2**pairs <= COUNTED_OUT
    signs = _signs(pairs) if exact else _random_signs(pairs, draws, seed)
    return _extreme(
        (differences @ part.T / max(pairs, 1) for part in signs),
        differences.mean(1),
        np.abs(differences).max(axis=1, initial=0.0),
        2**pairs if exact else draws,
        exact=exact,
    )


def _extreme(
    statistics: Iterator[Floats], observed: Floats, scale: Floats, looked_at: int, *, exact: bool
) -> Significance:
    room = (TIE * scale)[:, None]
    above, beyond = np.zeros(len(observed)), np.zeros(len(observed))
    for part in statistics:
        above += (part >= observed[:, None] - room).sum(1)
        beyond += (np.abs(part) >= np.abs(observed)[:, None] - room).sum(1)
    if exact:
        return Significance(above / looked_at, beyond / looked_at, "exact", looked_at)
    return Significance(
        (1 + above) / (1 + looked_at), (1 + beyond) / (1 + looked_at), "monte carlo", looked_at
    )


@lru_cache(maxsize=4)
def _members(size: int, first: int) -> Bools:
    """Who is in the first set, in each partition (partitions, size)."""
    count = comb(size, first)
    chosen = np.fromiter(chain.from_iterable(combinations(range(size), first)), np.int64, count * first)
    found = np.zeros((count, size), bool)
    found[np.repeat(np.arange(count), first), chosen] = True
    return found


def _counted_out(size: int, first: int) -> Iterator[Floats]:
    members = _members(size, first)
    step = max(1, AT_ONCE // size)
    for start in range(0, len(members), step):
        yield members[start : start + step].astype(np.float64)


def _drawn(size: int, first: int, draws: int, seed: int) -> Iterator[Floats]:
    chance = np.random.default_rng(seed)
    step = max(1, AT_ONCE // size)
    for start in range(0, draws, step):
        order = chance.random((min(step, draws - start), size)).argpartition(first - 1, axis=1)
        found = np.zeros(order.shape)
        np.put_along_axis(found, order[:, :first], 1.0, axis=1)
        yield found


def _signs(pairs: int) -> Iterator[Floats]:
    step = max(1, AT_ONCE // max(1, pairs))
    for start in range(0, 2**pairs, step):
        numbers = np.arange(start, min(start + step, 2**pairs))
        yield 1.0 - 2.0 * ((numbers[:, None] >> np.arange(pairs)) & 1).astype(np.float64)


def _random_signs(pairs: int, draws: int, seed: int) -> Iterator[Floats]:
    chance = np.random.default_rng(seed)
    step = max(1, AT_ONCE // pairs)
    for start in range(0, draws, step):
        yield 1.0 - 2.0 * chance.integers(0, 2, (min(step, draws - start), pairs)).astype(np.float64)
