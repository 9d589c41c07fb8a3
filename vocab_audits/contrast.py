"""Measures of trained tokenizers side by side: cost, cuts, census, and how far two are apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.spatial.distance import jensenshannon

from vocab_audits.boundaries import Compared, scored
from vocab_audits.censuses import census, classes
from vocab_audits.frequencies import efficiency, entropy
from vocab_audits.unitclasses import classified
from workbench.counting import WORD
from workbench.cutting import cut_words, spelled
from workbench.languages import has_word_spaces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from workbench.corpora import Batch
    from workbench.lexicon import MorphLexicon
    from workbench.tokenizer import Tokenizer

COUNTS = ("documents", "bytes", "words", "tokens", "types", "unknown_tokens")
FIGURES = ("bytes_per_token", "fertility", "entropy", "renyi_observed", "renyi_declared", "round_trip",
           "uncovered")  # fmt: skip
COSTS = pl.Schema(
    {
        "subject": pl.String(),
        "part": pl.String(),
        **dict.fromkeys(COUNTS, pl.Int64()),
        **dict.fromkeys(FIGURES, pl.Float64()),
    }
)


def cost(
    tokenizer: Tokenizer, batches: Sequence[Batch], part: str, alpha: float
) -> tuple[dict[str, Any], NDArray[np.int64]]:
    """Cost and evenness of a text.

    Args:
        tokenizer: the tokenizer.
        batches: the text.
        part: its name.
        alpha: order of the Rényi efficiency.

    Returns:
        A row of ``COSTS``, null where the text has nothing of the kind: ``round_trip`` is the share of the
        documents whose pieces join to the text, ``uncovered`` the share of all bytes that no token covers.
        And the occurrences of each id (ids,).
    """
    counts = np.zeros(tokenizer.inventory.rows_needed, np.int64)
    size = words = worded = exact = lost = documents = 0
    for batch in batches:
        encoded, data = tokenizer.encode_batch(batch.texts), [text.encode() for text in batch.texts]
        counts += np.bincount(encoded.ids, minlength=len(counts))
        documents, size = documents + len(data), size + sum(map(len, data))
        joins = spelled(tokenizer, encoded, data)
        exact += int(joins.sum())
        rest = [text for text, good in zip(batch.texts, joins, strict=True) if not good]
        holes = [segmentation.uncovered for segmentation in tokenizer.segment_batch(rest)] if rest else []
        lost += sum(int((each[:, 1] - each[:, 0]).sum()) for each in holes)
        if has_word_spaces(batch.language):
            words += int(pl.Series(batch.texts, dtype=pl.String).str.count_matches(WORD).sum())
            worded += len(encoded.ids)
    tokens, types = int(counts.sum()), int((counts > 0).sum())
    row = {
        "subject": tokenizer.name,
        "part": part,
        "documents": documents,
        "bytes": size,
        "words": words,
        "tokens": tokens,
        "types": types,
        "unknown_tokens": int(counts[sorted(tokenizer.unknown)].sum()),
        "bytes_per_token": size / tokens if tokens else None,
        "fertility": worded / words if words else None,
        "entropy": entropy(counts),
        "renyi_observed": efficiency(counts, alpha, types),
        "renyi_declared": efficiency(counts, alpha, len(tokenizer.inventory)),
        "round_trip": exact / documents if documents else None,
        "uncovered": lost / size if size else None,
    }
    return row, counts


def cuts(tokenizer: Tokenizer, lexicon: MorphLexicon) -> pl.DataFrame:
    """Precision, recall and F1 of the cuts inside the lexicon's words, summed over words (micro).

    Returns:
        subject, language (null for the whole), words (without an unknown token), gold, predicted, hits,
        precision, recall, f1. Words stand after a space, or as the tokenizer itself sets one before them.
    """
    words = lexicon.frame["word"].to_list()
    before = "" if tokenizer.pipeline.prefix_space else " "
    compared = Compared(words, lexicon.boundaries, cut_words(tokenizer, words, before))
    table = pl.DataFrame(
        {
            "language": lexicon.frame["language"],
            "words": compared.scored.astype(np.int64),
            "gold": compared.gold.counts * compared.scored,
            "predicted": compared.predicted * compared.scored,
            "hits": compared.hits * compared.scored,
        }
    )
    numbers = pl.col("words", "gold", "predicted", "hits").sum()
    whole = table.select(pl.lit(None, pl.String).alias("language"), numbers)
    parts = table.group_by("language", maintain_order=True).agg(numbers)
    return scored(pl.concat([whole, parts]).select(pl.lit(tokenizer.name).alias("subject"), pl.all()))


def shares(tokenizer: Tokenizer, lexicon: MorphLexicon, tokens: NDArray[np.int64]) -> pl.DataFrame:
    """The census: subject and the columns of ``censuses.census``."""
    known = classified(tokenizer.inventory, lexicon)
    return census(classes(known), known, tokens).select(pl.lit(tokenizer.name).alias("subject"), pl.all())


def between(one: tuple[Tokenizer, pl.DataFrame], two: tuple[Tokenizer, pl.DataFrame]) -> dict[str, Any]:
    """How far two tokenizers are apart.

    Args:
        one: a tokenizer with its census.
        two: another.

    Returns:
        first, second, shared (distinct byte strings that both have), jaccard, and the Jensen–Shannon
        distances of their censuses, of entries and of tokens: the square root of the divergence to base 2,
        so 0 for equal shares and 1 for shares without a class in common.
    """
    first, second = (
        set(each.inventory.frame.filter(pl.col("kind") == "piece")["bytes"]) for each, _ in (one, two)
    )
    shared = len(first & second)
    return {
        "first": one[0].name,
        "second": two[0].name,
        "shared": shared,
        "jaccard": shared / len(first | second),
        "distance_entries": distance(one[1]["share"], two[1]["share"]),
        "distance_tokens": distance(one[1]["token_share"], two[1]["token_share"]),
    }


def distance(one: pl.Series, two: pl.Series) -> float | None:
    """Jensen–Shannon distance to base 2 of two distributions; None where one is empty (Lin 1991)."""
    if one.null_count() or two.null_count():
        return None
    found = float(jensenshannon(one.to_numpy(), two.to_numpy(), base=2))
    return 0.0 if np.isnan(found) else found  # rounding may take it below 0 under the root
