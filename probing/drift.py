"""How far a state has gone from where it was: between layers, from the input, and beside chance.

Every function is of arrays (units, width) whose rows are the same units. Undefined figures are masked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from probing.directions import blocks, check, known, mask, moments, unit_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probing.directions import Floats, Masked, Moments, States, View

    Abouts = tuple[Moments | None, Moments | None]


class Drift(NamedTuple):
    """Cosines between two layers, and what they are beside chance.

    Attributes:
        cosine: of each unit with itself in the other layer, −1 to 1 (units,).
        angle: of the same two, in radians.
        update: length of the difference over the length of the other layer's state.
        baseline: mean cosine of two different units, one in each layer; None below two units.
        adjusted: cosine less the baseline.
        rescaled: adjusted over 1 − baseline, so that 1 stays 1 and chance is 0.
    """

    cosine: Masked
    angle: Masked
    update: Masked
    baseline: float | None
    adjusted: Masked
    rescaled: Masked


def drift(states: States, other: States, view: View = "raw") -> Drift:
    """Everything about a layer against an earlier one.

    The update is of the states as they are, whatever the view.

    Args:
        states: (units, width) of a layer.
        other: the same units in the layer before, in layer 0, or the raw embedding rows.
        view: what the cosines are of.

    Raises:
        SutureError: the shapes differ.
    """
    check(states, other)
    about = _about(states, other, view)
    found = cosine(states, other, view, about)
    chance = baseline(states, other, view, about)
    return Drift(
        found,
        angle(found),
        update(states, other),
        chance,
        adjusted(found, chance),
        rescaled(found, chance),
    )


def cosine(states: States, other: States, view: View = "raw", about: Abouts | None = None) -> Masked:
    """cos(h_l, h_m) of each unit (units,); masked where either has no direction.

    Args:
        states: (units, width).
        other: (units, width).
        view: raw, centred by each layer's own mean, or standardised by each layer's own moments.
        about: moments of the two layers, where they are known of more units than these.

    Raises:
        SutureError: the shapes differ.
    """
    check(states, other)
    ours, theirs = about or _about(states, other, view)
    values, defined = np.zeros(len(states)), np.zeros(len(states), bool)
    for one, two in zip(unit_blocks(states, view, ours), unit_blocks(other, view, theirs), strict=True):
        values[one.rows] = np.einsum("ij,ij->i", one.unit, two.unit)
        defined[one.rows] = one.defined & two.defined
    return mask(np.clip(values, -1.0, 1.0), defined)


def baseline(states: States, other: States, view: View = "raw", about: Abouts | None = None) -> float | None:
    """Mean cosine of two different units x ≠ y, x in one layer and y in the other, exact.

    A_lm = (S_l·S_m − Σ u_l(x)·u_m(x)) / (N (N − 1)) with S the sum of the unit rows: all ordered pairs,
    and none is formed. For one layer twice it is the anisotropy of Ethayarajh (2019), who draws 1,000 pairs.

    Args:
        states: (units, width).
        other: (units, width).
        view: what the cosines are of.
        about: moments of the two layers, where they are known of more units than these.

    Returns:
        The mean over units defined in both; None if there are fewer than two.
    """
    check(states, other)
    ours, theirs = about or _about(states, other, view)
    first, second = np.zeros(states.shape[1]), np.zeros(states.shape[1])
    same, count = 0.0, 0
    for one, two in zip(unit_blocks(states, view, ours), unit_blocks(other, view, theirs), strict=True):
        both = one.defined & two.defined
        left, right = one.unit[both], two.unit[both]
        first += left.sum(0)
        second += right.sum(0)
        same += float(np.einsum("ij,ij->", left, right))
        count += int(both.sum())
    return float(first @ second - same) / (count * (count - 1)) if count > 1 else None


def adjusted(values: Masked, chance: float | None) -> Masked:
    """Cosine less what two different units have (after Ethayarajh 2019, with the baseline of both layers)."""
    found: Masked = values - chance if chance is not None else _nothing(values)
    return found


def rescaled(values: Masked, chance: float | None) -> Masked:
    """(c − A) / (1 − A): 1 for the same direction, 0 for chance; masked where A is 1."""
    if chance is None or 1 - chance < 1e-12:
        return _nothing(values)
    found: Masked = (values - chance) / (1 - chance)
    return found


def angle(values: Masked) -> Masked:
    """Radians, arccos of cosines clipped to −1 and 1."""
    return mask(np.arccos(np.clip(values.filled(0.0), -1.0, 1.0)), known(values))


def update(states: States, other: States) -> Masked:
    """|h_l − h_m| / |h_m| of each unit; masked where h_m is zero or either is not finite."""
    check(states, other)
    values, defined = np.zeros(len(states)), np.zeros(len(states), bool)
    for (rows, here), (_, there) in zip(blocks(states), blocks(other), strict=True):
        with np.errstate(invalid="ignore"):
            length, moved = np.linalg.norm(there, axis=1), np.linalg.norm(here - there, axis=1)
        defined[rows] = np.isfinite(length) & np.isfinite(moved) & (length > 0)
        values[rows] = np.where(defined[rows], moved, 0.0) / np.where(defined[rows], length, 1.0)
    return mask(values, defined)


def path(steps: Sequence[Masked]) -> Masked:
    """Length of the way through the layers: the sum of the angles of its steps, in radians.

    Args:
        steps: angle between each layer and the one before (units,).
    """
    total: Masked = steps[0].copy()
    for step in steps[1:]:
        total = total + step
    return total


def straightness(steps: Sequence[Masked], whole: Masked) -> Masked:
    """angle(h_0, h_L) / path: 1 on a great circle, towards 0 the more a way turns back; masked at rest.

    Args:
        steps: angle between each layer and the one before (units,).
        whole: angle between the first and the last.
    """
    along = path(steps)
    length = along.filled(0.0)
    moved = known(along) & known(whole) & (length > 0)
    return mask(whole.filled(0.0) / np.where(moved, length, 1.0), moved)


def norm(states: States) -> Masked:
    """|h| of each unit; masked where it is not finite. A zero row has the length 0."""
    check(states)
    values = np.zeros(len(states))
    for rows, block in blocks(states):
        with np.errstate(invalid="ignore", over="ignore"):
            values[rows] = np.linalg.norm(block, axis=1)
    return mask(values, np.isfinite(values))


def centred(states: States, about: Moments | None = None) -> Floats:
    """States less their mean row, in 64 bits."""
    found: Floats = np.asarray(states, np.float64) - (about or moments(states)).mean
    return found


def _about(states: States, other: States, view: View) -> Abouts:
    return (None, None) if view == "raw" else (moments(states), moments(other))


def _nothing(values: Masked) -> Masked:
    return mask(np.zeros(values.shape), np.zeros(values.shape, bool))
