"""Exemplars: how word families, numbers and identifiers are cut by each segmenter, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from vocab_audits.digitgroups import SCHEMA as DIGITS
from vocab_audits.digitgroups import drawn, grouped
from vocab_audits.families import KINDS, read_families
from vocab_audits.familymeasures import MEASURES, Cut, measured
from workbench.audit import Outcome, audit
from workbench.errors import upstream
from workbench.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vocab_audits.digitgroups import Grouped
    from vocab_audits.families import Family
    from workbench.segmentation import Segmenter

FORMS = pl.Schema({
    "subject": pl.String(), "family": pl.String(), "kind": pl.Enum(KINDS), "language": pl.String(),
    "form": pl.String(), "pieces": pl.List(pl.Binary()), "starts": pl.List(pl.Int64()),
    "tokens": pl.List(pl.Int32()), "cuts": pl.List(pl.Int64()),
    "boundaries": pl.List(pl.Int64()), "spelled": pl.Boolean(),
})  # fmt: skip
"""One row a segmenter and form. ``pieces`` is the text under each token, ``starts`` where each begins,
``tokens`` their ids or null. ``cuts`` (where a token begins inside the form, white space before it aside) and
``boundaries`` (of morphs, null where not known) are byte offsets."""

FAMILIES = pl.Schema({
    "subject": pl.String(), "family": pl.String(), "kind": pl.Enum(KINDS), "language": pl.String(),
    "forms": pl.Int64(), "measure": pl.String(), "variant": pl.String(), "value": pl.Float64(),
})  # fmt: skip


TOLD = ("jaccard", "stem_alike", "boundary_recall", "same_cuts", "edges_cut")
"""Measures of which each family has a finding of its own."""


@audit("Word families, numbers and identifiers")
def exemplars(
    segmenters: Sequence[Segmenter],
    *,
    families: str | None = None,
    digits: int = 9,
    numbers: int = 500,
    seed: int = 0,
) -> Outcome:
    """Forms of word families as each segmenter cuts them, and whether related forms are cut alike.

    Args:
        segmenters: all of the run.
        families: a file of families, TOML or a table; without it Suture's own exemplars, no paper's.
        digits: longest numbers whose grouping of digits is told.
        numbers: numbers of each length that are drawn for it.
        seed: start of their generator.

    Returns:
        Figures a family and a kind; tables ``exemplars`` with one row a form, ``exemplars_families`` and
        ``exemplars_digits``.

    Raises:
        SutureError: the families or the numbers are malformed.
    """
    listed = read_families(families)
    figures = drawn(digits, numbers, seed)
    findings: list[Finding] = []
    forms, rows, groups = [FORMS.to_frame()], [FAMILIES.to_frame()], []
    for segmenter in segmenters:
        cuts = _cuts(segmenter, listed)
        forms.append(_grid(segmenter.name, listed, cuts))
        table = _measured(segmenter.name, listed, cuts)
        rows.append(table)
        found = grouped(segmenter, figures)
        groups.append(found.table.select(pl.lit(segmenter.name).alias("subject"), pl.all()))
        findings += [*_lost(segmenter.name, forms[-1]), *_kinds(table), *_families(table)]
        findings += _digits(segmenter.name, found)
    none = pl.Schema({"subject": pl.String(), **DIGITS}).to_frame()
    return Outcome(
        findings,
        {"exemplars": pl.concat(forms), "exemplars_families": pl.concat(rows),
         "exemplars_digits": pl.concat([none, *groups])},
    )  # fmt: skip


Cuts = list[tuple[list[Cut], list[Cut]]]
"""For each family its forms, and the same after a space."""


def _cuts(segmenter: Segmenter, listed: Sequence[Family]) -> Cuts:
    texts = [form for family in listed for form in family.forms]
    with upstream(f"{segmenter.name} must cut text"):
        plain = segmenter.segment_batch(texts)
        spaced = segmenter.segment_batch([f" {text}" for text in texts])
    bare = iter([Cut.of(text, found) for text, found in zip(texts, plain, strict=True)])
    after = iter([Cut.of(f" {text}", found) for text, found in zip(texts, spaced, strict=True)])
    return [([next(bare) for _ in family.forms], [next(after) for _ in family.forms]) for family in listed]


def _grid(name: str, listed: Sequence[Family], cuts: Cuts) -> pl.DataFrame:
    """One row a form."""
    rows = []
    for family, (plain, _) in zip(listed, cuts, strict=True):
        for place, cut in enumerate(plain):
            ids = cut.found.ids
            rows.append((
                name, family.name, family.kind, family.language, cut.form, cut.found.pieces,
                cut.found.starts.tolist(), None if ids is None else ids.tolist(), cut.cuts,
                None if family.boundaries is None else list(family.boundaries[place]), cut.spelled,
            ))  # fmt: skip
    return pl.DataFrame(rows, FORMS, orient="row")


def _measured(name: str, listed: Sequence[Family], cuts: Cuts) -> pl.DataFrame:
    """One row a family and measure, null where it has no meaning."""
    rows = [
        (name, family.name, family.kind, family.language, len(family.forms), measure.name, measure.variant,
         value)
        for family, (plain, spaced) in zip(listed, cuts, strict=True)
        for measure, value in zip(MEASURES, measured(family, plain, spaced), strict=True)
    ]  # fmt: skip
    return pl.DataFrame(rows, FAMILIES, orient="row")


_UNITS = {(measure.name, measure.variant): measure for measure in MEASURES}


def _kinds(table: pl.DataFrame) -> Iterator[Finding]:
    """Means over the families of each kind that have a figure; kinds without one are left out."""
    whole = table.filter(pl.col("value").is_not_null())
    keys = ["subject", "measure", "variant", "kind"]
    means = whole.group_by(keys, maintain_order=True).agg(pl.col("value").mean(), pl.len())
    for subject, measure, variant, kind, value, count in means.iter_rows():
        yield Finding(subject, "exemplars", measure, value, f"{kind}: {variant}; mean of families",
                      _UNITS[measure, variant].unit, evidence=f"{count} families")  # fmt: skip


def _families(table: pl.DataFrame) -> Iterator[Finding]:
    """The figures of each family that tell most of it; the others are in the table."""
    kept = (pl.col("measure") != "jaccard") | pl.col("variant").str.starts_with("pieces")
    rows = table.filter(pl.col("measure").is_in(TOLD) & pl.col("value").is_not_null() & kept)
    for row in rows.iter_rows(named=True):
        yield Finding(row["subject"], "exemplars", f"family.{row['measure']}", row["value"],
                      f"{row['kind']} {row['family']}: {row['variant']}",
                      _UNITS[row["measure"], row["variant"]].unit, language=row["language"])  # fmt: skip


def _lost(name: str, forms: pl.DataFrame) -> Iterator[Finding]:
    """Forms that tokens do not spell."""
    lost = forms.filter(~pl.col("spelled"))
    yield Finding(
        name, "exemplars", "forms_not_spelled", float(lost.height),
        "an unknown token, or text under no token", "forms", "warn" if lost.height else "info",
        note="such tokens are shared by no two forms, and the cuts of such forms are not compared"
        if lost.height else None,
        evidence=", ".join(lost["form"].head(5)) or None,
    )  # fmt: skip


def _digits(name: str, found: Grouped) -> Iterator[Finding]:
    commonest = found.table.unique("length", keep="first", maintain_order=True)["grouping"].to_list()
    lost = f"{found.unknown} numbers hold an unknown token and are left out" if found.unknown else None
    for measure, value, variant, unit, missing in (
        ("digit_consistency", found.consistency, "commonest grouping of each length, two digits and more",
         "share of numbers", "no such number"),
        ("thousands_cut", found.thousands_cut, "four digits and more", "share of places between thousands",
         "no such number"),
        ("cuts_on_thousands", found.cuts_on_thousands, "four digits and more", "share of cuts", "no cut"),
    ):  # fmt: skip
        note = f"not applicable: {missing}" if value is None else lost
        said = f"commonest: {', '.join(commonest)}" if measure == "digit_consistency" and commonest else None
        yield Finding(name, "exemplars", measure, value, variant, unit, note=note, evidence=said)
