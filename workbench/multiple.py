"""Several tests at once: p-values that count how many there were."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def holm(values: Sequence[float | None]) -> list[float | None]:
    """p-values corrected for being several (Holm 1979); a test without a p-value counts as none.

    The i-th smallest of m becomes the greatest of (m − j + 1) p_j over j ≤ i, and at most 1.

    Args:
        values: p of each test.
    """
    told = [(value, place) for place, value in enumerate(values) if value is not None]
    found: list[float | None] = [None] * len(values)
    most = 0.0
    for rank, (value, place) in enumerate(sorted(told)):
        most = max(most, min(1.0, (len(told) - rank) * value))
        found[place] = most
    return found
