"""What byte-prefix marginalization is compared with: four losses for two vocabularies, one figure a row.

Each is our reading of its source, named where it stands; where a source leaves a choice open, the text says
which one is taken. All take the student's logits and the teacher's probabilities of one ``Pairing``: logits
(student positions, student ids), and probabilities (teacher tokens, teacher ids), row i of each predicting
token i.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from workbench.errors import SutureError
from workbench.ranges import ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from probing.bridge.chunks import Offsets, Pairing

LEAST = 1e-8
"""Least probability of a later token in GOLD's product, as its code has it."""


class Shared(NamedTuple):
    """Entries whose bytes both vocabularies hold.

    Attributes:
        student: the student's id of each (shared,), rising; of several ids with the same bytes the lowest.
        teacher: teacher ids with such bytes (n,); several may have the same.
        slots: place in ``student`` of each of them (n,).
    """

    student: NDArray[np.int64]
    teacher: NDArray[np.int64]
    slots: NDArray[np.int64]

    @classmethod
    def of(cls, homes: NDArray[np.int64]) -> Shared:
        """From the student id with the same bytes of each teacher id, −1 where there is none (teachers,)."""
        teacher = np.flatnonzero(homes >= 0)
        student, slots = np.unique(homes[teacher], return_inverse=True)
        return cls(student.astype(np.int64), teacher, slots.astype(np.int64))

    def of_teacher(self, probabilities: Tensor) -> Tensor:
        """Teacher mass on the shared entries (rows, shared); ids of the same bytes are summed."""
        device = probabilities.device
        found = probabilities.new_zeros(len(probabilities), len(self.student))
        held = probabilities[:, torch.from_numpy(self.teacher).to(device)]
        return found.index_add_(1, torch.from_numpy(self.slots).to(device), held)

    def places(self, size: tuple[int, int]) -> tuple[Offsets, Offsets]:
        """Shared entry of each teacher id and of each student id, −1 where there is none."""
        teacher, student = np.full(size[0], -1), np.full(size[1], -1)
        teacher[self.teacher] = self.slots
        student[self.student] = np.arange(len(self.student))
        return teacher, student


def check(logits: Tensor, teacher: Tensor, pairing: Pairing) -> None:
    """Refuses rows that do not belong to a pairing, and values that are no logits or probabilities.

    Raises:
        SutureError: the numbers of rows differ from the tokens'; a value is NaN, or negative where it
            must be a probability.
    """
    rows = len(pairing.student.ids), len(pairing.teacher.ids)
    if logits.ndim != 2 or teacher.ndim != 2 or (len(logits), len(teacher)) != rows:
        raise SutureError(
            f"logits and probabilities must have one row a token, {rows[0]} and {rows[1]}; got shapes "
            f"{tuple(logits.shape)} and {tuple(teacher.shape)}; predict the tokens of this pairing"
        )
    if bool(logits.isnan().any() | ~(teacher >= 0).all()):
        raise SutureError(
            "logits must be numbers and probabilities at least 0; got NaN or less; look for an overflow"
        )


def _share(beta: float, weight: float | None = None) -> None:
    if not 0 < beta < 1 or not 0 <= (weight or 0) <= 1:
        raise SutureError(
            f"beta must lie between 0 and 1 and weight in 0..1; got {beta} and {weight}; give shares"
        )


def same_index(pairing: Pairing) -> tuple[Offsets, Offsets]:
    """Student positions and teacher rows of the same place in their sample, as far as both sides go."""
    found = []
    counts = [
        np.bincount(side.samples, minlength=len(pairing.kept)) for side in (pairing.student, pairing.teacher)
    ]
    least = np.minimum(*counts)
    for count, side in zip(counts, (pairing.student, pairing.teacher), strict=True):
        place = ranges(0, count)
        found.append(np.flatnonzero(place < least[side.samples]))
    return found[0], found[1]


def sorted_l1(one: Tensor, two: Tensor) -> Tensor:
    """Σ_k |one_(k) − two_(k)| of the values sorted downwards, the shorter filled with 0 (rows,)."""
    width = max(one.shape[-1], two.shape[-1])
    both = [functional.pad(each.sort(-1, descending=True).values, (0, width - each.shape[-1]))
            for each in (one, two)]  # fmt: skip
    return (both[0] - both[1]).abs().sum(-1)


