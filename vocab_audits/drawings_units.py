"""What a report draws of units among the entries, and of word families cut side by side."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

import polars as pl

from vocab_audits.shapes import SHAPES
from vocab_audits.substrings import CLASSES, UNITS
from vocab_audits.unitclasses import OUTSIDE
from workbench.report.blocks import Block, Group, Table, figures, stacked
from workbench.report.cells import NONE, Cell, Chip, Scale, label, number, shown, token_cell
from workbench.report.looks import Drawn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workbench.report.looks import Look

CUT, MISSED = "|", "○"
"""A cut where morphs meet, and a place where they meet that is not cut."""

GROUPS = {
    "unit of the lexicon": UNITS,
    "sequence of morphs": ("morph_sequence",),
    "inside a morph": ("within_morph",),
    "across morphs": ("cross_morph",),
    "not in the lexicon": OUTSIDE,
    "number": ("number",),
    "punctuation, blank": ("punctuation", "blank"),
    "code, markup": ("code", "markup"),
    "phrase, mixed": ("phrase", "mixed"),
    "special, bytes": ("special", "bytes"),
}
"""Classes drawn as one part of a bar."""

EXAMPLES = 6
"""Entries shown of each class."""


def units(look: Look) -> Drawn:
    """Bars of classes, classes beside the null model, examples, and the lexicon's units held."""
    parts = look.parts("class.")
    names = ("units", "units_null", "units_coverage")
    if not parts:
        return Drawn([], (), names)
    none = [0.0] * len(look.subjects)
    grouped = {
        name: [sum(column) for column in zip(*(parts.get(each, none) for each in classes), strict=True)]
        for name, classes in GROUPS.items()
    }
    lexical = {label(name): parts.get(name, none) for name in CLASSES}
    blocks = [
        stacked("Entries by what they are", grouped, look.subjects,
                "Each bar is a whole inventory; an entry has one class.", "unit: entries"),
        stacked("Entries found in the lexicon", lexical, look.subjects,
                "Units beside sequences and fragments; a word that the lexicon lacks may be a fragment.",
                "unit: entries found in the lexicon's words"),
    ]  # fmt: skip
    blocks += [*_beside_null(look), *_held(look), *_examples(look)]
    drawn = look.named("class.", "share.", "over_null.", "held.")
    return Drawn(blocks, drawn, names)


def _beside_null(look: Look) -> Iterator[Block]:
    """How many times more entries of each class there are than among random substrings."""
    table = look.table("units_null", "subject", "class", "entries", "ratio", "expected", "z")
    if table is None:
        return
    rows = table.filter(pl.col("expected").is_not_null() & pl.col("subject").is_in(look.subjects))
    found = {(row["class"], row["subject"]): row for row in rows.iter_rows(named=True)}
    scale = Scale.of(rows["ratio"].to_list())
    lines = []
    for name in CLASSES:
        here = [found.get((name, subject)) for subject in look.subjects]
        if any(row and (row["entries"] or row["expected"]) for row in here):
            lines.append([Cell(label(name)), *(_ratio(row, scale) for row in here)])
    title = "Beside random substrings of the lexicon's words"
    head = [Cell("class"), *(Cell(shown(subject), number=True) for subject in look.subjects)]
    reading = (
        "Above 1 there are more such entries than among substrings as long and as frequent, below 1 fewer."
    )
    scale_said = "unit: ratio; the second line is entries, and how many are expected at random"
    yield Block(title, Table(title, head, [Group(lines)]), reading, scale_said, tall=True)


def _ratio(row: Mapping[str, Any] | None, scale: Scale) -> Cell:
    if row is None:
        return Cell(NONE, number=True)
    sub = f"{row['entries']:,}; random {number(row['expected'], 1)}"
    return Cell(number(row["ratio"], 2), sub=sub, number=True, fill=scale.fill(row["ratio"]))


def _held(look: Look) -> Iterator[Block]:
    """Share of the lexicon's units that are one entry, by language."""
    table = look.table("units_coverage", "subject", "language", "unit", "distinct", "begin", "bare", "either")
    if table is None or table.is_empty():
        return
    kept = table.filter(pl.col("subject").is_in(look.subjects))
    scale = Scale.of((kept["either"] / kept["distinct"]).to_list())
    groups = []
    for (unit,), part in kept.group_by("unit", maintain_order=True):
        found = {(row["language"], row["subject"]): row for row in part.iter_rows(named=True)}
        languages = part["language"].unique(maintain_order=True).to_list()[: 2 * look.top]
        lines = [
            [Cell(shown(language)), *(_share(found.get((language, name)), scale) for name in look.subjects)]
            for language in languages
        ]
        groups.append(Group(lines, label(str(unit))))
    title = "Share of the lexicon's distinct units held as one entry"
    head = [Cell("language"), *(Cell(shown(subject), number=True) for subject in look.subjects)]
    reading = (
        "Brighter is more; the second line is units, and how many with a space (or begin mark) and without."
    )
    yield Block(title, Table(title, head, groups), reading, "unit: share, held either way", tall=True)


