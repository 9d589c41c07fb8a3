"""The verb ``lexicon``: what a morph lexicon holds, and what of its source was left out."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 Typer reads it at run time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.commands.printing import console, fields, put_json, safe, table, tell

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from workbench.lexicon import MorphLexicon


def lexicon(
    specs: Annotated[
        list[str],
        typer.Argument(
            metavar="LEXICON…", help="embedded, embedded:de,fi, a file or a folder; PATH#format=…&language=…"
        ),
    ],
    words: Annotated[int, typer.Option(help="Entries of each language to show.", min=0)] = 0,
    word: Annotated[str | None, typer.Option(help="Show the entries of one word.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the entries to FILE.parquet or FILE.tsv.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Read a morph lexicon and say what it holds, how its cuts were found, and what was left out.

    Example: `suture lexicon embedded:de --words 5`
    """
    from workbench.lexicons import open_lexicon, write_lexicon

    read = open_lexicon(*specs, progress=lambda file: tell(f"reading {file}"))
    if output:
        write_lexicon(read, output)
    shown = _entries(read, words, word)
    if as_json:
        counts = {"counts": _counts(read).to_dicts(), "processes": _processes(read).to_dicts()}
        put_json({**read.card(), **counts, "ledger": read.ledger.to_dicts(), "words": shown})
        return
    out = console()
    _card(out, read)
    if shown or word is not None:
        rows = [(row["language"], row["word"], " ".join(_marked(row)), row["how"]) for row in shown]
        out.print(table("Entries", ("language", "word", "morphs", "how"), rows))


def _entries(read: MorphLexicon, words: int, word: str | None) -> list[dict[str, Any]]:
    """The entries asked for."""
    if word is not None:
        return read.frame.filter(word=word).to_dicts()
    return read.frame.group_by("language", maintain_order=True).head(words).to_dicts() if words else []


def _marked(row: dict[str, Any]) -> list[str]:
    """Morphs with their roles, where they are known."""
    if row["roles"] is None:
        return list(row["morphs"])
    return [
        f"{morph}/{role}" if role else morph for morph, role in zip(row["morphs"], row["roles"], strict=True)
    ]


def _counts(read: MorphLexicon) -> pl.DataFrame:
    """Entries of each language, and how their cuts were found."""
    import polars as pl

    return read.frame.group_by("language", maintain_order=True).agg(
        entries=pl.len(),
        several_morphs=(pl.col("morphs").list.len() > 1).sum(),
        concatenative=(pl.col("how") == "concatenative").sum(),
        aligned=(pl.col("how") == "aligned").sum(),
        roles=pl.col("roles").count(),
        frequency=pl.col("frequency").count(),
    )


def _processes(read: MorphLexicon) -> pl.DataFrame:
    """Entries of each language by word formation."""
    import polars as pl

    whole = (
        pl.when(pl.col("morphs").list.len() == 1).then(pl.lit("one morph")).otherwise(pl.lit("not stated"))
    )
    named = read.frame.select("language", process=pl.coalesce("process", whole))
    return named.group_by("language", "process", maintain_order=True).agg(entries=pl.len()).sort(
        "language", "entries", descending=[False, True], maintain_order=True
    )  # fmt: skip


def _card(out: Console, read: MorphLexicon) -> None:
    told = [
        ("source", read.source),
        ("digest", read.digest or "–"),
        ("licence", read.licence or "not stated"),
    ]
    out.print(fields([*told, *(("note", note) for note in read.notes)]))
    head = ("language", "#entries", "#several morphs", "#as written", "#aligned", "#roles", "#frequency")
    rows = [(row[0], *(f"{value:,}" for value in row[1:])) for row in _counts(read).iter_rows()]
    out.print(table(f"{len(read):,} entries", head, rows))
    made = [(language, process, f"{count:,}") for language, process, count in _processes(read).iter_rows()]
    out.print(table("Word formation", ("language", "process", "#entries"), made))
    if read.ledger.height:
        left = [
            (row["language"], row["reason"].replace("_", " "), f"{row['rows']:,}",
             "–" if row["first_line"] is None else str(row["first_line"]), safe(row["example"] or ""))
            for row in read.ledger.iter_rows(named=True)
        ]  # fmt: skip
        names = ("language", "left out", "#rows", "#first line", "there")
        out.print(table("Left out, and never scored", names, left))
