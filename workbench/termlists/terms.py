"""Terms that a vocabulary is searched for: what a list holds, and what of it was left out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Sequence

CATEGORIES = (
    "slur", "profanity", "sexual", "gambling_spam", "scam", "self_harm", "person_name", "place", "brand",
    "user_name", "url_code", "religion", "political",
)  # fmt: skip
"""What a term is; a slur's ``group`` says against whom."""

SEVERITIES = ("mild", "moderate", "strong")

MODES = ("word", "contains")
"""How a term is sought: as a whole word or fragment, or anywhere in an entry."""

TERMS = pl.Schema(
    {
        "term": pl.String(),
        "key": pl.String(),
        "category": pl.Enum(CATEGORIES),
        "group": pl.String(),
        "language": pl.String(),
        "severity": pl.Enum(SEVERITIES),
        "mode": pl.Enum(MODES),
        "twin": pl.String(),
        "list": pl.String(),
    }
)
"""``key`` is the term as ``folding.key`` has it, ``twin`` a neutral counterpart that the list names."""

PATTERNS = pl.Schema(
    {
        "pattern": pl.String(),
        "unless": pl.String(),
        "family": pl.String(),
        "category": pl.Enum(CATEGORIES),
        "language": pl.String(),
        "severity": pl.Enum(SEVERITIES),
        "list": pl.String(),
    }
)
"""Shapes of entries: regular expressions over an entry's text as it stands; ``unless`` excuses an entry."""

LISTS = pl.Schema(
    {
        "name": pl.String(),
        "source": pl.String(),
        "licence": pl.String(),
        "digest": pl.String(),
        "terms": pl.Int64(),
        "refused": pl.Int64(),
    }
)

REASONS = (
    "malformed", "not_utf8", "too_long", "too_short", "no_letter", "unknown_category", "unknown_severity",
    "duplicate",
)  # fmt: skip

LEDGER = pl.Schema(
    {
        "list": pl.String(),
        "reason": pl.Enum(REASONS),
        "rows": pl.Int64(),
        "first_line": pl.Int64(),
    }
)
"""What was left out of a list; the line is counted from 1, and the text stays out, since it may hurt."""

UNBOUND = ("zxx", "mul", "und")
"""Codes of terms without a language, of several, and of one that is not known."""

LONGEST = 200
"""Characters of the longest term that is taken."""


@dataclass(frozen=True, eq=False)
class TermLists:
    """Some term lists, taken together.

    Attributes:
        terms: one row a term, columns as in ``TERMS``.
        patterns: one row a shape, columns as in ``PATTERNS``.
        lists: one row a list, columns as in ``LISTS``.
        ledger: what was left out of which list, columns as in ``LEDGER``.
        missing: what was asked for with others and cannot be had, each with the way to supply it.
    """

    terms: pl.DataFrame
    patterns: pl.DataFrame
    lists: pl.DataFrame
    ledger: pl.DataFrame
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for table, schema in (
            (self.terms, TERMS), (self.patterns, PATTERNS), (self.lists, LISTS), (self.ledger, LEDGER)
        ):  # fmt: skip
            if table.schema != schema:
                raise SutureError(
                    f"a table of term lists must have the columns {', '.join(schema)}; got "
                    f"{', '.join(table.columns)}; build it with termlists.rows.built"
                )

    def __len__(self) -> int:
        """Number of terms and shapes."""
        return self.terms.height + self.patterns.height

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the lists' digests and what was read of them: equal for equal lists."""
        hasher = hashlib.sha256("\n".join(self.lists["digest"].to_list()).encode())
        for table in (self.terms, self.patterns):
            hasher.update(table.write_csv().encode())
        return hasher.hexdigest()

    def spoken(self, *languages: str) -> TermLists:
        """The same lists with the terms of some languages alone, and those that are of none or of several."""
        kept = pl.col("language").is_in([*languages, *UNBOUND])
        return replace(self, terms=self.terms.filter(kept), patterns=self.patterns.filter(kept))

    def counts(self) -> pl.DataFrame:
        """Terms and shapes of each list and category: list, category, terms, languages."""
        both = [table.select("list", "category", "language") for table in (self.terms, self.patterns)]
        return (
            pl.concat(both)
            .group_by("list", "category", maintain_order=True)
            .agg(terms=pl.len().cast(pl.Int64), languages=pl.col("language").unique().sort().str.join(" "))
            .sort("list", "category", maintain_order=True)
        )


def together(parts: Sequence[TermLists], missing: Sequence[str] = ()) -> TermLists:
    """Several as one; of equal terms of one list the first is kept.

    Raises:
        SutureError: two lists have one name.
    """
    lists = pl.concat([LISTS.to_frame(), *(part.lists for part in parts)])
    if twice := lists.filter(pl.col("name").is_duplicated())["name"].to_list():
        raise SutureError(
            f"each term list must have a name of its own; {twice[0]} comes twice; name each list once, or "
            "rename a file"
        )
    return TermLists(
        pl.concat([TERMS.to_frame(), *(part.terms for part in parts)]),
        pl.concat([PATTERNS.to_frame(), *(part.patterns for part in parts)]),
        lists,
        pl.concat([LEDGER.to_frame(), *(part.ledger for part in parts)]),
        tuple(dict.fromkeys([*(note for part in parts for note in part.missing), *missing])),
    )
