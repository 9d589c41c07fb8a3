"""The figures of a run as plain objects, for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from workbench.display import faithful
from workbench.report.blocks import KEY, split
from workbench.report.masking import notice
from workbench.report.sections import counts

if TYPE_CHECKING:
    from workbench.review import Review
    from workbench.runs import Run

SCHEMA_VERSION = 1
"""Version of ``report.json``; raised when a key changes its meaning or goes."""

LISTED = 50
"""Rows at most of each list."""

FIGURE = (*KEY, "language")
LIST = ("subject", "measure", "variant", "unit")


def as_json(run: Run, review: Review | None = None) -> dict[str, Any]:
    """The figures of a run as plain objects, for programs; what has no value is null, never NaN.

    Each audit has ``figures`` (values by subject) and ``listed`` (the first rows of what is listed, each
    with its token's bytes in hexadecimal, unless it is masked). Times and machine are left out, so equal runs
    give equal objects.
    """
    findings, manifest = run.findings(), run.manifest
    described = {audit["name"]: audit for audit in manifest.get("audits", [])}
    names = dict.fromkeys([*described, *findings["audit"].unique(maintain_order=True)])
    whole = {
        "schema": "suture.report",
        "schema_version": SCHEMA_VERSION,
        "title": manifest.get("title"),
        "command": manifest.get("command", []),
        "subjects": manifest.get("subjects", []),
        "corpus": manifest.get("corpus"),
        "lexicon": manifest.get("lexicon"),
        "skipped": manifest.get("skipped", []),
        "counts": counts(findings),
        **{key: said for key, said in _told(run, review).items() if said},
        "audits": [
            {
                **described.get(name, {"name": name}),
                **_audit_as_json(findings.filter(audit=name), masked=name in run.hidden),
            }
            for name in names
        ],
        "tables": {name: {"rows": table_size(run, name)[0]} for name in run.tables()},
    }
    found: dict[str, Any] = json.loads(json.dumps(whole), parse_constant=lambda _: None)
    return found


def _told(run: Run, review: Review | None) -> dict[str, Any]:
    """What is masked, what is new since a former run, and what was decided, as far as there is any."""
    decided = review.counts(run.exact.findings()) if review and review.states else None
    return {"masking": notice(run), "since": run.manifest.get("since"), "review": decided}


def table_size(run: Run, name: str) -> tuple[int, list[str]]:
    """Rows and names of the columns of a run's table, from its file's footer."""
    scan = pl.scan_parquet(run.folder / "tables" / f"{name}.parquet")
    return int(scan.select(pl.len()).collect().item()), scan.collect_schema().names()


def _audit_as_json(findings: pl.DataFrame, *, masked: bool) -> dict[str, Any]:
    single, listed = split(findings)
    figures: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in single.iter_rows(named=True):
        key = tuple(row[name] for name in FIGURE)
        _add(figures.setdefault(key, _known(FIGURE, key) | {"values": {}}), row)
    lists = [
        _known(LIST, key)
        | {
            "total": part.height,
            "rows": [_row(row, masked=masked) for row in part.head(LISTED).iter_rows(named=True)],
        }
        for key, part in listed.group_by(LIST, maintain_order=True)
    ]
    return {"counts": counts(findings), "figures": list(figures.values()), "listed": lists}


def _known(names: tuple[str, ...], values: tuple[Any, ...]) -> dict[str, Any]:
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}


def _add(figure: dict[str, Any], row: dict[str, Any]) -> None:
    """Adds one subject's value to a figure, with its note, evidence and severity where there are any."""
    figure["values"][row["subject"]] = row["value"]
    for name, key in (("note", "notes"), ("evidence", "evidence"), ("severity", "severities")):
        if row[name] is not None and row[name] != "info":
            figure.setdefault(key, {})[row["subject"]] = row[name]


def _row(row: dict[str, Any], *, masked: bool) -> dict[str, Any]:
    token = row.pop("token")
    kept = {key: value for key, value in row.items() if value is not None and key not in ("audit", *LIST)}
    if token is None:
        return kept
    return kept | {"token": faithful(token)} | ({} if masked else {"token_hex": token.hex()})
