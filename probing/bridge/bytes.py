"""A token teacher's predictions as targets for a model of bytes: Marginalize-It and End-Of-Token.

After Marathe et al. (arXiv 2609.12303). At a token boundary a teacher gives q over tokens. For a realised
token and each of its prefixes p, with the masses Z and E of ``workbench.prefixmass``::

    Marginalize-It   P(x | p) = Z(p·x) / (Z(p) − E(p))                       before each byte of the token
    End-Of-Token     P(x | p) = Z(p·x) / Z(p),  P(end | p) = E(p) / Z(p)     likewise, and after its last

Marginalize-It drops what ends at p, and is exact at the empty prefix alone; End-Of-Token keeps it as a
symbol, and its chain along a token is the token's probability. One row of the teacher serves its whole token.
Sums are taken in log space, in 64 bits unless told otherwise; gradients reach the teacher's logits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from probing.bridge.kept import Kept, check_kept
from probing.bridge.mass import check, columns, log_add, log_sum, low_of, segment_sums
from workbench.errors import SutureError
from workbench.prefixmass import END, SPELLESS, paths, realised

if TYPE_CHECKING:
    from probing.bridge.mass import Masses
    from workbench.prefixmass import Paths

CELLS = 2**19, 2**25
"""Values taken at a time, on a processor and elsewhere; with more, a processor's passes leave its cache."""


@dataclass(frozen=True, eq=False)
class Targets:
    """Rows of targets, one for each prefix of each realised token, in the order of the text.

    ``values``, ``byteless`` and ``lost`` of a row sum to 1. Where ids were left out, ``values`` are lower
    bounds: of the whole softmax a cell has at most ``lost`` more, and nothing is renormalised.

    Attributes:
        values: P(byte), and P(end) in column 256 of End-Of-Token (rows, 256 or 257).
        byteless: P(an id that spells nothing), 0 after the first byte of a token (rows,).
        lost: share that ids left out may have (rows,).
        ending: e = P(end | p), which Marginalize-It drops (rows,); a lower bound where ids were left out.
        bound: at least the total variation between Marginalize-It's target of the whole softmax and the exact
            distribution of the next byte, where p is the beginning of one token: the most that e can
            be (rows,).
        log_mass: log Z(p), of what was kept (rows,).
        supported: whether an id that goes on from p, or in End-Of-Token ends there, has mass or may have
            lost it; a row without is all 0 (rows,).
        realised: the byte that follows in the text, ``END`` after the last one of a token (rows,).
        position: the teacher's row (rows,).
        depth: bytes of p (rows,).
    """

    values: Tensor
    byteless: Tensor
    lost: Tensor
    ending: Tensor
    bound: Tensor
    log_mass: Tensor
    supported: Tensor
    realised: Tensor
    position: Tensor
    depth: Tensor

    def __len__(self) -> int:
        return len(self.values)

    @property
    def columns(self) -> int:
        """256, or 257 with an end of token."""
        return self.values.shape[1]


def marginalize(
    masses: Masses, teacher: Tensor | Kept, ids: Tensor, *, dtype: torch.dtype = torch.float64
) -> Targets:
    """Marginalize-It: one row before each byte of the realised tokens (bytes, 256).

    Args:
        masses: of the teacher's inventory.
        teacher: logits or log-probabilities (positions, ids), row i of which predicts realised token i, or
            the part of them that was kept.
        ids: the realised tokens (positions,); none spells nothing.
        dtype: type to compute in.

    Raises:
        SutureError: the inventory's entries do not spell text; shapes, ids or values are not as above.
    """
    return _targets(masses, teacher, ids, dtype, ends=False)


def end_of_token(
    masses: Masses, teacher: Tensor | Kept, ids: Tensor, *, dtype: torch.dtype = torch.float64
) -> Targets:
    """End-Of-Token: one row before each byte of the realised tokens and one after (bytes + tokens, 257).

    Arguments and errors are those of ``marginalize``.
    """
    return _targets(masses, teacher, ids, dtype, ends=True)


