"""What a report draws for the audits of inventories, pipelines and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from fontTools import unicodedata as scripts

from workbench.report.blocks import Block, Group, Table, figures, preview, stacked
from workbench.report.cells import Cell, Scale, label, number, percent, shown, token_cell
from workbench.report.looks import Drawn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.report.looks import Look

ACCOUNTS = ("entries", "rows_needed", "gaps", "duplicates", "embedding_rows", "rows_without_entry",
            "ids_without_row")  # fmt: skip
WORDS = ("fertility", "continued_words", "single_token_words")
BLOCKED = ("pretok_blocked", "normalizer_blocked", "merge_blocked")
SCRIPTS = 10
"""Scripts drawn by name; the rest is ``other``."""

TOTALS = "ratio of totals"
SPELLED = 0.99
UNSPELLED = f"under {SPELLED:.0%} of the characters have entries; unknown tokens make a text look cheap"
RANKED = 20
"""Entries listed of each inventory where a bar stands beside the figure."""


def census(look: Look) -> Drawn:
    """What is drawn for the audit."""
    categories = {label(name): counts for name, counts in look.parts("category.").items()}
    spoken = look.parts("script.")
    accounts = figures(look.whole(*ACCOUNTS), look.subjects, "Entries, ids and rows", look.top)
    blocks = [
        Block("Accounts", accounts, "Entries, holes and rows should add up; a figure with a mark does not."),
        stacked(
            "Entries by category",
            categories,
            look.subjects,
            "Each bar is a whole inventory; longer parts are more entries.",
            "unit: entries; one category an entry, taken from its bytes and kind",
        ),
        stacked(
            "Entries that are not plain text",
            categories,
            look.subjects,
            "The same without plain text, so that the small parts can be told.",
            "unit: entries",
            without="text",
        ),
        stacked(
            "Text entries by script",
            _leading(spoken),
            look.subjects,
            "Each bar is all text entries; an entry of several scripts counts for the one it has most of.",
            f"unit: entries; the {SCRIPTS} commonest scripts over all inventories, the rest as other",
        ),
    ]
    return Drawn(blocks, [*ACCOUNTS, *look.named("category.", "script.")], ["census"])


def _leading(parts: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """The commonest scripts by name, and the rest together; commonness is the mean share."""
    totals = [sum(column) or 1 for column in zip(*parts.values(), strict=True)]
    shares = {
        code: sum(count / total for count, total in zip(counts, totals, strict=True))
        for code, counts in parts.items()
    }
    order = sorted(parts, key=lambda code: (-shares[code], code))
    named = {_script(code): list(parts[code]) for code in order[:SCRIPTS]}
    rest = [parts[code] for code in order[SCRIPTS:]]
    return named | ({"other": [sum(column) for column in zip(*rest, strict=True)]} if rest else {})


def _script(code: str) -> str:
    if code in ("Zyyy", "Zinh", "Zzzz"):
        return "no script"
    return str(scripts.script_name(code, default=shown(code))).replace("_", " ")


def reachability(look: Look) -> Drawn:
    """What is drawn for the audit."""
    blocks = [
        stacked(
            "Entries by class",
            {label(name): counts for name, counts in look.parts("class.").items()},
            look.subjects,
            "“ok” is reached by its own text, “context only” by a longer one; for “blocked” none was found.",
            "unit: entries",
        )
    ]
    blocked = look.of(*BLOCKED)
    if blocked.height:
        title = "Entries that no text tried leads to"
        reading = "The reason says what changes or cuts an entry's text; the search is wide, but no proof."
        blocks.append(Block(title, _blocked(look, blocked, title), reading, tall=True))
    table = look.table("reachability", "subject", "token_id", "bytes", "class", "witness")
    if table is not None:
        own = pl.col("subject").is_in(look.subjects) & (pl.col("class").cast(pl.String) == "context_only")
        rows = table.filter(own).select(
            "subject",
            pl.col("token_id").alias("id"),
            pl.col("bytes").alias("entry"),
            pl.col("witness").cast(pl.Binary).alias("a text whose tokens hold it"),
        )
        title = "Entries that only a longer text holds"
        reading = "An entry's own text is cut otherwise; the text beside it is cut so that the entry appears."
        shown = preview(rows, title, look.top, "all are in tables/reachability.parquet")
        blocks.append(Block(title, shown, reading, folded=True, tall=True))
    return Drawn(blocks, [*look.named("class."), *BLOCKED], ["reachability"])


def _blocked(look: Look, blocked: pl.DataFrame, title: str) -> Table:
    """The blocked entries as the audit lists them, counted by its figures."""
    counts = [look.parts(f"class.{name}").get("", [0.0] * len(look.subjects)) for name in BLOCKED]
    totals = {name: int(sum(column)) for name, *column in zip(look.subjects, *counts, strict=True)}
    rows = blocked.select(
        "subject",
        pl.col("token_id").alias("id"),
        pl.col("token").alias("entry"),
        "severity",
        pl.col("measure").str.replace_all("_", " ").alias("class"),
        pl.concat_str("evidence", "note", separator="; ", ignore_nulls=True).alias("reason"),
    )
    rows = rows.sort("severity", descending=True, maintain_order=True)
    return preview(rows, title, look.top, "all are in tables/reachability.parquet", totals)


def overlap(look: Look) -> Drawn:
    """What is drawn for the audit."""
    pairs = look.table("overlap_pairs", "first", "second", "shared", "jaccard", "first_in_second",
                       "second_in_first")  # fmt: skip
    covered = ("overlap_pairs", "overlap_only", "overlap_all")
    if pairs is None:
        return Drawn([], (), covered)
    rows = pairs.to_dicts()
    blocks = []
    for end, by, weight in (
        ("", "", "distinct byte strings"),
        ("_by_rank", ", weighted by rank", "entries weighted by 1/n of the n-th learned"),
        ("_by_count", ", weighted by use", "entries weighted by their share of the tokens of a corpus"),
    ):
        if f"jaccard{end}" not in pairs.columns or not pairs[f"jaccard{end}"].count():
            continue
        both = {(row["first"], row["second"]): row[f"jaccard{end}"] for row in rows}
        both |= {(two, one): value for (one, two), value in both.items()}
        held = {(row["first"], row["second"]): row[f"first_in_second{end}"] for row in rows}
        held |= {(row["second"], row["first"]): row[f"second_in_first{end}"] for row in rows}
        title = f"Jaccard index of each pair{by}"
        reading = "Brighter pairs share more; 1 means the same entries, 0 none in common."
        scale = f"unit: ratio, shared over all; variant: {weight}"
        blocks.append(Block(title, _square(look, both, title), reading, scale, folded=bool(end)))
        title = f"Containment: share of the row's entries that the column has{by}"
        reading = "Read along a row: a bright cell means that the column's inventory holds most of it."
        scale = f"unit: ratio; variant: {weight}"
        blocks.append(Block(title, _square(look, held, title), reading, scale, folded=bool(end)))
    return Drawn(blocks, (), covered)


def _square(look: Look, values: Mapping[tuple[str, str], float | None], caption: str) -> Table:
    """A heat matrix of inventories by inventories, its diagonal left blank."""
    names = [name for name in look.subjects if any(name in pair for pair in values)]
    scale = Scale.of(values.values())._replace(low=0.0)
    rows = [
        [Cell(shown(one)), *(scale.cell(values.get((one, two))) if one != two else Cell("") for two in names)]
        for one in names
    ]
    return Table(
        caption, [Cell("inventory"), *(Cell(shown(name), number=True) for name in names)], [Group(rows)]
    )


def compression(look: Look) -> Drawn:
    """What is drawn for the audit."""
    blocks = []
    for measure, variant, title, reading in (
        ("bytes_per_token", TOTALS, "Bytes per token by language",
         "Brighter is more bytes per token, so fewer tokens for a text; scripts differ in bytes a letter."),
        ("fertility", "words alone, after a space", "Fertility by language",
         "Tokens per word: 1 means that every word is one token; compare only the same variant."),
    ):  # fmt: skip
        rows = look.of(measure).filter(
            pl.col("variant").str.ends_with(variant) & (pl.col("value").is_not_null())
        )
        if rows.height:
            unit, said = rows.select("unit", "variant").row(0)
            rows = _with_coverage(look, rows)
            table = figures(rows, look.subjects, title, 2 * look.top, by="language", heat=True)
            blocks.append(Block(title, table, reading, f"unit: {unit}; variant: {said}", tall=True))
    for measures, title, reading in (
        (WORDS, "Fertility and words kept whole, in each definition",
         "One name stands for several measures in the field: compare figures within a row only."),
        (("renyi_efficiency", "entropy"), "Evenness of token frequencies",
         "Nearer to 1 is more even; the two normalisations order tokenizers differently."),
    ):  # fmt: skip
        rows = look.whole(*measures)
        if rows["value"].count():
            table = figures(rows, look.subjects, title, look.top)
            blocks.append(Block(title, table, reading, "unit and variant: under each measure; whole corpus"))
    return Drawn(blocks, (), ("compression", "token_counts"))


def _with_coverage(look: Look, rows: pl.DataFrame) -> pl.DataFrame:
    """Adds a note where an inventory lacks characters of the text, for unknown tokens are cheap."""
    spelled = look.of("coverage").select("subject", "language", pl.col("value").alias("spelled"))
    spelled = spelled.unique(["subject", "language"], maintain_order=True)
    rows = rows.join(spelled, on=["subject", "language"], how="left", nulls_equal=True, maintain_order="left")
    said = pl.when(pl.col("spelled") < SPELLED).then(pl.lit(UNSPELLED))
    return rows.with_columns(note=pl.concat_str(said, "note", separator="; ", ignore_nulls=True)).drop(
        "spelled"
    )


def genealogy(look: Look) -> Drawn:
    """What is drawn for the audit."""
    rows = look.of("dependants")
    if rows.is_empty():
        return Drawn([], (), ["genealogy"])
    built = dict(look.whole("entries_built").select("subject", "value").iter_rows())
    groups = [
        _ranked(str(subject), part.head(min(look.top, RANKED)), built.get(subject) or 0)
        for (subject,), part in rows.group_by("subject", maintain_order=True)
    ]
    head = [Cell("id", number=True), Cell("entry"), Cell("entries that rest on it", number=True),
            Cell("of those built", number=True)]  # fmt: skip
    title = "Entries that most others rest on"
    more = "more are in findings.parquet; every entry is in tables/genealogy.parquet"
    reading = "An entry rests on another if its merges go through it; taking such an entry out breaks them."
    scale = "unit: entries, direct and transitive"
    block = Block(title, Table(title, head, groups, more=more), reading, scale, tall=True)
    return Drawn([block], ["dependants"], ["genealogy"])


def _ranked(subject: str, rows: pl.DataFrame, built: float) -> Group:
    """The entries of one inventory with a bar for each figure."""
    values = rows["value"].fill_null(0).to_list()
    most = max(values) or 1
    cells = [
        [
            Cell(str(token_id), number=True),
            token_cell(token),
            Cell(number(value, 0), number=True, share=value / most),
            Cell(percent(value, built), number=True),
        ]
        for token_id, token, value in zip(rows["token_id"], rows["token"], values, strict=True)
    ]
    return Group(cells, f"{shown(subject)} (the first {len(cells)})")


def pipeline(look: Look) -> Drawn:
    """What is drawn for the audit."""
    blocks = []
    steps = look.table("pipeline", "subject", "stage", "name", "detail")
    if steps is not None:
        title = "Steps from text to ids"
        rows = steps.filter(pl.col("subject").is_in(look.subjects)).select(
            "subject", "stage", "name", pl.col("detail").replace("", None)
        )
        table = preview(rows, title, look.top, "all are in tables/pipeline.parquet")
        blocks.append(Block(title, table, "Steps stand in the order in which they are taken.", tall=True))
    special = look.table("special_text", "subject", "token_id", "bytes", "as_data", "as_prompt")
    if special is not None:
        title = "What becomes of the text of special and added tokens"
        names = {
            "token_id": "id",
            "bytes": "token",
            "as_data": "ids as data",
            "as_prompt": "its id as prompt",
        }
        rows = special.filter(pl.col("subject").is_in(look.subjects)).rename(names)
        table = preview(rows, title, look.top, "all are in tables/special_text.parquet")
        reading = "As data, a special token's text should be several ids; a trusted prompt gets its own id."
        blocks.append(Block(title, table, reading, folded=True, tall=True))
    return Drawn(blocks, ("model", "pattern"), ("pipeline", "special_text"))
