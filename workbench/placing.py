"""Where the pieces of a token sequence stand in the normalised text that they were made from."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Span = tuple[int, int]


class Unknown(NamedTuple):
    """Where a piece that stands for text without an entry is said to stand.

    ``shared`` is set where the last character of its source became several. The span then holds all of
    them, which begin at this offset, though other pieces may spell some: those are not the unknown piece's.
    """

    low: int
    high: int
    shared: int | None = None


class Placed(NamedTuple):
    """Where pieces stand.

    Attributes:
        spans: byte span of each piece, in order.
        lost: indices of pieces that stand nowhere; their spans are empty.
        passed: spans inside pieces that their bytes do not spell.
    """

    spans: list[Span]
    lost: list[int]
    passed: list[Span]


def place(
    target: bytes,
    pieces: Sequence[bytes],
    unknown: Mapping[int, Unknown],
    other: Mapping[int, bytes] | None = None,
    has_entry: Callable[[bytes], bool] | None = None,
) -> Placed:
    """Finds each piece in the normalised text, from left to right.

    A piece stands where the last one ended, or after text that no piece covers (whitespace that the
    pre-tokenizer dropped, characters without an entry), or begins with a space that the text lacks, or
    has characters without an entry inside it.

    Args:
        target: the normalised text.
        pieces: the pieces in order.
        unknown: the pieces that stand for text without an entry, by index.
        other: another spelling of a piece, by index.
        has_entry: whether a character alone has an entry, for a model that passes over characters
            without one and joins what stands on both sides of them; None for other models.
    """
    spans: list[Span] = []
    lost: list[int] = []
    passed: list[Span] = []
    here = 0
    for index, piece in enumerate(pieces):
        found: list[Span] | None
        if index in unknown:
            found = [_unspelled(target, pieces, unknown, index, here)]
        else:
            spellings = [piece] if other is None or index not in other else [piece, other[index]]
            found = _nearest(target, spellings, here, has_entry)
        if found is None:
            lost.append(index)
            found = [(here, here)]
        passed += [(left[1], right[0]) for left, right in pairwise(found)]
        spans.append((found[0][0], found[-1][1]))
        here = spans[-1][1]
    return Placed(spans, lost, passed)


def _unspelled(
    target: bytes, pieces: Sequence[bytes], unknown: Mapping[int, Unknown], index: int, here: int
) -> Span:
    place = unknown[index]
    low, high = max(place.low, here), max(place.high, here)
    following = next((later for later in range(index + 1, len(pieces)) if later not in unknown), None)
    if place.shared is not None and following is not None:
        found = target.find(pieces[following], max(place.shared, low), high)
        high = found if found >= 0 else high
    return low, high


def _nearest(
    target: bytes, spellings: Sequence[bytes], here: int, has_entry: Callable[[bytes], bool] | None
) -> list[Span] | None:
    """The nearest place at or after ``here``, in parts: whole, without its leading space, or scattered."""
    for spelling in spellings:
        if target.startswith(spelling, here):
            return [(here, here + len(spelling))]
    places: list[list[Span]] = []
    for spelling in spellings:
        for offer in (spelling, spelling[1:]) if spelling[:1] == b" " else (spelling,):
            low = target.find(offer, here)
            places += [[(low, low + len(offer))]] if low >= 0 else []
        scattered = _scattered(target, spelling, here, has_entry) if has_entry else []
        places += [scattered] if scattered else []
    return min(places, key=lambda place: place[0][0], default=None)


def _scattered(target: bytes, piece: bytes, here: int, has_entry: Callable[[bytes], bool]) -> list[Span]:
    """The piece's characters in order, with nothing between them but characters without an entry."""
    try:
        characters = [character.encode() for character in piece.decode()]
    except UnicodeDecodeError:
        return []
    parts: list[Span] = []
    for character in characters:
        end = parts[-1][1] if parts else here
        low = target.find(character, end)
        if low < 0:
            return []
        if low == end and parts:
            parts[-1] = (parts[-1][0], low + len(character))
        elif parts and any(has_entry(between.encode()) for between in target[end:low].decode()):
            return []
        else:
            parts.append((low, low + len(character)))
    return parts
