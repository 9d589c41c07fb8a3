"""Products of many rows with many rows: a block at a time in 32 bits, and exactly where it matters.

A product in 32 bits differs in its last digits with its place in a block. What is within ``NEAR`` of a limit
is therefore taken again in 64 bits, pair by pair, so that equal rows have equal scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from probing.directions import check, moments, unit_blocks
from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from probing.directions import Bools, Floats, Ints, Moments, States, View

    Singles = NDArray[np.float32]

SCORES = 1 << 24
"""Products held at a time."""

NEAR = 1e-5
"""How far a cosine in 32 bits may be off, with room to spare."""

DIGITS = 12
"""Decimals of a cosine in 64 bits that count; those that agree in them are tied."""

GATHERED = 1 << 20
"""Numbers gathered at a time for products of single pairs."""


@dataclass(frozen=True, eq=False)
class Directions:
    """Rows made ready for products; make it once for a matrix that is asked often.

    Attributes:
        states: the rows as they came (rows, width).
        unit: of length 1, in 32 bits, zeros where there is no direction.
        defined: which rows have a direction.
        view: what the direction is of.
        about: moments that it is taken about; None for raw.
    """

    states: States
    unit: Singles
    defined: Bools
    view: View
    about: Moments | None

    @classmethod
    def of(cls, states: Directions | States, view: View = "raw", about: Moments | None = None) -> Directions:
        """Of a matrix (rows, width); one that is ready stays as it is.

        Args:
            states: the rows.
            view: raw, centred by the matrix's own mean row, or standardised by its own moments.
            about: moments to use instead.

        Raises:
            SutureError: it is no matrix of floats.
        """
        if isinstance(states, Directions):
            return states
        check(states)
        about = None if view == "raw" else about or moments(states)
        unit, defined = np.zeros(states.shape, np.float32), np.zeros(len(states), bool)
        for part in unit_blocks(states, view, about):
            unit[part.rows], defined[part.rows] = part.unit, part.defined
        return cls(states, unit, defined, view, about)

    def __len__(self) -> int:
        return len(self.states)

    def exact(self, rows: Ints) -> Floats:
        """Some rows of length 1 in 64 bits."""
        found = [part.unit for part in unit_blocks(self.states[rows], self.view, self.about)]
        return np.concatenate(found) if found else np.zeros((0, self.states.shape[1]))


def paired(
    states: Directions | States, matrix: Directions | States, view: View
) -> tuple[Directions, Directions]:
    """Two sides made ready for products with each other.

    Args:
        states: (units, width).
        matrix: (rows, width).
        view: of a side that is not ready.

    Raises:
        SutureError: widths or views differ.
    """
    left, right = Directions.of(states, view), Directions.of(matrix, view)
    check(left.states, right.states, rows=False)
    if left.view != right.view:
        raise SutureError(
            f"both sides of a product must be seen alike; got {left.view} and {right.view}; give one view"
        )
    return left, right


def stretches(rows: int, columns: int) -> Iterator[slice]:
    """Slices of the rows whose products with all columns fit."""
    step = max(1, SCORES // max(1, columns))
    for start in range(0, rows, step):
        yield slice(start, min(rows, start + step))


def dots(one: Directions, two: Directions, rows: Ints, columns: Ints) -> Floats:
    """Cosine of row rows[i] of one matrix and row columns[i] of another in 64 bits (pairs,)."""
    found = np.empty(len(rows))
    step = max(1, GATHERED // max(1, one.states.shape[1]))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        found[part] = np.einsum("ij,ij->i", one.exact(rows[part]), two.exact(columns[part]))
    return np.round(found, DIGITS)