def exact_next(targets: Targets, following: Tensor) -> Tensor:
    """The exact distribution of the next byte, given what follows the end of a token.

    Where p is the beginning of one token since the last boundary, the next byte comes from a longer token, or
    p is a token and the byte is the first of the next: P(x) = P(x | p) + P(end | p) · n(x).

    Args:
        targets: of ``end_of_token``.
        following: n, the first-byte marginal after the token p, from ``Masses.next_byte`` of a teacher that
            has read p as a token (rows, 256).

    Returns:
        (rows, 256); sums to less than 1 by the byte-less and the lost mass.
    """
    if targets.columns <= END or following.shape != (len(targets), END):
        raise SutureError(
            "the next byte needs End-Of-Token's rows and a first-byte marginal of each, "
            f"{(len(targets), END)}; got {targets.columns} columns and {tuple(following.shape)}; see "
            "Masses.next_byte"
        )
    return targets.values[:, :END] + targets.values[:, END:] * following.to(targets.values.dtype)


class _Block(NamedTuple):
    """Log masses of some positions in the order of ``Masses.sorted``, flat, and where their rows begin.

    Attributes:
        values: (n,).
        offsets: first value of each segment, and n (segments + 1,).
        left_out: ids left out of each position's segments (segments,), or None where none is.
        lost: log of the mass left out (positions,).
        most: log of the most that one id left out may have (positions,).
    """

    values: Tensor
    offsets: Tensor
    left_out: Tensor | None
    lost: Tensor | None = None
    most: Tensor | None = None


