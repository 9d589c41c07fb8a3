"""Morph lexicons by name, or from files of the formats that linguists share."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from workbench.errors import SutureError, UnreadableFile
from workbench.languages import language_of
from workbench.lexicon import LEDGER, SCHEMA, MorphLexicon
from workbench.lexicons.files import lexicon_files
from workbench.lexicons.rows import Gathered, gathered

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["open_lexicon", "read_lexicon"]


def open_lexicon(*specs: str, progress: Callable[[str], None] = lambda _: None) -> MorphLexicon:
    """Opens lexicons and takes them together.

    Args:
        specs: ``embedded`` or ``embedded:de,fi``; a file or a folder of files, ``PATH#format=NAME`` where
            the format is not to be told by the content. Several are taken together.
        progress: told each file before it is read.

    Raises:
        UnreadableFile: a path is missing, of no known format, or nothing of it can be used.
    """
    if not specs:
        raise SutureError("a lexicon must be named; got none; give embedded, a file or a folder")
    found = [_open(spec, progress) for spec in specs]
    if len(found) == 1:
        return found[0]
    frame = pl.concat([each.frame for each in found])
    kept = frame.unique(["language", "word", "morphs"], keep="first", maintain_order=True)
    return MorphLexicon(
        " + ".join(each.name for each in found),
        " ".join(specs),
        kept,
        pl.concat([each.ledger for each in found]),
        hashlib.sha256("\n".join(str(each.digest) for each in found).encode()).hexdigest(),
        "; ".join(dict.fromkeys(each.licence for each in found if each.licence)) or None,
        tuple(note for each in found for note in each.notes),
    )


def _open(spec: str, progress: Callable[[str], None]) -> MorphLexicon:
    name, _, languages = spec.partition(":")
    if name == "embedded" and not Path(spec).exists():
        from workbench.lexicons.embedded import embedded  # noqa: PLC0415 its dictionaries are an extra

        progress(spec)
        return embedded(tuple(part for part in languages.split(",") if part) or None)
    text, _, form = spec.partition("#format=")
    return read_lexicon(Path(text).expanduser(), form or None, progress)


def read_lexicon(
    path: Path, form: str | None = None, progress: Callable[[str], None] = lambda _: None
) -> MorphLexicon:
    """Reads a lexicon file, or all of a folder.

    Args:
        path: the file or folder. A file's language is the first part of its name where that is a language
            code (``eng.word.dev.tsv``, ``de.tsv``), unless its rows name one.
        form: format of its files, where it is not to be told by their content.
        progress: told each file before it is read.

    Raises:
        UnreadableFile: it is missing, of no known format, not UTF-8, or holds no row that can be used.
    """
    if not path.exists():
        raise UnreadableFile(f"a lexicon must be a file or a folder; {path} does not exist; check the path")
    files = lexicon_files(path)
    parts: list[Gathered] = []
    digests = []
    for file in files:
        progress(str(file))
        parts.append(gathered(file, language_of(file.name.split(".")[0].split("_")[0]) or "und", form))
        with file.open("rb") as raw:
            digests.append(hashlib.file_digest(raw, "sha256").hexdigest())
    frame = pl.concat([part.frame for part in parts]) if parts else SCHEMA.to_frame()
    left = pl.concat([part.ledger for part in parts]) if parts else LEDGER.to_frame()
    if not frame.height:
        reasons = ", ".join(f"{rows} {reason}" for _, reason, rows, *_ in left.iter_rows()) or "no rows"
        raise UnreadableFile(
            f"a lexicon must hold segmented words; {path} has none that can be used ({reasons}); "
            "check its format"
        )
    listed = digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()
    formats = ", ".join(dict.fromkeys(part.format for part in parts))
    return MorphLexicon(path.stem, str(path), frame, left, listed, None, (f"read as {formats}",))
