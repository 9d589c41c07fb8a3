"""The part of a teacher's predictions that a dump has kept: a few ids of each position."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from probing.bridge.mass import log_sum, refuse
from workbench.errors import SutureError

SLACK = 1e-3
"""How far above 1 the kept probabilities of a row may sum: 32-bit softmax over 100,000 ids errs by 1e-4."""


class Kept(NamedTuple):
    """The ids of a teacher that a dump has kept; the rest of the mass is lost, and stays so.

    Attributes:
        ids: different ids of each position (positions, k).
        values: their log-probabilities under the whole softmax (positions, k). What they lack to 1 is lost,
            and is at least the rounding of their type.
        most: log-probability that no id left out exceeds, such as the least kept of a top-k (positions,), or
            None where nothing is known. It bounds what may have been lost under a long prefix.
    """

    ids: Tensor
    values: Tensor
    most: Tensor | None = None

    def part(self, low: int, high: int) -> Kept:
        """Some positions."""
        most = None if self.most is None else self.most[low:high]
        return Kept(self.ids[low:high], self.values[low:high], most)


def check_kept(teacher: Kept, width: int) -> None:
    """Refuses kept ids that are none, or values that are no log-probabilities.

    Raises:
        SutureError: shapes differ; an id is out of range or twice in a row; values are NaN, +inf or sum to
            more than 1.
    """
    ids, values, most = teacher
    if ids.ndim != 2 or ids.shape != values.shape or ids.is_floating_point():
        raise SutureError(
            f"kept ids and log-probabilities must have one shape (positions, k); got {tuple(ids.shape)} of "
            f"{ids.dtype} and {tuple(values.shape)}; keep as many ids as values"
        )
    if not ids.numel():
        raise SutureError(f"at least one id must be kept of each position; got {tuple(ids.shape)}; keep some")
    order = ids.sort(dim=1).values
    refuse(
        (order[:, 0] < 0) | (order[:, -1] >= width) | (order[:, 1:] == order[:, :-1]).any(dim=1),
        f"kept ids must differ within a position and lie in 0..{width - 1}",
        "keep the teacher's own ids",
    )
    whole = log_sum(values.detach().double())
    refuse(
        ~(whole <= np.log1p(SLACK)) | (values == torch.inf).any(dim=1),
        "kept values must be log-probabilities, numbers or −inf that sum to at most 1",
        "take the logarithm of the whole softmax before keeping some",
    )
    if most is None:
        return
    if most.shape != ids.shape[:1]:
        raise SutureError(
            f"there must be one bound a position; got {tuple(most.shape)} for {len(ids)} positions; give the "
            "least kept value of each, or None"
        )
    lacking = -torch.expm1(whole.clamp_max(0)) - (width - ids.shape[1]) * most.detach().double().exp()
    refuse(
        ~(lacking <= SLACK),
        "the ids left out must be able to hold what the kept ones lack, each at most the bound",
        "give the greatest log-probability left out, or None",
    )
