"""What a report draws of costs between languages, of versions of an inventory, and of its compression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from workbench.report.blocks import Block, Group, Table, figures, preview, stacked
from workbench.report.cells import NONE, Cell, number, shown
from workbench.report.looks import Drawn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.report.looks import Look


OPTIMUM = ("bytes_per_token", "recommended_bytes_per_token", "gap_to_recommended", "tokens_per_parameter",
           "optimal_parameters", "optimal_text", "optimal_tokens")  # fmt: skip

UNITS = {"character": "code point", "grapheme": "grapheme cluster"}

STATES = {
    "kept": "same id",
    "moved": "other id",
    "gone": "gone",
    "new": "new",
}


def parity(look: Look) -> Drawn:
    """Premiums of each parallel part as bars, inequality, Lorenz curves and scripts."""
    covered = ("parity", "parity_inequality", "parity_lorenz", "parity_scripts")
    table = look.table("parity", "subject", "set", "reference", "language", "premium_line",
                       "premium_line_low", "premium_line_high", "unspelled_lines")  # fmt: skip
    if table is None:
        return Drawn([], (), covered)
    blocks = []
    for (name,), part in table.group_by("set", maintain_order=True):
        kept = part.filter(pl.col("subject").is_in(look.subjects))
        if kept.height:
            blocks.append(_premiums(look, kept, str(name)))
    drawings = {"parity_inequality": _inequality, "parity_scripts": _scripts, "parity_lorenz": _lorenz}
    for table_name, draw in drawings.items():
        rows = look.table(table_name, "subject", "set")
        if rows is not None and rows.height:
            blocks += draw(look, rows)
    return Drawn(blocks, ("premium", "gini", "min_max_ratio", *look.named("script.")), covered)


def _premiums(look: Look, table: pl.DataFrame, name: str) -> Block:
    """A row a language, a bar a subject as long as its premium, the interval under the figure."""
    reference = table["reference"][0]
    most = table["premium_line"].max() or 1.0
    dearest = table.group_by("language").agg(pl.col("premium_line").max()).sort(
        "premium_line", "language", descending=[True, False], nulls_last=True
    )  # fmt: skip
    rows = []
    found = {(row["language"], row["subject"]): row for row in table.iter_rows(named=True)}
    shown_rows = dearest["language"].to_list()[: 2 * look.top]
    for language in shown_rows:
        cells = [_premium(found.get((language, subject)), float(most)) for subject in look.subjects]  # type: ignore[arg-type]
        rows.append([Cell(shown(language)), *cells])
    title = f"Premium of each language over {shown(reference)}: {shown(name, 80)}"
    more = None
    if dearest.height > len(shown_rows):
        more = f"{len(shown_rows)} of {dearest.height} languages are shown; all are in tables/parity.parquet"
    head = [Cell("language"), *(Cell(shown(subject), number=True) for subject in look.subjects)]
    return Block(
        title,
        Table(title, head, [Group(rows)], more=more),
        "1 costs as many tokens as the reference for the same meaning; the second line is the 95 % interval.",
        "unit: ratio; variant: tokens per line, ratio of totals; *: text without an entry looks cheap",
        tall=True,
    )


def _premium(row: Mapping[str, Any] | None, most: float) -> Cell:
    if row is None or row["premium_line"] is None:
        return Cell(NONE, number=True)
    low, high = row["premium_line_low"], row["premium_line_high"]
    between = None if low is None else f"{number(low, 2)} to {number(high, 2)}"
    lost = " *" if row["unspelled_lines"] else ""
    value = row["premium_line"]
    return Cell(number(value, 2) + lost, sub=between, number=True, share=value / most)


def _inequality(look: Look, table: pl.DataFrame) -> list[Block]:
    """Gini and least over greatest of each part and unit, with intervals."""
    title = "Inequality between languages"
    groups = []
    for (name,), part in table.group_by("set", maintain_order=True):
        found = {(row["unit"], row["subject"]): row for row in part.iter_rows(named=True)}
        rows = []
        for key, words in (("gini", "Gini"), ("min_max_ratio", "least over greatest")):
            for unit in part["unit"].unique(maintain_order=True):
                cells = [_with_interval(found.get((unit, subject)), key) for subject in look.subjects]
                rows.append([Cell(f"{words}, tokens per {UNITS.get(unit, unit)}"), *cells])
        groups.append(Group(rows, shown(str(name), 80)))
    head = [Cell("measure"), *(Cell(shown(subject), number=True) for subject in look.subjects)]
    reading = "A Gini of 0 and a least-over-greatest of 1 mean that all languages cost the same."
    scale = "unit: ratio; the second line is the 95 % interval"
    return [Block(title, Table(title, head, groups), reading, scale, tall=True)]


def _with_interval(row: Mapping[str, Any] | None, key: str) -> Cell:
    if row is None or row[key] is None:
        return Cell(NONE, number=True)
    low, high = row[f"{key}_low"], row[f"{key}_high"]
    between = None if low is None else f"{number(low, 3)} to {number(high, 3)}"
    return Cell(number(row[key], 3), sub=between, number=True)


def _scripts(look: Look, table: pl.DataFrame) -> list[Block]:
    """Premium and cost of each script, a column a subject."""
    title = "Premium of each script"
    kept = table.filter(pl.col("subject").is_in(look.subjects))
    most = float(kept["premium_line"].max() or 1.0)  # type: ignore[arg-type]
    groups = []
    for (name,), part in kept.group_by("set", maintain_order=True):
        found = {(row["script"], row["subject"]): row["premium_line"] for row in part.iter_rows(named=True)}
        about = dict(part.select("script", "languages").iter_rows())
        rows = []
        for script in sorted(about):
            values = [found.get((script, subject)) for subject in look.subjects]
            bars = [Cell(number(value, 2), number=True, share=value and value / most) for value in values]
            rows.append([Cell(shown(script), sub=shown(about[script], 200)), *bars])
        groups.append(Group(rows, shown(str(name), 80)))
    head = [Cell("script"), *(Cell(shown(subject), number=True) for subject in look.subjects)]
    reading = "The mean premium of the languages written in it; several languages weigh alike."
    return [Block(title, Table(title, head, groups), reading, "unit: ratio, tokens per line", folded=True)]


def _lorenz(look: Look, table: pl.DataFrame) -> list[Block]:
    """The points of the curves of tokens per line."""
    rows = table.filter((pl.col("unit") == "line") & pl.col("subject").is_in(look.subjects))
    if rows.is_empty():
        return []
    title = "Lorenz curve: share of all cost that the cheapest languages bear"
    groups = []
    for (name,), part in rows.group_by("set", maintain_order=True):
        found: dict[int, dict[str, Cell]] = {}
        shares: dict[int, float] = {}
        for row in part.iter_rows(named=True):
            here = Cell(number(row["tokens"], 3), sub=row["language"], number=True, share=row["tokens"])
            found.setdefault(row["place"], {})[row["subject"]] = here
            shares[row["place"]] = row["languages"]
        lines = [
            [Cell(number(shares[place], 3), number=True), *_across(cells, look.subjects)]
            for place, cells in sorted(found.items())
        ]
        groups.append(Group(lines, shown(str(name), 80)))
    head = [Cell("share of languages", number=True),
            *(Cell(shown(subject), number=True) for subject in look.subjects)]  # fmt: skip
    reading = "On equal costs both shares are one; the language named is the one added in that row."
    return [Block(title, Table(title, head, groups), reading, "unit: share of the sum of tokens per line",
                  folded=True, tall=True)]  # fmt: skip


def _across(cells: Mapping[str, Cell], subjects: Sequence[str]) -> list[Cell]:
    return [cells.get(subject, Cell(NONE, number=True)) for subject in subjects]


def persistence(look: Look) -> Drawn:
    """What became of the entries of each pair of versions, as bars and by category and script."""
    covered = ("persistence", "persistence_groups")
    table = look.table("persistence_groups", "pair", "by", "name", *STATES)
    if table is None:
        return Drawn([], (), covered)
    sums = table.filter(by="category").group_by("pair", maintain_order=True).agg(pl.col(STATES).sum())
    names = sums["pair"].to_list()
    blocks = [
        stacked(
            "What became of the entries",
            {STATES[state]: [float(count) for count in sums[state]] for state in STATES},
            names,
            "Kept, moved and gone are the earlier version; kept, moved and new are the later one.",
            "unit: entries, special tokens too",
        )
    ]
    for by, title in (("script", "Text entries by script"), ("category", "Entries by category")):
        rows = table.filter(by=by).with_columns(size=pl.sum_horizontal(*STATES))
        rows = rows.sort("size", "name", descending=[True, False], nulls_last=True)
        rows = rows.select(pl.col("pair").alias("subject"), pl.col("name").alias(by), *STATES)
        rows = rows.sort(pl.col("subject").replace_strict(dict(zip(names, range(len(names)), strict=True))),
                         maintain_order=True)  # fmt: skip
        more = "all are in tables/persistence_groups.parquet"
        reading = (
            "Each entry that is in either version counts once, in the column that says what became of it."
        )
        blocks.append(Block(title, preview(rows, title, look.top, more), reading, "unit: entries",
                            folded=True, tall=True))  # fmt: skip
    return Drawn(blocks, (), covered)


def optimum(look: Look) -> Drawn:
    """Compression beside the recommended, by language, by size of a vocabulary and under masks."""
    covered = ("optimum", "optimum_sizes", "optimum_masking")
    law = "the recommendation is the fit of arXiv 2605.01188 on its models"
    blocks = []
    rows = look.whole(*OPTIMUM)
    if rows.height:
        title = "Compression beside the compute-optimal one"
        reading = f"A gap above 0 compresses more than recommended, below 0 less; {law}."
        table = figures(rows, look.subjects, title, 4 * look.top)
        blocks.append(Block(title, table, reading, "unit and variant: under each measure; whole corpus"))
    for variant, title, reading in (
        ("to T* times the bytes", "Gap to the recommended by language, for equal content",
         "The target is scaled by the bytes that the language takes for what English says; 0 meets it."),
        ("to T*;", "Gap to the recommended by language, as it is",
         "The target is the same for all languages, though their bytes hold unlike amounts of content."),
    ):  # fmt: skip
        rows = look.of("gap_to_recommended").filter(
            pl.col("variant").str.starts_with(variant)
            & pl.col("language").is_not_null()
            & pl.col("value").is_not_null()
        )
        if rows.height:
            table = figures(rows, look.subjects, title, 2 * look.top, by="language", heat=True)
            scale = f"unit: bytes per token; {law}"
            blocks.append(Block(title, table, reading, scale, folded=variant == "to T*;", tall=True))
    for measures, title, reading in (
        (("entries_for_recommended",), "Entries of a BPE that meets the recommended",
         "A BPE is trained on the corpus; the notes say what the largest one reaches where none meets it."),
        (("masked_bytes_per_token",), "Compression when part of the vocabulary is masked",
         "Last learned keeps the beginning of the merges; at random breaks most paths of merges."),
    ):  # fmt: skip
        rows = look.whole(*measures)
        if rows.height:
            blocks.append(Block(title, figures(rows, look.subjects, title, look.top), reading,
                                "unit and variant: under each measure"))  # fmt: skip
    sizes = look.table("optimum_sizes", "subject", "text", "entries", "bytes_per_token")
    if sizes is not None and sizes.height:
        title = "Bytes per token by size of a BPE"
        kept = sizes.filter(pl.col("subject").is_in(look.subjects)).drop("bytes")
        more = "all are in tables/optimum_sizes.parquet"
        reading = "Each size is the beginning of one training; the text held out was not trained on."
        blocks.append(Block(title, preview(kept, title, look.top, more), reading, folded=True, tall=True))
    drawn = (*OPTIMUM, "entries_for_recommended", "masked_bytes_per_token")
    return Drawn(blocks, drawn, covered)
