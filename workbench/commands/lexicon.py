"""The verb ``lexicon``: what a morph lexicon holds, and what of its source was left out."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 Typer reads it at run time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.commands.printing import console, fields, put_json, safe, table, tell
from workbench.errors import SutureError

if TYPE_CHECKING:
    from rich.console import Console

    from workbench.lexicon import MorphLexicon


def lexicon(
    specs: Annotated[
        list[str],
        typer.Argument(metavar="LEXICON…", help="embedded, embedded:de,fi, a file or a folder."),
    ],
    words: Annotated[int, typer.Option(help="Entries of each language to show.", min=0)] = 0,
    word: Annotated[str | None, typer.Option(help="Show the entries of one word.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write what was read to this Parquet file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Read a morph lexicon and say what it holds, how its cuts were found, and what was left out.

    Example: `suture lexicon embedded:de --words 5`
    """
    from workbench.lexicons import open_lexicon

    read = open_lexicon(*specs, progress=lambda file: tell(f"reading {file}"))
    if output:
        _write(read, output)
    shown = _entries(read, words, word)
    if as_json:
        put_json({**read.card(), "ledger": read.ledger.to_dicts(), "words": shown})
        return
    out = console()
    _card(out, read)
    if shown or word is not None:
        rows = [(row["language"], row["word"], " ".join(_marked(row)), row["how"]) for row in shown]
        out.print(table("Entries", ("language", "word", "morphs", "how"), rows))


def _write(read: MorphLexicon, path: Path) -> None:
    if path.suffix != ".parquet":
        raise SutureError(f"a lexicon is written as Parquet; got {path}; give a name that ends in .parquet")
    writing = path.with_name(f".{path.name}.writing")
    try:
        read.frame.write_parquet(writing)
        writing.replace(path)
    except OSError as error:
        writing.unlink(missing_ok=True)
        raise SutureError(
            f"a lexicon's file must be writable; {path} is not ({error.strerror}); choose another with -o"
        ) from None


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


def _card(out: Console, read: MorphLexicon) -> None:
    import polars as pl

    card = read.card()
    told = [
        ("source", read.source),
        ("digest", read.digest or "–"),
        ("licence", read.licence or "not stated"),
    ]
    out.print(fields([*told, *(("note", note) for note in read.notes)]))
    frame = read.frame
    counts = frame.group_by("language", maintain_order=True).agg(
        entries=pl.len(),
        several=(pl.col("morphs").list.len() > 1).sum(),
        concatenative=(pl.col("how") == "concatenative").sum(),
        aligned=(pl.col("how") == "aligned").sum(),
        frequent=pl.col("frequency").count(),
    )
    head = ("language", "#entries", "#several morphs", "#as written", "#aligned", "#frequency")
    rows = [(row[0], *(f"{value:,}" for value in row[1:])) for row in counts.iter_rows()]
    out.print(table(f"{card['entries']:,} entries", head, rows))
    if read.ledger.height:
        left = [
            (row["language"], row["reason"].replace("_", " "), f"{row['rows']:,}",
             "–" if row["first_line"] is None else str(row["first_line"]), safe(row["example"] or ""))
            for row in read.ledger.iter_rows(named=True)
        ]  # fmt: skip
        names = ("language", "left out", "#rows", "#first line", "there")
        out.print(table("Left out, and never scored", names, left))
