"""Whether the pieces of a word add up to it: in one layer, for the same word whole and split.

The same word must stand in the same context twice, once as one token and once as its pieces; that is the
caller's to arrange.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from probing.directions import check, mask
from probing.products import dots, paired
from probing.ranks import identity_ranks, summary
from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probing.directions import Floats, Ints, Masked, States, View

How = Literal["first", "last", "mean", "sum"]
"""What stands for the pieces of a word: one of them, their mean, or their sum."""


class Composition(NamedTuple):
    """Vectors made of pieces beside those of the whole words; masked without a direction.

    Attributes:
        cosine: of a word's composed and whole vector (words,). That of the sum is that of the mean.
        baseline: mean cosine of the composed vector to every other word of the pool.
        gain: cosine less baseline.
        error: |v − h| / |h|, which tells sum and mean apart.
        rank: of the whole word in the pool, by cosine to the composed vector, ties averaged.
        at_one: share of words that come first; None without a word.
        pool: words of the pool that have a direction.
    """

    cosine: Masked
    baseline: Masked
    gain: Masked
    error: Masked
    rank: Masked
    at_one: float | None
    pool: int


def composed(pieces: States, starts: Ints, how: How) -> Floats:
    """One vector a word, from the vectors of its pieces (words, width), in 64 bits.

    Args:
        pieces: of all words, one after another (pieces, width).
        starts: where each word begins among them, and the end (words + 1,).
        how: what stands for the pieces.

    Raises:
        SutureError: the starts do not divide the pieces into words of one piece and more, or no such way.
    """
    check(pieces)
    if how not in get_args(How):
        raise SutureError(f"pieces are composed by one of {', '.join(get_args(How))}; got {how!r}")
    counts = np.diff(starts)
    if not len(starts) or starts[0] != 0 or starts[-1] != len(pieces) or (counts < 1).any():
        raise SutureError(
            f"starts must run from 0 to {len(pieces)}, the number of pieces, each greater than the one before"
        )
    wide = np.asarray(pieces, np.float64)
    if not len(counts):
        return wide[:0]
    if how in {"first", "last"}:
        return wide[starts[:-1] if how == "first" else starts[1:] - 1]
    total: Floats = np.add.reduceat(wide, starts[:-1], axis=0)
    return total / counts[:, None] if how == "mean" else total


def against_whole(
    vectors: States, whole: States, *, others: States | None = None, view: View = "raw"
) -> Composition:
    """Composed vectors beside those of the whole words, in a pool of whole words of the same layer.

    Args:
        vectors: composed, one a word (words, width).
        whole: of the same words as one token, each word once.
        others: further whole words for the pool, none of them among these.
        view: raw; centred and standardised are each side about its own moments. The error is always raw.

    Raises:
        SutureError: the shapes differ.
    """
    check(vectors, whole)
    pool = whole if others is None else np.concatenate([whole, others])
    left, right = paired(vectors, pool, view)
    own = np.arange(len(whole))
    near = dots(left, right, own, own)
    count = int(right.defined.sum())
    told = left.defined & right.defined[own]
    every = np.zeros(len(whole))
    if len(whole):
        every = left.exact(own) @ right.exact(np.arange(len(pool))).sum(0)
    baseline = mask((every - near) / max(count - 1, 1), told & (count > 1))
    ranks = identity_ranks(left, right, own)
    cosine = mask(np.clip(near, -1, 1), told)
    length = np.linalg.norm(whole.astype(np.float64), axis=1)
    apart = np.linalg.norm(vectors.astype(np.float64) - whole, axis=1)
    sound = np.isfinite(apart) & np.isfinite(length) & (length > 0)
    error = mask(np.where(sound, apart, 0.0) / np.where(sound, length, 1.0), sound)
    return Composition(cosine, baseline, cosine - baseline, error, ranks.rank, summary(ranks).at_one, count)


def detokenised(found: Sequence[float | None]) -> int | None:
    """The layer at which pieces become a word: the first of two in a row at half the maximum or more.

    After Kaplan et al. (2025), who read the last piece of a decoder; ask for each way of composing where a
    model reads both ways.

    Args:
        found: retrieval@1 of the word in each layer, in order.

    Returns:
        The place in the order; None where nothing is ever found, or never twice in a row.
    """
    most = max((value for value in found if value is not None), default=0.0)
    if most <= 0:
        return None
    high = [value is not None and value >= most / 2 for value in found]
    return next((at for at in range(len(high) - 1) if high[at] and high[at + 1]), None)
