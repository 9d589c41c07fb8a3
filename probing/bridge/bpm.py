"""Byte-Prefix Marginalization: a teacher's next-token probabilities as targets over a student's vocabulary.

After Wang et al. (arXiv 2607.22334). At a boundary each teacher token gives its probability to the longest
student token that begins its bytes; inside a teacher token, of which some bytes are already out, the tokens
that begin with these are taken alone, and what is left of their bytes decides. Mass that falls to no student
token is residual; mass of entries without bytes, and mass that a top-k dump lost, are kept apart from it, and
the whole sums to 1. ``probing.bridge.crossing`` holds the corrections for student tokens that go on beyond a
teacher token. See docs/bpm.md for what is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
import torch

from probing.bridge import crossing
from probing.bridge.targets import corrected, fast
from workbench.errors import SutureError
from workbench.prefixes import (
    Prefixes,
    check_text,
    extended,
    homes,
    longest_prefix,
    meeting,
    spannable,
    twins,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import Tensor

    from probing.bridge.chunks import Offsets, Pairing
    from probing.bridge.rows import Rows
    from probing.bridge.targets import Targets
    from workbench.inventory import Inventory

Mode = Literal["fast", "scatter", "bytewalk"]
Reach = Literal["spanning", "text"]
Stop = Literal["bridge", "floor", "skip"]

KEPT_RESTS = 256
"""Pending prefixes whose scatter is kept: few are frequent."""


class Rest(NamedTuple):
    """Teacher tokens that begin with some pending bytes, and where what is left of them falls.

    Attributes:
        ids: teacher ids (n,).
        cells: cell of the bytes left (n,).
        open: whether the cell is uncertain (n,): a student token goes on beyond the token's bytes, or none
            are left.
    """

    ids: NDArray[np.int64]
    cells: NDArray[np.int64]
    open: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Bridge:
    """A teacher's vocabulary laid onto a student's; of student ids with the same bytes the lowest gets all.

    Attributes:
        teacher: the teacher's inventory; teacher ids with the same bytes are summed.
        student: the student's.
        stops: teacher ids that end a text.
        end: the student's id that ends a text.
        stop: what becomes of the stops' mass at a boundary. ``bridge``: it goes to ``end``; ``floor``: so
            too, and where it is below ``floor``, the row is mixed with just enough of ``end`` to reach it, so
            that a reverse divergence does not punish every end (our reading of a mode that is known by name
            only); ``skip``: it stays with the byte-less.
        floor: least mass of ``end`` under ``floor``.
        cache: whether φ is kept in a file; see ``workbench.prefixes.longest_prefix``.
    """

    teacher: Inventory
    student: Inventory
    stops: tuple[int, ...] = ()
    end: int | None = None
    stop: Stop = "bridge"
    floor: float = 1e-4
    cache: bool = True

    def __post_init__(self) -> None:
        _among("stop", self.stop, get_args(Stop))
        for name, inventory, ids in (
            ("stops", self.teacher, self.stops),
            ("end", self.student, () if self.end is None else (self.end,)),
        ):
            if any(not 0 <= token < inventory.rows_needed for token in ids):
                raise SutureError(
                    f"{name} must be ids in 0..{inventory.rows_needed - 1}, of {inventory.name}; got {ids}; "
                    "look them up in the inventory"
                )
        if self.stops and self.end is None and self.stop != "skip":
            raise SutureError(
                f"stop={self.stop!r} needs the student's id that ends a text; end is None; give it, or "
                "stop='skip'"
            )

    @cached_property
    def above(self) -> Prefixes:
        """The teacher's entries by their bytes."""
        check_text(self.teacher)
        return Prefixes.of(self.teacher)

    @cached_property
    def below(self) -> Prefixes:
        """The student's entries by their bytes."""
        check_text(self.student)
        return Prefixes.of(self.student)

    @property
    def size(self) -> tuple[int, int]:
        """Ids of the teacher and of the student."""
        return self.above.width, self.below.width

    @cached_property
    def homes(self) -> NDArray[np.int64]:
        """φ: the longest student entry that begins a teacher entry, −1 where none does (teacher ids,)."""
        return longest_prefix(self.teacher, self.student, cache=self.cache)

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """Cell of each teacher id: its home, else residual, or byte-less (teacher ids,)."""
        found = self._cells(self.homes)
        found[self.above.byteless] = self.size[1] + 1
        if self.end is not None and self.stop != "skip":
            found[list(self.stops)] = self.end
        return found

    @cached_property
    def _on(self) -> dict[tuple[str, torch.device], Tensor]:
        return {}

    def on(self, name: Literal["cells", "spannable"], device: torch.device) -> Tensor:
        """``cells`` or ``spannable`` on a device, sent there once (teacher ids,)."""
        if (name, device) not in self._on:
            self._on[name, device] = torch.from_numpy(getattr(self, name)).to(device)
        return self._on[name, device]

    @cached_property
    def spannable(self) -> NDArray[np.bool_]:
        """Whether a student entry goes on beyond the bytes of a teacher id (teacher ids,)."""
        return spannable(self.above, self.below)

    @cached_property
    def twins(self) -> NDArray[np.int64]:
        """Student id with the very bytes of each teacher id, −1 where there is none (teacher ids,)."""
        return twins(self.teacher, self.student, self.homes)

    def _cells(self, homes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Cells of student ids, −1 the residual."""
        return np.where(homes >= 0, homes, self.size[1])

    @cached_property
    def rest(self) -> Callable[[bytes], Rest]:
        """Teacher tokens that begin with pending bytes; the last prefixes asked for are kept."""
        return lru_cache(KEPT_RESTS)(self._rest)

    def _rest(self, pending: bytes) -> Rest:
        node = self.above.find(pending)
        ended = self.above.ids_at(node) if node >= 0 else np.empty(0, np.int64)
        placed, met = homes(self.above, self.below, pending), meeting(self.above, self.below, pending)
        return Rest(
            np.concatenate([ended, placed.ids]),
            np.concatenate([np.full(len(ended), self.size[1]), self._cells(placed.homes)]),
            np.concatenate([np.ones(len(ended), bool), extended(self.below, met.nodes)]),
        )

    def row(self, values: NDArray[np.floating], pending: bytes = b"") -> NDArray[np.float64]:
        """The fast target of one teacher row, without torch and without a floor (student ids + 2,).

        Args:
            values: probabilities of every teacher id (teacher ids,).
            pending: bytes of the token that are already out.

        Raises:
            SutureError: another width, no probabilities, or no mass begins with the pending bytes.
        """
        if values.shape != self.size[:1] or not (values >= 0).all():
            raise SutureError(
                f"a teacher's row must be {self.size[0]} probabilities; got shape {values.shape} with least "
                f"{values.min(initial=0)}; give softmax over the whole inventory"
            )
        size = self.size[1] + 2
        if not pending:
            return np.bincount(self.cells, values, size).astype(np.float64, copy=False)
        rest = self.rest(pending)
        held = values[rest.ids].astype(np.float64)
        total = held.sum()
        if not total > 0:
            raise SutureError(
                f"pending bytes must begin a token to which {self.teacher.name} gives mass; {pending!r} "
                "begins none; leave the position out"
            )
        return np.bincount(rest.cells, held / total, size).astype(np.float64, copy=False)

    def _fits(self, rows: Rows) -> None:
        if rows.width != self.size[0]:
            raise SutureError(
                f"a teacher's rows must be {self.size[0]} wide, one cell an id of {self.teacher.name}; got "
                f"{rows.width}; build them with this width"
            )

    def boundary(self, rows: Rows) -> Tensor:
        """Fast targets of teacher rows at boundaries (rows, student ids + 2): one index_add, no floor."""
        self._fits(rows)
        empty = rows.values.new_zeros(len(rows), self.size[1] + 2)
        return rows.scatter_(empty, self.on("cells", rows.values.device))

    def targets(
        self,
        rows: Rows,
        pairing: Pairing,
        positions: Offsets | None = None,
        *,
        mode: Mode = "scatter",
        reach: Reach = "spanning",
        mask: bool = True,
    ) -> Targets:
        """Targets of student positions.

        Args:
            rows: the teacher's predictions, row j of token j of the pairing.
            pairing: the tokens of both.
            positions: student positions (n,), all by default.
            mode: ``fast``: no correction for student tokens that go on beyond a teacher token;
                ``scatter``: the mass of the realised path is moved to the student tokens on it;
                ``bytewalk``: all mass of the realised teacher tokens is walked through the student's entries
                (a reference: a cumulative sum for each row and position).
            reach: where corrections are made and how far they see. ``spanning``: at positions whose realised
                token crosses a boundary, to the end of the chunk, as published; ``text``: at every position,
                to the end of the sample.
            mask: whether ``blank`` marks realised tokens of spaces and tabs alone; on by default, as
                published: there, a student of code that learns them too fails more often.

        Raises:
            SutureError: rows of another number or width than the tokens; an unknown mode or reach.
        """
        self._fits(rows)
        _among("mode", mode, get_args(Mode))
        _among("reach", reach, get_args(Reach))
        if len(rows) != len(pairing.teacher.ids):
            raise SutureError(
                f"there must be one teacher row a teacher token, {len(pairing.teacher.ids)}; got "
                f"{len(rows)}; predict the tokens of this pairing"
            )
        at = np.arange(len(pairing)) if positions is None else np.asarray(positions, np.int64)
        made = fast(self, rows, pairing, at)
        if mode != "fast":
            made = corrected(made, crossing.moves(self, rows, pairing, at, mode=mode, reach=reach))
        return replace(made, blank=torch.from_numpy(pairing.blank[at] & mask).to(made.lost.device))


def _among(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise SutureError(f"{name} must be one of {', '.join(known)}; got {value!r}; choose one")
