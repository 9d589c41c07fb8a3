"""What a drawing is given of a run, and what it gives back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.report.blocks import Block
    from workbench.runs import Run


class Look(NamedTuple):
    """One audit's part of a run.

    Attributes:
        run: the run, in which sensitive audits are masked already.
        findings: that audit's findings.
        subjects: inventories, in the order of their columns.
        top: rows at most in a list.
    """

    run: Run
    findings: pl.DataFrame
    subjects: tuple[str, ...]
    top: int

    def of(self, *measures: str) -> pl.DataFrame:
        """Findings of these measures."""
        return self.findings.filter(pl.col("measure").is_in(measures))

    def whole(self, *measures: str) -> pl.DataFrame:
        """Findings of these measures that are of no single language."""
        return self.of(*measures).filter(pl.col("language").is_null())

    def table(self, name: str, *columns: str) -> pl.DataFrame | None:
        """A larger table of the run, if it is there and has these columns."""
        if name not in self.run.tables():
            return None
        table = self.run.table(name)
        return table if set(columns) <= set(table.columns) else None

    def counted(self, name: str, *columns: str) -> pl.DataFrame | None:
        """As ``table``, but never masked: for counts of distinct terms, no text of which is to be shown."""
        return self._replace(run=self.run.exact).table(name, *columns)

    def named(self, *prefixes: str) -> list[str]:
        """Measures that begin with one of these."""
        names = self.findings["measure"].unique(maintain_order=True).to_list()
        return [name for name in names if name.startswith(prefixes)]

    def parts(self, prefix: str) -> dict[str, list[float]]:
        """Counts of the measures that begin so, one a subject, in the order of the findings."""
        rows = self.findings.filter(pl.col("measure").str.starts_with(prefix))
        found: dict[str, list[float]] = {}
        for subject, measure, value in rows.select("subject", "measure", "value").iter_rows():
            if subject in self.subjects:
                counts = found.setdefault(measure.removeprefix(prefix), [0.0] * len(self.subjects))
                counts[self.subjects.index(subject)] = value or 0.0
        return found


class Drawn(NamedTuple):
    """Blocks, and the measures and tables of the run that need not be shown once more."""

    blocks: list[Block]
    measures: Iterable[str] = ()
    tables: Iterable[str] = ()
