"""Several tokenizers side by side, for a terminal or a script; nothing is written."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from rich.text import Text

from vocab_audits.compression import compression
from vocab_audits.gathering import gather
from vocab_audits.overlap import overlap
from vocab_audits.parity import parity
from workbench.commands.printing import console, safe, table
from workbench.display import faithful, readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from workbench.audit import Outcome
    from workbench.corpora import Corpus
    from workbench.tokenizer import Tokenizer

SAMPLE = 2_000
"""Texts of the corpus that are cut by both of a pair in search of the first that differs."""


def compared(specs: Sequence[str], corpus: Corpus, top: int) -> dict[str, Any]:
    """Inventories, overlap, pipelines and cost on text of several tokenizers.

    Args:
        specs: tokenizers.
        corpus: the texts.
        top: entries of one inventory alone to list.

    Returns:
        A dictionary fit for JSON: ``tokenizers``, ``pairs``, ``figures``, ``skipped``.
    """
    loaded = gather(specs)
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
            for row in [*_figures(compression(tokenizer, corpus)), *_figures(parity(tokenizer, corpus))]
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
    """Prints a comparison as tables; text from files is never read as markup."""
    out = console()
    columns = ("name", "#entries", "#rows", "model", "pattern", "source")
    out.print(table("Inventories", columns, [_line(card) for card in result["tokenizers"]]))
    rows = [(row["subject"], _label(row), _number(row["value"])) for row in result["overlap"]]
    out.print(table("Overlap in byte space", ("subject", "measure", "#value"), rows))
    out.print(_pivoted(result["text"], f"Cost on {result['corpus']}"))
    for pair in result["pipelines"]:
        out.print(Text(_told(pair)))
    for item in result["skipped"]:
        out.print(safe(f"skipped {item['what']}: {item['why']}"))


def _line(card: dict[str, Any]) -> tuple[str, ...]:
    sizes = (f"{card['entries']:,}", f"{card['rows_needed']:,}")
    return (card["name"], *sizes, card["model"], card["pattern_digest"] or "–", card["source"])


def _label(row: dict[str, Any]) -> str:
    name: str = row["measure"] + (f" ({row['unit']})" if row["unit"] else "")
    return name + (f": {row['variant']}" if row["variant"] else "")


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4f}"


def _pivoted(rows: list[dict[str, Any]], title: str) -> Table:
    """One line a measure and variant, one column a subject."""
    subjects = list(dict.fromkeys(row["subject"] for row in rows))
    lines: dict[str, dict[str, str]] = {}
    for row in rows:
        lines.setdefault(_label(row), {})[row["subject"]] = _number(row["value"])
    lines = {label: values for label, values in lines.items() if set(values.values()) != {"–"}}
    return table(
        title,
        ("measure", *(f"#{subject}" for subject in subjects)),
        [(label, *(values.get(subject, "–") for subject in subjects)) for label, values in lines.items()],
    )


def _told(pair: dict[str, Any]) -> str:
    both, first = readable(f"{pair['a']} and {pair['b']}".encode(errors="replace")), pair["first"]
    if first is None:
        return f"{both} cut pre-tokens alike in {pair['texts']} texts"
    return (
        f"{both} first differ at pre-token {first['piece']} of {readable(first['text'].encode())!r}: "
        f"{''.join(first['a'])} against {''.join(first['b'])}"
    )