def uld(logits: Tensor, teacher: Tensor, pairing: Pairing) -> Tensor:
    """Universal Logit Distillation: sorted-probability L1 of rows of the same index (pairs,).

    Boizard et al. 2024 (arXiv 2402.12030), the transport term alone. Rows are matched by their place in the
    sample and the longer sequence is cut, as there: where the tokens are out of step, so are the rows.
    """
    check(logits, teacher, pairing)
    rows, others = (torch.from_numpy(each).to(logits.device) for each in same_index(pairing))
    p = _probabilities(logits[rows])
    return sorted_l1(p, teacher[others].to(p.dtype))


def gold(
    logits: Tensor,
    teacher: Tensor,
    pairing: Pairing,
    shared: Shared,
    *,
    beta: float = 0.5,
    weight: float | None = None,
) -> Tensor:
    """GOLD-like span merge: divergence on shared entries, sorted L1 on the others (chunks,).

    The extended ULD loss of TRL's ``GOLDTrainer``, merge strategy "observed": the row of a chunk is the one
    of its first token, times the probabilities of the later realised tokens (at least 1e-8 each); it is not
    a distribution any more. On shared entries the generalised Jensen–Shannon terms are summed without
    renormalising; the others are compared by ``sorted_l1``.

    Args:
        logits: the student's.
        teacher: the teacher's probabilities.
        pairing: the tokens of both.
        shared: entries of both.
        beta: as in ``losses.jensen_shannon``; strictly between 0 and 1 here.
        weight: of the shared part, the rest has 1 − weight; by default the share of the student's entries
            that are shared.
    """
    check(logits, teacher, pairing)
    _share(beta, weight)
    p = _merged(_probabilities(logits), pairing.student.ids, pairing.chunk, LEAST)
    q = _merged(teacher.to(p.dtype), pairing.teacher.ids, pairing.teacher_chunk, LEAST)
    ids = torch.from_numpy(shared.student).to(p.device)
    matched = _divergence(shared.of_teacher(q), p[:, ids], beta)
    unmatched = sorted_l1(_without(p, shared.student), _without(q, shared.teacher))
    share = len(shared.student) / p.shape[-1] if weight is None else weight
    found: Tensor = share * matched.sum(-1) + (1 - share) * unmatched
    return found


def strict(logits: Tensor, teacher: Tensor, pairing: Pairing, shared: Shared) -> Tensor:
    """Reverse KL on shared entries at the positions of 1:1 chunks, both renormalised there (positions,).

    The strict rows of "Rethinking Cross-Tokenizer OPD" (arXiv 2610.08448), over all shared entries; there
    the student's most probable sixteen of them are taken. The renormalising is the method's own.
    """
    check(logits, teacher, pairing)
    rows = np.flatnonzero(pairing.classes == 0)
    device = logits.device
    ids, at = (torch.from_numpy(each).to(device) for each in (shared.student, rows))
    log_p = functional.log_softmax(_wide(logits)[at][:, ids], dim=-1)
    on = shared.of_teacher(teacher[torch.from_numpy(pairing.governing[rows]).to(device)]).to(log_p.dtype)
    log_q = on.clamp_min(LEAST * LEAST).log()
    log_q = log_q - log_q.logsumexp(-1, keepdim=True)
    return (log_p.exp() * (log_p - log_q)).sum(-1)


def simct(
    logits: Tensor,
    teacher: Tensor,
    pairing: Pairing,
    shared: Shared,
    *,
    beta: float = 0.5,
    longest: int = 4,
) -> Tensor:
    """SimCT-like: shared entries, one short shared continuation, and the rest, by chunk (chunks,).

    After SimCT (arXiv 2605.07711): besides shared entries, a few tokens in a row may spell the same bytes on
    both sides. Our reading, as no formula was at hand: at a chunk's start the cells are the shared entries,
    the chunk's own bytes along its realised tokens, and all else; the loss is the Jensen–Shannon divergence
    over them, which stays finite where one side has nothing else. What one side spells in one shared entry
    has its cell there; a path of several tokens is taken out of the cell of its first token, so that the
    cells stay a partition.

    Args:
        logits: the student's.
        teacher: the teacher's probabilities.
        pairing: the tokens of both.
        shared: entries of both.
        beta: as in ``losses.jensen_shannon``; strictly between 0 and 1 here.
        longest: tokens of a continuation on either side at most; a longer chunk is left out.
    """
    check(logits, teacher, pairing)
    _share(beta)
    p, q = _probabilities(logits), teacher.to(torch.promote_types(teacher.dtype, torch.float32))
    sides = (pairing.student, p, pairing.chunk), (pairing.teacher, q, pairing.teacher_chunk)
    size = teacher.shape[-1], logits.shape[-1]
    slots = shared.places(size)[::-1]
    chunks = len(pairing.sync) - 1
    counts = [np.bincount(chunk, minlength=chunks) for _, _, chunk in sides]
    firsts = [slot[side.ids[np.cumsum(count) - count]]
              for (side, _, _), slot, count in zip(sides, slots, counts, strict=True)]  # fmt: skip
    single = [np.where(count == 1, first, -1) for count, first in zip(counts, firsts, strict=True)]
    home = np.where(single[0] >= 0, single[0], single[1])
    kept = np.flatnonzero((counts[0] <= longest) & (counts[1] <= longest))
    ids = torch.from_numpy(shared.student).to(p.device)
    starts = [torch.from_numpy((np.cumsum(count) - count)[kept]).to(p.device) for count in counts]
    rows = p[starts[0]][:, ids], shared.of_teacher(q[starts[1]])
    made = [
        _celled(row, _path(values, side.ids, chunk), first[kept], home[kept], kept)
        for row, (side, values, chunk), first in zip(rows, sides, firsts, strict=True)
    ]
    return _divergence(made[1].to(p.dtype), made[0], beta).sum(-1)


