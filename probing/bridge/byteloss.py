"""Losses of a model of bytes: against a teacher's targets, and against the text alone, in nats a row.

A student has one logit a column of the targets, and may have one more for ids that spell nothing. What a
row's targets give to no column of the student (byte-less mass without such a column, lost mass) trains
nothing: the row then counts as much as the mass that is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from probing.bridge.mass import refuse
from workbench.errors import SutureError

if TYPE_CHECKING:
    from probing.bridge.bytes import Targets


def divergence(logits: Tensor, targets: Targets) -> Tensor:
    """KL(teacher ‖ student) of each row, times the mass m that the row's columns have (rows,).

    With t the targets of the student's columns and m their sum: Σ t·log(t / m) − Σ t·log p. That is the KL
    of a student that, besides, gave the rest of the mass exactly. The gradient in the logits is m·p − t.

    Args:
        logits: the student's (rows, columns of the targets, or one more for byte-less ids).
        targets: of the teacher; their gradients are not taken.

    Raises:
        SutureError: another shape; NaN, +inf, or −inf where the targets have mass.
    """
    wanted = targets.values.detach()
    if logits.ndim == 2 and logits.shape[1] == targets.columns + 1:
        wanted = torch.cat([wanted, targets.byteless.detach().unsqueeze(1)], dim=1)
    scores = _checked(logits, wanted.shape)
    wanted = wanted.to(scores.dtype)
    refuse(
        ((scores == -torch.inf) & (wanted > 0)).any(dim=1),
        "a student's logits must be finite where the targets have mass",
        "do not mask columns before the loss",
    )
    logp = functional.log_softmax(scores, dim=1).masked_fill(wanted == 0, 0)
    whole = wanted.sum(dim=1)
    constant = torch.special.xlogy(wanted, wanted).sum(dim=1) - torch.special.xlogy(whole, whole)
    found: Tensor = constant - (wanted * logp).sum(dim=1)
    return found


def surprisal(logits: Tensor, targets: Targets) -> Tensor:
    """−log p of what follows in the text: the byte, or that the token ends (rows,).

    The supervised arm. Over ln 2 and summed, by the number of bytes, it is a student's bits per byte: with
    End-Of-Token an upper bound of those of the byte string (see docs/bridge.md for what may be compared).

    Args:
        logits: the student's (rows, columns of the targets, or one more for byte-less ids).
        targets: of the teacher; only their ``realised`` is read.

    Raises:
        SutureError: another shape; NaN or +inf, or −inf alone.
    """
    width = targets.columns + (logits.ndim == 2 and logits.shape[1] == targets.columns + 1)
    scores = _checked(logits, torch.Size([len(targets), width]))
    return functional.cross_entropy(scores, targets.realised, reduction="none")


def _checked(logits: Tensor, shape: torch.Size) -> Tensor:
    if logits.shape != shape:
        raise SutureError(
            f"a student's logits must be {tuple(shape)}, one row a target, or one column more; got "
            f"{tuple(logits.shape)}; predict every row of these targets"
        )
    scores = logits if logits.dtype == torch.float64 else logits.float()
    if scores.numel():
        most = scores.detach().amax(dim=1)
        refuse(
            ~most.isfinite(),
            "a student's logits must be numbers or −inf, and some finite",
            "look for an overflow",
        )
    return scores
