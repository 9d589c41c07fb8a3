"""Normalisation that remembers where each byte came from.

A normaliser is any function from string to string. ``align`` finds, by bisection, the finest cuts of
the text at which normalising the parts separately gives the same result as normalising the whole;
between two cuts, text and result belong together. This needs nothing from the library that owns the
function, so its offset defects (composition reported on the first jamo only, a lowercased letter that
becomes two) do not arise.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Offsets = NDArray[np.int64]
    Block = tuple[str, str]

SEARCH = 128
"""Characters tried on either side of the middle before a long stretch is kept as one block."""


@dataclass(frozen=True, eq=False)
class Aligned:
    """A normalised text whose bytes are tied to the bytes of its source.

    Attributes:
        target: the normalised text in bytes.
        source_cuts: byte offsets in the source (blocks + 1,).
        target_cuts: byte offsets in the target (blocks + 1,).
        equal: whether a block is unchanged, so that offsets inside it map one to one (blocks,).
    """

    target: bytes
    source_cuts: Offsets
    target_cuts: Offsets
    equal: NDArray[np.bool_]

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> Aligned:
        """From (source, target) string blocks in order."""
        pairs = [(source.encode(), target.encode()) for source, target in blocks] or [(b"", b"")]
        sizes = np.array([(len(source), len(target)) for source, target in pairs], np.int64)
        cuts = np.concatenate([np.zeros((1, 2), np.int64), np.cumsum(sizes, axis=0)])
        equal = np.array([source == target for source, target in pairs])
        return cls(b"".join(target for _, target in pairs), cuts[:, 0], cuts[:, 1], equal)

    def to_source(self, starts: Offsets, ends: Offsets) -> tuple[Offsets, Offsets]:
        """Byte spans of the target as byte spans of the source; changed blocks are taken whole."""
        first = self._block(starts)
        last = self._block(np.maximum(ends - 1, starts))
        low = self.source_cuts[first] + np.where(self.equal[first], starts - self.target_cuts[first], 0)
        high = np.where(
            self.equal[last],
            self.source_cuts[last] + ends - self.target_cuts[last],
            self.source_cuts[last + 1],
        )
        empty = starts == ends
        low = np.where(empty & (starts >= len(self.target)), self.source_cuts[-1], low)
        return low, np.where(empty, low, high)

    def to_target(self, offset: int, *, end: bool) -> int:
        """A byte offset of the source as one of the target; inside a changed block, its near edge."""
        block = int(np.searchsorted(self.source_cuts, offset, side="left" if end else "right")) - 1
        block = min(max(block, 0), len(self.equal) - 1)
        if self.equal[block]:
            return int(self.target_cuts[block] + offset - self.source_cuts[block])
        return int(self.target_cuts[block + 1] if end else self.target_cuts[block])

    @property
    def dropped(self) -> Offsets:
        """Source spans that the normaliser removed (n, 2)."""
        gone = (np.diff(self.target_cuts) == 0) & (np.diff(self.source_cuts) > 0)
        return np.stack([self.source_cuts[:-1][gone], self.source_cuts[1:][gone]], axis=1)

    def _block(self, offsets: Offsets) -> NDArray[np.intp]:
        found: NDArray[np.intp] = np.searchsorted(self.target_cuts, offsets, side="right") - 1
        clipped: NDArray[np.intp] = np.minimum(np.maximum(found, 0), len(self.equal) - 1)
        return clipped


@dataclass(frozen=True, eq=False)
class Normalised:
    """A text after a chain of normalisers; maps spans of the result back through all of them."""

    source: bytes
    stages: tuple[Aligned, ...]

    @property
    def target(self) -> bytes:
        """The normalised text in bytes."""
        return self.stages[-1].target if self.stages else self.source

    def to_source(self, starts: Offsets, ends: Offsets) -> tuple[Offsets, Offsets]:
        """Byte spans of the target as byte spans of the source."""
        for stage in reversed(self.stages):
            starts, ends = stage.to_source(starts, ends)
        return starts, ends

    def to_target(self, offset: int, *, end: bool) -> int:
        """A byte offset of the source as one of the target."""
        for stage in self.stages:
            offset = stage.to_target(offset, end=end)
        return offset

    @property
    def dropped(self) -> Offsets:
        """Source spans of which no normaliser left anything (n, 2), ordered and apart.

        A stage that drops a part of what an earlier one made of a character drops no source text.
        """
        spans: set[tuple[int, int]] = set()
        for depth, stage in enumerate(self.stages):
            gone = stage.dropped
            starts, ends = gone[:, 0], gone[:, 1]
            for earlier in reversed(self.stages[:depth]):
                starts, ends = earlier.to_source(starts, ends)
            spans.update(zip(starts.tolist(), ends.tolist(), strict=True))
        apart: list[tuple[int, int]] = []
        for low, high in sorted(spans):
            if self.to_target(low, end=False) < self.to_target(high, end=True):
                continue
            if apart and low < apart[-1][1]:
                low, high = apart[-1][0], max(high, apart.pop()[1])  # noqa: PLW2901 joined with the last
            apart.append((low, high))
        return np.array(apart, np.int64).reshape(-1, 2)


def align(
    text: str, function: Callable[[str], str], character: Callable[[str], str] | None = None
) -> Aligned:
    """Aligns a text with its normalised form.

    Args:
        text: the text.
        function: a normaliser whose effect is local, that is, it does not add or trim at the ends.
        character: the same function for single characters, if there is a faster one, such as a cache.

    Returns:
        The result with the finest cuts at which the function distributes over concatenation.
    """
    whole = function(text)
    single = list(map(character or function, text))
    if "".join(single) == whole:
        return Aligned.of(_runs(text, single))
    return Aligned.of(_bisected(text, whole, function))


def _runs(text: str, single: list[str]) -> list[Block]:
    """Blocks of a text whose characters are normalised one by one; unchanged ones are run together."""
    blocks: list[Block] = []
    for same, group in groupby(zip(text, single, strict=True), key=lambda pair: pair[0] == pair[1]):
        if same:
            run = "".join([source for source, _ in group])
            blocks.append((run, run))
        else:
            blocks.extend(group)
    return blocks


def _bisected(text: str, whole: str, function: Callable[[str], str]) -> list[Block]:
    blocks: list[Block] = []
    stack: list[Block] = [(text, whole)]
    while stack:
        source, target = stack.pop()
        if source == target or len(source) <= 1:
            blocks.append((source, target))
            continue
        split = _split(source, target, function)
        if split is None:
            blocks.append((source, target))
        else:
            left, right = split
            stack.append(right)
            stack.append(left)
    return blocks


def _split(source: str, target: str, function: Callable[[str], str]) -> tuple[Block, Block] | None:
    middle = len(source) // 2
    for distance in range(min(SEARCH, middle) + 1):
        for cut in {middle - distance, middle + distance}:
            if not 0 < cut < len(source):
                continue
            left, right = function(source[:cut]), function(source[cut:])
            if left + right == target:
                return (source[:cut], left), (source[cut:], right)
    return None


def trimmed(text: str, result: str) -> Aligned:
    """Aligns a text with itself trimmed at either end."""
    start = text.index(result) if result else len(text)
    return Aligned.of(
        [(text[:start], ""), (result, result), (text[start + len(result) :], "")] if result else [(text, "")]
    )
