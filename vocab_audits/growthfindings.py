"""The figures of a growing BPE as findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from vocab_audits.censuses import WORDS
from workbench.findings import Finding, columnar, frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

COST = "the text that it was trained on, ratio of totals"
CUTS = "micro, words alone, after a space"
STRINGS = "strings of letters, two and more, in lower case"
AT_RANDOM = "random substrings of the text's words, {matched}"


def findings(tables: Mapping[str, pl.DataFrame], asked: Sequence[int], lexicon: str) -> pl.DataFrame:
    """Findings from the tables of the audit.

    Args:
        tables: as the audit gives them.
        asked: the sizes asked for.
        lexicon: the lexicon's name.
    """
    whole = int(tables["growth"]["size"].max() or 0)  # type: ignore[arg-type]
    parts = [frame([_yielded(whole, asked)])]
    cost, cuts, lists = tables["growth"], tables["growth_boundaries"], tables["growth_list"]
    parts += [
        _of(cost, "tokens", "tokens", "the text that it was trained on", "tokens"),
        _of(cost, "bytes_per_token", "bytes_per_token", COST, "bytes", "nothing to divide by"),
        _of(cost, "fertility", "fertility", f"running text, {COST}", "tokens per word",
            "not applicable: no words with spaces between"),
    ]  # fmt: skip
    parts += [
        _of(
            cuts,
            key,
            f"boundary_{key}",
            CUTS,
            "ratio",
            "no cut or no boundary to divide by",
            evidence=lexicon,
        )
        for key in ("precision", "recall", "f1")
    ]
    parts += [
        _census(tables["growth_census"], key, variant, unit)
        for key, variant, unit in (
            ("share", "of entries", "share of entries"),
            ("token_share", "of tokens in the text that it was trained on", "share of tokens"),
        )
    ]
    parts.append(_spaced(tables["growth_census"]))
    parts += list(_listed(lists))
    parts.append(_reached(tables["growth_reached"]))
    return pl.concat(parts)


def _yielded(whole: int, asked: Sequence[int]) -> Finding:
    most = max(asked)
    note = None
    if whole < most:
        note = (
            f"the text yields {whole:,} entries of the {most:,} asked for, as no pair is left that occurs "
            "twice; it is read at the smaller sizes and at this one"
        )
    return Finding("bpe", "growth", "entries", float(whole), "with the 256 bytes", "entries",
                   "warn" if note else "info", note=note)  # fmt: skip


def _of(
    table: pl.DataFrame, key: str, measure: str, variant: str, unit: str, why: str | None = None,
    evidence: str | None = None,
) -> pl.DataFrame:  # fmt: skip
    """A finding a row of a table with subject and language; ``why`` says what a null means."""
    note = pl.when(pl.col(key).is_null()).then(pl.lit(why))
    made = {"subject": pl.col("subject"), "audit": "growth", "measure": measure, "variant": variant,
            "value": pl.col(key), "unit": unit, "language": pl.col("language"), "note": note,
            "evidence": evidence}  # fmt: skip
    return columnar(made, table)


def _census(table: pl.DataFrame, key: str, variant: str, unit: str) -> pl.DataFrame:
    measure = pl.concat_str(pl.lit("share."), pl.col("class").cast(pl.String))
    return columnar(
        {"subject": pl.col("subject"), "audit": "growth", "measure": measure, "variant": variant,
         "value": pl.col(key), "unit": unit},
        table,
    )  # fmt: skip


def _spaced(table: pl.DataFrame) -> pl.DataFrame:
    """Shares of the entries that are words with the space before them."""
    total = pl.col("entries").sum().over("subject")
    words = table.with_columns(total=total).filter(pl.col("class").is_in(WORDS))
    measure = pl.concat_str(pl.lit("share_with_space."), pl.col("class").cast(pl.String))
    return columnar(
        {"subject": pl.col("subject"), "audit": "growth", "measure": measure, "variant": "of entries",
         "value": pl.col("spaced") / pl.col("total"), "unit": "share of entries"},
        words,
    )  # fmt: skip


def _listed(table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Precision and recall of the entries as a list of morphs, and the same of random lists."""
    own = table.unique("subject", keep="first", maintain_order=True)
    why = "no string of letters, or no morph, in the text's words"
    for key in ("precision", "recall"):
        note = pl.when(pl.col(key).is_null()).then(pl.lit(why))
        said = pl.format("{} of {} strings, {} morphs", "hits", "strings", "morphs")
        common = {"subject": pl.col("subject"), "audit": "growth", "unit": "ratio", "note": note}
        yield columnar(
            {
                **common,
                "measure": f"morph_list_{key}",
                "variant": STRINGS,
                "value": pl.col(key),
                "evidence": said,
            },
            own,
        )
        random = pl.format(AT_RANDOM.replace("{matched}", "{}"), "matched")
        yield columnar(
            {**common, "measure": f"morph_list_{key}", "variant": random, "value": pl.col(f"expected_{key}")},
            table,
        )
    note = pl.when(pl.col("excess").is_null()).then(pl.lit("chance leaves no room"))
    against = pl.format("against " + AT_RANDOM.replace("{matched}", "{}"), "matched")
    yield columnar(
        {"subject": pl.col("subject"), "audit": "growth", "measure": "morph_list_excess", "variant": against,
         "value": pl.col("excess"), "unit": "standard deviations", "note": note},
        table,
    )  # fmt: skip


def _reached(table: pl.DataFrame) -> pl.DataFrame:
    kind = pl.coalesce(
        "role", pl.when(pl.col("kind") == "word").then(pl.lit("word")).otherwise(pl.lit("morph"))
    )
    note = pl.when(pl.col("attested_share").is_null()).then(pl.lit("none of the kind is in the text"))
    return columnar(
        {"subject": pl.col("subject"), "audit": "growth",
         "measure": pl.concat_str(pl.lit("reached."), kind), "variant": "of those of words in the text",
         "value": pl.col("attested_share"), "unit": "share of distinct ones", "note": note,
         "evidence": pl.format("{} of {}", "attested_reached", "attested_distinct")},
        table,
    )  # fmt: skip
