"""Nearest rows of a matrix by cosine, exactly, and how far two layers agree on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from probing.directions import check_labels, mask
from probing.products import NEAR, Directions, dots, paired, stretches
from workbench.errors import SutureError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from probing.directions import Bools, Ints, Masked, States, View
    from probing.products import Singles

NONE = -1
"""In place of an id: there is no such neighbour."""


class Neighbours(NamedTuple):
    """The k nearest rows of each unit, nearest first, of equal ones the lower id.

    Attributes:
        ids: rows of the matrix (units, k); ``NONE`` where there are fewer, or the unit has no direction.
        cosine: of each; masked where there is no neighbour.
    """

    ids: Ints
    cosine: Masked


def nearest(
    states: Directions | States,
    matrix: Directions | States,
    k: int,
    *,
    own: Ints | None = None,
    types: tuple[NDArray[Any], NDArray[Any]] | None = None,
    keep: Bools | None = None,
    view: View = "raw",
) -> Neighbours:
    """The k rows of a matrix with the highest cosine, by blocked products; exact, ties by id.

    Args:
        states: (units, width).
        matrix: embedding rows, or a pool of states (rows, width).
        k: how many.
        own: row of the matrix that is the unit itself, and is left out.
        types: labels of the units and of the matrix's rows; a row of the unit's label is left out.
        keep: which rows may be found.
        view: raw, or both sides centred or standardised each by its own moments.

    Raises:
        SutureError: widths or views differ, or k is below 1.
    """
    left, right = paired(states, matrix, view)
    if k < 1:
        raise SutureError(f"at least one neighbour must be asked for; got {k}")
    if types:
        check_labels(left.states, types[0])
        check_labels(right.states, types[1])
        types = _numbered(*types)
    allowed = right.defined if keep is None else right.defined & keep
    ids = np.full((len(left), k), NONE, np.int64)
    found = np.zeros((len(left), k))
    for part in stretches(len(left), len(right)):
        scores = left.unit[part] @ right.unit.T
        if not allowed.all():
            scores[:, ~allowed] = -np.inf
        scores[~left.defined[part]] = -np.inf
        if own is not None:
            scores[np.arange(len(scores)), own[part]] = -np.inf
        if types:
            scores[types[0][part, None] == types[1]] = -np.inf
        rows, columns = _candidates(scores, k)
        exact = dots(left, right, rows + part.start, columns)
        order = np.lexsort((columns, -exact, rows))
        rows, columns, exact = rows[order], columns[order], exact[order]
        place = np.arange(len(rows)) - np.searchsorted(rows, rows)
        best = place < k
        ids[rows[best] + part.start, place[best]] = columns[best]
        found[rows[best] + part.start, place[best]] = exact[best]
    return Neighbours(ids, mask(np.clip(found, -1.0, 1.0), ids != NONE))


def among(
    states: Directions | States, k: int, *, types: NDArray[Any] | None = None, view: View = "raw"
) -> Neighbours:
    """The k nearest units of one pool, a unit itself and those of its type left out.

    Args:
        states: the pool (units, width).
        k: how many.
        types: word type of each unit.
        view: what the cosines are of.
    """
    pool = Directions.of(states, view)
    return nearest(pool, pool, k, own=np.arange(len(pool)), types=None if types is None else (types, types))


def overlap(one: Neighbours, two: Neighbours) -> Masked:
    """J_k: neighbours in both over neighbours in either, for each unit; masked where either has none.

    Args:
        one: neighbours of the units in a layer.
        two: neighbours of the same units in another, found in the same pool.

    Raises:
        SutureError: they are not of as many units.
    """
    if len(one.ids) != len(two.ids):
        raise SutureError(
            f"two layers' neighbours must be of the same units; got {len(one.ids)} and {len(two.ids)}"
        )
    first, second = np.sort(one.ids, axis=1), np.sort(two.ids, axis=1)
    both = np.zeros(len(first), np.int64)
    for column in range(first.shape[1]):
        here = first[:, column, None]
        both += ((second == here) & (here != NONE)).sum(axis=1)
    either = (first != NONE).sum(1) + (second != NONE).sum(1) - both
    told = (first != NONE).any(1) & (second != NONE).any(1)
    return mask(both / np.maximum(either, 1), told)


def chance(k: int, pool: int) -> float | None:
    """J_k of two sets of k drawn at random from a pool: the mean over the hypergeometric distribution, exact.

    E[i / (2k − i)] with i common neighbours. (k/N) / (2 − k/N), the ratio of the means, lies close to it.

    Args:
        k: neighbours.
        pool: units that could be neighbours, what is excluded left out.

    Returns:
        0 to 1; None where the pool is smaller than k.
    """
    from scipy.special import gammaln

    if not 1 <= k <= pool:
        return None
    common = np.arange(max(0, 2 * k - pool), k + 1)

    def ways(n: int, r: NDArray[Any]) -> NDArray[Any]:
        found: NDArray[Any] = gammaln(n + 1) - gammaln(r + 1) - gammaln(n - r + 1)
        return found

    share = np.exp(ways(k, common) + ways(pool - k, k - common) - ways(pool, np.array(k)))
    return float((share * common / (2 * k - common)).sum())


def _candidates(scores: Singles, k: int) -> tuple[Ints, Ints]:
    """Places that hold every one of the k highest scores of each row, and few others.

    The k-th highest of the maxima of chunks of columns is a lower bound of the k-th highest score, so that
    only chunks whose maximum reaches it are looked at.
    """
    width = scores.shape[1]
    chunk = min(64, max(1, width // (32 * k)))
    starts = np.arange(0, width, chunk)
    most = np.maximum.reduceat(scores, starts, axis=1) if width else scores
    bound = np.full((len(scores), 1), -np.inf, np.float32)
    if most.shape[1] > k:
        bound[:, 0] = np.partition(most, most.shape[1] - k, axis=1)[:, most.shape[1] - k] - 2 * NEAR
    rows, chunks = np.nonzero((most >= bound) & (most > -np.inf))
    columns = starts[chunks, None] + np.arange(chunk)
    inside = columns < width
    seen = scores[rows[:, None], np.where(inside, columns, 0)]
    which, place = np.nonzero(inside & (seen >= bound[rows]) & (seen > -np.inf))
    return rows[which].astype(np.int64), columns[which, place].astype(np.int64)


def _numbered(one: NDArray[Any], two: NDArray[Any]) -> tuple[Ints, Ints]:
    """Labels of any kind as numbers, which compare fast."""
    _, numbers = np.unique(np.concatenate([one, two]), return_inverse=True)
    return numbers[: len(one)], numbers[len(one) :]
