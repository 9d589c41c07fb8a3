"""States in two dimensions: PCA and UMAP, seeded, with coordinates to keep and every row accounted for.

Rows that are zero, not finite, or equal to an earlier one are taken out first and named: UMAP fails on the
first two and may lay out the last differently from run to run. A seed does not fix UMAP across versions or
machines, so that the coordinates are what to store.
"""

from __future__ import annotations

import warnings
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from probing.directions import check, finite
from workbench.errors import MissingExtra, SutureError

if TYPE_CHECKING:
    from probing.directions import Bools, Floats, Ints, States

LEAST = 3
"""Distinct rows that a map needs."""

_UMAP = Lock()
"""UMAP's compiled code is not to be entered by two threads."""


class Kept(NamedTuple):
    """Rows that can be laid out, and why the others cannot.

    Attributes:
        rows: which rows are laid out, in order.
        zero: rows that are exactly zero.
        unfinite: rows with an infinity or a NaN.
        duplicate: rows equal to an earlier one.
        twin: for each of ``duplicate``, the row that it equals.
    """

    rows: Ints
    zero: Ints
    unfinite: Ints
    duplicate: Ints
    twin: Ints


class Projected(NamedTuple):
    """Coordinates of the rows that could be laid out.

    Attributes:
        method: ``pca`` or ``umap``.
        coordinates: of each kept row (kept, dimensions).
        kept: which rows these are, and what became of the others.
        seed: that was given.
        settings: what the method was told, and its library's version.
        explained: share of the variance along each axis (dimensions,); None for UMAP.
    """

    method: str
    coordinates: Floats
    kept: Kept
    seed: int
    settings: dict[str, Any]
    explained: Floats | None

    def everywhere(self, units: int) -> tuple[Floats, Bools]:
        """Coordinates of all rows (units, dimensions): a duplicate has its twin's; and which have any.

        Args:
            units: rows that were given.
        """
        found, placed = np.zeros((units, self.coordinates.shape[1])), np.zeros(units, bool)
        found[self.kept.rows], placed[self.kept.rows] = self.coordinates, True
        found[self.kept.duplicate] = found[self.kept.twin]
        placed[self.kept.duplicate] = True
        return found, placed


def keep(states: States) -> Kept:
    """Which rows can be laid out.

    Args:
        states: (units, width).
    """
    check(states)
    sound = finite(states)
    zero = sound & ~states.any(axis=1)
    rows = np.flatnonzero(sound & ~zero)
    # As bytes, which sort fast; adding zero makes a negative zero a positive one.
    written = np.ascontiguousarray(states[rows] + states.dtype.type(0))
    whole = written.view(np.dtype((np.void, written.dtype.itemsize * written.shape[1])))[:, 0]
    _, first, which = np.unique(whole, return_index=True, return_inverse=True)
    again = first[which] != np.arange(len(rows))
    return Kept(
        rows[~again],
        np.flatnonzero(zero),
        np.flatnonzero(~sound),
        rows[again],
        rows[first[which]][again],
    )


def pca(states: States, *, dimensions: int = 2, seed: int = 0) -> Projected:
    """Principal components of the rows, centred (scikit-learn, exact solver; the sign of an axis is fixed).

    Args:
        states: (units, width).
        dimensions: of the map.
        seed: kept with the result; the exact solver draws nothing.

    Raises:
        SutureError: fewer than three distinct rows, or more dimensions than rows or width.
        MissingExtra: scikit-learn is not installed.
    """
    kept, rows = _distinct(states, dimensions)
    try:
        import sklearn
        from sklearn.decomposition import PCA
    except ImportError as error:
        raise _missing("scikit-learn", error) from None
    model = PCA(dimensions, svd_solver="full", random_state=_whole(seed))
    found = model.fit_transform(rows.astype(np.float64))
    settings = {"dimensions": dimensions, "scikit-learn": sklearn.__version__}
    return Projected("pca", found, kept, seed, settings, model.explained_variance_ratio_)


def umap(
    states: States,
    *,
    dimensions: int = 2,
    neighbours: int = 15,
    distance: float = 0.1,
    metric: str = "cosine",
    seed: int = 0,
) -> Projected:
    """UMAP of the rows (McInnes et al. 2018), one thread, one call at a time.

    Args:
        states: (units, width).
        dimensions: of the map.
        neighbours: of each row in the graph; no more than there are other rows.
        distance: least distance of points on the map.
        metric: of the rows.
        seed: a whole number.

    Raises:
        SutureError: fewer than three distinct rows, more dimensions than rows or width, or a seed that is no
            whole number.
        MissingExtra: umap-learn is not installed.
    """
    kept, rows = _distinct(states, dimensions)
    told = min(neighbours, len(rows) - 1)
    # The spectral start needs more rows than eigenvectors, and some to spare.
    start = "spectral" if len(rows) > max(2 * dimensions + 4, 10) else "random"
    seed = _whole(seed)
    with _UMAP:
        try:
            import umap as library
        except ImportError as error:
            raise _missing("umap-learn", error) from None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of one thread, and of a graph in several parts
            model = library.UMAP(
                n_neighbors=told,
                n_components=dimensions,
                min_dist=distance,
                metric=metric,
                init=start,
                random_state=seed,
                n_jobs=1,
            )
            found = np.asarray(model.fit_transform(rows.astype(np.float32)), np.float64)
    settings = {
        "dimensions": dimensions,
        "neighbours": told,
        "distance": distance,
        "metric": metric,
        "start": start,
        "umap-learn": library.__version__,
    }
    return Projected("umap", found, kept, seed, settings, None)


def _distinct(states: States, dimensions: int) -> tuple[Kept, States]:
    kept = keep(states)
    if len(kept.rows) < LEAST:
        raise SutureError(
            f"a map needs {LEAST} distinct rows; got {len(kept.rows)} of {len(states)} "
            f"({len(kept.zero)} zero, {len(kept.unfinite)} not finite, "
            f"{len(kept.duplicate)} equal to another); give more units"
        )
    if not 1 <= dimensions <= min(len(kept.rows) - 1, states.shape[1]):
        raise SutureError(
            f"a map has 1 to {min(len(kept.rows) - 1, states.shape[1])} dimensions here; got {dimensions}"
        )
    return kept, states[kept.rows]


def _whole(seed: int) -> int:
    """A state that draws would change from call to call; a number does not."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise SutureError(f"the seed of a map must be a whole number; got {type(seed).__name__}; give 0")
    return int(seed)


def _missing(package: str, error: ImportError) -> MissingExtra:
    return MissingExtra(
        f"{package} must be installed for maps; it is not ({error}); run pip install 'suture[probing]'"
    )
