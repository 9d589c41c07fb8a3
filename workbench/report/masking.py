"""A run as a report shows it: what sensitive audits found is masked before anything draws it.

A drawing is given frames that are masked already, so that it cannot put a clear term on a page. Files of
the run itself stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl
import regex

from workbench.display import masked, masked_column
from workbench.runs import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

REVEAL = "each word keeps its first letter alone; `suture report RUN --reveal` writes the report in clear."
LABELS = frozenset(
    {
        "subject", "audit", "measure", "variant", "unit", "severity", "language", "list", "category", "group",
        "kind", "via", "script", "status",
    }
)  # fmt: skip
"""Columns that name groups of rows and never hold a term; all others but an audit's own labels are masked."""

LISTS = "_lists"
"""A table of this ending describes term lists by name, source and licence, and is shown as it is."""

_PLAIN = regex.compile(r"[\d.,:;%()]+|of")


@dataclass(frozen=True)
class MaskedRun(Run):
    """A run whose sensitive audits are masked: tokens, evidence, and texts and bytes of their tables."""

    _kept: dict[str, pl.DataFrame] = field(default_factory=dict, repr=False, compare=False)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The audits that are masked."""
        return self.sensitive

    @property
    def exact(self) -> Run:
        """The run as it is."""
        return Run(self.folder, self.manifest)

    def findings(self) -> pl.DataFrame:
        """All findings, those of sensitive audits masked."""
        return self._shown(super().findings())

    def since(self) -> pl.DataFrame | None:
        """Findings that are new or gone, those of sensitive audits masked."""
        found = super().since()
        return None if found is None else self._shown(found)

    def _shown(self, findings: pl.DataFrame) -> pl.DataFrame:
        own = pl.col("audit").is_in(list(self.hidden))
        entry = pl.col("token").is_not_null() | pl.col("token_id").is_not_null()
        return findings.with_columns(
            pl.when(own).then(_over("token", own, masked_column)).otherwise("token").alias("token"),
            pl.when(own & entry)
            .then(_over("evidence", own & entry, masked_column))
            .when(own)
            .then(_over("evidence", own & ~entry, _counts))
            .otherwise("evidence")
            .alias("evidence"),
        )

    def table(self, name: str) -> pl.DataFrame:
        """One of the larger tables, masked where a sensitive audit wrote it."""
        if name not in self._kept:
            self._kept[name] = self._masked(name, super().table(name))
        return self._kept[name]

    def _masked(self, name: str, table: pl.DataFrame) -> pl.DataFrame:
        writer = self.writer(name)
        if name.endswith(LISTS) or writer not in self.hidden:
            return table
        own = next(each.get("labels", ()) for each in self.manifest["audits"] if each["name"] == writer)
        return table.with_columns(
            masked_column(column) for column in table.iter_columns() if column.name not in LABELS.union(own)
        )


def masked_run(run: Run, *, reveal: bool = False) -> Run:
    """The run as it is to be shown.

    Args:
        run: a finished run.
        reveal: show what sensitive audits found in clear.
    """
    return run if reveal else MaskedRun(run.folder, run.manifest)


def notice(run: Run, names: Iterable[str] | None = None) -> str:
    """One sentence on what is masked here and how it is read in clear, or on what is shown in clear.

    Args:
        run: the run as it is shown.
        names: audits spoken of, or None for all of the run.

    Returns:
        The sentence, empty where none of them is sensitive.
    """
    spoken = [name for name in run.sensitive if names is None or name in set(names)]
    if not spoken:
        return ""
    what = f"Entries and evidence of {', '.join(spoken)} are"
    if run.hidden:
        return f"{what} masked: {REVEAL}"
    return f"{what} shown in clear here; `suture report RUN` masks them again."


def _over(column: str, where: pl.Expr, mask: Callable[[pl.Series], pl.Series]) -> pl.Expr:
    """A column masked in some rows and null in the others."""
    return pl.when(where).then(column).map_batches(mask, is_elementwise=True)


def _counts(evidence: pl.Series) -> pl.Series:
    """Evidence of a figure, whose numbers stay: ``12 of 50 entries`` is no term."""
    rows = [None if text is None else regex.sub(r"\S+", _number, text) for text in evidence.to_list()]
    return pl.Series(evidence.name, rows, pl.String)


def _number(match: regex.Match[str]) -> str:
    word = match.group()
    return word if _PLAIN.fullmatch(word) else masked(word)
