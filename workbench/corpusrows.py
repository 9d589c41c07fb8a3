"""Documents in the formats of a corpus: lines of text, JSON lines, Parquet columns, Python examples.

Whatever the format, a file comes as ``Rows``: some documents, and the language of each where the file
has a language column. A line end is never part of a document, and an empty line is an empty document, so
that document n of a text file is its line n.
"""

from __future__ import annotations

import ast
import codecs
import difflib
import json
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import polars as pl

from workbench.corpusfiles import BLOCK, CorpusFile, blocks, is_utf16, one_sentence
from workbench.errors import SutureError, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterator

Errors = Literal["strict", "replace"]

LANGUAGE_COLUMN = "language"

SURROGATE = re.compile("[\ud800-\udfff]")
"""A lone surrogate in a string: JSON can spell it as an escape, UTF-8 cannot hold it."""

SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")

REPLACEMENT = "\ufffd"

_PART = "suture: part"


class Rows(NamedTuple):
    """Some documents of a file, in order, and the language of each where the file has that column."""

    texts: list[str]
    languages: list[str | None] | None = None


def rows(file: CorpusFile, column: str, errors: Errors = "strict", size: int = BLOCK) -> Iterator[Rows]:
    """The documents of a file, about ``size`` bytes of text at a time.

    Args:
        file: the file.
        column: the field or column of a JSON lines or Parquet file that holds the text.
        errors: whether text that is not Unicode stops the reading or becomes U+FFFD.
        size: bytes to read at a time.

    Raises:
        UnicodeError: the text is not Unicode (and ``errors`` is ``strict``), or the file is UTF-16.
        SutureError: the file cannot be read, a line is no JSON object or too long, the column is missing.
    """
    if file.format == "parquet":
        yield from _parquet_rows(file, column, size)
    elif file.format == "examples":
        yield Rows(sentences_in(file.path.read_text("utf-8")))
    else:
        if is_utf16(file):
            raise UnicodeError("UTF-16")
        read = _jsonl_rows if file.format == "jsonl" else _line_rows
        yield from read(file, column, errors, size)


def document_count(file: CorpusFile) -> int:
    """Number of documents in a file, without decoding them."""
    if file.format == "parquet":
        with one_sentence(file.label):
            return int(_scan_parquet(file).select(pl.len()).collect().item())
    if file.format == "examples":
        return len(sentences_in(file.path.read_text("utf-8")))
    if file.format == "jsonl":
        return sum(sum(1 for line in block.split(b"\n") if line.strip()) for block in blocks(file))
    return sum(block.count(b"\n") + (not block.endswith(b"\n")) for block in blocks(file))


def json_lines(text: str, first: int, label: str) -> Iterator[dict[str, Any]]:
    """The objects in some lines of a JSON lines file; empty lines are passed over.

    Polars' own reader is three times as fast, but turns a lone surrogate into U+0000 and a number into
    a string without a word.

    Args:
        text: whole lines.
        first: number of the first of them in the file, counted from 1.
        label: the file's name for messages.

    Raises:
        UnreadableFile: a line is not a JSON object; the message says which.
    """
    for number, line in enumerate(text.split("\n"), first):
        if not line or line.isspace():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UnreadableFile(
                f"each line of {label} must be a JSON object; line {number} is not JSON ({error}); "
                "repair or remove it"
            ) from None
        if not isinstance(row, dict):
            raise UnreadableFile(
                f"each line of {label} must be a JSON object; line {number} is a {type(row).__name__}; "
                "write the text into a field of an object"
            )
        yield row


def json_text(row: dict[str, Any], column: str, label: str) -> str | None:
    """The text field of an object; None where it is null.

    Raises:
        SutureError: the field is missing, or not a string.
    """
    if column not in row:
        raise _no_column(label, column, list(row))
    text = row[column]
    if text is not None and not isinstance(text, str):
        raise _no_text(label, column, type(text).__name__)
    return text


def parquet_nulls(file: CorpusFile, column: str) -> int:
    """Number of rows of a Parquet file whose text is missing."""
    with one_sentence(file.label):
        query = _text_query(file, column).select(pl.col(column).null_count())
        return int(query.collect(engine="streaming").item())


