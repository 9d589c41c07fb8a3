"""Tokens and whitespace words of several texts as columns, by their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from workbench.trace import UNITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from workbench.segmentation import Segmentation

    Ints = NDArray[np.int64]

SPACES = np.array(
    [*range(0x09, 0x0E), *range(0x1C, 0x21), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029,
     0x202F, 0x205F, 0x3000],
    np.uint32,
)  # fmt: skip
"""Code points that part words: those that Python's own split parts at."""


class Tokens(NamedTuple):
    """Tokens of several texts, end to end; each field is (tokens,).

    ``text`` and ``position`` are its text's number in the stretch and its own in the text, ``start`` and
    ``end`` its bytes in the text, and ``word`` its whitespace word, counted through the stretch, or -1.
    """

    ids: Ints
    text: Ints
    position: Ints
    start: Ints
    end: Ints
    word: Ints


class Words(NamedTuple):
    """Whitespace words of several texts, end to end: text, and bytes in the text (words,)."""

    text: Ints
    start: Ints
    end: Ints


def words_of(contents: Sequence[str]) -> Words:
    """Whitespace words of texts, with their bytes."""
    joined = "\n".join(contents)
    points = np.frombuffer(joined.encode("utf-32-le"), np.uint32)
    widths = 1 + (points >= 0x80).astype(np.int64) + (points >= 0x800) + (points >= 0x10000)
    places = np.concatenate([[0], np.cumsum(widths)])
    inside = np.concatenate([[False], ~np.isin(points, SPACES), [False]])
    starts = places[np.flatnonzero(inside[1:] & ~inside[:-1])]
    ends = places[np.flatnonzero(inside[:-1] & ~inside[1:])]
    sizes = np.array([len(text.encode()) + 1 for text in contents], np.int64)
    begins = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if len(sizes) else np.empty(0, np.int64)
    text = np.searchsorted(begins, starts, side="right") - 1
    return Words(text, starts - begins[text], ends - begins[text])


def tokens_of(cuts: Sequence[Segmentation], words: Words) -> Tokens:
    """Tokens of segmented texts; a token belongs to the first word that it holds a byte of."""
    counts = np.array([len(cut) for cut in cuts], np.int64)
    text = np.repeat(np.arange(len(cuts)), counts)
    position = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    empty = np.empty(0, np.int64)
    start = np.concatenate([empty, *(cut.starts for cut in cuts)])
    end = np.concatenate([empty, *(cut.ends for cut in cuts)])
    ids = np.concatenate([empty, *(cut.ids for cut in cuts if cut.ids is not None)])
    # Texts laid end to end with a byte between, so that one search serves them all.
    sizes = np.array([len(cut.text) + 1 for cut in cuts], np.int64)
    begins = np.cumsum(sizes) - sizes
    lows, highs = start + begins[text], end + begins[text]
    if not len(words.text):
        return Tokens(ids, text, position, start, end, np.full(len(ids), -1))
    word = np.searchsorted(words.end + begins[words.text], lows, side="right")
    near = np.minimum(word, len(words.text) - 1)
    inside = (word < len(words.text)) & ((words.start + begins[words.text])[near] < highs)
    return Tokens(ids, text, position, start, end, np.where(inside, near, -1))


def token_units(tokens: Tokens, words: Words, pieces: Sequence[bytes], texts: int) -> pl.DataFrame:
    """A row a token, without its window."""
    base = np.searchsorted(words.text, np.arange(texts))
    known = tokens.word >= 0
    word = pl.Series(np.where(known, tokens.word - base[tokens.text], 0)).set(pl.Series(~known), None)
    columns = {
        "text": tokens.text,
        "position": tokens.position,
        "start": tokens.start,
        "end": tokens.end,
        "token_id": tokens.ids,
        "piece": [pieces[token] for token in tokens.ids.tolist()],
        "word": word,
        "pieces": np.ones(len(tokens.ids), np.int64),
    }
    return pl.DataFrame(columns, schema={key: UNITS[key] for key in columns}, strict=False)


def word_units(tokens: Tokens, words: Words, contents: list[str]) -> pl.DataFrame:
    """A row a word that has a token, without its window."""
    base = np.searchsorted(words.text, np.arange(len(contents)))
    inside = np.flatnonzero(tokens.word >= 0)
    heads = inside[np.diff(tokens.word[inside], prepend=-1) > 0]
    word = tokens.word[heads]
    count = np.bincount(tokens.word[inside], minlength=len(words.text))[word]
    data = [content.encode() for content in contents]
    spans = zip(words.text[word].tolist(), words.start[word].tolist(), words.end[word].tolist(), strict=True)
    columns = {
        "text": words.text[word],
        "position": tokens.position[heads],
        "start": words.start[word],
        "end": words.end[word],
        "token_id": pl.Series(tokens.ids[heads]).set(pl.Series(count > 1), None),
        "piece": [data[text][low:high] for text, low, high in spans],
        "word": word - base[words.text[word]],
        "pieces": count,
    }
    return pl.DataFrame(columns, schema={key: UNITS[key] for key in columns}, strict=False)
