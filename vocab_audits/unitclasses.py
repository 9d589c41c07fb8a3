"""Every entry of an inventory beside a morph lexicon: one class each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from vocab_audits.shapes import SHAPES, shaped
from vocab_audits.substrings import ABSENT, CLASSES, PLACES, SEQUENCE, UNITS, Stream, lengths, read
from vocab_audits.unitnull import Cells, bands, population
from workbench.characters import COMMON, Characters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vocab_audits.substrings import Readings
    from workbench.inventory import Inventory
    from workbench.lexicon import MorphLexicon

OUTSIDE = ("name_candidate", "unknown", "other_script")
"""Letters that no word of the lexicon holds: in title case; otherwise; in a script that no word has."""

ALL = (*CLASSES, *OUTSIDE, *SHAPES)
"""All classes; each entry has one of them."""


class Classified(NamedTuple):
    """Entries with their classes.

    Attributes:
        table: one row an entry: token_id, bytes, class, space, place, language (of the reading taken),
            languages (all of which it is a unit), occurrences (in the lexicon's words), folded (found in
            lower case), read_place and read_size (of the string that was found).
        units: what each entry is a unit of, one row a language and reading: token_id, language, unit, rows.
        cells: the lexicon's substrings, for the null model; only lengths and places that entries have.
    """

    table: pl.DataFrame
    units: pl.DataFrame
    cells: Cells


def classified(inventory: Inventory, lexicon: MorphLexicon) -> Classified:
    """Finds the class of every entry.

    An entry is looked up as it is and, if it has capitals, in lower case; the better reading is taken: a unit
    before a sequence of morphs before a fragment, and as it is before lower case.

    Args:
        inventory: the inventory; holes are left out.
        lexicon: words and their morphs.
    """
    table, stream = shaped(inventory), Stream.of(lexicon)
    forms = _forms(table)
    wanted = forms.select("form", "place").unique(maintain_order=True)
    found, units, cells = _looked_up(stream, wanted)
    named = list(stream.languages)
    read_forms = forms.join(wanted.with_columns(found).filter(pl.col("class") != ABSENT),
                            on=["form", "place"], maintain_order="left")  # fmt: skip
    tier = pl.when(pl.col("class") < SEQUENCE).then(0).when(pl.col("class") == SEQUENCE).then(1).otherwise(2)
    best = read_forms.with_columns(tier=tier).sort("token_id", "tier", "folded").unique(
        "token_id", keep="first", maintain_order=True
    )  # fmt: skip
    own = best.join(units, on="row").select(
        "token_id",
        pl.col("language_right").replace_strict(range(len(named)), named, return_dtype=pl.String)
        .alias("language"),
        pl.col("unit").replace_strict(range(len(UNITS)), list(UNITS), return_dtype=pl.Enum(UNITS)),
        "rows",
    ).sort("token_id", "language", "unit")  # fmt: skip
    return Classified(_merged(table, best, own, named, _scripts(stream)), own, cells)


def _forms(table: pl.DataFrame) -> pl.DataFrame:
    """What is looked up: each entry of letters as it is and, if it has capitals, in lower case.

    One in title case begins a word, so in lower case it is looked for at the begin of words.
    """
    letters = table.filter(pl.col("shape").is_null()).select(
        "token_id", form="core", place="place", folded=False
    )
    lower = letters.with_columns(lower=pl.col("form").str.to_lowercase()).filter(
        pl.col("lower") != pl.col("form")
    )
    begin = _title("form") & (pl.col("place") == "any")
    lower = lower.select(
        "token_id",
        form="lower",
        place=pl.when(begin).then(pl.lit("begin")).otherwise("place"),
        folded=True,
    )
    return pl.concat([letters, lower])


def _title(column: str) -> pl.Expr:
    """Whether a string has a capital first and none after."""
    first, rest = pl.col(column).str.head(1), pl.col(column).str.slice(1)
    return (first.str.to_lowercase() != first) & (rest.str.to_lowercase() == rest)


def _looked_up(stream: Stream, wanted: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, Cells]:
    """Class, occurrences and language of each form and place, its readings as a unit, and the population."""
    classes = np.full(wanted.height, ABSENT, np.uint8)
    counts, chosen = np.zeros(wanted.height, np.int64), np.full(wanted.height, -1)
    strings = wanted["form"].unique(maintain_order=True)
    number = dict(zip(strings, range(len(strings)), strict=True))
    of_string = np.array([number[form] for form in wanted["form"]], np.int64)
    places = {place: np.flatnonzero((wanted["place"] == place).to_numpy()) for place in PLACES}
    units, cells = [], {}
    for length in lengths(stream, strings):
        found = np.full(len(strings), -1)
        found[length.forms] = length.found
        for place, rows in places.items():
            here = rows[found[of_string[rows]] >= 0]
            if not len(here):
                continue
            readings = read(stream, length, place)
            at = found[of_string[here]]
            classes[here], counts[here], chosen[here] = (
                readings.classes[at], readings.counts[at], readings.chosen[at]
            )  # fmt: skip
            cells[length.size, place] = population(readings)
            units.append(_units_of(readings, here, at))
    columns = {"class": classes, "occurrences": counts, "language": chosen, "row": np.arange(wanted.height)}
    return pl.DataFrame(columns), pl.concat(units) if units else _NO_UNITS, cells


_NO_UNITS = pl.DataFrame(
    schema={"row": pl.Int64(), "language": pl.Int64(), "unit": pl.UInt8(), "rows": pl.Int64()}
)


def _units_of(readings: Readings, here: NDArray[np.int64], at: NDArray[np.int64]) -> pl.DataFrame:
    """Readings as a unit of some forms, given by row and number."""
    rows = pl.DataFrame({"row": here, "number": at})
    units = readings.units.group_by("number", "language", "unit").agg(pl.col("rows").sum())
    return rows.join(units, on="number").select(_NO_UNITS.columns)


def _scripts(stream: Stream) -> list[str]:
    """Scripts of the lexicon's words."""
    letters = pl.Series("letters", list(map(chr, stream.alphabet.tolist())), dtype=pl.String)
    found = Characters.of(letters).script_of()[0].unique().cast(pl.String).to_list()
    return [script for script in found if script not in COMMON]


