"""Student tokens that go on beyond a teacher token: what the realised teacher tokens say about them.

The governing teacher token t of a position gives its probability to the longest student token that begins its
bytes. If a student token u goes on beyond them, the bytes to come decide, and only the row after t knows
them. That row is at hand where t is the realised token, and so on along the realised tokens.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch.nn.functional import pad

from probing.bridge.targets import Moves, blocks
from workbench.prefixes import meeting
from workbench.ranges import ranges

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import Tensor

    from probing.bridge.bpm import Bridge, Mode, Reach
    from probing.bridge.chunks import Offsets, Pairing
    from probing.bridge.rows import Rows
    from workbench.prefixes import Prefixes


class Path(NamedTuple):
    """Student entries on the realised bytes that go on beyond the governing token.

    Attributes:
        rows: place of the position among those asked for (n,).
        cells: the entry's id, as a cell (n,).
        sources: cell of the next shorter entry on the path, the residual where none is (n,).
        first: whether that one ends within the governing token (n,).
        ends: byte offset of the entry's end (n,).
        last: teacher token in which it ends (n,).
    """

    rows: Offsets
    cells: Offsets
    sources: Offsets
    first: NDArray[np.bool_]
    ends: Offsets
    last: Offsets


def moves(bridge: Bridge, rows: Rows, pairing: Pairing, at: Offsets, *, mode: Mode, reach: Reach) -> Moves:
    """What is to be moved at some positions; arguments as of ``Bridge.targets``."""
    kept = np.flatnonzero(pairing.spanning[at]) if reach == "spanning" else np.arange(len(at))
    horizon = (pairing.chunk_end if reach == "spanning" else pairing.last_row)[at[kept]]
    if mode == "bytewalk":
        return _walked(bridge, rows, pairing, at, kept, horizon)
    path = along(bridge, pairing, at[kept], horizon)
    amounts = chain(bridge, rows, pairing, at[kept], path)
    parts = (torch.from_numpy(each).to(rows.values.device)
             for each in (kept[path.rows], path.sources, path.cells, path.first))  # fmt: skip
    place, sources, cells, first = parts
    return Moves(place, sources, cells, amounts, first)


def along(bridge: Bridge, pairing: Pairing, at: Offsets, horizon: Offsets) -> Path:
    """Student entries on the realised bytes of each position, all positions a byte at a time.

    Args:
        bridge: the vocabularies.
        pairing: the tokens.
        at: student positions (n,).
        horizon: the last teacher token that an entry may reach (n,).
    """
    data = np.frombuffer(pairing.data, np.uint8)
    ends = pairing.teacher.ends
    starts, stops, inside = pairing.student.starts[at], ends[horizon], ends[pairing.governing[at]]
    below = bridge.below
    active, node = np.arange(len(at)), np.zeros(len(at), np.int64)
    shorter = np.full(len(at), bridge.size[1])
    fresh = np.ones(len(at), bool)
    parts = [(*(np.empty(0, np.int64),) * 3, np.empty(0, bool), np.empty(0, np.int64))]
    depth = 0
    while len(active):
        going = starts[active] + depth < stops[active]
        active, node = active[going], node[going]
        node = below.step(node, data[starts[active] + depth])
        active, node = active[node >= 0], node[node >= 0]
        depth += 1
        entry = below.entry[node]
        held, entry = active[entry >= 0], entry[entry >= 0]
        beyond = starts[held] + depth > inside[held]
        found, cells = held[beyond], entry[beyond]
        parts.append((found, cells, shorter[found], fresh[found], starts[found] + depth))
        fresh[found] = False
        shorter[held] = entry
    place, cells, sources, first, until = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Path(place, cells, sources, first, until, np.searchsorted(ends, until, side="left"))


def nodes_of(index: Prefixes, data: bytes, starts: Offsets, ends: Offsets) -> Offsets:
    """Node of each slice of some bytes, −1 where no entry begins so (n,)."""
    stream, node = np.frombuffer(data, np.uint8), np.zeros(len(starts), np.int64)
    for depth in range(int((ends - starts).max(initial=0))):
        going = np.flatnonzero((starts + depth < ends) & (node >= 0))
        node[going] = index.step(node[going], stream[starts[going] + depth])
    return node


def chain(bridge: Bridge, rows: Rows, pairing: Pairing, at: Offsets, path: Path) -> Tensor:
    """P_chain of each entry on the path (entries,): Π q(t) over the tokens it covers, times a prefix mass.

    Equation 6 of arXiv 2607.22334, q(t) of the realised id; the last token that the entry touches counts with
    all teacher tokens that begin with the bytes touched. It is at most the entry's exact probability,
    for it leaves out other segmentations of the same bytes.
    """
    device, teacher = rows.values.device, pairing.teacher
    realised = rows.at(torch.from_numpy(teacher.ids.astype(np.int64)).to(device)).double()
    first = pairing.governing[at[path.rows]]
    found = torch.ones(len(first), dtype=torch.float64, device=device)
    for step in range(int((path.last - first).max(initial=0))):
        token = np.minimum(first + step, path.last)
        covered = torch.from_numpy(token < path.last).to(device)
        found = found * torch.where(covered, realised[torch.from_numpy(token).to(device)], 1)
    nodes = nodes_of(bridge.above, pairing.data, teacher.starts[path.last], path.ends)
    places = np.stack([bridge.above.low[nodes], bridge.above.high[nodes]], axis=1)
    return found * prefix_mass(bridge, rows, path.last, places)


def prefix_mass(bridge: Bridge, rows: Rows, which: Offsets, places: Offsets) -> Tensor:
    """Mass of a range of ``above.order`` in one row each (n,), float64.

    Args:
        bridge: the vocabularies.
        rows: the teacher's predictions.
        which: row of each (n,).
        places: from, to (n, 2).
    """
    device = rows.values.device
    if rows.ids is not None:
        rank = torch.from_numpy(bridge.above.rank).to(device)[rows.ids]
        bounds = torch.from_numpy(places).to(device)
        at = torch.from_numpy(which).to(device)
        held = (rank[at] >= bounds[:, :1]) & (rank[at] < bounds[:, 1:])
        return (rows.values[at].double() * held).sum(dim=1)
    counts = places[:, 1] - places[:, 0]
    found = torch.zeros(len(which), dtype=torch.float64, device=device)
    for part in blocks(counts):
        owner = np.repeat(part, counts[part])
        within = ranges(0, counts[part])
        ids = bridge.above.order[places[owner, 0] + within]
        flat = torch.from_numpy(which[owner] * rows.width + ids).to(device)
        found = found.index_add(0, torch.from_numpy(owner).to(device), rows.values.reshape(-1)[flat].double())
    return found


def _walked(
    bridge: Bridge, rows: Rows, pairing: Pairing, at: Offsets, kept: Offsets, horizon: Offsets
) -> Moves:
    """The realised tokens' mass walked through all student entries that go on beyond the governing token."""
    walk = Walk(bridge, rows, pairing)
    device = rows.values.device
    parts = [
        walk.moves(int(at[place]), int(place), int(end)) for place, end in zip(kept, horizon, strict=True)
    ]
    parts = [part for part in parts if part is not None]
    if not parts:
        none = torch.empty(0, dtype=torch.long, device=device)
        return Moves(none, none, none, none.double(), none.bool())
    return Moves(*(torch.cat(each) for each in zip(*parts, strict=True)))


