"""From the rows of a file to entries: what joins to its word is kept, what does not is aligned or counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from workbench import surface
from workbench.errors import UnreadableFile
from workbench.lexicon import LEDGER, REASONS, SCHEMA
from workbench.lexicons import conllu
from workbench.lexicons.files import read_blocks
from workbench.lexicons.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_COLUMNS = {
    "line": pl.Int64(),
    "language": pl.String(),
    "word": pl.String(),
    "parts": pl.List(pl.String()),
    "roles": pl.List(pl.String()),
    "process": pl.String(),
    "lemma": pl.String(),
    "features": pl.String(),
    "pos": pl.String(),
    "frequency": pl.Float64(),
    "ambiguous": pl.Boolean(),
}
_NOISE = r"[\s\d]|^[^\p{L}]*$"
"""No word: white space or a digit in it, or no letter."""


class Gathered(NamedTuple):
    """Entries of one file, what of it was left out, and its format."""

    frame: pl.DataFrame
    ledger: pl.DataFrame
    format: str


def gathered(path: Path, language: str, form: str | None) -> Gathered:
    """All entries of a file; of equal ones (language, word, cuts) the first is kept.

    Args:
        path: the file.
        language: its language, where a row names none.
        form: its format, or None to be told by the content.
    """
    if path.suffix == ".parquet":
        return _written(path)
    name = form or ""
    entries, left = [], []
    for table, told in _tables(path, form):
        name = told
        kept, dropped = _sorted_out(_filled(table, language))
        entries.append(kept)
        left.append(dropped)
    frame = pl.concat(entries) if entries else SCHEMA.to_frame().with_columns(line=pl.lit(0, pl.Int64))
    # An entry said twice is one entry; its line and the first stay, later ones are counted.
    first = frame.is_duplicated() if not frame.height else ~frame.select(
        pl.struct("language", "word", "morphs").is_first_distinct()
    ).to_series()  # fmt: skip
    twice = frame.filter(first)
    left.append(
        _counted(twice.select("language", "line", example=_example(twice), reason=pl.lit("duplicate")))
    )
    return Gathered(frame.filter(~first).select(SCHEMA.names()), _summed(left), name)


def _written(path: Path) -> Gathered:
    try:
        frame = pl.read_parquet(path)
        return Gathered(frame.select([pl.col(key).cast(kind) for key, kind in SCHEMA.items()]),
                        LEDGER.to_frame(), "parquet")  # fmt: skip
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UnreadableFile(
            f"a Parquet lexicon must be one that suture lexicon -o wrote; {path} is not ({str(error)[:100]})"
        ) from None


def _tables(path: Path, form: str | None) -> Iterator[tuple[pl.DataFrame, str]]:
    if form == "conllu" or (
        form is None and path.suffix not in (".csv", ".xlsx", ".gz") and conllu.looks_like(path)
    ):
        for table in conllu.rows_of(path):
            yield table, "conllu"
        return
    for block in read_blocks(path, form):
        columns = FORMATS[block.format].read(block.rows)
        yield block.rows.select("line", **columns), block.format


def _filled(table: pl.DataFrame, language: str) -> pl.DataFrame:
    """All columns, with the file's language where a row has none."""
    made = [
        (pl.col(name) if name in table.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in _COLUMNS.items()
    ]
    return table.select(made).with_columns(pl.col("language").fill_null(language))


def _sorted_out(table: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Entries with their lines, and the ledger of the other rows."""
    word, parts = pl.col("word"), pl.col("parts")
    empty = (parts.list.len() == 0) | (parts.list.eval(pl.element().str.len_bytes() == 0).list.any())
    reason = (
        pl.when(word.is_null() | (word == "")).then(pl.lit("malformed"))
        .when(word.str.contains(_NOISE)).then(pl.lit("noise"))
        .when(parts.is_null()).then(pl.lit("malformed"))
        .when(empty).then(pl.lit("empty_part"))
        .when(pl.col("ambiguous").fill_null(value=False)).then(pl.lit("ambiguous"))
    )  # fmt: skip
    marked = table.with_columns(reason=reason)
    sound = marked.filter(pl.col("reason").is_null())
    joined = sound["parts"].list.join("") == sound["word"]
    whole = sound.filter(joined).with_columns(morphs="parts", how=pl.lit("concatenative"))
    placed = _aligned(sound.filter(~joined))
    entries = pl.concat([whole.select(_KEPT), placed.filter(pl.col("reason").is_null()).select(_KEPT)])
    entries = entries.sort("line").with_columns(roles=_default_roles())
    lost = pl.concat([part.filter(pl.col("reason").is_not_null()).select(
        "language", "line", "reason", example=_example(part)) for part in (marked, placed)])  # fmt: skip
    final = [pl.col(name).cast(kind) for name, kind in SCHEMA.items()]
    return entries.select("line", *final), _counted(lost)


_KEPT = [
    "line",
    "language",
    "word",
    "morphs",
    "roles",
    "how",
    "process",
    "lemma",
    "features",
    "pos",
    "frequency",
]


def _aligned(table: pl.DataFrame) -> pl.DataFrame:
    """Rows whose parts are underlying forms, with surface morphs or the reason why there are none."""
    found = surface.place(table["word"].to_list(), table["parts"].to_list())
    status = pl.Series("how", [each.status for each in found], pl.String)
    roles = [
        None if each.morphs is None or given is None or len(given) <= max(each.kept, default=-1)
        else [given[index] for index in each.kept]
        for each, given in zip(found, table["roles"].to_list(), strict=True)
    ]  # fmt: skip
    return table.with_columns(
        pl.Series("morphs", [each.morphs for each in found], pl.List(pl.String)),
        pl.Series("roles", roles, pl.List(pl.String)),
        status,
        reason=pl.when(status.is_in(["ambiguous", "not_concatenative"])).then(status),
    )


def _default_roles() -> pl.Expr:
    """Roles of an inflected word where the source gives none.

    Of the morphs of an inflection the one that shares most with the lemma is the root: here the first where
    the word begins as its lemma does, and nothing is said otherwise.
    """
    starts = (
        pl.col("lemma").str.slice(0, 1).str.to_lowercase()
        == pl.col("word").str.slice(0, 1).str.to_lowercase()
    )
    length = pl.col("morphs").list.len()
    suffixes = pl.lit("suffix").repeat_by(length - 1)
    guessed = pl.concat_list(pl.lit("root").repeat_by(1), suffixes)
    inflected = (pl.col("process") == "inflection") & starts & (length > 1)
    return pl.when(pl.col("roles").is_null() & inflected).then(guessed).otherwise(pl.col("roles"))


def _example(table: pl.DataFrame) -> pl.Expr:
    parts = "parts" if "parts" in table.columns else "morphs"
    return pl.concat_str(
        pl.col("word").fill_null(""), pl.lit(": "), pl.col(parts).list.join(" + ").fill_null("not segmented")
    )


def _counted(lost: pl.DataFrame) -> pl.DataFrame:
    found = lost.sort("line").group_by("language", "reason", maintain_order=True).agg(
        rows=pl.len(), first_line=pl.col("line").first(), example=pl.col("example").first().str.slice(0, 120)
    )  # fmt: skip
    return found.select([pl.col(name).cast(kind) for name, kind in LEDGER.items()])


def _summed(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """The ledgers of blocks as one, in the order of the reasons."""
    whole = pl.concat([LEDGER.to_frame(), *parts])
    found = whole.group_by("language", "reason", maintain_order=True).agg(
        pl.col("rows").sum(), pl.col("first_line").min(), pl.col("example").first()
    )
    order = pl.col("reason").cast(pl.String).replace_strict({name: at for at, name in enumerate(REASONS)})
    return found.sort("language", order).select([pl.col(name).cast(kind) for name, kind in LEDGER.items()])
