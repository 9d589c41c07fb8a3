"""Morph lexicons by name, or from files of the formats that linguists share."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from workbench.errors import SutureError, UnreadableFile
from workbench.lexicon import MorphLexicon
from workbench.lexicons.files import kind_of, lexicon_files
from workbench.lexicons.kept import read_kept, write_lexicon
from workbench.lexicons.naming import Named, language_named, licence_beside, named
from workbench.lexicons.rows import gathered, together

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["open_lexicon", "read_lexicon", "write_lexicon"]


def open_lexicon(*specs: str, progress: Callable[[str], None] = lambda _: None) -> MorphLexicon:
    """Opens lexicons and takes them together.

    Args:
        specs: ``embedded`` or ``embedded:de,fi``; a file or a folder of files, or ``PATH#format=NAME``,
            ``PATH#language=de`` or ``PATH#format=NAME&language=de`` where content and name do not tell.
            Several are taken together; an entry that an earlier one has is counted as a duplicate.
        progress: told each file before it is read, and of a long one the rows that were read.

    Raises:
        UnreadableFile: a path is missing, of no known format, or nothing of it can be used.
    """
    if not specs:
        raise SutureError("a lexicon must be named; got none; give embedded, a file or a folder")
    found = [_open(spec, progress) for spec in specs]
    if len(found) == 1:
        return found[0]
    return _as_one(found, " + ".join(each.name for each in found), " ".join(specs))


def _as_one(found: list[MorphLexicon], name: str, source: str) -> MorphLexicon:
    frame, left = together([each.frame for each in found], [each.ledger for each in found])
    return MorphLexicon(
        name,
        source,
        frame,
        left,
        hashlib.sha256("\n".join(str(each.digest) for each in found).encode()).hexdigest(),
        "; ".join(dict.fromkeys(each.licence for each in found if each.licence)) or None,
        tuple(dict.fromkeys(note for each in found for note in each.notes)),
    )


def _open(spec: str, progress: Callable[[str], None]) -> MorphLexicon:
    name, _, languages = spec.partition(":")
    if name == "embedded" and not Path(spec).exists():
        from workbench.lexicons.embedded import embedded  # noqa: PLC0415 its dictionaries are an extra

        progress(spec)
        return embedded(tuple(part for part in languages.split(",") if part) or None)
    told = Named(spec) if Path(spec).exists() else named(spec)
    return read_lexicon(Path(told.path).expanduser(), told.format, progress, language=told.language)


def read_lexicon(
    path: Path,
    form: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
    *,
    language: str | None = None,
) -> MorphLexicon:
    """Reads a lexicon file, or all of a folder.

    Args:
        path: the file or folder.
        form: format of its files, where it is not to be told by their content.
        progress: told each file before it is read, and of a long one the rows that were read.
        language: its language where a row names none; None for what the files' names give
            (``eng.word.dev.tsv``, ``english_morph_data.csv``), else the folder's, else ``und``.

    Raises:
        UnreadableFile: it is missing, of no known format, not UTF-8, or holds no row that can be used.
    """
    if not path.exists():
        raise UnreadableFile(f"a lexicon must be a file or a folder; {path} does not exist; check the path")
    files = lexicon_files(path)
    found = []
    for file in files:
        progress(str(file))
        found.append(_read(file, form, language or language_named(file), progress))
    if len(found) > 1:
        whole = _as_one(
            [_with_file(each, file) for each, file in zip(found, files, strict=True)], path.stem, str(path)
        )
    else:
        whole = found[0]
    if not len(whole):
        counts = whole.ledger.group_by("reason", maintain_order=True).agg(pl.col("rows").sum()).iter_rows()
        reasons = ", ".join(f"{rows} {reason}" for reason, rows in counts) or "no rows"
        raise UnreadableFile(
            f"a lexicon must hold segmented words; {path} has none that can be used ({reasons}); "
            "check its format"
        )
    return whole


def _with_file(lexicon: MorphLexicon, file: Path) -> MorphLexicon:
    """Says in the ledger of which file its lines are."""
    said = pl.concat_str(pl.lit(f"{file.name}: "), "example").alias("example")
    return replace(lexicon, ledger=lexicon.ledger.with_columns(said))


def _read(file: Path, form: str | None, language: str, progress: Callable[[str], None]) -> MorphLexicon:
    with file.open("rb") as raw:
        digest = hashlib.file_digest(raw, "sha256").hexdigest()
    if kind_of(file) == "parquet":
        return read_kept(file, digest)
    part = gathered(file, language, form, progress)
    notes = (f"read as {part.format}", *part.notes) if part.format else part.notes
    return MorphLexicon(file.stem, str(file), part.frame, part.ledger, digest, licence_beside(file), notes)
