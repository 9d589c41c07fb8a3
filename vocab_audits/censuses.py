"""The census of a trained vocabulary: every entry has one class, and single letters have one of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from vocab_audits.substrings import CLASSES
from vocab_audits.unitclasses import ALL, cells_of
from vocab_audits.unitnull import null
from workbench.characters import decoded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vocab_audits.unitclasses import Classified

PARTS = ("letter", *ALL)
"""All classes; ``letter`` is a single letter, with a space before it or without."""

WORDS = ("root", "inflected_word", "derived_word", "compound", "word", "name")
"""Classes that are whole words, or may be."""

LETTER = r"^\s?\p{L}\p{M}*$"


def classes(known: Classified) -> pl.DataFrame:
    """The entries in the order of their ids, with their class of ``PARTS``."""
    table = known.table.sort("token_id")
    letter = decoded(table["bytes"]).str.contains(LETTER).fill_null(value=False)
    named = pl.when(letter).then(pl.lit("letter")).otherwise(pl.col("class").cast(pl.String))
    return table.with_columns(named.cast(pl.Enum(PARTS)).alias("class"))


def census(table: pl.DataFrame, known: Classified, tokens: NDArray[np.int64]) -> pl.DataFrame:
    """Entries and tokens of each class.

    Args:
        table: entries to count, as ``classes`` gives them.
        known: what they were classified from.
        tokens: occurrences of each id in a text (ids,).

    Returns:
        class, entries, share (of entries), spaced (entries of the class that begin with a space), tokens,
        token_share, expected (entries of the class among random substrings of the lexicon's words, as long,
        placed and frequent there; letters are left out), ratio (of entries to those), z.
    """
    here = table["class"].to_physical().cast(pl.Int64).to_numpy()
    space, ids = table["space"].to_numpy(), table["token_id"].to_numpy()
    random = null(cells_of(table.filter(pl.col("class") != "letter")), known.cells, 0, 0)
    counted = pl.DataFrame(
        {
            "class": pl.Series(PARTS, dtype=pl.Enum(PARTS)),
            "entries": np.bincount(here, minlength=len(PARTS)),
            "spaced": np.bincount(here[space], minlength=len(PARTS)),
            "tokens": np.bincount(here, tokens[ids], minlength=len(PARTS)).astype(np.int64),
        }
    )
    beside = pl.DataFrame(
        {
            "class": pl.Series(CLASSES, dtype=pl.Enum(PARTS)),
            "expected": random.mean,
            "deviation": random.deviation,
        }
    )
    entries, expected = pl.col("entries"), pl.col("expected")
    deviation = pl.when(pl.col("deviation") > 1e-9).then("deviation")
    return counted.join(beside, on="class", how="left", maintain_order="left").select(
        "class",
        "entries",
        (entries / pl.when(entries.sum() > 0).then(entries.sum())).alias("share"),
        "spaced",
        "tokens",
        (pl.col("tokens") / pl.when(pl.col("tokens").sum() > 0).then(pl.col("tokens").sum())).alias(
            "token_share"
        ),
        "expected",
        (entries / pl.when(expected > 0).then(expected)).alias("ratio"),
        ((entries - expected) / deviation).alias("z"),
    )
