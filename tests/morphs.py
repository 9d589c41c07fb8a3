"""A small morph lexicon for the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from workbench.lexicon import SCHEMA, MorphLexicon

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Entry = tuple[str, Sequence[str], Sequence[str] | None, str | None]


def lexicon(entries: Iterable[Entry]) -> MorphLexicon:
    """From language, morphs, their roles, and the process of each word."""
    rows = [
        {
            "language": language,
            "word": "".join(morphs),
            "morphs": list(morphs),
            "roles": roles and list(roles),
            "how": "concatenative",
            "process": process,
        }
        for language, morphs, roles, process in entries
    ]
    return MorphLexicon("small", "small", pl.DataFrame(rows, SCHEMA))
