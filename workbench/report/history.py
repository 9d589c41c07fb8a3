"""What a report says of time: what is new since a former run, and what people decided meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from workbench.report.blocks import Block, preview
from workbench.report.cells import label, shown
from workbench.review import OPEN
from workbench.since import said

if TYPE_CHECKING:
    from workbench.report.cells import Cell
    from workbench.review import Review
    from workbench.runs import Run

COLUMNS = {"id": "token_id", "entry": "token", "language": "language", "severity": "severity"}


def since_sentence(run: Run) -> str:
    """The difference to a former run in words, empty where it was compared with none."""
    summary = run.manifest.get("since")
    return shown(said(summary)) if summary else ""


def since_blocks(run: Run, top: int) -> list[Block]:
    """What is new and what is gone, the gravest first, under one heading a subject."""
    changes = run.since()
    if changes is None:
        return []
    blocks = []
    for change, title in (("new", "New since then"), ("gone", "Gone since then")):
        rows = changes.filter(change=change).sort("severity", descending=True, maintain_order=True)
        if rows.is_empty():
            continue
        what = pl.concat_str("audit", "measure", "variant", separator=", ", ignore_nulls=True)
        named = what.map_elements(label, return_dtype=pl.String).alias("what")
        note = pl.concat_str("note", "evidence", separator=": ", ignore_nulls=True).replace("", None)
        chosen = [pl.col(column).alias(name) for name, column in COLUMNS.items()]
        table = preview(
            rows.select("subject", named, *chosen, note.alias("note")), title, top, "all are in since.parquet"
        )
        block = Block(title, table, "", "flagged and warned of", folded=change == "gone", tall=True)
        blocks.append(unhinted(block) if run.hidden else block)
    return blocks


def unhinted(block: Block) -> Block:
    """A block whose tokens are masked, without the bytes of the mask for the pointer."""
    groups = [
        group._replace(rows=[list(map(_unhinted, row)) for row in group.rows]) for group in block.table.groups
    ]
    return block._replace(table=block.table._replace(groups=groups))


def _unhinted(cell: Cell) -> Cell:
    return cell._replace(hint=None)


def review_sentence(run: Run, review: Review) -> str:
    """How many findings people have decided on, empty where they have decided on none."""
    if not review.states:
        return ""
    counts = review.counts(run.exact.findings())
    parts = [f"{count:,} {state}" for state, count in counts.items() if state != OPEN]
    return f"Reviewed of what is flagged and warned of: {', '.join(parts)}; {counts[OPEN]:,} are {OPEN}."
