"""What a report is made of: tables and bars, built from findings and tables of a run.

Nothing here knows an audit; every list is cut to a given number of rows and says how many there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from workbench.report.cells import (
    NONE,
    Cell,
    Notes,
    Scale,
    digits,
    label,
    number,
    percent,
    severity_of,
    shown,
    token_cell,
)
from workbench.report.palettes import CATEGORICAL, OTHER, ink

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

KEY = ("measure", "variant", "unit", "layer", "position", "step")
"""What tells one figure of an audit from another."""


class Group(NamedTuple):
    """Rows of a table under one heading; the first cell of a row names it."""

    rows: list[list[Cell]]
    heading: str | None = None


class Table(NamedTuple):
    """A table; ``notes`` are numbered from 1, ``more`` says what was left out and where it is."""

    caption: str
    head: list[Cell]
    groups: list[Group]
    notes: tuple[str, ...] = ()
    more: str | None = None


class Segment(NamedTuple):
    """A part of a bar; ``start`` and ``width`` are in per cent of it."""

    label: str
    start: float
    width: float
    fill: str
    hatched: bool
    written: str = ""

    @property
    def ink(self) -> str:
        """Colour of the text on it."""
        return ink(self.fill)


class Bar(NamedTuple):
    """One stacked bar, with its description in words."""

    name: str
    description: str
    segments: list[Segment]


class Block(NamedTuple):
    """A part of a section.

    Attributes:
        title: heading.
        table: the numbers.
        reading: one sentence on how to read it.
        scale: unit and variant.
        bars: a drawing of the table's numbers; the table is then folded under it.
        legend: a segment for each label of the bars.
        folded: whether the table is closed until it is asked for.
        tall: whether the table scrolls within a box.
    """

    title: str
    table: Table
    reading: str = ""
    scale: str = ""
    bars: tuple[Bar, ...] = ()
    legend: tuple[Segment, ...] = ()
    folded: bool = False
    tall: bool = False


def split(findings: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Figures, of which each subject has one a key, and what is listed row by row."""
    single = findings.with_columns(once=pl.len().over("subject", "language", *KEY) == 1)
    figure = pl.col("token_id").is_null() & pl.col("token").is_null()
    figure &= pl.col("once").all().over("measure", "variant")
    return single.filter(figure).drop("once"), single.filter(~figure).drop("once")


def figures(
    findings: pl.DataFrame,
    subjects: Sequence[str],
    caption: str,
    top: int,
    *,
    by: str | None = None,
    heat: bool = False,
) -> Table:
    """A table of measures by subjects.

    Args:
        findings: figures of one audit, at most one a subject and row.
        subjects: the columns, in order.
        caption: what the table is.
        top: rows at most.
        by: a column whose values name the rows, instead of the measures themselves.
        heat: colour the cells, from the least to the greatest value shown.
    """
    keys = findings.select(by or KEY).unique(maintain_order=True)
    if not by:  # variants of a measure stand together
        first = pl.int_range(pl.len()).min().over("measure")
        keys = keys.with_columns(first=first).sort("first", maintain_order=True).drop("first")
    kept = findings.join(keys.head(top), on=keys.columns, nulls_equal=True, maintain_order="left")
    scale = Scale.of(kept["value"].to_list()) if heat else None
    notes = Notes()
    rows = []
    parts = kept.partition_by(keys.columns, as_dict=True)
    for key in keys.head(top).iter_rows():
        found = {row["subject"]: row for row in parts[key].iter_rows(named=True)}
        name = Cell(shown(str(key[0] or "all together"))) if by else _named(key)
        rows.append([name, *_values(found, subjects, notes, scale)])
    said = "Colours go by ratio, not by difference. " if scale and scale.by_ratio else ""
    if keys.height > top:
        said += f"{top} of {keys.height:,} rows are shown; all are in findings.parquet"
    head = [Cell(by or "measure"), *(Cell(shown(subject), number=True) for subject in subjects)]
    return Table(caption, head, [Group(rows)], tuple(notes.texts), said or None)


def _named(key: tuple[Any, ...]) -> Cell:
    measure, variant, unit, *places = key
    pairs = zip(("layer", "position", "step"), places, strict=True)
    where = [f"{name} {place}" for name, place in pairs if place is not None]
    sub = "; ".join(shown(part) for part in (variant, unit, *where) if part)
    return Cell(label(measure), sub=sub or None)


def _values(
    found: Mapping[str, Any], subjects: Sequence[str], notes: Notes, scale: Scale | None
) -> Iterator[Cell]:
    decimals = scale.decimals if scale else digits(row["value"] for row in found.values())
    for subject in subjects:
        row = found.get(subject)
        if row is None:
            yield Cell(NONE, number=True)
            continue
        yield Cell(
            number(row["value"], decimals),
            number=True,
            marks=notes.mark(row["note"], row["evidence"]),
            severity=severity_of(row["severity"]),
            fill=scale.fill(row["value"]) if scale else None,
        )


LISTED = {"id": "token_id", "entry": "token", "language": "language", "position": "position",
          "layer": "layer", "step": "step"}  # fmt: skip


