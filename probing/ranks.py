"""Where a state's own token ranks: by cosine to the embedding rows, and by the model's logits.

A rank counts from 1; entries with the same score share their places: 1 + #greater + (#ties − 1) / 2, ties
with itself among them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from probing.directions import check, finite, known, mask
from probing.products import NEAR, dots, paired, stretches
from workbench.errors import SutureError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from probing.directions import Bools, Floats, Ints, Masked, States, View
    from probing.products import Directions


class Ranks(NamedTuple):
    """Ranks of the own token of each unit; masked where there is none.

    Attributes:
        rank: from 1, ties averaged (units,).
        greater: entries with a higher score.
        ties: entries with the same score, the own one among them.
        score: of the own entry: its cosine, or its logit.
        bits: −log₂ of the own entry's probability; all masked where the scores are cosines.
        entries: how many entries were ranked.
    """

    rank: Masked
    greater: Ints
    ties: Ints
    score: Masked
    bits: Masked
    entries: int


class Summary(NamedTuple):
    """Ranks of many units in one line; None where no unit has a rank.

    Attributes:
        units: with a rank.
        undefined: without.
        median: of the ranks.
        mrr: mean of 1 / rank.
        at_one: share of units whose own entry comes first; a first place shared by m entries counts 1/m.
        bits: mean −log₂ p.
    """

    units: int
    undefined: int
    median: float | None
    mrr: float | None
    at_one: float | None
    bits: float | None


def identity_ranks(
    states: Directions | States,
    matrix: Directions | States,
    ids: Ints,
    *,
    keep: Bools | None = None,
    view: View = "raw",
) -> Ranks:
    """Rank of the own row by cosine among the rows of a matrix.

    Args:
        states: (units, width) of a layer.
        matrix: embedding or unembedding rows (entries, width).
        ids: row of the matrix that is each unit's own (units,).
        keep: which rows are entries of the tokenizer; padding rows are not ranked.
        view: raw, or both sides centred or standardised each by its own moments.

    Raises:
        SutureError: widths or views differ, or an id is beyond the matrix.
    """
    left, right = paired(states, matrix, view)
    _check_ids(ids, len(left), len(right))
    ranked = right.defined if keep is None else right.defined & keep
    told = left.defined & ranked[ids]
    score = dots(left, right, np.arange(len(left)), ids)
    greater, ties = np.zeros(len(left), np.int64), np.zeros(len(left), np.int64)
    for part in stretches(len(left), len(right)):
        scores = left.unit[part] @ right.unit.T
        if not ranked.all():
            scores[:, ~ranked] = -np.inf
        own = score[part, None]
        above = scores > (own + NEAR).astype(np.float32)
        near = (scores >= (own - NEAR).astype(np.float32)) ^ above
        near[~told[part]] = False
        greater[part] = np.count_nonzero(above, axis=1)
        rows, columns = np.nonzero(near)
        exact = dots(left, right, rows + part.start, columns) - score[rows + part.start]
        greater[part] += np.bincount(rows, exact > 0, len(scores)).astype(np.int64)
        ties[part] = np.bincount(rows, exact == 0, len(scores)).astype(np.int64)
    nothing = mask(np.zeros(len(left)), np.zeros(len(left), bool))
    return Ranks(
        mask(1 + greater + (ties - 1) / 2, told), greater, ties, mask(score, told), nothing, int(ranked.sum())
    )


def logit_ranks(logits: States, ids: Ints, keep: Bools | None = None) -> Ranks:
    """Rank and surprise of the own token under a head's logits (the logit lens where a layer is read early).

    Args:
        logits: of the whole head, its norm, dense layer and bias included (units, entries).
        ids: own entry of each unit.
        keep: which columns are entries of the tokenizer; others are not ranked, but have their share of p.

    Raises:
        SutureError: an id is beyond the logits.
    """
    check(logits)
    _check_ids(ids, len(logits), logits.shape[1])
    greater, ties = np.zeros(len(logits), np.int64), np.zeros(len(logits), np.int64)
    score, bits = np.zeros(len(logits)), np.zeros(len(logits))
    told = finite(logits)
    if keep is not None:
        told &= keep[ids]
    for part in stretches(len(logits), 2 * logits.shape[1]):
        block = np.where(told[part, None], logits[part], 0).astype(np.float64)
        own = np.take_along_axis(block, ids[part, None], axis=1)
        most = block.max(axis=1, keepdims=True)
        total = np.log(np.exp(block - most).sum(axis=1, keepdims=True)) + most
        ranked = slice(None) if keep is None else keep
        greater[part] = (block[:, ranked] > own).sum(1)
        ties[part] = (block[:, ranked] == own).sum(1)
        score[part], bits[part] = own[:, 0], (total - own)[:, 0] / np.log(2)
    entries = logits.shape[1] if keep is None else int(keep.sum())
    return Ranks(
        mask(1 + greater + (ties - 1) / 2, told), greater, ties, mask(score, told), mask(bits, told), entries
    )


def summary(ranks: Ranks, use: Bools | None = None) -> Summary:
    """Median, mean reciprocal rank, share of first places and mean surprise.

    Args:
        ranks: of many units.
        use: which units; all by default.
    """
    of = np.ones(len(ranks.rank), bool) if use is None else use
    told = of & known(ranks.rank)
    units = int(told.sum())
    if not units:
        return Summary(0, int(of.sum()), None, None, None, None)
    rank = ranks.rank.data[told]
    first = (ranks.greater[told] == 0) / np.maximum(ranks.ties[told], 1)
    bits = ranks.bits.data[told & known(ranks.bits)]
    return Summary(
        units,
        int(of.sum()) - units,
        float(np.median(rank)),
        float((1 / rank).mean()),
        float(first.mean()),
        float(bits.mean()) if len(bits) else None,
    )


def perplexity(nats: Floats) -> float:
    """Exp of the mean −ln p of tokens; between two tokenizers only ``bits_per_byte`` is comparable.

    Args:
        nats: −ln p of each token (tokens,).
    """
    return float(np.exp(np.mean(nats)))


def bits_per_byte(nats: Floats, size: int) -> float:
    """Σ −log₂ p over the bytes of the text: comparable between tokenizers, whatever they cut.

    Args:
        nats: −ln p of each token of the text (tokens,).
        size: bytes of the text.

    Raises:
        SutureError: the text is empty.
    """
    if size <= 0:
        raise SutureError(f"bits per byte need a text of at least one byte; got {size}")
    return float(np.sum(nats) / np.log(2) / size)


def _check_ids(ids: NDArray[Any], units: int, entries: int) -> None:
    if ids.shape != (units,) or not np.issubdtype(ids.dtype, np.integer):
        raise SutureError(
            f"ids must be whole numbers, one to a unit ({units}); got {ids.dtype} of {ids.shape}"
        )
    if units and not 0 <= int(ids.min()) <= int(ids.max()) < entries:
        raise SutureError(
            f"ids must be rows of the matrix, 0 to {entries - 1}; got {int(ids.min())} to {int(ids.max())}"
        )
