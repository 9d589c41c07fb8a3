"""From raw cells to terms: what can be sought is kept, what cannot is counted with its line."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from workbench.languages import UNKNOWN
from workbench.termlists import folding
from workbench.termlists.naming import LABELS, LEVELS
from workbench.termlists.terms import (
    LEDGER,
    LISTS,
    LONGEST,
    PATTERNS,
    REASONS,
    SEVERITIES,
    TERMS,
    TermLists,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

RAW = pl.Schema(
    {
        "line": pl.Int64(),
        "term": pl.String(),
        "category": pl.String(),
        "group": pl.String(),
        "language": pl.String(),
        "severity": pl.String(),
        "twin": pl.String(),
        "mode": pl.String(),
        "left": pl.String(),
    }
)
"""Cells as they stand in a file; ``left`` says why the row cannot be read, null where it can."""

DEFAULTS = {"category": "profanity", "language": UNKNOWN, "severity": "moderate"}
"""What a list is taken to hold where neither row, name nor spec says."""

_BOUNDS = (1.7, 2.45)
"""Above these a rating of 1 to 3 is moderate, and strong."""


class About(NamedTuple):
    """Where a list comes from."""

    name: str
    source: str
    licence: str | None
    digest: str


def built(raw: pl.DataFrame, about: About, defaults: Mapping[str, str | None]) -> TermLists:
    """Terms of one list.

    Args:
        raw: its cells, columns as in ``RAW``.
        about: where it comes from.
        defaults: category, group, language and severity where a row names none.
    """
    marked = _keyed(_labelled(raw, {**DEFAULTS, **{k: v for k, v in defaults.items() if v}}))
    kept = marked.filter(pl.col("reason").is_null())
    first = kept.select(pl.struct("key", "category", "group", "language").is_first_distinct()).to_series()
    terms = kept.filter(first).with_columns(list=pl.lit(about.name))
    again = kept.filter(~first).with_columns(reason=pl.lit("duplicate"))
    left = pl.concat([marked.filter(pl.col("reason").is_not_null()), again])
    ledger = _counted(left, about.name)
    row = (*about, terms.height, int(ledger["rows"].sum()))
    return TermLists(
        terms.select([pl.col(name).cast(kind) for name, kind in TERMS.items()]),
        PATTERNS.to_frame(),
        pl.DataFrame([row], LISTS, orient="row"),
        ledger,
    )


def _labelled(raw: pl.DataFrame, defaults: Mapping[str, str]) -> pl.DataFrame:
    """Categories, groups and severities by our names; null where a label means nothing to us."""
    label = pl.col("category").str.strip_chars().str.to_lowercase().replace("", None)
    level = pl.col("severity").str.strip_chars().str.to_lowercase().replace("", None)
    ours = label.replace_strict(LABELS, default=None)
    rated = level.cast(pl.Float64, strict=False)
    band = (
        pl.when(rated.is_between(0, 3))
        .then(
            pl.when(rated < _BOUNDS[0]).then(pl.lit(SEVERITIES[0]))
            .when(rated < _BOUNDS[1]).then(pl.lit(SEVERITIES[1])).otherwise(pl.lit(SEVERITIES[2]))
        )
    )  # fmt: skip
    of_category = ours.str.split("/").list
    own = pl.col("group").str.strip_chars().replace("", None)
    return raw.with_columns(
        category=pl.when(label.is_null()).then(pl.lit(defaults["category"])).otherwise(of_category.get(0)),
        group=pl.coalesce(own, of_category.get(1, null_on_oob=True), pl.lit(defaults.get("group"))),
        severity=pl.when(level.is_null()).then(pl.lit(defaults["severity"]))
        .otherwise(pl.coalesce(level.replace_strict(LEVELS, default=None), band)),
        language=pl.coalesce(
            pl.col("language").str.strip_chars().str.to_lowercase().replace("", None),
            pl.lit(defaults["language"]),
        ),
        twin=pl.col("twin").str.strip_chars().replace("", None),
        mode=pl.col("mode").fill_null("word"),
    )  # fmt: skip


def _keyed(table: pl.DataFrame) -> pl.DataFrame:
    """Each row with its key, and the reason why it cannot be sought, if one."""
    long = pl.col("term").str.len_chars() > LONGEST
    table = table.with_columns(
        term=pl.when(long).then(None).otherwise(pl.col("term").str.strip_chars()),
        long=long.fill_null(value=False),
    )
    key = folding.keys(table["term"]).str.replace_all(r"\s+", " ").str.strip_chars()
    table = table.with_columns(key)
    letters = pl.col("key").str.count_matches(r"\p{L}")
    ideographs = pl.col("key").str.contains(r"\p{Han}|\p{Extended_Pictographic}")
    odd = pl.col("term").str.contains(r"[\p{Cc}\x{FFFD}]")
    reason = (
        pl.when(pl.col("left").is_not_null()).then("left")
        .when("long").then(pl.lit("too_long"))
        .when(pl.col("term").is_null() | (pl.col("key") == "") | odd).then(pl.lit("malformed"))
        .when((letters == 0) & ~pl.col("key").str.contains(r"\p{Extended_Pictographic}[^\d]*$"))
        .then(pl.lit("no_letter"))
        .when((pl.col("key").str.len_chars() < 2) & ~ideographs).then(pl.lit("too_short"))
        .when(pl.col("category").is_null()).then(pl.lit("unknown_category"))
        .when(pl.col("severity").is_null()).then(pl.lit("unknown_severity"))
    )  # fmt: skip
    return table.with_columns(reason=reason)


def _counted(left: pl.DataFrame, name: str) -> pl.DataFrame:
    order = pl.col("reason").cast(pl.Enum(REASONS))
    found = left.group_by("reason").agg(
        rows=pl.len().cast(pl.Int64), first_line=pl.col("line").min()
    ).with_columns(order, list=pl.lit(name)).sort("reason")  # fmt: skip
    return found.select([pl.col(column).cast(kind) for column, kind in LEDGER.items()])
