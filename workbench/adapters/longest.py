"""Greedy longest match over bytes: the whole model of RWKV's World vocabulary.

At each place the longest entry that the text continues with is taken, with no pre-tokenizer. The
text may still be cut early: between two bytes that stand side by side in no entry there is a cut in
any case. The stretches between such cuts are short and recur, so each is looked up in a memory first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np
import regex

from workbench.inventory import Inventory
from workbench.normalising import Normalised
from workbench.tokenizer import Encoded, Pipeline, Step, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Offsets = NDArray[np.int64]

REMEMBERED = 1 << 18
"""Stretches kept before the memory starts anew."""

LONGEST_REMEMBERED = 64
"""Bytes of the longest stretch that is kept."""


@dataclass(frozen=True, eq=False)
class LongestMatchEngine:
    """Encodes by longest match; a byte that no entry begins with is left out.

    Attributes:
        ids: id of each entry that text can give, by its bytes.
        control: text of each control entry, with its id.
    """

    ids: Mapping[bytes, int]
    control: Mapping[str, int] = field(default_factory=dict)
    _memory: dict[bytes, list[int]] = field(default_factory=dict, repr=False)

    def encode_batch(self, texts: Sequence[str]) -> Encoded:
        """Ids of each text."""
        rows, stops = self._looked_up([text.encode() for text in texts])
        before = np.cumsum([0, *map(len, rows)])
        ids = np.fromiter(chain.from_iterable(rows), np.int32, int(before[-1]))
        return Encoded(ids, np.concatenate([[0], before[stops]]))

    def encode_control(self, text: str) -> list[int]:
        """Ids of one text in which the text of a control entry becomes its id."""
        if not self.control:
            return self._encode(text.encode())
        ids: list[int] = []
        longest = sorted(self.control, key=len, reverse=True)
        for part in regex.split(f"({'|'.join(map(regex.escape, longest))})", text):
            ids += [self.control[part]] if part in self.control else self._encode(part.encode())
        return ids

    def normalise(self, text: str) -> Normalised:
        """The text itself."""
        return Normalised(text.encode(), ())

    def pretokenize(self, text: str) -> list[str]:
        """The whole text: nothing cuts it before the model."""
        return [text] if text else []

    def model_ids(self, pretoken: str) -> list[int]:
        """Ids of a text."""
        return self._encode(pretoken.encode())

    def unknown_spans(
        self,
        text: str,  # noqa: ARG002 part of the interface
        *,
        control: bool = False,  # noqa: ARG002 likewise
    ) -> list[tuple[int, int, bool]]:
        """None: what has no entry is left out."""
        return []

    def decode_each(self, ids: Sequence[int]) -> list[str | None]:
        """Text of each id alone, with U+FFFD for what is no UTF-8; None for an id without an entry."""
        found = (self._entries.get(token) for token in ids)
        return [None if entry is None else entry.decode(errors="replace") for entry in found]

    @cached_property
    def _entries(self) -> dict[int, bytes]:
        control = {token: text.encode() for text, token in self.control.items()}
        return {token: entry for entry, token in self.ids.items()} | control

    def _encode(self, data: bytes) -> list[int]:
        return list(chain.from_iterable(self._looked_up([data])[0]))

    def _looked_up(self, datas: Sequence[bytes]) -> tuple[list[list[int]], Offsets]:
        """Ids of each stretch of all texts, and the number of stretches before each text's end."""
        whole = b"".join(datas)
        raw = np.frombuffer(whole, np.uint8)
        ends = np.cumsum(np.fromiter(map(len, datas), np.int64, len(datas)))
        sure = np.flatnonzero(~self._joined[raw[:-1], raw[1:]]) + 1
        cuts = np.unique(np.concatenate([[0], sure, ends]))
        places = cuts.tolist()
        stretches = [whole[low:high] for low, high in pairwise(places)]
        memory = self._memory
        if len(memory) > REMEMBERED:
            memory.clear()
        found = {stretch: memory.get(stretch) or self._match(stretch) for stretch in set(stretches)}
        memory.update((stretch, ids) for stretch, ids in found.items() if len(stretch) <= LONGEST_REMEMBERED)
        return list(map(found.__getitem__, stretches)), np.searchsorted(cuts, ends)

    def _match(self, data: bytes) -> list[int]:
        """Ids of one stretch, by trying the lengths that entries with its first two bytes have."""
        ids, sizes, found, here = self.ids, self._sizes, [], 0
        if data in ids:
            return [ids[data]]
        while here < len(data):
            for size in sizes.get(data[here : here + 2], (1,)):
                token = ids.get(data[here : here + size])
                if token is not None and here + size <= len(data):
                    found.append(token)
                    here += size
                    break
            else:
                here += 1
        return found

    @cached_property
    def _joined(self) -> NDArray[np.bool_]:
        """Whether two bytes stand side by side in some entry (256, 256)."""
        table = np.zeros((256, 256), bool)
        raw = np.frombuffer(b"".join(self.ids), np.uint8)
        ends = np.cumsum(np.fromiter(map(len, self.ids), np.int64, len(self.ids)))
        inside = np.ones(len(raw), bool)
        inside[ends - 1] = False
        firsts = np.flatnonzero(inside)
        table[raw[firsts], raw[firsts + 1]] = True
        return table

    @cached_property
    def _sizes(self) -> dict[bytes, tuple[int, ...]]:
        """Lengths of the entries that begin with two bytes, longest first; single bytes close each list."""
        found: dict[bytes, set[int]] = {}
        for entry in self.ids:
            if len(entry) > 1:
                found.setdefault(entry[:2], {1}).add(len(entry))
        return {pair: tuple(sorted(sizes, reverse=True)) for pair, sizes in found.items()}


def longest_match(
    rows: Sequence[tuple[int, bytes]],
    name: str,
    source: str,
    special: Mapping[int, str] | None = None,
    matrix: int | None = None,
    notes: tuple[str, ...] = (),
) -> Tokenizer:
    """A tokenizer that takes the longest entry at each place.

    Args:
        rows: id and bytes of each entry that text can give; of equal entries the last is used.
        name: short name.
        source: where they came from.
        special: control entries: id and text.
        matrix: rows of the embedding matrix, where known.
        notes: what a reader should know.
    """
    control = dict(special or {})
    missing = 256 - len({piece for _, piece in rows if len(piece) == 1})
    if missing:
        notes += (f"{missing} of the 256 bytes have no entry and are left out of what is encoded",)
    inventory = Inventory.build(
        name,
        source,
        {
            "id": [*control, *(index for index, _ in rows)],
            "bytes": [*(text.encode() for text in control.values()), *(piece for _, piece in rows)],
            "kind": ["special"] * len(control) + ["piece"] * len(rows),
        },
        rows=matrix,
        notes=notes,
    )
    engine = LongestMatchEngine(
        {piece: index for index, piece in rows}, {text: index for index, text in control.items()}
    )
    steps = (Step("model", "longest match", "the longest entry that the text continues with"),)
    return Tokenizer(inventory, Pipeline("longest match", steps, byte_level=not missing, notes=notes), engine)
