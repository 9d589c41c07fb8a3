"""How the tokens of a text fall on its characters, told from how often each entry occurs.

Where the pieces of a text's tokens join to the text, the token that holds a character's first byte but
not its last ends inside that character, and no other token does so for it. So the characters that are
split can be counted from the entries alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from workbench.characters import decoded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class Fragments(NamedTuple):
    """What each of some entries holds of characters; all arrays are (entries,).

    ``valid``: UTF-8 by itself. ``crossing``: bytes of several characters, of which one is incomplete.
    ``split``: ends inside a character that begins in it. ``leads``: characters of several bytes that begin
    in it. ``lone``: one byte that is no character.
    """

    valid: NDArray[np.bool_]
    crossing: NDArray[np.bool_]
    split: NDArray[np.bool_]
    leads: NDArray[np.int64]
    lone: NDArray[np.bool_]


def fragments(pieces: Sequence[bytes]) -> Fragments:
    """Describes entries by their bytes."""
    data = np.frombuffer(b"".join(pieces), np.uint8)
    sizes = np.fromiter(map(len, pieces), np.int64, len(pieces))
    ends = np.cumsum(sizes)
    inside, lead = (data & 0xC0) == 0x80, data >= 0xC0
    valid = decoded(pl.Series(pieces, dtype=pl.Binary)).is_not_null().to_numpy()
    leads, begins = _sums(lead, ends, sizes), sizes - _sums(inside, ends, sizes)
    first = np.zeros(len(pieces), bool)
    held = sizes > 0
    first[held] = inside[(ends - sizes)[held]]
    return Fragments(
        valid=valid,
        crossing=~valid & (begins + first > 1),
        split=_open(data, ends, sizes),
        leads=leads,
        lone=~valid & (sizes == 1),
    )


def _sums(chosen: NDArray[np.bool_], ends: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    total = np.concatenate([[0], np.cumsum(chosen)])
    found: NDArray[np.int64] = total[ends] - total[ends - sizes]
    return found


def _open(data: NDArray[np.uint8], ends: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the last character that begins in an entry goes on after it."""
    found = np.zeros(len(sizes), bool)
    waiting = np.ones(len(sizes), bool)  # only bytes inside a character were met so far
    for back, least in ((1, 0xC0), (2, 0xE0), (3, 0xF0)):
        reached = waiting & (sizes >= back)
        byte = np.zeros(len(sizes), np.uint8)
        byte[reached] = data[ends[reached] - back]
        found |= reached & (byte >= least)
        waiting = reached & ((byte & 0xC0) == 0x80)
    return found
