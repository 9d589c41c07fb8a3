"""Places of underlying morphs on the surface of a word, where only one alignment is best.

A canonical segmentation names morphs as a dictionary would: ``subside y ise ed`` for ``subsidised``. The
morphs, end to end, are aligned with the word at least cost: each letter that is changed, lost or added costs
one (Levenshtein 1966). Of equally cheap alignments those are better that leave the first letter of a morph
alone, since in the regular case the end of a morph gives way to the next one: ``subsid|is|ed``, not
``subsid|ise|d``. A cut has a place only where all alignments that are then best agree on it.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Costs = NDArray[np.int32]

EDIT, EDGE = 64, 1
"""Cost of an edit, and what is added where it changes a morph's first letter or adds one before it."""

FAR = 1 << 20
MARK, END = 0, -1
"""Symbols between morphs and after the last one."""

ROWS, CELLS = 4096, 1 << 21
"""Words aligned at a time, and letters by symbols of all of them, which bound memory."""

LONGEST = 512
"""Letters of a word and its morphs together, beyond which nothing is aligned."""

MOST_EDITS = 1 / 3
"""Edits allowed, as a share of the letters of the longer side; beyond it the two are different words."""

Status = Literal["concatenative", "aligned", "ambiguous", "not_concatenative"]


class Placed(NamedTuple):
    """What became of one segmentation.

    Attributes:
        status: ``concatenative`` without an edit but for case, ``aligned`` with some; ``ambiguous`` where a
            cut has several places; ``not_concatenative`` where too much differs, the longest morph vanishes,
            or one part alone is left, which would say that the word has no boundary.
        morphs: surface morphs that join to the word, or None where there are none.
        kept: indices of the morphs that have letters on the surface.
    """

    status: Status
    morphs: list[str] | None = None
    kept: tuple[int, ...] = ()


def place(words: Sequence[str], morphs: Sequence[Sequence[str]]) -> list[Placed]:
    """Surface morphs of many words.

    Args:
        words: words as written.
        morphs: underlying morphs of each, in order; none empty.
    """
    rows: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for row, (word, parts) in enumerate(zip(words, morphs, strict=True)):
        rows.setdefault((word, tuple(parts)), []).append(row)
    found: list[Placed] = [Placed("not_concatenative")] * len(words)
    for batch in _batches(list(rows)):
        placed = _place([word for word, _ in batch], [parts for _, parts in batch])
        for each, one in zip(batch, placed, strict=True):
            for row in rows[each]:
                found[row] = one
    return found


