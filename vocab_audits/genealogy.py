"""What the merges of a BPE build from what: depth, dependants, orphans and mere steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from vocab_audits.usage import token_counts
from workbench.audit import Outcome, audit
from workbench.bpe import merges_in_use
from workbench.errors import SutureError
from workbench.findings import SCHEMA, Finding, columnar, frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.inventory import Inventory

    Ids = NDArray[np.int64]

SCAFFOLD_RATIO = 0.9
"""An entry is scaffold-like if its first dependant comes before 1/0.9 of its own place in the merges."""

SCAFFOLD_MAKINGS = 10
SCAFFOLD_SURVIVAL = 0.1
SCAFFOLD_RATE = 5e-6
"""On a corpus: of ten makings or more under a tenth stay, and the entry is under 5 tokens in a million."""

ESTIMATED = f"estimated from the merges' order: place / first dependant's place ≥ {SCAFFOLD_RATIO}"
MEASURED = (
    f"measured on the corpus of the given run: ≥ {SCAFFOLD_MAKINGS} makings, survival < {SCAFFOLD_SURVIVAL}, "
    "< 5 tokens a million"
)


class Lineage(NamedTuple):
    """The merges in use and what follows from them; arrays by id are (rows_needed,).

    ``merges`` is (entries built, 3); ``place`` is an entry's row among them from 1, 0 where it has none;
    ``depth`` is 0 for a unit; ``direct`` and ``dependants`` count entries, each once.
    """

    merges: Ids
    place: Ids
    depth: Ids
    direct: Ids
    dependants: Ids


@audit("Genealogy of entries")
def genealogy(inventory: Inventory, *, top: int = 50, counts: str | None = None) -> Outcome:
    """What each entry is made of, how many entries rest on it, and which no merge makes.

    Args:
        inventory: any; one without merges is reported as not applicable.
        top: how many entries each list among the findings holds.
        counts: folder of a run of the compression audit, to measure which entries are mere steps on its
            corpus; without it that is estimated from the order of the merges.

    Returns:
        Findings, and the table ``genealogy`` (subject, token_id, left, right, place, depth, direct,
        dependants, orphan, step_ratio, formed, survival), one row a piece, byte or result of a merge.

    Raises:
        SutureError: the merges make an entry from itself, or ``counts`` lacks this inventory.
    """
    if inventory.merges is None:
        note = f"not applicable: {inventory.name} has no merges"
        return Outcome([Finding(inventory.name, "genealogy", "entries_built", None, note=note)])
    found = lineage(inventory)
    uses = None if counts is None else token_counts(counts, inventory)
    table = _table(inventory, found, uses)
    parts = [frame(_figures(inventory.name, table)), *_lists(table, top)]
    return Outcome(pl.concat(parts), {"genealogy": table.drop("bytes", "scaffold", "listed")})


def lineage(inventory: Inventory) -> Lineage:
    """Depth and dependants of every entry.

    Merges that were recovered from ranks are those in use; of merges that a file lists, the pair that
    really makes an entry is found first.

    Raises:
        SutureError: the merges make an entry from itself.
    """
    listed = np.asarray(inventory.merges)
    made = listed[:, 2]
    recovered = inventory.frame["rank"].gather(made).is_not_null().all()
    rows = listed if recovered else merges_in_use(listed).merges
    merges = rows.astype(np.int64)
    size = inventory.rows_needed
    place = np.zeros(size, np.int64)
    place[merges[:, 2]] = np.arange(1, len(merges) + 1)
    parts = np.concatenate([merges[:, [2, 0]], merges[merges[:, 0] != merges[:, 1]][:, [2, 1]]])
    direct = np.bincount(parts[:, 1], minlength=size)
    return Lineage(merges, place, _depths(merges, size), direct, _dependants(merges, place, size))


def _depths(merges: Ids, size: int) -> Ids:
    """Levels of merges under each entry, found level by level."""
    depth = np.zeros(size, np.int64)
    left, right, made = merges.T
    for _ in range(len(merges) + 1):
        deeper = 1 + np.maximum(depth[left], depth[right])
        if (deeper == depth[made]).all():
            return depth
        depth[made] = deeper
    raise SutureError(
        "no entry may be made from itself; the merges hold a circle; export the tokenizer again"
    )


def _dependants(merges: Ids, place: Ids, size: int) -> Ids:
    """Entries whose tree holds each entry, counted once each.

    Goes down all trees at once: pairs (entry, part) are replaced by the parts' parts until only units
    are left. An entry of n units has at most 2n-1 parts, so the pairs are bounded by the inventory's size.
    """
    frontier = np.concatenate([merges[:, 2] * size + merges[:, 0], merges[:, 2] * size + merges[:, 1]])
    levels = []
    while len(frontier):
        frontier = np.unique(frontier)
        levels.append(frontier)
        entry, part = np.divmod(frontier, size)
        built = place[part] > 0
        entry, rows = entry[built] * size, place[part[built]] - 1
        frontier = np.concatenate([entry + merges[rows, 0], entry + merges[rows, 1]])
    pairs = np.unique(np.concatenate(levels)) if levels else frontier
    return np.bincount(pairs % size, minlength=size)


def formed(found: Lineage, counts: NDArray[np.int64]) -> Ids:
    """How often each entry was made while a text was encoded: as a token, or as a part of one.

    Args:
        found: the lineage.
        counts: occurrences of each entry as a token (rows_needed,).
    """
    total = counts.astype(np.int64)
    level = found.depth[found.merges[:, 2]]
    for depth in range(int(level.max(initial=0)), 0, -1):
        left, right, made = found.merges[level == depth].T
        np.add.at(total, left, total[made])
        np.add.at(total, right, total[made])
    return total


def _table(inventory: Inventory, found: Lineage, uses: NDArray[np.int64] | None) -> pl.DataFrame:
    """One row a piece, byte or result of a merge, by id."""
    left, right = (np.full(inventory.rows_needed, -1, np.int64) for _ in range(2))
    left[found.merges[:, 2]], right[found.merges[:, 2]] = found.merges[:, 0], found.merges[:, 1]
    first = np.full(inventory.rows_needed, len(found.merges) + 1)
    for part in (found.merges[:, 0], found.merges[:, 1]):
        np.minimum.at(first, part, np.arange(1, len(part) + 1))
    listed = np.zeros(inventory.rows_needed, bool)
    listed[np.asarray(inventory.merges)[:, 2]] = True
    columns = {
        "left": left,
        "right": right,
        "place": found.place,
        "first": first,
        "depth": found.depth,
        "direct": found.direct,
        "dependants": found.dependants,
        "listed": listed,
    }
    table = inventory.frame.with_columns(**{key: pl.Series(value) for key, value in columns.items()})
    table = _with_use(table, found, uses).with_columns(orphan=_orphan(inventory))
    return table.filter(pl.col("kind").is_in(["piece", "byte"]) | (pl.col("place") > 0)).select(
        pl.lit(inventory.name).alias("subject"),
        pl.col("id").alias("token_id"),
        "bytes",
        *(
            pl.when(pl.col("place") > 0).then(pl.col(key)).cast(pl.Int32).alias(key)
            for key in ("left", "right")
        ),
        pl.when(pl.col("place") > 0).then(pl.col("place")).cast(pl.Int32),
        pl.when(~pl.col("orphan")).then(pl.col("depth")).cast(pl.Int32),
        pl.col("direct", "dependants").cast(pl.Int32),
        "orphan",
        "listed",
        "step_ratio",
        "formed",
        "survival",
        "scaffold",
    )


def _with_use(table: pl.DataFrame, found: Lineage, uses: NDArray[np.int64] | None) -> pl.DataFrame:
    """Adds how far each entry is a mere step: estimated, and measured where counts are at hand."""
    inner = (pl.col("place") > 0) & (pl.col("direct") > 0)
    table = table.with_columns(step_ratio=pl.when(inner).then(pl.col("place") / pl.col("first")))
    if uses is None:
        return table.with_columns(
            formed=pl.lit(None, pl.Int64),
            survival=pl.lit(None, pl.Float64),
            scaffold=pl.col("step_ratio") >= SCAFFOLD_RATIO,
        )
    table = table.with_columns(uses=pl.Series(uses), formed=pl.Series(formed(found, uses)))
    survival = pl.when(pl.col("formed") > 0).then(pl.col("uses") / pl.col("formed"))
    rare = pl.col("uses") < SCAFFOLD_RATE * pl.col("uses").sum()
    shown = rare & (pl.col("formed") >= SCAFFOLD_MAKINGS)
    return table.with_columns(survival=survival, scaffold=inner & shown & (survival < SCAFFOLD_SURVIVAL))


def _orphan(inventory: Inventory) -> pl.Expr:
    """Pieces of several units that no merge makes; a unit is a byte where bytes are pieces, else a character.

    A lone byte beyond ASCII is no character, so a piece that is one shows that the units are bytes.
    """
    piece, data = pl.col("kind") == "piece", pl.col("bytes")
    singles = inventory.frame.filter(piece & (data.bin.size() == 1))["bytes"].to_list()
    if any(single >= b"\x80" for single in singles):
        several = data.bin.size() > 1
    else:
        several = pl.lit(inventory.texts.str.len_chars().fill_null(2) > 1)
    return piece & several & (pl.col("place") == 0)


def _figures(name: str, table: pl.DataFrame) -> Iterator[Finding]:
    """The figures on the whole inventory."""
    built, orphans = table.filter(pl.col("place").is_not_null()), table.filter("orphan")
    blocked, idle = int(orphans["listed"].sum()), int((built["dependants"] == 0).sum())
    deepest, mean = built["depth"].max(), built["depth"].mean()
    steps = MEASURED if table["formed"].is_not_null().any() else ESTIMATED
    units = table.height - built.height - orphans.height
    rows: list[tuple[str, float | None, str, str]] = [
        ("entries_built", built.height, "one merge an entry, the one in use", "entries"),
        ("units", units, "no merge needed", "entries"),
        ("depth", _number(deepest), "longest path of merges, maximum", "merges"),
        ("depth", _number(mean), "longest path of merges, mean over entries built", "merges"),
        ("entries_without_dependants", idle, "of the entries built", "entries"),
        ("orphans", orphans.height - blocked, "no merge makes them", "entries"),
        ("orphans", blocked, "their merges are listed but others always come first", "entries"),
        ("scaffolds", int(table["scaffold"].sum()), steps, "entries"),
    ]
    note = "an orphan is a token only where it is a whole pre-token and the encoder takes those as they are"
    for measure, value, variant, unit in rows:
        bad = measure == "orphans" and bool(value)
        number = None if value is None else float(value)
        severity, said = ("warn", note) if bad else ("info", None)
        yield Finding(name, "genealogy", measure, number, variant, unit, severity, note=said)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _lists(table: pl.DataFrame, top: int) -> Iterator[pl.DataFrame]:
    """The entries at the head of each order."""
    if table["formed"].is_not_null().any():
        steps = (MEASURED, "survival", "formed", "share of its makings that stay")
    else:
        steps = (ESTIMATED, "step_ratio", "step_ratio", "ratio of places")
    for measure, (variant, key, order, unit), chosen in (
        ("dependants", ("direct and transitive", "dependants", "dependants", "entries"), "dependants"),
        ("orphan", ("in order of id", None, None, None), "orphan"),
        ("scaffold", steps, "scaffold"),
    ):
        rows = table.filter(pl.col(chosen).cast(pl.Boolean))
        if order is not None:
            rows = rows.sort(order, "token_id", descending=[True, False])
        columns = {
            "subject": pl.col("subject"),
            "audit": "genealogy",
            "measure": measure,
            "variant": variant,
            "value": pl.lit(None, pl.Float64) if key is None else pl.col(key).cast(SCHEMA["value"]),
            "unit": unit,
            "severity": "warn" if measure == "orphan" else "info",
            "token_id": pl.col("token_id"),
            "token": pl.col("bytes"),
        }
        yield columnar(columns, rows.head(top))
