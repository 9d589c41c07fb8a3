"""A control for BPE: merges drawn at random among the pairs that are present."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

from workbench.bpe import SINGLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    Pair = tuple[int, int]


def random_merges(counts: Counter[str], size: int, seed: int, *, least: int = 2) -> list[tuple[bytes, bytes]]:
    """Learns merges as BPE does, but each is any pair of neighbours, all pairs being equally likely.

    Args:
        counts: how often each pre-token occurs.
        size: entries wanted with the 256 bytes; fewer come back when pairs run out.
        seed: the same seed and counts give the same merges.
        least: a pair seen fewer times than this is not drawn.

    Returns:
        The two parts of each merge, in order.
    """
    chance = random.Random(seed)  # noqa: S311 a control, no secret
    text = _Text(counts, least)
    pieces = list(SINGLE)
    merges = []
    while text.pairs and len(pieces) < size:
        left, right = text.pairs[chance.randrange(len(text.pairs))]
        merges.append((pieces[left], pieces[right]))
        text.join((left, right), len(pieces))
        pieces.append(pieces[left] + pieces[right])
    return merges


class _Text:
    """Pre-tokens as ids, with the pairs that are frequent enough in a list to draw from."""

    def __init__(self, counts: Counter[str], least: int) -> None:
        self.least = least
        self.words = [list(piece.encode()) for piece in counts]
        self.times = list(counts.values())
        self.pairs: list[Pair] = []
        self._at: dict[Pair, int] = {}
        self._counts: Counter[Pair] = Counter()
        self._places: defaultdict[Pair, set[int]] = defaultdict(set)
        for index, (word, times) in enumerate(zip(self.words, self.times, strict=True)):
            for pair in pairwise(word):
                self._counts[pair] += times
                self._places[pair].add(index)
        self._list(list(self._counts))

    def join(self, pair: Pair, made: int) -> None:
        """Puts the new id for a pair in every word, from the left."""
        changed: dict[Pair, None] = {}
        for index in sorted(self._places.pop(pair)):
            old, times = self.words[index], self.times[index]
            new = _joined(old, pair, made)
            if len(new) == len(old):
                continue  # the pair left this word when another was joined
            self.words[index] = new
            for gone in pairwise(old):
                self._counts[gone] -= times
                changed[gone] = None
            for come in pairwise(new):
                self._counts[come] += times
                changed[come] = None
                self._places[come].add(index)
        self._list(changed)

    def _list(self, changed: Iterable[Pair]) -> None:
        for pair in changed:
            enough, at = self._counts[pair] >= self.least, self._at.get(pair)
            if enough and at is None:
                self._at[pair] = len(self.pairs)
                self.pairs.append(pair)
            elif not enough and at is not None:
                last = self.pairs.pop()
                if last != pair:
                    self.pairs[at] = last
                    self._at[last] = at
                del self._at[pair]


def _joined(word: list[int], pair: Pair, made: int) -> list[int]:
    new: list[int] = []
    last = -1
    for unit in word:
        if (last, unit) == pair:
            new[-1] = last = made
        else:
            new.append(last := unit)
    return new
