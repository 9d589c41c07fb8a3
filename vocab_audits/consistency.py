"""Whether equal morphs are cut alike, and whether what stands at a boundary is surprising."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from scipy import sparse, stats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from vocab_audits.boundaries import Compared

STRENGTH = 1.0
"""Weight, in occurrences, of the shorter context in a token's probability."""

TIED = 9
"""Decimals of surprisals that are compared, so that equal ones tie whatever the order of their sums."""

BLOCK = 512
"""Words whose pairs are counted at a time."""


def splits(compared: Compared, morphs: pl.Series) -> pl.DataFrame:
    """How each morph of each word is cut.

    Args:
        compared: gold and predicted boundaries.
        morphs: the morphs of all words, end to end.

    Returns:
        Columns row (word), morph (text), split (a mark for a cut at its beginning, the offsets of the cuts
        inside in code points, a mark for a cut at its end; the ends of a word count as cuts) and intact
        (whether it lies in one token).
    """
    overlaps = compared.overlaps
    token = overlaps.token
    begins = np.concatenate([[True], token[1:] != token[:-1]])[: len(token)]
    ends = np.concatenate([token[1:] != token[:-1], [True]])[: len(token)]
    table = pl.DataFrame(
        {"morph": overlaps.morph, "characters": overlaps.characters, "begins": begins, "ends": ends}
    )
    found = table.group_by("morph", maintain_order=True).agg(
        begins=pl.col("begins").first(),
        inside=pl.col("characters").cum_sum().head(pl.len() - 1).cast(pl.String).str.join(" "),
        ends=pl.col("ends").last(),
        intact=pl.len() == 1,
    )
    mark = [pl.when(pl.col(side)).then(pl.lit("|")).otherwise(pl.lit("-")) for side in ("begins", "ends")]
    return found.select(
        pl.Series("row", overlaps.morph_rows),
        pl.Series("morph", morphs),
        split=pl.concat_str(mark[0], "inside", mark[1]),
        intact="intact",
    )


class Consistency(NamedTuple):
    """Figures of equal morphs; None where nothing occurs twice.

    Attributes:
        majority: share of occurrences that are split as most of their morph's are.
        entropy: bits of a morph's distribution over splits, mean over occurrences.
        occurrences: occurrences of morphs that occur twice or more.
    """

    majority: float | None
    entropy: float | None
    occurrences: int


def consistency(table: pl.DataFrame, by: str = "morph") -> Consistency:
    """Whether what is equal is split alike.

    Args:
        table: rows with the columns ``by`` and ``split``.
        by: the column that says what is equal.
    """
    counts = table.group_by(by, "split", maintain_order=True).len("count")
    each = counts.group_by(by, maintain_order=True).agg(
        total=pl.col("count").sum(),
        most=pl.col("count").max(),
        entropy=(pl.col("count") / pl.col("count").sum()).entropy(base=2, normalize=False),
    )
    several = each.filter(pl.col("total") > 1)
    total = int(several["total"].sum())
    if not total:
        return Consistency(None, None, 0)
    weights = several["total"].to_numpy() / total
    entropy = float(several["entropy"].to_numpy() @ weights)
    return Consistency(float(several["most"].to_numpy().sum()) / total, max(entropy, 0.0), total)


class PairScores(NamedTuple):
    """Of pairs of words: share a morph given they share a token, the reverse, and their harmonic mean."""

    precision: float | None
    recall: float | None
    f1: float | None


def pair_scores(pieces: Sequence[Sequence[object]], morphs: Sequence[Sequence[object]]) -> PairScores:
    """Morpheme consistency over pairs of words (Asgari et al. 2025, "MorphBPE"), all pairs counted.

    Args:
        pieces: tokens of each word.
        morphs: morphs of each word, in the same order.
    """
    tokens, units = _incidence(pieces), _incidence(morphs)
    token, unit, both = 0, 0, 0
    for start in range(0, len(pieces), BLOCK):
        rows = slice(start, start + BLOCK)
        later = np.arange(len(pieces)) > np.arange(start, min(start + BLOCK, len(pieces)))[:, None]
        shares_token = ((tokens[rows] @ tokens.T).toarray() > 0) & later
        shares_unit = ((units[rows] @ units.T).toarray() > 0) & later
        token += int(shares_token.sum())
        unit += int(shares_unit.sum())
        both += int((shares_token & shares_unit).sum())
    return PairScores(
        both / token if token else None,
        both / unit if unit else None,
        2 * both / (token + unit) if token + unit else None,
    )


def _incidence(parts: Sequence[Sequence[object]]) -> sparse.csr_array:
    """Which of all distinct parts each word has (words, parts)."""
    numbers: dict[object, int] = {}
    rows = [sorted({numbers.setdefault(part, len(numbers)) for part in word}) for word in parts]
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.fromiter((number for row in rows for number in row), np.int64, ends[-1])
    shape = (len(rows), max(len(numbers), 1))
    return sparse.csr_array((np.ones(len(columns), np.int32), columns, ends), shape=shape)


class Surprisal(NamedTuple):
    """Surprisal of the tokens that begin at cuts inside words; None where one kind of cut is missing.

    Attributes:
        difference: mean at gold boundaries minus mean at other cuts, bits per byte of the token.
        auc: chance that a token at a gold boundary is the more surprising one (area under the ROC curve).
        cuts: cuts at gold boundaries, and others.
    """

    difference: float | None
    auc: float | None
    cuts: tuple[int, int]


def surprisal(pieces: Sequence[Sequence[bytes]], gold: NDArray[np.bool_]) -> Surprisal:
    """How surprising tokens are where morphs meet, against other cuts.

    The unit is the token; its probability given the token before it in the word is estimated from all the
    words but this occurrence, as a bigram backed by a unigram with a Dirichlet prior (MacKay & Peto 1995),
    and its surprisal is divided by its bytes, so that long and short tokens compare.

    Args:
        pieces: tokens of each word.
        gold: whether each token but the first of its word begins at a gold boundary, over all words.
    """
    numbers: dict[bytes, int] = {}
    ids = [numbers.setdefault(piece, len(numbers)) for word in pieces for piece in word]
    token = np.array(ids, np.int64)
    sizes = np.fromiter((len(piece) for word in pieces for piece in word), np.int64, len(ids))
    first = np.zeros(len(ids), bool)
    first[np.cumsum([0, *map(len, pieces)])[:-1]] = True
    before = np.where(first, len(numbers), np.concatenate([[0], token[:-1]]) if ids else token)
    pair = before * (len(numbers) + 1) + token
    _, place, pairs = np.unique(pair, return_inverse=True, return_counts=True)
    alone = np.bincount(token, minlength=1)
    context = np.bincount(before, minlength=1)
    # One is added to each count, and this occurrence taken away: the two cancel in the numerator.
    unigram = alone[token] / (len(ids) - 1 + len(numbers))
    given = (pairs[place] - 1 + STRENGTH * unigram) / (context[before] - 1 + STRENGTH)
    bits = (-np.log2(given) / sizes)[~first]
    one, other = bits[gold], bits[~gold]
    count = (len(one), len(other))
    if not (len(one) and len(other)):
        return Surprisal(None, None, count)
    ranks = stats.rankdata(np.round(bits, TIED))
    auc = (ranks[gold].sum() - len(one) * (len(one) + 1) / 2) / (len(one) * len(other))
    return Surprisal(float(one.mean() - other.mean()), float(auc), count)
