"""Masses of prefixes: what a distribution over ids says of bytes, in float64.

For a distribution q over the ids of an inventory and a byte string p, with b(t) the bytes of an id::

    Z(p) = Σ q(t) over ids whose bytes begin with p     prefix mass
    E(p) = Σ q(t) over ids whose bytes are p            exact mass; ids of the same bytes are summed
    P(x | p) = Z(p·x) / Z(p),  P(end | p) = E(p) / Z(p)

Ids that spell nothing are a class of their own: at the root they stand beside the bytes, below it they are 0.

``q`` is (ids,) or (positions, ids), of any floating type. With ``log=True`` it is log-probabilities, −inf for
0, and so are the results. Sums take the terms below a node and no others; ``node_masses`` alone takes
differences of a cumulative sum, unless asked for the tails. The same for tensors, with gradients, is
``probing.bridge.mass``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.errors import SutureError
from workbench.prefixes import ROOT
from workbench.ranges import ranges

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from workbench.prefixes import Places, Prefixes

    Floats = NDArray[np.float64]

END = 256
"""Column of the mass that ends at a prefix."""

SPELLESS = 257
"""Column of the ids that spell nothing."""

COLUMNS = 258
"""Columns of a row: 256 bytes, ``END``, ``SPELLESS``."""


class Paths(NamedTuple):
    """The prefixes of realised tokens, and a partition of the sorted entries that tells all their masses.

    Rows run over positions and, in each, over the prefixes of its token from the empty one to the whole. The
    sorted entries of a position are cut into segments: entries that end at a prefix of the token, and entries
    that leave the token's path there with another byte. So Z of a prefix is the sum of the segments of its
    row and of the rows below it.

    Attributes:
        position: of each row (rows,).
        depth: bytes of the prefix (rows,).
        node: of the prefix (rows,).
        first: first row of each position, and the number of rows at the end (positions + 1,).
        row: of each segment (segments,).
        column: byte by which a segment leaves the path, or ``END`` (segments,).
        place: where in the index's ``order`` a segment begins; rising within a position (segments,).
    """

    position: Places
    depth: Places
    node: Places
    first: Places
    row: Places
    column: Places
    place: Places

    @property
    def inner(self) -> NDArray[np.bool_]:
        """Rows after which the token goes on (rows,)."""
        found = np.ones(len(self.node), bool)
        found[self.first[1:] - 1] = False
        return found


def paths(index: Prefixes, ids: ArrayLike) -> Paths:
    """The prefixes of realised tokens.

    Args:
        index: of the inventory that the ids are of.
        ids: one realised token a position (positions,).

    Raises:
        SutureError: an id is out of range or spells nothing.
    """
    tokens = realised(index, ids)
    node = index.node_of[tokens]
    counts = index.depth[node] + 1
    first = np.concatenate([[0], np.cumsum(counts)])
    nodes = np.empty(first[-1], np.int64)
    active, at = np.arange(len(tokens)), first[1:] - 1
    while len(active):
        nodes[at[active]] = node[active]
        active = active[node[active] != ROOT]
        node[active] = index.parent[node[active]]
        at[active] -= 1
    position = np.repeat(np.arange(len(tokens)), counts)
    depth = np.arange(len(nodes)) - first[position]
    return Paths(position, depth, nodes, first, *_segments(index, position, nodes))


def realised(index: Prefixes, ids: ArrayLike) -> Places:
    """Realised tokens as whole numbers (positions,).

    Raises:
        SutureError: an id is out of range or spells nothing.
    """
    tokens = np.asarray(ids)
    if tokens.ndim != 1 or (tokens.size and tokens.dtype.kind not in "iu"):
        raise SutureError(
            f"realised tokens must be one whole number a position; got an array of shape {tokens.shape} and "
            f"type {tokens.dtype}; give token ids"
        )
    tokens = tokens.astype(np.int64)
    outside = (tokens < 0) | (tokens >= index.width)
    bad = outside | (index.node_of[np.where(outside, 0, tokens)] < 0) if index.width else outside
    if bad.any():
        raise SutureError(
            f"a realised token must be an id of {index.inventory.name} in 0..{index.width - 1} that spells "
            f"bytes; got {tokens[bad][0]} at position {np.flatnonzero(bad)[0]}; leave special tokens out"
        )
    return tokens


def _segments(index: Prefixes, position: Places, nodes: Places) -> tuple[Places, Places, Places]:
    """Row, column and place of each segment, by position and place."""
    low, high = index.children[nodes], index.children[nodes + 1]
    count = high - low
    row = np.repeat(np.arange(len(nodes)), count)
    child = ranges(low, count)
    following = np.append(nodes[1:], -1)
    off = child != following[row]  # the next row of another position is the root, which is no child
    row, child = row[off], child[off]
    ending = np.flatnonzero(index.own[nodes])
    rows = np.concatenate([row, ending])
    columns = np.concatenate([index.byte[child].astype(np.int64), np.full(len(ending), END)])
    places = np.concatenate([index.low[child], index.low[nodes[ending]]])
    order = np.argsort(position[rows] * len(index.order) + places)
    return rows[order], columns[order], places[order]


class Along(NamedTuple):
    """Masses along the paths of realised tokens.

    Attributes:
        paths: the rows.
        mass: Z of each prefix (rows,).
        exact: E of each prefix (rows,).
        next: P(next byte, end or, at depth 0, byte-less id | prefix) (rows, ``COLUMNS``); NaN in a row whose
            prefix has no mass.
    """

    paths: Paths
    mass: Floats
    exact: Floats
    next: Floats


def along(q: ArrayLike, index: Prefixes, ids: ArrayLike, *, log: bool = False) -> Along:
    """Masses of every prefix of the realised tokens, and what follows it.

    Args:
        q: one distribution a position (positions, ids).
        index: of the inventory.
        ids: the realised tokens (positions,).
        log: whether ``q`` and the result are logarithms.

    Raises:
        SutureError: shapes differ; ``q`` or ``ids`` are not such.
    """
    rows = _checked(q, index, log=log)
    walk = paths(index, ids)
    if rows.ndim != 2 or len(rows) != len(walk.first) - 1:
        raise SutureError(
            f"there must be one distribution a realised token; got {rows.shape} for {len(walk.first) - 1} "
            "tokens; give rows as many as tokens"
        )
    add, zero = _sums(log=log)
    cells = np.full((len(walk.node), COLUMNS), zero)
    if len(rows):
        held = np.take(rows, index.order, 1)
        starts = walk.position[walk.row] * held.shape[1] + walk.place
        cells[walk.row, walk.column] = add.reduceat(held.ravel(), starts)
        cells[walk.first[:-1], SPELLESS] = add.reduce(rows[:, index.byteless], 1)
    deep = int(walk.depth.max(initial=0)) + 1
    padded = np.full((len(rows), deep), zero)
    padded[walk.position, walk.depth] = add.reduce(cells[:, :SPELLESS], 1)
    mass = add.accumulate(padded[:, ::-1], 1)[:, ::-1][walk.position, walk.depth]
    inner = np.flatnonzero(walk.inner)
    cells[inner, index.byte[walk.node[inner + 1]]] = mass[inner + 1]
    return Along(walk, mass, cells[:, END].copy(), _shares(cells, add.reduce(cells, 1), log=log))


def node_masses(q: ArrayLike, index: Prefixes, *, log: bool = False, tails: bool = False) -> Floats:
    """Z of every node.

    Args:
        q: distributions.
        index: of the inventory.
        log: whether ``q`` and the result are logarithms; then the tails are kept.
        tails: whether small masses keep their digits. Without, masses are differences of a cumulative sum,
            good to 1e-13 of the whole and worthless below; with, each is the sum of its children, at three to
            five times the time.

    Returns:
        (…, nodes); the root's is all but the byte-less ids.
    """
    rows = _checked(q, index, log=log)
    found = np.empty((*rows.shape[:-1], len(index)))
    # A row at a time stays in the processor's cache, which halves the time of sixteen at once.
    for row, masses in zip(np.atleast_2d(rows), np.atleast_2d(found), strict=True):
        if log or tails:
            _from_leaves(row, index, masses, log=log)
        else:
            sums = np.concatenate([[0.0], np.cumsum(np.take(row, index.order))])
            np.subtract(np.take(sums, index.high), np.take(sums, index.low), out=masses)
    return found


def _from_leaves(row: Floats, index: Prefixes, masses: Floats, *, log: bool) -> None:
    """Fills in Z of every node: its own ids and its children, from the deepest up."""
    add, zero = _sums(log=log)
    starts, nodes = index.runs
    held = np.take(row, index.order)
    masses[:] = zero
    masses[nodes] = held if len(starts) == len(held) else add.reduceat(held, starts)
    for depth in range(len(index.levels) - 3, -1, -1):
        low, high, end = index.levels[depth : depth + 3].tolist()
        kids = index.children[low : high + 1]
        inner = np.flatnonzero(np.diff(kids))
        masses[low + inner] = add(masses[low + inner], add.reduceat(masses[high:end], kids[inner] - high))


def prefix_mass(q: ArrayLike, index: Prefixes, prefix: bytes, *, log: bool = False) -> Floats:
    """Z of a prefix (…,): the mass of all ids whose bytes begin with it."""
    rows = _checked(q, index, log=log)
    node = index.find(prefix)
    ids = index.ids(node) if node >= 0 else index.order[:0]
    return _total(rows, ids, log=log)


def exact_mass(q: ArrayLike, index: Prefixes, prefix: bytes, *, log: bool = False) -> Floats:
    """E of a prefix (…,): the mass of all ids whose bytes it is."""
    rows = _checked(q, index, log=log)
    node = index.find(prefix)
    ids = index.ids_at(node) if node >= 0 else index.order[:0]
    return _total(rows, ids, log=log)


def next_byte(q: ArrayLike, index: Prefixes, prefix: bytes = b"", *, log: bool = False) -> Floats:
    """P(next byte, or that the token ends | prefix), in the columns of ``Along.next``.

    At the empty prefix it is the exact distribution of the byte after a token boundary, with the byte-less
    ids in a column of their own.

    Args:
        q: distributions.
        index: of the inventory.
        prefix: bytes since the last token boundary.
        log: whether ``q`` and the result are logarithms.

    Returns:
        (…, ``COLUMNS``), a row sums to 1; NaN where no id with mass begins with the prefix.
    """
    rows = _checked(q, index, log=log)
    add, zero = _sums(log=log)
    cells = np.full((*rows.shape[:-1], COLUMNS), zero)
    node = index.find(prefix)
    if node >= 0:
        low, high = int(index.low[node]), int(index.high[node])
        held = np.take(rows, index.order[low:high], -1)
        own = int(index.own[node])
        kids = slice(int(index.children[node]), int(index.children[node + 1]))
        cells[..., END] = add.reduce(held[..., :own], -1)
        if kids.start < kids.stop:
            cells[..., index.byte[kids]] = add.reduceat(held, index.low[kids] - low, axis=-1)
    if node == ROOT:
        cells[..., SPELLESS] = _total(rows, index.byteless, log=log)
    return _shares(cells, add.reduce(cells, -1), log=log)


def _total(rows: Floats, ids: Places, *, log: bool) -> Floats:
    add, zero = _sums(log=log)
    found: Floats = np.asarray(add.reduce(np.take(rows, ids, -1), -1, initial=zero))
    return found


def _shares(cells: Floats, total: Floats, *, log: bool) -> Floats:
    """Cells over their total; NaN where that has no mass."""
    whole = total[..., None]
    if log:
        found: Floats = cells - np.where(whole == -np.inf, np.nan, whole)
        return found
    shares: Floats = cells / np.where(whole == 0, np.nan, whole)
    return shares


def _sums(*, log: bool) -> tuple[np.ufunc, float]:
    """Addition of masses and the mass of nothing."""
    return (np.logaddexp, -np.inf) if log else (np.add, 0.0)


def _checked(q: ArrayLike, index: Prefixes, *, log: bool) -> Floats:
    rows = np.asarray(q, np.float64)
    if rows.ndim not in (1, 2) or rows.shape[-1] != index.width:
        raise SutureError(
            f"a distribution must have {index.width} values, one an id of {index.inventory.name}; got shape "
            f"{rows.shape}; cut off what the embedding matrix has more"
        )
    # The least and the greatest are NaN where any value is.
    if log:
        if rows.size and not rows.max() < np.inf:
            raise SutureError(
                "log-probabilities must be numbers or −inf; got NaN or +inf; look for an overflow"
            )
    elif rows.size and not (rows.min() >= 0 and rows.max() < np.inf):
        raise SutureError(
            f"probabilities must be numbers of at least 0; got {rows.min()} to {rows.max()}; give "
            "softmax, not logits, or log=True"
        )
    return rows
