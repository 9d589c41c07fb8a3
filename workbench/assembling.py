"""Pieces of work put together into the tables of a run, and taken out of them again.

``pieces.json`` says which rows of a run are of which piece, so that the next run can take over a piece whose
key is the same without doing its work anew. A table that putting together has changed (columns that another
piece has besides, a wider type) is kept as it was under ``odd``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from workbench.findings import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RECORD = "pieces.json"
FORMAT = 1


def assemble(pieces: Sequence[Path], whole: Path) -> None:
    """Puts pieces under one another and records which rows are whose.

    Args:
        pieces: folders of ``findings.parquet`` and ``tables``, named by their keys, in their order.
        whole: an empty folder for the run.
    """
    (whole / "tables").mkdir(parents=True)
    record: list[dict[str, Any]] = [{"key": piece.name, "findings": 0, "tables": {}} for piece in pieces]
    found = [pl.read_parquet(piece / "findings.parquet") for piece in pieces]
    for line, rows in zip(record, found, strict=True):
        line["findings"] = rows.height
    pl.concat([SCHEMA.to_frame(), *found]).write_parquet(whole / "findings.parquet")
    for name in sorted({path.stem for piece in pieces for path in (piece / "tables").glob("*.parquet")}):
        parts = {
            place: pl.read_parquet(path)
            for place, piece in enumerate(pieces)
            if (path := piece / "tables" / f"{name}.parquet").exists()
        }
        joint = pl.concat(list(parts.values()), how="diagonal_relaxed")
        joint.write_parquet(whole / "tables" / f"{name}.parquet")
        for place, part in parts.items():
            record[place]["tables"][name] = part.height
            if _kinds(part) != _kinds(joint):
                odd = whole / "odd" / pieces[place].name
                odd.mkdir(parents=True, exist_ok=True)
                part.write_parquet(odd / f"{name}.parquet")
    text = json.dumps({"format": FORMAT, "pieces": record}, indent=1, sort_keys=True)
    (whole / RECORD).write_text(text + "\n", encoding="utf-8")


def _kinds(table: pl.DataFrame) -> list[tuple[str, pl.DataType]]:
    """Columns with their types, in their order."""
    return list(table.schema.items())


@dataclass(frozen=True)
class Former:
    """A finished run from which pieces can be taken.

    Attributes:
        folder: the run.
        record: the lines of its ``pieces.json``, in their order.
    """

    folder: Path
    record: tuple[dict[str, Any], ...]

    @classmethod
    def open(cls, folder: Path) -> Former:
        """Opens a run for reuse; one without a readable record has no pieces to take."""
        try:
            whole = json.loads((folder / RECORD).read_bytes())
            lines = tuple(whole["pieces"]) if whole["format"] == FORMAT else ()
            keys = [str(line["key"]) for line in lines]
            odd = [line for line in lines if not isinstance(line["tables"], dict)]
        except (OSError, ValueError, TypeError, KeyError):
            return cls(folder, ())
        return cls(folder, () if odd or len(set(keys)) < len(keys) else lines)

    def take(self, key: str, piece: Path) -> bool:
        """Writes a piece as it was kept, and says whether it could be had.

        A run whose tables are not as its record says gives nothing: the work is done anew.

        Args:
            key: the piece's key.
            piece: a folder to write ``findings.parquet`` and ``tables`` into.
        """
        line = next((line for line in self.record if line["key"] == key), None)
        if line is None:
            return False
        try:
            findings = self._rows(self.folder / "findings.parquet", key, None)
            if findings is None or findings.schema != SCHEMA:
                return False
            tables = {name: self._table(name, key) for name in line["tables"]}
        except (OSError, TypeError, ValueError, pl.exceptions.PolarsError):
            return False
        (piece / "tables").mkdir(parents=True)
        findings.write_parquet(piece / "findings.parquet")
        for name, table in tables.items():
            if table is None:
                return False
            table.write_parquet(piece / "tables" / f"{name}.parquet")
        return True

    def _table(self, name: str, key: str) -> pl.DataFrame | None:
        odd = self.folder / "odd" / key / f"{name}.parquet"
        if odd.exists():
            return pl.read_parquet(odd)
        return self._rows(self.folder / "tables" / f"{name}.parquet", key, name)

    def _rows(self, path: Path, key: str, table: str | None) -> pl.DataFrame | None:
        """A piece's rows of a file, or None where the file has not the rows that the record says."""
        sizes = [
            (line["key"], line["findings"] if table is None else line["tables"].get(table, 0))
            for line in self.record
        ]
        scan = pl.scan_parquet(path)
        if scan.select(pl.len()).collect().item() != sum(size for _, size in sizes):
            return None
        place = [one for one, _ in sizes].index(key)
        return scan.slice(sum(size for _, size in sizes[:place]), sizes[place][1]).collect()
