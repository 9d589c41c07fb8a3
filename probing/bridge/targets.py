"""Target rows put together: boundary rows at once, rows inside a teacher token by their pending bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from probing.bridge.bpm import Bridge, Rest
    from probing.bridge.chunks import Offsets, Pairing
    from probing.bridge.rows import Rows


BLOCK = 1 << 22
"""Values gathered at a time, which bounds memory."""


class Moves(NamedTuple):
    """Mass to be moved between cells.

    Attributes:
        rows: row of each move (moves,).
        sources: cell that it comes from (moves,).
        cells: cell that it goes to (moves,).
        amounts: mass, of a governing row that is not scaled (moves,).
        entering: whether it leaves the fast target's cell, and not one that a move filled (moves,).
    """

    rows: Tensor
    sources: Tensor
    cells: Tensor
    amounts: Tensor
    entering: Tensor


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets of student positions; a row of ``cells`` with ``lost`` sums to what its teacher row sums to.

    Attributes:
        cells: mass by cell (positions, student ids + 2): the student's ids, residual, byte-less.
        lost: mass that a top-k dump did not keep (positions,).
        spannable: mass of teacher tokens that some student token goes on beyond (positions,).
        moved: mass that the correction took from the fast target's cells (positions,).
        defined: False where the teacher gives nothing to any token that begins with the pending bytes, so
            that there is no conditional probability; such a row is all residual (positions,).
        scale: what the governing teacher row was multiplied with (positions,).
        blank: rows that the white-space mask leaves out (positions,).
    """

    cells: Tensor
    lost: Tensor
    spannable: Tensor
    moved: Tensor
    defined: Tensor
    scale: Tensor
    blank: Tensor

    @property
    def mass(self) -> Tensor:
        """Mass of each student id (positions, student ids)."""
        return self.cells[:, :-2]

    @property
    def residual(self) -> Tensor:
        """Mass of teacher tokens with bytes that no student token begins, or none of which are left."""
        return self.cells[:, -2]

    @property
    def byteless(self) -> Tensor:
        """Mass of teacher entries without bytes that are not bridged (positions,)."""
        return self.cells[:, -1]

    @property
    def other(self) -> Tensor:
        """All that no student token takes, for the losses (positions,)."""
        return self.cells[:, -2:].sum(dim=-1) + self.lost

    @property
    def bound(self) -> Tensor:
        """At least the total variation to the exact distribution (positions,); see docs/bpm.md."""
        return (self.spannable + self.lost).clamp_max(1)

    @property
    def keep(self) -> Tensor:
        """Rows for a loss: defined, and not masked (positions,)."""
        return self.defined & ~self.blank


