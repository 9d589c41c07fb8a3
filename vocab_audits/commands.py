"""The verbs that make and read runs: ``audit``, ``compare``, ``report``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    import polars as pl

    from workbench.runs import Run

SPECS = (
    "Tokenizers: hf:org/name, tiktoken:name, pkg:distribution/path, a file or folder; NAME=SPEC names one."
)


def audit(
    specs: Annotated[
        list[str] | None, typer.Argument(help=SPECS, metavar="SPEC…", show_default=False)
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the run.")] = Path("runs/audit"),
    config: Annotated[
        Path | None, typer.Option(help="An audit.toml: tokenizers, only, corpus, lexicon, [options.AUDIT].")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="An audit to run; may be repeated.")] = None,
    corpus: Annotated[
        str | None, typer.Option(help="Corpus: embedded, a file, folder or glob, or -.")
    ] = None,
    text_column: Annotated[str | None, typer.Option(help="Field or column that holds the text.")] = None,
    errors: Annotated[str | None, typer.Option(help="strict, or replace for text that is not UTF-8.")] = None,
    limit: Annotated[int | None, typer.Option(help="Documents taken from each file of the corpus.")] = None,
    lexicon: Annotated[
        list[str] | None, typer.Option(help="Morph lexicon: embedded, a file or folder; may be repeated.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a run of other things at -o.")] = False,
    fail_on: Annotated[str, typer.Option(help="Exit with 1 at findings of: flag, warn, never.")] = "never",
    baseline: Annotated[Path | None, typer.Option(help="A former run whose findings do not count.")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Also write every table as CSV.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Audit tokenizers into one run with tables and a report.

    A run that was stopped goes on where it was when the same command is given again.

    Example: `suture audit tiktoken:o200k_base pkg:mistral-common/tekken_240911.json -o runs/mine`
    """
    from vocab_audits.run import Plan, read_config, run
    from workbench.report.spreadsheets import write_tables

    if fail_on not in ("flag", "warn", "never"):
        raise SutureError(f"--fail-on must be flag, warn or never; got {fail_on!r}; pick one")
    settings = read_config(config) if config else {}
    plan = Plan(
        tuple(specs or settings.get("tokenizers", ())),
        tuple(name for text in only or settings.get("only", ()) for name in text.split(",")),
        corpus or settings.get("corpus", "embedded"),
        limit or settings.get("limit"),
        settings.get("options", {}),
        text_column or settings.get("text_column", "text"),
        errors or settings.get("errors", "strict"),  # type: ignore[arg-type]  # checked where it opens
        tuple(lexicon or settings.get("lexicon", Plan.lexicon)),
    )
    former = _keys(_open(baseline).findings()) if baseline else None
    with _Progress(quiet) as shown:
        try:
            made = run(plan, output, ["suture", *sys.argv[1:]], shown.tell, replace=replace)
        except KeyboardInterrupt:
            raise SutureError(
                "the audit was stopped before it was whole; what is done is kept; "
                "give the same command to go on"
            ) from None
    if csv:
        write_tables(made)
    new = _new(made.findings(), former)
    _tell(made, new, as_json)
    levels = {"flag": ["flag"], "warn": ["warn", "flag"], "never": []}[fail_on]
    if new["severity"].is_in(levels).any():
        raise typer.Exit(1)


def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a run.")],
    csv: Annotated[bool, typer.Option("--csv", help="Also write every table as CSV.")] = False,
    reveal: Annotated[
        bool, typer.Option("--reveal", help="Write what sensitive audits found in clear.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report's figures as JSON.")] = False,
) -> None:
    """Write the report of a run again: HTML, Markdown and JSON.

    Entries and evidence of sensitive audits are masked unless --reveal is given.

    Example: `suture report runs/mine`
    """
    from workbench.report.spreadsheets import write_tables
    from workbench.report.writing import write_report

    made = _open(folder)
    try:
        written = write_report(made, reveal=reveal)
        if csv:
            write_tables(made, reveal=reveal)
    except OSError as error:
        raise SutureError(
            f"a run's folder must be writable; {folder} is not ({error.strerror}); copy it elsewhere first"
        ) from None
    if as_json:
        typer.echo((folder / "report.json").read_text(encoding="utf-8"), nl=False)
        return
    for path in written:
        typer.echo(path)


def compare(
    specs: Annotated[list[str], typer.Argument(help=SPECS, metavar="A B…")],
    corpus: Annotated[str, typer.Option(help="Corpus for the figures on text.")] = "embedded",
    text_column: Annotated[str, typer.Option(help="Field or column that holds the text.")] = "text",
    errors: Annotated[str, typer.Option(help="strict, or replace for text that is not UTF-8.")] = "strict",
    limit: Annotated[int | None, typer.Option(help="Documents taken from each file of the corpus.")] = None,
    top: Annotated[int, typer.Option(help="Entries of one inventory alone to show.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Compare tokenizers: inventories in byte space, pipelines, and cost on text.

    Example: `suture compare tiktoken:cl100k_base tiktoken:o200k_base`
    """
    from vocab_audits.comparison import compared, shown
    from workbench.corpora import open_corpus

    if len(specs) < 2:
        raise SutureError(f"a comparison needs two tokenizers or more; got {len(specs)}; name another")
    texts = open_corpus(corpus, text_column=text_column, limit=limit, errors=errors)  # type: ignore[arg-type]
    result = compared(specs, texts, top)
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False, indent=1))
    else:
        shown(result)


def _open(folder: Path) -> Run:
    from workbench.runs import Run

    return Run.open(folder)


def _keys(findings: pl.DataFrame) -> pl.DataFrame:
    return findings.select("subject", "audit", "measure", "variant", "token", "language", "severity")


def _new(findings: pl.DataFrame, former: pl.DataFrame | None) -> pl.DataFrame:
    """Findings that a former run did not have; all of them without one."""
    if former is None:
        return findings
    return findings.join(former, on=former.columns, how="anti", nulls_equal=True)


def _tell(made: Run, new: pl.DataFrame, as_json: bool) -> None:
    counts = {level: int((new["severity"] == level).sum()) for level in ("flag", "warn", "info")}
    where = {
        "run": str(made.folder),
        "report": str(made.folder / "report.html"),
        "findings": str(made.folder / "findings.parquet"),
    }
    if as_json:
        result: dict[str, Any] = {**where, "counts": counts, "skipped": made.manifest["skipped"]}
        typer.echo(json.dumps(result, ensure_ascii=False, indent=1))
        return
    for item in made.manifest["skipped"]:
        typer.echo(f"skipped {item['what']}: {item['why']}", err=True)
    typer.echo(f"flagged: {counts['flag']}, warned of: {counts['warn']}, figures: {counts['info']}")
    typer.echo(f"report: {where['report']}")


class _Progress:
    """A progress bar on standard error, or plain silence."""

    def __init__(self, quiet: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=quiet or not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=None)
        self._plain: Callable[[str], None] = lambda text: None if quiet else typer.echo(text, err=True)
        self._terminal = console.is_terminal

    def tell(self, label: str, done: int, total: int) -> None:
        """Shows what begins now."""
        self._bar.update(self._task, description=label[:44].ljust(44), completed=done, total=total)
        if not self._terminal:
            self._plain(label)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
