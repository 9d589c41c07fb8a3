"""A BPE and all its beginnings: what the first merges alone make of a text, from one segmentation.

Merges learned in order are applied in order: a pair that holds an entry ranks below the merge that makes
it. So the segmentation by the first merges is what stands before the others are applied, and it is read
off the whole one by undoing every merge that came later. ``size`` below is a number of entries: those with
ids under it are there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from workbench.errors import SutureError
from workbench.ranges import ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.inventory import Inventory

    Ints = NDArray[np.int64]

NEVER = np.iinfo(np.int32).max
"""Stands for the merge that joins two bytes which no merge joins."""


@dataclass(frozen=True, eq=False)
class Restricted:
    """The entries of a BPE with the pair that makes each.

    Attributes:
        left: id of the first part, -1 for a single byte (entries,).
        right: id of the second part, likewise (entries,).
        lengths: bytes of each entry (entries,).
    """

    left: Ints
    right: Ints
    lengths: Ints

    @classmethod
    def of(cls, inventory: Inventory) -> Restricted:
        """From a trained BPE, whose ids are single bytes and then the merges in their order.

        Raises:
            SutureError: the ids are in another order, or an entry has no pair or several.
        """
        merges = inventory.merges
        table = np.empty((0, 3), np.int64) if merges is None else merges.astype(np.int64)
        first = inventory.rows_needed - len(table)
        ordered = np.array_equal(table[:, 2], np.arange(first, inventory.rows_needed))
        if not ordered or (table[:, :2] >= table[:, 2:]).any() or (inventory.lengths[:first] != 1).any():
            raise SutureError(
                f"a BPE is read by size only where its ids are single bytes and then the merges in order; "
                f"{inventory.name} has others; train it anew"
            )
        left, right = (np.full(inventory.rows_needed, -1, np.int64) for _ in range(2))
        left[first:], right[first:] = table[:, 0], table[:, 1]
        return cls(left, right, inventory.lengths.astype(np.int64))

    def __len__(self) -> int:
        return len(self.left)

    @cached_property
    def levels(self) -> list[Ints]:
        """Ids by the height of their tree of merges, single bytes first."""
        height = np.zeros(len(self), np.int64)
        built = np.flatnonzero(self.left >= 0)
        while True:
            new = 1 + np.maximum(height[self.left[built]], height[self.right[built]])
            if np.array_equal(new, height[built]):
                break
            height[built] = new
        order = np.argsort(height, kind="stable")
        return np.split(order, np.searchsorted(height[order], np.arange(1, height.max(initial=0) + 1)))

    def tokens(self, size: int) -> Ints:
        """Tokens that each entry's bytes are at a size: 1 for one that is there (entries,)."""
        found = np.ones(len(self), np.int64)
        for level in self.levels[1:]:
            later = level[level >= size]
            found[later] = found[self.left[later]] + found[self.right[later]]
        return found

    def counts(self, counts: Ints, size: int) -> Ints:
        """Occurrences of each entry at a size, given those at the full one (entries,)."""
        found = counts.astype(np.int64)
        for level in reversed(self.levels[1:]):
            later = level[level >= size]
            np.add.at(found, self.left[later], found[later])
            np.add.at(found, self.right[later], found[later])
            found[later] = 0
        return found

    @cached_property
    def _starts(self) -> Ints:
        """Where each entry's row begins in ``_made``."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    @cached_property
    def _made(self) -> NDArray[np.int32]:
        """For each byte of each entry, the entry that joined it to the byte after; at the last, ``NEVER``."""
        found = np.full(int(self._starts[-1]), NEVER, np.int32)
        for level in self.levels[1:]:
            ones, twos = self.left[level], self.right[level]
            for part, at in ((ones, self._starts[level]), (twos, self._starts[level] + self.lengths[ones])):
                found[ranges(at, self.lengths[part])] = found[ranges(self._starts[part], self.lengths[part])]
            found[self._starts[level] + self.lengths[ones] - 1] = level
        return found

    def joined_by(self, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """For each byte of a sequence of tokens, the entry whose merge joins it to the byte after.

        A cut stands after the byte at every size up to that entry's id. Between two tokens, and at the
        end, it is ``NEVER``.

        Args:
            ids: tokens of the full size (tokens,).
        """
        return self._made[ranges(self._starts[ids], self.lengths[ids])]
