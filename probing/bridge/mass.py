"""Masses of prefixes as tensors, with gradients: the twin of ``workbench.prefixmass`` on any device.

Every mass is a sum of the terms below its node, in linear or in log space, so neither a value nor a gradient
comes from a difference of large sums. Values keep the type that they have; give 64 bits where digits count.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from workbench.errors import SutureError
from workbench.prefixes import ROOT, check_text
from workbench.prefixmass import COLUMNS, END, SPELLESS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.prefixes import Prefixes


@dataclass(frozen=True, eq=False)
class Masses:
    """A prefix index whose arrays lie on a device; make it once for an inventory and a device.

    ``q`` is (positions, ids) everywhere: probabilities, or with ``log=True`` log-probabilities or logits, and
    then the result is a logarithm too.

    Attributes:
        index: of the inventory.
        device: where the distributions are.
    """

    index: Prefixes
    device: torch.device | str = "cpu"

    def tensor(self, values: NDArray[np.int64]) -> Tensor:
        """Whole numbers on the device."""
        return torch.tensor(values, device=self.device)  # a copy: the index's own arrays may be read-only

    @cached_property
    def spelling(self) -> Prefixes:
        """The index, once it is known that its entries spell text.

        Raises:
            SutureError: they do not, as in WordPiece.
        """
        check_text(self.index.inventory)
        return self.index

    @cached_property
    def sorted(self) -> Tensor:
        """Ids in the order of their bytes, then those that spell nothing (ids,)."""
        return self.tensor(np.concatenate([self.index.order, self.index.byteless]))

    @cached_property
    def rank(self) -> Tensor:
        """Place of each id in ``sorted`` (ids,)."""
        found = torch.empty_like(self.sorted)
        found[self.sorted] = torch.arange(len(found), device=found.device)
        return found

    @cached_property
    def _node_of(self) -> Tensor:
        return self.tensor(self.index.node_of[self.index.order])

    @cached_property
    def _above(self) -> list[tuple[Tensor, int]]:
        """For each depth but the first: the place of a node's parent in its own depth, and their number."""
        edges = self.index.levels.tolist()
        return [
            (self.tensor(self.index.parent[low:high] - former), low - former)
            for former, low, high in zip(edges[:-2], edges[1:-1], edges[2:], strict=True)
        ]

    def _following(self, node: int) -> tuple[Tensor, Tensor, Tensor]:
        """Ids below a node in the order of their bytes, where segments begin and end, and their columns."""
        index = self.index
        low, high = int(index.low[node]), int(index.high[node])
        kids = slice(int(index.children[node]), int(index.children[node + 1]))
        edges = np.concatenate([[low], index.low[kids], [high]])
        places = np.concatenate([[END], index.byte[kids]])
        if node == ROOT:
            edges, places = np.append(edges, index.width), np.append(places, SPELLESS)
        ids = self.sorted[low : int(edges[-1])]
        return ids, self.tensor(edges - low), self.tensor(places)

    @cached_property
    def _first(self) -> tuple[Tensor, Tensor, Tensor]:
        return self._following(ROOT)

    def node_masses(self, q: Tensor, *, log: bool = False) -> Tensor:
        """Z of every node (positions, nodes), each the sum of its own ids and its children."""
        check(q, self.index, log=log)
        held = columns(q, self.sorted[: len(self.index.order)])
        own = _grouped(held, self._node_of, len(self.index), log=log)
        edges = self.index.levels.tolist()
        found = [own[:, edges[-2] : edges[-1]]]
        for depth in range(len(edges) - 3, -1, -1):
            parents, size = self._above[depth]
            below = _grouped(found[-1], parents, size, log=log)
            mine = own[:, edges[depth] : edges[depth + 1]]
            found.append(log_add(mine, below) if log else mine + below)
        return torch.cat(found[::-1], dim=1)

    def prefix_mass(self, q: Tensor, prefix: bytes, *, log: bool = False) -> Tensor:
        """Z of a prefix (positions,)."""
        node = self.index.find(prefix)
        return self._total(q, self.index.ids(node) if node >= 0 else self.index.order[:0], log=log)

    def exact_mass(self, q: Tensor, prefix: bytes, *, log: bool = False) -> Tensor:
        """E of a prefix (positions,)."""
        node = self.index.find(prefix)
        return self._total(q, self.index.ids_at(node) if node >= 0 else self.index.order[:0], log=log)

    def _total(self, q: Tensor, ids: NDArray[np.int64], *, log: bool) -> Tensor:
        check(q, self.index, log=log)
        held = columns(q, self.tensor(ids))
        return log_sum(held) if log else held.sum(dim=-1)

    def next_byte(self, q: Tensor, prefix: bytes = b"", *, log: bool = False) -> Tensor:
        """P(next byte, or that the token ends | prefix), in the columns of ``prefixmass.next_byte``.

        At the empty prefix it is the exact distribution of the byte after a token boundary, with byte-less
        ids in column ``SPELLESS``.

        Returns:
            (positions, ``COLUMNS``); a row sums to 1, also where ``q`` are logits, or is NaN where no id with
            mass begins with the prefix.
        """
        check(q, self.index, log=log)
        cells = q.new_full((len(q), COLUMNS), -torch.inf if log else 0.0)
        node = self.index.find(prefix)
        if node >= 0:
            ids, edges, places = self._first if node == ROOT else self._following(node)
            rows = torch.arange(len(q), device=q.device).unsqueeze(1) * len(ids)
            offsets = torch.cat([(rows + edges[:-1]).flatten(), rows.new_tensor([len(q) * len(ids)])])
            sums = segment_sums(columns(q, ids).flatten(), offsets, log=log)
            cells = cells.index_copy(1, places, sums.view(len(q), len(places)))
        total = log_sum(cells) if log else cells.sum(dim=-1)
        return cells - total.unsqueeze(1) if log else cells / total.unsqueeze(1)


