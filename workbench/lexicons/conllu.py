"""Tokens of CoNLL-U treebanks; one of several words is segmented: ``3-4 don't`` has ``do`` and ``n't``."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    }
)


def looks_like(path: Path) -> bool:
    """Whether the first lines of a file have the ten columns of CoNLL-U."""
    if ".conllu" in path.suffixes:
        return True
    for _, lines in text_lines(path):
        rows = [line.split("\t") for line in lines[:50] if line and not line.startswith("#")]
        return bool(rows) and all(len(row) == CELLS and row[0].strip("-.0123456789") == "" for row in rows)
    return False


def rows_of(path: Path) -> Iterator[pl.DataFrame]:
    """Surface tokens with what the treebank says of them, block by block.

    A multi-word token is a row whose parts are its words; it is kept as the surface, and its words are no
    rows of their own. Any other token of letters is a row of one part with its lemma, tag and features.
    """
    for first, lines in text_lines(path):
        found: list[dict[str, object]] = []
        until, pending = 0, 0
        for number, line in enumerate(lines, first):
            cells = line.split("\t")
            if not line or line.startswith("#"):
                until = 0
                continue
            if len(cells) != CELLS or cells[0].strip("-.0123456789") != "":
                found.append({"line": number, "word": line, "parts": None})
                continue
            low, dash, high = cells[0].partition("-")
            if dash:
                until, pending = int(high), int(high) - int(low) + 1
                found.append({"line": number, "word": cells[1], "parts": []})
            elif "." in cells[0]:
                continue
            elif pending and int(low) <= until:
                found[-1]["parts"].append(cells[1])  # type: ignore[attr-defined]  # a list, made above
                pending -= 1
            else:
                told = (None if cell == "_" else cell for cell in (cells[2], cells[3], cells[5]))
                names = ("lemma", "pos", "features")
                found.append({"line": number, "word": cells[1], "parts": [cells[1]],
                              **dict(zip(names, told, strict=True))})  # fmt: skip
        if found:
            yield pl.DataFrame(found, SCHEMA)
