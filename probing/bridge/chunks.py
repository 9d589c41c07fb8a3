"""Two tokenisations of the same bytes, laid over each other: chunks, and the class of each student position.

A chunk is the run between two sync points, byte offsets at which both have a token boundary. Its class says
how many student tokens stand against how many of the teacher: 1:1, N:1 (several student tokens in one of the
teacher), 1:N (a student token over several of the teacher), M:N (both several). Algorithm 1 of Wang et al.
(arXiv 2607.22334) tells its cases by these classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from workbench.alignment import Alignment
from workbench.errors import SutureError
from workbench.prefixes import byteless
from workbench.segmentation import Segmentation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from workbench.inventory import Inventory
    from workbench.tokenizer import Encoded, Tokenizer

    Offsets = NDArray[np.int64]

CLASSES = ("1:1", "N:1", "1:N", "M:N")
"""Student tokens to teacher tokens of a chunk."""

BLANKS = b" \t"
"""Bytes of a token that the white-space mask leaves out: spaces and tabs, and no line ends."""


class Refused(NamedTuple):
    """A sample that cannot be bridged: its place among the samples given, and why."""

    sample: int
    reason: str


class Side(NamedTuple):
    """Tokens of one tokenizer over all kept samples, end to end.

    Attributes:
        ids: token ids (tokens,).
        starts: byte offsets in the joined bytes (tokens,).
        ends: likewise (tokens,); spans touch.
        samples: kept sample of each token (tokens,), from 0.
    """

    ids: NDArray[np.int32]
    starts: Offsets
    ends: Offsets
    samples: Offsets


@dataclass(frozen=True, eq=False)
class Pairing:
    """Student positions laid against the teacher's tokens, over many samples.

    Attributes:
        names: of the teacher and of the student.
        data: the bytes of all kept samples, joined.
        teacher: the teacher's tokens; row j of a teacher's predictions is the one that predicts token j.
        student: the student's tokens; position i is the one that predicts token i.
        blank: whether a student token is all spaces and tabs (students,).
        kept: the samples kept, by their place among those given (kept,).
        refused: the others.
    """

    names: tuple[str, str]
    data: bytes
    teacher: Side
    student: Side
    blank: NDArray[np.bool_]
    kept: Offsets
    refused: tuple[Refused, ...] = ()

    def __len__(self) -> int:
        """Student positions."""
        return len(self.student.ids)

    @cached_property
    def _alignment(self) -> Alignment:
        sides = [Segmentation(self.data, side.starts, side.ends) for side in (self.teacher, self.student)]
        return Alignment(gold=sides[0], predicted=sides[1])

    @cached_property
    def sync(self) -> Offsets:
        """Sync points: byte offsets of both, with the ends of the joined bytes (chunks + 1,)."""
        return self._alignment.shared

    @cached_property
    def chunk(self) -> Offsets:
        """Chunk of each student position (students,)."""
        return self._alignment.chunk_of(self._alignment.predicted)

    @cached_property
    def teacher_chunk(self) -> Offsets:
        """Chunk of each teacher token (teachers,)."""
        return self._alignment.chunk_of(self._alignment.gold)

    @cached_property
    def chunk_classes(self) -> NDArray[np.int64]:
        """Class of each chunk (chunks,), an index into ``CLASSES``."""
        chunks = len(self.sync) - 1
        several = [np.bincount(side, minlength=chunks) > 1 for side in (self.chunk, self.teacher_chunk)]
        return several[0] + 2 * several[1]

    @property
    def classes(self) -> NDArray[np.int64]:
        """Class of the chunk that each student position lies in (students,)."""
        return self.chunk_classes[self.chunk]

    @cached_property
    def governing(self) -> Offsets:
        """The teacher token in which each student position starts (students,)."""
        return np.searchsorted(self.teacher.ends, self.student.starts, side="right")

    @property
    def pending(self) -> Offsets:
        """Bytes of the governing token that stand before each student position (students,)."""
        return self.student.starts - self.teacher.starts[self.governing]

    @cached_property
    def spanning(self) -> NDArray[np.bool_]:
        """Whether a student token ends beyond its governing token, and so crosses a boundary (students,)."""
        found: NDArray[np.bool_] = self.student.ends > self.teacher.ends[self.governing]
        return found

    @cached_property
    def last_row(self) -> Offsets:
        """The last teacher token of each position's sample (students,)."""
        last = np.searchsorted(self.teacher.samples, np.arange(len(self.kept)), side="right") - 1
        return last[self.student.samples]

    @cached_property
    def chunk_end(self) -> Offsets:
        """The last teacher token of each position's chunk (students,)."""
        last = np.searchsorted(self.teacher_chunk, np.arange(len(self.sync) - 1), side="right") - 1
        return last[self.chunk]

    def census(self) -> pl.DataFrame:
        """Chunks, student positions, teacher tokens and bytes by class, one row a class."""
        classes, each = self.chunk_classes, self.classes
        size = len(CLASSES)
        pending = self.pending > 0
        return pl.DataFrame(
            {
                "class": CLASSES,
                "chunks": np.bincount(classes, minlength=size),
                "positions": np.bincount(each, minlength=size),
                "teacher_tokens": np.bincount(classes[self.teacher_chunk], minlength=size),
                "bytes": np.bincount(classes, np.diff(self.sync), minlength=size).astype(np.int64),
                "spanning": np.bincount(each[self.spanning], minlength=size),
                "pending": np.bincount(each[pending], minlength=size),
                "blank": np.bincount(each[self.blank], minlength=size),
            }
        )

    def shares(self) -> dict[str, float | None]:
        """Shares of student positions; None where there is no position.

        Returns:
            ``strict`` (in a 1:1 chunk), ``spanning`` and ``non_spanning`` (of the realised token),
            ``pending`` (starts inside a teacher token), ``blank`` (left out by the white-space mask), and
            ``pending_bytes``: mean bytes pending where some are.
        """
        count = len(self)
        parts = {
            "strict": self.classes == 0,
            "spanning": self.spanning,
            "non_spanning": ~self.spanning,
            "pending": self.pending > 0,
            "blank": self.blank,
        }
        found: dict[str, float | None] = {
            name: float(part.sum()) / count if count else None for name, part in parts.items()
        }
        inside = self.pending[self.pending > 0]
        found["pending_bytes"] = float(inside.mean()) if len(inside) else None
        return found


