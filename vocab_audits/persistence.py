"""What stays of an inventory from one version to the next: entries, their ids, their order, their merges."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from vocab_audits.census import describe
from vocab_audits.usage import PRODUCED, in_learned_order
from workbench.audit import Outcome, audit
from workbench.errors import SutureError
from workbench.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.inventory import Inventory
    from workbench.tokenizer import Tokenizer

STATES = ("kept", "moved", "gone", "new")
"""Under the same id in both; in both under different ids; in the earlier alone; in the later alone."""

GROUPS = ("text", "special")
VARIANTS = {"text": "entries that text can produce", "special": "special tokens and reserved slots"}
KEY = ["group", "bytes", "position", "byte", "nth"]
"""What makes two entries the same: their bytes, place in the word, being a byte entry or not, and, where
several of one inventory are alike in all that, their order."""

MEASURES = {
    "entries_kept": "kept",
    "entries_moved": "moved",
    "entries_gone": "gone",
    "entries_new": "new",
}


@audit("Persistence across versions")
def persistence(tokenizers: Sequence[Tokenizer], *, merges: bool = True) -> Outcome:
    """What stays from one version of an inventory to the next, in the order in which they are given.

    Args:
        tokenizers: two or more, earliest first, with different names.
        merges: also compare the merges; those of rank files are recovered first, which takes seconds.

    Returns:
        Findings on each pair of neighbours, on the first and the last, and on what all have; tables
        ``persistence`` (one row an entry that changed) and ``persistence_groups`` (counts by category and
        script).

    Raises:
        SutureError: two tokenizers share a name.
    """
    inventories = [tokenizer.inventory for tokenizer in tokenizers]
    names = [inventory.name for inventory in inventories]
    if len(set(names)) < len(names):
        raise SutureError(f"versions must have different names; got {', '.join(names)}; rename one")
    if len(inventories) < 2:
        note = "not applicable: persistence needs two or more tokenizers"
        return Outcome(
            [
                Finding(name, "persistence", "entries_kept", None, VARIANTS["text"], "entries", note=note)
                for name in names
            ]
        )
    versions = [_entries(inventory) for inventory in inventories]
    indices = [*pairwise(range(len(names)))] + ([(0, len(names) - 1)] if len(names) > 2 else [])
    findings: list[Finding] = []
    changed, grouped = [], []
    for one, two in indices:
        pair = f"{names[one]} to {names[two]}"
        joined = _joined(versions[one], versions[two])
        findings += _pair_findings(pair, joined)
        if merges:
            findings.append(_merges(pair, inventories[one], inventories[two]))
        said = [pl.lit(names[index]).alias(key) for key, index in (("first", one), ("second", two))]
        rows = joined.filter(pl.col("state") != "kept").sort(pl.coalesce("id_before", "id_after"))
        changed.append(rows.select(pl.lit(pair).alias("pair"), *said, *CHANGED))
        grouped.append(_grouped(joined).select(pl.lit(pair).alias("pair"), *said, pl.all()))
    findings += _cohort(f"{names[0]} to {names[-1]}", versions)
    return Outcome(findings, {"persistence": pl.concat(changed), "persistence_groups": pl.concat(grouped)})


CHANGED = ("group", "bytes", "category", "script", "id_before", "id_after", "place_before", "place_after",
           "state")  # fmt: skip


def _entries(inventory: Inventory) -> pl.DataFrame:
    """One row an entry: id, what it is matched by, place among the learned, category and script."""
    order = in_learned_order(inventory).filter(pl.col("kind") == "piece")
    places = order.select("id").with_row_index("place", 1).cast({"place": pl.Int64})
    about = describe(inventory).select(
        pl.col("token_id").alias("id"), pl.col("category", "script").cast(pl.String)
    )
    text = pl.col("kind").cast(pl.String).is_in(PRODUCED)
    rows = inventory.frame.filter((pl.col("kind") != "gap") & pl.col("bytes").is_not_null()).select(
        "id",
        pl.when(text).then(pl.lit("text")).otherwise(pl.lit("special")).alias("group"),
        "bytes",
        pl.col("position").cast(pl.String),
        (pl.col("kind") == "byte").alias("byte"),
    )
    rows = rows.with_columns(nth=pl.int_range(pl.len()).over("group", "bytes", "position", "byte"))
    return rows.join(about, on="id", how="left").join(places, on="id", how="left")


def _joined(one: pl.DataFrame, two: pl.DataFrame) -> pl.DataFrame:
    """Entries of both, each once, with its ids and places and what became of it."""
    both = one.join(two, on=KEY, how="full", coalesce=True, suffix="_after")
    state = (
        pl.when(pl.col("id_after").is_null())
        .then(pl.lit("gone"))
        .when(pl.col("id").is_null())
        .then(pl.lit("new"))
        .when(pl.col("id") == pl.col("id_after"))
        .then(pl.lit("kept"))
        .otherwise(pl.lit("moved"))
    )
    return both.select(
        "group",
        "bytes",
        pl.coalesce("category", "category_after").alias("category"),
        pl.coalesce("script", "script_after").alias("script"),
        pl.col("id").alias("id_before"),
        "id_after",
        pl.col("place").alias("place_before"),
        "place_after",
        state.cast(pl.Enum(STATES)).alias("state"),
    )


def _pair_findings(pair: str, joined: pl.DataFrame) -> Iterator[Finding]:
    for group in GROUPS:
        rows = joined.filter(group=group)
        counts = dict(rows["state"].cast(pl.String).value_counts().iter_rows())
        for measure, state in MEASURES.items():
            value = float(counts.get(state, 0))
            yield Finding(pair, "persistence", measure, value, VARIANTS[group], "entries")
        stayed, before = counts.get("kept", 0) + counts.get("moved", 0), rows["id_before"].count()
        yield Finding(
            pair,
            "persistence",
            "share_kept",
            stayed / before if before else None,
            VARIANTS[group],
            "share of entries",
            note="of the earlier version's, under any id"
            if before
            else "not applicable: the earlier one has none",
        )
    yield _shift(pair, joined)
    yield from _correlations(pair, joined)


def _shift(pair: str, joined: pl.DataFrame) -> Finding:
    """By how much ids moved, where most moved alike."""
    moved = joined.filter(state="moved")
    steps = moved.select((pl.col("id_after") - pl.col("id_before")).alias("step"))["step"]
    variant = "commonest difference of the ids of entries that moved"
    if moved.is_empty():
        note = "not applicable: no entry moved"
        return Finding(pair, "persistence", "id_shift", None, variant, "ids", note=note)
    counts = steps.value_counts().sort(["count", "step"], descending=[True, False])
    step, times = counts.row(0)
    note = f"{times:,} of the {moved.height:,} entries that moved"
    return Finding(pair, "persistence", "id_shift", float(step), variant, "ids", note=note)


def _correlations(pair: str, joined: pl.DataFrame) -> Iterator[Finding]:
    """Spearman's ρ and Kendall's τ-b between the places in the order of learning of entries in both."""
    from scipy.stats import kendalltau, spearmanr

    both = joined.filter(pl.col("place_before").is_not_null() & pl.col("place_after").is_not_null())
    places = both["place_before"].to_numpy(), both["place_after"].to_numpy()
    for name, of in (("Spearman's ρ", spearmanr), ("Kendall's τ-b", kendalltau)):
        value = float(of(*places).statistic) if both.height > 1 else None
        note = f"over {both.height:,} learned entries" if value is not None else None
        yield Finding(
            pair,
            "persistence",
            "order_correlation",
            value,
            f"{name}, of places in the order of learning",
            "correlation",
            note=note or "not applicable: fewer than two learned entries are in both",
        )


def _merges(pair: str, one: Inventory, two: Inventory) -> Finding:
    """Share of the earlier version's merges, as pairs of byte strings, that the later one has too."""
    variant = "of the earlier version's pairs of byte strings"
    lacking = [each.name for each in (one, two) if each.merge_source is None]
    tables = [] if lacking else [_pairs(one), _pairs(two)]
    if lacking or not tables[0].height:
        note = f"not applicable: no merges in {', '.join(lacking or [one.name])}"
        return Finding(pair, "persistence", "merges_kept", None, variant, "share of merges", note=note)
    stayed = tables[0].join(tables[1], on=["left", "right"], how="semi").height
    note = f"{stayed:,} of {tables[0].height:,}"
    share = stayed / tables[0].height
    return Finding(pair, "persistence", "merges_kept", share, variant, "share of merges", note=note)


