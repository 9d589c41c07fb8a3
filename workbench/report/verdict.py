"""What a run comes to: what is flagged or warned of, and the few figures that stand for the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from workbench.findings import IS_GRAVE
from workbench.report.blocks import KEY, split
from workbench.report.cells import Cell, digits, label, number, shown, token_cell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

KEY_FIGURES = {
    "census": ("entries", "rows_needed", "duplicates", "not_utf8"),
    "reachability": ("class.context_only", "class.pretok_blocked", "class.normalizer_blocked",
                     "class.merge_blocked"),
    "pipeline": ("special_text_is_control", "distinct_texts_merged", "prefix_unstable"),
    "genealogy": ("depth", "orphans"),
    "morphology": ("f1", "precision", "recall", "kept_whole", "gold_unplaced"),
    "parity": ("worst_premium",),
    "optimum": ("gap_to_recommended",),
    "compression": ("bytes_per_token", "fertility", "coverage", "renyi_efficiency"),
}  # fmt: skip
"""Figures that the summary shows; of another audit, the first of them."""


class Concern(NamedTuple):
    """Findings of one kind that are flagged or warned of."""

    severity: str
    subject: str
    audit: str
    what: str
    times: int
    figure: str
    note: str
    tokens: list[Cell]


def kinds(findings: pl.DataFrame) -> pl.DataFrame:
    """Findings flagged and warned of, one row a kind, the gravest first."""
    grave = findings.filter(IS_GRAVE)
    kinds = grave.group_by("severity", "subject", "audit", "measure", "variant", maintain_order=True).agg(
        pl.len().alias("times"),
        pl.col("value", "unit", "note", "evidence").first(),
        pl.col("token").drop_nulls().head(4),
    )
    return kinds.sort("severity", descending=True, maintain_order=True)


def concerns(findings: pl.DataFrame, top: int, hidden: Sequence[str] = ()) -> Iterator[Concern]:
    """The first of the kinds, in words; the audits in ``hidden`` are masked."""
    for row in kinds(findings).head(top).iter_rows(named=True):
        alone = row["times"] == 1
        value = number(row["value"]) if row["value"] is not None and alone else ""
        reasons = [row["note"], row["evidence"]]
        audit = shown(row["audit"], 80)
        yield Concern(
            row["severity"],
            shown(row["subject"]),
            audit,
            label(row["measure"]) + (f" ({shown(row['variant'], 120)})" if row["variant"] else ""),
            row["times"],
            f"{value} {shown(row['unit'] or '', 80)}".strip() if value else "",
            "the first: " * (not alone and any(reasons))
            + ": ".join(shown(reason, 300) for reason in reasons if reason),
            [
                cell._replace(hint=None) if row["audit"] in hidden else cell
                for cell in map(token_cell, row["token"])
            ],
        )


def key_figures(findings: pl.DataFrame, names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """What a row of the summary's figures is of, and the figure of each inventory.

    The figures are those over all languages, or of the one language that an audit speaks of.
    """
    mine = findings.filter(pl.col("subject").is_in(names))
    alone = pl.col("language").n_unique().over("audit") == 1
    single, _ = split(mine.filter(pl.col("language").is_null() | alone))
    for audit in single["audit"].unique(maintain_order=True):
        rows = single.filter(audit=audit)
        wanted = KEY_FIGURES.get(audit) or rows["measure"].unique(maintain_order=True).head(4).to_list()
        kept = rows.filter(pl.col("measure").is_in(list(wanted)) & pl.col("value").is_not_null())
        for key, part in kept.group_by(KEY, maintain_order=True):
            found = dict(part.select("subject", "value").iter_rows())
            places = digits(found.values())
            said = ", ".join(shown(str(word)) for word in (*part["language"].head(1), *key[1:3]) if word)
            yield f"{label(str(key[0]))} ({said})", [number(found.get(name), places) for name in names]
