"""What is wrong with the text of a file, found before work on it starts."""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.corpusfiles import blocks, is_utf16
from workbench.corpusrows import SURROGATE, SURROGATE_ESCAPE, json_lines, json_text, parquet_nulls
from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.corpusfiles import CorpusFile
    from workbench.corpusrows import Errors

_ENCODED_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")

_SAYS = {
    "bom": "starts with a byte-order mark, which is left out",
    "crlf": "has line ends of carriage return and line feed ({count}), which are no part of a document",
    "null": "has rows without text ({count}), which count as empty documents",
    "invalid_utf8": "has invalid byte sequences ({count}, the first at byte {offset})",
    "lone_surrogate": "has lone surrogates ({count}, the first at byte {offset})",
    "utf16": "is UTF-16",
    "missing": "is left out",
}

KINDS = tuple(_SAYS)
"""Kinds of problem: a mark, foreign line ends and missing texts are handled, the next three stop the
work (``errors="replace"`` allows the first two of them), and ``missing`` names a part left out."""


@dataclass(frozen=True)
class CorpusProblem:
    """Something in a file that a reader should know of.

    Attributes:
        file: the file's name, as shown.
        kind: one of ``KINDS``.
        offset: byte offset of the first occurrence in the uncompressed file; in a JSON lines file, of
            the line that holds an escaped surrogate.
        count: number of occurrences.
        note: what to do, where the kind does not say it.
    """

    file: str
    kind: str
    offset: int = 0
    count: int = 1
    note: str = ""

    def stops(self, errors: Errors) -> bool:
        """Whether the file must not be read on these terms."""
        return self.kind == "utf16" or (
            errors == "strict" and self.kind in ("invalid_utf8", "lone_surrogate")
        )

    def __str__(self) -> str:
        said = _SAYS[self.kind].format(count=self.count, offset=self.offset)
        return f"{self.file} {said}{'; ' if self.note else ''}{self.note}"


def stopped(problems: Sequence[CorpusProblem]) -> SutureError:
    """The error for files that must not be read: the first is named, the others are counted."""
    first = problems[0]
    others = len({problem.file for problem in problems}) - 1
    more = f", and {others} more {'file is' if others == 1 else 'files are'} not" if others else ""
    remedy = (
        "convert it, for example with `iconv -f UTF-16 -t UTF-8`"
        if first.kind == "utf16"
        else 'convert it to UTF-8, or pass --errors replace (errors="replace") to read each as U+FFFD'
    )
    return SutureError(f"a corpus must be UTF-8; {first}{more}; {remedy}")


def scan(file: CorpusFile, column: str) -> list[CorpusProblem]:
    """Reads a file once, in bounded memory, and lists its problems in the order of ``KINDS``.

    Args:
        file: the file.
        column: the field or column that holds the text, in a JSON lines or Parquet file.

    Raises:
        SutureError: the file cannot be read, has a line that is no JSON object, or no such column.
    """
    if file.format == "examples":
        return []
    if file.format == "parquet":
        missing = parquet_nulls(file, column)
        return [CorpusProblem(file.label, "null", count=missing)] if missing else []
    if is_utf16(file):
        return [CorpusProblem(file.label, "utf16")]
    found = _Found()
    start, line = 0, 1
    for block in blocks(file):
        found.bytes_of(block, start)
        if file.format == "jsonl":
            found.objects_of(block, start, line, column, file.label)
        start += len(block)
        line += block.count(b"\n")
    return [CorpusProblem(file.label, kind, *found.seen[kind]) for kind in KINDS if kind in found.seen]


class _Found:
    """Offset of the first occurrence and number of occurrences of each kind, block after block."""

    def __init__(self) -> None:
        self.seen: dict[str, tuple[int, int]] = {}

    def add(self, kind: str, offset: int, count: int) -> None:
        if count:
            first, before = self.seen.get(kind, (offset, 0))
            self.seen[kind] = (first, before + count)

    def bytes_of(self, block: bytes, start: int) -> None:
        """Looks at whole lines: no character and no line end spans two blocks."""
        if start == 0:
            self.add("bom", 0, block.startswith(codecs.BOM_UTF8))
        if b"\r" in block:
            self.add("crlf", start + block.find(b"\r\n"), block.count(b"\r\n"))
        try:
            block.decode()
        except UnicodeDecodeError:
            pass
        else:
            return
        surrogate = _ENCODED_SURROGATE.search(block)
        masked, surrogates = _ENCODED_SURROGATE.subn(b"???", block)
        if surrogate:
            self.add("lone_surrogate", start + surrogate.start(), surrogates)
        try:
            masked.decode()
        except UnicodeDecodeError as error:
            # Each invalid sequence becomes one U+FFFD; those that the text itself holds are taken off.
            replaced = masked.decode(errors="replace").count("\ufffd") - masked.count(b"\xef\xbf\xbd")
            self.add("invalid_utf8", start + error.start, replaced)

    def objects_of(self, block: bytes, start: int, line: int, column: str, label: str) -> None:
        """Parses the lines, so that a broken one is known now, and looks into their texts."""
        text = block.removeprefix(codecs.BOM_UTF8 if start == 0 else b"").decode(errors="replace")
        nulls = sum(json_text(row, column, label) is None for row in json_lines(text, line, label))
        self.add("null", start, nulls)
        if not SURROGATE_ESCAPE.search(block):
            return
        for raw in block.split(b"\n"):
            if SURROGATE_ESCAPE.search(raw):
                value = json.loads(raw.decode("utf-8-sig", errors="replace"))[column] or ""
                self.add("lone_surrogate", start, len(SURROGATE.findall(value)))
            start += len(raw) + 1
