"""The one table that audits and probes write: a finding is one measured or flagged thing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SEVERITIES = ("info", "warn", "flag")
"""``info`` is a figure, ``warn`` deserves a look, ``flag`` should be answered before sign-off."""

GRAVE = ("flag", "warn")
"""Severities that somebody must look at, the gravest first."""

IS_GRAVE = pl.col("severity").cast(pl.String).is_in(GRAVE)
"""Of a table of findings, the rows of these severities."""

SCHEMA = pl.Schema(
    {
        "subject": pl.String(),
        "audit": pl.String(),
        "measure": pl.String(),
        "variant": pl.String(),
        "value": pl.Float64(),
        "unit": pl.String(),
        "severity": pl.Enum(SEVERITIES),
        "token_id": pl.Int32(),
        "token": pl.Binary(),
        "language": pl.String(),
        "layer": pl.Int32(),
        "position": pl.Int32(),
        "step": pl.Int64(),
        "note": pl.String(),
        "evidence": pl.String(),
    }
)


class Finding(NamedTuple):
    """One row of the table.

    Attributes:
        subject: the inventory, pair of inventories or model that it is about.
        audit: name of the audit that found it.
        measure: what was measured, a name from the audit's documentation.
        value: the figure; None where it was not measured or has no meaning, never 0 for that.
        variant: which definition of the measure, where the field has several.
        unit: unit of the value.
        severity: one of ``SEVERITIES``.
        token_id: the entry it is about, if one.
        token: that entry's bytes.
        language: language of the text measured, if one.
        layer: layer of a model, if one.
        position: token position in a text, if one.
        step: training step of a checkpoint, if one.
        note: one sentence for the reader.
        evidence: what shows it, such as a witness text.
    """

    subject: str
    audit: str
    measure: str
    value: float | None = None
    variant: str | None = None
    unit: str | None = None
    severity: str = "info"
    token_id: int | None = None
    token: bytes | None = None
    language: str | None = None
    layer: int | None = None
    position: int | None = None
    step: int | None = None
    note: str | None = None
    evidence: str | None = None


def frame(findings: Iterable[Finding]) -> pl.DataFrame:
    """Findings as a table with the columns of ``SCHEMA``."""
    rows = list(findings)
    columns = {
        key: pl.Series(key, [getattr(row, key) for row in rows], dtype=kind) for key, kind in SCHEMA.items()
    }
    return checked(pl.DataFrame(columns))


def columnar(columns: Mapping[str, Any], table: pl.DataFrame) -> pl.DataFrame:
    """Findings made from the rows of a table, without a Python loop.

    Args:
        columns: for each column of ``SCHEMA`` that is set, a constant or a Polars expression over
            ``table``.
        table: one row a finding.
    """
    given = {
        key: value if isinstance(value, pl.Expr) else pl.lit(value, dtype=SCHEMA[key])
        for key, value in columns.items()
    }
    given.setdefault("severity", pl.lit("info"))
    made = [given.get(key, pl.lit(None)).cast(kind).alias(key) for key, kind in SCHEMA.items()]
    return checked(table.select(made))


def checked(table: pl.DataFrame) -> pl.DataFrame:
    """The table itself, if it keeps the schema.

    Raises:
        SutureError: a column is missing or has another type, or a value is NaN or infinite.
    """
    if table.schema != SCHEMA:
        raise SutureError(
            f"findings must have the columns {', '.join(SCHEMA)} with their types; got {dict(table.schema)}; "
            "build them with findings.frame or findings.columnar"
        )
    odd = table.filter(pl.col("value").is_nan() | pl.col("value").is_infinite())
    if odd.height:
        raise SutureError(
            f"a finding's value must be a number or null; {odd['audit'][0]} gives {odd['value'][0]} for "
            f"{odd['measure'][0]!r}; leave it null and say why in the note"
        )
    return table
