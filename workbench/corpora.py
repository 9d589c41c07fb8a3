"""Corpora: text in bounded memory, from files, from standard input, or by a name in the catalog."""

from __future__ import annotations

import difflib
import glob
import hashlib
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.catalog import catalog, catalogued
from workbench.corpusfiles import BLOCK, FORMATS, CorpusFile, digest, format_of
from workbench.corpusrows import Rows, document_count, rows
from workbench.corpusscan import CorpusProblem, scan, stopped
from workbench.errors import SutureError, UnknownName, UnreadableFile
from workbench.languages import language_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from workbench.corpusrows import Errors

_MAX_NAME = 255
"""Bytes of a file's name that common file systems take; a longer spec is a text, not a path."""


class Batch(NamedTuple):
    """Some documents of one language (None where it is not known), in the order of their file."""

    texts: list[str]
    language: str | None


def kept(text: str, share: float, salt: bytes = b"") -> bool:
    """Whether a text falls into a share of all texts, by its hash: the same text always falls alike."""
    found = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8, key=salt).digest()
    return int.from_bytes(found, "big") < share * 2**64


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents, read from files each time they are asked for.

    Attributes:
        name: short name.
        source: what was asked for, as a user would type it.
        files: the files, in the order in which they are read.
        text_column: field or column of JSON lines and Parquet files that holds the text.
        language: the language of every document, or None to take it from a ``language`` column or the
            file's name.
        limit: number of documents taken from the start of each file, or None for all.
        errors: ``strict``, or ``replace`` to read each invalid byte sequence as U+FFFD.
        metadata: what is known about it: licence, origin and the like.
        known: problems known before any file was read.
    """

    name: str
    source: str
    files: tuple[CorpusFile, ...]
    text_column: str = "text"
    language: str | None = None
    limit: int | None = None
    errors: Errors = "strict"
    metadata: Mapping[str, str] = field(default_factory=dict)
    known: tuple[CorpusProblem, ...] = ()
    spool: Any = field(default=None, repr=False)  # a temporary file, which goes when the corpus goes

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise SutureError(
                f"a limit must be at least 1 document a file; got {self.limit}; leave it out to read all"
            )
        if self.errors not in ("strict", "replace"):
            raise SutureError(f"errors must be 'strict' or 'replace'; got {self.errors!r}; pass one of them")
        if not any(file.path.stat().st_size for file in self.files):
            raise self.no_text()

    def batches(self, size_bytes: int = BLOCK) -> Iterator[Batch]:
        """The documents, about ``size_bytes`` of them at a time; no more than that is held.

        Raises:
            SutureError: a file cannot be read or is not valid UTF-8, or there is no text at all.
        """
        empty = True
        for file in self.files:
            for batch in self.file_batches(file, size_bytes):
                empty = empty and not any(batch.texts)
                yield batch
        if empty:
            raise self.no_text()

    def file_batches(self, file: CorpusFile, size_bytes: int = BLOCK) -> Iterator[Batch]:
        """The documents of one of the files, as ``batches`` gives them."""
        found = rows(file, self.text_column, self.errors, size_bytes)
        try:
            for some in found if self.limit is None else _first(found, self.limit):
                yield from self._by_language(some, file)
        except UnicodeError:
            problems = scan(file, self.text_column)
            raise stopped([problem for problem in problems if problem.stops(self.errors)]) from None

    def _by_language(self, some: Rows, file: CorpusFile) -> Iterator[Batch]:
        if self.language is not None or some.languages is None:
            yield Batch(some.texts, self.language or file.language)
            return
        groups: dict[str | None, list[str]] = {}
        for text, language in zip(some.texts, some.languages, strict=True):
            groups.setdefault(language or file.language, []).append(text)
        for language, texts in groups.items():
            yield Batch(texts, language)

    @cached_property
    def problems(self) -> tuple[CorpusProblem, ...]:
        """All problems of the files, from one pass over them, with those known before."""
        found = [problem for file in self.files for problem in scan(file, self.text_column)]
        return (*self.known, *found)

    def check(self) -> list[CorpusProblem]:
        """Reads every file once, before any work on it.

        Returns:
            The problems that do not stop the work, to be shown.

        Raises:
            SutureError: a file is not UTF-8, or broken; the message says which and where.
        """
        stops = [problem for problem in self.problems if problem.stops(self.errors)]
        if stops:
            raise stopped(stops)
        return list(self.problems)

    @cached_property
    def digest(self) -> str:
        """SHA-256 for provenance: of the one file, or of the list of digests and names of several.

        The list has the form that ``sha256sum`` prints, so that ``sha256sum * | sha256sum`` in a folder
        of texts gives the same.
        """
        digests = [digest(file) for file in self.files]
        if len(digests) == 1:
            return digests[0]
        pairs = zip(digests, self.files, strict=True)
        listed = "".join(f"{found}  {file.path.name}\n" for found, file in pairs)
        return hashlib.sha256(listed.encode()).hexdigest()

    @cached_property
    def parallel(self) -> bool:
        """Whether the files are likely translations: several, in one folder, with as many documents each."""
        return is_parallel(self.files)

    @property
    def size(self) -> int:
        """Bytes of the files on disk, for a progress bar."""
        return sum(file.path.stat().st_size for file in self.files)

    def no_text(self) -> SutureError:
        """The error to raise where there is no text at all."""
        return SutureError(f"a corpus must hold text; {self.source} holds none; give other files")


def is_parallel(files: Iterable[CorpusFile]) -> bool:
    """Whether several files of one folder hold the same number of documents, as translations do."""
    several = list(files)
    if len(several) < 2 or len({file.path.parent for file in several}) > 1:
        return False
    first = document_count(several[0])
    return all(document_count(file) == first for file in several[1:])


def _first(found: Iterator[Rows], limit: int) -> Iterator[Rows]:
    for some in found:
        yield Rows(some.texts[:limit], some.languages and some.languages[:limit])
        limit -= len(some.texts)
        if limit <= 0:
            return


def open_corpus(
    spec: str,
    *,
    text_column: str = "text",
    language: str | None = None,
    limit: int | None = None,
    errors: Errors = "strict",
) -> Corpus:
    """Opens a corpus; nothing but the names of its files is read yet.

    Args:
        spec: a name in the catalog (``embedded``, ``sample``, ``parallel``), ``-`` for standard input,
            a file, a folder, or a pattern such as ``texts/**/*.txt.gz``. Text files hold one document a
            line; ``.jsonl`` and ``.parquet`` files hold one a row; ``.gz`` and ``.zst`` are unpacked.
        text_column: field or column of JSON lines and Parquet files that holds the text.
        language: the language of all of it. By default a ``language`` column says, or in a folder the
            file's name where it is a language code: ``de.txt``, ``deu_Latn.txt``.
        limit: number of documents taken from the start of each file.
        errors: ``replace`` to read each invalid byte sequence as U+FFFD; by default it is an error.

    Raises:
        UnknownName: neither a file nor a name in the catalog.
        SutureError: the files cannot be read, or hold nothing.
    """
    options: dict[str, Any] = {
        "text_column": text_column,
        "language": language,
        "limit": limit,
        "errors": errors,
    }
    if spec == "-":
        return _from_stdin(options)
    if spec in catalog():
        files, metadata, known = catalogued(spec)
        return Corpus(spec, spec, files, metadata=metadata, known=known, **options)
    path = Path(spec).expanduser()
    if not spec or "\0" in spec or len(path.name) > _MAX_NAME:
        raise _nothing(spec[:_MAX_NAME])
    if path.is_dir():
        return Corpus(path.name, spec, _files_in(path, spec), **options)
    if path.is_fifo():
        with path.open("rb") as pipe:
            return _spooled(path.name, spec, pipe, options)
    if path.exists():
        return Corpus(_stem(path), spec, (_file(path, spec),), **options)
    found = sorted(map(Path, glob.glob(str(path), recursive=True)))  # noqa: PTH207 takes absolute patterns
    files = tuple(_file(item, str(item), named=True) for item in found if item.is_file())
    if not files:
        raise _nothing(spec)
    return Corpus(spec, spec, files, **options)


def _stem(path: Path) -> str:
    return path.name.partition(".")[0] or path.name


def _file(path: Path, label: str, *, named: bool = False) -> CorpusFile:
    if not path.is_file() or not os.access(path, os.R_OK):
        raise UnreadableFile(
            f"a corpus file must be a readable file; {label} is not; check its kind and rights"
        )
    language = language_of(_stem(path)) if named else None
    return CorpusFile(path.resolve(), label, format_of(path) or "lines", language)


def _files_in(folder: Path, spec: str) -> tuple[CorpusFile, ...]:
    """Files of known formats in a folder and the folders below it; hidden ones are passed over."""

    def refuse(error: OSError) -> None:
        raise UnreadableFile(
            f"a folder of texts must be readable; {error.filename} is not ({error.strerror}); "
            "change its rights"
        ) from error

    found = []
    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(parent, name) for name in names if not name.startswith(".")]
    files = sorted(path for path in found if format_of(path))
    if not files:
        raise UnreadableFile(
            f"a folder of texts must hold files that end in {', '.join(FORMATS)}, also with .gz or .zst; "
            f"{spec} holds none; give a pattern such as '{spec.rstrip('/')}/*'"
        )
    return tuple(_file(path, str(path), named=True) for path in files)


def _nothing(spec: str) -> SutureError:
    if glob.has_magic(spec):
        return UnreadableFile(
            f"a pattern must match a file; {spec} matches none; check the folder and quotes"
        )
    near = difflib.get_close_matches(spec, catalog(), 1)
    hint = f"did you mean {near[0]!r}?" if near else "check the path"
    return UnknownName(
        f"a corpus must be a file, a folder, a pattern, - or one of {', '.join(catalog())}; "
        f"there is no {spec}; {hint}"
    )


def _from_stdin(options: dict[str, Any]) -> Corpus:
    if sys.stdin.isatty():
        raise SutureError(
            "a corpus on standard input must be piped in; a terminal is attached; pipe a file or name one"
        )
    return _spooled("stdin", "-", sys.stdin.buffer, options)


def _spooled(name: str, spec: str, pipe: Any, options: dict[str, Any]) -> Corpus:
    """Copies a stream to a temporary file: it is read more than once, to check, to digest, to count."""
    spool = tempfile.NamedTemporaryFile(prefix="suture-", suffix=".txt")  # noqa: SIM115 the corpus holds it
    shutil.copyfileobj(pipe, spool)
    spool.flush()
    label = "standard input" if spec == "-" else spec
    return Corpus(name, spec, (CorpusFile(Path(spool.name), label, "lines"),), spool=spool, **options)
