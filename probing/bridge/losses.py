"""Losses of a student against targets with a residual, and their gradients.

A target row gives mass to some cells (student tokens), its support, and leaves ``other``: mass that no
student token takes. Beside the support there is one more cell, the complement: every student token outside
the support. Target and student are compared on these cells, so ``other`` stands against all that the student
gives outside the support (for the forward direction as in Wang et al., arXiv 2607.22334; for the other two
this is our reading). Mass and ``other`` must sum to 1; nothing is renormalised here.

All figures are in nats, one a row. Logits of 16 bits are taken to 32.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from workbench.errors import SutureError

FLOOR = 1e-8
"""Least target of a cell where the reverse direction divides by it."""

SLACK = 1e-3
"""How far from 1 the sum of a target row may be: rows of 32-bit softmax reach 1e-4."""

COMPLAINTS = (
    ("a student's logits must be numbers or −inf", "has NaN or +inf", "look for an overflow"),
    (
        "a student's logits must be finite where the target has mass",
        "has −inf there",
        "do not mask tokens before the loss",
    ),
    (
        "a target row must be at least 0 everywhere and sum to 1 with its residual",
        "sums to {total:.6g}",
        "pass residual, byte-less and lost mass together",
    ),
    (
        "a residual needs a student token outside the target's support to stand against",
        "has {other:.3g} and none",
        "leave the row out",
    ),
)
"""What must hold of a row, what came instead, and what to do."""


class Cells(NamedTuple):
    """Student and target on the support and on the complement.

    Attributes:
        logp: log-probability of each student token (rows, tokens), 0 outside the support.
        p: its probability (rows, tokens), 0 outside the support.
        rest_logp: log-probability of the complement (rows,), 0 where it is empty.
        rest_p: its probability (rows,).
        target: the target (rows, tokens).
        other: mass for no student token (rows,).
    """

    logp: Tensor
    p: Tensor
    rest_logp: Tensor
    rest_p: Tensor
    target: Tensor
    other: Tensor


def cells(logits: Tensor, target: Tensor, other: Tensor) -> Cells:
    """Puts a student and a target on common cells.

    Args:
        logits: the student's (rows, tokens); −inf only where the target gives nothing.
        target: masses (rows, tokens).
        other: mass that no student token takes (rows,).

    Raises:
        SutureError: shapes differ; a logit is NaN or +inf, or −inf on the support; a target is negative,
            NaN, or does not sum to 1 with ``other``; ``other`` has mass and the complement is empty.
    """
    _shapes(logits, target, other)
    scores = logits if logits.dtype == torch.float64 else logits.float()
    target, other = target.detach().to(scores.dtype), other.detach().to(scores.dtype)
    support = target > 0
    outside = ~support & (scores > -torch.inf)
    empty = ~outside.any(dim=-1)
    _values(scores, target, other, support, empty)
    total = scores.logsumexp(dim=-1)
    # An empty complement has a NaN in the gradient of its logsumexp; its row is read whole, then dropped.
    hidden = scores.masked_fill(~(outside | empty.unsqueeze(-1)), -torch.inf)
    rest = hidden.logsumexp(dim=-1) - total
    logp = (scores - total.unsqueeze(-1)).masked_fill(~support, 0)
    return Cells(
        logp,
        logp.exp().masked_fill(~support, 0),
        rest.masked_fill(empty, 0),
        rest.exp().masked_fill(empty, 0),
        target,
        other,
    )


def _shapes(logits: Tensor, target: Tensor, other: Tensor) -> None:
    if logits.ndim != 2 or logits.shape != target.shape or other.shape != logits.shape[:1]:
        raise SutureError(
            f"logits and targets must be (rows, student tokens) and the residual (rows,); got "
            f"{tuple(logits.shape)}, {tuple(target.shape)} and {tuple(other.shape)}; cut the logits to the "
            "student's vocabulary"
        )


def _values(scores: Tensor, target: Tensor, other: Tensor, support: Tensor, empty: Tensor) -> None:
    """Refuses bad rows; the four questions are asked together, so that a device is waited for once."""
    total = target.sum(dim=-1) + other
    bad = torch.stack(
        [
            (scores.isnan() | (scores == torch.inf)).any(dim=-1),
            ((scores == -torch.inf) & support).any(dim=-1),
            ~((target >= 0).all(dim=-1) & (other >= 0) & ((total - 1).abs() <= SLACK)),
            empty & (other > 0),
        ]
    )
    if not bool(bad.any()):
        return
    kind = int(bad.any(dim=-1).nonzero()[0])
    row = int(bad[kind].nonzero()[0])
    must, came, do = COMPLAINTS[kind]
    raise SutureError(
        f"{must}; row {row} {came.format(total=float(total[row]), other=float(other[row]))}; {do}"
    )


def cross_entropy(logits: Tensor, target: Tensor, other: Tensor) -> Tensor:
    """Forward loss −Σ_u target(u)·log p(u) − other·log(1 − Σ_support p(u)) (rows,).

    The complement is taken in log space. Its gradient by the logits is p − target on the support and
    sums to 0 over the vocabulary.
    """
    at = cells(logits, target, other)
    found: Tensor = -(at.target * at.logp).sum(dim=-1) - at.other * at.rest_logp
    return found


def forward_kl(logits: Tensor, target: Tensor, other: Tensor) -> Tensor:
    """KL(target ‖ student) on the cells (rows,): the cross-entropy less the target's own entropy."""
    found = cross_entropy(logits, target, other)
    return found - entropy(target, other).to(found.dtype)


