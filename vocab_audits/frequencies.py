"""Figures of a distribution: entropy, evenness, and how unequal several amounts are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def entropy(counts: NDArray[np.int64], alpha: float = 1.0) -> float | None:
    """Rényi entropy of order ``alpha`` in bits; Shannon's where it is 1.

    H_α = log2(Σ p^α) / (1 - α), and H_1 = -Σ p log2 p (Rényi 1961; for tokens Zouhar et al. 2023,
    doi 10.18653/v1/2023.acl-long.284).

    Args:
        counts: occurrences of each type (types,); zeros have no part in it.
        alpha: order, at least 0.

    Returns:
        None where nothing occurs.

    Raises:
        SutureError: the order is negative or no finite number.
    """
    if not 0 <= alpha < math.inf:
        raise SutureError(f"the order of an entropy must be a number from 0 up; got {alpha}; 2.5 is usual")
    seen = counts[counts > 0]
    if not len(seen):
        return None
    logs = np.log2(seen / seen.sum())
    if alpha == 1:
        return float(-(np.exp2(logs) * logs).sum())
    # The largest term is taken out, so that a high order does not make every term vanish.
    peak = float(logs.max())
    return float((np.log2(np.exp2(alpha * (logs - peak)).sum()) + alpha * peak) / (1 - alpha))


def efficiency(counts: NDArray[np.int64], alpha: float, types: int) -> float | None:
    """Entropy of order ``alpha`` over log2 of a number of types; None for fewer than two types."""
    found = entropy(counts, alpha)
    return None if found is None or types < 2 else found / math.log2(types)


def gini(amounts: Sequence[float]) -> float | None:
    """Gini coefficient Σ_i Σ_j |c_i - c_j| / (2 n² μ); 0 where all are equal, None where the mean is 0."""
    values = np.asarray(amounts, np.float64)
    return float(ginis(values[None])[0]) if values.any() else None


def ginis(amounts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Gini coefficient of each row, from its sorted amounts: Σ_i (2i - n - 1) c_i / (n Σ c), i from 1.

    Args:
        amounts: (rows, n), not negative.

    Returns:
        (rows,), NaN where all amounts are 0.
    """
    number = amounts.shape[1]
    ranks = 2 * np.arange(1, number + 1) - number - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        found: NDArray[np.float64] = np.sort(amounts, axis=1) @ ranks / (number * amounts.sum(axis=1))
    return found
