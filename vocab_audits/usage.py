"""Which entries text can produce, in which order they were learned, and how often a run met them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from workbench.errors import SutureError
from workbench.runs import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.inventory import Inventory

PRODUCED = ("piece", "byte", "added")
"""Kinds that stand for text of their bytes: no special tokens, reserved slots or holes."""

TABLE = "token_counts"
"""Table of the compression audit: subject, token_id, count."""


def in_learned_order(inventory: Inventory) -> pl.DataFrame:
    """Rows of the entries that text can produce, first those learned first.

    The order is by rank, else by falling score, else by id; byte and added entries, which are not
    learned, come last.
    """
    learned = pl.col("kind") == "piece"
    return inventory.frame.filter(pl.col("kind").is_in(PRODUCED) & pl.col("bytes").is_not_null()).sort(
        ~learned, "rank", "score", "id", descending=[False, False, True, False], nulls_last=True
    )


def token_counts(folder: str | Path, inventory: Inventory) -> NDArray[np.int64]:
    """Occurrences of every id of an inventory (rows_needed,) in the corpus of an earlier run.

    Args:
        folder: a run that holds the compression audit's table of token counts.
        inventory: the inventory, found in the table by its name.

    Raises:
        SutureError: the run has no such table, no row of this inventory, or ids beyond it.
    """
    run = Run.open(Path(folder))
    if TABLE not in run.tables():
        raise SutureError(
            f"counts must come from a run of the compression audit; {folder} has no table {TABLE}; "
            "audit the corpus first"
        )
    rows = run.table(TABLE).filter(subject=inventory.name)
    ids = rows["token_id"].to_numpy()
    if not rows.height or ids.max() >= inventory.rows_needed:
        names = ", ".join(sorted(run.table(TABLE)["subject"].unique().to_list()))
        raise SutureError(
            f"counts must be of the inventory {inventory.name} with ids below {inventory.rows_needed}; "
            f"{folder} has counts of {names or 'none'}; give the run that audited it under this name"
        )
    counts = np.zeros(inventory.rows_needed, np.int64)
    counts[ids] = rows["count"].to_numpy()
    return counts