def _batches(items: list[tuple[str, tuple[str, ...]]]) -> Iterator[list[tuple[str, tuple[str, ...]]]]:
    """Words of about equal length together, each batch within the bound; those too long are left out."""
    sized = sorted((len(word) + sum(map(len, parts)) + len(parts), word, parts) for word, parts in items)
    start, end = 0, bisect_right(sized, LONGEST, key=itemgetter(0))
    while start < end:
        longest = sized[min(start + ROWS, end) - 1][0]
        stop = min(start + max(1, min(ROWS, 4 * CELLS // longest**2)), end)
        yield [(word, parts) for _, word, parts in sized[start:stop]]
        start = stop


def _place(words: list[str], morphs: Sequence[Sequence[str]]) -> list[Placed]:
    symbols, first = _symbols(morphs)
    letters = _padded([_folded(word) for word in words])
    sizes = np.array([len(word) for word in words])
    ahead, behind = _costs(symbols, first, letters, sizes)
    rows = np.arange(len(words))
    best = behind[0][rows, 0]
    limit = np.array(
        [max(len(word), sum(map(len, parts))) for word, parts in zip(words, morphs, strict=True)]
    )
    near = best // EDIT <= limit * MOST_EDITS
    cuts: list[list[int]] = [[] for _ in words]
    sure = np.ones(len(words), bool)
    for place_ in range(symbols.shape[1]):
        marked = np.flatnonzero(symbols[:, place_] == MARK)
        if not len(marked):
            continue
        good = ahead[place_][marked] + behind[place_ + 1][marked] == best[marked, None]
        sure[marked] &= good.sum(1) == 1
        for row, cut in zip(marked.tolist(), good.argmax(1).tolist(), strict=True):
            cuts[row].append(cut)
    return [
        _read(words[row], morphs[row], cuts[row], bool(near[row]), bool(sure[row]), int(best[row]))
        for row in range(len(words))
    ]


def _read(word: str, morphs: Sequence[str], cuts: list[int], near: bool, sure: bool, cost: int) -> Placed:
    if not near:
        return Placed("not_concatenative")
    if not sure:
        return Placed("ambiguous")
    ends = [0, *cuts, len(word)]
    parts = [word[low:high] for low, high in pairwise(ends)]
    kept = tuple(index for index, part in enumerate(parts) if part)
    longest = max(range(len(morphs)), key=lambda index: len(morphs[index]))
    if (len(kept) == 1 and (len(morphs) > 1 or cost)) or longest not in kept:
        return Placed("not_concatenative")
    return Placed("aligned" if cost else "concatenative", [parts[index] for index in kept], kept)


def _folded(text: str) -> str:
    """Lower case, letter by letter, where that keeps the number of letters."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text


def _padded(texts: list[str]) -> NDArray[np.int32]:
    """Code points (texts, longest), ``END`` after each text."""
    width = max(map(len, texts))
    table = np.full((len(texts), width), END, np.int32)
    for row, text in enumerate(texts):
        table[row, : len(text)] = np.frombuffer(text.encode("utf-32-le"), np.int32)
    return table


def _symbols(morphs: Sequence[Sequence[str]]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Letters of the morphs with ``MARK`` between them, and which of them begin a morph."""
    table = _padded([chr(MARK).join(map(_folded, parts)) for parts in morphs])
    first = np.zeros(table.shape, bool)
    first[:, 0] = True
    first[:, 1:] = table[:, :-1] == MARK
    return table, first


def _costs(
    symbols: NDArray[np.int32], first: NDArray[np.bool_], letters: NDArray[np.int32], sizes: NDArray[np.int64]
) -> tuple[list[Costs], list[Costs]]:
    """Least cost of reaching (symbol, letter) and of going on from there; letters may be added at both.

    Each is one array (words, letters + 1) a symbol, with one more after the last symbol.
    """
    count, width = symbols.shape
    # Letters may be added anywhere; before a morph's first letter that costs more. After the end marks no
    # symbol is left that they could follow.
    added = np.where(first, EDIT + EDGE, EDIT).astype(np.int32)
    before_end = np.zeros(symbols.shape, bool)
    before_end[:, 1:] = symbols[:, :-1] == END
    added[before_end] = FAR
    final = np.where(symbols[:, -1] == END, FAR, EDIT).astype(np.int32)
    added = np.concatenate([added, final[:, None]], axis=1)
    places = np.arange(letters.shape[1] + 1, dtype=np.int32)

    ahead = [_spread(np.where(places == 0, 0, FAR).astype(np.int32)[None].repeat(count, 0), added[:, 0])]
    for at in range(width):
        ahead.append(_spread(_step(ahead[at], symbols[:, at], first[:, at], letters), added[:, at + 1]))
    last = np.where(places == sizes[:, None], 0, FAR).astype(np.int32)
    behind = [_spread(last[:, ::-1], added[:, width])[:, ::-1]]
    for at in range(width - 1, -1, -1):
        came = _back(behind[-1], symbols[:, at], first[:, at], letters)
        behind.append(_spread(came[:, ::-1], added[:, at])[:, ::-1])
    return ahead, behind[::-1]


def _spread(costs: Costs, added: Costs) -> Costs:
    """Lets letters be added: a place may be reached from any before it, at a price a letter."""
    price = np.minimum(added, FAR >> 6)[:, None] * np.arange(costs.shape[1], dtype=np.int32)
    found: Costs = np.minimum(np.minimum.accumulate(costs - price, axis=1) + price, FAR)
    return found


def _prices(
    symbol: NDArray[np.int32], first: NDArray[np.bool_], letters: NDArray[np.int32]
) -> tuple[Costs, Costs]:
    """Price of losing a symbol (words, 1) and of putting it on each letter (words, letters)."""
    change = np.where(first, EDIT + EDGE, EDIT).astype(np.int32)[:, None]
    mark = (symbol <= MARK)[:, None]
    onto = np.where(letters == symbol[:, None], 0, change)
    return np.where(mark, 0, change), np.where(mark, FAR, onto).astype(np.int32)


def _step(
    costs: Costs, symbol: NDArray[np.int32], first: NDArray[np.bool_], letters: NDArray[np.int32]
) -> Costs:
    lost, onto = _prices(symbol, first, letters)
    found = costs + lost
    found[:, 1:] = np.minimum(found[:, 1:], costs[:, :-1] + onto)
    least: Costs = np.minimum(found, FAR)
    return least


def _back(
    costs: Costs, symbol: NDArray[np.int32], first: NDArray[np.bool_], letters: NDArray[np.int32]
) -> Costs:
    lost, onto = _prices(symbol, first, letters)
    found = costs + lost
    found[:, :-1] = np.minimum(found[:, :-1], costs[:, 1:] + onto)
    least: Costs = np.minimum(found, FAR)
    return least
