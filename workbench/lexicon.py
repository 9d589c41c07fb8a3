"""Morph lexicons: words with the places where a linguist parts them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from workbench.errors import SutureError
from workbench.ranges import ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ROLES = ("prefix", "root", "suffix", "infix", "circumfix", "link", "clitic")
"""What a morph is in its word; ``link`` is a linking element of a compound. Null where it is not known."""

HOW = ("concatenative", "aligned")
"""``concatenative``: the source's own segments join to the word. ``aligned``: they are underlying forms, and
their places on the surface were found by an unambiguous alignment."""

SCHEMA = pl.Schema(
    {
        "language": pl.String(),
        "word": pl.String(),
        "morphs": pl.List(pl.String()),
        "roles": pl.List(pl.Enum(ROLES)),
        "how": pl.Enum(HOW),
        "process": pl.String(),
        "lemma": pl.String(),
        "features": pl.String(),
        "pos": pl.String(),
        "frequency": pl.Float64(),
    }
)
"""One row an entry. ``morphs`` join to ``word``; ``roles`` has one role a morph, or is null. ``process`` is
``inflection``, ``derivation``, ``compound`` or several joined by ``+``, and null for a word of one morph or
where it is not known. ``features`` are the source's own (UniMorph or Universal Dependencies);
``pos`` is a Universal Dependencies tag; ``frequency`` is occurrences or a share, as the source gives it."""

REASONS = ("malformed", "empty_part", "duplicate", "not_concatenative", "ambiguous", "noise", "unanalysed")
"""Why a row was left out: not of the format; a part of no characters; a second row of the same word and
segmentation; parts that do not make up the surface; more than one place for a cut; no word (digits,
punctuation, a space inside); nothing is said of its morphs, by the source or for want of a lemma."""

LEDGER = pl.Schema(
    {
        "language": pl.String(),
        "reason": pl.Enum(REASONS),
        "rows": pl.Int64(),
        "first_line": pl.Int64(),
        "example": pl.String(),
    }
)


@dataclass(frozen=True, eq=False)
class MorphLexicon:
    """Words and their surface morphs.

    Attributes:
        name: short name.
        source: what was asked for, as a user would type it.
        frame: the entries, with the columns of ``SCHEMA``.
        ledger: what was left out and why, with the columns of ``LEDGER``: the number of rows, the line of
            the first and its text.
        digest: SHA-256 of the source's bytes, or of the entries where they were made.
        licence: licence of the source, or None where it does not say.
        notes: what a reader of its figures should know, such as its measured quality.

    Raises:
        SutureError: the columns are others, or the morphs of a row do not join to its word.
    """

    name: str
    source: str
    frame: pl.DataFrame = field(repr=False)
    ledger: pl.DataFrame = field(repr=False, default_factory=LEDGER.to_frame)
    digest: str | None = None
    licence: str | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.frame.schema != SCHEMA or self.ledger.schema != LEDGER:
            raise SutureError(
                f"a lexicon must have the columns {', '.join(SCHEMA)} and a ledger with {', '.join(LEDGER)}; "
                f"got {dict(self.frame.schema)} and {dict(self.ledger.schema)}; build it with lexicon.SCHEMA"
            )
        morphs, roles = pl.col("morphs"), pl.col("roles")
        bad = self.frame.filter(
            (morphs.list.join("") != pl.col("word"))
            | (morphs.list.eval(pl.element().str.len_bytes()).list.min() == 0)
            | (morphs.list.len() == 0)
            | (roles.list.len() != morphs.list.len())
        )
        if bad.height:
            word, parts = bad.row(0, named=True)["word"], bad.row(0, named=True)["morphs"]
            raise SutureError(
                f"the morphs of an entry must be non-empty and join to its word, with one role each; got "
                f"{parts} for {word!r}; count such a row in the ledger instead"
            )

    def __len__(self) -> int:
        return self.frame.height

    @property
    def languages(self) -> list[str]:
        """Languages in the order of their first entry; ``und`` where none is given."""
        found: list[str] = self.frame["language"].unique(maintain_order=True).to_list()
        return found

    @cached_property
    def boundaries(self) -> Bounds:
        """Boundaries between morphs of every entry."""
        return bounds(self.frame["morphs"])

    def of(self, *languages: str) -> MorphLexicon:
        """The entries of some languages."""
        return self.kept(self.frame.filter(pl.col("language").is_in(languages)))

    def kept(self, frame: pl.DataFrame) -> MorphLexicon:
        """The same lexicon with a part of its entries; the ledger stays whole."""
        return replace(self, frame=frame)

    def card(self) -> dict[str, object]:
        """What identifies it, ready for JSON."""
        left = dict(self.ledger.group_by("reason").agg(pl.col("rows").sum()).iter_rows())
        return {
            "name": self.name,
            "source": self.source,
            "digest": self.digest,
            "licence": self.licence,
            "entries": len(self),
            "languages": self.languages,
            "left_out": {reason: left[reason] for reason in REASONS if reason in left},
            "notes": list(self.notes),
        }


@dataclass(frozen=True, eq=False)
class Bounds:
    """Inner boundaries of many words, end to end, in bytes.

    Attributes:
        places: byte offsets within each word, rising (boundaries,).
        offsets: word i has ``places[offsets[i]:offsets[i + 1]]`` (words + 1,).
        sizes: bytes of each word (words,).
    """

    places: NDArray[np.int64]
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Boundaries of each word (words,)."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The word of each boundary (boundaries,)."""
        return np.repeat(np.arange(len(self)), self.counts)

    @property
    def keys(self) -> NDArray[np.int64]:
        """A number of its own for each byte offset of each word, to compare sets of boundaries."""
        starts = np.concatenate([[0], np.cumsum(self.sizes + 1)[:-1]]) if len(self) else self.sizes
        keys: NDArray[np.int64] = starts[self.rows] + self.places
        return keys

    def row(self, index: int) -> NDArray[np.int64]:
        """Boundaries of one word."""
        return self.places[self.offsets[index] : self.offsets[index + 1]]

    def pick(self, rows: NDArray[np.int64]) -> Bounds:
        """Boundaries of some of the words, in the given order."""
        counts = self.counts[rows]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        return Bounds(self.places[ranges(self.offsets[:-1][rows], counts)], offsets, self.sizes[rows])


def bounds(morphs: pl.Series) -> Bounds:
    """Boundaries between the parts of each word.

    Args:
        morphs: a list of text parts a word.
    """
    counts = morphs.list.len().to_numpy().astype(np.int64)
    lengths = morphs.explode().str.len_bytes().fill_null(0).to_numpy().astype(np.int64)
    ends = np.cumsum(lengths)
    last = np.cumsum(counts) - 1
    sizes = np.diff(np.concatenate([[0], ends[last]])) if len(counts) else counts
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if len(counts) else counts
    inner = np.ones(len(ends), bool)
    inner[last] = False
    places = (ends - np.repeat(starts, counts))[inner]
    return Bounds(places, np.concatenate([[0], np.cumsum(counts - 1)]), sizes)


def ledger(rows: Sequence[tuple[str, str, int, int | None, str | None]]) -> pl.DataFrame:
    """A ledger from rows of language, reason, number of rows, first line and its text."""
    return pl.DataFrame(list(rows), schema=LEDGER, orient="row")