def _pairs(inventory: Inventory) -> pl.DataFrame:
    """Distinct pairs that a merge joins, as bytes."""
    merges = inventory.merges
    if merges is None or not len(merges):
        return pl.DataFrame(schema={"left": pl.Binary, "right": pl.Binary})
    pieces = inventory.frame["bytes"]
    return pl.DataFrame({"left": pieces.gather(merges[:, 0]), "right": pieces.gather(merges[:, 1])}).unique()


def _cohort(subject: str, versions: Sequence[pl.DataFrame]) -> Iterator[Finding]:
    """Entries that every version has, and of them those that have one id in all."""
    common = versions[0].select(*KEY, "id")
    for later in versions[1:]:
        ids = later.select(*KEY, later=pl.col("id"))
        common = common.join(ids, on=KEY).with_columns(
            id=pl.when(pl.col("id") == pl.col("later")).then("id")
        ).drop("later")  # fmt: skip
    for group in GROUPS:
        rows = common.filter(group=group)
        note = f"in all {len(versions)} versions"
        for measure, value in (
            ("entries_in_all", rows.height),
            ("entries_in_all_under_one_id", rows["id"].count()),
        ):
            yield Finding(
                subject, "persistence", measure, float(value), VARIANTS[group], "entries", note=note
            )


def _grouped(joined: pl.DataFrame) -> pl.DataFrame:
    """Counts of the states by category of all entries, and by script of text entries."""
    counts = [(pl.col("state") == state).sum().cast(pl.Int64).alias(state) for state in STATES]
    parts = []
    for by, rows in (("category", joined), ("script", joined.filter(category="text"))):
        made = rows.group_by(pl.col(by).alias("name")).agg(counts).sort("name")
        parts.append(made.select(pl.lit(by).alias("by"), pl.all()))
    return pl.concat(parts)