def sentences_in(source: str) -> list[str]:
    """The documents in Python source, read as a literal; the source is not run.

    They are the items of a list named ``sentences``, as spaCy has it, or the paragraphs of the texts of a
    dictionary named ``topics``, as Python's own manual has it; a paragraph is one line.
    """
    for node in ast.parse(source).body:
        name = ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else None
        if name == "sentences":
            return [str(item) for item in ast.literal_eval(node.value)]  # type: ignore[attr-defined]
        if name == "topics":
            texts = ast.literal_eval(node.value).values()  # type: ignore[attr-defined]
            parts = [part for text in texts for part in re.split(r"\n\s*\n", text)]
            return [" ".join(part.split()) for part in parts if part.strip()]
    return []


def _texts(block: bytes, errors: Errors) -> str:
    """Text of whole lines; the carriage return of a line end goes with it."""
    return (block.replace(b"\r\n", b"\n") if b"\r" in block else block).decode(errors=errors)


def _line_rows(file: CorpusFile, column: str, errors: Errors, size: int) -> Iterator[Rows]:  # noqa: ARG001
    first = True
    for block in blocks(file, size):
        text = _texts(block.removeprefix(codecs.BOM_UTF8) if first else block, errors)
        first = False
        if text:
            yield Rows(text.removesuffix("\n").split("\n"))


def _jsonl_rows(file: CorpusFile, column: str, errors: Errors, size: int) -> Iterator[Rows]:
    number = 1
    for block in blocks(file, size):
        text = _texts(block.removeprefix(codecs.BOM_UTF8) if number == 1 else block, errors)
        found = list(json_lines(text, number, file.label))
        number += block.count(b"\n")
        texts = [json_text(row, column, file.label) or "" for row in found]
        if SURROGATE_ESCAPE.search(block):
            texts = [_repaired(text, errors) for text in texts]
        languages = [row.get(LANGUAGE_COLUMN) for row in found]
        if any(isinstance(language, str) for language in languages):
            yield Rows(texts, [item if isinstance(item, str) else None for item in languages])
        else:
            yield Rows(texts)


def _repaired(text: str, errors: Errors) -> str:
    if errors == "strict":
        text.encode()  # raises where a lone surrogate stands
    return SURROGATE.sub(REPLACEMENT, text)


def _scan_parquet(file: CorpusFile) -> pl.LazyFrame:
    return pl.scan_parquet(file.path, glob=False, hive_partitioning=False)


def _text_query(file: CorpusFile, column: str) -> pl.LazyFrame:
    """The text column and, where there is one, the language column."""
    frame = _scan_parquet(file)
    schema = frame.collect_schema()
    if column not in schema:
        raise _no_column(file.label, column, schema.names())
    if schema[column] not in (pl.String, pl.Categorical, pl.Enum):
        raise _no_text(file.label, column, str(schema[column]))
    columns = [pl.col(column).cast(pl.String)]
    if LANGUAGE_COLUMN in schema and column != LANGUAGE_COLUMN:
        columns.append(pl.col(LANGUAGE_COLUMN).cast(pl.String))
    return frame.select(columns)


def _parquet_rows(file: CorpusFile, column: str, size: int) -> Iterator[Rows]:
    """Slice after slice; measured against ``collect_batches`` it takes a quarter of the memory."""
    with one_sentence(file.label):
        query = _text_query(file, column)
        start, step = 0, 256
        while len(frame := query.slice(start, step).collect()):
            frame = frame.with_columns(pl.col(column).fill_null(""))
            ends = frame[column].str.len_bytes().cum_sum()
            parts = frame.with_columns((ends // size).alias(_PART)).partition_by(_PART, maintain_order=True)
            for part in parts:
                known = LANGUAGE_COLUMN in part.columns and column != LANGUAGE_COLUMN
                yield Rows(part[column].to_list(), part[LANGUAGE_COLUMN].to_list() if known else None)
            start += step
            step = min(step * 16, max(1, step * 8 * size // max(1, int(ends[-1]))))


def _no_column(label: str, column: str, known: list[str]) -> SutureError:
    near = difflib.get_close_matches(column, known, 1)
    hint = (
        f"did you mean {near[0]!r}?" if near else "name the one with the text by --text-column (text_column)"
    )
    return SutureError(f"{label} must have a column {column!r}; it has {', '.join(known) or 'none'}; {hint}")


def _no_text(label: str, column: str, kind: str) -> SutureError:
    return SutureError(
        f"the column {column!r} of {label} must hold text; it holds {kind}; name another by --text-column"
    )
