"""What a report draws of the alignment with morphology: a heat map, words with their cuts, groups."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from workbench.report.blocks import Block, Group, Table, preview
from workbench.report.cells import NONE, Cell, Scale, number, shown
from workbench.report.looks import Drawn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workbench.report.looks import Look

CHANCE = "micro, as many cuts at random"
TABLES = ("morphology", "morphology_groups", "morphology_words", "morphology_morphs")
GAP, CUT, FALSE, MISSED = "\N{NO-BREAK SPACE}", "|", "×", "○"
WORDS = 4
"""Words drawn of each language."""

COLUMNS = {
    "Other measures of boundaries": ("precision", "recall", "cut_as_gold", "all_boundaries_cut"),
    "Words and morphs": (
        "kept_whole",
        "tokens_per_word",
        "morph_integrity",
        "morphs_intact",
        "token_turbidity",
        "morph_dilution",
        "cuts_inside_characters",
    ),
    "MorphScore": (
        "morphscore",
        "morphscore_recall",
        "morphscore_precision",
        "subword_precision",
        "subword_recall",
        "subword_f1",
    ),
    "Equal morphs, families and surprisal": (
        "morpheme_consistency",
        "morpheme_split_entropy",
        "pair_consistency_precision",
        "pair_consistency_recall",
        "pair_consistency_f1",
        "paradigm_entropy",
        "boundary_surprisal",
        "boundary_surprisal_auc",
    ),
}


def morphology(look: Look) -> Drawn:
    """The blocks of the audit's section."""
    names = ("subject", "language", "form", "measure", "variant", "value", "low", "high", "words")
    table = look.table("morphology", *names)
    if table is None:
        return Drawn([], (), TABLES)
    kept = table.filter(pl.col("subject").is_in(look.subjects))
    placed = kept.filter(pl.col("form").is_not_null())
    sizes = _sizes(kept)
    blocks = [
        _heat(look, part, str(form), sizes) for (form,), part in placed.group_by("form", maintain_order=True)
    ]
    words = look.table(
        "morphology_words", "subject", "language", "form", "word", "morphs", "pieces", "sample"
    )
    if words is not None:
        blocks += _drawn_words(look, words)
    blocks += [_measures(look, placed, title, which) for title, which in COLUMNS.items()]
    groups = look.table("morphology_groups", "subject", "language", "form", "group", "value", "f1", "recall")
    if groups is not None and groups.height:
        blocks.append(_groups(look, groups))
    morphs = look.table("morphology_morphs", "subject", "language", "morph", "occurrences")
    if morphs is not None and morphs.height:
        blocks.append(_morphs(look, morphs))
    return Drawn(blocks, table["measure"].unique().to_list(), TABLES)


def _named(language: str | None) -> str:
    return "all together" if language is None else shown(language)


def _sizes(table: pl.DataFrame) -> dict[str | None, str]:
    """Words of each language, and how much of its gold has no place on the surface."""
    rows = table.filter(measure="gold_unplaced").unique("language", maintain_order=True)
    return {
        row["language"]: f"{row['words']:,} entries"
        + (f"; {row['value']:.1%} of gold unplaced" * (row["value"] > 0))
        for row in rows.iter_rows(named=True)
    }


def _heat(look: Look, table: pl.DataFrame, form: str, sizes: dict[str | None, str]) -> Block:
    """F1 by language and segmenter with its interval and what chance would give."""
    rows = table.filter(pl.col("measure") == "f1")
    value = {(r["subject"], r["language"]): r for r in rows.filter(variant="micro").iter_rows(named=True)}
    chance = {
        (r["subject"], r["language"]): r["value"] for r in rows.filter(variant=CHANCE).iter_rows(named=True)
    }
    scale = Scale.of([row["value"] for row in value.values()])
    languages = rows["language"].unique(maintain_order=True).to_list()
    lines = []
    for language in languages:
        cells = [Cell(_named(language), sub=sizes.get(language))]
        for subject in look.subjects:
            row = value.get((subject, language))
            cells.append(_scored(row, chance.get((subject, language)), scale))
        lines.append(cells)
    title = f"F1 of boundaries, words {'alone' if form == 'bare' else form}"
    head = [Cell("language"), *(Cell(shown(subject), number=True) for subject in look.subjects)]
    reading = (
        "1 cuts every word exactly where its morphs meet. Below: the 95 % interval over words, and what as "
        "many cuts at random would give; only the distance from that counts."
    )
    return Block(title, Table(title, head, [Group(lines)]), reading, "unit: share; variant: micro", tall=True)


def _scored(row: dict[str, Any] | None, chance: float | None, scale: Scale) -> Cell:
    if row is None or row["value"] is None:
        return Cell(NONE, number=True)
    parts = []
    if row["low"] is not None:
        parts.append(f"{number(row['low'], 2)} to {number(row['high'], 2)}")
    if chance is not None:
        parts.append(f"chance {number(chance, 2)}")
    return Cell(number(row["value"], 3), sub="; ".join(parts), number=True, fill=scale.fill(row["value"]))