def _merged(
    table: pl.DataFrame, best: pl.DataFrame, units: pl.DataFrame, languages: list[str], scripts: list[str]
) -> pl.DataFrame:
    """All entries with the class that is theirs in the end."""
    several = units.group_by("token_id").agg(languages=pl.col("language").unique().sort())
    found = best.select(
        "token_id",
        "folded",
        "occurrences",
        found=pl.col("class"),
        read_place="place",
        read_size=pl.col("form").str.len_chars().cast(pl.Int64),
        language=pl.col("language").replace_strict(
            range(len(languages)), languages, default=None, return_dtype=pl.String
        ),
    )
    script, _ = Characters.of(table["core"]).script_of()
    camel = pl.col("camel") & (pl.col("folded").fill_null(value=True) | (pl.col("found") >= SEQUENCE))
    named = (
        pl.when(pl.col("shape").is_not_null()).then(pl.col("shape").cast(pl.String))
        .when(camel).then(pl.lit("code"))
        .when(pl.col("found").is_not_null())
        .then(pl.col("found").replace_strict(range(len(CLASSES)), list(CLASSES), default=None,
                                             return_dtype=pl.String))
        .when(~pl.col("script").cast(pl.String).is_in(scripts)).then(pl.lit("other_script"))
        .when(_title("core") & (pl.col("core").str.len_chars() > 1)).then(pl.lit("name_candidate"))
        .otherwise(pl.lit("unknown"))
    )  # fmt: skip
    merged = table.with_columns(script).join(found, on="token_id", how="left", maintain_order="left").join(
        several, on="token_id", how="left", maintain_order="left"
    )  # fmt: skip
    merged = merged.with_columns(named.cast(pl.Enum(ALL)).alias("class"))
    lexical = pl.col("class").is_in(CLASSES)
    return merged.select(
        "token_id",
        "bytes",
        "class",
        "space",
        *(pl.when(lexical).then(column).alias(column) for column in ("language", "languages")),
        "place",
        *(pl.when(lexical).then(column).alias(column)
          for column in ("occurrences", "folded", "read_place", "read_size")),
    )  # fmt: skip


def cells_of(table: pl.DataFrame) -> dict[tuple[int, str, int], int]:
    """Entries found in the lexicon, by length, place and band of frequency: what a null model is to match."""
    found = table.filter(pl.col("occurrences").is_not_null())
    band = pl.Series("band", bands(found["occurrences"].to_numpy()))
    counted = found.with_columns(band).group_by("read_size", "read_place", "band").len()
    return {(size, place, band): count for size, place, band, count in counted.iter_rows()}