def _share(row: Mapping[str, Any] | None, scale: Scale) -> Cell:
    if row is None:
        return Cell(NONE, number=True)
    share = row["either"] / row["distinct"]
    sub = f"{row['distinct']:,}; {row['begin']:,} with, {row['bare']:,} without"
    return Cell(number(share, 3), sub=sub, number=True, fill=scale.fill(share))


def _examples(look: Look) -> Iterator[Block]:
    """The first entries of each class."""
    table = look.table("units", "subject", "token_id", "bytes", "class")
    if table is None:
        return
    rows = table.filter(pl.col("subject").is_in(look.subjects) & (pl.col("bytes").bin.size() > 2))
    few = rows.group_by("subject", "class", maintain_order=True).head(EXAMPLES)
    found: dict[tuple[str, str], list[bytes]] = {}
    for subject, name, piece in few.select("subject", "class", "bytes").iter_rows():
        found.setdefault((subject, str(name)), []).append(piece)
    lines = []
    for name in (*CLASSES, *OUTSIDE, *SHAPES):
        here = [found.get((subject, name), []) for subject in look.subjects]
        if any(here):
            lines.append([Cell(label(name)), *(_chips(pieces) for pieces in here)])
    title = "Examples of each class"
    head = [Cell("class"), *(Cell(shown(subject)) for subject in look.subjects)]
    more = "every entry with its class and languages is in tables/units.parquet"
    reading = (
        f"The first {EXAMPLES} entries of each class with more than two bytes, in the order of their ids."
    )
    yield Block(title, Table(title, head, [Group(lines)], more=more), reading, folded=True, tall=True)


def _chips(pieces: Sequence[bytes]) -> Cell:
    return (
        Cell(chips=tuple(Chip(token_cell(piece).token or ()) for piece in pieces)) if pieces else Cell(NONE)
    )


def exemplars(look: Look) -> Drawn:
    """The grid of forms, one group a family, with figures; digit groupings; means of the kinds."""
    covered = ("exemplars", "exemplars_families", "exemplars_digits")
    forms = look.table("exemplars", "subject", "family", "kind", "language", "form", "pieces", "starts",
                       "boundaries")  # fmt: skip
    if forms is None:
        return Drawn([], (), covered)
    kept = forms.filter(pl.col("subject").is_in(look.subjects))
    told = look.table("exemplars_families", "subject", "family", "kind", "measure", "variant", "value")
    blocks = [*_means(look), *_digit_groups(look)]
    for (kind,), part in kept.group_by("kind", maintain_order=True):
        blocks.append(_grid(look, str(kind), part, told))
    measures = [*look.named("family."), *(name for name in look.named("") if name in DRAWN)]
    return Drawn(blocks, measures, covered)


KINDS_BY = ("tokens_per_form", "whole_forms", "jaccard", "stem_alike", "boundary_recall",
            "boundary_precision", "same_cuts", "space_alike", "edges_cut", "cuts_on_edges")  # fmt: skip
NUMBERS = ("digit_consistency", "thousands_cut", "cuts_on_thousands")
DRAWN = (*KINDS_BY, *NUMBERS)
UNDER = {"jaccard": "pieces shared", "stem_alike": "stem alike", "same_cuts": "same cuts",
         "boundary_recall": "boundaries cut", "edges_cut": "word edges cut"}  # fmt: skip
"""Figures under each family, and what they are called there."""


def _means(look: Look) -> Iterator[Block]:
    """Means of the families of each kind, a table a measure."""
    rows = look.of(*KINDS_BY).filter(pl.col("subject").is_in(look.subjects))
    groups = []
    for (measure, definition), part in rows.with_columns(
        kind=pl.col("variant").str.extract(r"^(\w+): "),
        definition=pl.col("variant").str.extract(r"^\w+: (.*); mean of families$"),
    ).group_by("measure", "definition", maintain_order=True):
        scale = Scale.of(part["value"].to_list())
        lines = []
        for (kind,), each in part.group_by("kind", maintain_order=True):
            found = dict(each.select("subject", "value").iter_rows())
            lines.append([Cell(str(kind)), *(scale.cell(found.get(subject)) for subject in look.subjects)])
        unit = part["unit"][0]
        said = f"{shown(str(definition))}, mean over families ({shown(str(unit))})"
        groups.append(Group(lines, f"{label(str(measure))}: {said}"))
    title = "Families by kind"
    head = [Cell("kind"), *(Cell(shown(subject), number=True) for subject in look.subjects)]
    reading = "Means over the families of a kind; 1 of a ratio or share means that all forms are cut alike."
    if groups:
        yield Block(
            title, Table(title, head, groups), reading, "a few forms each: examples, no samples", tall=True
        )


