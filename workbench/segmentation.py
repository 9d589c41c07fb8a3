"""A segmentation: where a text, as given, is cut into pieces, in bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import numpy as np
import regex

from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Offsets = NDArray[np.int64]

Unit = Literal["byte", "codepoint", "utf16", "grapheme"]
UNITS: tuple[Unit, ...] = ("byte", "codepoint", "utf16", "grapheme")


def utf8(text: str) -> bytes:
    """The text's bytes.

    Raises:
        SutureError: the text holds a lone surrogate, which UTF-8 cannot carry; the message says where.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise SutureError(
            f"a text must be valid Unicode; a lone surrogate U+{ord(text[error.start]):04X} stands at "
            f"character {error.start}; repair the source, or replace it before segmenting"
        ) from None


@dataclass(frozen=True, eq=False)
class Segmentation:
    """Pieces of a text as byte spans.

    Attributes:
        text: the text as given, in bytes.
        starts: byte offset of each token's first byte (tokens,).
        ends: byte offset after each token's last byte (tokens,). Spans may touch, may be empty (a
            synthetic space), and may overlap only where a normaliser joined or split a character.
        ids: token ids (tokens,), or None for a segmenter without an inventory.
        exact: the pieces join to the text; otherwise the spans were mapped through a normaliser or
            leave text uncovered.
        absorbed: spans of whitespace that a special token swallowed (n, 2).
        dropped: spans of text that the normaliser removed, or that the model passed over inside a token
            for want of an entry (n, 2).
        synthetic: indices of tokens that carry a space which the text does not have.
        unknown: indices of tokens that stand for text the inventory cannot spell.
    """

    text: bytes
    starts: Offsets
    ends: Offsets
    ids: NDArray[np.int32] | None = None
    exact: bool = True
    absorbed: Offsets = field(default_factory=lambda: np.empty((0, 2), np.int64))
    dropped: Offsets = field(default_factory=lambda: np.empty((0, 2), np.int64))
    synthetic: tuple[int, ...] = ()
    unknown: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        starts, ends, size = self.starts, self.ends, len(self.text)
        if len(starts) != len(ends) or (self.ids is not None and len(self.ids) != len(starts)):
            raise SutureError(
                f"a segmentation needs one start, end and id a token; got {len(starts)}, {len(ends)} and "
                f"{'none' if self.ids is None else len(self.ids)}; pass arrays of equal length"
            )
        if len(starts) == 0:
            if self.exact and size:
                raise SutureError(
                    f"an exact segmentation must cover its text; got no token for {size} bytes; "
                    "pass exact=False where text is uncovered"
                )
            return
        if starts.min() < 0 or ends.max() > size or (starts > ends).any() or (np.diff(starts) < 0).any():
            raise SutureError(
                f"spans must be ordered and lie within 0..{size}, the length of the text in bytes; got "
                f"starts {_brief(starts)} and ends {_brief(ends)}; check the offsets' unit"
            )
        if self.exact and (starts[0] != 0 or ends[-1] != size or (starts[1:] != ends[:-1]).any()):
            raise SutureError(
                f"cuts must run from 0 to {size}, the length of the text in bytes, without holes; got "
                f"starts {_brief(starts)} and ends {_brief(ends)}; pass exact=False where text is uncovered"
            )

    @classmethod
    def from_cuts(
        cls, text: bytes, cuts: Sequence[int] | Offsets, ids: NDArray[np.int32] | None = None
    ) -> Segmentation:
        """An exact segmentation from its cuts.

        Args:
            text: the text in bytes.
            cuts: byte offsets from 0 to the length of the text, rising.
            ids: token ids, one fewer than cuts.

        Raises:
            SutureError: the cuts do not run from 0 to the end, or do not rise.
        """
        offsets = np.asarray(cuts, dtype=np.int64)
        if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(text):
            raise SutureError(
                f"cuts must run from 0 to {len(text)}, the length of the text in bytes; "
                f"got {_brief(offsets)}; add the missing ends"
            )
        if (np.diff(offsets) < 0).any():
            raise SutureError(f"cuts must rise; got {_brief(offsets)}; sort them")
        if len(text) == 0:
            offsets = offsets[:1]
        return cls(text, offsets[:-1], offsets[1:], ids)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def pieces(self) -> list[bytes]:
        """The slice of the text under each token."""
        return [self.text[a:b] for a, b in zip(self.starts.tolist(), self.ends.tolist(), strict=True)]

    @cached_property
    def cuts(self) -> Offsets:
        """All byte offsets at which a token starts or ends, with both ends of the text."""
        return np.unique(np.concatenate([self.starts, self.ends, [0, len(self.text)]]))

    @cached_property
    def boundaries(self) -> Offsets:
        """Inner cuts: the word's end is no boundary."""
        return self.cuts[1:-1]

    @cached_property
    def uncovered(self) -> Offsets:
        """Spans of text under no token and not absorbed by one (n, 2)."""
        reach = np.maximum.accumulate(np.concatenate([[0], self.ends]))
        lows, highs = reach, np.concatenate([self.starts, [len(self.text)]])
        holes = np.stack([lows, highs], axis=1)[lows < highs]
        return _minus(holes, self.absorbed)

    def spans(self, unit: Unit = "byte") -> Offsets:
        """Token spans (tokens, 2) in bytes, code points, UTF-16 code units or grapheme clusters.

        A token that holds part of a character is given the whole character's span, so such spans
        overlap; ``shared`` counts them. An empty span stays empty.

        Raises:
            SutureError: the text is not valid UTF-8 and the unit is not ``byte``.
        """
        spans = np.stack([self.starts, self.ends], axis=1)
        if unit == "byte":
            return spans
        index = unit_index(self.text, unit)
        lows = index[spans[:, 0]]
        empty = spans[:, 0] == spans[:, 1]
        highs = np.where(empty, lows, index[np.maximum(spans[:, 1] - 1, 0)] + _width(self.text, unit, spans))
        return np.stack([lows, highs], axis=1)

    def shared(self, unit: Unit = "codepoint") -> int:
        """Number of neighbouring token pairs that share a unit, as parts of one character do."""
        spans = self.spans(unit)
        return int((spans[:-1, 1] > spans[1:, 0]).sum())


