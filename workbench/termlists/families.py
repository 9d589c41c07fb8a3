"""Pattern families: shapes and phrases that are Suture's own, in ``corpora/patterns.toml`` or a file like it.

A family has ``phrases``, sought anywhere in an entry where their script has no spaces, else as words;
``joined``, two lists of which every pair makes a phrase; and ``patterns``, regular expressions over an
entry's text, where ``{NAME}`` stands for any member of the set of that name; ``unless`` excuses an entry.
"""

from __future__ import annotations

import hashlib
import tomllib
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl
import regex

from workbench.errors import SutureError, UnreadableFile
from workbench.paths import bundle
from workbench.termlists import folding
from workbench.termlists.files import framed
from workbench.termlists.rows import About, built
from workbench.termlists.terms import CATEGORIES, PATTERNS, SEVERITIES, TermLists

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FILE = "patterns.toml"


def own() -> TermLists:
    """The families that ship with Suture."""
    return read_families(bundle("corpora") / FILE, "patterns", f"Suture, corpora/{FILE}")


def read_families(path: Path, name: str, source: str) -> TermLists:
    """Reads a file of families.

    Raises:
        UnreadableFile: it is no TOML of this form.
    """
    content = path.read_bytes()
    try:
        table = tomllib.loads(content.decode())
        families = [_checked(family) for family in table["family"]]
        phrases = framed([row for family in families for row in _phrases(family)])
        shapes = [row for family in families for row in _shapes(family, table.get("sets", {}), name)]
    except (
        UnicodeDecodeError,
        tomllib.TOMLDecodeError,
        KeyError,
        TypeError,
        ValueError,
        regex.error,
    ) as error:
        raise UnreadableFile(
            f"pattern families must be TOML with [[family]] tables; {path} is not ({error}); correct it"
        ) from None
    digest = hashlib.sha256(content).hexdigest()
    made = built(phrases, About(name, source, table.get("licence"), digest), {})
    patterns = pl.DataFrame(shapes, PATTERNS, orient="row")
    lists = made.lists.with_columns(pl.col("terms") + patterns.height)
    return TermLists(made.terms, patterns, lists, made.ledger)


def _checked(family: Mapping[str, Any]) -> Mapping[str, Any]:
    for key, known in (("category", CATEGORIES), ("severity", SEVERITIES)):
        if family[key] not in known:
            raise ValueError(f"{key} must be one of {', '.join(known)}; {family['name']} has {family[key]!r}")
    return family


def _phrases(family: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, str | None]]]:
    listed = [*family.get("phrases", ())]
    for pair in family.get("joined", ()):
        listed += ["".join(parts) for parts in product(*pair)]
    for place, phrase in enumerate(dict.fromkeys(listed), 1):
        yield place, {
            "term": phrase, "category": family["category"], "group": family["name"],
            "language": family["language"], "severity": family["severity"],
            "mode": "contains" if folding.unspaced(phrase) else "word",
        }  # fmt: skip


def _shapes(family: Mapping[str, Any], sets: Mapping[str, list[str]], name: str) -> Iterator[tuple[Any, ...]]:
    unless = _filled(family["unless"], sets) if "unless" in family else None
    for pattern in family.get("patterns", ()):
        yield (_filled(pattern, sets), unless, family["name"], family["category"], family["language"],
               family["severity"], name)  # fmt: skip


def _filled(pattern: str, sets: Mapping[str, list[str]]) -> str:
    """A pattern with its sets written out; it must be one that both Polars and ``regex`` take."""
    for name, members in sets.items():
        pattern = pattern.replace(f"{{{name}}}", f"(?:{'|'.join(sorted(members, key=len, reverse=True))})")
    regex.compile(pattern)
    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.PolarsError as error:
        raise SutureError(f"a pattern must be one that Polars takes; {pattern[:60]!r} is not "
                          f"({str(error)[:80]}); correct it") from None  # fmt: skip
    return pattern
