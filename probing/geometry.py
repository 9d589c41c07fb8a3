"""How alike two layers arrange the same units: CKA, CCA, RSA and Procrustes, for layers of any widths.

All are of centred states, in 64 bits; rows that are not finite in either layer are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from probing.directions import ROUNDING, check, finite
from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from probing.directions import Floats, States

UNITS = 2_000
"""Units compared pair by pair at most."""

KEPT = 0.99
"""Share of the variance that is kept of each layer before canonical correlations."""

NOTHING = 1e-12
"""Below this share of what it could be, a variance counts as none."""


class Procrustes(NamedTuple):
    """The rotation that lays one layer over another, and how well it does.

    Attributes:
        similarity: nuclear norm of X'Y, both centred and of Frobenius norm 1; 0 to 1.
        distance: 2 − 2 similarity, the squared distance that is left.
        rotation: Q = U V' of X'Y, orthogonal (width, width); X Q lies as near Y as a rotation can bring it.
    """

    similarity: float
    distance: float
    rotation: Floats


class Canonical(NamedTuple):
    """Mean canonical correlations of two layers, each cut to ``KEPT`` of its variance.

    Attributes:
        svcca: their plain mean (Raghu et al. 2017).
        pwcca: weighted by how much of the first layer each direction stands for (Morcos et al. 2018).
        dimensions: kept of each layer; units should be five to ten times as many.
    """

    svcca: float
    pwcca: float
    dimensions: tuple[int, int]


def cka(states: States, other: States) -> float | None:
    """Linear CKA |Y'X|² / (|X'X| |Y'Y|), Frobenius norms of centred states (Kornblith et al. 2019).

    Biased upwards: independent noise of width d gives about d / (n + d), so that below n ≫ d it says little.
    Report ``debiased_cka`` beside it.

    Args:
        states: (units, width).
        other: the same units, of any width.

    Returns:
        0 to 1; None where a layer does not vary.
    """
    one, two = _paired(states, other)
    if not len(one):
        return None
    return _ratio(*(_squares(a, b) for a, b in ((one, two), (one, one), (two, two))))


def debiased_cka(states: States, other: States) -> float | None:
    """CKA from the unbiased HSIC₁ of Song et al. (2012): near 0 for independent layers of any width.

    HSIC₁ = [tr(K̃L̃) + 1'K̃1 1'L̃1 / ((n − 1)(n − 2)) − 2 / (n − 2) 1'K̃L̃1] / (n (n − 3)), K̃ with a zero diagonal.

    Args:
        states: (units, width).
        other: the same units, of any width.

    Returns:
        At most 1, and below 0 by chance; None below four units, or where a layer's own HSIC₁ is not positive.
    """
    return minibatch_cka([(states, other)])


def minibatch_cka(batches: Iterable[tuple[States, States]]) -> float | None:
    """Debiased CKA of more units than fit: each HSIC₁ averaged over batches, then normalised.

    After Nguyen et al. (2021). Batches should be of one size.

    Args:
        batches: the same units in two layers, some at a time.
    """
    sums, count = np.zeros(3), 0
    for states, other in batches:
        one, two = _paired(states, other)
        if len(one) < 4:
            continue
        sums += [hsic(one, two), hsic(one, one), hsic(two, two)]
        count += 1
    return _ratio(*(sums / count)) if count else None


def hsic(one: Floats, two: Floats) -> float:
    """HSIC₁ of centred states (units, width), without a matrix of units by units unless that is the smaller.

    The diagonal is taken off the sums: tr(K̃L̃) = |X'Y|² − Σ k_ii l_ii, and K̃1 = X X'1 − k_ii. Centring first
    changes nothing in HSIC₁ but the digits that cancel.
    """
    units = len(one)
    own = np.einsum("ij,ij->i", one, one), np.einsum("ij,ij->i", two, two)
    rows = one @ one.sum(0) - own[0], two @ two.sum(0) - own[1]
    trace = _squares(one, two) - float(own[0] @ own[1])
    means = float(rows[0].sum() * rows[1].sum()) / ((units - 1) * (units - 2))
    return (trace + means - 2 * float(rows[0] @ rows[1]) / (units - 2)) / (units * (units - 3))


def canonical(states: States, other: States, kept: float = KEPT) -> Canonical | None:
    """SVCCA and PWCCA of two layers.

    PWCCA weighs canonical direction i by Σ_j |⟨h_i, x_j⟩| over the first layer's dimensions x_j, as kept.

    Args:
        states: (units, width).
        other: the same units, of any width.
        kept: share of the variance to keep of each.

    Returns:
        None where a layer does not vary.
    """
    one, two = _paired(states, other)
    first, second = _whitened(one, kept), _whitened(two, kept)
    if first is None or second is None:
        return None
    turn, correlations, _ = np.linalg.svd(first[0].T @ second[0], full_matrices=False)
    correlations = np.clip(correlations, 0.0, 1.0)
    weights = np.abs((first[0] @ turn).T @ first[1]).sum(1)
    return Canonical(
        float(correlations.mean()),
        float(weights @ correlations / weights.sum()),
        (first[0].shape[1], second[0].shape[1]),
    )


def rsa(states: States, other: States, *, limit: int = UNITS, seed: int = 0) -> float | None:
    """Spearman correlation of the two layers' distances 1 − cos of all pairs (Kriegeskorte et al. 2008).

    Args:
        states: (units, width).
        other: the same units, of any width.
        limit: units taken at most, at random.
        seed: of the draw.

    Returns:
        −1 to 1; None below three units with a direction in both, or where all distances are equal.
    """
    from scipy.stats import rankdata

    from probing.directions import units

    check(states)
    check(other)
    _same_units(states, other)
    chosen = np.arange(len(states))
    if len(chosen) > limit:
        chosen = np.sort(np.random.default_rng(seed).choice(chosen, limit, replace=False))
    (one, first), (two, second) = units(states[chosen]), units(other[chosen])
    both = first & second
    if both.sum() < 3:
        return None
    upper = np.triu_indices(int(both.sum()), 1)
    ranked = [rankdata(np.round((each[both] @ each[both].T)[upper], 12)) for each in (one, two)]
    left, right = (each - each.mean() for each in ranked)
    length = float(np.sqrt((left @ left) * (right @ right)))
    return float(left @ right) / length if length > 0 else None


def procrustes(states: States, other: States) -> Procrustes | None:
    """Orthogonal Procrustes (Schönemann 1966) of centred states of Frobenius norm 1.

    Args:
        states: (units, width).
        other: the same units, of the same width.

    Returns:
        None where a layer does not vary.

    Raises:
        SutureError: the widths differ.
    """
    check(states, other)
    one, two = _paired(states, other)
    lengths = float(np.linalg.norm(one)), float(np.linalg.norm(two))
    if not len(one) or min(lengths) <= 0:
        return None
    left, values, right = np.linalg.svd((one / lengths[0]).T @ (two / lengths[1]))
    similarity = float(min(values.sum(), 1.0))
    return Procrustes(similarity, 2 - 2 * similarity, left @ right)


def aligned(states: States, other: States, anchors: tuple[States, States] | None = None) -> Floats:
    """States turned and moved into another's space, so that cosines between two checkpoints mean something.

    (x − mean_x) Q + mean_y; lengths inside a layer are kept.

    Args:
        states: (units, width) to be turned.
        other: the same units in the space to turn into.
        anchors: units in both spaces to fit Q and the means on, so that the ones compared need not be in the
            fit; by default these.

    Raises:
        SutureError: widths differ, or what is fitted on does not vary.
    """
    source, target = anchors or (states, other)
    found = procrustes(source, target)
    if found is None:
        raise SutureError("units that two spaces are aligned by must vary in both; these do not; give others")
    use = finite(source) & finite(target)
    here, there = (np.asarray(each[use], np.float64).mean(0) for each in (source, target))
    turned: Floats = (np.asarray(states, np.float64) - here) @ found.rotation + there
    return turned


def _paired(states: States, other: States) -> tuple[Floats, Floats]:
    """Both layers centred, in 64 bits, rows that are finite in both."""
    check(states)
    check(other)
    _same_units(states, other)
    use = finite(states) & finite(other)
    one, two = np.asarray(states[use], np.float64), np.asarray(other[use], np.float64)
    return _centred(one), _centred(two)


def _centred(states: Floats) -> Floats:
    """Less the mean row; exactly zero where only rounding is left."""
    if not len(states):
        return states
    away = states - states.mean(0)
    still = float(np.linalg.norm(away)) <= ROUNDING * float(np.linalg.norm(states))
    return np.zeros_like(states) if still else away


def _same_units(states: States, other: States) -> None:
    if len(states) != len(other):
        raise SutureError(f"two layers must hold the same units; got {len(states)} and {len(other)}")


def _squares(one: Floats, two: Floats) -> float:
    """|X'Y|² = tr(XX'YY'), by way of whichever matrix is the smaller."""
    if len(one) < max(one.shape[1], two.shape[1]):
        return float(np.einsum("ij,ij->", one @ one.T, two @ two.T))
    product = one.T @ two
    return float(np.einsum("ij,ij->", product, product))


def _ratio(cross: float, first: float, second: float) -> float | None:
    return float(cross / np.sqrt(first * second)) if min(first, second) > 0 else None


def _whitened(states: Floats, kept: float) -> tuple[Floats, Floats] | None:
    """Directions of unit variance (units, k) that keep so much of it, and the layer as cut to them."""
    if not len(states):
        return None
    left, values, axes = np.linalg.svd(states, full_matrices=False)
    share = np.cumsum(values**2)
    if share[-1] <= 0:
        return None
    count = int(np.searchsorted(share / share[-1], kept * (1 - NOTHING))) + 1
    used = left[:, :count]
    return used, used * values[:count] @ axes[:count]
