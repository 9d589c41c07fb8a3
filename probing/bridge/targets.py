"""Target rows put together: boundary rows at once, rows inside a teacher token by their pending bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

if TYPE_CHECKING:
    from torch import Tensor

    from probing.bridge.bpm import Bridge
    from probing.bridge.chunks import Offsets, Pairing
    from probing.bridge.rows import Rows


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
    every = len(at) == len(rows) and np.array_equal(governing, np.arange(len(rows)))
    held = rows if every else rows.take(torch.from_numpy(governing).to(device))
    pending = pairing.pending[at]
    bound = torch.from_numpy(pending == 0).to(device)
    if pending.any():
        held = replace(held, values=held.values * bound.unsqueeze(1), lost=held.lost * bound)
    cells, lost = bridge.boundary(held), held.lost
    scale = torch.ones_like(lost)
    if bridge.stop == "floor" and bridge.end is not None:
        share = ((bridge.floor - cells[:, bridge.end]) / (1 - cells[:, bridge.end])).clamp_min(0) * bound
        scale = 1 - share
        end = torch.tensor([bridge.end], device=device)
        cells = (cells * scale.unsqueeze(1)).index_add(1, end, share.unsqueeze(1))
        lost = lost * scale
    spannable = held.weighed(bridge.on("spannable", device)) * scale
    made = Targets(
        cells, lost, spannable, torch.zeros_like(lost), torch.ones_like(bound), scale, torch.zeros_like(bound)
    )
    return _pending(made, bridge, rows, pairing, at)


def _pending(made: Targets, bridge: Bridge, rows: Rows, pairing: Pairing, at: Offsets) -> Targets:
    """Fills the rows that start inside a teacher token, those of equal pending bytes together."""
    starts = pairing.student.starts[at]
    inner = np.flatnonzero(pairing.pending[at])
    groups: dict[bytes, list[int]] = {}
    for place, low, high in zip(
        inner.tolist(),
        pairing.teacher.starts[pairing.governing[at[inner]]].tolist(),
        starts[inner].tolist(),
        strict=True,
    ):
        groups.setdefault(pairing.data[low:high], []).append(place)
    for pending, places in groups.items():
        held = rows.take(torch.from_numpy(pairing.governing[at[places]]).to(rows.values.device))
        made = _filled(made, bridge, held, pending, torch.tensor(places, device=rows.values.device))
    return made


def _filled(made: Targets, bridge: Bridge, rows: Rows, pending: bytes, places: Tensor) -> Targets:
    """Rows of some pending bytes: conditional on a token that begins with them.

    Mass that a top-k dump lost may begin with them or not; all of it counts, so that no cell is overstated.
    """
    device = rows.values.device
    rest = bridge.rest(pending)
    values = rows.dense()[:, torch.from_numpy(rest.ids).to(device)]
    known = values.sum(dim=1)
    defined = known > 0
    scale = torch.where(defined, 1 / (known + rows.lost), 0)
    shares = values * scale.unsqueeze(1)
    width = made.cells.shape[1]
    cells = torch.from_numpy(rest.cells).to(device)
    flat = (places.unsqueeze(1) * width + cells).flatten()
    filled = made.cells.flatten().index_add(0, flat, shares.flatten())
    filled = filled.index_add(0, places * width + width - 2, (~defined).to(shares.dtype))
    return replace(
        made,
        cells=filled.view_as(made.cells),
        lost=made.lost.index_add(0, places, rows.lost * scale),
        spannable=made.spannable.index_add(
            0, places, shares @ torch.from_numpy(rest.open).to(device, shares.dtype)
        ),
        defined=made.defined.index_copy(0, places, defined),
        scale=made.scale.index_copy(0, places, scale),
    )


def corrected(made: Targets, moves: Moves) -> Targets:
    """The made after mass has been moved; what rounding leaves below 0 is set to 0."""
    amounts = moves.amounts.to(made.cells.dtype) * made.scale[moves.rows]
    base = moves.rows * made.cells.shape[1]
    flat = made.cells.flatten()
    flat = flat.index_add(0, base + moves.sources, -amounts).index_add(0, base + moves.cells, amounts)
    touched = torch.unique(torch.cat([base + moves.sources, base + moves.cells]))
    flat = flat.index_copy(0, touched, flat[touched].clamp_min(0))
    taken = torch.where(moves.entering, amounts, 0)
    return replace(
        made,
        cells=flat.view_as(made.cells),
        moved=made.moved.index_add(0, moves.rows, taken),
    )
