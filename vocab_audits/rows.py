"""One pass over the rows of an embedding matrix: norms, mean, zero rows, equal rows; and rows by id."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.weights import Weights

    Floats = NDArray[np.float32]
    Ids = NDArray[np.intp]

SAMPLED = 16
"""Columns by whose bits rows are first told apart; only rows alike in these are digested whole."""

PASS_BYTES = 8 << 20
"""Bytes of rows held at a time: few enough to stay in a processor's cache from one sum to the next."""


@dataclass(frozen=True, eq=False)
class Matrix:
    """An embedding matrix in its file, with what one pass over it told.

    Attributes:
        weights: the checkpoint.
        name: the tensor.
        mean: mean of the finite rows (width,), zero rows included.
        norms: Euclidean norm of every row (rows,); 0 where it is not finite.
        finite: rows all of whose numbers, and whose norm, are finite in 32 bits (rows,).
        first: the first row with the same bits (rows,); a row's own index where there is none before it.
    """

    weights: Weights
    name: str
    mean: NDArray[np.float64]
    norms: NDArray[np.float64]
    finite: NDArray[np.bool_]
    first: Ids

    @property
    def rows(self) -> int:
        """Rows of the matrix."""
        return len(self.norms)

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return len(self.mean)

    @property
    def zero(self) -> NDArray[np.bool_]:
        """Rows that are zero throughout (rows,)."""
        zero: NDArray[np.bool_] = self.finite & (self.norms == 0)
        return zero

    @property
    def repeated(self) -> NDArray[np.bool_]:
        """Rows whose bits an earlier row has (rows,)."""
        repeated: NDArray[np.bool_] = self.first != np.arange(self.rows)
        return repeated

    def passed(self) -> Iterator[tuple[int, Floats]]:
        """The rows in order, a few at a time, in memory that may be written to; not finite rows as zeros."""
        for start, chunk in self.weights.chunks(self.name, most=PASS_BYTES):
            odd = ~self.finite[start : start + len(chunk)]
            if odd.any():
                chunk[odd] = 0
            yield start, chunk

    def gather(self, ids: Ids) -> Floats:
        """The rows of some ids (ids, width), in their order; runs of neighbours are read at once."""
        order = np.argsort(ids, kind="stable")
        found = np.empty((len(ids), self.width), np.float32)
        sorted_ids = ids[order]
        breaks = np.flatnonzero(np.diff(sorted_ids) != 1) + 1
        for part in np.split(np.arange(len(ids)), breaks):
            if len(part):
                low = int(sorted_ids[part[0]])
                found[order[part]] = self.weights.rows(self.name, low, low + len(part))
        return found


def scan(weights: Weights, name: str) -> Matrix:
    """Passes once over a matrix.

    Sums are of 32-bit floats within a few rows and of 64-bit ones beyond.

    Args:
        weights: the checkpoint.
        name: a tensor of two dimensions.

    Raises:
        UnreadableFile: its type is not read, or the file changed.
    """
    rows, width = weights.shape(name)
    norms, finite = np.zeros(rows), np.ones(rows, np.bool_)
    columns = np.unique(np.linspace(0, max(width - 1, 0), min(SAMPLED, width)).astype(np.intp))
    sample = np.empty((rows, len(columns)), np.uint32)
    total = np.zeros(width)
    for start, chunk in weights.chunks(name, most=PASS_BYTES):
        here = slice(start, start + len(chunk))
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("ij,ij->i", chunk, chunk)
        finite[here] = np.isfinite(squares)
        tiny = (squares < np.finfo(np.float32).tiny * 2**24) & finite[here]
        sample[here] = chunk.view(np.uint32)[:, columns]
        if not finite[here].all():
            chunk[~finite[here]], squares[~finite[here]] = 0, 0
        norms[here] = np.sqrt(squares, dtype=np.float64)
        if tiny.any():  # squares of small numbers vanish in 32 bits
            norms[here][tiny] = np.linalg.norm(chunk[tiny].astype(np.float64), axis=1)
        total += np.ones(len(chunk), np.float32) @ chunk
    first = _first(weights, name, sample)
    return Matrix(weights, name, total / max(int(finite.sum()), 1), norms, finite, first)


def _first(weights: Weights, name: str, sample: NDArray[np.uint32]) -> Ids:
    """For each row the first with the same bits: rows alike in the sample are told apart by a digest."""
    rows = len(sample)
    first = np.arange(rows)
    if not sample.size:
        return first * 0 if rows else first
    keys = np.ascontiguousarray(sample).view([("", np.uint32)] * sample.shape[1]).ravel()
    _, group, counts = np.unique(keys, return_inverse=True, return_counts=True)
    known: dict[tuple[int, bytes], int] = {}
    for row in np.flatnonzero(counts[group] > 1).tolist():
        data = weights.rows(name, row, row + 1).tobytes()
        first[row] = known.setdefault((int(group[row]), hashlib.blake2b(data, digest_size=16).digest()), row)
    return first
