"""Census: what kinds of entries an inventory holds, and whether its accounts add up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from workbench.audit import Outcome, audit
from workbench.characters import Characters
from workbench.findings import Finding

if TYPE_CHECKING:
    from workbench.inventory import Inventory

CATEGORIES = (
    "text",
    "whitespace",
    "invisible",
    "single_byte",
    "partial_utf8",
    "misaligned_utf8",
    "special",
    "added",
    "reserved",
    "gap",
)
"""``single_byte`` is one byte that is no character alone; ``partial_utf8`` begins on a character and
breaks off inside one; ``misaligned_utf8`` begins inside one; ``invisible`` is control and format
characters that are not white space."""

NOT_UTF8 = ("single_byte", "partial_utf8", "misaligned_utf8")

RESERVED = r"(?i)^(<unused_?\d+>|\[unused_?\d+\]|<\|?reserved[ _].*\d+\|?>|<special_\d+>|<\|?extra_?\d+\|?>)$"
"""Names that model makers give to slots without a use; T5's ``<extra_id_N>`` are trained, so not these."""

LANGUAGE_OF = {
    "Armn": "hy", "Beng": "bn", "Ethi": "am", "Geor": "ka", "Grek": "el", "Gujr": "gu", "Guru": "pa",
    "Hang": "ko", "Hebr": "he", "Hira": "ja", "Kana": "ja", "Khmr": "km", "Knda": "kn", "Laoo": "lo",
    "Mlym": "ml", "Mymr": "my", "Orya": "or", "Sinh": "si", "Taml": "ta", "Telu": "te", "Thaa": "dv",
    "Thai": "th", "Tibt": "bo",
}  # fmt: skip
"""Scripts that one language mainly uses; for the others no guess is made."""

CODE = r"[{}\[\]();]|[=<>!&|+*/^~-]{2,}|::|\w_\w|\p{Ll}\p{Lu}|</?\w|&\w+;|https?:|www\."
"""Marks of code, markup and addresses: brackets, operators, joined identifiers, tags, entities."""


SLICE = 50_000
"""Entries described at a time, which bounds memory."""


@audit("Census of entries")
def census(inventory: Inventory, *, longest: int = 20) -> Outcome:
    """Category, script, length and shape of every entry, and the vocabulary's accounts.

    Args:
        inventory: the inventory.
        longest: how many of the longest entries to list.

    Returns:
        Counts as findings; table ``census`` with one row an id.
    """
    table = describe(inventory)
    found = [*_accounts(inventory, table), *_composition(inventory, table)]
    top = _longest(table, longest)
    found += [
        Finding(
            inventory.name,
            "census",
            "longest_entry",
            float(row["chars"]),
            unit="characters",
            token_id=row["token_id"],
            token=row["bytes"],
        )
        for row in top.iter_rows(named=True)
    ]
    return Outcome(found, {"census": table.with_columns(subject=pl.lit(inventory.name))})


def describe(inventory: Inventory) -> pl.DataFrame:
    """One row an id: bytes, kind, category, script, guessed language, lengths, case, shape.

    Every figure is taken from the bytes. ``chars`` is null where the bytes are not UTF-8.
    """
    frame = inventory.frame.select(
        pl.col("id").alias("token_id"), "bytes", "kind", "position", inventory.texts
    )
    return pl.concat([_described(part) for part in frame.iter_slices(SLICE)] or [_described(frame)])


