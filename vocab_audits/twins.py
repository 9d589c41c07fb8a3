"""Terms that are compared with one another: pairs of words, and names by group."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from workbench.errors import SutureError
from workbench.paths import bundle

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST = 200_000
"""Rows that a list may hold."""

LARGEST = 32 * 2**20
"""Bytes of the largest list that is read."""


class Terms(NamedTuple):
    """Two groups of terms of one language.

    Attributes:
        kind: ``gender``, ``spelling``, ``twins`` or ``names``.
        language: a language code.
        groups: names of the two groups; a difference is that of the second from the first.
        first: terms of the first group.
        second: terms of the second; where ``paired``, each the twin of the term in its place.
        paired: whether they are twins.
        weights: weight of each term, of both groups, where the list gives weights.
    """

    kind: str
    language: str
    groups: tuple[str, str]
    first: tuple[str, ...]
    second: tuple[str, ...]
    paired: bool = True
    weights: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    @property
    def label(self) -> str:
        """What is compared, in words."""
        return f"{self.kind}: {self.groups[1]} − {self.groups[0]}"


def embedded() -> list[Terms]:
    """Suture's own pairs, as the catalog lists them."""
    table = tomllib.loads((bundle("corpora") / "catalog.toml").read_text("utf-8"))["pairs"]
    found = []
    for row in table["files"]:
        path = bundle("corpora") / row["path"]
        lines = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
        first, second = zip(*lines[1:], strict=True)
        kind = path.stem.partition("-")[0]
        found.append(Terms(kind, row["language"], (lines[0][0], lines[0][1]), first, second))
    return found


def read_twins(path: str) -> list[Terms]:
    """Pairs of a user's list, a set a language.

    Args:
        path: a table with the columns term and twin, and if wanted language; the twin is the neutral one.

    Raises:
        SutureError: it cannot be read, or a row lacks a term.
    """
    table = _table(Path(path).expanduser(), ("term", "twin"), "a list of twins")
    if "language" not in table.columns:
        table = table.with_columns(language=pl.lit("und"))
    return [
        Terms("twins", str(language), ("twin", "term"), tuple(part["twin"]), tuple(part["term"]))
        for (language,), part in table.with_columns(pl.col("language").fill_null("und")).group_by(
            "language", maintain_order=True
        )
    ]


def read_names(path: str, language: str) -> list[Terms]:
    """Names of a user's list by group: each further group against the first that the list names.

    Args:
        path: a table with the columns name and group, and if wanted weight (such as the number of bearers).
        language: in whose texts the frequency of a name is looked up.

    Raises:
        SutureError: it cannot be read, has fewer than two groups, or a weight is no positive number.
    """
    file = Path(path).expanduser()
    table = _table(file, ("name", "group"), "a list of names").unique(["name", "group"], maintain_order=True)
    weighted = "weight" in table.columns
    if weighted:
        table = table.with_columns(pl.col("weight").cast(pl.Float64, strict=False))
        wrong = table.filter(~(pl.col("weight") > 0).fill_null(value=False) | ~pl.col("weight").is_finite())
        if wrong.height:
            raise SutureError(
                f"a weight must be a number above 0; {file} has {wrong.height:,} rows with another; "
                "correct them"
            )
    parts = table.partition_by("group", maintain_order=True)
    if len(parts) < 2:
        raise SutureError(f"a list of names must have two groups or more; {file} has one; add another")
    return [
        Terms(
            "names",
            language,
            (parts[0]["group"][0], part["group"][0]),
            tuple(parts[0]["name"]),
            tuple(part["name"]),
            paired=False,
            weights=(tuple(parts[0]["weight"]), tuple(part["weight"])) if weighted else None,
        )
        for part in parts[1:]
    ]


def _table(path: Path, columns: Sequence[str], what: str) -> pl.DataFrame:
    """A table of texts with commas or, where the first line has one, tabs between the columns."""
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= LARGEST else b""
    except OSError as error:
        raise SutureError(
            f"{what} must be a readable file; {path} is not ({error.strerror}); check it"
        ) from None
    if size > LARGEST:
        raise SutureError(
            f"{what} must be at most {LARGEST >> 20} MiB long; {path} has {size >> 20}; divide it"
        )
    data = data.removeprefix(b"\xef\xbb\xbf")
    separator = "\t" if b"\t" in data.partition(b"\n")[0] else ","
    try:
        data.decode()
        table = pl.read_csv(data, separator=separator, infer_schema=False)
    except (UnicodeDecodeError, pl.exceptions.PolarsError) as error:
        raise SutureError(
            f"{what} must be a table in UTF-8 with a head; {path} is not "
            f"({str(error).splitlines()[0][:80]}); save it again"
        ) from None
    missing = [name for name in columns if name not in table.columns]
    if missing or not 0 < table.height <= MOST:
        raise SutureError(
            f"{what} must have the columns {' and '.join(columns)} and 1 to {MOST:,} rows; {path} has "
            f"{', '.join(table.columns)[:80]} and {table.height:,} rows; correct it"
        )
    table = table.with_columns(pl.col(pl.String).str.strip_chars())
    empty = table.filter(pl.any_horizontal(pl.col(name).fill_null("") == "" for name in columns))
    if empty.height:
        raise SutureError(
            f"{what} must fill {' and '.join(columns)} in each row; {path} has {empty.height:,} rows that do "
            "not; fill or leave them out"
        )
    return table
