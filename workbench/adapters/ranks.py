"""Rank files of tiktoken: on each line an entry in base64 and its rank."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

import polars as pl

from workbench.errors import UnreadableFile

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = pl.Schema({"piece": pl.String(), "rank": pl.Int64()})


def parse(data: bytes, source: str | Path) -> dict[bytes, int]:
    """Entries with their ranks, in order of lines; of equal entries the last holds.

    Args:
        data: content of the file.
        source: where it came from, for the message.

    Raises:
        UnreadableFile: a line is something else; the message says which.
    """
    try:
        table = pl.read_csv(
            data, separator=" ", has_header=False, schema=COLUMNS, quote_char=None, comment_prefix=None
        )
        pieces = table["piece"].str.decode("base64")
    except pl.exceptions.PolarsError:
        return _by_line(data, source)
    if pieces.has_nulls() or table["rank"].has_nulls():
        return _by_line(data, source)
    return dict(zip(pieces.to_list(), table["rank"].to_list(), strict=True))


def _by_line(data: bytes, source: str | Path) -> dict[bytes, int]:
    """The same for files with blank lines or other spaces, and to tell which line is none."""
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            piece, rank = line.split()
            ranks[base64.b64decode(piece, validate=True)] = int(rank)
        except (ValueError, binascii.Error):
            raise UnreadableFile(
                f"each line of a rank file must hold a base64 piece and its rank; line {number} of {source} "
                f"holds {line[:40]!r}; fetch the file again"
            ) from None
    return ranks
