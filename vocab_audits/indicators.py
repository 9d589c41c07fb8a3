"""How near each row of an embedding matrix lies to the rows that were never trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from vocab_audits.principal import Principal
    from vocab_audits.rows import Matrix

    Floats = NDArray[np.float64]

INDICATORS = ("cosine", "cosine_centred", "cosine_without_pc1", "distance")
"""Each is low for a row that looks untrained: 1 - cos(x, u) of row x and the mean u of known-unused rows; the
same about the mean of all rows; the same with the first principal component taken out besides; ‖x - u‖. After
Land and Bartolo 2024 (arXiv 2405.05417), section 3."""

FLAT, FLAT_REST = 1e-5, 3e-3
"""Length of a centred row as a share of the row's, and of what the first component leaves of it as a share of
the centred row's, under which rounding in 32 bits speaks louder than a direction."""


def measured(matrix: Matrix, centre: Floats, first: Principal) -> dict[str, Floats]:
    """The indicators of every row (rows,), in one pass; NaN where one is not defined.

    A cosine is undefined for a row, or a mean of known-unused rows, that is zero or becomes so.

    Args:
        matrix: the scanned matrix.
        centre: mean of the known-unused rows (width,).
        first: the first principal component.
    """
    mean, apart = matrix.mean, centre - matrix.mean
    along = np.stack([centre, apart, first.vector], axis=1).astype(np.float32)
    thin, back = mean.astype(np.float32), (mean - centre).astype(np.float32)
    dots = np.empty((matrix.rows, 3), np.float64)
    squares, away = np.empty(matrix.rows), np.empty(matrix.rows)
    for start, chunk in matrix.passed():
        here = slice(start, start + len(chunk))
        np.subtract(chunk, thin, out=chunk)
        dots[here] = chunk @ along
        squares[here] = np.einsum("ij,ij->i", chunk, chunk)
        np.add(chunk, back, out=chunk)
        away[here] = np.einsum("ij,ij->i", chunk, chunk)
    long, whole, part = np.sqrt(squares), _length(centre), _length(apart)
    part = part if part > FLAT * whole else 0.0
    left = float(apart @ first.vector)
    rest = np.sqrt(np.maximum(squares - dots[:, 2] ** 2, 0))
    part_rest = float(np.sqrt(max(part**2 - left**2, 0)))
    flat = long <= FLAT * np.maximum(matrix.norms, _length(mean))
    found = {
        "cosine": _distance(dots[:, 0] + mean @ centre, matrix.norms, whole),
        "cosine_centred": _distance(dots[:, 1], np.where(flat, 0, long), part),
        "cosine_without_pc1": _distance(
            dots[:, 1] - left * dots[:, 2],
            np.where(flat | (rest <= FLAT_REST * long), 0, rest),
            part_rest if part_rest > FLAT_REST * part else 0.0,
        ),
        "distance": np.sqrt(away),
    }
    for values in found.values():
        values[~matrix.finite] = np.nan
    return found


def _length(vector: Floats) -> float:
    return float(np.linalg.norm(vector))


def _distance(dots: Floats, lengths: Floats, length: float) -> Floats:
    """1 - cos from dot products and lengths; NaN where either length is nothing."""
    products = lengths * length
    cosines = np.divide(dots, products, out=np.full(len(dots), np.nan), where=products > 0)
    distances: Floats = 1 - np.clip(cosines, -1, 1)
    return distances


def mean_rank(lists: Mapping[str, Floats], among: NDArray[np.bool_]) -> Floats:
    """Mean of the ranks in several lists as a share of their length (rows,), low first; NaN where in none.

    Borda's rule: each list has one vote; equal values share the mean of their ranks; a row without a value in
    a list is ranked by the others.

    Args:
        lists: values by name (rows,), NaN where undefined.
        among: the rows that are ranked.
    """
    from scipy.stats import rankdata

    total, votes = np.zeros(len(among)), np.zeros(len(among))
    for values in lists.values():
        here = among & ~np.isnan(values)
        if here.any():
            total[here] += (rankdata(values[here]) - 0.5) / here.sum()
            votes[here] += 1
    mean: Floats = np.divide(total, votes, out=np.full(len(among), np.nan), where=votes > 0)
    return mean
