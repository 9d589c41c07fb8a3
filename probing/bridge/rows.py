"""A teacher's predictions, one row a token: over its whole vocabulary, or its most probable ids alone."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from workbench.errors import SutureError

SLACK = 1e-3
"""How far from 1 a row of probabilities may sum: 32-bit softmax over 100,000 ids errs by 1e-4."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Predictions of a teacher.

    Attributes:
        values: probabilities (rows, width), or of the ids kept (rows, k).
        width: ids of the teacher.
        ids: the ids kept, different within a row (rows, k), or None where every id has its value.
        lost: probability of the ids that were not kept (rows,).
    """

    values: Tensor
    width: int
    ids: Tensor | None
    lost: Tensor

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def from_logits(cls, logits: Tensor, width: int) -> Rows:
        """Softmax of logits, in at least 32 bits; −inf is probability 0.

        Args:
            logits: (rows, width).
            width: ids of the teacher, to check against.

        Raises:
            SutureError: another width; NaN, +inf, or a row of −inf alone.
        """
        _width(logits, width, "logits")
        top = logits.amax(dim=-1) if logits.numel() else logits.new_zeros(len(logits))
        bad = ~top.isfinite() | logits.isnan().any(dim=-1)
        if bool(bad.any()):
            raise SutureError(
                "a teacher's logits must be numbers or −inf, and not −inf alone; row "
                f"{int(bad.nonzero()[0])} is not so; look for an overflow, or a mask over everything"
            )
        wide = torch.promote_types(logits.dtype, torch.float32)
        return cls._whole(functional.softmax(logits, dim=-1, dtype=wide), width)

    @classmethod
    def from_probabilities(cls, values: Tensor, width: int) -> Rows:
        """Rows as given; a sum that is off by rounding stays as it is.

        Args:
            values: (rows, width).
            width: ids of the teacher.

        Raises:
            SutureError: another width; a value below 0 or NaN; a row that does not sum to 1.
        """
        _width(values, width, "probabilities")
        _shares(values, least=1 - SLACK)
        return cls._whole(values, width)

    @classmethod
    def _whole(cls, values: Tensor, width: int) -> Rows:
        return cls(values, width, None, values.new_zeros(len(values)))

    @classmethod
    def top(cls, ids: Tensor, values: Tensor, width: int) -> Rows:
        """The ids kept of each row; what they lack to 1 is lost, and stays so.

        Args:
            ids: (rows, k).
            values: their probabilities under the whole softmax (rows, k).
            width: ids of the teacher.

        Raises:
            SutureError: shapes differ; an id is out of range or twice in a row; values are no
                probabilities or sum to more than 1.
        """
        if ids.ndim != 2 or ids.shape != values.shape:
            raise SutureError(
                f"ids and probabilities must have one shape (rows, k); got {tuple(ids.shape)} and "
                f"{tuple(values.shape)}; keep as many ids as values"
            )
        order = ids.sort(dim=-1).values
        if ids.numel() and (
            bool((ids < 0).any() | (ids >= width).any()) or bool((order[:, 1:] == order[:, :-1]).any())
        ):
            raise SutureError(
                f"the ids of a row must differ and lie in 0..{width - 1}; got {int(ids.min())} to "
                f"{int(ids.max())}, or one twice; keep the teacher's own ids"
            )
        _shares(values, least=0.0)
        return cls(values, width, ids.long(), (1 - values.sum(dim=-1)).clamp_min(0))

    def take(self, rows: Tensor | slice) -> Rows:
        """Some rows, in any order; of a slice, a view."""
        ids = None if self.ids is None else self.ids[rows]
        return Rows(self.values[rows], self.width, ids, self.lost[rows])

    def cleared(self, rows: Tensor) -> Rows:
        """The same without mass in some rows; written in place, so only for what ``take`` gave."""
        self.values.index_fill_(0, rows, 0)
        self.lost.index_fill_(0, rows, 0)
        return self

    def at(self, ids: Tensor) -> Tensor:
        """Probability of one id a row (rows,); 0 for an id that was not kept."""
        if self.ids is None:
            return self.values.gather(1, ids.unsqueeze(1)).squeeze(1)
        return self.values.masked_fill(self.ids != ids.unsqueeze(1), 0).sum(dim=-1)

    def dense(self) -> Tensor:
        """All ids, those not kept 0 (rows, width)."""
        if self.ids is None:
            return self.values
        return self.values.new_zeros(len(self), self.width).scatter_add(1, self.ids, self.values)

    def scatter_(self, into: Tensor, cells: Tensor) -> Tensor:
        """Adds values, in place, to the cell of their id.

        Args:
            into: (rows, cells).
            cells: the cell of each id (width,).
        """
        if self.ids is None:
            return into.index_add_(1, cells, self.values)
        return into.scatter_add_(1, cells[self.ids], self.values)

    def weighed(self, weights: Tensor) -> Tensor:
        """Σ value·weight by row (rows,), for a weight of each id (width,)."""
        if self.ids is None:
            return self.values @ weights.to(self.values.dtype)
        return (self.values * weights.to(self.values.dtype)[self.ids]).sum(dim=-1)


def _width(values: Tensor, width: int, what: str) -> None:
    if values.ndim != 2 or values.shape[1] != width:
        raise SutureError(
            f"a teacher's {what} must be (rows, {width}), one a row of its inventory; got "
            f"{tuple(values.shape)}; cut off, or add as −inf, what its embedding matrix has more or less"
        )


def _shares(values: Tensor, least: float) -> None:
    total = values.sum(dim=-1)
    bad = ~((values >= 0).all(dim=-1) & (total >= least) & (total <= 1 + SLACK))
    if bool(bad.any()):
        row = int(bad.nonzero()[0])
        raise SutureError(
            f"probabilities must be at least 0 and sum to {'1' if least else 'at most 1'} in each row; row "
            f"{row} sums to {float(total[row]):.6g}; give softmax, not logits"
        )
