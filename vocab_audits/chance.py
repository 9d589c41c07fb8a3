"""How many strings of a list are morphs, beside random lists of substrings of a text's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

LEAST, LONGEST = 2, 24
"""Letters of the shortest and of the longest string that is compared."""

MATCHED: Mapping[str, tuple[str, ...]] = {
    "as frequent": ("band",),
    "as frequent and as long": ("band", "letters"),
}
"""What random strings have in common with those of the list."""

POOL = pl.Schema(
    {
        "string": pl.String(),
        "count": pl.Int64(),
        "band": pl.Int64(),
        "letters": pl.Int64(),
        "hit": pl.Boolean(),
    }
)


class Chance(NamedTuple):
    """Hits of a list of distinct strings, and those of random lists of the same size.

    Attributes:
        size: strings of the list that occur in the words.
        hits: of those, morphs.
        mean: hits expected at random.
        deviation: standard deviation of that number.
    """

    size: int
    hits: int
    mean: float
    deviation: float

    @property
    def excess(self) -> float | None:
        """Hits above the mean, in standard deviations; None where chance has no room."""
        return (self.hits - self.mean) / self.deviation if self.deviation > 0 else None


def substrings(words: Mapping[str, int], morphs: pl.Series, least: int = 2) -> pl.DataFrame:
    """Every substring of the words with its occurrences in the text, and whether it is a morph.

    Args:
        words: occurrences of each word.
        morphs: distinct strings.
        least: strings that occur fewer times are left out.

    Returns:
        The columns of ``POOL``; ``band`` n holds 2^n to 2^(n+1) − 1 occurrences.
    """
    table = pl.DataFrame({"word": list(words), "count": list(words.values())},
                         schema={"word": pl.String, "count": pl.Int64})  # fmt: skip
    table = table.with_columns(size=pl.col("word").str.len_chars().cast(pl.Int64))
    parts = []
    for letters in range(LEAST, LONGEST + 1):  # a length at a time, which bounds memory
        table = table.filter(pl.col("size") >= letters)
        if table.is_empty():
            break
        starts = table.with_columns(start=pl.int_ranges(0, pl.col("size") - letters + 1)).explode("start")
        found = starts.select("count", string=pl.col("word").str.slice(pl.col("start"), letters))
        summed = found.group_by("string").agg(pl.col("count").sum()).filter(pl.col("count") >= least)
        parts.append(summed.with_columns(letters=pl.lit(letters, pl.Int64)))
    if not parts:
        return POOL.to_frame()
    pool = pl.concat(parts).sort("letters", "string")
    bands = np.floor(np.log2(pool["count"].to_numpy())).astype(np.int64)
    return pool.with_columns(
        pl.Series("band", bands, dtype=pl.Int64), hit=pl.col("string").is_in(morphs.implode())
    ).select(POOL.names())


def chance(listed: pl.Series, pool: pl.DataFrame, matched: tuple[str, ...]) -> Chance:
    """Morphs in a list, and in random lists drawn without replacement from strings of the same cells.

    In a cell with N strings, M of them morphs, m drawn hold m M/N on average, with the variance of the
    hypergeometric distribution, m M/N (1 − M/N) (N − m)/(N − 1); cells are independent. So the figures are
    exact and need no draw.

    Args:
        listed: distinct strings; those that the pool lacks are left out.
        pool: as ``substrings`` gives it.
        matched: columns that make a cell.
    """
    found = pool.filter(pl.col("string").is_in(listed.implode()))
    cells = pool.group_by(matched).agg(
        total=pl.len().cast(pl.Float64), morphs=pl.col("hit").sum().cast(pl.Float64)
    )
    drawn = found.group_by(matched).agg(drawn=pl.len().cast(pl.Float64)).join(cells, on=matched).sort(matched)
    # In order, since a sum of fractions depends on it in its last digits.
    share = pl.col("morphs") / pl.col("total")
    left = (pl.col("total") - pl.col("drawn")) / pl.max_horizontal(pl.col("total") - 1, pl.lit(1.0))
    mean, variance = drawn.select(
        (pl.col("drawn") * share).sum().alias("mean"),
        (pl.col("drawn") * share * (1 - share) * left).sum().alias("variance"),
    ).row(0)
    return Chance(found.height, int(found["hit"].sum()), float(mean), float(variance) ** 0.5)


def draw(listed: pl.Series, pool: pl.DataFrame, matched: tuple[str, ...], seed: int) -> pl.DataFrame:
    """One random list: for each string another of its cell, none twice.

    Returns:
        string, count, hit, and the same of the one drawn: drawn, drawn_count, drawn_hit.
    """
    order = np.random.default_rng(seed).permutation(pool.height)
    mixed = pool[order].with_columns(place=pl.int_range(pl.len()).over(matched))
    found = pool.filter(pl.col("string").is_in(listed.implode()))
    found = found.with_columns(place=pl.int_range(pl.len()).over(matched))
    other = mixed.select(
        *matched, "place", drawn="string", drawn_count="count", drawn_hit="hit"
    )  # fmt: skip
    return found.join(other, on=[*matched, "place"], how="left", maintain_order="left").select(
        "string", "count", "hit", "drawn", "drawn_count", "drawn_hit"
    )
