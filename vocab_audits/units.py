"""Units: which entries are units of a language, against random substrings, and which units are entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from vocab_audits.substrings import CLASSES, units_by_language
from vocab_audits.unitclasses import ALL, cells_of, classified
from vocab_audits.unitnull import null
from workbench.audit import Outcome, audit
from workbench.errors import SutureError
from workbench.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vocab_audits.unitnull import Null
    from workbench.inventory import Inventory
    from workbench.lexicon import MorphLexicon

PARTITION = "one class an entry"
NULL = "to random substrings of equal length, place and frequency in the lexicon"
FORMS = {
    "begin": "with a space before it, or marked as a word's begin",
    "bare": "without a space, or inside a word",
    "either": "either way",
}
"""How an inventory may hold a unit as one entry."""


@audit("Units of language among the entries")
def units(inventory: Inventory, lexicon: MorphLexicon, *, draws: int = 200, seed: int = 0) -> Outcome:
    """Class of every entry against a morph lexicon, beside random substrings, and the lexicon's units held.

    Args:
        inventory: the inventory.
        lexicon: words and their morphs.
        draws: random vocabularies for the interval of the null model; the mean needs none.
        seed: start of their generator.

    Returns:
        Shares and ratios as findings; tables ``units`` with one row an entry, ``units_null`` with one row a
        class, and ``units_coverage`` with one row a language and kind of unit.

    Raises:
        SutureError: a negative number of draws.
    """
    if draws < 0:
        raise SutureError(f"draws must be 0 or more; got {draws}; give a number such as 200")
    found = classified(inventory, lexicon)
    random = null(cells_of(found.table), found.cells, draws, seed)
    table = _beside(found.table, random)
    coverage = held(found.table, lexicon)
    findings = [
        _about(inventory, lexicon),
        *_shares(inventory, table),
        *_languages(inventory, found.units),
        *_covered(inventory, coverage),
    ]
    name = pl.lit(inventory.name).alias("subject")
    entries = found.table.drop("read_place", "read_size").select(name, pl.all())
    return Outcome(
        findings,
        {"units": entries, "units_null": table.select(name, pl.all()),
         "units_coverage": coverage.select(name, pl.all())},
    )  # fmt: skip


def _beside(table: pl.DataFrame, random: Null) -> pl.DataFrame:
    """Entries of each class beside what the null model has; null where it says nothing of a class."""
    counted = dict(table["class"].cast(pl.String).value_counts().iter_rows())
    known = {name: place for place, name in enumerate(CLASSES)}
    rows = []
    for name in ALL:
        entries, place = int(counted.get(name, 0)), known.get(name)
        row: dict[str, object] = {"class": name, "entries": entries, "share": None, "expected": None}
        row["share"] = entries / table.height if table.height else None
        if place is not None:
            mean, deviation = float(random.mean[place]), float(random.deviation[place])
            row |= {"expected": mean, "expected_low": random.low[place], "expected_high": random.high[place]}
            row["ratio"] = entries / mean if mean else None
            row["z"] = (entries - mean) / deviation if deviation > 1e-9 else None
        rows.append(row)
    numbers = ("share", "expected", "expected_low", "expected_high", "ratio", "z")
    schema = {"class": pl.Enum(ALL), "entries": pl.Int64(), **dict.fromkeys(numbers, pl.Float64())}
    return pl.DataFrame(rows, schema=schema).with_columns(pl.col(numbers).fill_nan(None))


def held(table: pl.DataFrame, lexicon: MorphLexicon) -> pl.DataFrame:
    """Which share of a lexicon's distinct units an inventory holds as one entry.

    Args:
        table: entries as ``unitclasses.classified`` gives them.
        lexicon: words and their morphs.

    Returns:
        language, unit (of ``substrings.UNITS`` that are morphs, or ``all_words``), distinct, and the number
        held in each of ``FORMS``.
    """
    wanted = units_by_language(lexicon)
    text = pl.col("bytes").cast(pl.String, strict=False)
    text = pl.when(pl.col("space")).then(text.str.slice(1)).otherwise(text)
    valid = table.filter(pl.col("class") != "bytes").select(form=text, place="place")
    forms = valid.group_by("form").agg(
        begin=(pl.col("place") == "begin").any(), bare=(pl.col("place") != "begin").any()
    )
    joined = wanted.join(forms, on="form", how="left", maintain_order="left").with_columns(
        pl.col("begin", "bare").fill_null(value=False)
    )
    return joined.group_by("language", "unit", maintain_order=True).agg(
        distinct=pl.len().cast(pl.Int64),
        begin=pl.col("begin").sum().cast(pl.Int64),
        bare=pl.col("bare").sum().cast(pl.Int64),
        either=(pl.col("begin") | pl.col("bare")).sum().cast(pl.Int64),
    )


def _about(inventory: Inventory, lexicon: MorphLexicon) -> Finding:
    """The lexicon that the figures rest on, and what is known of its quality."""
    said = "; ".join([f"{len(lexicon.languages)} languages", *lexicon.notes])
    return Finding(inventory.name, "units", "lexicon_entries", float(len(lexicon)), unit="entries",
                   note=f"{lexicon.name}: {said}")  # fmt: skip


def _shares(inventory: Inventory, table: pl.DataFrame) -> Iterator[Finding]:
    for row in table.iter_rows(named=True):
        name, entries = row["class"], row["entries"]
        yield Finding(inventory.name, "units", f"class.{name}", float(entries), PARTITION, "entries")
        yield Finding(inventory.name, "units", f"share.{name}", row["share"], PARTITION, "share of entries",
                      note=None if row["share"] is not None else "not applicable: no entries")  # fmt: skip
    some = pl.col("expected").is_not_null() & ((pl.col("expected") > 0) | (pl.col("entries") > 0))
    for row in table.filter(some).iter_rows(named=True):
        note = None if row["ratio"] is not None else "no random substring is of this class"
        yield Finding(inventory.name, "units", f"over_null.{row['class']}", row["ratio"], NULL, "ratio",
                      note=note, evidence=_random(row, int(table["entries"].sum())))  # fmt: skip


def _random(row: dict[str, float | None], entries: int) -> str | None:
    """What the null model has, in words."""
    mean, low, high, z = (row[key] for key in ("expected", "expected_low", "expected_high", "z"))
    if not entries or mean is None:
        return None
    said = f"random {mean / entries:.4f} of the entries"
    if low is not None and high is not None:
        said += f", 95 % of draws {low / entries:.4f} to {high / entries:.4f}"
    return said if z is None else f"{said}; z = {z:+.1f}"


def _languages(inventory: Inventory, found: pl.DataFrame) -> Iterator[Finding]:
    """Entries that are a unit of each language, by kind; one may be of several."""
    counted = found.group_by("language", "unit").agg(pl.col("token_id").n_unique()).sort("unit", "language")
    for language, unit, entries in counted.iter_rows():
        yield Finding(inventory.name, "units", f"unit_of.{unit}", float(entries),
                      "an entry counts in each language and kind that it is of", "entries",
                      language=language)  # fmt: skip


def _covered(inventory: Inventory, coverage: pl.DataFrame) -> Iterator[Finding]:
    for row in coverage.iter_rows(named=True):
        for key, variant in FORMS.items():
            if row["unit"] in ("suffix", "affix") and key == "begin":
                continue
            yield Finding(inventory.name, "units", f"held.{row['unit']}", row[key] / row["distinct"], variant,
                          "share of the lexicon's distinct ones", language=row["language"],
                          evidence=f"{row[key]:,} of {row['distinct']:,}")  # fmt: skip
