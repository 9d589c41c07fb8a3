"""What units one would find among random substrings of the lexicon's words, as often found and as long."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vocab_audits.substrings import ABSENT, CLASSES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from vocab_audits.substrings import Readings

    Ints = NDArray[np.int64]

BANDS = 40
"""Bands of frequency: the n-th holds strings of 2^n to 2^(n+1) − 1 occurrences in the lexicon's words."""

Cells = dict[tuple[int, str], "Ints"]
"""By length and place: how many distinct strings of each band are of each class (bands, classes)."""


def bands(counts: Ints) -> Ints:
    """Band of each number of occurrences; numbers are 1 and more."""
    found: Ints = np.log2(np.maximum(counts, 1)).astype(np.int64)
    return found


def population(readings: Readings) -> Ints:
    """Distinct strings of one length and place by band and class (bands, classes)."""
    here = readings.classes != ABSENT
    keys = bands(readings.counts[here]) * len(CLASSES) + readings.classes[here]
    counted: Ints = np.bincount(keys, minlength=BANDS * len(CLASSES))
    return counted.reshape(BANDS, len(CLASSES))


class Null(NamedTuple):
    """Entries of each class among random substrings.

    Attributes:
        mean: expected number, in closed form (classes,).
        deviation: its standard deviation, in closed form (classes,).
        low: 2.5th percentile of the draws (classes,).
        high: 97.5th percentile of the draws (classes,).
    """

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def null(wanted: Mapping[tuple[int, str, int], int], cells: Cells, draws: int, seed: int) -> Null:
    """The null model: for each entry, a string drawn among all of its length, place and band.

    Strings of a cell are drawn alike likely and with replacement, so the classes of its entries are
    multinomial: the mean is Σ n p over the cells, the variance Σ n p (1 − p).

    Args:
        wanted: entries by length, place and band.
        cells: what the lexicon's substrings are.
        draws: random vocabularies for the interval.
        seed: start of the generator.
    """
    random = np.random.default_rng(seed)
    drawn = np.zeros((draws, len(CLASSES)), np.int64)
    mean, variance = np.zeros((2, len(CLASSES)))
    for (size, place, band), number in sorted(wanted.items()):
        here = cells[size, place][band]
        share = here / here.sum()
        mean += number * share
        variance += number * share * (1 - share)
        drawn += random.multinomial(number, share, draws)
    low, high = np.percentile(drawn, (2.5, 97.5), axis=0) if draws else np.full((2, len(CLASSES)), np.nan)
    return Null(mean, np.sqrt(variance), low, high)
