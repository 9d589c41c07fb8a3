"""Gold and predicted boundaries of many words compared, as arrays; no loop over words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from workbench.cutting import Cuts
    from workbench.lexicon import Bounds

    Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Compared:
    """Words with their gold boundaries and a segmenter's, both in bytes.

    Attributes:
        words: the words.
        gold: boundaries between morphs.
        cuts: where a segmenter cuts.
    """

    words: Sequence[str]
    gold: Bounds
    cuts: Cuts

    @cached_property
    def scored(self) -> NDArray[np.bool_]:
        """Words without an unknown token, which is no hit and no miss (words,)."""
        return ~self.cuts.unknown

    @cached_property
    def hits(self) -> Counts:
        """Boundaries in both (words,)."""
        same = np.isin(self.gold.keys, self.cuts.bounds.keys, assume_unique=True)
        return np.bincount(self.gold.rows[same], minlength=len(self.words))

    @property
    def predicted(self) -> Counts:
        """Boundaries that the segmenter puts (words,)."""
        return self.cuts.bounds.counts

    @cached_property
    def characters(self) -> Counts:
        """Characters, as code points (words,)."""
        return np.fromiter(map(len, self.words), np.int64, len(self.words))

    @cached_property
    def chance(self) -> NDArray[np.float64]:
        """Hits expected if as many cuts a word were put at random between its characters (words,).

        The mean of the hypergeometric distribution: predicted · gold / places.
        """
        places = np.maximum(self.characters - 1, 1)
        expected: NDArray[np.float64] = self.predicted * self.gold.counts / places
        return expected

    @cached_property
    def pieces(self) -> list[list[bytes]]:
        """Pieces of each word between its cuts at characters' edges."""
        flat = _parts(self.words, self.cuts.bounds)["part"].to_list()
        ends = (self.cuts.bounds.offsets + np.arange(len(self.words) + 1)).tolist()
        return [flat[low:high] for low, high in pairwise(ends)]

    @cached_property
    def common(self) -> Counts:
        """Distinct strings that are a piece and a morph of the word, wherever they stand (words,)."""
        both = _parts(self.words, self.cuts.bounds).unique().join(
            _parts(self.words, self.gold).unique(), on=["row", "part"], how="semi")  # fmt: skip
        return np.bincount(both["row"].to_numpy(), minlength=len(self.words))

    @cached_property
    def overlaps(self) -> Overlaps:
        """What each token holds of each morph."""
        return _overlaps(self.words, self.gold, self.cuts.bounds)


@dataclass(frozen=True, eq=False)
class Overlaps:
    """The stretches between neighbouring cuts of either side: each lies in one morph and in one token.

    Attributes:
        row: word of each stretch (stretches,).
        morph: number of its morph, over all words (stretches,).
        token: number of its token, over all words (stretches,).
        start: byte offset in its word (stretches,).
        end: byte offset after it (stretches,).
        characters: its length in code points (stretches,).
        morph_rows: word of each morph (morphs,).
        morph_characters: length of each morph in code points (morphs,).
        token_rows: word of each token (tokens,).
    """

    row: Counts
    morph: Counts
    token: Counts
    start: Counts
    end: Counts
    characters: Counts
    morph_rows: Counts
    morph_characters: Counts
    token_rows: Counts

    @cached_property
    def integrity(self) -> NDArray[np.float64]:
        """Of each morph, the greatest share of its characters that one token holds (morphs,)."""
        most = np.zeros(len(self.morph_rows), np.int64)
        np.maximum.at(most, self.morph, self.characters)
        share: NDArray[np.float64] = most / self.morph_characters
        return share

    def held(self, words: int) -> NDArray[np.float64]:
        """Sum of the integrity of each word's morphs (words,)."""
        return np.bincount(self.morph_rows, self.integrity, minlength=words).astype(np.float64)

    @cached_property
    def turbid(self) -> NDArray[np.bool_]:
        """Tokens that hold parts of several morphs, of which one at least is not whole (tokens,)."""
        broken = self.characters < self.morph_characters[self.morph]
        size = len(self.token_rows)
        several = np.bincount(self.token, minlength=size) > 1
        return several & (np.bincount(self.token[broken], minlength=size) > 0)

    @cached_property
    def diluted(self) -> NDArray[np.bool_]:
        """Morphs of which such a token holds a part but not all (morphs,)."""
        broken = self.turbid[self.token] & (self.characters < self.morph_characters[self.morph])
        return np.bincount(self.morph[broken], minlength=len(self.morph_rows)) > 0


def _parts(words: Sequence[str], bounds: Bounds) -> pl.DataFrame:
    """What lies between boundaries, end to end: row (the word) and part (its bytes)."""
    rows = np.repeat(np.arange(len(words)), bounds.counts + 1)
    first, last = np.ones(len(rows), bool), np.ones(len(rows), bool)
    first[1:] = last[:-1] = rows[1:] != rows[:-1]
    starts, ends = np.zeros(len(rows), np.int64), bounds.sizes[rows]
    starts[~first] = ends[~last] = bounds.places
    text = pl.Series(words, dtype=pl.String).cast(pl.Binary).gather(rows)
    table = pl.DataFrame({"row": rows, "text": text, "start": starts, "size": ends - starts})
    return table.select("row", part=pl.col("text").bin.slice("start", "size"))


def _overlaps(words: Sequence[str], gold: Bounds, predicted: Bounds) -> Overlaps:
    count = len(words)
    starts = np.concatenate([[0], np.cumsum(gold.sizes + 1)[:-1]]) if count else gold.sizes
    edges = np.unique(np.concatenate([gold.keys, predicted.keys, starts, starts + gold.sizes]))
    row = np.searchsorted(starts, edges, side="right") - 1
    inner = row[1:] == row[:-1]
    low, high, row = edges[:-1][inner], edges[1:][inner], row[:-1][inner]
    # Each boundary on a side begins a morph, or a token, and so does each word.
    morph = np.searchsorted(np.sort(np.concatenate([starts, gold.keys])), low, side="right") - 1
    token = np.searchsorted(np.sort(np.concatenate([starts, predicted.keys])), low, side="right") - 1
    stream = np.frombuffer("\0".join([*words, ""]).encode(), np.uint8)
    before = np.concatenate([[0], np.cumsum((stream & 0xC0) != 0x80)])
    characters = before[high] - before[low]
    morphs = int(gold.counts.sum()) + count
    lengths = np.bincount(morph, characters, minlength=morphs).astype(np.int64)
    return Overlaps(
        row,
        morph,
        token,
        low - starts[row],
        high - starts[row],
        characters,
        np.repeat(np.arange(count), gold.counts + 1),
        lengths,
        np.repeat(np.arange(count), predicted.counts + 1),
    )


def scored(table: pl.DataFrame) -> pl.DataFrame:
    """Precision, recall and F1 from columns gold, predicted and hits; null where one divides by 0.

    F1 = 2 hits / (gold + predicted), the harmonic mean of the two.
    """
    hits, gold, predicted = pl.col("hits"), pl.col("gold"), pl.col("predicted")
    return table.with_columns(
        precision=hits / pl.when(predicted > 0).then(predicted),
        recall=hits / pl.when(gold > 0).then(gold),
        f1=2 * hits / pl.when(gold + predicted > 0).then(gold + predicted),
    )