def _drawn_words(look: Look, table: pl.DataFrame) -> Iterator[Block]:
    """Words with the gold cuts above each segmenter's, letters under letters."""
    form = "bare" if (table["form"] == "bare").any() else "after a space"
    sample = table.filter(pl.col("sample") & pl.col("subject").is_in(look.subjects))
    forms = sample.filter(
        (pl.col("form") == form)
        | (~pl.col("subject").is_in(sample.filter(form=form)["subject"].unique().to_list()))
    )
    groups = []
    for _, part in forms.group_by("language", maintain_order=True):
        words = part["word"].unique(maintain_order=True).to_list()
        few = words[:: max(1, len(words) // WORDS)][:WORDS]
        groups += [_word(part.filter(word=word), look.subjects) for word in few]
    if not groups:
        return
    title = "Words, cut by morphs and by tokens"
    head = [Cell("cut by"), Cell("word")]
    reading = f"{CUT} is a cut that both have, {FALSE} one that tokens add, {MISSED} one that they miss."
    yield Block(title, Table(title, head, groups), reading, f"{WORDS} words a language", tall=True)


def _word(rows: pl.DataFrame, subjects: Sequence[str]) -> Group:
    first = rows.row(0, named=True)
    gold = _ends(first["morphs"])
    cuts = {row["subject"]: _ends(row["pieces"]) for row in rows.iter_rows(named=True)}
    places = sorted(gold.union(*cuts.values()))
    lines = [[Cell("morphs"), _spread(first["word"], places, lambda place: CUT if place in gold else GAP)]]
    for subject in subjects:
        if subject not in cuts:
            continue
        own = cuts[subject]
        marks = {(True, True): CUT, (False, True): FALSE, (True, False): MISSED, (False, False): GAP}
        mark = {place: marks[place in gold, place in own] for place in places}
        lines.append([Cell(shown(subject)), _spread(first["word"], places, mark.__getitem__)])
    return Group(lines, f"{shown(first['language'])}: {shown(first['word'], 60)}")


def _ends(parts: Iterable[str]) -> set[int]:
    """Inner boundaries in code points."""
    ends = list(accumulate(map(len, parts)))
    return set(ends[:-1])


def _spread(word: str, places: Sequence[int], mark: Any) -> Cell:
    ends = [0, *places, len(word)]
    text = "".join(("" if not low else mark(low)) + word[low:high] for low, high in pairwise(ends))
    return Cell(token=((shown(text), False),))


def _measures(look: Look, table: pl.DataFrame, title: str, which: Sequence[str]) -> Block:
    """Further measures over all languages, or over the one there is, a row a measure and form."""
    whole = table.filter(pl.col("measure").is_in(which))
    if whole["language"].null_count():
        together = whole.filter(pl.col("language").is_null() | ~pl.col("measure").is_in(
            whole.filter(pl.col("language").is_null())["measure"].unique().to_list()))  # fmt: skip
    else:
        together = whole
    groups = []
    for (language,), part in together.group_by("language", maintain_order=True):
        lines = []
        for key, rows in part.group_by("measure", "variant", "form", maintain_order=True):
            found = {row["subject"]: row for row in rows.iter_rows(named=True)}
            name = Cell(str(key[0]).replace("_", " "), sub=shown(f"{key[1]}; {key[2]}"))
            lines.append([name, *(_between(found.get(subject)) for subject in look.subjects)])
        groups.append(Group(lines, _named(language)))
    head = [Cell("measure"), *(Cell(shown(subject), number=True) for subject in look.subjects)]
    scale = "the second line is the 95 % interval, where there is one; all is in tables/morphology.parquet"
    return Block(title, Table(title, head, groups), "", scale, folded=True, tall=True)


def _between(row: dict[str, Any] | None) -> Cell:
    if row is None or row["value"] is None:
        return Cell(NONE, number=True)
    low, high = row["low"], row["high"]
    return Cell(
        number(row["value"], 3),
        sub=None if low is None else f"{number(low, 3)} to {number(high, 3)}",
        number=True,
    )


def _groups(look: Look, table: pl.DataFrame) -> Block:
    """F1, or recall for roles, by what words are."""
    title = "By kind of word"
    kept = table.filter(pl.col("subject").is_in(look.subjects))
    forms = kept["form"].unique(maintain_order=True).to_list()
    part = kept.filter(form=forms[0])
    wide = part.with_columns(score=pl.coalesce("f1", "recall")).pivot(
        "subject", index=["language", "group", "value", "words"], values="score", maintain_order=True
    )
    shown_rows = preview(
        wide.rename({"language": "subject"}),
        title,
        2 * look.top,
        "all are in tables/morphology_groups.parquet",
    )
    reading = "F1 of boundaries; for roles the recall of the boundaries beside a morph of that role."
    return Block(title, shown_rows, reading, f"unit: share; words {forms[0]}", folded=True, tall=True)


def _morphs(look: Look, table: pl.DataFrame) -> Block:
    title = "Morphs that recur, and how tokens treat them"
    kept = table.filter(pl.col("subject").is_in(look.subjects))
    few = kept.group_by("subject", "language", "form", maintain_order=True).head(3)
    rows = preview(few, title, look.top, "all are in tables/morphology_morphs.parquet")
    reading = (
        "Intact: share that lies in one token; majority: share split as most of the morph's occurrences are."
    )
    return Block(title, rows, reading, "", folded=True, tall=True)
