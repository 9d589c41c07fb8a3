"""Boundary scores by what words are: role, part of speech, features, frequency, length, process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from vocab_audits.boundaries import scored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from vocab_audits.boundaries import Compared

GROUPS = pl.Schema(
    {
        "group": pl.String(),
        "value": pl.String(),
        "words": pl.Int64(),
        "gold": pl.Int64(),
        "predicted": pl.Int64(),
        "hits": pl.Int64(),
        "precision": pl.Float64(),
        "recall": pl.Float64(),
        "f1": pl.Float64(),
        "integrity": pl.Float64(),
        "kept_whole": pl.Float64(),
    }
)
BANDS = 5
"""Bands of frequency, of equal numbers of words; those of frequency 0 are apart."""

LENGTHS = (4, 6, 8, 10, 13)
"""Greatest length, in characters, of each band of length but the last."""

FEATURES = r"[;|]"
"""What parts features: UniMorph's semicolon, Universal Dependencies' bar."""


def groups(compared: Compared, frame: pl.DataFrame, frequency: NDArray[np.float64] | None) -> pl.DataFrame:
    """Precision, recall, F1, morph integrity and share kept whole by group, with the columns of ``GROUPS``.

    By the role of the morph beside a boundary there is only recall: a cut without a gold boundary stands
    beside no morph of a role.

    Args:
        compared: gold and predicted boundaries of the same words.
        frame: their entries in the lexicon.
        frequency: frequency of each word, NaN where it is not known (words,); None without any.
    """
    if not frame.height:
        return GROUPS.to_frame()
    counts = pl.DataFrame(
        {
            "gold": compared.gold.counts,
            "predicted": compared.predicted,
            "hits": compared.hits,
            "whole": compared.cuts.whole,
            "scored": compared.scored,
            "held": compared.overlaps.held(frame.height),
        }
    )
    parts = [
        _scores(counts.with_columns(label.alias("value")), name) for name, label in _labels(frame, frequency)
    ]
    parts.append(_by_feature(counts, frame))
    parts.append(_by_role(compared, frame))
    return pl.concat([GROUPS.to_frame(), *parts])


def _labels(frame: pl.DataFrame, frequency: NDArray[np.float64] | None) -> Iterator[tuple[str, pl.Series]]:
    yield "process", frame["process"]
    yield "how", frame["how"].cast(pl.String)
    yield "part of speech", frame["pos"]
    yield "morphs", frame["morphs"].list.len().cast(pl.String)
    bands = np.array([*(f"up to {most}" for most in LENGTHS), f"over {LENGTHS[-1]}"])
    yield "characters", pl.Series(bands[np.searchsorted(LENGTHS, frame["word"].str.len_chars().to_numpy())])
    if frequency is not None:
        given = pl.Series(frequency).fill_nan(None)
        seen = pl.select(pl.when(given > 0).then(given)).to_series()  # others would fill bands in no order
        rank = seen.rank("ordinal", descending=True)
        band = ((rank - 1) * BANDS // max(rank.count(), 1) + 1).cast(pl.Int64).cast(pl.String)
        unseen = pl.when(given == 0).then(pl.lit("none listed"))
        yield "frequency", pl.select(pl.coalesce(pl.lit("fifth ") + band, unseen)).to_series()


def _scores(counts: pl.DataFrame, name: str) -> pl.DataFrame:
    sums = counts.filter(pl.col("scored") & pl.col("value").is_not_null()).group_by("value").agg(
        pl.len().alias("words"), pl.col("gold", "predicted", "hits").sum(),
        integrity=pl.col("held").sum() / (pl.col("gold") + 1).sum(),
        kept_whole=pl.col("whole").mean(),
    )  # fmt: skip
    made = scored(sums.with_columns(pl.lit(name).alias("group")))
    return made.sort("value").select([pl.col(key).cast(kind) for key, kind in GROUPS.items()])


def _by_feature(counts: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    named = frame["features"].str.replace_all(FEATURES, ";").str.split(";").alias("value")
    return _scores(counts.with_columns(named).explode("value", empty_as_null=True), "feature")


def _by_role(compared: Compared, frame: pl.DataFrame) -> pl.DataFrame:
    """Recall of the boundaries beside a morph of each role; one between two roots is of both."""
    if not frame["roles"].count():
        return GROUPS.to_frame()
    roles = frame["roles"].fill_null([]).list.eval(pl.element().cast(pl.String)).to_list()
    names = []
    for found, count in zip(roles, compared.gold.counts.tolist(), strict=True):
        names += [_beside(found[at], found[at + 1]) if found else None for at in range(count)]
    hit = np.isin(compared.gold.keys, compared.cuts.bounds.keys, assume_unique=True)
    table = pl.DataFrame(
        {
            "value": names,
            "hits": hit,
            "row": compared.gold.rows,
            "scored": compared.scored[compared.gold.rows],
        },
        schema_overrides={"value": pl.String},
    )
    sums = table.filter(pl.col("scored") & pl.col("value").is_not_null()).group_by("value").agg(
        words=pl.col("row").n_unique(), gold=pl.len(), hits=pl.col("hits").sum(), recall=pl.col("hits").mean()
    )  # fmt: skip
    made = sums.with_columns(
        pl.lit("role").alias("group"),
        **{name: pl.lit(None) for name in ("predicted", "precision", "f1", "integrity", "kept_whole")},
    )
    return made.sort("value").select([pl.col(key).cast(kind) for key, kind in GROUPS.items()])


def _beside(left: str | None, right: str | None) -> str | None:
    """The role that a boundary is beside: of the two the one that is no root."""
    if left is None or right is None:
        return None
    if left == right == "root":
        return "root and root"
    return left if right == "root" else right
