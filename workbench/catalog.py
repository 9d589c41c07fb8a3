"""The corpora that ship with Suture, by name."""

from __future__ import annotations

import importlib.util
import pydoc_data
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.corpusfiles import CorpusFile
from workbench.corpusscan import CorpusProblem
from workbench.paths import bundle

if TYPE_CHECKING:
    from collections.abc import Mapping

_INSTALL = 'its example sentences need the package; install it with pip install "suture[linguistics]"'


@cache
def catalog() -> dict[str, dict[str, Any]]:
    """Every named corpus as ``corpora/catalog.toml`` declares it."""
    tables = tomllib.loads((bundle("corpora") / "catalog.toml").read_text("utf-8"))
    return {name: table for name, table in tables.items() if table.get("kind", "corpus") == "corpus"}


def catalogued(name: str) -> tuple[tuple[CorpusFile, ...], dict[str, str], tuple[CorpusProblem, ...]]:
    """What a name in the catalog stands for.

    Returns:
        Its files, what is known about it (licence, origin), and which parts cannot be had.
    """
    entries = catalog()
    files: list[CorpusFile] = []
    known: list[CorpusProblem] = []
    for part in [name, *_parts(name, entries)]:
        files += [
            CorpusFile(bundle("corpora") / row["path"], row["path"], "lines", row["language"])
            for row in entries[part].get("files", [])
        ]
        if entries[part].get("spacy_examples"):
            examples = spacy_examples()
            files += examples
            if not examples:
                known.append(CorpusProblem("spaCy", "missing", note=_INSTALL))
        if entries[part].get("python_manual"):
            files.append(python_manual())
    metadata = {key: value for key, value in entries[name].items() if isinstance(value, str)}
    return tuple(files), metadata, tuple(known)


def _parts(name: str, entries: Mapping[str, dict[str, Any]]) -> list[str]:
    direct = list(entries[name].get("parts", []))
    return direct + [below for part in direct for below in _parts(part, entries)]


def python_manual() -> CorpusFile:
    """The language reference that Python ships for its ``help``, some 0.5 MB of English."""
    return CorpusFile(Path(pydoc_data.__path__[0]) / "topics.py", "pydoc_data/topics.py", "examples", "en")


def spacy_examples() -> list[CorpusFile]:
    """The example sentences of an installed spaCy, a file a language; none where it is missing.

    Its folder is found without importing it, which would take seconds.
    """
    spec = importlib.util.find_spec("spacy")
    if spec is None or spec.origin is None:
        return []
    found = sorted(Path(spec.origin).parent.glob("lang/*/examples.py"))
    return [
        CorpusFile(path, f"spacy/lang/{path.parent.name}/examples.py", "examples", path.parent.name)
        for path in found
    ]
