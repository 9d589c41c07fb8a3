"""Texts that complete entries whose bytes break off, or begin, inside a character."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

TRIES = 32
"""Completions offered for each entry, spread evenly over the assigned characters that fit."""

SMALLEST = {2: 0x80, 3: 0x800, 4: 0x10000}
"""Lowest code point that takes so many bytes."""

LAST = 0x323B0
"""End of the last block of letters; beyond it are tags, selectors and private use."""


class Parts(NamedTuple):
    """Bytes of an entry: the end of a character, whole characters, the start of a character."""

    tail: bytes
    middle: str
    head: bytes


def split(piece: bytes) -> Parts | None:
    """Splits bytes that are not UTF-8 into what a text around them must complete.

    None if no valid text holds them, as for the bytes C0, C1 and F5 to FF.
    """
    start = 0
    while start < min(len(piece), 3) and 0x80 <= piece[start] < 0xC0:
        start += 1
    for end in range(len(piece), max(len(piece) - 4, start - 1), -1):
        try:
            return Parts(piece[:start], piece[start:end].decode(), piece[end:])
        except UnicodeDecodeError:
            continue
    return None


def completions(pieces: Iterable[bytes]) -> list[list[str]]:
    """For each entry, texts that hold its bytes; an empty list where no valid text does."""
    return [_texts(parts) if parts else [] for parts in map(split, pieces)]


def _texts(parts: Parts) -> list[str]:
    lefts = _ending(parts.tail) if parts.tail else ("",)
    rights = _starting(parts.head) if parts.head else ("",)
    if not lefts or not rights:
        return []
    count = max(len(lefts), len(rights))
    return [lefts[i % len(lefts)] + parts.middle + rights[i % len(rights)] for i in range(count)]


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
    return _assigned(range(max(low, SMALLEST[size]), high))


@cache
def _ending(tail: bytes) -> tuple[str, ...]:
    """Characters whose UTF-8 ends with these bytes, or has them before its last byte."""
    value = 0
    for byte in tail:
        value = value << 6 | byte & 0x3F
    bits = 6 * len(tail)
    first = SMALLEST[len(tail) + 1] >> bits << bits | value
    ends = range(first, LAST, 1 << bits)
    if len(tail) == 3:
        return _assigned(ends)
    inside = SMALLEST[len(tail) + 2] >> bits + 6 << bits + 6 | value << 6
    return (*_assigned(ends), *_assigned(range(inside + 0x11, LAST, 1 << bits + 6))[: TRIES // 4])


def _assigned(points: range) -> tuple[str, ...]:
    """At most ``TRIES`` assigned characters, spread evenly, the highest and so rarest first."""
    step = max(len(points) // (4 * TRIES), 1)
    some = [chr(point) for point in points[::-step] if not 0xD800 <= point < 0xE000 and point < LAST]
    known = [character for character in some if unicodedata.category(character) not in ("Cn", "Co")]
    return tuple(known[:: max(len(known) // TRIES, 1)][:TRIES])
