"""How far BPE vocabularies of every size compress a text, from one training and one segmentation.

A BPE of k entries is the beginning of a larger one, and its segmentation is that of the larger one before
the later merges. Each making of a merge's result takes one token away. So the tokens at every size are the
bytes less the makings of the merges so far.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vocab_audits.sampling import pretoken_counts
from vocab_audits.training import bpe
from workbench.corpora import kept
from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

ALPHABET = 256
HELD_OUT = 0.1
"""Share of the documents that are not trained on but measured, chosen by their hash."""


class Curve(NamedTuple):
    """Tokens of a text at every size of a vocabulary: ``tokens[i]`` at ``256 + i`` entries; its bytes."""

    tokens: NDArray[np.int64]
    bytes: int

    @property
    def largest(self) -> int:
        """The greatest number of entries."""
        return ALPHABET + len(self.tokens) - 1

    def rate(self, entries: int) -> float:
        """Bytes per token at a size from 256 to the largest."""
        return self.bytes / int(self.tokens[entries - ALPHABET])

    def smallest(self, rate: float) -> int | None:
        """The least number of entries that has at least so many bytes per token, by bisection; None if none.

        Tokens never grow with the size, so that bytes per token never fall.
        """
        low, high = ALPHABET, self.largest
        if self.rate(high) < rate:
            return None
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.rate(middle) >= rate else (middle + 1, high)
        return low


def curves(texts: Iterable[str], pattern: str | None, largest: int) -> tuple[Curve | None, Curve | None]:
    """Trains one BPE on nine tenths of the texts; gives the curve on these and on the rest.

    Args:
        texts: documents.
        pattern: regular expression of pre-tokens; GPT-2's where there is none.
        largest: entries of the greatest vocabulary, at least 256.

    Returns:
        The curve on the text of training and on the text held out; None where there is no such text.

    Raises:
        SutureError: ``largest`` is below 256, or the pattern is no regular expression.
    """
    if largest < ALPHABET:
        raise SutureError(
            f"a vocabulary must have at least the 256 bytes; got largest {largest}; ask for more"
        )
    parts: tuple[list[str], list[str]] = [], []
    for text in texts:
        parts[kept(text, HELD_OUT)].append(text)
    learned, held = (pretoken_counts(part, pattern) for part in parts)
    if not learned:
        return None, None
    made = bpe(learned, largest)
    return curve(made, learned), curve(made, held) if held else None


def curve(made: Tokenizer, counts: Counter[str]) -> Curve:
    """The curve of a trained byte-level BPE on counted pre-tokens.

    Args:
        made: as ``training.bpe`` makes it: 256 single bytes, then one entry a merge, in order.
        counts: how often each pre-token occurs.
    """
    pieces, times = list(counts), np.fromiter(counts.values(), np.int64, len(counts))
    encoded = made.encode_batch_fast(pieces, add_special_tokens=False)
    ids = np.concatenate([np.array(each.ids, np.int64) for each in encoded])
    weights = np.repeat(times, [len(each.ids) for each in encoded])
    formed = np.bincount(ids, weights, minlength=made.get_vocab_size()).astype(np.int64).tolist()
    vocab = made.get_vocab(with_added_tokens=False)
    merges = json.loads(made.to_str())["model"]["merges"]
    for left, right in reversed(merges):
        times_made = formed[vocab[left + right]]
        formed[vocab[left]] += times_made
        formed[vocab[right]] += times_made
    size = sum(len(piece.encode()) * number for piece, number in counts.items())
    makings = np.array([formed[vocab[left + right]] for left, right in merges], np.int64)
    return Curve(size - np.concatenate([[0], np.cumsum(makings)]), size)
