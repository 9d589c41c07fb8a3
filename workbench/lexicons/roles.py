"""Which morph of an inflected word is its root, where the source does not say."""

from __future__ import annotations

import polars as pl

LONGEST = 24
"""Letters of a lemma that are compared; more would tell no more."""


def inflected_roles(frame: pl.DataFrame) -> pl.Series:
    """Roles of entries that have some, and of inflected words those that their lemma gives.

    The root is the morph that shares most letters with the lemma, counted from the start of both, case and
    diacritics aside: ``ge|sag|t`` of ``sagen`` has ``sag``, ``Häus|er`` of ``Haus`` has ``Häus``. It must
    share at least half of the lemma's letters and more than any other morph does; otherwise nothing is said.
    Morphs before the root are prefixes, morphs after it suffixes.

    Args:
        frame: entries with morphs, roles, process and lemma.
    """
    several = pl.col("morphs").list.len() > 1
    wanted = (pl.col("process") == "inflection") & pl.col("roles").is_null() & pl.col("lemma").is_not_null()
    chosen = frame.with_row_index("row").filter(several & wanted).select("row", "morphs", _folded("lemma"))
    if not chosen.height:
        return frame["roles"]
    places = pl.int_ranges(0, pl.col("morphs").list.len())
    flat = chosen.with_columns(at=places).explode("morphs", "at").with_columns(_folded("morphs"))
    flat = flat.with_columns(_shared(flat))
    most = pl.col("shared").max().over("row")
    flat = flat.with_columns(
        only=(pl.col("shared") == most).sum().over("row") == 1,
        root=pl.col("at").sort_by("shared", descending=True).first().over("row"),
        enough=2 * most >= pl.col("lemma").str.len_chars().clip(upper_bound=LONGEST),
    )
    role = (
        pl.when(~pl.col("only") | ~pl.col("enough")).then(None)
        .when(pl.col("at") < pl.col("root")).then(pl.lit("prefix"))
        .when(pl.col("at") == pl.col("root")).then(pl.lit("root"))
        .otherwise(pl.lit("suffix"))
    )  # fmt: skip
    made = flat.filter(pl.col("only") & pl.col("enough")).group_by("row", maintain_order=True).agg(guess=role)
    both = frame.with_row_index("row").select("row", "roles").join(made, "row", "left", maintain_order="left")
    return both.select(pl.coalesce("roles", "guess").alias("roles")).to_series()


def _folded(name: str) -> pl.Expr:
    plain = pl.col(name).str.to_lowercase().str.normalize("NFD").str.replace_all(r"\p{M}", "")
    return plain.alias(name)


def _shared(flat: pl.DataFrame) -> pl.Series:
    """Letters that each morph shares with its lemma from the start of both."""
    left = flat.select("morphs", "lemma").with_row_index("place")
    counts = pl.zeros(flat.height, pl.Int64, eager=True).to_numpy().copy()
    for letter in range(LONGEST):
        here = pl.col("morphs").str.slice(letter, 1)
        left = left.filter((here == pl.col("lemma").str.slice(letter, 1)) & (here != ""))
        if not left.height:
            break
        counts[left["place"].to_numpy()] += 1
    return pl.Series("shared", counts)
