"""A prefix index over an inventory: its entries in the order of their bytes, and the trie over them.

Sorted, the entries that begin with some bytes lie side by side, so every node of the trie is a range. Nodes
are numbered by depth and, within a depth, by bytes: node 0 is the root, the children of a node are
consecutive, and so are the descendants of a node at any one depth.

What a language model gives over ids becomes masses of nodes in ``workbench.prefixmass`` (NumPy) and
``probing.bridge.mass`` (torch). Here are the index and what two indexes say of each other::

    index = Prefixes.of(tokenizer.inventory)
    index.find(b"th")                     # a node, -1 where no entry begins so
    index.ids(node), index.ids_at(node)   # ids of entries below and at it
    longest_prefix(teacher, student)      # of each teacher id, the longest student entry that begins it
    homes(teacher_index, student_index, b"th")  # the same for what follows b"th" in the teacher's entries
"""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from workbench.errors import SutureError
from workbench.inventory import KINDS
from workbench.paths import cache_dir

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.inventory import Inventory

    Ints = NDArray[np.int32]
    Places = NDArray[np.int64]

ROOT = 0
"""The node of the empty prefix."""

BYTELESS = tuple(KINDS.index(kind) for kind in ("special", "unused", "gap"))
"""Kinds whose bytes no text holds."""

VERSION = 1
"""Of the cached maps; raised when a map for the same two digests would differ."""


def byteless(inventory: Inventory) -> NDArray[np.bool_]:
    """Whether an id spells nothing: a control token, a reserved slot, a hole, or no bytes (rows_needed,)."""
    found: NDArray[np.bool_] = np.isin(inventory.kinds, BYTELESS) | (inventory.lengths == 0)
    return found