def _digit_groups(look: Look) -> Iterator[Block]:
    """The commonest groupings of each length."""
    table = look.table("exemplars_digits", "subject", "length", "grouping", "pattern", "share")
    if table is None or table.is_empty():
        return
    lines = []
    for (length,), part in table.filter(pl.col("subject").is_in(look.subjects)).group_by(
        "length", maintain_order=True
    ):
        found: dict[str, list[dict[str, Any]]] = {}
        for row in part.iter_rows(named=True):
            found.setdefault(row["subject"], []).append(row)
        lines.append(
            [Cell(str(length), number=True), *(_grouping(found.get(name)) for name in look.subjects)]
        )
    title = "How digits are grouped"
    head = [Cell("digits", number=True), *(Cell(shown(subject)) for subject in look.subjects)]
    lines.sort(key=lambda line: int(line[0].text))
    reading = "The commonest grouping of numbers of each length, and the share of them that have it."
    scale = "numbers drawn at random, no zero in front; all groupings: tables/exemplars_digits.parquet"
    yield Block(title, Table(title, head, [Group(lines)]), reading, scale)
    title = "Numbers in figures"
    rows = look.whole(*NUMBERS)
    reading = "Consistency 1 means that the length of a number alone decides how it is cut."
    yield Block(title, figures(rows, look.subjects, title, look.top), reading)


def _grouping(rows: Sequence[Mapping[str, Any]] | None) -> Cell:
    if not rows:
        return Cell(NONE)
    first = rows[0]
    others = f"; {len(rows) - 1} other" if len(rows) > 1 else ""
    return Cell(shown(first["grouping"]), sub=f"{first['pattern']}, {100 * first['share']:.0f} %{others}")


def _grid(look: Look, kind: str, forms: pl.DataFrame, told: pl.DataFrame | None) -> Block:
    """One group a family, a row a form, a column a segmenter; the family's figures below."""
    groups = []
    for (language, family), part in forms.group_by("language", "family", maintain_order=True):
        found = {(row["form"], row["subject"]): row for row in part.iter_rows(named=True)}
        lines = [
            [_chips([form.encode()]), *(_cut(found.get((form, subject))) for subject in look.subjects)]
            for form in part["form"].unique(maintain_order=True)
        ]
        if told is not None:
            own = told.filter(family=family, language=language).filter(pl.col("kind").cast(pl.String) == kind)
            lines += _under(look, own)
        groups.append(Group(lines, f"{shown(str(language), 40)}: {shown(str(family), 80)}"))
    title = f"Forms: {label(kind)}"
    head = [Cell("form"), *(Cell(shown(subject)) for subject in look.subjects)]
    reading = f"A box is a piece; {CUT} is a cut where morphs meet, {MISSED} a place where they meet uncut."
    few = groups[: look.top]
    more = f"{len(few)} of {len(groups)} families are shown; all are in tables/exemplars.parquet"
    table = Table(title, head, few, more=more if len(few) < len(groups) else None)
    return Block(
        title, table, reading, "the figures under each family are defined in the table by kind", tall=True
    )


def _under(look: Look, own: pl.DataFrame) -> Iterator[list[Cell]]:
    """The figures of one family, those that have any."""
    own = own.filter((pl.col("measure") != "jaccard") | pl.col("variant").str.starts_with("pieces"))
    for measure, name in UNDER.items():
        found = dict(own.filter(measure=measure).select("subject", "value").iter_rows())
        if any(value is not None for value in found.values()):
            yield [Cell("", sub=name), *(Cell("", sub=number(found.get(each), 2)) for each in look.subjects)]


def _cut(row: Mapping[str, Any] | None) -> Cell:
    """The pieces of one form in boxes."""
    if row is None or not row["pieces"]:
        return Cell(NONE)
    gold = set(row["boundaries"] or ())
    starts = row["starts"]
    chips = []
    for place, (start, piece) in enumerate(zip(starts, row["pieces"], strict=True)):
        after = starts[place + 1] if place + 1 < len(starts) else None
        chips.append(Chip(_parts(piece, start, gold), CUT if after in gold else ""))
    hint = None if row.get("tokens") is None else f"ids {', '.join(map(str, row['tokens']))}"
    return Cell(chips=tuple(chips), rtl=_rtl(row["form"]), hint=hint)


def _parts(piece: bytes, start: int, gold: set[int]) -> tuple[tuple[str, bool], ...]:
    """A piece's text, with a sign at each boundary that it passes over."""
    inner = sorted(place - start for place in gold if start < place < start + len(piece))
    parts: list[tuple[str, bool]] = []
    for low, high in zip([0, *inner], [*inner, len(piece)], strict=True):
        parts += [(MISSED, True)] * bool(low)
        parts += token_cell(piece[low:high]).token or ()
    return tuple(parts)


def _rtl(text: str) -> bool:
    """Whether the first character with a direction runs from right to left."""
    strong = (unicodedata.bidirectional(character) for character in text)
    return next((kind for kind in strong if kind in ("L", "R", "AL")), "L") != "L"