def _brief(values: Offsets) -> tuple[int, ...] | str:
    return tuple(values.tolist()) if len(values) <= 8 else f"{values[:4].tolist()} … {values[-2:].tolist()}"


def _minus(holes: Offsets, absorbed: Offsets) -> Offsets:
    """Removes absorbed spans from holes; both are ordered and an absorbed span lies in one hole."""
    if len(absorbed) == 0:
        return holes
    rest = []
    for low, high in holes.tolist():
        for start, end in absorbed.tolist():
            if low <= start < high:
                if start > low:
                    rest.append((low, start))
                low = min(end, high)  # noqa: PLW2901 the hole shrinks from its left
        if low < high:
            rest.append((low, high))
    return np.array(rest, np.int64).reshape(-1, 2)


def unit_index(text: bytes, unit: Unit) -> Offsets:
    """For every byte offset 0..len(text), the index of the unit that the byte belongs to.

    The last element, for the offset after the text, is the number of units.
    """
    raw = np.frombuffer(text, np.uint8)
    if unit == "byte":
        return np.arange(len(raw) + 1)
    try:
        string = text.decode()
    except UnicodeDecodeError as error:
        raise SutureError(
            f"offsets in {unit}s need valid UTF-8; byte 0x{text[error.start]:02X} at offset {error.start} "
            "is not; ask for byte offsets instead"
        ) from None
    lead = (raw & 0xC0) != 0x80
    if unit == "grapheme":
        begins = np.zeros(len(raw) + 1, np.int64)
        sizes = [len(cluster.encode()) for cluster in regex.findall(r"\X", string)]
        begins[np.cumsum([0, *sizes])] = 1
        return np.cumsum(begins) - 1
    if unit == "codepoint":
        return np.concatenate([np.cumsum(lead) - 1, [int(lead.sum())]])
    width = np.where(raw >= 0xF0, 2, 1) * lead  # beyond the basic plane, two code units
    total = np.cumsum(width)
    before = total - np.where(lead, width, 0)
    first = np.maximum.accumulate(np.where(lead, before, 0))
    return np.concatenate([first, [int(width.sum())]])


def _width(text: bytes, unit: Unit, spans: Offsets) -> Offsets | int:
    """Units that the last character of each span takes: 2 for a surrogate pair, else 1."""
    if unit != "utf16":
        return 1
    index = unit_index(text, unit)
    last = np.maximum(spans[:, 1] - 1, 0)
    following = np.searchsorted(index, index[last], side="right")
    width: Offsets = index[following] - index[last]
    return width


@runtime_checkable
class Segmenter(Protocol):
    """Anything that cuts a text: a tokenizer, a gold segmentation, a learned-boundary model."""

    @property
    def name(self) -> str:
        """Name shown beside its results."""

    def segment(self, text: str) -> Segmentation:
        """Cuts one text."""

    def segment_batch(self, texts: Sequence[str]) -> list[Segmentation]:
        """Cuts many texts, each as ``segment`` would."""
