"""The report of a run, from its files alone: a page for people, a summary, and the figures as JSON."""

from __future__ import annotations

import json
import shlex
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from workbench.paths import written_whole
from workbench.report.cells import number, shown
from workbench.report.figures_json import as_json, table_size
from workbench.report.history import review_sentence, since_blocks, since_sentence
from workbench.report.masking import masked_run, notice
from workbench.report.sections import counts, sections
from workbench.report.verdict import concerns, key_figures, kinds
from workbench.review import Review

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.runs import Run

LIMIT = 2_000_000
"""Bytes that ``report.html`` never exceeds."""

ROWS = (50, 20, 8, 3, 1)
"""Rows at most in a list; the next number is taken where a page would exceed the limit."""

SUMMARY_ROWS, SUMMARY_COLUMNS, SUMMARY_ROOM = 15, 8, 40


def write_report(run: Run, *, reveal: bool = False, review: Review | None = None) -> list[Path]:
    """Writes ``report.html``, ``summary.md`` and ``report.json`` into a run's folder.

    All three are made from the run's files alone, and the same run gives the same bytes. The page holds at
    most ``LIMIT`` bytes; what its lists leave out is counted and lies in the run's tables. Tokens and
    evidence of sensitive audits are masked.

    Args:
        run: a finished run.
        reveal: show what sensitive audits found in clear.
        review: decisions on its findings, by default those beside it.

    Returns:
        The paths written.

    Raises:
        UnreadableFile: a table of the run is missing or damaged.
    """
    decided = Review.open(run) if review is None else review
    run = masked_run(run, reveal=reveal)
    said = _clean(run.manifest) | {"reviewed": review_sentence(run, decided)}
    texts = {
        "report.html": _page(run, said),
        "summary.md": _summary(run, said),
        "report.json": json.dumps(as_json(run, decided), ensure_ascii=False, indent=1, allow_nan=False)
        + "\n",
    }
    written = []
    for name, text in texts.items():
        path = run.folder / name
        with written_whole(path) as partial:
            # A surrogate in a file's name is written as the escape that it has in JSON.
            partial.write_bytes(text.encode("utf-8", "backslashreplace"))
        written.append(path)
    return written


def _clean(value: Any) -> Any:
    """The manifest with every text made fit for the screen."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {shown(str(key), 200): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


@cache
def _environment() -> Environment:
    """Templates for the page; everything that is put into them is escaped."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(figure=number, flat=_flat)
    return made


@cache
def _markdown() -> Environment:
    """Templates for the summary; everything that is put into them is plain text to Markdown."""
    return _environment().overlay(autoescape=False, finalize=_escaped)


def _escaped(value: Any) -> Any:
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    for mark in "\\`*_{}[]<>|~$&#@":
        value = value.replace(mark, f"\\{mark}")
    return value.replace("://", ":\\//").replace("www.", "www\\.")


def _flat(tree: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Names and values of a nested dictionary."""
    for key, value in sorted(tree.items()):
        full = f"{name} {key}".strip()
        if isinstance(value, dict):
            yield from _flat(value, full)
        else:
            yield full, "–" if value is None else str(value)


def _page(run: Run, said: dict[str, Any]) -> str:
    """The page, with as many rows as fit into its limit."""
    names = [subject["name"] for subject in run.manifest.get("subjects", [])]
    text = ""
    for top in (*ROWS, 0):
        columns = tuple(names[: max(8, 4 * top)])
        text = (
            _environment()
            .get_template("report.html.j2")
            .render(
                **_common(run, said, top),
                changes=since_blocks(run, top) if top else [],
                sections=sections(run, columns, top) if top else [],
                hidden=len(names) - len(columns),
                tables=[_file(run, name) for name in run.tables()],
            )
        )
        if len(text.encode("utf-8", "backslashreplace")) <= LIMIT:
            break
    return text


def _file(run: Run, name: str) -> tuple[str, int, list[str]]:
    """Name, rows and columns of a table."""
    rows, columns = table_size(run, name)
    return shown(name), rows, [shown(column, 80) for column in columns]


def _common(run: Run, said: dict[str, Any], top: int) -> dict[str, Any]:
    findings = run.findings()
    names = [subject["name"] for subject in said.get("subjects", [])]
    listed = list(concerns(findings, top, run.hidden))
    command = [shown(str(word), 4000) for word in run.manifest.get("command", [])]
    return {
        "room": max(20, 20 * top),
        "title": said.get("title") or _title(names, said.get("audits", [])),
        "subjects": said.get("subjects", []),
        "corpus": said.get("corpus"),
        "lexicon": said.get("lexicon"),
        "skipped": said.get("skipped", []),
        "notice": shown(notice(run)),
        "since": since_sentence(run),
        "reviewed": said["reviewed"],
        "counts": counts(findings),
        "concerns": listed,
        "unlisted": kinds(findings).height - len(listed),
        "command": shlex.join(command),
        "environment": said.get("environment", {}),
        "seconds": said.get("seconds", {}),
    }


def _title(names: list[str], audits: list[dict[str, Any]]) -> str:
    """The inventories, or where an audit trained its own, the audits."""
    if not names:
        return ", ".join(str(audit.get("title") or audit["name"]) for audit in audits)
    return f"Audit of {', '.join(names[:6])}{' …' if len(names) > 6 else ''}"


def _summary(run: Run, said: dict[str, Any]) -> str:
    """The summary in Markdown, short enough for a job's log."""
    names = [subject["name"] for subject in run.manifest.get("subjects", [])][:SUMMARY_COLUMNS]
    common = _common(run, said, SUMMARY_ROWS)
    command = Markup(common["command"].replace("\n", " "))  # noqa: S704 an indented line is a code block
    return (
        _markdown()
        .get_template("summary.md.j2")
        .render(
            **common | {"command": command, "room": SUMMARY_ROOM},
            names=[shown(name) for name in names],
            figures=list(key_figures(run.findings(), names)),
        )
    )
