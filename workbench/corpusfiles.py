"""The files of a corpus, read as bytes in bounded memory and unpacked on the way."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple, cast

import polars as pl
import zstandard

from workbench.errors import SutureError, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Format = Literal["lines", "jsonl", "parquet", "examples"]

FORMATS: dict[str, Format] = {
    ".txt": "lines",
    ".text": "lines",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
"""Formats by suffix, ``.gz`` and ``.zst`` set aside; a file named by hand is read as lines otherwise."""

BLOCK = 1 << 20
"""Bytes read at a time unless told otherwise."""

MAX_LINE = 1 << 26
"""Bytes of the longest line that is read; a longer one would break the bound on memory."""


class CorpusFile(NamedTuple):
    """One file of a corpus: where it lies, the name shown for it, its format, its language if known."""

    path: Path
    label: str
    format: Format
    language: str | None = None


def format_of(path: Path) -> Format | None:
    """The format that a file's name promises, or None if its suffix says nothing."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in (".gz", ".zst")]
    return FORMATS.get(suffixes[-1]) if suffixes else None


def digest(file: CorpusFile) -> str:
    """SHA-256 of a file as it lies on disk, in hexadecimal digits, as ``sha256sum`` gives it."""
    with one_sentence(file.label), file.path.open("rb") as raw:
        return hashlib.file_digest(raw, "sha256").hexdigest()


def is_utf16(file: CorpusFile) -> bool:
    """Whether a file is UTF-16 (or UTF-32): by its mark, or by a null in every other byte of its head."""
    head = next(chunks(file, 4096), b"")[:4096]
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    return any(head[side::2].count(0) > len(head) * 0.2 for side in (0, 1))


def chunks(file: CorpusFile, size: int = BLOCK) -> Iterator[bytes]:
    """The uncompressed bytes of a file, about ``size`` at a time.

    Raises:
        UnreadableFile: it cannot be read, or not be decompressed to its end.
    """
    with one_sentence(file.label), file.path.open("rb") as raw:
        suffix = file.path.suffix.lower()
        if suffix == ".zst":
            yield from _unzstd(raw, size)
            return
        source = cast("IO[bytes]", gzip.GzipFile(fileobj=raw) if suffix == ".gz" else raw)
        while chunk := source.read(size):
            yield chunk


def blocks(file: CorpusFile, size: int = BLOCK) -> Iterator[bytes]:
    """The bytes of a text file, cut after line ends, about ``size`` at a time.

    Raises:
        SutureError: a line is longer than ``MAX_LINE``.
    """
    rest: list[bytes] = []
    held = 0
    for chunk in chunks(file, size):
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield b"".join([*rest, chunk[:cut]])
            rest, held = [], 0
        rest.append(chunk[cut:])
        held += len(rest[-1])
        if held > MAX_LINE:
            raise SutureError(
                f"a line must be at most {MAX_LINE >> 20} MiB long; {file.label} has a longer one; "
                "break it into lines, one document each"
            )
    if held:
        yield b"".join(rest)


@contextmanager
def one_sentence(label: str) -> Iterator[None]:
    """Turns what can go wrong while a file is read into one sentence about it."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as error:
        raise UnreadableFile(
            f"a compressed file must be whole; {label} is damaged or cut short ({error}); fetch it again"
        ) from None
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = [*str(error).strip().splitlines(), type(error).__name__][0]
        raise UnreadableFile(
            f"a corpus file must be readable; {label} is not ({reason[:200]}); check its format and rights"
        ) from None


def _unzstd(raw: IO[bytes], size: int) -> Iterator[bytes]:
    """Decompresses frame after frame; the library's stream reader is silent about a file cut short.

    Fed a kilobyte at a time, because four bytes of the format can stand for 128 KiB of text.
    """
    decoder: Any = None
    parts: list[bytes] = []
    held = 0
    while piece := raw.read(1024):
        while piece:
            decoder = decoder or zstandard.ZstdDecompressor().decompressobj()
            parts.append(decoder.decompress(piece))
            held += len(parts[-1])
            piece, decoder = (decoder.unused_data, None) if decoder.eof else (b"", decoder)
        if held >= size:
            yield b"".join(parts)
            parts, held = [], 0
    if held:
        yield b"".join(parts)
    if decoder is not None:
        raise EOFError("the last frame has no end")