def _described(frame: pl.DataFrame) -> pl.DataFrame:
    characters = Characters.of(frame["text"])
    script, mixed = characters.script_of()
    frame = frame.with_columns(
        script,
        mixed,
        pl.Series("chars", characters.sizes),
        pl.Series("blank", characters.of_categories("Zs", "Zl", "Zp", "Cc", "Cf")),
        pl.Series("white", characters.count(characters.spaces)),
        pl.Series("digits", characters.of_categories("Nd")),
        pl.Series("upper", characters.of_categories("Lu", "Lt")),
        pl.Series("lower", characters.of_categories("Ll")),
        pl.Series("other", characters.of_categories("Lm", "Lo")),
        pl.Series("capital", characters.first_is("Lu", "Lt")),
        pl.col("bytes").bin.size().alias("length"),
    )
    valid = pl.col("text").is_not_null()
    return frame.select(
        "token_id",
        "bytes",
        "kind",
        _category().alias("category"),
        pl.when(valid).then("script").alias("script"),
        "mixed_script",
        pl.col("script").replace_strict(LANGUAGE_OF, default=None).alias("language_guess"),
        "length",
        pl.when(valid).then("chars").alias("chars"),
        (pl.col("bytes").bin.starts_with(b" ") & (pl.col("length") > 1)).alias("leading_space"),
        _case().alias("case"),
        (valid & (pl.col("digits") > 0) & (pl.col("digits") + pl.col("white") == pl.col("chars"))).alias(
            "number"
        ),
        (valid & pl.col("text").str.contains(CODE)).alias("code"),
        (pl.col("upper") + pl.col("lower") + pl.col("other")).alias("letters"),
        "position",
    )


def _category() -> pl.Expr:
    inside = pl.col("bytes").bin.get(0, null_on_oob=True).is_between(0x80, 0xBF)
    return (
        pl.when(pl.col("kind") == "gap")
        .then(pl.lit("gap"))
        .when((pl.col("kind") == "unused") | pl.col("text").str.contains(RESERVED))
        .then(pl.lit("reserved"))
        .when(pl.col("kind") == "special")
        .then(pl.lit("special"))
        .when(pl.col("kind") == "added")
        .then(pl.lit("added"))
        .when(pl.col("text").is_null() & (pl.col("length") == 1))
        .then(pl.lit("single_byte"))
        .when(pl.col("text").is_null() & inside)
        .then(pl.lit("misaligned_utf8"))
        .when(pl.col("text").is_null())
        .then(pl.lit("partial_utf8"))
        .when((pl.col("chars") > 0) & (pl.col("white") == pl.col("chars")))
        .then(pl.lit("whitespace"))
        .when(pl.col("blank") == pl.col("chars"))
        .then(pl.lit("invisible"))
        .otherwise(pl.lit("text"))
        .cast(pl.Enum(CATEGORIES))
    )


def _case() -> pl.Expr:
    upper, lower = pl.col("upper"), pl.col("lower")
    return (
        pl.when((upper == 0) & (lower == 0))
        .then(None)
        .when(upper == 0)
        .then(pl.lit("lower"))
        .when((upper == 1) & pl.col("capital"))
        .then(pl.lit("title"))
        .when(lower == 0)
        .then(pl.lit("upper"))
        .otherwise(pl.lit("mixed"))
    )


def _accounts(inventory: Inventory, table: pl.DataFrame) -> list[Finding]:
    """Entries, rows, holes and duplicates."""
    name, needed = inventory.name, inventory.rows_needed
    gaps = needed - len(inventory)
    entries = table.filter(pl.col("kind") != "gap")
    shared = again = entries.clear()
    if entries["bytes"].n_unique() < entries.height:
        shared = entries.filter(pl.col("bytes").is_duplicated())
        # A byte entry is a way out for what no piece spells, so a piece of that byte is no duplicate of it.
        again = shared.filter(pl.struct("bytes", "position", pl.col("kind") == "byte").is_duplicated())
    groups = again.select("bytes", "position", pl.col("kind") == "byte").unique().height
    found = [
        Finding(name, "census", "entries", float(len(inventory)), unit="entries"),
        Finding(name, "census", "rows_needed", float(needed), unit="rows", note="the highest id plus one"),
        Finding(name, "census", "gaps", float(gaps), unit="ids", evidence=_ranges(table) if gaps else None),
        Finding(
            name,
            "census",
            "duplicates",
            float(groups),
            variant="groups of entries equal in bytes, position in the word, and being a byte entry or not",
            unit="groups",
            severity="warn" if groups else "info",
            evidence=_examples(again) if groups else None,
        ),
        Finding(
            name,
            "census",
            "duplicates",
            float(shared["bytes"].n_unique()),
            variant="groups of entries equal in bytes, whatever their position in the word or kind",
            unit="groups",
        ),
    ]
    return found + _rows(inventory)


