"""Texts that complete entries whose bytes break off, or begin, inside a character."""

from __future__ import annotations

import unicodedata
from codecs import utf_8_decode
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


def completions(pieces: Iterable[bytes]) -> list[list[str]]:
    """For each entry, texts that hold its bytes; an empty list where no valid text does."""
    return [_texts(parts) if parts else [] for parts in map(split, pieces)]


def _texts(parts: Parts) -> list[str]:
    lefts = _ending(parts.tail) if parts.tail else ("",)
    if parts.tail and not parts.middle and not parts.head:
        lefts += _around(parts.tail)
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
    """Characters whose UTF-8 ends with these bytes."""
    return _assigned(_with_low_groups(_value(tail), len(tail), SMALLEST[len(tail) + 1]))


@cache
def _around(tail: bytes) -> tuple[str, ...]:
    """Some characters whose UTF-8 has these bytes before its last byte."""
    if len(tail) == 3:
        return ()
    value = _value(tail) << 6 | 0x11
    return _assigned(_with_low_groups(value, len(tail) + 1, SMALLEST[len(tail) + 2]))[: TRIES // 4]


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
    return range(first if first >= smallest else first + step, LAST, step)


def _assigned(points: range) -> tuple[str, ...]:
    """At most ``TRIES`` assigned characters, spread evenly, the highest and so rarest first."""
    known: list[str] = []
    for step in (max(len(points) // (4 * TRIES), 1), 1):
        known = [chr(point) for point in points[::-step] if _is_assigned(point)]
        if len(known) >= TRIES or step == 1:
            break
    return tuple(known[:: max(len(known) // TRIES, 1)][:TRIES])


def _is_assigned(point: int) -> bool:
    """Whether a character has this code point, private use and what lies beyond the letters aside."""
    return point < LAST and unicodedata.category(chr(point)) not in ("Cn", "Co", "Cs")
