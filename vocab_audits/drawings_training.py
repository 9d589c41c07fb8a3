"""What a report draws of vocabularies trained for it: one BPE as it grows, and objectives side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from workbench.report.blocks import Block, Group, Table, figures, preview, stacked
from workbench.report.cells import NONE, Cell, Scale, label, number, percent, shown
from workbench.report.looks import Drawn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.report.looks import Look

PART_NAMES: Mapping[str, tuple[str, ...]] = {
    "letter": ("letter",),
    "root or word of one morph": ("root", "morph", "name"),
    "affix": ("prefix", "suffix", "affix"),
    "word of several morphs": ("inflected_word", "derived_word", "compound", "word"),
    "several morphs, no word": ("morph_sequence",),
    "fragment": ("within_morph", "cross_morph"),
    "not in the lexicon": ("name_candidate", "unknown"),
    "letters of another script": ("other_script",),
    "number": ("number",),
    "punctuation, markup, code": ("punctuation", "markup", "code", "mixed", "phrase", "blank"),
    "part of a character": ("bytes",),
    "other": ("special",),
}
"""Classes of the census put together for a drawing; the table has each by itself."""

CENSUS = ("subject", "class", "entries", "share", "tokens", "token_share", "spaced")
EARLIEST = 20


def growth(look: Look) -> Drawn:
    """Census, cost, cuts and morphs by size."""
    blocks: list[Block] = []
    for key, title, unit in (
        ("entries", "What the entries are, by size", "entries"),
        ("tokens", "What the tokens of the text are, by size", "tokens"),
    ):
        blocks += _census(look, "growth_census", key, title, unit)
    blocks += _by_size(look)
    blocks += _chance(look)
    blocks += _by_language(look)
    blocks += _first(look)
    covered = (
        "growth",
        "growth_census",
        "growth_boundaries",
        "growth_list",
        "growth_reached",
        "growth_units",
    )
    measures = ("tokens", "bytes_per_token", "fertility",
                "boundary_precision", "boundary_recall", "boundary_f1",
                "morph_list_precision", "morph_list_recall", "morph_list_excess")  # fmt: skip
    return Drawn(blocks, [*measures, *look.named("share.", "share_with_space.", "reached.")], covered)


def _census(look: Look, name: str, key: str, title: str, unit: str) -> list[Block]:
    table = look.table(name, *CENSUS)
    if table is None:
        return []
    names = table["subject"].unique(maintain_order=True).to_list()
    found = {(row["subject"], row["class"]): float(row[key]) for row in table.iter_rows(named=True)}
    parts = {
        part: [sum(found.get((one, each), 0.0) for each in classes) for one in names]
        for part, classes in PART_NAMES.items()
    }
    reading = "Each bar is all of one vocabulary; classes against the morph lexicon, put together by kind."
    return [
        stacked(title, parts, names, reading, f"unit: {unit}; one class each, so the parts are all of them")
    ]


def _by_size(look: Look) -> list[Block]:
    """One row a size: cost, cuts, and morphs held, each with a bar."""
    cost = look.table("growth", "subject", "size", "language", "bytes_per_token", "fertility")
    cuts = look.table("growth_boundaries", "subject", "language", "precision", "recall", "f1")
    if cost is None or cuts is None:
        return []
    whole = cost.filter(pl.col("language").is_null()).join(
        cuts.filter(pl.col("language").is_null()).select("subject", "precision", "recall", "f1"),
        on="subject", how="left", maintain_order="left",
    )  # fmt: skip
    columns = {"bytes_per_token": "bytes per token", "fertility": "tokens per word", "precision": "precision",
               "recall": "recall", "f1": "F1"}  # fmt: skip
    rows = _barred(whole, "subject", columns, shares=("precision", "recall", "f1"))
    title = "Cost and cuts by size"
    head = [Cell("vocabulary"), *(Cell(name, number=True) for name in columns.values())]
    reading = "Bars are lengths to the greatest of a column, and for precision, recall and F1 to 1."
    scale = "the text trained on; boundaries of the lexicon's words, each after a space, summed over words"
    return [Block(title, Table(title, head, [Group(rows)]), reading, scale)]


def _barred(
    table: pl.DataFrame, first: str, columns: Mapping[str, str], shares: Sequence[str] = ()
) -> list[list[Cell]]:
    """Rows with a bar in each figure."""
    most = {name: 1.0 if name in shares else float(table[name].max() or 1.0) for name in columns}  # type: ignore[arg-type]
    rows = []
    for row in table.iter_rows(named=True):
        cells = [
            Cell(NONE, number=True) if row[name] is None
            else Cell(number(row[name], 3), number=True, share=row[name] / most[name])
            for name in columns
        ]  # fmt: skip
        rows.append([Cell(shown(str(row[first]))), *cells])
    return rows


def _chance(look: Look) -> list[Block]:
    """The entries as a list of morphs, beside random lists."""
    table = look.table("growth_list", "subject", "matched", "precision", "recall", "expected_precision",
                       "expected_recall", "excess", "strings")  # fmt: skip
    if table is None:
        return []
    groups = []
    for (matched,), part in table.group_by("matched", maintain_order=True):
        rows = [
            [
                Cell(shown(row["subject"]), sub=f"{row['strings']:,} strings"),
                *(_beside(row[key], row[f"expected_{key}"]) for key in ("precision", "recall")),
                Cell(number(row["excess"], 1), number=True),
            ]
            for row in part.iter_rows(named=True)
        ]
        groups.append(Group(rows, f"random substrings of the text's words, {matched}"))
    title = "The entries as a list of morphs, beside chance"
    head = [Cell("vocabulary"), Cell("precision", number=True), Cell("recall", number=True),
            Cell("deviations above chance", number=True)]  # fmt: skip
    reading = "Under each figure is what as many random strings would reach; a dash: chance leaves no room."
    scale = "strings of two letters and more, lower-cased; morphs of the lexicon's words that are in the text"
    return [Block(title, Table(title, head, groups), reading, scale)]


def _beside(value: float | None, chance: float | None) -> Cell:
    return Cell(number(value, 3), sub=f"chance {number(chance, 3)}", number=True, share=value)


def _by_language(look: Look) -> list[Block]:
    """Bytes per token and F1 of each language, a column a size."""
    blocks = []
    for measure, title, reading in (
        ("bytes_per_token", "Bytes per token by language and size",
         "Brighter is more bytes per token; scripts differ in bytes a letter."),
        ("boundary_f1", "F1 of boundaries by language and size",
         "Brighter is nearer to the lexicon's boundaries; read along a row."),
    ):  # fmt: skip
        rows = look.of(measure).filter(pl.col("language").is_not_null() & pl.col("value").is_not_null())
        if rows.height:
            names = rows["subject"].unique(maintain_order=True).to_list()
            unit, variant = rows.select("unit", "variant").row(0)
            table = figures(rows, names, title, 2 * look.top, by="language", heat=True)
            blocks.append(
                Block(title, table, reading, f"unit: {unit}; variant: {variant}", folded=True, tall=True)
            )
    return blocks


def _first(look: Look) -> list[Block]:
    """How many morphs and words are entries, and which came first."""
    blocks = []
    table = look.table("growth_reached", "subject", "kind", "role", "attested_share", "attested_distinct")
    if table is not None:
        names = table["subject"].unique(maintain_order=True).to_list()
        rows = []
        for (kind, role), part in table.group_by("kind", "role", maintain_order=True):
            found = dict(part.select("subject", "attested_share").iter_rows())
            name = "whole word" if kind == "word" else role or "morph of no known role"
            cells = [
                Cell(NONE if found[one] is None else percent(found[one], 1.0), number=True, share=found[one])
                for one in names
            ]
            rows.append([Cell(label(str(name)), sub=f"{part['attested_distinct'][0]:,} in the text"), *cells])
        title = "Morphs and words that are entries, by size"
        head = [Cell("unit"), *(Cell(shown(name), number=True) for name in names)]
        reading = "Share of the distinct units of the lexicon, of words in the text, that are one entry."
        blocks.append(Block(title, Table(title, head, [Group(rows)]), reading,
                            "an entry counts in lower case and without the space before it"))  # fmt: skip
    units = look.table("growth_units", "kind", "language", "role", "unit", "rank", "size")
    if units is not None:
        first = units.filter(pl.col("rank").is_not_null()).sort("rank", maintain_order=True)
        kinds = [f"{kind}s" for kind in first["kind"].unique(maintain_order=True)]
        heads = first.group_by("kind", maintain_order=True).head(EARLIEST).select(
            pl.concat_str("kind", pl.lit("s")).alias("subject"), "unit", "language", "role",
            pl.col("rank").alias("merge"), "size",
        )  # fmt: skip
        title = "The first morphs and words to become entries"
        totals = dict(zip(kinds, first.group_by("kind", maintain_order=True).len()["len"], strict=True))
        more = "all are in tables/growth_units.parquet"
        reading = "The merge, from 0, that makes the unit an entry; single letters are there from the start."
        blocks.append(
            Block(title, preview(heads, title, EARLIEST, more, totals), reading, tall=True, folded=True)
        )
    return blocks


def objectives(look: Look) -> Drawn:
    """Cost, cuts and census of each objective, and how far each two are apart."""
    blocks = _side_by_side(look)
    for key, title, unit in (
        ("entries", "What the entries of each objective are", "entries"),
        ("tokens", "What its tokens in the text are", "tokens"),
    ):
        blocks += _census(look, "objectives_census", key, title, unit)
    pairs = look.table(
        "objectives_pairs", "first", "second", "jaccard", "distance_entries", "distance_tokens"
    )
    if pairs is not None:
        for key, title, reading, scale in (
            ("distance_entries", "Distance of the censuses of entries",
             "0 means equal shares of each class, 1 no class in common.",
             "unit: Jensen–Shannon distance, base 2"),
            ("distance_tokens", "Distance of the censuses of tokens",
             "The same, each entry weighed by its use in the text.",
             "unit: Jensen–Shannon distance, base 2; text trained on"),
            ("jaccard", "Entries in common: Jaccard index", "1 means the same entries, 0 none in common.",
             "unit: ratio, shared over all; variant: distinct byte strings"),
        ):  # fmt: skip
            blocks.append(Block(title, _square(pairs, key, title), reading, scale))
    measures = ("bytes_per_token", "fertility", "renyi_efficiency", "boundary_precision", "boundary_recall",
                "boundary_f1", "jaccard", "census_distance")  # fmt: skip
    covered = ("objectives", "objectives_boundaries", "objectives_census", "objectives_pairs")
    return Drawn(blocks, [*measures, *look.named("share.")], covered)


def _side_by_side(look: Look) -> list[Block]:
    cost = look.table("objectives", "subject", "part", "bytes_per_token", "fertility", "renyi_observed")
    cuts = look.table("objectives_boundaries", "subject", "language", "precision", "recall", "f1")
    if cost is None or cuts is None:
        return []
    held = cost.filter(part="held out")
    part = "held out" if held["documents"].sum() else "trained on"
    rows = cost.filter(part=part).join(
        cuts.filter(pl.col("language").is_null()).select("subject", "precision", "recall", "f1"),
        on="subject", how="left", maintain_order="left",
    )  # fmt: skip
    columns = {
        "bytes_per_token": "bytes per token",
        "fertility": "tokens per word",
        "renyi_observed": "Rényi efficiency",
        "precision": "precision",
        "recall": "recall",
        "f1": "F1",
    }
    title = "Objectives side by side"
    head = [Cell("vocabulary"), *(Cell(name, number=True) for name in columns.values())]
    shares = ("renyi_observed", "precision", "recall", "f1")
    table = Table(title, head, [Group(_barred(rows, "subject", columns, shares))])
    reading = "Random merges are the control: what they reach is due to the pre-tokens and to chance."
    scale = f"text {part}; Rényi over the types seen; boundaries of the lexicon's words, summed over words"
    return [Block(title, table, reading, scale), *_languages(look)]


def _languages(look: Look) -> list[Block]:
    rows = look.of("boundary_f1").filter(pl.col("language").is_not_null() & pl.col("value").is_not_null())
    if rows.is_empty():
        return []
    title = "F1 of boundaries by language and objective"
    names = rows["subject"].unique(maintain_order=True).to_list()
    table = figures(rows, names, title, 2 * look.top, by="language", heat=True)
    reading = "Brighter is nearer to the lexicon's boundaries; read along a row."
    return [Block(title, table, reading, "unit: ratio; summed over words", folded=True, tall=True)]


def _square(pairs: pl.DataFrame, key: str, caption: str) -> Table:
    """A heat matrix of objectives by objectives, its diagonal left blank."""
    values = {(one, two): value for one, two, value in pairs.select("first", "second", key).iter_rows()}
    values |= {(two, one): value for (one, two), value in values.items()}
    names = list(dict.fromkeys(one for one, _ in values))
    scale = Scale.of(values.values())._replace(low=0.0)
    rows = [
        [Cell(shown(one)), *(scale.cell(values.get((one, two))) if one != two else Cell("") for two in names)]
        for one in names
    ]
    head = [Cell("vocabulary"), *(Cell(shown(name), number=True) for name in names)]
    return Table(caption, head, [Group(rows)])