class Beyond(NamedTuple):
    """Student entries that go on beyond some bytes, in the order of their bytes.

    Attributes:
        first: place of the first of them in ``Walk.entries``.
        places: range in the teacher's ``order`` of the entries that begin with what each adds (n, 2).
    """

    first: int
    places: Offsets


class Walk:
    """The exact walk along realised tokens; see ``moves``.

    S_k(v) is the probability, by row k and those after it, that the bytes after token k − 1 begin with v, as
    far as the realised segmentation tells: S_k(v) = Σ q_k(t) over tokens that begin with v, plus
    q_k(t_k)·S_{k+1}(v without t_k) where the realised token t_k is a proper prefix of v.

    Attributes:
        entries: nodes of the student's entries in the order of their bytes (entries,).
        shorter: place in ``entries`` of the longest entry that is a proper prefix of each, −1 (entries,).
    """

    def __init__(self, bridge: Bridge, rows: Rows, pairing: Pairing) -> None:
        self.bridge, self.rows, self.pairing = bridge, rows, pairing
        self.order = torch.tensor(bridge.above.order, device=rows.values.device)
        below = bridge.below
        nodes = below.node_of[below.order]
        self.entries = nodes[np.diff(nodes, prepend=-1) != 0]
        place = np.full(len(below), -1, np.int64)
        place[self.entries] = np.arange(len(self.entries))
        nearest = np.full(len(below), -1, np.int64)
        for low, high in pairwise(below.levels[1:].tolist()):
            parents = below.parent[low:high]
            nearest[low:high] = np.where(place[parents] >= 0, place[parents], nearest[parents])
        self.shorter = nearest[self.entries]
        self.beyond: Callable[[bytes], Beyond] = lru_cache(256)(self._beyond)

    def _beyond(self, rest: bytes) -> Beyond:
        above, below = self.bridge.above, self.bridge.below
        met = meeting(below, above, rest)
        fresh = np.diff(below.node_of[met.ids], prepend=-1) != 0
        nodes = met.nodes[fresh]
        places = np.stack([above.low[nodes], above.high[nodes]], axis=1) * (nodes >= 0)[:, None]
        first = int(np.searchsorted(below.low[self.entries], below.rank[met.ids[0]])) if len(met.ids) else 0
        return Beyond(first, places)

    def cylinders(self, row: int, rest: bytes, horizon: int) -> Tensor:
        """S of what each entry beyond ``rest`` adds (entries,), float64."""
        beyond = self.beyond(rest)
        device = self.rows.values.device
        if row > horizon or not len(beyond.places):
            return torch.zeros(len(beyond.places), dtype=torch.float64, device=device)
        values = self.rows.take(torch.tensor([row], device=device)).dense()[0].double()
        sums = pad(values[self.order].cumsum(0), (1, 0))
        places = torch.from_numpy(beyond.places).to(device)
        found = (sums[places[:, 1]] - sums[places[:, 0]]).clamp_min(0)
        token = int(self.pairing.teacher.ids[row])
        further = rest + self.bridge.teacher.pieces[token]
        inner = self.beyond(further)
        if len(inner.places):
            before = inner.first - beyond.first
            after = len(beyond.places) - before - len(inner.places)
            found = found + pad(values[token] * self.cylinders(row + 1, further, horizon), (before, after))
        return found

    def moves(self, position: int, place: int, horizon: int) -> Moves | None:
        """Moves of one position, which is the target's row ``place``."""
        bridge, pairing = self.bridge, self.pairing
        row = int(pairing.governing[position])
        rest = pairing.data[int(pairing.student.starts[position]) : int(pairing.teacher.ends[row])]
        beyond = self.beyond(rest)
        if not len(beyond.places):
            return None
        device = self.rows.values.device
        token = torch.tensor([int(pairing.teacher.ids[row])], device=device)
        share = self.rows.take(torch.tensor([row], device=device)).at(token).double()
        amounts = share * self.cylinders(row + 1, rest, horizon)
        mine = slice(beyond.first, beyond.first + len(beyond.places))
        cells = bridge.below.entry[self.entries]
        shorter = self.shorter[mine]
        sources = np.append(cells, bridge.size[1])[shorter]
        held = amounts.detach() > 0
        made = [
            torch.full((len(shorter),), place, device=device),
            *(torch.from_numpy(each).to(device) for each in (sources, cells[mine])),
            amounts,
            torch.from_numpy(shorter < beyond.first).to(device),
        ]
        return Moves(*(each[held] for each in made))
