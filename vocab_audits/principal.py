"""The direction along which rows vary most, found in a few passes over a matrix too large to hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vocab_audits.rows import Matrix

BLOCK = 16
"""Directions multiplied at a time; a pass costs reading the rows, and these come with it for little."""

PASSES = 12
"""Passes at most."""

TOLERANCE = 1e-4
"""Residual, as a share of the leading variance, at which the direction is settled."""

SEED = 20_240_503
"""Of the first directions."""


class Principal(NamedTuple):
    """The first principal component of a matrix's rows about their mean.

    Attributes:
        vector: unit vector (width,), its largest number positive; zeros where the rows do not vary.
        share: its share of the rows' variance; 0 where they do not vary.
        residual: ‖S v - λ v‖ / λ for the scatter matrix S of the rows; 0 is exact.
        passes: passes that it took.
    """

    vector: NDArray[np.float64]
    share: float
    residual: float
    passes: int

    @property
    def settled(self) -> bool:
        """Whether the residual came under the tolerance; where two variances are close it may not."""
        return self.residual <= TOLERANCE


def principal(matrix: Matrix, most: int = PASSES) -> Principal:
    """The first principal component of the finite rows, centred by their mean.

    Block Lanczos with full reorthogonalisation (Golub and Underwood 1977): each pass multiplies a block of
    directions by the scatter matrix S = Σ (x - μ)(x - μ)ᵀ, and the leading eigenvector of S within all
    directions seen so far is taken. S itself is never made: it would cost width / block as much.

    Args:
        matrix: the scanned matrix.
        most: passes at most.
    """
    width = matrix.width
    mean, total = matrix.mean, _scatter(matrix)
    if not total > 0 or width == 0:
        return Principal(np.zeros(width), 0.0, 0.0, 0)
    block = np.random.default_rng(SEED).normal(size=(width, min(BLOCK, width)))
    basis, image = np.empty((width, 0)), np.empty((width, 0))
    for done in range(1, most + 1):
        block = _beside(basis, block)
        if not block.shape[1]:
            break
        basis = np.hstack([basis, block])
        image = np.hstack([image, _multiplied(matrix, mean, block)])
        inner = basis.T @ image
        values, vectors = np.linalg.eigh((inner + inner.T) / 2)
        vector, value = basis @ vectors[:, -1], float(values[-1])
        residual = float(np.linalg.norm(image @ vectors[:, -1] - value * vector)) / max(value, 1e-300)
        found = Principal(_signed(vector), min(value / total, 1.0), residual, done)
        if residual <= TOLERANCE:
            break
        block = image[:, -block.shape[1] :]
    return found


def _scatter(matrix: Matrix) -> float:
    """Σ ‖x - μ‖² over the finite rows."""
    squares = float(matrix.norms @ matrix.norms)
    about = squares - int(matrix.finite.sum()) * float(matrix.mean @ matrix.mean)
    return about if about > 1e-7 * squares else 0.0


def _multiplied(matrix: Matrix, mean: NDArray[np.float64], block: NDArray[np.float64]) -> NDArray[np.float64]:
    """S times a block of directions (width, block), in one pass.

    Since the centred rows sum to nothing, Σ (x - μ) y over y = (x - μ)·q is Σ x y.
    """
    thin, shift = block.astype(np.float32), (mean @ block).astype(np.float32)
    image = np.zeros(block.shape)
    for start, chunk in matrix.passed():
        seen = chunk @ thin
        seen -= shift
        seen[~matrix.finite[start : start + len(chunk)]] = 0
        image += chunk.T @ seen
    return image


def _beside(basis: NDArray[np.float64], block: NDArray[np.float64]) -> NDArray[np.float64]:
    """An orthonormal base of what a block adds to a basis; twice, since once leaves rounding behind."""
    scale = np.linalg.norm(block, axis=0)
    block = block / np.where(scale > 0, scale, 1)
    for _ in range(2):
        block = block - basis @ (basis.T @ block)
    made, upper = np.linalg.qr(block)
    made = made[:, np.abs(np.diag(upper)) > 1e-8]
    made -= basis @ (basis.T @ made)
    return made


def _signed(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    vector = vector / np.linalg.norm(vector)
    return vector if vector[np.argmax(np.abs(vector))] > 0 else -vector