def fast(bridge: Bridge, rows: Rows, pairing: Pairing, at: Offsets) -> Targets:
    """Targets of some positions without corrections."""
    device, governing = rows.values.device, pairing.governing[at]
    pending = pairing.pending[at] > 0
    cells = rows.values.new_zeros(len(at), bridge.size[1] + 2)
    # On a GPU a call costs more than the copy that it saves.
    cut = _runs if device.type == "cpu" else _blocked
    for part in cut(governing, pending, max(1, BLOCK // rows.width)):
        held = _taken(rows, governing[part], np.flatnonzero(pending[part]))
        held.scatter_(cells[part], bridge.on("cells", device))
    first = int(governing.min(initial=len(rows)))
    near = rows.take(slice(first, int(governing.max(initial=-1)) + 1))
    bound = torch.from_numpy(~pending).to(device)
    row = torch.from_numpy(governing - first).to(device)
    spannable = near.weighed(bridge.on("spannable", device))[row] * bound
    lost = near.lost[row] * bound
    none = torch.zeros_like(bound)
    made = Targets(cells, lost, spannable, torch.zeros_like(lost), ~none, torch.ones_like(lost), none)
    if bridge.stop == "floor" and bridge.end is not None:
        made = _floored(made, bridge.end, bridge.floor, bound)
    return _pending(made, bridge, rows, pairing, at)


def _blocked(governing: Offsets, _: NDArray[np.bool_], step: int) -> list[slice]:
    """Slices of so many positions."""
    return [slice(low, low + step) for low in range(0, len(governing), step)]


def _runs(governing: Offsets, pending: NDArray[np.bool_], step: int) -> list[slice]:
    """Slices of boundary positions whose governing rows follow each other: nothing is copied for them."""
    low = np.flatnonzero(~pending)
    fresh = np.flatnonzero((np.diff(low, prepend=-2) != 1) | (np.diff(governing[low], prepend=-2) != 1))
    edges = [*fresh.tolist(), len(low)]
    return [
        slice(int(low[at]), int(low[at]) + min(step, stop - at))
        for start, stop in pairwise(edges)
        for at in range(start, stop, step)
    ]


def _taken(rows: Rows, governing: Offsets, inner: Offsets) -> Rows:
    """Governing rows, those inside a teacher token without mass; a view where all follow each other."""
    if not len(inner) and (np.diff(governing) == 1).all():
        return rows.take(slice(int(governing[0]), int(governing[-1]) + 1))
    held = rows.take(torch.from_numpy(governing).to(rows.values.device))
    return held.cleared(torch.from_numpy(inner).to(rows.values.device))


def _floored(made: Targets, end: int, floor: float, bound: Tensor) -> Targets:
    """Rows at boundaries mixed with as much of ``end`` as it lacks to the floor."""
    had = made.cells[:, end]
    share = ((floor - had) / (1 - had)).clamp_min(0) * bound
    scale = 1 - share
    cells = (made.cells * scale.unsqueeze(1)).index_add(
        1, torch.tensor([end], device=had.device), share.unsqueeze(1)
    )
    return replace(made, cells=cells, lost=made.lost * scale, spannable=made.spannable * scale, scale=scale)


def _pending(made: Targets, bridge: Bridge, rows: Rows, pairing: Pairing, at: Offsets) -> Targets:
    """Fills the rows that start inside a teacher token."""
    inner = np.flatnonzero(pairing.pending[at])
    governing = pairing.governing[at[inner]]
    spans = zip(
        pairing.teacher.starts[governing].tolist(), pairing.student.starts[at[inner]].tolist(), strict=True
    )
    keys = [pairing.data[low:high] for low, high in spans]
    known = {key: bridge.rest(key) for key in dict.fromkeys(keys)}
    rests = [known[key] for key in keys]
    # A dump's rows are made dense, so that a block of them holds a whole vocabulary a position.
    sizes = np.fromiter((len(rest.ids) if rows.ids is None else rows.width for rest in rests), np.int64)
    for part in blocks(sizes):
        _filled(made, rows, governing[part], inner[part], [rests[place] for place in part.tolist()])
    return made


def blocks(sizes: Offsets) -> list[Offsets]:
    """Places whose sizes sum to about ``BLOCK`` at a time."""
    number = np.cumsum(sizes) // BLOCK
    return [np.flatnonzero(number == block) for block in np.unique(number)]


def _filled(made: Targets, rows: Rows, governing: Offsets, places: Offsets, rests: list[Rest]) -> None:
    """Fills empty rows, in place: conditional on a token that begins with the pending bytes of each.

    Mass that a top-k dump lost may begin with them or not; all of it counts, so that no cell is overstated.
    """
    device = rows.values.device
    sizes = [len(rest.ids) for rest in rests]
    owner = np.repeat(np.arange(len(rests)), sizes)
    ids, cells, open_ = (np.concatenate(each) for each in zip(*rests, strict=True))
    row = torch.from_numpy(governing).to(device)
    held, base = (
        (rows.values, governing) if rows.ids is None else (rows.take(row).dense(), np.arange(len(row)))
    )
    mine, place = torch.from_numpy(owner).to(device), torch.from_numpy(places).to(device)
    values = held.reshape(-1)[torch.from_numpy(base[owner] * rows.width + ids).to(device)]
    known = values.new_zeros(len(rests)).index_add_(0, mine, values)
    defined, lost = known > 0, rows.lost[row]
    scale = torch.where(defined, 1 / (known + lost), 0)
    shares = values * scale[mine]
    width = made.cells.shape[1]
    flat = made.cells.view(-1)
    flat.index_add_(0, torch.from_numpy(places[owner] * width + cells).to(device), shares)
    flat.index_add_(0, place * width + width - 2, (~defined).to(shares.dtype))
    made.lost.index_add_(0, place, lost * scale)
    made.spannable.index_add_(0, place[mine], shares * torch.from_numpy(open_).to(device))
    made.defined.index_copy_(0, place, defined)
    made.scale.index_copy_(0, place, scale)


def corrected(made: Targets, moves: Moves) -> Targets:
    """The made after mass has been moved; what rounding leaves below 0 is set to 0."""
    amounts = moves.amounts.to(made.cells.dtype) * made.scale[moves.rows]
    base = moves.rows * made.cells.shape[1]
    flat = made.cells.view(-1)
    flat.index_add_(0, base + moves.sources, -amounts).index_add_(0, base + moves.cells, amounts)
    touched = torch.unique(torch.cat([base + moves.sources, base + moves.cells]))
    flat.index_copy_(0, touched, flat[touched].clamp_min(0))
    return replace(made, moved=made.moved.index_add(0, moves.rows, amounts * moves.entering))
