"""The verb ``bridge``: what one tokenizer's probabilities become in another's tokens, and in bytes."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 Typer reads it at run time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.commands.printing import console, put_json, put_parquet, table, tell
from workbench.errors import MissingExtra, SutureError

if TYPE_CHECKING:
    from rich.console import Console

    from workbench.tokenizer import Tokenizer

CLAIM = (
    "Wang et al. (arXiv 2607.22334) report over 99 % non-spanning positions for their pairs; it depends on "
    "the pair. A later comparison (arXiv 2610.08448) finds that supervising mismatched positions lowered its "
    "scores, and that strict 1:1 chunks already cover most tokens."
)


def bridge(
    teacher: Annotated[str, typer.Argument(metavar="TEACHER", help="A tokenizer, as for audit.")],
    student: Annotated[str, typer.Argument(metavar="STUDENT", help="Another tokenizer.")],
    text: Annotated[str | None, typer.Option(help="One text, instead of a corpus.")] = None,
    corpus: Annotated[str, typer.Option(help="Corpus: embedded, a file, folder or glob, or -.")] = "sample",
    limit: Annotated[int | None, typer.Option(help="Documents taken from each file.", min=1)] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Folder of a causal language model over the teacher's ids (safetensors)."),
    ] = None,
    tokens: Annotated[int, typer.Option(help="Teacher tokens that the model predicts.", min=1)] = 2048,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Parquet file of the model's positions.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Lay two tokenizations over each other, and say what of a teacher's probability the student can hold.

    With a model, also what the approximations of a byte bridge leave open at each position.

    Example: `suture bridge tiktoken:o200k_base tiktoken:cl100k_base --corpus sample`
    """
    if output and model is None:
        raise SutureError(
            "-o writes what a model leaves open at each position; there is no model; add --model"
        )
    try:
        from probing.bridge.report import lies, positions
    except ImportError as error:
        raise MissingExtra(
            f"torch must be installed for the byte bridge; it is not ({error}); "
            "run pip install 'suture[probing]'"
        ) from None
    from workbench.adapters import load

    above, below = load(teacher), load(student)
    texts = _texts(text, corpus, limit)
    found = _compared(above, below, texts)
    if model is not None:
        each = positions(model, above, below, texts, tokens, tell)
        found["model"] = lies(each)
        if text is not None:
            found["model"]["each"] = each.to_dicts()
        if output:
            put_parquet(each, output, "positions")
    if as_json:
        put_json(found)
    else:
        _print(console(), found)


def _compared(above: Tokenizer, below: Tokenizer, texts: list[str]) -> dict[str, Any]:
    """What can be said of two tokenizers without a model.

    Raises:
        SutureError: there is no text that both spell.
    """
    from probing.bridge.chunks import pair_texts
    from probing.bridge.report import storage, vocabularies

    pairing = pair_texts(above, below, texts)
    for refused in pairing.refused:
        tell(f"text {refused.sample + 1} is left out: {refused.reason}")
    if not len(pairing):
        raise SutureError("a bridge needs text that both tokenizers spell; none is left; give other text")
    return {
        "teacher": above.name,
        "student": below.name,
        "vocabularies": vocabularies(above, below),
        "chunks": pairing.census().to_dicts(),
        "shares": pairing.shares(),
        "storage": storage(above, pairing),
        "claim": CLAIM,
    }


def _texts(text: str | None, corpus: str, limit: int | None) -> list[str]:
    if text is not None:
        return [text]
    from workbench.corpora import open_corpus

    read = open_corpus(corpus, limit=limit)
    for problem in read.check():
        tell(str(problem))
    return [each for batch in read.batches() for each in batch.texts if each]


def _print(out: Console, found: dict[str, Any]) -> None:
    title = f"Entries of {found['teacher']} in {found['student']}"
    rows = [(name, _figure(value)) for name, value in found["vocabularies"].items()]
    out.print(table(title, ("measure", "#value"), rows))
    total = sum(row["positions"] for row in found["chunks"]) or 1
    chunks = [
        (row["class"], f"{row['chunks']:,}", f"{row['positions']:,}", f"{row['positions'] / total:.2%}",
         f"{row['bytes']:,}", f"{row['spanning']:,}", f"{row['pending']:,}")
        for row in found["chunks"]
    ]  # fmt: skip
    head = ("student : teacher", "#chunks", "#positions", "#share", "#bytes", "#spanning", "#start inside")
    out.print(table("Chunks between shared cuts", head, chunks))
    shares = [(name.replace("_", " "), _figure(value)) for name, value in found["shares"].items()]
    out.print(table("Shares of the student's positions", ("measure", "#value"), shares))
    stored = [(row["what"], f"{row['bytes_per_text_byte']:,.1f}") for row in found["storage"]]
    out.print(table("To keep a teacher's predictions", ("form", "#bytes a byte of text"), stored))
    if "model" in found:
        rows = [(row["what"], *(_figure(row[name]) for name in ("mean", "median", "q90", "q99", "max")))
                for row in found["model"]["figures"]]  # fmt: skip
        title = f"At {found['model']['positions']:,} tokens that the model predicts"
        out.print(table(title, ("measure", "#mean", "#median", "#90 %", "#99 %", "#most"), rows))
    out.print(found["claim"], soft_wrap=True)


def _figure(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