class _Level(NamedTuple):
    """Nodes of one depth: the first sorted entry of each, and its entries, parent and last byte."""

    low: Places
    size: Places
    parent: Places
    byte: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Prefixes:
    """The entries of an inventory that have bytes, as a trie of ranges.

    Attributes:
        inventory: where they come from.
        order: ids in the order of their bytes, those of the same bytes side by side and rising (entries,).
        low: first place in ``order`` of the entries that begin with a node's bytes (nodes,).
        high: the place after the last of them (nodes,).
        own: how many of them are these bytes and no more; they come first (nodes,).
        parent: the node of one byte less, −1 for the root (nodes,).
        byte: the last byte, 0 for the root (nodes,).
        children: node n has the children ``children[n]..children[n + 1] - 1``, by rising byte (nodes + 1,).
        levels: first node of each depth, and the number of nodes at the end (deepest + 2,).
        node_of: the node whose bytes an id has, −1 where it is byte-less (rows_needed,).
    """

    inventory: Inventory = field(repr=False)
    order: Places = field(repr=False)
    low: Places = field(repr=False)
    high: Places = field(repr=False)
    own: Places = field(repr=False)
    parent: Places = field(repr=False)
    byte: NDArray[np.uint8] = field(repr=False)
    children: Places = field(repr=False)
    levels: Places = field(repr=False)
    node_of: Places = field(repr=False)

    @classmethod
    def of(cls, inventory: Inventory) -> Prefixes:
        """Sorts the entries and lays the trie over them, depth by depth.

        Time grows with the bytes of all entries together: an entry is looked at once for each of its bytes.

        Args:
            inventory: entries of the same bytes all count; the byte-less ones are left out.
        """
        held = inventory.frame.filter(~byteless(inventory)).select("id", "bytes").sort("bytes", "id")
        order = held["id"].cast(pl.Int64).to_numpy()
        levels, at = _grow(held["bytes"])
        low, size, parent, byte = map(np.concatenate, zip(*levels, strict=True))
        node_of = np.full(inventory.rows_needed, -1, np.int64)
        node_of[order] = at
        nodes = len(low)
        children = np.searchsorted(parent[1:], np.arange(nodes + 1)) + 1
        ends = np.cumsum([0, *(len(level.low) for level in levels)])
        own = np.bincount(at, minlength=nodes)
        return cls(inventory, order, low, low + size, own, parent, byte, children, ends, node_of)

    def __len__(self) -> int:
        """Number of nodes, the root among them."""
        return len(self.low)

    @property
    def width(self) -> int:
        """Ids of the inventory, byte-less ones among them."""
        return len(self.node_of)

    @cached_property
    def byteless(self) -> Places:
        """Ids that spell nothing, rising."""
        return np.flatnonzero(self.node_of < 0)

    @cached_property
    def rank(self) -> Places:
        """Place in ``order`` of each id, −1 where it is byte-less (rows_needed,)."""
        found = np.full(self.width, -1, np.int64)
        found[self.order] = np.arange(len(self.order))
        return found

    @cached_property
    def depth(self) -> Places:
        """Bytes of each node (nodes,)."""
        return np.repeat(np.arange(len(self.levels) - 1), np.diff(self.levels))

    @cached_property
    def entry(self) -> Places:
        """The lowest id whose bytes a node has, −1 where none has (nodes,)."""
        found = np.full(len(self), -1, np.int64)
        held = np.flatnonzero(self.own)
        found[held] = self.order[self.low[held]]
        return found

    @cached_property
    def runs(self) -> tuple[Places, Places]:
        """Where in ``order`` the ids of each entry begin, and its node (different entries,)."""
        at = self.node_of[self.order]
        starts = np.flatnonzero(np.diff(at, prepend=-1))
        return starts, at[starts]

    @cached_property
    def keys(self) -> Places:
        """Parent · 256 + byte of every node but the root, strictly rising (nodes − 1,)."""
        return self.parent[1:] * 256 + self.byte[1:]

    def step(self, nodes: Places, bytes_: NDArray[np.uint8]) -> Places:
        """The child of each node for a byte, −1 where there is none (n,)."""
        if len(self) == 1:
            return np.full(len(nodes), -1, np.int64)
        wanted = nodes * 256 + bytes_
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[at] == wanted, at + 1, -1)

    def find(self, prefix: bytes) -> int:
        """The node with these bytes, −1 where no entry begins with them."""
        node = ROOT
        for byte in prefix:
            low, high = self.children[node], self.children[node + 1]
            at = int(low + np.searchsorted(self.byte[low:high], byte))
            if at == high or self.byte[at] != byte:
                return -1
            node = at
        return node

    def spelled(self, node: int) -> bytes:
        """The bytes of a node."""
        if node == ROOT:
            return b""
        return self.inventory.pieces[int(self.order[self.low[node]])][: int(self.depth[node])]

    def ids(self, node: int) -> Places:
        """Ids of the entries that begin with a node's bytes, in the order of their bytes."""
        return self.order[self.low[node] : self.high[node]]

    def ids_at(self, node: int) -> Places:
        """Ids of the entries that have a node's bytes, rising."""
        return self.order[self.low[node] : self.low[node] + self.own[node]]


def _grow(pieces: pl.Series) -> tuple[list[_Level], Places]:
    """Levels of the trie over sorted byte strings, and the node that each string ends at."""
    sizes = pieces.bin.size().fill_null(0).cast(pl.Int64).to_numpy()
    data = np.frombuffer(b"".join(pieces.to_list()), np.uint8)
    start = np.cumsum(sizes) - sizes
    active, node = np.arange(len(sizes)), np.zeros(len(sizes), np.int64)
    whole = np.array([len(sizes)], np.int64)
    levels = [_Level(np.zeros(1, np.int64), whole, np.array([-1], np.int64), np.zeros(1, np.uint8))]
    at, nodes, depth = np.zeros(len(sizes), np.int64), 1, 0
    while True:
        going = sizes[active] > depth
        active, node = active[going], node[going]
        if not len(active):
            return levels, at
        byte = data[start[active] + depth]
        fresh = np.ones(len(active), bool)
        fresh[1:] = (node[1:] != node[:-1]) | (byte[1:] != byte[:-1])
        first = np.flatnonzero(fresh)
        count = np.diff(first, append=len(active))
        levels.append(_Level(active[first], count, node[first], byte[first]))
        node = nodes - 1 + np.cumsum(fresh)
        nodes, depth = nodes + len(first), depth + 1
        ending = sizes[active] == depth
        at[active[ending]] = node[ending]