def pair_texts(teacher: Tokenizer, student: Tokenizer, texts: Sequence[str]) -> Pairing:
    """Cuts texts with two tokenizers and lays the tokens over each other.

    A text in which one of them uses its token for unknown text is refused: that token says no bytes.
    """
    encoded = teacher.encode_batch(texts), student.encode_batch(texts)
    unknown = teacher.unknown, student.unknown
    return pair(teacher.inventory, student.inventory, *encoded, unknown)


def pair(
    teacher: Inventory,
    student: Inventory,
    teacher_ids: Encoded,
    student_ids: Encoded,
    unknown: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset()),
) -> Pairing:
    """Lays two tokenisations of the same samples over each other.

    Nothing is repaired: a sample is refused, and named, where the bytes of the two differ, where a token has
    no bytes, or where one stands for unknown text.

    Args:
        teacher: the teacher's inventory.
        student: the student's.
        teacher_ids: the samples in the teacher's tokens.
        student_ids: the same samples in the student's.
        unknown: ids of either side that stand for text without an entry.

    Raises:
        SutureError: the two have different numbers of samples, or an id lies outside its inventory.
    """
    if len(teacher_ids.offsets) != len(student_ids.offsets):
        raise SutureError(
            f"both sides must hold the same samples; {teacher.name} has {len(teacher_ids.offsets) - 1} and "
            f"{student.name} {len(student_ids.offsets) - 1}; encode the same texts with both"
        )
    inventories, ids = (teacher, student), (teacher_ids, student_ids)
    data = [_bytes(*each) for each in zip(inventories, ids, strict=True)]
    refused = [
        *_without_bytes(inventories, ids, unknown),
        *(Refused(k, _apart(teacher, student, one, two))
          for k, (one, two) in enumerate(zip(*data, strict=True)) if one != two),
    ]  # fmt: skip
    refused = list({each.sample: each for each in reversed(refused)}.values())
    kept = np.setdiff1d(np.arange(len(data[0])), [each.sample for each in refused]).astype(np.int64)
    sides = [_side(*each, kept) for each in zip(inventories, ids, strict=True)]
    used, places = np.unique(sides[1].ids, return_inverse=True)
    blank = np.array([not student.pieces[token].strip(BLANKS) for token in used.tolist()], bool)
    return Pairing(
        (teacher.name, student.name),
        b"".join([data[0][k] for k in kept.tolist()]),
        sides[0],
        sides[1],
        blank[places],
        kept,
        tuple(sorted(refused)),
    )


def _bytes(inventory: Inventory, encoded: Encoded) -> list[bytes]:
    """The bytes that each sample's tokens spell."""
    ids = encoded.ids
    if len(ids) and (ids.min() < 0 or ids.max() >= inventory.rows_needed):
        raise SutureError(
            f"ids must lie in 0..{inventory.rows_needed - 1}, the entries of {inventory.name}; got "
            f"{ids.min()} to {ids.max()}; give the ids of this tokenizer"
        )
    table = inventory.pieces
    joined = b"".join([table[token] for token in ids.tolist()])
    ends = np.concatenate([[0], np.cumsum(inventory.lengths[ids], dtype=np.int64)])[encoded.offsets]
    return [joined[low:high] for low, high in pairwise(ends.tolist())]


def _without_bytes(
    inventories: tuple[Inventory, Inventory],
    ids: tuple[Encoded, Encoded],
    unknown: tuple[frozenset[int], frozenset[int]],
) -> list[Refused]:
    """Samples that hold a token of no bytes, or one for unknown text."""
    found = []
    for inventory, encoded, lost in zip(inventories, ids, unknown, strict=True):
        for bad, what in (
            (np.isin(encoded.ids, list(lost)), "stands for text without an entry"),
            (byteless(inventory)[encoded.ids], "has no bytes that a text holds"),
        ):
            places = np.flatnonzero(bad)
            samples = np.searchsorted(encoded.offsets, places, side="right") - 1
            found += [
                Refused(sample, f"token {token} of {inventory.name} {what}")
                for sample, token in zip(samples.tolist(), encoded.ids[places].tolist(), strict=True)
            ]
    return found


def _apart(teacher: Inventory, student: Inventory, one: bytes, two: bytes) -> str:
    pairs = enumerate(zip(one, two, strict=False))
    same = next((at for at, (a, b) in pairs if a != b), min(len(one), len(two)))
    return (
        f"{teacher.name} spells {len(one)} bytes and {student.name} {len(two)}, which differ from byte "
        f"{same} on"
    )


def _side(inventory: Inventory, encoded: Encoded, kept: Offsets) -> Side:
    samples = np.repeat(np.arange(len(encoded.offsets) - 1), np.diff(encoded.offsets))
    held = np.isin(samples, kept)
    ids = encoded.ids[held]
    ends = np.cumsum(inventory.lengths[ids], dtype=np.int64)
    return Side(ids, ends - inventory.lengths[ids], ends, np.searchsorted(kept, samples[held]))
