"""The larger tables of the alignment audit: words with both segmentations, and morphs with their splits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vocab_audits.boundaries import Compared

WORDS = pl.Schema(
    {
        "language": pl.String(),
        "form": pl.String(),
        "word": pl.String(),
        "morphs": pl.List(pl.String()),
        "pieces": pl.List(pl.String()),
        "hits": pl.Int64(),
        "missed": pl.Int64(),
        "false": pl.Int64(),
        "family": pl.String(),
        "sample": pl.Boolean(),
    }
)
SAMPLE = 40
"""Words of several morphs that every segmenter's table holds, evenly spread over the lexicon."""

MORPHS = pl.Schema(
    {
        "language": pl.String(),
        "form": pl.String(),
        "morph": pl.String(),
        "role": pl.String(),
        "occurrences": pl.Int64(),
        "intact": pl.Float64(),
        "splits": pl.Int64(),
        "majority": pl.Float64(),
    }
)


def families(frame: pl.DataFrame) -> tuple[pl.Series, str]:
    """What words belong together, and how that is known: by lemma, else by their longest morph."""
    if frame["lemma"].count():
        return frame["lemma"], "words of one lemma"
    return longest(frame["morphs"]), "words with one longest morph, for want of lemmas"


def longest(morphs: pl.Series) -> pl.Series:
    """The longest morph of each word, the first of several."""
    place = pl.element().str.len_chars().arg_max()
    at = morphs.list.eval(place).list.first()
    return (
        pl.DataFrame({"morphs": morphs, "at": at}).select(pl.col("morphs").list.get(pl.col("at"))).to_series()
    )


def words_table(compared: Compared, frame: pl.DataFrame, most: int) -> pl.DataFrame:
    """The words with most boundaries missed or added, and after them a sample that is the same for all.

    Words with an unknown token are in neither.
    """
    missed = compared.gold.counts - compared.hits
    false = compared.predicted - compared.hits
    family, _ = families(frame)
    wrong = np.where(compared.scored, missed + false, -1)
    several = np.flatnonzero(compared.gold.counts > 0)
    spread = np.unique(np.linspace(0, max(len(several) - 1, 0), min(SAMPLE, len(several))).astype(np.int64))
    sample = several[spread]
    worst = np.argsort(-wrong, kind="stable")[:most]
    worst, sample = worst[compared.scored[worst]], sample[compared.scored[sample]]
    order = np.concatenate([worst, np.setdiff1d(sample, worst)])
    pieces = compared.pieces
    return pl.DataFrame(
        {
            "word": frame["word"].gather(order),
            "morphs": frame["morphs"].gather(order),
            "pieces": pl.Series([[piece.decode() for piece in pieces[row]] for row in order.tolist()],
                                dtype=pl.List(pl.String)),
            "hits": compared.hits[order],
            "missed": missed[order],
            "false": false[order],
            "family": family.gather(order),
            "sample": np.isin(order, sample),
        }
    )  # fmt: skip


def morphs_table(split: pl.DataFrame, frame: pl.DataFrame, scored: NDArray[np.bool_]) -> pl.DataFrame:
    """Morphs that recur, by how often: share intact, distinct splits, share of the commonest split.

    Args:
        split: a row a morph of every word, from ``consistency.splits``.
        frame: the words' entries.
        scored: words that count; in others a morph may lie whole in an unknown token (words,).
    """
    flat = frame.select(
        "morphs", pl.col("roles").fill_null(pl.col("morphs").list.eval(pl.lit(None, pl.String)))
    )
    roles = flat["roles"].list.eval(pl.element().cast(pl.String)).explode(empty_as_null=True)
    table = split.with_columns(roles.alias("role")).filter(pl.Series(scored[split["row"].to_numpy()]))
    counts = table.group_by("morph", "role", "split", maintain_order=True).agg(
        pl.len().alias("count"), pl.col("intact").sum()
    )
    found = counts.group_by("morph", "role", maintain_order=True).agg(
        occurrences=pl.col("count").sum(),
        intact=pl.col("intact").sum() / pl.col("count").sum(),
        splits=pl.len(),
        majority=pl.col("count").max() / pl.col("count").sum(),
    )
    recurring = found.filter(pl.col("occurrences") > 1)
    return recurring.sort("occurrences", "morph", "role", descending=[True, False, False], nulls_last=True)
