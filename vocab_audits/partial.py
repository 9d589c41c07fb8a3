"""Texts that complete entries whose bytes break off, or begin, inside a character."""

from __future__ import annotations

from codecs import utf_8_decode
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from fontTools.unicodedata import Scripts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

TRIES = 64
"""Completions offered for each entry, spread evenly over the characters that fit."""

SMALLEST = {2: 0x80, 3: 0x800, 4: 0x10000}
"""Lowest code point that takes so many bytes."""

END = 0x110000
"""One past the last code point."""

LETTER, SYMBOL, OTHER, SURROGATE = range(4)


class Parts(NamedTuple):
    """Bytes of an entry: the end of a character, whole characters, the start of a character."""

    tail: bytes
    middle: str
    head: bytes


def split(piece: bytes) -> Parts | None:
    """Splits bytes that are not UTF-8 into what a text around them must complete.

    None if no valid text holds them: bytes C0, C1 and F5 to FF, or a character broken off before its end.
    """
    start = 0
    while start < min(len(piece), 3) and 0x80 <= piece[start] < 0xC0:
        start += 1
    try:
        middle, used = utf_8_decode(piece[start:], "strict", False)  # noqa: FBT003 the end may be missing
    except UnicodeDecodeError:
        return None
    return Parts(piece[:start], middle, piece[start + used :])


@dataclass(frozen=True, slots=True)
class Offers:
    """Texts around an entry, made when they are asked for: its middle between two characters."""

    lefts: tuple[str, ...] = ()
    middle: str = ""
    rights: tuple[str, ...] = ()

    def __len__(self) -> int:
        return max(len(self.lefts), len(self.rights)) if self.lefts and self.rights else 0

    def __getitem__(self, index: int) -> str:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.lefts[index % len(self.lefts)] + self.middle + self.rights[index % len(self.rights)]


def completions(pieces: Iterable[bytes]) -> list[Offers]:
    """For each entry, texts that hold its bytes; none where no valid text does."""
    return [_offers(parts) if parts else Offers() for parts in map(split, pieces)]


def _offers(parts: Parts) -> Offers:
    lefts = _ending(parts.tail) if parts.tail else ("",)
    if parts.tail and not parts.middle and not parts.head:
        around = _around(parts.tail)
        lefts = lefts[: TRIES - len(around)] + around
    return Offers(lefts, parts.middle, _starting(parts.head) if parts.head else ("",))


@cache
def _starting(head: bytes) -> tuple[str, ...]:
    """Characters whose UTF-8 begins with these bytes: those that differ in the low six-bit groups."""
    lead = head[0]
    size = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    free = 6 * (size - len(head))
    value = lead & (0xFF >> (size + 1))
    for byte in head[1:]:
        value = value << 6 | byte & 0x3F
    low, high = value << free, value + 1 << free
    return _some(range(max(low, SMALLEST[size]), min(high, END)))


@cache
def _ending(tail: bytes) -> tuple[str, ...]:
    """Characters whose UTF-8 ends with these bytes."""
    return _some(_with_low_groups(_value(tail), len(tail), SMALLEST[len(tail) + 1]))


@cache
def _around(tail: bytes) -> tuple[str, ...]:
    """Some characters whose UTF-8 has these bytes before its last byte."""
    if len(tail) == 3:
        return ()
    value = _value(tail) << 6 | 0x11
    return _some(_with_low_groups(value, len(tail) + 1, SMALLEST[len(tail) + 2]), TRIES // 4)


def _value(tail: bytes) -> int:
    """The number in the six low bits of each continuing byte."""
    value = 0
    for byte in tail:
        value = value << 6 | byte & 0x3F
    return value


def _with_low_groups(value: int, groups: int, smallest: int) -> range:
    """Code points from the smallest on whose low groups of six bits hold a value."""
    step = 1 << 6 * groups
    first = smallest // step * step + value
    return range(first if first >= smallest else first + step, END, step)


def _some(points: range, most: int = TRIES) -> tuple[str, ...]:
    """At most so many of these characters, the rarer in text first.

    Symbols and letters take turns, since pre-tokenizers treat them differently; each are spread evenly
    from the highest on. Private and unassigned code points are the last resort.
    """
    falling = np.arange(points.start, points.stop, points.step)[::-1]
    classes = _classes()[falling]
    symbols, letters, others = (_spread(falling[classes == which], most) for which in (SYMBOL, LETTER, OTHER))
    size = min(len(symbols), len(letters))
    turns = np.stack([symbols[:size], letters[:size]], axis=1).ravel()
    ordered = np.concatenate([turns, symbols[size:], letters[size:], others[: most // 4]])
    return tuple(map(chr, ordered[:most].tolist()))


def _spread(points: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    return points[:: max(len(points) // most, 1)][:most]


@cache
def _classes() -> NDArray[np.uint8]:
    """Class of each code point: a letter has a script of its own, a symbol shares several."""
    common = {"Zyyy": SYMBOL, "Zinh": SYMBOL, "Zzzz": OTHER}
    classes = np.array([common.get(code, LETTER) for code in Scripts.VALUES], np.uint8)
    table = np.repeat(classes, np.diff(Scripts.RANGES, append=END))
    table[0xD800:0xE000] = SURROGATE
    return table
