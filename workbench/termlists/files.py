"""Term list files of a user: TSV, CSV, JSON and plain lines, HurtLex and LDNOOBW, or a folder of them.

A file is data from a stranger. It is read to a limit, each line is decoded by itself, and nothing of it is
run: a line that cannot be read is counted with its number, and a file that is no text is refused.
"""

from __future__ import annotations

import csv
import hashlib
import json
from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl

from workbench.corpusfiles import one_sentence
from workbench.errors import UnreadableFile
from workbench.languages import language_of
from workbench.lexicons.naming import licence_beside
from workbench.termlists.naming import COLUMNS, HURTLEX, HURTLEX_HEADER, LABELS, language_named
from workbench.termlists.rows import RAW, About, built

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from workbench.termlists.terms import TermLists

LIMIT = 64 << 20
"""Bytes of the largest file that is read."""

MAX_ROWS = 500_000
"""Rows of the longest list that is taken; the longest that people share have some ten thousand."""

LINE = 1 << 16
"""Bytes of the longest line that is read; of a longer one only the number is kept."""

SUFFIXES = (".tsv", ".csv", ".json", ".txt")
Rows = list[tuple[int, dict[str, str | None]]]


def list_files(path: Path) -> list[Path]:
    """The term list files of a folder, or the file itself.

    Raises:
        UnreadableFile: there is none.
    """
    if path.is_file():
        return [path]
    found = (
        sorted(each for each in path.rglob("*") if each.is_file() and _is_one(each)) if path.exists() else []
    )
    if not found:
        raise UnreadableFile(
            f"a term list must be a file, or a folder with files ending in {', '.join(SUFFIXES)} or named "
            f"after a language; {path} is neither; check the path"
        )
    return found


def _is_one(path: Path) -> bool:
    if path.name.upper().startswith((".", "README", "LICEN", "COPYING", "USERS")):
        return False
    return path.suffix.lower() in SUFFIXES or (not path.suffix and language_of(path.name) is not None)


def read_file(path: Path, said: Mapping[str, str], name: str | None = None) -> TermLists:
    """Reads one file.

    Args:
        path: the file.
        said: what its spec says of it.
        name: the list's name; None for the file's stem.

    Raises:
        UnreadableFile: it is too large, no text, not of its layout, or holds no term.
    """
    content = _content(path)
    raw = _raw(path, content)
    about = About(
        said.get("name") or name or path.stem, str(path), said.get("licence") or licence_beside(path),
        hashlib.sha256(content).hexdigest(),
    )  # fmt: skip
    found = built(raw, about, {"language": language_named(path), **said})
    if not len(found):
        left = ", ".join(f"{rows} {reason}" for _, reason, rows, _ in found.ledger.iter_rows()) or "no rows"
        raise UnreadableFile(
            f"a term list must hold terms; {path} has none that can be sought ({left}); check its layout"
        )
    return found


def _content(path: Path) -> bytes:
    with one_sentence(str(path)), path.open("rb") as raw:
        content = raw.read(LIMIT + 1)
    if len(content) > LIMIT:
        raise UnreadableFile(
            f"a term list must have at most {LIMIT >> 20} MB; {path} has more; give the part that is needed"
        )
    head = content[:4096]
    if b"\x00" in head or head.startswith((b"PK\x03\x04", b"\x1f\x8b", b"\x80\x04", b"%PDF")):
        raise UnreadableFile(f"a term list must be text in UTF-8; {path} is binary; export it as TSV or CSV")
    if (rows := content.count(b"\n")) > MAX_ROWS:
        raise UnreadableFile(
            f"a term list must have at most {MAX_ROWS:,} rows; {path} has {rows:,}; "
            "give the part that is needed"
        )
    return content.removeprefix(b"\xef\xbb\xbf")


def _raw(path: Path, content: bytes) -> pl.DataFrame:
    if path.suffix.lower() == ".json" or content.lstrip()[:1] in (b"{", b"["):
        return framed(_json_rows(path, content))
    bad: Rows = []
    lines = _lines(content, bad)
    first = next((line for _, line in lines if line.strip()), "")
    delimiter = _delimiter(path, first)
    if delimiter is None:
        rows = [
            (number, {"term": line}) for number, line in lines if line.strip() and not line.startswith("#")
        ]
        return framed(chain(bad, rows))
    return framed(chain(bad, _table_rows(lines, delimiter)))


def _lines(content: bytes, bad: Rows) -> list[tuple[int, str]]:
    """Lines with their numbers; those that are not UTF-8 or too long go to ``bad``."""
    found = []
    for number, line in enumerate(content.split(b"\n"), 1):
        if len(line) > LINE:
            bad.append((number, {"left": "too_long"}))
            continue
        try:
            found.append((number, line.decode().rstrip("\r")))
        except UnicodeDecodeError:
            bad.append((number, {"left": "not_utf8"}))
    return found


