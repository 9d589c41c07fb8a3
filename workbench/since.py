"""What a run found that a former one had not, and the reverse; and what of their input differs, by digest."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import polars as pl

from workbench.findings import GRAVE, IS_GRAVE, SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.runs import Run

CHANGES = pl.Enum(("new", "gone"))
SINCE = pl.Schema({"change": CHANGES, **SCHEMA})
"""Columns of ``since.parquet``: findings that one run has and the other has not."""

_SAME = (
    "subject",
    "audit",
    "measure",
    "variant",
    "token",
    "language",
    "layer",
    "position",
    "step",
    "severity",
)


class Since(NamedTuple):
    """The difference to a former run.

    Attributes:
        changes: findings flagged and warned of that are new or gone, in the columns of ``SINCE``.
        summary: former run, what of the input differs, and counts by severity, ready for JSON.
    """

    changes: pl.DataFrame
    summary: dict[str, Any]


def absent(findings: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Findings that have no equal in another table of them.

    Two are equal in subject, audit, measure, variant, token, language, layer, position, step and severity,
    where there is no token in its id too; a value that changed within its severity is no new finding.
    """
    return _joined(findings, other, "anti")


def among(findings: pl.DataFrame, other: pl.DataFrame) -> pl.Series:
    """Whether each finding has an equal, as ``absent`` says, in another table of them."""
    found = _joined(findings.with_row_index("_row"), other, "semi")["_row"]
    return pl.Series("among", range(findings.height), pl.UInt32).is_in(found.implode())


def _joined(findings: pl.DataFrame, other: pl.DataFrame, how: Literal["anti", "semi"]) -> pl.DataFrame:
    identifier = pl.when(pl.col("token").is_null()).then("token_id").alias("_id")
    known = other.select(*_SAME, identifier)
    rows = findings.with_columns(identifier)
    return rows.join(known, on=known.columns, how=how, nulls_equal=True, maintain_order="left").drop("_id")


def compare(former: Run, manifest: Mapping[str, Any], findings: pl.DataFrame, *, baseline: bool) -> Since:
    """Sets a run beside a former one.

    Args:
        former: the former run.
        manifest: what ``run.json`` will hold of the new one.
        findings: findings of the new one.
        baseline: whether the former one was named, or is the one that this run replaces.

    Raises:
        UnreadableFile: the former run's findings are missing or damaged.
    """
    now, then = findings.filter(IS_GRAVE), former.findings().filter(IS_GRAVE)
    audits = [each["name"] for each in manifest["audits"]]
    parts = {"new": absent(now, then), "gone": absent(then.filter(pl.col("audit").is_in(audits)), now)}
    changes = pl.concat(
        [SINCE.to_frame()]
        + [
            part.select(pl.lit(change, dtype=CHANGES).alias("change"), pl.all())
            for change, part in parts.items()
        ]
    )
    summary = {
        "run": former.folder.name,
        "digest": hashlib.sha256((former.folder / "run.json").read_bytes()).hexdigest(),
        "baseline": baseline,
        "subjects": _named(former.manifest, manifest, "subjects", ("digest", "pattern_digest", "rows")),
        "audits": _named(former.manifest, manifest, "audits", ("version", "options")),
        "inputs": [
            name for name in ("corpus", "lexicon") if _input(former.manifest, name) != _input(manifest, name)
        ],
        **{change: _counted(part) for change, part in parts.items()},
    }  # fmt: skip
    return Since(changes, summary)


def _named(
    then: Mapping[str, Any], now: Mapping[str, Any], what: str, keys: tuple[str, ...]
) -> dict[str, list[str]]:
    """Names that are new, gone, or of another content."""

    def contents(manifest: Mapping[str, Any]) -> dict[str, str]:
        rows = manifest.get(what) or []
        return {
            row["name"]: json.dumps([row.get(key) for key in keys], default=list, sort_keys=True)
            for row in rows
        }

    old, new = contents(then), contents(now)
    return {
        "new": [name for name in new if name not in old],
        "gone": [name for name in old if name not in new],
        "changed": [name for name in new if name in old and old[name] != new[name]],
    }


def _input(manifest: Mapping[str, Any], name: str) -> Any:
    about = manifest.get(name) or {}
    return about.get("digest"), about.get("limit")


def _counted(part: pl.DataFrame) -> dict[str, int]:
    return {level: int((part["severity"] == level).sum()) for level in GRAVE}


def said(summary: Mapping[str, Any]) -> str:
    """The difference in one or two sentences."""
    which = "the baseline" if summary["baseline"] else "the former run here"
    counts = [
        f"{summary[change]['flag']:,} flagged and {summary[change]['warn']:,} warned of are {change}"
        for change in ("new", "gone")
    ]
    parts = [
        f"{noun} {change}: {', '.join(summary[noun][change][:20])}"
        for noun in ("subjects", "audits")
        for change in ("new", "gone", "changed")
        if summary[noun][change]
    ]
    parts += [f"another {name}" for name in summary["inputs"]]
    inputs = f"What differs in the input: {'; '.join(parts)}." if parts else "The input is the same."
    return f"Beside {which} ({summary['run']}), {' and '.join(counts)}. {inputs}"
