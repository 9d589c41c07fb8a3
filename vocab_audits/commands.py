"""The verbs that make and read runs: ``audit``, ``compare``, ``report``."""

from __future__ import annotations

import json
import sys
from pathlib import Path  # noqa: TC003 a verb's types are read when it is called
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.errors import SutureError

if TYPE_CHECKING:
    from vocab_audits.batch import Carried
    from workbench.runs import Run

SPECS = (
    "Tokenizers: hf:org/name, tiktoken:name, pkg:distribution/path, a file or folder; NAME=SPEC names one."
)


def audit(
    specs: Annotated[
        list[str] | None, typer.Argument(help=SPECS, metavar="SPEC…", show_default=False)
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder of the run; by default runs/audit.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="An audit.toml, which may say all of this and [options.AUDIT].")
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
    fresh: Annotated[bool, typer.Option("--fresh", help="Do all work anew, reusing nothing.")] = False,
    fail_on: Annotated[
        str | None, typer.Option(help="Exit with 1 at findings of: flag, warn, never.", show_default="never")
    ] = None,
    baseline: Annotated[Path | None, typer.Option(help="A former run whose findings do not count.")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Also write every table as CSV.")] = False,
    sarif: Annotated[Path | None, typer.Option(help="Also write findings as SARIF 2.1.0 here.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Also write findings as JUnit's XML here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Audit tokenizers into one run with tables and a report.

    A run that was stopped goes on where it was when the same command is given again; one that is
    repeated does only the work whose input has changed.

    Example: `suture audit tiktoken:o200k_base pkg:mistral-common/tekken_240911.json -o runs/mine`
    """
    from vocab_audits.batch import carry_out
    from vocab_audits.progress import Progress
    from vocab_audits.requests import Request

    given = {
        "tokenizers": specs, "output": output, "only": only, "corpus": corpus, "text_column": text_column,
        "errors": errors, "limit": limit, "lexicon": lexicon, "replace": replace, "fresh": fresh,
        "fail_on": fail_on, "baseline": baseline, "csv": csv, "sarif": sarif, "junit": junit,
    }  # fmt: skip
    request = Request.of(config, given)
    with Progress(quiet) as shown:
        carried = carry_out(request, ["suture", *sys.argv[1:]], shown.tell)
    if as_json:
        typer.echo(json.dumps(carried.summary(), ensure_ascii=False, indent=1))
    else:
        _tell(carried)
    if carried.verdict.failing.height:
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


def _tell(carried: Carried) -> None:
    counts = carried.counts
    for line in carried.talk():
        typer.echo(line, err=True)
    typer.echo(f"flagged: {counts['flag']}, warned of: {counts['warn']}, figures: {counts['info']}")
    typer.echo(f"report: {carried.made.run.folder / 'report.html'}")
