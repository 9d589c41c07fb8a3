"""Bootstrap intervals of ratios of sums, many at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

UNITS = 4_000
"""Units resampled at most; more of them are first summed into so many groups at random."""

AT_ONCE = 1 << 22
"""Weights drawn at a time, which bounds memory."""


class Ratio(NamedTuple):
    """One measure: the value is Σ above / Σ below over words (words,)."""

    measure: str
    variant: str
    unit: str
    above: Floats
    below: Floats


class Intervals(NamedTuple):
    """Ratios with their intervals (measures,); NaN where a ratio is undefined."""

    value: Floats
    low: Floats
    high: Floats


def ratios(above: Floats, below: Floats, resamples: int, seed: int, level: float = 0.95) -> Intervals:
    """Σ above / Σ below of each measure, with percentile intervals over units drawn again.

    The percentile bootstrap (Efron 1979); in each resample a unit is drawn as often for all measures, so
    that intervals of measures on the same units belong together.

    Args:
        above: numerators (units, measures).
        below: denominators (units, measures).
        resamples: how often to draw; 0 for no intervals.
        seed: of the draws.
        level: share of the resamples inside an interval.

    Returns:
        Values and intervals. A resample in which a ratio is undefined does not count for it.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        value = above.sum(0) / below.sum(0)
    nothing = np.full(len(value), np.nan)
    if not resamples or not len(above):
        return Intervals(_known(value), nothing, nothing)
    chance = np.random.default_rng(seed)
    if len(above) > UNITS:
        group = chance.integers(0, UNITS, len(above))
        above, below = (
            np.stack([np.bincount(group, column, UNITS).astype(np.float64) for column in each.T], 1)
            for each in (above, below)
        )
    units = len(above)
    found = np.empty((resamples, above.shape[1]))
    for start in range(0, resamples, step := max(1, AT_ONCE // units)):
        size = min(step, resamples - start)
        weights = _weights(chance, size, units)
        with np.errstate(invalid="ignore", divide="ignore"):
            found[start : start + size] = (weights @ above) / (weights @ below)
    found[~np.isfinite(found)] = np.nan
    edge = (1 - level) / 2
    defined = ~np.isnan(found).all(0) & np.isfinite(value)
    low, high = nothing.copy(), nothing.copy()
    if defined.any():
        low[defined], high[defined] = np.nanquantile(found[:, defined], [edge, 1 - edge], axis=0)
    return Intervals(_known(value), low, high)


def _weights(chance: np.random.Generator, size: int, units: int) -> Floats:
    """How often each unit is drawn in each resample (size, units).

    Counting single draws is ten times as fast as asking for the multinomial distribution that they have.
    """
    drawn = chance.integers(0, units, (size, units), np.int32)
    weights = np.empty((size, units))
    for row, units_drawn in zip(weights, drawn, strict=True):
        row[:] = np.bincount(units_drawn, minlength=units)
    return weights


def _known(value: Floats) -> Floats:
    return np.where(np.isfinite(value), value, np.nan)
