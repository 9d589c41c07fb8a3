"""The sections of a report: one an audit, whatever it measures."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from workbench.report.blocks import KEY, Block, figures, listing, preview, split
from workbench.report.cells import label, shown
from workbench.report.drawing import draw
from workbench.report.history import unhinted
from workbench.report.looks import Look
from workbench.report.masking import notice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from workbench.runs import Run

LISTS, BY_LANGUAGE = 24, 80
"""Lists and tables by language of one audit that are shown; a plugin may have any number of them."""

SAMPLE = 20
"""Rows shown of a table that no audit of ours draws."""


class Section(NamedTuple):
    """One audit's part of the report.

    Attributes:
        name: the audit's name.
        title: heading.
        summary: what it measures.
        options: its options in words.
        counts: findings of each severity.
        blocks: its tables and drawings.
        languages: tables of single measures by language.
        notice: what is masked in it and how it is read, or that it is shown in clear.
    """

    name: str
    title: str
    summary: str
    options: list[str]
    counts: dict[str, int]
    blocks: list[Block]
    languages: list[Block]
    notice: str = ""


def sections(run: Run, subjects: tuple[str, ...], top: int) -> list[Section]:
    """A section for each audit of a run, in the order of its manifest.

    Args:
        run: the run.
        subjects: inventories that have a column.
        top: rows at most in a list.
    """
    findings = run.findings()
    described = {audit["name"]: audit for audit in run.manifest.get("audits", [])}
    names = [*described, *findings["audit"].unique(maintain_order=True).to_list()]
    return [
        _section(described.get(name, {"name": name}), Look(run, findings.filter(audit=name), subjects, top))
        for name in dict.fromkeys(names)
    ]


def _section(about: Mapping[str, Any], look: Look) -> Section:
    name = about["name"]
    drawn = draw(name, look)
    left = look.findings.filter(~pl.col("measure").is_in(list(drawn.measures)))
    single, listed = split(left)
    blocks = [*drawn.blocks, *_lists(listed, look.top), *_figures(single, look, folded=bool(drawn.blocks))]
    blocks += _tables(name, look, set(drawn.tables))
    if name in look.run.hidden:
        blocks = list(map(unhinted, blocks))
    return Section(
        shown(name, 80),
        shown(about.get("title") or label(name)),
        shown(about.get("summary") or ""),
        list(_options(about)),
        counts(look.findings),
        blocks,
        list(_by_language(single, look)),
        shown(notice(look.run, [name])),
    )


def counts(findings: pl.DataFrame) -> dict[str, int]:
    """How many findings there are of each severity, the gravest first."""
    found = dict(findings["severity"].cast(pl.String).value_counts().iter_rows())
    return {level: int(found.get(level, 0)) for level in ("flag", "warn", "info")}


def _options(about: Mapping[str, Any]) -> Iterator[str]:
    for key, value in about.get("options", {}).items():
        default = " (default)" if key in about.get("defaulted", ()) else ""
        yield f"{shown(str(key))} = {shown(str(value), 80)}{default}"


def _lists(listed: pl.DataFrame, top: int) -> Iterator[Block]:
    """What is listed row by row, one table a measure and variant, the gravest first."""
    groups = listed.group_by("measure", "variant", maintain_order=True).agg(pl.col("severity").max())
    groups = groups.sort("severity", descending=True, maintain_order=True).head(LISTS)
    for measure, variant, severity in groups.iter_rows():
        rows = listed.filter(pl.col("measure").eq(measure) & pl.col("variant").eq_missing(variant))
        title = f"Listed: {label(measure)}"
        scale = f"variant: {shown(variant)}" if variant else ""
        yield Block(title, listing(rows, title, top), "", scale, folded=severity == "info", tall=True)


def _figures(single: pl.DataFrame, look: Look, *, folded: bool) -> Iterator[Block]:
    """Figures that are of no single language: of inventories, then of what else has any."""
    whole = single.filter(pl.col("language").is_null())
    own = pl.col("subject").is_in(look.subjects)
    rows = whole.filter(own)
    if rows.height:
        title = "More figures" if folded else "Figures"
        reading = "One row a measure, with its variant and unit; the numbers beside figures are notes."
        yield Block(title, figures(rows, look.subjects, title, 4 * look.top), reading, folded=folded)
    known = [subject["name"] for subject in look.run.manifest.get("subjects", [])]
    rows = whole.filter(~pl.col("subject").is_in(known))
    if rows.height:
        title = "Figures of pairs and other subjects"
        kept = rows.select("measure", "variant", "subject", "value", "unit", "severity", "note")
        table = preview(
            kept.with_columns(pl.concat_str("measure", "variant", separator=", ", ignore_nulls=True))
            .drop("variant")
            .rename({"subject": "of", "measure": "subject"}),
            title,
            4 * look.top,
            "all are in findings.parquet",
        )
        yield Block(title, table, "One heading a measure, with its variant.", folded=True, tall=True)


def _by_language(single: pl.DataFrame, look: Look) -> Iterator[Block]:
    rows = single.filter(pl.col("language").is_not_null() & pl.col("subject").is_in(look.subjects))
    for key, part in islice(rows.group_by(KEY, maintain_order=True), BY_LANGUAGE):
        title = label(str(key[0]))
        table = figures(part, look.subjects, title, look.top, by="language")
        scale = "; ".join(f"{name}: {shown(str(value))}" for name, value in zip(KEY[1:], key[1:], strict=True)
                          if value is not None)  # fmt: skip
        yield Block(title, table, "", scale, tall=True)


def _tables(audit: str, look: Look, covered: Iterable[str]) -> Iterator[Block]:
    """The beginning of each table that bears the audit's name and is not drawn."""
    for name in look.run.tables():
        if name in covered or not (name == audit or name.startswith(f"{audit}_")):
            continue
        table = look.run.table(name)
        title = f"Table {shown(name, 80)}"
        few = preview(table, title, min(look.top, SAMPLE), f"all are in tables/{shown(name, 80)}.parquet")
        yield Block(title, few, "The first rows, as the audit wrote them.", folded=True, tall=True)