def listing(rows: pl.DataFrame, caption: str, top: int, more: str = "all are in findings.parquet") -> Table:
    """Findings of one measure, under one heading a subject; columns without content are left out.

    Args:
        rows: the findings.
        caption: what the table is.
        top: rows at most under each heading.
        more: where the rest is.
    """
    rows = rows.sort("severity", descending=True, maintain_order=True)
    unit = rows["unit"].drop_nulls().head(1).to_list()
    names = LISTED | {(unit[0] if unit and unit[0] not in LISTED else "value"): "value"}
    note = pl.concat_str("note", "evidence", separator=": ", ignore_nulls=True).replace("", None)
    chosen = [pl.col(column).alias(name) for name, column in names.items()]
    return preview(rows.select("subject", *chosen, "severity", note.alias("note")), caption, top, more)


def preview(
    table: pl.DataFrame, caption: str, top: int, more: str, totals: Mapping[str, int] | None = None
) -> Table:
    """The first rows of any table, under one heading a subject where it has such a column.

    A column ``severity`` of the findings' levels is drawn as such; a column of nulls is left out.

    Args:
        table: the table.
        caption: what it is.
        top: rows at most under each heading.
        more: where the rest is.
        totals: rows that there are of each subject, where the table holds but the first of them.
    """
    if "subject" not in table.columns:
        table = table.with_columns(subject=pl.lit(None, pl.String))
    filled = [name for name in table.columns if name != "subject" and table[name].count()]
    if "severity" in filled and (table["severity"].cast(pl.String) == "info").all():
        filled.remove("severity")
    groups, here, there = [], 0, 0
    for (subject,), part in table.group_by("subject", maintain_order=True):
        few = part.head(top)
        total = max((totals or {}).get(str(subject), 0), part.height)
        here, there = here + few.height, there + total
        columns = [_column(few[name]) for name in filled]
        count = f"{few.height:,} of {total:,}" if few.height < total else f"{total:,}"
        heading = None if subject is None else f"{shown(str(subject))} ({count})"
        groups.append(Group([list(row) for row in zip(*columns, strict=True)], heading))
    head = [Cell(shown(name.replace("_", " ")), number=table[name].dtype.is_numeric()) for name in filled]
    rest = f"{here:,} of {there:,} rows are shown; {more}" if here < there else None
    return Table(caption, head, groups, more=rest)


def _column(values: pl.Series) -> list[Cell]:
    """The cells of one column of a table."""
    items = values.to_list()
    if values.name == "severity":
        return [Cell(severity=severity_of(level)) for level in items]
    if values.dtype == pl.Binary:
        return [token_cell(piece) for piece in items]
    if values.dtype.is_numeric():
        decimals = digits(items)
        plain = values.name in ("id", "token_id", "order")
        return [
            Cell(str(value) if plain and value is not None else number(value, decimals), number=True)
            for value in items
        ]
    return [Cell(_word(value)) for value in items]


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return NONE if value is None else shown(str(value))


def stacked(
    title: str,
    parts: Mapping[str, Sequence[float]],
    names: Sequence[str],
    reading: str,
    scale: str,
    without: str | None = None,
) -> Block:
    """One stacked bar a subject, each as long as the others, with its numbers as a table.

    Args:
        title: heading.
        parts: figures of each label, one a subject; a label ``other`` is drawn in grey.
        names: the subjects.
        reading: how to read it.
        scale: unit and variant.
        without: a label that is left out, the others keeping the colours that they have beside it.
    """
    kept = {name: list(values) for name, values in parts.items() if any(values)}
    legend = tuple(_key(name, place) for place, name in enumerate(kept) if name != without)
    kept.pop(without or "", None)
    totals = [sum(values[place] for values in kept.values()) for place in range(len(names))]
    bars = tuple(
        _bar(name, [values[place] for values in kept.values()], totals[place], legend)
        for place, name in enumerate(names)
        if totals[place]
    )
    rows = [
        [Cell(name), *(Cell(number(value, 0), percent(value, total), number=True)
                       for value, total in zip(values, totals, strict=True))]
        for name, values in kept.items()
    ]  # fmt: skip
    head = [Cell("part"), *(Cell(shown(name), number=True) for name in names)]
    return Block(title, Table(title, head, [Group(rows)]), reading, scale, bars, legend)


def _key(name: str, place: int) -> Segment:
    """The look of a label: the colours in turn, hatched the second time."""
    fill = OTHER if name == "other" else CATEGORICAL[place % len(CATEGORICAL)]
    return Segment(name, 0, 0, fill, hatched=place >= len(CATEGORICAL) and name != "other")


def _bar(name: str, values: Sequence[float], total: float, legend: Sequence[Segment]) -> Bar:
    start, segments, said = 0.0, [], []
    for part, value in zip(legend, values, strict=True):
        if not value:
            continue
        width = 100 * value / total
        text = f"{part.label} {percent(value, total)}"
        # About two per cent of a narrow screen's width a letter; what does not fit stays in the legend.
        written = next((word for word in (text, part.label) if width > 2.3 * len(word) + 2), "")
        segments.append(part._replace(start=round(start, 3), width=round(width, 3), written=written))
        said.append(f"{part.label} {number(value, 0)} ({percent(value, total)})")
        start += width
    return Bar(shown(name), f"{shown(name)}: {', '.join(said)}", segments)