class Homes(NamedTuple):
    """Where the entries of one inventory fall in another.

    Attributes:
        ids: entries that go on beyond the bytes asked for, in the order of their bytes (n,).
        homes: id of the longest entry of the other that begins what follows, −1 where none does (n,); of
            several with the same bytes the lowest.
    """

    ids: Places
    homes: Places


def homes(teacher: Prefixes, student: Prefixes, after: bytes = b"", longest: int | None = None) -> Homes:
    """The longest student entry that begins each teacher entry, or what follows some bytes in it.

    Both tries are walked together, a depth at a time. This is φ of Byte-Prefix Marginalization (Wang et al.,
    arXiv 2607.22334), on suffixes where ``after`` is not empty.

    Args:
        teacher: its entries are placed.
        student: its entries are the places.
        after: only teacher entries that begin with these bytes and go on; what follows is placed.
        longest: student entries of more bytes are not looked at.
    """
    top = teacher.find(after)
    if top < 0:
        return Homes(np.empty(0, np.int64), np.empty(0, np.int64))
    ids = teacher.order[teacher.low[top] + teacher.own[top] : teacher.high[top]]
    starts, best = _walk(teacher, student, top, longest)
    nodes = teacher.node_of[ids]
    level = teacher.depth[nodes] - teacher.depth[top]
    lows, sizes = np.array(starts).T
    place = np.cumsum(sizes) - sizes
    held = best[place[level] + nodes - lows[level]]
    return Homes(ids, np.where(held >= 0, student.entry[held], -1))


def _walk(
    teacher: Prefixes, student: Prefixes, top: int, longest: int | None
) -> tuple[list[tuple[int, int]], Places]:
    """For each node below ``top``, by level: first node and count; the last student node with an entry."""
    low, high = top, top + 1
    match, best = np.zeros(1, np.int64), np.full(1, -1, np.int64)
    starts, found = [(low, 1)], [best]
    while True:
        former, low, high = low, int(teacher.children[low]), int(teacher.children[high])
        if low == high:
            return starts, np.concatenate(found)
        above = teacher.parent[low:high] - former
        best = best[above]
        match = match[above]
        if longest is None or len(starts) <= longest:
            going = np.flatnonzero(match >= 0)
            match[going] = student.step(match[going], teacher.byte[low:high][going])
            ending = going[match[going] >= 0]
            ending = ending[student.own[match[ending]] > 0]
            best[ending] = match[ending]
        starts.append((low, high - low))
        found.append(best)


class Meeting(NamedTuple):
    """Where the bytes of the entries of one inventory end in the trie of another.

    Attributes:
        ids: entries that go on beyond the bytes asked for, in the order of their bytes (n,).
        nodes: the other's node with what follows in them, −1 where no entry of it begins so (n,).
    """

    ids: Places
    nodes: Places


def meeting(teacher: Prefixes, student: Prefixes, after: bytes = b"") -> Meeting:
    """The student's node with the bytes of each teacher entry; both tries are walked a depth at a time.

    Args:
        teacher: its entries are looked up.
        student: where they are looked up.
        after: only teacher entries that begin with these bytes and go on; what follows is looked up.
    """
    top = teacher.find(after)
    if top < 0:
        return Meeting(np.empty(0, np.int64), np.empty(0, np.int64))
    low, high = top, top + 1
    match, lows, found = np.array([ROOT]), [low], [np.array([ROOT])]
    while True:
        former, low, high = low, int(teacher.children[low]), int(teacher.children[high])
        if low == high:
            break
        match = match[teacher.parent[low:high] - former]
        going = np.flatnonzero(match >= 0)
        match[going] = student.step(match[going], teacher.byte[low:high][going])
        lows.append(low)
        found.append(match)
    ids = teacher.order[teacher.low[top] + teacher.own[top] : teacher.high[top]]
    nodes = teacher.node_of[ids]
    level = teacher.depth[nodes] - teacher.depth[top]
    place = np.cumsum([0, *map(len, found)])[level] + nodes - np.array(lows)[level]
    return Meeting(ids, np.concatenate(found)[place])


