"""What the vocabularies of several tokenizers share, entry by entry, in bytes."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from vocab_audits.usage import PRODUCED, in_learned_order, token_counts
from workbench.audit import Outcome, audit
from workbench.errors import SutureError
from workbench.findings import SCHEMA, Finding, columnar, frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from workbench.inventory import Inventory
    from workbench.tokenizer import Tokenizer

RANK = "weights 1/n of the n-th learned entry, normalised"
COUNT = "weights by share of tokens on the corpus of the given run"
ENTRIES = "distinct byte strings"


class Shares(NamedTuple):
    """Membership and weights of every distinct byte string in every inventory.

    ``members`` and ``weights`` are (inventories, byte strings); each row of ``weights`` sums to 1.
    """

    members: NDArray[np.bool_]
    weights: NDArray[np.float64]


@audit("Overlap of vocabularies")
def overlap(tokenizers: Sequence[Tokenizer], *, top: int = 50, counts: str | None = None) -> Outcome:
    """Which entries several vocabularies share, in bytes, and which only one of them has.

    Args:
        tokenizers: two or more, with different names.
        top: how many of the entries that only one has are listed among the findings, in each order.
        counts: folder of a run of the compression audit, to weigh entries by their use on its corpus too.

    Returns:
        Findings on each inventory and each pair; tables ``overlap_pairs`` (one row a pair),
        ``overlap_only`` (entries that one inventory alone has) and ``overlap_all`` (entries that all have).

    Raises:
        SutureError: two tokenizers share a name, or ``counts`` lacks one of them.
    """
    inventories = [tokenizer.inventory for tokenizer in tokenizers]
    names = [inventory.name for inventory in inventories]
    if len(set(names)) < len(names):
        raise SutureError(
            f"tokenizers must have different names to be compared; got {', '.join(names)}; rename one"
        )
    if len(inventories) < 2:
        note = "not applicable: overlap needs two or more tokenizers"
        return Outcome([Finding(name, "overlap", "jaccard", None, ENTRIES, note=note) for name in names])
    entries = _coded([_entries(inventory) for inventory in inventories])
    ranked = _shares(entries, len(names), 1 / (1.0 + pl.col("order")))
    counted = None
    if counts is not None:
        entries = _with_counts(entries, inventories, counts)
        counted = _shares(entries, len(names), pl.col("count"))
    marked = {one.name for one in inventories if (one.frame["position"] != "any").any()}
    pairs = [_pair(names, ranked, counted, pair) for pair in combinations(range(len(names)), 2)]
    held = ranked.members.sum(axis=0)
    only, common = _rows(entries, held == 1, names), _rows(entries, held == len(names), names)
    found = [
        frame(finding for pair in pairs for finding in _pair_findings(pair, marked)),
        frame(_special(inventories)),
        frame(_inventory_findings(inventories, ranked.members)),
        *_listed(only, top),
    ]
    columns = ["subject", "token_id", "bytes"]
    tables = {
        "overlap_pairs": pl.DataFrame(pairs).cast({pl.Null: pl.Float64}),
        "overlap_only": only.select(columns),
        "overlap_all": common.select(columns),
    }
    return Outcome(pl.concat(found), tables)


def _entries(inventory: Inventory) -> pl.DataFrame:
    """Distinct byte strings in the order in which they were learned, each with the id that came first."""
    distinct = in_learned_order(inventory).unique("bytes", keep="first", maintain_order=True)
    return distinct.with_row_index("order").select("bytes", pl.col("id").alias("token_id"), "order")


def _coded(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Entries of all inventories under one another; ``code`` numbers the distinct byte strings."""
    marked = [part.with_columns(inventory=pl.lit(index, pl.Int32)) for index, part in enumerate(parts)]
    together = pl.concat(marked)
    codes = together.select("bytes").unique(maintain_order=True).with_row_index("code")
    return together.join(codes, on="bytes", how="left", maintain_order="left")


def _shares(entries: pl.DataFrame, inventories: int, weight: pl.Expr) -> Shares:
    shape = inventories, int(entries["code"].max()) + 1 if entries.height else 0  # type: ignore[arg-type]
    place = entries["inventory"].to_numpy(), entries["code"].to_numpy()
    members, weights = np.zeros(shape, bool), np.zeros(shape)
    members[place] = True
    weights[place] = entries.select(weight.cast(pl.Float64)).to_series().to_numpy()
    totals = weights.sum(axis=1, keepdims=True)
    return Shares(members, np.divide(weights, totals, out=weights, where=totals > 0))


def _with_counts(entries: pl.DataFrame, inventories: Sequence[Inventory], folder: str) -> pl.DataFrame:
    """Adds the occurrences of each byte string, summed over the ids that spell it."""
    parts = []
    for index, inventory in enumerate(inventories):
        uses = inventory.frame.select("bytes", count=pl.Series(token_counts(folder, inventory)))
        summed = uses.group_by("bytes").agg(pl.col("count").sum())
        parts.append(summed.with_columns(inventory=pl.lit(index, pl.Int32)))
    return entries.join(pl.concat(parts), on=["inventory", "bytes"], how="left", maintain_order="left")


def _pair(
    names: Sequence[str], ranked: Shares, counted: Shares | None, pair: tuple[int, int]
) -> dict[str, str | int | float | None]:
    one, two = (ranked.members[index] for index in pair)
    shared, first, second = int((one & two).sum()), int(one.sum()), int(two.sum())
    row: dict[str, str | int | float | None] = {
        "first": names[pair[0]],
        "second": names[pair[1]],
        "shared": shared,
        "only_first": first - shared,
        "only_second": second - shared,
        "jaccard": _ratio(shared, first + second - shared),
        "overlap_coefficient": _ratio(shared, min(first, second)),
        "first_in_second": _ratio(shared, first),
        "second_in_first": _ratio(shared, second),
    }
    for key, shares in (("rank", ranked), ("count", counted)):
        row |= _weighted(key, shares, pair)
    return row