def check(q: Tensor, index: Prefixes, *, log: bool) -> None:
    """Refuses what is no distribution over the ids of an index.

    Raises:
        SutureError: another shape; with ``log`` NaN or +inf, or nothing but −inf; without, a negative
            value, NaN, +inf, or nothing but 0.
    """
    if q.ndim != 2 or q.shape[1] != index.width or not q.is_floating_point():
        raise SutureError(
            f"distributions must be (positions, {index.width}), one value an id of {index.inventory.name}; "
            f"got {tuple(q.shape)} of {q.dtype}; cut off what the embedding matrix has more, add as "
            "−inf what it has less"
        )
    if not q.numel():
        return
    most = q.detach().amax(dim=1)  # NaN where a value is, as the least is
    if log:
        refuse(
            ~(most < torch.inf) | (most == -torch.inf),
            "logits must be numbers or −inf, and not −inf alone",
            "look for an overflow, or a mask over everything",
        )
    else:
        refuse(
            ~((q.detach().amin(dim=1) >= 0) & (most > 0) & (most < torch.inf)),
            "probabilities must be numbers of at least 0, and not 0 alone",
            "give softmax, not logits, or log=True",
        )


def columns(values: Tensor, ids: Tensor) -> Tensor:
    """Some columns of a table (rows, ids); on a processor three times as fast as ``index_select``."""
    return values.gather(1, ids.expand(len(values), -1))


def refuse(bad: Tensor, what: str, advice: str) -> None:
    """One sentence about the first bad row.

    Raises:
        SutureError: a row is bad.
    """
    if bool(bad.any()):
        row = int(bad.nonzero()[0])
        raise SutureError(f"{what}; row {row} is not so ({int(bad.sum())} of {len(bad)} rows); {advice}")


def low_of(values: Tensor) -> float:
    """A finite number that stands for −inf where a gradient must pass: its exponential is 0."""
    return torch.finfo(values.dtype).min / 4


def log_add(one: Tensor, two: Tensor) -> Tensor:
    """log(exp one + exp two), with zero gradients where both are −inf, not NaN."""
    low = low_of(one)
    found = torch.logaddexp(one.masked_fill(one == -torch.inf, low), two.masked_fill(two == -torch.inf, low))
    return found.masked_fill(found <= low / 2, -torch.inf)


def log_sum(values: Tensor) -> Tensor:
    """Logsumexp over the last dimension; zero gradients where all is −inf, not NaN; −inf over nothing."""
    if not values.shape[-1]:
        return values.new_full(values.shape[:-1], -torch.inf)
    shift = _finite(values.detach().amax(dim=-1))
    return logged((values - shift.unsqueeze(-1)).exp().sum(dim=-1), shift)


def segment_sums(values: Tensor, offsets: Tensor, *, log: bool = False) -> Tensor:
    """Sums, or logsumexp, of consecutive segments of a line of values; an empty one gives 0, or −inf.

    Args:
        values: (n,).
        offsets: where segments begin, and n (segments + 1,).
        log: whether values are logarithms.
    """
    if not log:
        return torch.segment_reduce(values, "sum", offsets=offsets, unsafe=True, initial=0)
    top = torch.segment_reduce(values.detach(), "max", offsets=offsets, unsafe=True, initial=-torch.inf)
    shift = _finite(top)
    each = torch.repeat_interleave(shift, offsets.diff(), output_size=len(values))
    sums = torch.segment_reduce((values - each).exp(), "sum", offsets=offsets, unsafe=True, initial=0)
    return logged(sums, shift)


def _grouped(values: Tensor, groups: Tensor, size: int, *, log: bool) -> Tensor:
    """Sums, or logsumexp, of columns by group (positions, size)."""
    if not log:
        return values.new_zeros(len(values), size).index_add(1, groups, values)
    top = values.new_full((len(values), size), -torch.inf)
    shift = _finite(top.scatter_reduce(1, groups.expand_as(values), values.detach(), "amax"))
    scaled = (values - columns(shift, groups)).exp()
    return logged(values.new_zeros(len(values), size).index_add(1, groups, scaled), shift)


def _finite(top: Tensor) -> Tensor:
    return top.masked_fill(top == -torch.inf, 0)


def logged(sums: Tensor, shift: Tensor | float = 0.0) -> Tensor:
    """log(sums) + shift; −inf with a zero gradient where a sum is 0, not NaN."""
    empty = sums == 0
    return (sums.masked_fill(empty, 1).log() + shift).masked_fill(empty, -torch.inf)
