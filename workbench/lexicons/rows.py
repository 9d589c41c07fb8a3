"""From the rows of a file to entries: what joins to its word is kept, what does not is aligned or counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from workbench import surface
from workbench.lexicon import LEDGER, REASONS, SCHEMA
from workbench.lexicons import conllu
from workbench.lexicons.files import kind_of, read_blocks
from workbench.lexicons.formats import FORMATS
from workbench.lexicons.roles import inflected_roles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

_COLUMNS = {
    "line": pl.Int64(),
    "language": pl.String(),
    "word": pl.String(),
    "parts": pl.List(pl.String()),
    "left": pl.String(),
    "roles": pl.List(pl.String()),
    "process": pl.String(),
    "lemma": pl.String(),
    "features": pl.String(),
    "pos": pl.String(),
    "frequency": pl.Float64(),
}
_NOISE = r"[\s\d]|^[^\p{L}]*$"
"""No word: white space or a digit in it, or no letter."""
_KEY = ("language", "word", "morphs")
_KEPT = ["line", *SCHEMA]
TELL = 200_000
"""Rows after which a person who waits is told again."""


class Gathered(NamedTuple):
    """Entries of one file, what of it was left out, its format, and what is to be known of it."""

    frame: pl.DataFrame
    ledger: pl.DataFrame
    format: str
    notes: tuple[str, ...] = ()


def gathered(
    path: Path, language: str, form: str | None = None, progress: Callable[[str], None] = lambda _: None
) -> Gathered:
    """All entries of a text file or workbook; of equal ones (language, word, cuts) the first is kept.

    Args:
        path: the file.
        language: its language, where a row names none.
        form: its format, or None to be told by the content.
        progress: told how many rows were read, now and then.
    """
    name, rows, told_of = form or "", 0, 0
    entries, left = [SCHEMA.to_frame().with_columns(line=pl.lit(0, pl.Int64)).select(_KEPT)], []
    for table, told in _tables(path, form):
        name = told
        kept, dropped = _sorted_out(_filled(table, language))
        entries.append(kept)
        left.append(dropped)
        rows += table.height
        if rows - told_of >= TELL:
            progress(f"{path}: {rows:,} rows")
            told_of = rows
    frame, twice = distinct(pl.concat(entries))
    again = twice.select("language", "line", example=_example("morphs"), reason=pl.lit("duplicate"))
    left.append(_counted(again))
    return Gathered(frame.select(SCHEMA.names()), _summed(left), name, tuple(_notes(path, name, frame)))


def _notes(path: Path, name: str, frame: pl.DataFrame) -> Iterator[str]:
    """What is to be known of a file's entries."""
    note = conllu.NOTE if name == "conllu" else FORMATS[name].note if name in FORMATS else None
    if note:
        yield note
    decomposed = int((frame["word"] != frame["word"].str.normalize("NFC")).sum())
    if decomposed:
        yield f"{decomposed:,} words of {path.name} are not in NFC, and are kept as written"
    with path.open("rb") as raw:
        if raw.read(3) == b"\xef\xbb\xbf":
            yield f"a byte-order mark before the first row of {path.name} was taken off"


def distinct(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Entries of a frame, and those that say again what an earlier one says."""
    said = pl.concat_str("language", "word", pl.col("morphs").list.join("\x00"), separator="\x00")
    hashed = frame.select(said.hash()).to_series()
    alike = hashed.is_duplicated()  # only these are compared as they stand, which takes ten times the memory
    first = (~alike).to_numpy().copy()
    first[alike.arg_true().to_numpy()] = (
        frame.filter(alike).select(pl.struct(_KEY).is_first_distinct()).to_series()
    )
    kept = pl.Series(first)
    return frame.filter(kept), frame.filter(~kept)


def together(
    frames: Sequence[pl.DataFrame], ledgers: Sequence[pl.DataFrame]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Entries and ledgers of several files as one; an entry that an earlier file has is counted."""
    frame, twice = distinct(pl.concat(frames))
    said = pl.concat_str(_example("morphs"), pl.lit(" (in an earlier file)"))
    again = twice.select("language", example=said, reason=pl.lit("duplicate"), line=pl.lit(None, pl.Int64))
    return frame, pl.concat([*ledgers, _counted(again)])


def _tables(path: Path, form: str | None) -> Iterator[tuple[pl.DataFrame, str]]:
    if form == "conllu" or (form is None and kind_of(path) == "text" and conllu.looks_like(path)):
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
    control = pl.concat_str(word, parts.list.join("").fill_null("")).str.contains(r"\p{Cc}")
    malformed = word.is_null() | (word == "") | control | (pl.col("left") == "malformed")
    reason = (
        pl.when(malformed).then(pl.lit("malformed"))
        .when(word.str.contains(_NOISE)).then(pl.lit("noise"))
        .when(pl.col("left").is_not_null()).then("left")
        .when(parts.is_null()).then(pl.lit("malformed"))
        .when(empty).then(pl.lit("empty_part"))
    )  # fmt: skip
    marked = table.with_columns(reason=reason)
    sound = marked.filter(pl.col("reason").is_null())
    whole, rest = _joined(sound)
    placed = _aligned(rest)
    entries = pl.concat([whole.select(_KEPT), placed.filter(pl.col("reason").is_null()).select(_KEPT)])
    entries = entries.sort("line")
    entries = entries.with_columns(
        inflected_roles(entries), process=pl.when(pl.col("morphs").list.len() > 1).then("process")
    )
    lost = pl.concat([part.filter(pl.col("reason").is_not_null()).select(
        "language", "line", "reason", example=_example("parts")) for part in (marked, placed)])  # fmt: skip
    final = [pl.col(name).cast(kind) for name, kind in SCHEMA.items()]
    return entries.select("line", *final), _counted(lost)


def _joined(table: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows whose parts join to the word, and the others.

    Parts in another Unicode form than the word are brought to its form; the word is kept as written.
    """
    found = []
    for form in (None, "NFC", "NFD"):
        parts = (
            pl.col("parts") if form is None else pl.col("parts").list.eval(pl.element().str.normalize(form))
        )
        tried = table.with_columns(morphs=parts, how=pl.lit("concatenative"))
        joins = tried["morphs"].list.join("") == tried["word"]
        found.append(tried.filter(joins))
        table = table.filter(~joins)
    return pl.concat(found), table


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


def _example(parts: str) -> pl.Expr:
    said = pl.col(parts).list.join(" + ").replace("", None).fill_null("not segmented")
    return pl.concat_str(pl.col("word").fill_null(""), pl.lit(": "), said)


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
