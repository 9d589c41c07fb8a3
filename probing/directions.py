"""Directions of state vectors: raw, about their mean, or standardised; and what has no direction.

States are float arrays (units, width). Sums are taken in 64 bits, a block of rows at a time, whatever the
states are stored in. A row that is exactly zero, or that is not finite, has no direction: its cosines are
masked, and it takes no part in a mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    States = NDArray[np.floating[Any]]
    Masked = np.ma.MaskedArray[Any, np.dtype[np.float64]]

View = Literal["raw", "centred", "standardised"]
"""Rows as they are; less the mean row; or that, with each dimension over its standard deviation."""

AT_ONCE = 1 << 20
"""Numbers held in 64 bits at a time."""

ROUNDING = 2.0**-23
"""Distance from the mean, as a share of a row's length, that 32 bits cannot tell from none."""

FLOOR = 1e-6
"""Least standard deviation of a dimension, as a share of the largest; one that never varies has it."""


class Moments(NamedTuple):
    """Mean and standard deviation of each dimension, over the finite rows.

    Attributes:
        mean: (width,).
        deviation: (width,), over all rows (ddof 0).
        rows: how many rows.
    """

    mean: Floats
    deviation: Floats
    rows: int


class Units(NamedTuple):
    """A block of rows of unit length.

    Attributes:
        rows: which rows of the states.
        unit: (rows, width); zeros where there is no direction.
        length: of each row before (rows, 1).
        defined: whether a row has a direction.
    """

    rows: slice
    unit: Floats
    length: Floats
    defined: Bools


def check(*states: States, rows: bool = True) -> None:
    """Refuses what is not a matrix of floats, or arrays whose shapes differ.

    Args:
        states: (units, width) each.
        rows: whether they must also have as many rows.

    Raises:
        SutureError: one of them does not fit.
    """
    for each in states:
        if each.ndim != 2 or not np.issubdtype(each.dtype, np.floating):
            raise SutureError(
                f"states must be floats of shape (units, width); got {each.dtype} of shape {each.shape}"
            )
    shapes = [each.shape if rows else each.shape[1:] for each in states]
    if len(set(shapes)) > 1:
        raise SutureError(
            f"states that are compared must have {'one shape' if rows else 'one width'}; got "
            f"{' and '.join(str(each.shape) for each in states)}; give the same units in one space"
        )


def check_labels(states: States, *labels: NDArray[Any]) -> None:
    """Refuses labels that are not one to a row.

    Raises:
        SutureError: their number is another.
    """
    for each in labels:
        if each.shape != (len(states),):
            raise SutureError(f"labels must be one to a row, ({len(states)},); got shape {each.shape}")


def blocks(states: States) -> Iterator[tuple[slice, Floats]]:
    """The rows in 64 bits, some at a time."""
    step = max(1, AT_ONCE // max(1, states.shape[1]))
    for start in range(0, len(states), step):
        rows = slice(start, start + step)
        yield rows, np.asarray(states[rows], np.float64)


def finite(block: States) -> Bools:
    """Which rows hold no infinity and no NaN."""
    found: Bools = np.asarray(np.isfinite(block).all(axis=1))
    return found


def moments(states: States) -> Moments:
    """Mean and deviation of each dimension, in two passes."""
    check(states)
    total, count = np.zeros(states.shape[1]), 0
    for _, block in blocks(states):
        known = block[finite(block)]
        total += known.sum(0)
        count += len(known)
    mean = total / max(count, 1)
    squares = np.zeros(states.shape[1])
    for _, block in blocks(states):
        known = block[finite(block)]
        squares += ((known - mean) ** 2).sum(0)
    return Moments(mean, np.sqrt(squares / max(count, 1)), count)


def scale(deviation: Floats) -> Floats:
    """What a dimension is divided by: its standard deviation, but no less than ``FLOOR`` of the largest."""
    most = float(deviation.max(initial=0.0))
    return np.maximum(deviation, FLOOR * most) if most > 0 else np.ones_like(deviation)


def unit_blocks(states: States, view: View = "raw", about: Moments | None = None) -> Iterator[Units]:
    """Rows of unit length, some at a time.

    Args:
        states: (units, width).
        view: what the direction is of.
        about: moments to use instead of the states' own; unused for raw.
    """
    about = None if view == "raw" else about or moments(states)
    by = scale(about.deviation) if about and view == "standardised" else None
    for rows, block in blocks(states):
        length = _lengths(block)
        defined = np.isfinite(length) & (length > 0 if about is None else True)
        if about is not None:
            block = block - about.mean  # noqa: PLW2901 the block in this view
            away = _lengths(block)
            with np.errstate(invalid="ignore"):
                defined &= away > ROUNDING * length
            if by is not None:
                block /= by  # noqa: PLW2901 likewise
            length = away if by is None else _lengths(block)
        if not defined.all():
            block = np.where(defined[:, None], block, 0.0)  # noqa: PLW2901 likewise
            length = np.where(defined, length, 0.0)
        yield Units(rows, block / np.where(defined, length, 1.0)[:, None], length[:, None], defined)


def _lengths(block: Floats) -> Floats:
    """Of each row; neither finite where the row is not, nor above 0 where it is zero."""
    with np.errstate(invalid="ignore", over="ignore"):
        found: Floats = np.sqrt(np.einsum("ij,ij->i", block, block))
    return found


def units(states: States, view: View = "raw", about: Moments | None = None) -> tuple[Floats, Bools]:
    """All rows of unit length (units, width) in 64 bits, and which have a direction."""
    found = np.zeros(states.shape)
    defined = np.zeros(len(states), bool)
    for part in unit_blocks(states, view, about):
        found[part.rows], defined[part.rows] = part.unit, part.defined
    return found, defined


def group_sums(
    states: States, group: Ints, groups: int, view: View = "raw", *, unit: bool = True
) -> tuple[Floats, Ints]:
    """Sums of the rows of each group (groups, width), and how many have a direction (groups,).

    Args:
        states: (units, width).
        group: of each row, from 0.
        groups: how many there are.
        view: what the direction is of.
        unit: whether each row counts with the length 1; else with its own in this view.
    """
    sums, counts = np.zeros((groups, states.shape[1])), np.zeros(groups, np.int64)
    for part in unit_blocks(states, view):
        here = group[part.rows][part.defined]
        order = np.argsort(here, kind="stable")
        found, starts = np.unique(here[order], return_index=True)
        if len(found):
            added = part.unit if unit else part.unit * part.length
            sums[found] += np.add.reduceat(added[part.defined][order], starts, axis=0)
        counts += np.bincount(here, minlength=groups)
    return sums, counts


def mask(values: NDArray[Any], defined: Bools) -> Masked:
    """Values with what is undefined masked; zero lies beneath the mask, and ``tolist`` gives None there."""
    found: Masked = np.ma.masked_array(np.where(defined, values, 0.0), mask=~defined)  # type: ignore[no-untyped-call]
    return found


def known(values: Masked) -> Bools:
    """Which values are defined."""
    found: Bools = ~np.ma.getmaskarray(values)  # type: ignore[no-untyped-call]
    return found


def mean(values: Masked) -> float | None:
    """Mean of what is defined; None where nothing is."""
    defined = known(values)
    return float(values.data[defined].mean()) if defined.any() else None
