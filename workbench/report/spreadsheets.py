"""The findings and tables of a run as CSV files, for spreadsheets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from workbench.display import faithful, faithful_column, write_csv
from workbench.report.masking import masked_run

if TYPE_CHECKING:
    from pathlib import Path

    from workbench.runs import Run


def write_tables(run: Run, *, reveal: bool = False) -> Path:
    """Writes ``csv/findings.csv`` and a file for each larger table into a run's folder.

    What a sensitive audit found is masked; a masked token has no column of bytes.

    Args:
        run: a finished run.
        reveal: write what sensitive audits found in clear.

    Returns:
        The folder.

    Raises:
        SutureError: the place is not writable.
    """
    seen = masked_run(run, reveal=reveal)
    folder = run.folder / "csv"
    folder.mkdir(exist_ok=True)
    write_csv(_findings(seen), folder / "findings.csv")
    for name in seen.tables():
        table = seen.table(name)
        if seen.writer(name) in seen.hidden:
            table = _shown(table)
        lists = [column for column, kind in table.schema.items() if isinstance(kind, pl.List)]
        write_csv(table.with_columns(_joined(table[column]) for column in lists), folder / f"{name}.csv")
    return folder


def _findings(run: Run) -> pl.DataFrame:
    """Findings with the bytes of tokens, of which masked ones have none."""
    found = run.findings()
    if not run.hidden:
        return found
    exact = pl.when(~pl.col("audit").is_in(list(run.hidden))).then(pl.col("token").bin.encode("hex"))
    shown = found.with_columns(exact.alias("token_hex"), faithful_column(found["token"]).alias("token_shown"))
    place = found.columns.index("token")
    return shown.select(*found.columns[:place], "token_hex", "token_shown", *found.columns[place + 1 :])


def _shown(table: pl.DataFrame) -> pl.DataFrame:
    """A masked table with its bytes as text alone."""
    return table.with_columns(
        faithful_column(column) for column in table.iter_columns() if column.dtype == pl.Binary
    )


def _joined(lists: pl.Series) -> pl.Series:
    """Each list as one text; bytes are shown as everywhere, since they need not be UTF-8."""
    rows = [
        None if row is None
        else " | ".join(faithful(item) if isinstance(item, bytes) else str(item) for item in row)
        for row in lists.to_list()
    ]  # fmt: skip
    return pl.Series(lists.name, rows, pl.String)
