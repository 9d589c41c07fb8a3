"""Several tokenizers side by side, for a terminal or a script; nothing is written."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from vocab_audits.compression import compression
from vocab_audits.overlap import overlap
from vocab_audits.run import gather
from workbench.corpora import open_corpus
from workbench.display import faithful

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from workbench.audit import Outcome
    from workbench.corpora import Corpus
    from workbench.tokenizer import Tokenizer

SAMPLE = 2_000
"""Texts of the corpus that are cut by both of a pair in search of the first that differs."""


def compared(specs: Sequence[str], corpus_spec: str, limit: int | None, top: int) -> dict[str, Any]:
    """Inventories, overlap, pipelines and cost on text of several tokenizers.

    Args:
        specs: tokenizers.
        corpus_spec: a corpus spec.
        limit: documents taken from each file of the corpus.
        top: entries of one inventory alone to list.

    Returns:
        A dictionary fit for JSON: ``tokenizers``, ``pairs``, ``figures``, ``skipped``.
    """
    loaded = gather(specs)
    corpus = open_corpus(corpus_spec, limit=limit)
    corpus.check()
    shared = overlap(loaded.tokenizers, top=top)
    return {
        "tokenizers": [tokenizer.card() for tokenizer in loaded.tokenizers],
        "corpus": corpus.name,
        "overlap": _figures(shared),
        "entries": _entries(shared),
        "pipelines": [_differing(a, b, corpus) for a, b in combinations(loaded.tokenizers, 2)],
        "text": [
            row
            for tokenizer in loaded.tokenizers
            for row in _figures(compression(tokenizer, corpus))
            if row["language"] is None
        ],
        "skipped": loaded.skipped,
    }


def _figures(outcome: Outcome) -> list[dict[str, Any]]:
    wanted = ("subject", "measure", "variant", "value", "unit", "language", "note")
    rows = outcome.table().filter(outcome.table()["token_id"].is_null()).select(wanted)
    return rows.to_dicts()


def _entries(outcome: Outcome) -> list[dict[str, Any]]:
    table = outcome.table()
    rows = table.filter(table["token_id"].is_not_null()).select("subject", "measure", "token_id", "token")
    return [
        {**row, "token": (row["token"] or b"").hex(), "shown": faithful(row["token"] or b"")}
        for row in rows.to_dicts()
    ]


def _differing(a: Tokenizer, b: Tokenizer, corpus: Corpus) -> dict[str, Any]:
    """Whether two pipelines cut pre-tokens alike, with the first text and piece where they part."""
    seen = 0
    result: dict[str, Any] = {"a": a.name, "b": b.name, "texts": 0, "first": None}
    for batch in corpus.batches():
        for text in batch.texts:
            left, right = _cuts(a, text), _cuts(b, text)
            seen += 1
            if left != right:
                place = next(
                    (k for k, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), 0
                )
                part = {"text": text, "piece": place, "a": left[place:][:1], "b": right[place:][:1]}
                return {**result, "texts": seen, "first": part}
            if seen == SAMPLE:
                return {**result, "texts": seen}
    return {**result, "texts": seen}


def _cuts(tokenizer: Tokenizer, text: str) -> list[str]:
    """Pre-tokens as the bytes that their ids spell, whatever alphabet the model writes them in."""
    engine, table = tokenizer.engine, tokenizer.inventory.pieces
    pretokens = [engine.model_ids(pretoken) for pretoken in engine.pretokenize(text)]
    return [faithful(b"".join([table[token] for token in ids])) for ids in pretokens]


def shown(result: dict[str, Any]) -> None:
    """Prints a comparison as tables."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    cards = Table("name", "entries", "rows", "model", "pattern", "source", title="Inventories")
    for card in result["tokenizers"]:
        cards.add_row(
            card["name"],
            f"{card['entries']:,}",
            f"{card['rows_needed']:,}",
            card["model"],
            card["pattern_digest"] or "–",
            card["source"],
        )
    console.print(cards)
    console.print(_listed(result["overlap"], "Overlap in byte space"))
    console.print(_pivoted(result["text"], f"Cost on {result['corpus']}"))
    for pair in result["pipelines"]:
        _print_pair(console, pair)
    for item in result["skipped"]:
        console.print(f"skipped {item['what']}: {item['why']}", markup=False)


def _listed(rows: list[dict[str, Any]], title: str) -> Table:
    """One line a subject and measure, for subjects that are pairs."""
    from rich.table import Table

    table = Table("subject", "measure", title=title)
    table.add_column("value", justify="right")
    for row in rows:
        table.add_row(row["subject"], _label(row), _number(row["value"]))
    return table


def _label(row: dict[str, Any]) -> str:
    name = f"[bold]{row['measure']}[/bold]" + (f" [dim]{row['unit']}[/dim]" if row["unit"] else "")
    return name + (f"\n{row['variant']}" if row["variant"] else "")


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4f}"


def _pivoted(rows: list[dict[str, Any]], title: str) -> Table:
    """One line a measure and variant, one column a subject."""
    from rich.table import Table

    subjects = list(dict.fromkeys(row["subject"] for row in rows))
    table = Table("measure", *subjects, title=title)
    for column in table.columns[1:]:
        column.justify = "right"
    lines: dict[str, dict[str, str]] = {}
    for row in rows:
        lines.setdefault(_label(row), {})[row["subject"]] = _number(row["value"])
    for label, values in lines.items():
        table.add_row(label, *(values.get(subject, "–") for subject in subjects))
    return table


def _print_pair(console: Any, pair: dict[str, Any]) -> None:
    both = f"{pair['a']} and {pair['b']}"
    if pair["first"] is None:
        console.print(f"{both} cut pre-tokens alike in {pair['texts']} texts", markup=False)
        return
    first = pair["first"]
    console.print(
        f"{both} first differ at pre-token {first['piece']} of {first['text']!r}: "
        f"{''.join(first['a'])} against {''.join(first['b'])}",
        markup=False,
    )