def extended(student: Prefixes, nodes: Places) -> NDArray[np.bool_]:
    """Whether an entry goes on beyond the bytes of each node; False for −1 (n,)."""
    beyond = student.high - student.low > student.own
    found: NDArray[np.bool_] = beyond[nodes] & (nodes >= 0)
    return found


def spannable(teacher: Prefixes, student: Prefixes) -> NDArray[np.bool_]:
    """Whether a student entry begins with all bytes of each teacher id and goes on (teacher ids,)."""
    found = np.zeros(teacher.width, bool)
    met = meeting(teacher, student)
    found[met.ids] = extended(student, met.nodes)
    return found


def twins(teacher: Inventory, student: Inventory, homes: Places) -> Places:
    """Student id with the very bytes of each teacher id, −1 where there is none (teacher ids,).

    Args:
        teacher: its entries are looked up.
        student: where they are looked up.
        homes: as ``longest_prefix`` gives them.
    """
    same = (homes >= 0) & (student.lengths[homes] == teacher.lengths)
    return np.where(same, homes, -1)


def longest_prefix(teacher: Inventory, student: Inventory, *, cache: bool = True) -> Places:
    """φ: of each teacher id, the longest student entry that begins its bytes.

    The map is kept in ``workbench.paths.cache_dir()`` under the digests of the two inventories.

    Args:
        teacher: its entries are placed.
        student: its entries are the places.
        cache: whether to read and write the kept map.

    Returns:
        Student ids (rows of the teacher,); −1 for a byte-less id and where no student entry begins the bytes.
    """
    path = cache_dir() / "prefixes" / f"{VERSION}-{teacher.digest}-{student.digest}.npy"
    kept = _kept(path, teacher, student) if cache else None
    if kept is not None:
        return kept
    placed = homes(Prefixes.of(teacher), Prefixes.of(student))
    found = np.full(teacher.rows_needed, -1, np.int64)
    found[placed.ids] = placed.homes
    if cache:
        _keep(path, found)
    return found


def _kept(path: Path, teacher: Inventory, student: Inventory) -> Places | None:
    """The map of a cached file; None where there is none or it is not whole."""
    try:
        found: NDArray[np.int32] = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    if found.shape != (teacher.rows_needed,) or found.dtype != np.int32:
        return None
    if len(found) and (found.min() < -1 or found.max() >= student.rows_needed):
        return None
    return found.astype(np.int64)


def _keep(path: Path, found: Places) -> None:
    """Writes to a temporary name, then renames; a folder that cannot be written is left as it is."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.stem[:16]}.", delete=False) as file:
            temporary = Path(file.name)
            np.save(file, found.astype(np.int32), allow_pickle=False)
        temporary.replace(path)


def check_text(inventory: Inventory) -> None:
    """Refuses an inventory whose entries do not spell the text.

    Entries marked by their place in a word (WordPiece's continuing entries, end-of-word suffixes) have bytes
    that say nothing of the white space between words: joined, they are not the text.

    Raises:
        SutureError: an entry with bytes is bound to a place in a word, or no entry has bytes.
    """
    held = inventory.frame.filter(~byteless(inventory))
    marked = held.filter(pl.col("position") != "any").height
    if marked or not held.height:
        raise SutureError(
            f"the entries of {inventory.name} must spell the text byte for byte; {marked} of {held.height} "
            "are bound to a place in a word; take a tokenizer that keeps white space in its entries"
        )
