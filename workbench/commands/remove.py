"""The verb ``remove``: what a tokenizer loses without some of its entries, and the edited file."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 Typer reads it at run time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.commands.printing import console, fields, put_json, safe, table, tell
from workbench.errors import SutureError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from workbench.corpora import Corpus
    from workbench.edits import Proof
    from workbench.removal import Removal
    from workbench.tokenizer import Tokenizer

LISTED = 20
"""Ids that a line for people lists; ``--json`` lists all."""


def remove(
    spec: Annotated[str, typer.Argument(help="A tokenizer, as for audit.", metavar="SPEC")],
    ids: Annotated[str | None, typer.Option(help="Entries by id, with commas: 262,3842.")] = None,
    ids_from: Annotated[
        Path | None, typer.Option(help="A file of ids, or a run: its flagged findings.", metavar="FILE|RUN")
    ] = None,
    mode: Annotated[
        str, typer.Option(help="drop: out of the file. mask: keeps its place, but no text gives it.")
    ] = "drop",
    corpus: Annotated[str, typer.Option(help="Corpus: embedded, a file, folder or glob, or -.")] = "embedded",
    text_column: Annotated[str, typer.Option(help="Field or column that holds the text.")] = "text",
    errors: Annotated[str, typer.Option(help="strict, or replace for text that is not UTF-8.")] = "strict",
    limit: Annotated[int | None, typer.Option(help="Documents taken from each file.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="New file for the edited tokenizer.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Simulate dropping or masking entries: broken merges, lost entries, cost of a corpus, idle rows.

    With -o the edited tokenizer is written, once a round trip has proved that it reads.

    Example: `suture remove tiktoken:o200k_base --ids 2783,99494 --corpus sample -o edited.tiktoken`
    """
    from workbench.adapters import load
    from workbench.corpora import open_corpus
    from workbench.removal import simulate

    if (ids is None) == (ids_from is None):
        raise SutureError("entries must be named in one way; give either --ids or --ids-from")
    tokenizer = load(spec)
    named = _listed(ids) if ids is not None else _from(tokenizer, ids_from, mode)  # type: ignore[arg-type]
    removal = simulate(tokenizer, named, mode)  # type: ignore[arg-type]  # checked there
    texts = open_corpus(corpus, text_column=text_column, limit=limit, errors=errors)  # type: ignore[arg-type]
    for problem in texts.check():
        tell(str(problem))
    cost = _cost(removal, texts)
    proof = None if output is None else _written(removal, output, texts)
    for note in removal.edited.notes if proof else ():
        tell(note)
    if as_json:
        put_json(_json(removal, texts, cost, proof))
        return
    _show(removal, cost, proof)


def _listed(text: str) -> list[int]:
    """Ids from a text that sets them apart by commas, spaces or line ends; ``#`` begins a comment."""
    words = " ".join(line.partition("#")[0] for line in text.splitlines()).replace(",", " ").split()
    for word in words:
        if not word.removeprefix("-").isdecimal():
            raise SutureError(f"ids must be whole numbers with commas between; got {word[:40]!r}; correct it")
    return [int(word) for word in words]


