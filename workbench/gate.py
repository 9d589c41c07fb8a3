"""Which findings of a run stand against it: how grave, whether new, and whether somebody accepted them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from workbench.errors import SutureError
from workbench.findings import IS_GRAVE
from workbench.review import Review
from workbench.since import among

if TYPE_CHECKING:
    from workbench.runs import Run

LEVELS = {"flag": ("flag",), "warn": ("warn", "flag"), "never": ()}
"""Severities at which a job fails, by the word for them."""


def level(word: str) -> str:
    """The word itself, if it is one of ``LEVELS``.

    Raises:
        SutureError: it is none.
    """
    if word not in LEVELS:
        raise SutureError(f"--fail-on must be {', '.join(LEVELS)}; got {word!r}; pick one")
    return word


@dataclass(frozen=True)
class Verdict:
    """The findings of a run that are flagged or warned of, and what is decided on them.

    Attributes:
        findings: these, as the run shows them, with ``key``, ``state``, ``by``, ``why`` and ``new``, which is
            null where the run was compared with none.
        fail_on: one of ``LEVELS``.
        baseline: whether the run was compared with one that was named, so that only what is new counts.
    """

    findings: pl.DataFrame
    fail_on: str = "never"
    baseline: bool = False

    @property
    def standing(self) -> pl.DataFrame:
        """What is not accepted and, beside a baseline, new."""
        left = pl.col("state") != "accepted"
        return self.findings.filter(left & pl.col("new") if self.baseline else left)

    @property
    def failing(self) -> pl.DataFrame:
        """What of this is grave enough to fail a job."""
        return self.standing.filter(pl.col("severity").cast(pl.String).is_in(LEVELS[self.fail_on]))


def judge(run: Run, review: Review | None = None, fail_on: str = "never") -> Verdict:
    """Marks what a run flags and warns of.

    Args:
        run: a run as it is to be shown, masked or not.
        review: decisions on its findings, by default those beside it.
        fail_on: one of ``LEVELS``.
    """
    decided = Review.open(run) if review is None else review
    exact, changes = run.exact.findings(), run.exact.since()
    found = exact.filter(IS_GRAVE)
    marks = decided.apply(found).select("key", "state", "by", "why")
    new = pl.Series("new", [None] * found.height, pl.Boolean)
    if changes is not None:
        new = among(found, changes.filter(change="new")).alias("new")
    since = run.manifest.get("since") or {}
    shown = run.findings().filter(IS_GRAVE)
    return Verdict(shown.hstack(marks).with_columns(new), level(fail_on), bool(since.get("baseline")))
