"""Words met one by one: how many tokens each takes, and what of it the inventory cannot spell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from workbench.languages import has_word_spaces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.inventory import Inventory
    from workbench.tokenizer import Tokenizer

CHUNK = 1 << 16
"""Words encoded at a time, which bounds memory."""


def spaced(languages: pl.Series) -> pl.Series:
    """Whether each language puts spaces between words."""
    known = {language: has_word_spaces(language) for language in languages.unique().to_list()}
    return languages.replace_strict(known, return_dtype=pl.Boolean).alias("spaced")


def lengths(tokenizer: Tokenizer, words: pl.Series) -> pl.DataFrame:
    """Tokens of each distinct word alone.

    Returns:
        Columns word, bare (the word as it is) and after_space (with a space before it). A tokenizer that
        itself puts a space before every text never sees a bare word, so bare is null there.
    """
    distinct = words.unique(maintain_order=True)
    schema = pl.Schema({"word": pl.String(), "bare": pl.Int64(), "after_space": pl.Int64()})
    parts = [schema.to_frame()]
    for start in range(0, len(distinct), CHUNK):
        some = distinct.slice(start, CHUNK)
        own = tokenizer.pipeline.prefix_space
        after = _sizes(tokenizer, some if own else " " + some)
        bare = None if own else _sizes(tokenizer, some)
        parts.append(pl.DataFrame({"word": some, "bare": bare, "after_space": after}, schema))
    return pl.concat(parts)


def _sizes(tokenizer: Tokenizer, words: pl.Series) -> NDArray[np.int64]:
    return np.diff(tokenizer.encode_batch(words.to_list()).offsets)


def word_figures() -> list[pl.Expr]:
    """Figures of words in columns count, bare and after_space, each word weighted by its count.

    Tokens per word, and the shares of words of several tokens and of one; null where none was measured.
    """
    found = []
    for form in ("bare", "after_space"):
        tokens, weight = pl.col(form), pl.col("count") / pl.col("count").sum()
        for name, value in (("fertility", tokens), ("continued", tokens > 1), ("single", tokens == 1)):
            measured = pl.when(tokens.count() > 0).then((value * weight).sum())
            found.append(measured.alias(f"{name}_{form}"))
    return found


def spells_everything(inventory: Inventory) -> bool:
    """Whether every one of the 256 bytes is an entry, so that no text is beyond it."""
    single = inventory.frame.filter(
        pl.col("kind").is_in(["piece", "byte"]) & (pl.col("bytes").bin.size() == 1)
    )
    return single["bytes"].n_unique() == 256


def unspelled(tokenizer: Tokenizer, words: pl.Series) -> pl.DataFrame:
    """Characters of each distinct word that stand under an unknown token, or under none.

    Returns:
        Columns word and lost (number of characters), for words that lose any.
    """
    found: dict[str, int] = {}
    distinct = words.unique(maintain_order=True)
    for start in range(0, len(distinct), CHUNK):
        some = distinct.slice(start, CHUNK).to_list()
        suspects = _suspects(tokenizer, some)
        for word, segmentation in zip(suspects, tokenizer.segment_batch(suspects), strict=True):
            if tokenizer.unknown:
                pairs = zip(segmentation.starts.tolist(), segmentation.ends.tolist(), strict=True)
                spans = [span for index, span in enumerate(pairs) if index in segmentation.unknown]
            else:
                spans = segmentation.uncovered.tolist()
            lost = sum(_characters(segmentation.text[low:high]) for low, high in spans)
            if lost:
                found[word] = lost
    return pl.DataFrame(
        {"word": list(found), "lost": list(found.values())}, schema={"word": pl.String, "lost": pl.Int64}
    )


def _suspects(tokenizer: Tokenizer, words: list[str]) -> list[str]:
    """Words with an unknown token, or where there is no such token, words that the tokens don't fill."""
    encoded = tokenizer.encode_batch(words)
    if tokenizer.unknown:
        marks = np.isin(encoded.ids, sorted(tokenizer.unknown)).astype(np.int64)
        chosen = _row_sums(marks, encoded.offsets) > 0
    else:
        sizes = np.fromiter((len(word.encode()) for word in words), np.int64, len(words))
        held = _row_sums(tokenizer.inventory.lengths[encoded.ids], encoded.offsets)
        chosen = held != sizes
    return [words[index] for index in np.flatnonzero(chosen).tolist()]


def _row_sums(values: NDArray[np.integer], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    total = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    found: NDArray[np.int64] = total[offsets[1:]] - total[offsets[:-1]]
    return found


def _characters(data: bytes) -> int:
    """Characters that begin in these bytes."""
    return sum((byte & 0xC0) != 0x80 for byte in data)
