"""Words met one by one: how many tokens each takes, and what of it the inventory cannot spell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from workbench.languages import has_word_spaces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.inventory import Inventory
    from workbench.tokenizer import Encoded, Tokenizer

CHUNK = 1 << 16
"""Words encoded at a time, which bounds memory."""

LENGTHS = pl.Schema(
    {"word": pl.String(), "bare": pl.Int64(), "after_space": pl.Int64(), "suspect": pl.Boolean()}
)


def spaced(languages: pl.Series) -> pl.Series:
    """Whether each language puts spaces between words."""
    known = {language: has_word_spaces(language) for language in languages.unique().to_list()}
    return languages.replace_strict(known, return_dtype=pl.Boolean).alias("spaced")


def lengths(tokenizer: Tokenizer, words: pl.Series) -> pl.DataFrame:
    """Tokens of each distinct word alone.

    Returns:
        Columns word, bare (tokens of the word as it is), after_space (with a space before it) and suspect
        (the inventory may be unable to spell it, see ``unspelled``). A tokenizer that itself puts a space
        before every text never sees a bare word, so bare is null there.
    """
    distinct = words.unique(maintain_order=True)
    parts = [LENGTHS.to_frame()]
    for start in range(0, len(distinct), CHUNK):
        some = distinct.slice(start, CHUNK)
        encoded = tokenizer.encode_batch(some.to_list())
        sizes = np.diff(encoded.offsets)
        columns = {"word": some, "suspect": _suspect(tokenizer, some, encoded)}
        if tokenizer.pipeline.prefix_space:
            columns |= {"bare": None, "after_space": sizes}
        else:
            after = tokenizer.encode_batch((" " + some).to_list())
            columns |= {"bare": sizes, "after_space": np.diff(after.offsets)}
        parts.append(pl.DataFrame(columns, schema_overrides=LENGTHS).select(LENGTHS.names()))
    return pl.concat(parts)


def _suspect(tokenizer: Tokenizer, words: pl.Series, encoded: Encoded) -> NDArray[np.bool_]:
    """Whether a word has an unknown token or, where there is no such token, more bytes than its tokens."""
    if tokenizer.unknown:
        return _row_sums(np.isin(encoded.ids, sorted(tokenizer.unknown)), encoded.offsets) > 0
    held = _row_sums(tokenizer.inventory.lengths[encoded.ids], encoded.offsets)
    return held < words.str.len_bytes().to_numpy()


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
    """Characters of distinct words that stand under an unknown token, or under none where there is no such.

    Returns:
        Columns word and lost (number of characters).
    """
    lost = []
    for segmentation in tokenizer.segment_batch(words.to_list()):
        if tokenizer.unknown:
            pairs = list(zip(segmentation.starts.tolist(), segmentation.ends.tolist(), strict=True))
            spans = [pairs[index] for index in segmentation.unknown]
        else:
            spans = segmentation.uncovered.tolist()
        lost.append(sum(_characters(segmentation.text[low:high]) for low, high in spans))
    return pl.DataFrame({"word": words, "lost": pl.Series(lost, dtype=pl.Int64)})


def _row_sums(
    values: NDArray[np.integer] | NDArray[np.bool_], offsets: NDArray[np.int64]
) -> NDArray[np.int64]:
    total = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    found: NDArray[np.int64] = total[offsets[1:]] - total[offsets[:-1]]
    return found


def _characters(data: bytes) -> int:
    """Characters that begin in these bytes."""
    return sum((byte & 0xC0) != 0x80 for byte in data)