def _delimiter(path: Path, first: str) -> str | None:
    """What parts the columns; None for a term a line."""
    by_suffix = {".tsv": "\t", ".csv": ","}.get(path.suffix.lower())
    for delimiter in ("\t", ",", ";"):
        cells = [cell.strip(' "\ufeff').lower() for cell in first.split(delimiter)]
        if delimiter in first and any(cell in COLUMNS["term"] for cell in cells):
            return delimiter
    return by_suffix or ("\t" if "\t" in first else None)


def _table_rows(lines: list[tuple[int, str]], delimiter: str) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Rows of a table with a header; without one the columns are term, category, language, severity."""
    cells = _cells(lines, delimiter)
    number, first = next(cells, (0, None))
    if first is None:
        return
    head = [cell.strip(" \ufeff").lower() for cell in first]
    hurtlex = set(HURTLEX_HEADER) <= set(head)
    places = _places(head)
    if "term" not in places:
        places = dict(zip(("term", "category", "language", "severity"), range(4), strict=True))
        yield number, _row(first, places, hurtlex=False)
    for number, row in cells:
        if row is None:
            yield number, {"left": "malformed"}
        elif any(row):
            yield number, _row(row, places, hurtlex=hurtlex)


def _places(head: list[str]) -> dict[str, int]:
    """Where each of our columns stands under a header."""
    found = {}
    for column, names in COLUMNS.items():
        place = next((head.index(name) for name in names if name in head), None)
        if place is not None:
            found[column] = place
    return found


def _row(row: list[str], places: Mapping[str, int], *, hurtlex: bool) -> dict[str, str | None]:
    found: dict[str, str | None] = {
        column: row[place] if place < len(row) else None for column, place in places.items()
    }
    if hurtlex:
        code = (found.get("category") or "").strip().lower()
        category, _, group = HURTLEX.get(code, code).partition("/")
        found |= {"category": category, "group": group or None}
    return found


def _cells(lines: list[tuple[int, str]], delimiter: str) -> Iterator[tuple[int, list[str] | None]]:
    """Cells of each line; None for a line that is no row. A cell in quotes may not run over several lines."""
    for number, line in lines:
        if not line.strip():
            continue
        if delimiter == "\t" or '"' not in line:
            yield number, line.split(delimiter)
            continue
        try:
            yield number, next(csv.reader([line], delimiter=delimiter, strict=True))
        except csv.Error:
            yield number, None


def _json_rows(path: Path, content: bytes) -> Rows:
    """Rows of a list of terms or of objects, or of an object whose lists hold them."""
    if (commas := content.count(b",")) > MAX_ROWS * len(RAW):
        raise UnreadableFile(
            f"a term list must have at most {MAX_ROWS:,} rows; {path} has {commas:,} parts; give fewer"
        )
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnreadableFile(
            f"a JSON term list must be well formed UTF-8; {path} is not ({str(error)[:80]}); correct it"
        ) from None
    parts = [value] if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    if sum(len(part) for part in parts if isinstance(part, list)) > MAX_ROWS:
        raise UnreadableFile(
            f"a term list must have at most {MAX_ROWS:,} rows; {path} has more; give the part that is needed"
        )
    rows: Rows = []
    if isinstance(value, dict):
        language = value.get("lang") or value.get("language")
        for key, inner in value.items():
            if isinstance(inner, list):
                label = {"category": key} if key.lower() in LABELS else {}
                spoken = {"language": language} if isinstance(language, str) and _encodable(language) else {}
                rows += [(len(rows) + place, {**label, **spoken, **_object(each)})
                         for place, each in enumerate(inner, 1)]  # fmt: skip
    elif isinstance(value, list):
        rows = [(place, _object(each)) for place, each in enumerate(value, 1)]
    return rows


def _object(value: Any) -> dict[str, str | None]:
    if isinstance(value, str):
        return {"term": value} if _encodable(value) else {"left": "not_utf8"}
    if not isinstance(value, dict):
        return {"left": "malformed"}
    lower = {str(key).lower(): cell for key, cell in value.items()}
    found: dict[str, str | None] = {}
    for column, names in COLUMNS.items():
        cell = next((lower[name] for name in names if name in lower), None)
        if isinstance(cell, str | int | float) and _encodable(str(cell)):
            found[column] = str(cell)
    return found if "term" in found else {"left": "malformed"}


def _encodable(text: str) -> bool:
    """Whether a string is Unicode; JSON can name half of a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def framed(rows: Iterable[tuple[int, Mapping[str, str | None]]]) -> pl.DataFrame:
    """Rows as a table with the columns of ``RAW``."""
    listed = list(rows)
    columns: dict[str, Any] = {"line": [line for line, _ in listed]}
    for name in RAW.names()[1:]:
        columns[name] = [row.get(name) for _, row in listed]
    return pl.DataFrame(columns, RAW)