def _targets(
    masses: Masses, teacher: Tensor | Kept, ids: Tensor, dtype: torch.dtype, *, ends: bool
) -> Targets:
    index = masses.spelling
    values = teacher.values if isinstance(teacher, Kept) else teacher
    if ids.ndim != 1 or values.ndim != 2 or len(values) != len(ids):
        raise SutureError(
            f"there must be one row of the teacher a realised token; got {tuple(values.shape)} for "
            f"{tuple(ids.shape)} tokens; give the row that predicts each token"
        )
    if isinstance(teacher, Kept):
        check_kept(teacher, index.width)
    else:
        check(teacher, index, log=True)
    tokens = realised(index, ids.detach().cpu().numpy())
    made = []
    block = max(CELLS[values.device.type != "cpu"] // max(index.width, 1), 1)
    for low in range(0, max(len(tokens), 1), block):
        walk = paths(index, tokens[low : low + block])
        segments = _Segments.of(masses, walk)
        if isinstance(teacher, Kept):
            held = _kept_block(masses, segments, teacher.part(low, low + block), dtype)
        else:
            held = _whole_block(masses, segments, teacher[low : low + block].to(dtype))
        made.append(_rows(masses, walk, segments, held, ends=ends, first=low))
    return Targets(*(torch.cat(each) for each in zip(*made, strict=True)))


class _Segments(NamedTuple):
    """The segments of ``Paths`` and, at the end of each position, one of the byte-less ids."""

    row: Tensor
    column: Tensor
    start: Tensor
    size: Tensor
    positions: int

    @classmethod
    def of(cls, masses: Masses, walk: Paths) -> _Segments:
        width, entries = masses.index.width, len(masses.index.order)
        position = walk.position[walk.row]
        positions = len(walk.first) - 1
        ends = np.searchsorted(position, np.arange(positions), side="right")
        row = np.insert(walk.row, ends, walk.first[:-1])
        place = np.insert(walk.place, ends, entries)
        start = np.insert(position, ends, np.arange(positions)) * width + place
        size = np.diff(start, append=positions * width)
        column = np.insert(walk.column, ends, SPELLESS)
        held = [masses.tensor(each) for each in (row, column, start, size)]
        return cls(held[0], held[1], held[2], held[3], positions)


def _whole_block(masses: Masses, segments: _Segments, logits: Tensor) -> _Block:
    offsets = torch.cat([segments.start, segments.start.new_tensor([logits.numel()])])
    return _Block(columns(logits, masses.sorted).flatten(), offsets, None)


def _kept_block(masses: Masses, segments: _Segments, teacher: Kept, dtype: torch.dtype) -> _Block:
    """The kept ids in the order of their bytes, and what each segment lacks."""
    rank = masses.rank[teacher.ids]
    rank, order = rank.sort(dim=1)
    values = teacher.values.to(dtype).gather(1, order)
    rows = torch.arange(len(rank), device=rank.device).unsqueeze(1) * masses.index.width
    offsets = torch.searchsorted((rows + rank).flatten(), segments.start)
    offsets = torch.cat([offsets, offsets.new_tensor([rank.numel()])])
    whole = log_sum(values)
    # Ids left out may have all that the kept ones lack to 1, which is known to the rounding of what was kept.
    lost = (-torch.expm1(whole)).clamp_min(torch.finfo(teacher.values.dtype).eps).log()
    most = lost if teacher.most is None else teacher.most.to(dtype)
    return _Block(values.flatten(), offsets, segments.size - offsets.diff(), lost, most)


def _rows(
    masses: Masses, walk: Paths, segments: _Segments, block: _Block, *, ends: bool, first: int
) -> tuple[Tensor, ...]:
    """The fields of ``Targets`` for one block of positions."""
    sums = segment_sums(block.values, block.offsets, log=True)
    where, depth = masses.tensor(walk.position), masses.tensor(walk.depth)
    inner = np.flatnonzero(walk.inner)
    goes, byte = masses.tensor(inner), masses.tensor(masses.index.byte[walk.node[inner + 1]].astype(np.int64))
    cells = sums.new_full((len(where), SPELLESS + 1), -torch.inf)
    cells = cells.index_put((segments.row, segments.column), sums)
    mass = _from_below(log_sum(cells[:, :SPELLESS]), where, depth, segments.positions)
    cells = cells.index_put((goes, byte), mass[goes + 1])
    going, ending = log_sum(torch.cat([cells[:, :END], cells[:, SPELLESS:]], dim=1)), cells[:, END]
    lost = [sums.new_full((len(where),), -torch.inf)] * 2
    if block.left_out is not None:
        lost = _lost(block, segments, where, depth)
    closed = log_add(log_add(going, ending), lost[0])
    total = closed if ends else log_add(going, lost[1])
    share = [_over(each, closed) for each in (ending, lost[0])]
    kept = torch.arange(len(where), device=where.device) if ends else goes
    values = _over(cells[:, : END + 1 if ends else END], total.unsqueeze(1))
    follows = torch.full_like(where, END).index_put((goes,), byte)
    fields = (
        values, _over(cells[:, SPELLESS], total), _over(lost[0] if ends else lost[1], total),
        share[0], share[0] + share[1], mass - _top(masses, block, cells, walk, where), total > -torch.inf,
        follows, where + first, depth,
    )  # fmt: skip
    return tuple(each[kept] for each in fields)


def _top(masses: Masses, block: _Block, cells: Tensor, walk: Paths, where: Tensor) -> Tensor:
    """Log of the whole of each row's position: what its logits sum to, or 0 for log-probabilities kept."""
    if block.left_out is not None:
        return cells.new_zeros(len(where))
    roots = masses.tensor(walk.first[:-1])
    return log_sum(cells[roots])[where]


def _from_below(own: Tensor, where: Tensor, depth: Tensor, positions: int) -> Tensor:
    """Of each row, the log of its own mass and all below it in its position (rows,)."""
    deep = int(depth.max()) + 1 if len(depth) else 1
    padded = own.new_full((positions, deep), -torch.inf).index_put((where, depth), own)
    padded = padded.masked_fill(padded == -torch.inf, low_of(own))
    found = [padded[:, -1]]
    for at in range(deep - 2, -1, -1):
        found.append(torch.logaddexp(padded[:, at], found[-1]))
    below = torch.stack(found[::-1], dim=1)[where, depth]
    return below.masked_fill(below <= low_of(own) / 2, -torch.inf)


def _lost(block: _Block, segments: _Segments, where: Tensor, depth: Tensor) -> list[Tensor]:
    """Log of the most that ids left out may have: at or below a row's prefix, and below it alone."""
    assert block.left_out is not None and block.lost is not None and block.most is not None  # noqa: S101, PT018
    count = torch.zeros_like(where).index_add(0, segments.row, block.left_out)
    ending = torch.zeros_like(where).index_add(
        0, segments.row, block.left_out.masked_fill(segments.column != END, 0)
    )
    padded = count.new_zeros(segments.positions, int(depth.max()) + 1 if len(depth) else 1)
    padded = padded.index_put((where, depth), count)
    below = padded.flip(1).cumsum(1).flip(1)[where, depth]
    found = []
    for left in (below, below - ending):
        cap = block.most[where] + left.clamp_min(1).to(block.lost.dtype).log()
        most = torch.where(depth == 0, block.lost[where], torch.minimum(block.lost[where], cap))
        found.append(most.masked_fill(left == 0, -torch.inf))
    return found


def _over(part: Tensor, whole: Tensor) -> Tensor:
    """exp(part − whole); 0 where there is nothing."""
    empty = (part == -torch.inf) | (whole == -torch.inf)
    difference = part.masked_fill(empty, 0) - whole.masked_fill(whole == -torch.inf, 0)
    return difference.exp().masked_fill(empty, 0)
