"""What a BPE makes of a text when part of its vocabulary is taken away and the other merges stay.

The units, which no merge makes, always stay, so that everything can still be spelled. A merge is left in if
its result stays and both its parts can still be made. What an entry that no merge makes stands for is spelled
by its bytes, where bytes are entries; else it counts as a unit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from vocab_audits.usage import in_learned_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from workbench.tokenizer import Tokenizer

FIRST = 0x10000
"""Units are written as the characters from here on while they are merged anew."""


@dataclass(frozen=True, eq=False)
class Merging:
    """A tokenizer's merges over units, and the pre-tokens of a text.

    Attributes:
        merges: rows left, right, result in order, as of the inventory (merges, 3).
        spelled: for each id that occurs or is made, its units as characters.
        pretokens: for each distinct pre-token, its units as characters and how often it occurs.
        order: ids that merges make, the first learned first (entries built,).
    """

    merges: NDArray[np.int32]
    spelled: dict[int, str]
    pretokens: Counter[str]
    order: NDArray[np.int32]

    @cached_property
    def times(self) -> NDArray[np.int64]:
        """Occurrences of each distinct pre-token."""
        return np.fromiter(self.pretokens.values(), np.int64, len(self.pretokens))

    def usable(self, kept: NDArray[np.int32]) -> NDArray[np.int32]:
        """Of the entries kept, those that merges still make (n,)."""
        size = int(self.merges.max(initial=-1)) + 1
        there = np.ones(size, bool)
        there[self.order] = False
        wanted = np.zeros(size, bool)
        wanted[kept] = True
        left, right, made = self.merges.T
        while (new := there[left] & there[right] & wanted[made] & ~there[made]).any():
            there[made[new]] = True
        return np.flatnonzero(there & wanted).astype(np.int32)

    def segmented(self, kept: NDArray[np.int32]) -> list[list[str]]:
        """Each distinct pre-token as the tokens that the merges of the entries kept make of it.

        Args:
            kept: ids, of those in ``order``, that stay (n,).

        Returns:
            A list of tokens a pre-token, each spelled in units; they join to the pre-token's.
        """
        encoded = self._model(kept).encode_batch(list(self.pretokens), add_special_tokens=False)
        return [each.tokens for each in encoded]

    def tokens(self, kept: NDArray[np.int32]) -> int:
        """Tokens of the whole text by the merges of the entries kept."""
        encoded = self._model(kept).encode_batch_fast(list(self.pretokens), add_special_tokens=False)
        return int(np.array([len(each.ids) for each in encoded], np.int64) @ self.times)

    def _model(self, kept: NDArray[np.int32]) -> Any:
        from tokenizers import Tokenizer, models

        stays = np.zeros(int(self.merges.max(initial=-1)) + 1, bool)
        stays[self.usable(kept)] = True
        units = np.ones(len(stays), bool)
        units[self.order] = False
        stays |= units
        rows = self.merges[stays[self.merges].all(axis=1)].tolist()
        spelled = self.spelled
        texts = dict.fromkeys(sorted(set("".join(self.pretokens))))
        texts |= dict.fromkeys(spelled[each] for row in rows for each in row)
        vocab = {text: index for index, text in enumerate(texts)}
        return Tokenizer(models.BPE(vocab, [(spelled[left], spelled[right]) for left, right, _ in rows]))


def merging(tokenizer: Tokenizer, texts: Iterable[str]) -> Merging | None:
    """The merges of a tokenizer and the pre-tokens of texts; None where it has no merges."""
    merges = tokenizer.inventory.merges
    if merges is None or not len(merges):
        return None
    engine = tokenizer.engine
    seen = Counter(piece for text in texts for piece in engine.pretokenize(text))
    units = _Units(tokenizer, merges)
    pretokens: Counter[str] = Counter()
    for piece, times in seen.items():
        pretokens["".join([units.of(token) for token in engine.model_ids(piece)])] += times
    pretokens.pop("", None)
    made = np.unique(merges[:, 2])
    order = in_learned_order(tokenizer.inventory)["id"].to_numpy()
    ordered = order[np.isin(order, made)].astype(np.int32)
    left_out = made[~np.isin(made, ordered)].astype(np.int32)
    for token in made.tolist():
        units.of(token)
    return Merging(merges, units.spelled, pretokens, np.concatenate([ordered, left_out]))


class _Units:
    """Spells ids in units, each unit one character."""

    def __init__(self, tokenizer: Tokenizer, merges: NDArray[np.int32]) -> None:
        inventory = tokenizer.inventory
        self.pieces = inventory.pieces
        self.parts = {made: (left, right) for left, right, made in reversed(merges.tolist())}
        self.bytes: list[int] = []
        if tokenizer.pipeline.byte_level:
            found = [inventory.find(bytes([byte])) for byte in range(256)]
            self.bytes = [ids[0] for ids in found] if all(found) else []
        self.spelled: dict[int, str] = {}

    def of(self, token: int) -> str:
        """The units of an id; parts come before what they make, whatever the order of the merges."""
        waiting = [token]
        while waiting:
            here = waiting[-1]
            if here in self.spelled:
                waiting.pop()
                continue
            parts: Sequence[int] = self.parts.get(here, ())
            if not parts and self.bytes and len(self.pieces[here]) > 1:
                parts = [self.bytes[byte] for byte in self.pieces[here]]
            missing = [part for part in parts if part not in self.spelled]
            if missing:
                waiting += missing
                continue
            self.spelled[waiting.pop()] = "".join([self.spelled[part] for part in parts]) or chr(FIRST + here)
        return self.spelled[token]


def last_learned(merged: Merging, stay: int) -> NDArray[np.int32]:
    """The entries that stay where the last learned are masked: the first ``stay`` of those built."""
    return merged.order[:stay]


def at_random(merged: Merging, stay: int, seed: int) -> NDArray[np.int32]:
    """The entries that stay where as many are masked at random."""
    return np.sort(np.random.default_rng(seed).choice(merged.order, stay, replace=False))