def entropy(target: Tensor, other: Tensor) -> Tensor:
    """Entropy of the target on its cells (rows,), at least 32-bit."""
    wide = target if target.dtype == torch.float64 else target.float()
    rest = other.to(wide.dtype)
    found: Tensor = torch.special.xlogy(wide, wide).sum(dim=-1) + torch.special.xlogy(rest, rest)
    return -found


def reverse_kl(
    logits: Tensor, target: Tensor, other: Tensor, *, floor: float = FLOOR, skew: float = 0.0
) -> Tensor:
    """KL(student ‖ target) on the cells (rows,).

    Args:
        logits: the student's (rows, tokens).
        target: masses (rows, tokens).
        other: mass that no student token takes (rows,).
        floor: least target of a cell; the target is not renormalised after it, so the figure may fall below 0
            by as much as the floor adds.
        skew: λ of the skewed divergence KL(p ‖ (1 − λ)·target + λ·p) (Ko et al. 2024, arXiv 2402.03898); the
            gradient goes through both.
    """
    _between("skew", skew, 1.0)
    at = cells(logits, target, other)
    support = at.target > 0
    on = torch.where(support, at.target.clamp_min(floor), 1) * (1 - skew) + skew * at.p
    rest = at.other.clamp_min(floor) * (1 - skew) + skew * at.rest_p
    inside = (at.p * (at.logp - on.log())).masked_fill(~support, 0).sum(dim=-1)
    return inside + at.rest_p * (at.rest_logp - rest.log())


def jensen_shannon(
    logits: Tensor,
    target: Tensor,
    other: Tensor,
    beta: float = 0.5,
    *,
    floor: float = FLOOR,
    skew: float = 0.0,
) -> Tensor:
    """Generalised Jensen–Shannon divergence β·KL(target ‖ m) + (1 − β)·KL(student ‖ m) (rows,).

    m = β·target + (1 − β)·student, as in Agarwal et al. 2024 (arXiv 2306.13649). By convention β = 0 is the
    forward and β = 1 the reverse direction, with its ``floor`` and ``skew``.
    """
    _between("beta", beta, 1.0)
    if beta == 0:
        return forward_kl(logits, target, other)
    if beta == 1:
        return reverse_kl(logits, target, other, floor=floor, skew=skew)
    at = cells(logits, target, other)
    least = torch.finfo(at.p.dtype).tiny
    both = (beta * at.target + (1 - beta) * at.p).clamp_min(least)
    rest = (beta * at.other + (1 - beta) * at.rest_p).clamp_min(least)
    forward = torch.special.xlogy(at.target, at.target) - at.target * both.log()
    backward = at.p * (at.logp - both.log())
    beyond = torch.special.xlogy(at.other, at.other) - at.other * rest.log()
    behind = at.rest_p * (at.rest_logp - rest.log())
    inside = (beta * forward + (1 - beta) * backward).sum(dim=-1)
    found: Tensor = inside + beta * beyond + (1 - beta) * behind
    return found


def _between(name: str, value: float, most: float) -> None:
    if not 0 <= value <= most:
        raise SutureError(f"{name} must lie in 0..{most:g}; got {value}; give a share")


def token_mean(losses: Tensor, keep: Tensor | None = None) -> Tensor:
    """Mean over the rows kept, each row once.

    Args:
        losses: (rows,).
        keep: rows that count (rows,), all by default; such as the targets' ``keep``.

    Raises:
        SutureError: no row is kept, of which a mean would be 0/0.
    """
    chosen = losses if keep is None else losses[keep]
    if not chosen.numel():
        raise SutureError("a mean needs at least one row; none is kept; take more text, or no mask")
    return chosen.mean()
