"""How a segmenter groups the digits of numbers, and whether their length alone decides it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from workbench.cutting import cut_words
from workbench.errors import SutureError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.segmentation import Segmenter

LONGEST = 18
"""Digits at most; more would not fit into the integers that numbers are drawn as."""

PATTERNS = ("whole", "single digits", "threes from the left", "threes from the right", "threes", "other")
"""``threes`` is where three divides the length, so that both ends give the same."""

SCHEMA = pl.Schema({
    "length": pl.Int64(), "grouping": pl.String(), "pattern": pl.Enum(PATTERNS), "numbers": pl.Int64(),
    "share": pl.Float64(), "example": pl.String(),
})  # fmt: skip


def drawn(digits: int, numbers: int, seed: int) -> list[str]:
    """Numbers of each length up to ``digits``, without zeros in front: all, or ``numbers`` drawn of them.

    Raises:
        SutureError: too many digits, or no numbers.
    """
    if not 1 <= digits <= LONGEST or numbers < 1:
        raise SutureError(
            f"digits must be 1 to {LONGEST}, and numbers 1 and more; got {digits} and {numbers}; correct them"
        )
    random = np.random.default_rng(seed)
    found: list[str] = []
    for length in range(1, digits + 1):
        low, high = (0 if length == 1 else 10 ** (length - 1)), 10**length
        if high - low <= numbers:
            values = np.arange(low, high)
        else:  # numbers drawn twice are taken once
            values = np.unique(random.integers(low, high, numbers))
        found += [str(value) for value in values.tolist()]
    return found


class Grouped(NamedTuple):
    """How digits are grouped.

    Attributes:
        table: one row a length and grouping, the commonest first, with the columns of ``SCHEMA``.
        consistency: share of numbers of two digits and more that have the commonest grouping of their
            length; 1 where the length alone decides.
        thousands_cut: share of the places between thousands that are cut, in numbers of four digits and more.
        cuts_on_thousands: share of the cuts in these that stand there.
        unknown: numbers with a token that stands for text without an entry, which are left out.
    """

    table: pl.DataFrame
    consistency: float | None
    thousands_cut: float | None
    cuts_on_thousands: float | None
    unknown: int


def grouped(segmenter: Segmenter, numbers: list[str]) -> Grouped:
    """Cuts numbers and tells how their digits are grouped.

    Args:
        segmenter: anything that cuts text.
        numbers: strings of ASCII digits.
    """
    cut = cut_words(segmenter, numbers)
    kept = np.flatnonzero(~cut.unknown)
    part = cut.bounds.pick(kept)
    masks = np.zeros(len(kept), np.int64)
    np.add.at(masks, part.rows, np.left_shift(1, part.places))
    lengths = part.sizes
    every = pl.DataFrame(
        {"length": lengths, "mask": masks, "number": [numbers[row] for row in kept.tolist()]}
    )
    counted = every.group_by("length", "mask").agg(
        numbers=pl.len().cast(pl.Int64), example=pl.col("number").min()
    )
    counted = counted.sort("length", "numbers", "mask", descending=[False, True, False])
    groups = [_groups(*row) for row in counted.select("length", "mask").iter_rows()]
    table = counted.select(
        "length",
        pl.Series("grouping", ["+".join(map(str, sizes)) for sizes in groups], pl.String),
        pl.Series("pattern", [_pattern(sizes) for sizes in groups], SCHEMA["pattern"]),
        "numbers",
        (pl.col("numbers") / pl.col("numbers").sum().over("length")).alias("share"),
        "example",
    )
    most = (
        table.filter(pl.col("length") > 1)
        .group_by("length")
        .agg(pl.col("numbers").max(), n=pl.col("numbers").sum())
    )
    total = int(most["n"].sum())
    return Grouped(
        table,
        int(most["numbers"].sum()) / total if total else None,
        *_thousands(lengths, part.rows, part.places),
        len(numbers) - len(kept),
    )


def _groups(length: int, mask: int) -> list[int]:
    edges = [0, *(place for place in range(1, length) if mask >> place & 1), length]
    return [high - low for low, high in pairwise(edges)]


def _pattern(sizes: list[int]) -> str:
    if len(sizes) == 1:
        return "whole"
    if set(sizes) == {1}:
        return "single digits"
    if set(sizes) == {3}:
        return "threes"
    if set(sizes[:-1]) == {3} and sizes[-1] < 3:
        return "threes from the left"
    return "threes from the right" if set(sizes[1:]) == {3} and sizes[0] < 3 else "other"


def _thousands(
    lengths: NDArray[np.int64], rows: NDArray[np.int64], places: NDArray[np.int64]
) -> tuple[float | None, float | None]:
    """Recall and precision of the places between thousands."""
    long = lengths[rows] > 3
    made = int(long.sum())
    hits = int(((lengths[rows] - places)[long] % 3 == 0).sum())
    there = int(((lengths[lengths > 3] - 1) // 3).sum())
    return hits / there if there else None, hits / made if made else None
