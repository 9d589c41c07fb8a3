"""Lexicon files, read block by block into rows of cells with their line numbers."""

from __future__ import annotations

import csv
import zipfile
from functools import reduce
from itertools import chain, islice
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import polars as pl
import regex

from workbench.corpusfiles import CorpusFile, blocks, is_utf16, one_sentence
from workbench.errors import MissingExtra, SutureError, UnreadableFile, upstream
from workbench.lexicons.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import IO

SUFFIXES = (
    ".tsv", ".txt", ".csv", ".conllu", ".xlsx", ".parquet", ".segmentations", ".segmentation", ".word"
)  # fmt: skip
"""Suffixes that a folder's lexicon files have, ``.gz`` set aside; a file named by hand may have any."""

BLOCK = 1 << 22
"""Bytes read at a time."""

SAMPLE = 200
"""Rows that tell the format."""


class Block(NamedTuple):
    """Rows of a file: a column ``cells``, or named columns, and ``line``, the number counted from 1."""

    rows: pl.DataFrame
    format: str


def lexicon_files(path: Path) -> list[Path]:
    """The lexicon files of a folder, or the file itself.

    Raises:
        UnreadableFile: there is none.
    """
    if path.is_file():
        return [path]
    found = sorted(each for each in path.rglob("*") if each.is_file() and _is_one(each))
    if not found:
        raise UnreadableFile(
            f"a lexicon must be a file, or a folder with files ending in {', '.join(SUFFIXES)}; {path} is "
            "neither; check the path"
        )
    return found


def _is_one(path: Path) -> bool:
    known = any(suffix in SUFFIXES for suffix in path.suffixes[-2:])
    return known and not path.name.upper().startswith((".", "README", "LICEN", "COPYING"))


def kind_of(path: Path) -> str:
    """``workbook``, ``parquet`` or ``text``, by the first bytes of a file."""
    with one_sentence(str(path)), path.open("rb") as raw:
        head = raw.read(4)
    return {b"PK\x03\x04": "workbook", b"PAR1": "parquet"}.get(head, "text")


def read_blocks(path: Path, forced: str | None = None) -> Iterator[Block]:
    """The rows of a text file or a workbook, some megabytes at a time.

    Args:
        path: the file.
        forced: name of its format, where it is not to be told by its content.

    Raises:
        UnreadableFile: it is not UTF-8, damaged, or of no known format.
    """
    if kind_of(path) == "workbook":
        yield from _sheets(path)
        return
    first = next((line for _, lines in text_lines(path) for line in lines if line.strip()), "")
    delimiter = _delimiter(first)
    named = ".csv" in path.suffixes[-2:]
    if delimiter is None and not named:
        yield from _lines(path, forced)
    else:
        yield from _csv(path, forced, delimiter or ("\t" if first.count("\t") > first.count(",") else ","))


HEAD = 10_000
"""Characters of a first row that are looked at for names of columns."""


def _delimiter(first: str) -> str | None:
    """What parts the columns of a first row that has the names of a known format; None for other rows."""
    for delimiter in (",", "\t", ";"):
        names = {cell.strip(' \t\r"') for cell in first[:HEAD].split(delimiter)}
        if any(known.header and set(known.header) <= names for known in FORMATS.values()):
            return delimiter
    return None


def told(rows: list[list[str]], path: Path, forced: str | None) -> str:
    """The format of some rows.

    Raises:
        SutureError: no such format, or none fits.
    """
    if forced is not None:
        if forced not in FORMATS:
            raise SutureError(
                f"a lexicon's format must be one of {', '.join(FORMATS)}; got {forced!r}; pick one of these"
            )
        return forced
    for name, known in FORMATS.items():
        if known.header and set(known.header) <= {cell.strip() for cell in rows[0]}:
            return name
        if not known.header and known.fits(rows):
            return name
    raise UnreadableFile(
        f"a lexicon must be of a known format ({', '.join(FORMATS)}, conllu); {path} is of none: its first "
        f"row is {rows[0][:4]}; name the format as PATH#format=NAME"
    )


def text_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Lines of a text file by blocks, with the number of each block's first line, counted from 1."""
    file = CorpusFile(path, str(path), "lines")
    if is_utf16(file):
        raise UnreadableFile(f"a lexicon must be UTF-8; {path} is UTF-16; convert it")
    number = 1
    for block in blocks(file, BLOCK):
        try:
            text = block.removeprefix(b"\xef\xbb\xbf" if number == 1 else b"").decode()
        except UnicodeDecodeError as error:
            line = number + block.count(b"\n", 0, error.start)
            raise UnreadableFile(
                f"a lexicon must be UTF-8; line {line} of {path} has the byte 0x{block[error.start]:02X}; "
                "convert or correct it"
            ) from None
        found = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
        yield number, found
        number += len(found)


