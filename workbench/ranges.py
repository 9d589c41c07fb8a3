"""Many ranges of numbers, end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def ranges(starts: NDArray[np.integer] | int, counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """start, start + 1, … of each range, one after another (sum of counts,).

    Args:
        starts: first number of each range (n,), or of all.
        counts: how many numbers each has, 0 or more (n,).
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    found: NDArray[np.int64] = np.arange(total) + np.repeat(starts - (ends - counts), counts)
    return found
