"""``suture count``: tokens of a corpus, on this machine's cores or on Ray."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 Typer reads it at run time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.commands.printing import Bar, console, put_json, put_parquet, table, tell
from workbench.errors import SutureError

if TYPE_CHECKING:
    import polars as pl

    from workbench.counting import Counts


def count(
    spec: Annotated[str, typer.Argument(help="A tokenizer, as for audit.", metavar="SPEC")],
    corpus: Annotated[str, typer.Option(help="Corpus: embedded, a file, folder or glob, or -.")] = "embedded",
    text_column: Annotated[str, typer.Option(help="Field or column that holds the text.")] = "text",
    errors: Annotated[str, typer.Option(help="strict, or replace for text that is not UTF-8.")] = "strict",
    limit: Annotated[int | None, typer.Option(help="Documents taken from each file.")] = None,
    engine: Annotated[str, typer.Option(help="local, or ray (extra: scale).")] = "local",
    workers: Annotated[
        int | None, typer.Option(help="Threads, or Ray actors; by default one a core.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Parquet file of the counts.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the totals as JSON.")] = False,
) -> None:
    """Count the tokens of a corpus, by language; with -o, how often each entry occurs.

    Example: `suture count tiktoken:o200k_base --corpus 'texts/*.txt.gz' -o counts.parquet`
    """
    from workbench.adapters import load
    from workbench.corpora import open_corpus
    from workbench.counting import count as counted

    if engine not in ("local", "ray"):
        raise SutureError(f"an engine must be 'local' or 'ray'; got {engine!r}; name one of them")
    tokenizer = load(spec)
    texts = open_corpus(
        corpus,
        text_column=text_column,
        limit=limit,
        errors=errors,  # type: ignore[arg-type]  # checked where the corpus opens
    )
    for problem in texts.check():
        tell(str(problem))
    with Bar(texts.size) as bar:
        counts = counted(
            tokenizer,
            texts,
            engine=engine,  # type: ignore[arg-type]  # one of the two, checked above
            workers=workers,
            progress=bar.advance,
        )
    if output is not None:
        put_parquet(_entries(counts), output, "counts")
        tell(f"counts of each entry: {output}")
    rows = counts.totals.to_dicts()
    if as_json:
        put_json({"tokenizer": tokenizer.card(), "corpus": texts.digest, "totals": rows})
        return
    columns = ("language", "#documents", "#bytes", "#characters", "#tokens", "#bytes per token")
    console().print(table(None, columns, [_line(row) for row in [*rows, _sum(rows)]]))


def _line(row: dict[str, Any]) -> list[str]:
    sizes = [f"{row[key]:,}" for key in ("documents", "bytes", "codepoints", "tokens")]
    return [row["language"], *sizes, f"{row['bytes'] / row['tokens']:.3f}" if row["tokens"] else "–"]


def _sum(rows: list[dict[str, Any]]) -> dict[str, Any]:
    keys = ("documents", "bytes", "codepoints", "tokens")
    return {"language": "together", **{key: sum(row[key] for row in rows) for key in keys}}


def _entries(counts: Counts) -> pl.DataFrame:
    """Occurrences of the entries that occur: language, token_id, count."""
    import numpy as np
    import polars as pl

    parts = []
    for language, times in counts.tokens.items():
        seen = np.flatnonzero(times)
        parts.append(
            pl.DataFrame(
                {"token_id": seen.astype(np.int32), "count": times[seen]},
                schema={"token_id": pl.Int32, "count": pl.Int64},
            ).select(pl.lit(language).alias("language"), "token_id", "count")
        )
    return pl.concat(parts)
