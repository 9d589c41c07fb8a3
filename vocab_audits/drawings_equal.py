"""What a report draws of unequal treatment: differences in tokens between groups of terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from workbench.report.blocks import Block, Group, Table
from workbench.report.cells import NONE, Cell, number, shown
from workbench.report.looks import Drawn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from workbench.report.looks import Look

CONTEXT = "after a space"
KEY = ("kind", "language", "first", "second")
WAYS = {
    ("twins", "all"): ("Each term against its twin, each group of names against the first", ""),
    ("frequency",): ("The same groups at equal word frequency", ", pairs within the frequency asked for"),
}


def asymmetry(look: Look) -> Drawn:
    """Differences in tokens after a space, as they are and at equal frequency; no term is shown."""
    covered = ("asymmetry", "asymmetry_terms")
    columns = (*KEY, "subject", "context", "measure", "matching", "difference", "low", "high", "p_holm")
    table = look.table("asymmetry", *columns)
    if table is None or table.is_empty():
        return Drawn([], (), covered)
    kept = table.filter(context=CONTEXT, measure="tokens").filter(pl.col("subject").is_in(look.subjects))
    blocks = []
    for ways, (title, rest) in WAYS.items():
        part = kept.filter(pl.col("matching").is_in(ways))
        if part.height:
            blocks.append(_block(look, part, title, rest))
    return Drawn(blocks, ("tokens_difference",), covered)


def _block(look: Look, table: pl.DataFrame, title: str, rest: str) -> Block:
    found = {(*(row[name] for name in KEY), row["subject"]): row for row in table.iter_rows(named=True)}
    groups = []
    for (kind,), part in table.group_by("kind", maintain_order=True):
        rows = []
        for key in list(dict.fromkeys(part.select(KEY).iter_rows()))[: 2 * look.top]:
            label = f"{key[3]} − {key[2]}" + (f" ({key[1]})" if key[1] else "")
            rows.append([Cell(shown(label, 60)), *_cells(found, key, look.subjects)])
        groups.append(Group(rows, shown(str(kind))))
    head = [Cell("difference"), *(Cell(shown(subject), number=True) for subject in look.subjects)]
    return Block(
        title,
        Table(title, head, groups, more="all contexts and measures are in tables/asymmetry.parquet"),
        "Above 0, terms of the group named first take more tokens; the second line is the 95 % interval.",
        f"unit: tokens a term, {CONTEXT}{rest}; *: p below 0.05 after Holm's correction",
        tall=True,
    )


def _cells(
    found: Mapping[tuple[Any, ...], Mapping[str, Any]], key: tuple[Any, ...], subjects: Sequence[str]
) -> list[Cell]:
    cells = []
    for subject in subjects:
        row = found.get((*key, subject))
        if row is None or row["difference"] is None:
            cells.append(Cell(NONE, number=True))
            continue
        between = None if row["low"] is None else f"{number(row['low'], 2)} to {number(row['high'], 2)}"
        star = " *" if row["p_holm"] is not None and row["p_holm"] < 0.05 else ""
        cells.append(Cell(number(row["difference"], 2) + star, sub=between, number=True))
    return cells
