"""Term lists by name or from files, to search vocabularies for. Suture ships patterns, no list of slurs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from workbench.errors import MissingExtra, SutureError, UnknownName
from workbench.termlists.families import own, read_families
from workbench.termlists.files import list_files, read_file
from workbench.termlists.naming import named
from workbench.termlists.packages import PACKAGES, from_package
from workbench.termlists.terms import TermLists, together

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BUILT_IN", "TermLists", "open_lists"]

BUILT_IN = ("patterns", *PACKAGES)
"""Names of the lists that are looked for: our own pattern families, and lists in installed packages."""


def open_lists(*specs: str, progress: Callable[[str], None] = lambda _: None) -> TermLists:
    """Opens term lists and takes them together.

    Args:
        specs: a name of ``BUILT_IN``; ``all`` for each of them that is installed; a file or folder, or
            ``PATH#category=slur&language=de&severity=strong&licence=CC0`` where content and name do not tell.
        progress: told each list before it is read.

    Raises:
        MissingExtra: a package named by hand is not installed.
        UnreadableFile: a path cannot be read.
        UnknownName: neither a name nor a path.
    """
    if not specs:
        raise SutureError(f"a term list must be named; got none; give all, {', '.join(BUILT_IN)}, or a path")
    parts: list[TermLists] = []
    for spec in dict.fromkeys(specs):
        progress(spec)
        parts.append(_all() if spec == "all" else _one(spec))
    return together(_fresh(parts))


def _fresh(parts: list[TermLists]) -> list[TermLists]:
    """The parts less the lists that an earlier one has already, as ``all`` and a name may bring twice."""
    seen: set[tuple[str, str]] = set()
    kept = []
    for part in parts:
        both = list(part.lists.select("name", "digest").iter_rows())
        names = [name for name, digest in both if (name, digest) not in seen]
        seen.update(both)
        among = pl.col("list").is_in(names)
        kept.append(
            TermLists(part.terms.filter(among), part.patterns.filter(among),
                      part.lists.filter(pl.col("name").is_in(names)), part.ledger.filter(among), part.missing)
        )  # fmt: skip
    return kept


def _all() -> TermLists:
    """Every built-in list that can be had, and a line on each that cannot."""
    parts, missing = [own()], []
    for name in PACKAGES:
        try:
            parts.append(from_package(name))
        except MissingExtra as error:
            missing.append(str(error))
    return together(parts, missing)


def _one(spec: str) -> TermLists:
    if spec == "patterns":
        return own()
    if spec in PACKAGES:
        return from_package(spec)
    told = named(spec)
    if not spec.strip() or not told.path.exists():
        raise UnknownName(
            f"a term list must be all, {', '.join(BUILT_IN)}, or a file or folder; {spec!r} is none; check it"
        )
    if told.path.suffix.lower() == ".toml":
        return read_families(told.path, told.said.get("name", told.path.stem), str(told.path))
    files = list_files(told.path)
    names = [path.stem for path in files]
    return together([
        read_file(path, told.said, f"{path.parent.name}/{path.stem}" if names.count(path.stem) > 1 else None)
        for path in files
    ])  # fmt: skip
