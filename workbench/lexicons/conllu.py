"""Tokens of CoNLL-U treebanks; one of several words is segmented: ``3-4 don't`` has ``do`` and ``n't``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from workbench.lexicons.files import text_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CELLS = 10
SCHEMA = pl.Schema(
    {
        "line": pl.Int64(),
        "word": pl.String(),
        "parts": pl.List(pl.String()),
        "lemma": pl.String(),
        "pos": pl.String(),
        "features": pl.String(),
        "left": pl.String(),
    }
)
NOTE = "of a treebank, tokens of several words are segmented, and forms that are their lemma are whole"
_NUMBER = re.compile(r"(\d+)(?:-(\d+)|(\.\d+))?")


def looks_like(path: Path) -> bool:
    """Whether a file is named CoNLL-U, or nine of ten of its first rows have the ten columns."""
    if ".conllu" in path.suffixes:
        return True
    for _, lines in text_lines(path):
        rows = [line.split("\t") for line in lines[:500] if line and not line.startswith("#")]
        good = sum(len(row) == CELLS and _NUMBER.fullmatch(row[0]) is not None for row in rows)
        return bool(rows) and good >= 0.9 * len(rows)
    return False


def rows_of(path: Path) -> Iterator[pl.DataFrame]:
    """Surface tokens with what the treebank says of them, block by block.

    A multi-word token is a row whose parts are its words, which are no rows of their own; where they do not
    join to the surface (``du`` from ``de`` and ``le``), it is left out. Any other token is whole where it is
    its own lemma, case aside: a treebank does not say where other forms divide.
    """
    rest: list[dict[str, Any]] = []
    until = 0
    for first, lines in text_lines(path):
        found, rest = rest, []
        for number, line in enumerate(lines, first):
            cells = line.split("\t")
            if not line or line.startswith("#"):
                until = 0
                continue
            match = _NUMBER.fullmatch(cells[0]) if len(cells) == CELLS else None
            if match is None:
                found.append({"line": number, "word": line, "left": "malformed"})
            elif match[2]:
                until = int(match[2])
                found.append({"line": number, "word": cells[1], "parts": []})
            elif match[3]:
                continue
            elif int(match[1]) <= until:
                found[-1].setdefault("parts", []).append(cells[1])
            else:
                until = 0
                found.append(_token(number, cells))
        if until and found:  # the words of the last token may be in the next block
            rest = [found.pop()]
        yield from _table(found)
    yield from _table(rest)


def _token(number: int, cells: list[str]) -> dict[str, Any]:
    lemma, pos, features = (None if cell == "_" else cell for cell in (cells[2], cells[3], cells[5]))
    whole = lemma is not None and cells[1].lower() == lemma.lower()
    return {
        "line": number, "word": cells[1], "parts": [cells[1]], "lemma": lemma, "pos": pos,
        "features": features, "left": None if whole else "unanalysed",
    }  # fmt: skip


def _table(found: list[dict[str, Any]]) -> Iterator[pl.DataFrame]:
    if not found:
        return
    table = pl.DataFrame(found, SCHEMA)
    joins = pl.col("parts").list.join("").str.to_lowercase() == pl.col("word").str.to_lowercase()
    left = pl.when(joins | pl.col("parts").is_null()).then("left")
    yield table.with_columns(left=left.otherwise(pl.coalesce("left", pl.lit("not_concatenative"))))