def _from(tokenizer: Tokenizer, place: Path, mode: str) -> list[int]:
    """Ids out of a file, or those that a run flagged and that can be taken out."""
    from workbench.removal import flagged, removable

    if not place.is_dir():
        try:
            return _listed(place.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise SutureError(
                f"a file of ids must be readable text; {place} is not ({type(error).__name__}); "
                "check its path"
            ) from None
    kept, refused = removable(tokenizer, flagged(tokenizer, place), mode)  # type: ignore[arg-type]
    for token, reason in list(refused.items())[:LISTED]:
        tell(f"flagged entry {token} is left in: it {reason}")
    if not kept:
        raise SutureError(
            f"a run must flag at least one entry that can be taken out; {place} flags {len(refused)}, "
            "none of which can; name entries with --ids"
        )
    return kept


def _cost(removal: Removal, texts: Corpus) -> pl.DataFrame:
    from workbench.commands.printing import Bar
    from workbench.removal import recost

    with Bar(texts.size) as bar:
        return recost(removal, texts, progress=bar.advance)


def _written(removal: Removal, path: Path, texts: Corpus) -> Proof:
    from workbench.commands.printing import Bar
    from workbench.edits import write

    with Bar(texts.size) as bar:
        return write(removal, path, texts, progress=bar.advance)


def _json(removal: Removal, texts: Corpus, cost: pl.DataFrame, proof: Proof | None) -> dict[str, Any]:
    before, after = removal.before.inventory, removal.after.inventory
    return {
        "tokenizer": removal.before.card(),
        "edited": removal.after.card(),
        "mode": removal.mode,
        "removed": removal.ids.tolist(),
        "merges_broken": removal.broken.tolist(),
        "lost": removal.lost.tolist(),
        "lost_but_for_whole_pretokens": removal.whole.tolist(),
        "won": removal.won.tolist(),
        "rows_idle": removal.idle.tolist(),
        "rows_untrained": removal.won.tolist(),
        "rows_needed": [before.rows_needed, after.rows_needed],
        "corpus": {"name": texts.name, "digest": texts.digest, "languages": cost.to_dicts()},
        "notes": list(removal.edited.notes),
        "proof": None if proof is None else proof._asdict(),
    }


def _show(removal: Removal, cost: pl.DataFrame, proof: Proof | None) -> None:
    from rich.text import Text

    before, after = removal.before.inventory, removal.after.inventory
    built = len(removal.lost) - len(removal.whole)
    facts: list[tuple[str, object]] = [
        ("removed", _some(removal.ids)),
        ("ids", "every other entry keeps its own" + ("; holes stay" if removal.mode == "drop" else "")),
        ("merges broken", f"{len(removal.broken):,}"),
        ("entries lost", f"{built:,}: no text gives them any more" if built else "none"),
        (
            "whole words",
            f"{len(removal.whole):,} only where they spell a whole pre-token" if len(removal.whole) else None,
        ),
        ("entries won", _some(removal.won) if len(removal.won) else None),
        ("rows idle", f"{_some(removal.idle)}; to re-initialise if they are used again"),
        ("rows untrained", f"{_some(removal.won)}; no text gave them before" if len(removal.won) else None),
        ("rows needed", f"{before.rows_needed:,} before, {after.rows_needed:,} after"),
    ]
    out = console()
    out.print(Text(f"{safe(removal.before.name)}: {removal.mode} {len(removal.ids)} entries", style="bold"))
    out.print(fields(facts))
    columns = ("language", "#documents", "#changed", "#tokens", "#after", "#more %", "#unknown", "#after")
    out.print(table("Cost of the corpus", columns, [_line(row) for row in [*cost.to_dicts(), _sum(cost)]]))
    if proof is not None:
        told = f"{proof.documents:,} documents: the same ids by {proof.library} and by the file read again"
        spelled = f"{proof.exact:,} join to the text, {proof.alike:,} to what they joined to before"
        lost = f", {proof.unspelled:,} hold text without an entry" if proof.unspelled else ""
        out.print(fields([("written", safe(proof.address)), ("proved", told), ("spelled", spelled + lost)]))


def _some(ids: NDArray[np.int32]) -> str:
    shown = ", ".join(map(str, ids[:LISTED].tolist()))
    return f"{len(ids):,}: {shown}" + (" …" if len(ids) > LISTED else "")


def _line(row: dict[str, Any]) -> list[str]:
    old, new = row["tokens_before"], row["tokens_after"]
    more = f"{100 * (new / old - 1):+.3f}" if old else "–"
    sizes = [f"{row[key]:,}" for key in ("documents", "changed", "tokens_before", "tokens_after")]
    return [row["language"], *sizes, more, f"{row['unknown_before']:,}", f"{row['unknown_after']:,}"]


def _sum(cost: pl.DataFrame) -> dict[str, Any]:
    return {"language": "together", **cost.drop("language").sum().to_dicts()[0]}