def _lines(path: Path, forced: str | None) -> Iterator[Block]:
    name = None
    for first, found in text_lines(path):
        numbered = pl.DataFrame({"text": found}).with_row_index("line", first)
        kept = numbered.filter(
            (pl.col("text").str.strip_chars() != "") & ~pl.col("text").str.starts_with("#")
        ).with_columns(pl.col("line").cast(pl.Int64), cells=pl.col("text").str.split("\t"))
        if not kept.height:
            continue
        if name is None:
            name = told(kept["cells"].head(SAMPLE).to_list(), path, forced)
        if FORMATS[name].header:
            raise UnreadableFile(
                f"a lexicon of the format {name} must begin with a row that names its columns "
                f"({', '.join(FORMATS[name].header)}); {path} does not; name another format"
            )
        yield Block(kept.select("line", "cells"), name)


def _csv(path: Path, forced: str | None, delimiter: str) -> Iterator[Block]:
    reader = csv.reader((f"{line}\n" for _, lines in text_lines(path) for line in lines), delimiter=delimiter)
    try:
        head = next(reader, [])
        if not any(head):
            raise UnreadableFile(f"a lexicon must hold rows; {path} is empty; fetch it again")
        sample = [(reader.line_num, row) for row in islice(reader, SAMPLE)]
        name = told([head, *(row for _, row in sample if row)], path, forced)
        headed = bool(FORMATS[name].header)
        columns = [each.strip() for each in head] if headed else None
        numbered = ((reader.line_num, row) for row in reader)
        rest = filter(itemgetter(1), chain(() if headed else ((1, head),), sample, numbered))
        while rows := list(islice(rest, 1 << 16)):
            yield Block(_table([row for _, row in rows], [line for line, _ in rows], columns), name)
    except csv.Error as error:
        raise UnreadableFile(
            f"CSV must be well formed; line {reader.line_num} of {path} is not ({error}); correct it"
        ) from None


def _table(rows: list[list[str]], lines: list[int], columns: list[str] | None) -> pl.DataFrame:
    if columns is None:
        return pl.DataFrame({"line": lines, "cells": rows}, {"line": pl.Int64, "cells": pl.List(pl.String)})
    full = [row + [""] * (len(columns) - len(row)) for row in rows]  # a short row ends in empty cells
    data = {name: [row[place] for row in full] for place, name in enumerate(columns) if name}
    return pl.DataFrame(data).with_columns(pl.Series("line", lines, pl.Int64))


CELLS = 50_000_000
"""Cells of the largest rectangle that a sheet may span; its reader holds all of it, empty or not."""


REFERENCE = regex.compile(rb'r="([A-Z]{1,3})(\d{1,7})"')
"""Where a cell stands, as a sheet's XML names it: its column in letters, its row in digits."""


def _column(letters: bytes) -> int:
    return reduce(lambda column, letter: 26 * column + letter - 64, letters, 0)


def _span(sheet: IO[bytes]) -> tuple[int, int]:
    """The rows and columns that a sheet's cells reach, read a megabyte at a time."""
    rows = columns = 0
    rest = b""
    while chunk := sheet.read(1 << 20):
        found = REFERENCE.findall(rest + chunk)
        rows = max(rows, *(int(digits) for _, digits in found), 0)
        columns = max(columns, *(_column(letters) for letters, _ in found), 0)
        rest = chunk[-24:]
    return rows, columns


def _check_size(path: Path) -> None:
    """Refuses a workbook of which one sheet spans too much, which a few bytes can say."""
    with zipfile.ZipFile(path) as packed:
        for name in packed.namelist():
            if not name.startswith("xl/") or "sheet" not in name or not name.endswith(".xml"):
                continue
            with packed.open(name) as sheet:
                rows, columns = _span(sheet)
            if columns * rows > CELLS:
                raise UnreadableFile(
                    f"a sheet must span at most {CELLS:,} cells; one of {path} spans {rows:,} rows of "
                    f"{columns:,} columns; export what is needed as CSV"
                )


def _sheets(path: Path) -> Iterator[Block]:
    try:
        import fastexcel  # noqa: PLC0415 it is an extra
    except ImportError as error:
        raise MissingExtra(
            f"fastexcel must be installed to read {path}; it is not ({error}); "
            "run pip install 'suture[linguistics]'"
        ) from None
    wanted = FORMATS["morpholex"].header
    some = False
    with upstream(f"{path} must be a workbook"):
        _check_size(path)
        book = fastexcel.read_excel(path)
        for sheet in book.sheet_names:
            table = book.load_sheet(sheet, dtypes="string").to_polars()
            if set(wanted) <= set(table.columns):
                some = True
                yield Block(
                    table.with_row_index("line", 2).with_columns(pl.col("line").cast(pl.Int64)), "morpholex"
                )
    if not some:
        raise UnreadableFile(
            f"a workbook must have a sheet with the columns {', '.join(wanted)}; {path} has none; export the "
            "sheet as CSV"
        )
