"""The figures of objectives side by side as findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from workbench.findings import Finding, columnar, frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TEXTS = {"held out": "text held out", "trained on": "text trained on"}
MEASURES = (
    ("bytes_per_token", "bytes_per_token", "{text}, ratio of totals", "bytes"),
    ("fertility", "fertility", "running text, {text}, ratio of totals", "tokens per word"),
    ("renyi_observed", "renyi_efficiency", "α = {alpha}, over log2 of the types seen, {text}", "ratio"),
    ("renyi_declared", "renyi_efficiency", "α = {alpha}, over log2 of all entries declared, {text}", "ratio"),
    ("round_trip", "round_trip", "pieces join to the text, {text}", "share of documents"),
    ("uncovered", "uncovered_text", "{text}", "share of bytes"),
    ("unknown_tokens", "unknown_tokens", "{text}", "tokens"),
)
CUTS = "micro, words alone, after a space"


def findings(
    tables: Mapping[str, pl.DataFrame], entries: Mapping[str, int], asked: int, missing: Mapping[str, str],
    alpha: float,
) -> pl.DataFrame:  # fmt: skip
    """Findings from the tables of the audit.

    Args:
        tables: as the audit gives them.
        entries: entries of each tokenizer.
        asked: entries asked for.
        missing: by name, why one could not be trained.
        alpha: order of the Rényi efficiency.
    """
    parts = [frame(_entries(entries, asked)), frame(_skipped(missing))]
    costs, cuts, pairs = (
        tables[name] for name in ("objectives", "objectives_boundaries", "objectives_pairs")
    )
    for part, text in TEXTS.items():
        rows = costs.filter(part=part)
        why = "no text is held out" if not rows["documents"].sum() else "nothing of the kind in the text"
        for key, measure, variant, unit in MEASURES:
            made = {"subject": pl.col("subject"), "audit": "objectives", "measure": measure,
                    "variant": variant.format(text=text, alpha=f"{alpha:g}"), "unit": unit,
                    "value": pl.col(key),
                    "note": pl.when(pl.col(key).is_null()).then(pl.lit(why))}  # fmt: skip
            parts.append(columnar(made, rows))
    for key in ("precision", "recall", "f1"):
        made = {
            "subject": pl.col("subject"),
            "audit": "objectives",
            "measure": f"boundary_{key}",
            "variant": CUTS,
            "value": pl.col(key),
            "unit": "ratio",
            "language": pl.col("language"),
            "note": pl.when(pl.col(key).is_null()).then(pl.lit("no cut or no boundary to divide by")),
        }
        parts.append(columnar(made, cuts))  # fmt: skip
    for key, variant in (("share", "of entries"), ("token_share", "of tokens, text trained on")):
        made = {"subject": pl.col("subject"), "audit": "objectives", "variant": variant,
                "measure": pl.concat_str(pl.lit("share."), pl.col("class").cast(pl.String)),
                "value": pl.col(key), "unit": f"share {variant.partition(',')[0]}"}  # fmt: skip
        parts.append(columnar(made, tables["objectives_census"]))
    if pairs.height:
        parts += list(_pairs(pairs))
    return pl.concat(parts)


def _entries(entries: Mapping[str, int], asked: int) -> Iterator[Finding]:
    size = int(next(iter(entries)).rpartition("-")[2])
    note = f"one of them yields {size:,} of the {asked:,} entries asked for, so all are that size"
    yield Finding("objectives", "objectives", "size", float(size), "of all of them", "entries",
                  "info" if size == asked else "warn", note=None if size == asked else note)  # fmt: skip
    for name, found in entries.items():
        note = f"its trainer gives {found:,} for {size:,}, so its figures are of another size"
        yield Finding(name, "objectives", "entries", float(found), "with the bytes", "entries",
                      "info" if found == size else "warn", note=None if found == size else note)  # fmt: skip


def _skipped(missing: Mapping[str, str]) -> Iterator[Finding]:
    for name, why in missing.items():
        yield Finding(name, "objectives", "entries", None, "with the bytes", "entries", "warn", note=why)


def _pairs(pairs: pl.DataFrame) -> Iterator[pl.DataFrame]:
    subject = pl.format("{} & {}", "first", "second")
    for key, measure, variant in (
        ("jaccard", "jaccard", "distinct byte strings"),
        ("distance_entries", "census_distance", "Jensen–Shannon distance, base 2, of entries"),
        ("distance_tokens", "census_distance", "Jensen–Shannon distance, base 2, of tokens, text trained on"),
    ):
        note = pl.when(pl.col(key).is_null()).then(pl.lit("one has nothing to count"))
        yield columnar(
            {"subject": subject, "audit": "objectives", "measure": measure, "variant": variant,
             "value": pl.col(key), "unit": "ratio" if key == "jaccard" else "distance", "note": note},
            pairs,
        )  # fmt: skip