def _divergence(on: Tensor, by: Tensor, beta: float) -> Tensor:
    """Terms of the generalised Jensen–Shannon divergence of ``by`` from ``on``, which need not sum to 1."""
    least = torch.finfo(by.dtype).tiny
    mixed = (beta * on + (1 - beta) * by).clamp_min(least).log()
    return beta * on * (on.clamp_min(least).log() - mixed) + (1 - beta) * by * (
        by.clamp_min(least).log() - mixed
    )


def _wide(logits: Tensor) -> Tensor:
    return logits if logits.dtype == torch.float64 else logits.float()


def _probabilities(logits: Tensor) -> Tensor:
    return functional.softmax(_wide(logits), dim=-1)


def _realised(values: Tensor, ids: NDArray[np.int32]) -> Tensor:
    """Probability of each row's realised token (rows,)."""
    return values.gather(1, torch.from_numpy(ids.astype(np.int64)).to(values.device).unsqueeze(1)).squeeze(1)


def _merged(values: Tensor, ids: NDArray[np.int32], chunk: Offsets, least: float) -> Tensor:
    """Each chunk's first row times its later realised probabilities (chunks, ids)."""
    first = np.concatenate([[True], np.diff(chunk) > 0]) if len(chunk) else np.zeros(0, bool)
    where, start = (torch.from_numpy(each).to(values.device) for each in (chunk, np.flatnonzero(first)))
    logs = _realised(values, ids).clamp_min(least).log()
    logs = logs.masked_fill(torch.from_numpy(first).to(values.device), 0)
    tail = logs.new_zeros(len(start)).index_add_(0, where, logs)
    return values[start] * tail.exp().unsqueeze(1)


def _path(values: Tensor, ids: NDArray[np.int32], chunk: Offsets) -> Tensor:
    """Probability of each chunk's realised tokens in a row (chunks,)."""
    logs = _realised(values, ids).clamp_min(torch.finfo(values.dtype).tiny).log()
    where = torch.from_numpy(chunk).to(values.device)
    chunks = int(chunk[-1]) + 1 if len(chunk) else 0
    return logs.new_zeros(chunks).index_add_(0, where, logs).exp()


def _celled(row: Tensor, path: Tensor, first: Offsets, home: Offsets, kept: Offsets) -> Tensor:
    """Shared cells, the continuation's cell and the rest (kept, shared + 2)."""
    width = row.shape[-1]
    path = path[torch.from_numpy(kept).to(row.device)]
    rest = (1 - row.sum(-1)).clamp_min(0)
    full = torch.cat([row, row.new_zeros(len(row), 1), rest.unsqueeze(1)], dim=1)
    from_, to = np.where(first >= 0, first, width + 1), np.where(home >= 0, home, width)
    for cells, moved in ((from_, -path), (to, path)):
        full = full.scatter_add(1, torch.from_numpy(cells).to(row.device).unsqueeze(1), moved.unsqueeze(1))
    return full.clamp_min(0)


def _without(values: Tensor, ids: NDArray[np.int64]) -> Tensor:
    kept = np.setdiff1d(np.arange(values.shape[-1]), ids)
    return values[:, torch.from_numpy(kept).to(values.device)]