def _rows(inventory: Inventory) -> list[Finding]:
    name, rows = inventory.name, inventory.rows
    if rows is None:
        note = "no config or weights at hand to tell the embedding's rows"
        return [Finding(name, "census", "embedding_rows", None, unit="rows", note=note)]
    needed = inventory.rows_needed
    spare, lacking = max(rows - needed, 0), max(needed - rows, 0)
    return [
        Finding(name, "census", "embedding_rows", float(rows), unit="rows"),
        Finding(
            name,
            "census",
            "rows_without_entry",
            float(spare),
            unit="rows",
            evidence=f"ids {needed}..{rows - 1}" if spare else None,
            note="usual padding of the matrix; a model may still emit such ids" if spare else None,
        ),
        Finding(
            name,
            "census",
            "ids_without_row",
            float(lacking),
            unit="ids",
            severity="flag" if lacking else "info",
            evidence=f"ids {rows}..{needed - 1}" if lacking else None,
            note="the model cannot look these ids up" if lacking else None,
        ),
    ]


def _longest(table: pl.DataFrame, number: int) -> pl.DataFrame:
    """The longest text entries, of equal ones those of lower id; only candidates are sorted."""
    text = table.filter(pl.col("category") == "text").select("token_id", "bytes", "chars")
    if text.height > number:
        text = text.filter(pl.col("chars") >= pl.col("chars").top_k(number).min())
    return text.sort("chars", "token_id", descending=[True, False]).head(number)


def _composition(inventory: Inventory, table: pl.DataFrame) -> list[Finding]:
    """Entries by category, kind and script, and of some shapes."""
    name = inventory.name
    categories = dict(tally(table["category"]))
    found = [
        Finding(name, "census", f"category.{key}", float(categories.get(key, 0)), unit="entries")
        for key in CATEGORIES
    ]
    broken = sum(categories.get(key, 0) for key in NOT_UTF8)
    found.append(Finding(name, "census", "not_utf8", float(broken), unit="entries"))
    text = table.filter(pl.col("category") == "text")
    found += [
        Finding(name, "census", f"script.{script}", float(count), unit="entries")
        for script, count in tally(text["script"])
    ]
    shapes = {
        "leading_space": text["leading_space"],
        "mixed_script": text["mixed_script"],
        "number": text["number"],
        "code": text["code"],
    }
    found += [
        Finding(name, "census", f"shape.{key}", float(column.sum()), unit="entries")
        for key, column in shapes.items()
    ]
    lengths = text["chars"].to_numpy()
    middle = float(np.median(lengths)) if len(lengths) else None
    found.append(Finding(name, "census", "median_length", middle, unit="characters", variant="text entries"))
    return found


def tally(column: pl.Series) -> list[tuple[str, int]]:
    """Values of an enumeration that occur, with their counts, the commonest first."""
    names = column.dtype.categories  # type: ignore[attr-defined]  # an enumeration has them
    counts = np.bincount(column.drop_nulls().to_physical().to_numpy(), minlength=len(names))
    order = np.argsort(-counts, kind="stable")
    return [(names[index], int(counts[index])) for index in order.tolist() if counts[index]]


def _ranges(table: pl.DataFrame, limit: int = 8) -> str:
    """Holes as ranges of ids."""
    ids = table.filter(pl.col("kind") == "gap")["token_id"].to_numpy()
    breaks = np.flatnonzero(np.diff(ids) != 1)
    starts, ends = ids[np.concatenate([[0], breaks + 1])], ids[np.concatenate([breaks, [len(ids) - 1]])]
    spans = [f"{a}" if a == b else f"{a}..{b}" for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    more = f" and {len(spans) - limit} more ranges" if len(spans) > limit else ""
    return "ids " + ", ".join(spans[:limit]) + more


def _examples(again: pl.DataFrame, limit: int = 5) -> str:
    alike = ["bytes", "position", pl.col("kind") == "byte"]
    groups = again.group_by(alike, maintain_order=True).agg("token_id").head(limit)
    return "; ".join(
        f"bytes {piece.hex()}: ids {', '.join(map(str, ids))}"
        for piece, ids in groups.select("bytes", "token_id").iter_rows()
    )
