"""What a report draws of unwanted entries, as the run shows them: masked until it is asked for in clear."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from workbench.report.blocks import Block, Group, Table, stacked
from workbench.report.cells import Cell, label, number, percent, shown
from workbench.report.looks import Drawn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.report.looks import Look

TABLES = (
    "unwanted",
    "unwanted_lists",
    "unwanted_words",
    "unwanted_longest",
    "unwanted_pieces",
    "unwanted_kin",
)
STATUS = {"single": "one token", "several": "several tokens", "not_coverable": "cannot be spelled"}


def unwanted(look: Look) -> Drawn:
    """Entries hit by category and kind, the lists, Han pieces, list words, and the gravest entries masked."""
    blocks = []
    for prefix, title, reading in (
        ("category.", "Entries that a list names, by category",
         "A hit is a candidate for review, not a verdict; an entry of two categories counts in both."),
        ("kind.", "The same by how they were met",
         "A word has its boundary with it, a fragment may continue one; contains is for unspaced scripts."),
    ):  # fmt: skip
        parts = {label(name): counts for name, counts in look.parts(prefix).items()}
        if parts:
            blocks.append(stacked(title, parts, look.subjects, reading, "unit: entries"))
    blocks += [*_lists(look), *_words(look), *_pieces(look)]
    drawn = (*look.named("category.", "kind.", "list.", "words."), "list_terms")
    return Drawn(blocks, drawn, TABLES)


def _lists(look: Look) -> Iterator[Block]:
    """Every list with its licence and digest, and the entries that it names."""
    table = look.table("unwanted_lists", "subject", "name", "source", "licence", "digest", "terms", "refused")
    if table is None or table.is_empty():
        return
    hits = look.parts("list.")
    lines = []
    rows = table.unique("name", keep="first", maintain_order=True)
    for row in rows.iter_rows(named=True):
        counts = hits.get(row["name"], [0.0] * len(look.subjects))
        lines.append([
            Cell(shown(row["name"]), sub=shown(row["source"], 80)),
            Cell(shown(row["licence"] or "not stated", 40)),
            Cell(row["digest"][:12]),
            Cell(number(row["terms"]), sub=f"{row['refused']:,} left out", number=True),
            *(Cell(number(value), number=True) for value in counts),
        ])  # fmt: skip
    title = "The lists, and the entries that each names"
    head = [Cell("list"), Cell("licence"), Cell("SHA-256"), Cell("terms", number=True),
            *(Cell(shown(subject), number=True) for subject in look.subjects)]  # fmt: skip
    yield Block(title, Table(title, head, [Group(lines)]), "Licences are those that the source states.",
                "unit: entries", tall=True)  # fmt: skip


def _words(look: Look) -> Iterator[Block]:
    """List words as one token, several, or beyond spelling."""
    table = look.counted("unwanted_words", "subject", "list", "term", "status")
    if table is None or table.is_empty():
        return
    words = table.unique(["subject", "list", "term"])
    found = {
        (subject, status): entries
        for subject, status, entries in words.group_by("subject", pl.col("status").cast(pl.String))
        .len()
        .iter_rows()
    }
    parts = {said: [float(found.get((subject, status), 0)) for subject in look.subjects]
             for status, said in STATUS.items()}  # fmt: skip
    yield stacked("What the lists' words cost", parts, look.subjects,
                  "A word of several tokens is not absent.", "unit: words of the lists")  # fmt: skip


def _pieces(look: Look) -> Iterator[Block]:
    """The commonest pieces of long Han entries, with the share of them that is in a hit."""
    table = look.table("unwanted_pieces", "subject", "piece", "entries", "hits")
    if table is None:
        return
    groups = []
    for subject in look.subjects:
        rows = table.filter(subject=subject)
        lines = [
            [Cell(shown(row["piece"])), Cell(number(row["entries"]), number=True),
             Cell(percent(row["hits"], row["entries"]), number=True)]
            for row in rows.head(look.top).iter_rows(named=True)
        ]  # fmt: skip
        if lines:
            groups.append(Group(lines, shown(subject)))
    if groups:
        title = "Pieces of the entries with three and more Han characters"
        head = [Cell("piece"), Cell("entries", number=True), Cell("of them hits", number=True)]
        yield Block(title, Table(title, head, groups, more="all are in tables/unwanted_pieces.parquet"),
                    "Cut into the longest shorter entries, from the left; a count, with no dictionary.",
                    "unit: entries", folded=True, tall=True)  # fmt: skip