def _weighted(key: str, shares: Shares | None, pair: tuple[int, int]) -> dict[str, float | None]:
    """Weighted Jaccard, the sum of minima over the sum of maxima, and the weight of what the other has."""
    keys = (f"jaccard_by_{key}", f"first_in_second_by_{key}", f"second_in_first_by_{key}")
    if shares is None:
        return dict.fromkeys(keys)
    one, two = shares.weights[list(pair)]
    in_one, in_two = shares.members[list(pair)]
    values = (
        _ratio(np.minimum(one, two).sum(), np.maximum(one, two).sum()),
        _ratio(one[in_two].sum(), one.sum()),
        _ratio(two[in_one].sum(), two.sum()),
    )
    return dict(zip(keys, values, strict=True))


def _ratio(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def _pair_findings(pair: dict[str, str | int | float | None], marked: set[str]) -> Iterator[Finding]:
    note = _position_note([str(pair[key]) for key in ("first", "second") if pair[key] in marked])
    first, second = pair["first"], pair["second"]
    both, there, back = f"{first} & {second}", f"{first} in {second}", f"{second} in {first}"
    rows = [
        (both, "shared_entries", "shared", ENTRIES, "entries"),
        (both, "jaccard", "jaccard", ENTRIES, "ratio"),
        (both, "overlap_coefficient", "overlap_coefficient", ENTRIES, "ratio"),
        (there, "containment", "first_in_second", ENTRIES, "ratio"),
        (back, "containment", "second_in_first", ENTRIES, "ratio"),
    ]
    for key, variant in (("rank", RANK), ("count", COUNT)):
        if pair[f"jaccard_by_{key}"] is not None:
            rows += [
                (both, "jaccard", f"jaccard_by_{key}", variant, "ratio"),
                (there, "containment", f"first_in_second_by_{key}", variant, "ratio"),
                (back, "containment", f"second_in_first_by_{key}", variant, "ratio"),
            ]
    for subject, measure, key, variant, unit in rows:
        value = pair[key]
        figure = None if value is None else float(value)
        yield Finding(subject, "overlap", measure, figure, variant, unit, note=note)


def _position_note(marked: list[str]) -> str | None:
    """Says what is lost where an inventory marks places in the word outside the bytes."""
    if not marked:
        return None
    return (
        f"{' and '.join(marked)} marks an entry's place in the word outside its bytes; entries are compared "
        "by bytes alone, so a word's beginning there never equals one that holds its space here"
    )


def _special(inventories: Sequence[Inventory]) -> Iterator[Finding]:
    """Jaccard of the special tokens of each pair; None where neither has any."""
    sets = [set(one.frame.filter(pl.col("kind") == "special")["bytes"]) - {None} for one in inventories]
    for one, two in combinations(range(len(inventories)), 2):
        subject = f"{inventories[one].name} & {inventories[two].name}"
        value = _ratio(len(sets[one] & sets[two]), len(sets[one] | sets[two]))
        yield Finding(subject, "overlap", "jaccard", value, "special tokens, by their text", "ratio")


def _inventory_findings(inventories: Sequence[Inventory], members: NDArray[np.bool_]) -> Iterator[Finding]:
    held = members.sum(axis=0)
    every = int((held == len(inventories)).sum())
    for inventory, row in zip(inventories, members, strict=True):
        kept = inventory.frame["kind"].is_in(PRODUCED) & inventory.frame["bytes"].is_not_null()
        left, twice = len(inventory) - int(kept.sum()), int(kept.sum() - row.sum())
        note = f"left out: {left} special tokens and reserved slots; {twice} entries repeat another's bytes"
        only = int((row & (held == 1)).sum())
        for measure, value, said in (
            ("entries_compared", int(row.sum()), note),
            ("entries_only_here", only, None),
            ("entries_all_have", every, None),
        ):
            yield Finding(inventory.name, "overlap", measure, float(value), ENTRIES, "entries", note=said)


def _rows(entries: pl.DataFrame, codes: NDArray[np.bool_], names: Sequence[str]) -> pl.DataFrame:
    """Entries whose byte string is among the codes, by inventory and order of learning."""
    chosen = entries.filter(pl.lit(pl.Series(codes[entries["code"].to_numpy()])))
    subject = pl.col("inventory").replace_strict(dict(enumerate(names)), return_dtype=pl.String)
    return chosen.sort("inventory", "order").with_columns(subject.alias("subject"))


def _listed(only: pl.DataFrame, top: int) -> Iterator[pl.DataFrame]:
    """The first-learned and the longest of the entries that one inventory alone has."""
    sized = only.with_columns(size=pl.col("bytes").bin.size())
    by_size = sized.sort("inventory", -pl.col("size").cast(pl.Int64), "order")
    for variant, rows, value, unit in (
        ("first learned", sized, pl.col("order").cast(pl.Int64) + 1, "place in the order of learning"),
        ("longest", by_size, pl.col("size"), "bytes"),
    ):
        yield columnar(
            {
                "subject": pl.col("subject"),
                "audit": "overlap",
                "measure": "entry_only_here",
                "variant": variant,
                "value": value.cast(SCHEMA["value"]),
                "unit": unit,
                "token_id": pl.col("token_id"),
                "token": pl.col("bytes"),
            },
            rows.group_by("inventory", maintain_order=True).head(top),
        )
