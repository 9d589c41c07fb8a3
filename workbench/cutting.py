"""Many words cut at once by any segmenter, as arrays of byte offsets."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.lexicon import Bounds
from workbench.tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from workbench.segmentation import Segmenter
    from workbench.tokenizer import Encoded

    Offsets = NDArray[np.int64]

CHUNK = 1 << 14
"""Words cut at a time, which bounds memory."""


@dataclass(frozen=True, eq=False)
class Cuts:
    """Where a segmenter cuts each of many words.

    Attributes:
        bounds: boundaries inside the words, at the edges of characters.
        tokens: tokens of each word, an added space alone not counted (words,).
        inside: cuts inside a character, which are no boundaries (words,).
        unknown: whether a token stands for text that the inventory cannot spell (words,).
    """

    bounds: Bounds
    tokens: NDArray[np.int64]
    inside: NDArray[np.int64]
    unknown: NDArray[np.bool_]

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Whether the word is one token that is not unknown (words,)."""
        found: NDArray[np.bool_] = (self.tokens == 1) & ~self.unknown
        return found

    def __len__(self) -> int:
        return len(self.tokens)

    def pick(self, rows: NDArray[np.int64]) -> Cuts:
        """Cuts of some of the words, in the given order."""
        return Cuts(self.bounds.pick(rows), self.tokens[rows], self.inside[rows], self.unknown[rows])


def cut_words(segmenter: Segmenter, words: Sequence[str], before: str = "") -> Cuts:
    """Cuts each word alone.

    A tokenizer whose entries spell the words byte for byte is read from its ids and the lengths of its
    entries, without an object a word; any other through its segmentations.

    Args:
        segmenter: anything that cuts text.
        words: valid Unicode strings, none empty.
        before: what is put before each word, such as a space; cuts in it and at its end do not count.
    """
    parts = [_cut(segmenter, words[at : at + CHUNK], before) for at in range(0, len(words), CHUNK)]
    if not parts:
        none = np.empty(0, np.int64)
        return Cuts(Bounds(none, np.zeros(1, np.int64), none), none, none, none.astype(bool))
    offsets = [np.zeros(1, np.int64)]
    for part in parts:
        offsets.append(part.bounds.offsets[1:] + offsets[-1][-1])
    joined = Bounds(
        np.concatenate([part.bounds.places for part in parts]),
        np.concatenate(offsets),
        np.concatenate([part.bounds.sizes for part in parts]),
    )
    return Cuts(
        joined,
        np.concatenate([part.tokens for part in parts]),
        np.concatenate([part.inside for part in parts]),
        np.concatenate([part.unknown for part in parts]),
    )


class _Spans(NamedTuple):
    """Token spans of many texts, end to end: the text of each, in order, and its bytes from, to."""

    rows: Offsets
    starts: Offsets
    ends: Offsets


def _cut(segmenter: Segmenter, words: Sequence[str], before: str) -> Cuts:
    texts = [before + word for word in words] if before else list(words)
    data = [text.encode() for text in texts]
    unknown = np.zeros(len(texts), bool)
    if isinstance(segmenter, Tokenizer):
        encoded = segmenter.encode_batch(texts)
        slow = np.flatnonzero(~spelled(segmenter, encoded, data))
        spans = [_from_ids(segmenter, encoded, slow)]
    else:
        slow, spans = np.arange(len(texts)), []
    found = segmenter.segment_batch([texts[row] for row in slow.tolist()]) if len(slow) else []
    spans += [_Spans(np.full(len(each), row), each.starts, each.ends)
              for row, each in zip(slow.tolist(), found, strict=True)]  # fmt: skip
    unknown[slow] = [bool(each.unknown) for each in found]
    rows, starts, ends = (np.concatenate([getattr(part, name) for part in spans]) for name in _Spans._fields)
    return _counted(rows, starts, ends, data, len(before.encode()), unknown)


def spelled(tokenizer: Tokenizer, encoded: Encoded, data: Sequence[bytes]) -> NDArray[np.bool_]:
    """Whether the pieces of each text join to it, and none of its tokens is unknown (texts,).

    Args:
        tokenizer: what encoded them.
        encoded: ids of the texts.
        data: their bytes.
    """
    ids = encoded.ids
    odd = np.isin(ids, list(tokenizer.unknown)) if tokenizer.unknown else np.zeros(len(ids), bool)
    ends = np.concatenate([[0], np.cumsum(tokenizer.inventory.lengths[ids], dtype=np.int64)])[encoded.offsets]
    table, places = tokenizer.inventory.pieces, ends.tolist()
    joined = b"".join([table[token] for token in ids.tolist()])
    same = [joined[low:high] == text for (low, high), text in zip(pairwise(places), data, strict=True)]
    found = np.array(same, bool)
    found[np.searchsorted(encoded.offsets, np.flatnonzero(odd), side="right") - 1] = False
    return found


def _from_ids(tokenizer: Tokenizer, encoded: Encoded, without: Offsets) -> _Spans:
    """Spans of the tokens of all texts but some, from the lengths of entries."""
    lengths = tokenizer.inventory.lengths[encoded.ids].astype(np.int64)
    counts = np.diff(encoded.offsets)
    ends = np.cumsum(lengths)
    base = np.concatenate([[0], ends])[encoded.offsets[:-1]]
    rows = np.repeat(np.arange(len(counts)), counts)
    ends -= base[rows]
    kept = ~np.isin(rows, without)
    return _Spans(rows[kept], (ends - lengths)[kept], ends[kept])


def _counted(
    rows: Offsets, starts: Offsets, ends: Offsets, data: list[bytes], skip: int, unknown: NDArray[np.bool_]
) -> Cuts:
    """Boundaries and counts from spans; ``skip`` bytes before each word are taken off."""
    sizes = np.fromiter(map(len, data), np.int64, len(data))
    tokens = np.bincount(rows[(ends > skip) & (ends > starts)], minlength=len(data))
    base = np.concatenate([[0], np.cumsum(sizes + 1)])
    keys = np.unique(np.concatenate([base[rows] + starts, base[rows] + ends]))
    row = np.searchsorted(base, keys, side="right") - 1
    place = keys - base[row]
    inner = (place > skip) & (place < sizes[row])
    row, place = row[inner], place[inner]
    stream = np.frombuffer(b"\0".join([*data, b""]), np.uint8)
    edge = (stream[base[row] + place] & 0xC0) != 0x80
    counts = np.bincount(row[edge], minlength=len(data))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    inside = np.bincount(row[~edge], minlength=len(data))
    return Cuts(Bounds(place[edge] - skip, offsets, sizes - skip), tokens, inside, unknown)
