"""Two segmentations of one text, compared: shared cuts, chunks between them, tokens that overlap or cross."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.errors import SutureError
from workbench.ranges import ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.segmentation import Segmentation

    Offsets = NDArray[np.int64]


class Scores(NamedTuple):
    """Boundary scores; None where the figure is undefined, which is not zero.

    Attributes:
        precision: hits among the predicted boundaries; None where none is predicted.
        recall: hits among the reference's boundaries; None where it has none.
        f1: twice the hits among the boundaries of both; None where neither has any.
    """

    precision: float | None
    recall: float | None
    f1: float | None


def precision_recall(hits: int, false: int, missed: int) -> Scores:
    """Precision, recall and their harmonic mean from counts of boundaries.

    F1 is written as 2·hits / (2·hits + false + missed) (van Rijsbergen 1979, "Information Retrieval",
    chapter 7, with equal weights), so it is 0, not undefined, where one side alone has boundaries.

    Args:
        hits: boundaries in both.
        false: boundaries predicted alone.
        missed: boundaries of the reference alone.

    Raises:
        SutureError: a count is negative.
    """
    if min(hits, false, missed) < 0:
        raise SutureError(
            f"counts of boundaries must not be negative; got {hits}, {false} and {missed}; count them again"
        )
    return Scores(
        _ratio(hits, hits + false), _ratio(hits, hits + missed), _ratio(2 * hits, 2 * hits + false + missed)
    )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


class Chunk(NamedTuple):
    """A stretch of text between two shared cuts, with no shared cut inside.

    Attributes:
        start: byte offset of its first byte.
        end: byte offset after its last byte.
        gold: indices of the reference's tokens in it.
        predicted: indices of the other's tokens in it.
    """

    start: int
    end: int
    gold: tuple[int, ...]
    predicted: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Alignment:
    """What two segmentations of one text have in common.

    Boundaries are inner cuts: the ends of the text are none. A token with an empty span (a synthetic
    space) stands on no text: it links to nothing and lies in no chunk. Text under no token has no links
    either; the edges of a hole are cuts like others. Everything is computed on arrays, in n log n for n
    tokens plus the number of links.

    Attributes:
        gold: the reference.
        predicted: what is compared with it.

    Raises:
        SutureError: the two are of different texts.
    """

    gold: Segmentation
    predicted: Segmentation

    def __post_init__(self) -> None:
        one, two = self.gold.text, self.predicted.text
        if one != two:
            same = next(
                (at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b),
                min(len(one), len(two)),
            )
            raise SutureError(
                f"two segmentations can be aligned only on one text; got texts of {len(one)} and {len(two)} "
                f"bytes that differ from byte {same} on; segment the same text with both"
            )

    @cached_property
    def hits(self) -> Offsets:
        """Boundaries in both (n,), rising byte offsets."""
        return np.intersect1d(self.gold.boundaries, self.predicted.boundaries, assume_unique=True)

    @cached_property
    def missed(self) -> Offsets:
        """Boundaries of the reference that the other lacks (n,)."""
        return np.setdiff1d(self.gold.boundaries, self.predicted.boundaries, assume_unique=True)

    @cached_property
    def false(self) -> Offsets:
        """Boundaries that the reference lacks (n,)."""
        return np.setdiff1d(self.predicted.boundaries, self.gold.boundaries, assume_unique=True)

    @property
    def scores(self) -> Scores:
        """Precision, recall and F1 of the boundaries."""
        return precision_recall(len(self.hits), len(self.false), len(self.missed))

    @cached_property
    def links(self) -> Offsets:
        """Pairs (reference token, other token) whose spans share a byte (links, 2), in order."""
        one, two = _held(self.gold), _held(self.predicted)
        starts, ends = self.gold.starts[one], self.gold.ends[one]
        others, reach = self.predicted.starts[two], np.maximum.accumulate(self.predicted.ends[two])
        # Starts rise and so does the farthest end so far, so the tokens that may overlap lie between two
        # places found by bisection; only where spans overlap each other is one of them too many.
        low = np.searchsorted(reach, starts, side="right")
        count = np.maximum(np.searchsorted(others, ends, side="left") - low, 0)
        left = np.repeat(np.arange(len(one)), count)
        right = ranges(low, count)
        overlap = self.predicted.ends[two][right] > starts[left]
        return np.stack([one[left[overlap]], two[right[overlap]]], axis=1)

    @cached_property
    def crossing(self) -> Offsets:
        """Links of which neither token contains the other (n, 2)."""
        left, right = self.links[:, 0], self.links[:, 1]
        start = self.gold.starts[left] - self.predicted.starts[right]
        end = self.gold.ends[left] - self.predicted.ends[right]
        found: Offsets = self.links[(np.sign(start) == np.sign(end)) & (start != 0)]
        return found

    @cached_property
    def shared(self) -> Offsets:
        """Cuts of both, the ends of the text among them, that lie inside no token of either (n,)."""
        cuts = np.intersect1d(self.gold.cuts, self.predicted.cuts, assume_unique=True)
        inside = np.zeros(len(cuts), bool)
        for side in (self.gold, self.predicted):
            inside |= _inside(cuts, side)
        found: Offsets = cuts[~inside]
        return found

    def chunk_of(self, side: Segmentation) -> Offsets:
        """For each token of one side, the interval of ``shared`` it lies in, -1 if it is empty (tokens,)."""
        found = np.searchsorted(self.shared, side.starts, side="right") - 1
        return np.where(side.starts < side.ends, found, -1)

    @cached_property
    def chunks(self) -> list[Chunk]:
        """Runs between shared cuts that hold a token, in order: the smallest parts in which both agree."""
        shared = self.shared
        gold, predicted = (_grouped(self.chunk_of(side), len(shared)) for side in (self.gold, self.predicted))
        places = zip(shared[:-1].tolist(), shared[1:].tolist(), gold, predicted, strict=False)
        return [Chunk(*place) for place in places if place[2] or place[3]]


def _held(side: Segmentation) -> Offsets:
    """Indices of tokens that stand on text."""
    return np.flatnonzero(side.starts < side.ends)


def _inside(cuts: Offsets, side: Segmentation) -> NDArray[np.bool_]:
    """Whether each cut lies strictly inside a token."""
    reach = np.maximum.accumulate(np.concatenate([[0], side.ends]))
    before = np.searchsorted(side.starts, cuts, side="left")
    return reach[before] > cuts


def _grouped(chunks: Offsets, count: int) -> list[tuple[int, ...]]:
    """Token indices by chunk, for chunks 0..count - 1; tokens with chunk -1 are in none."""
    held = np.flatnonzero(chunks >= 0)
    places = np.searchsorted(chunks[held], np.arange(count + 1))
    indices = held.tolist()
    return [
        tuple(indices[low:high]) for low, high in zip(places[:-1].tolist(), places[1:].tolist(), strict=True)
    ]
