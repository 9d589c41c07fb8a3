"""What a pass will keep, known before any model runs: tokens, words, windows of long texts, and batches.

All offsets are of bytes; a text's special tokens are no tokens here, they are put around each window when it
is run. A unit is a token, or the tokens of a whitespace word pooled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import polars as pl

from probing.spans import Tokens, token_units, tokens_of, word_units, words_of
from workbench.errors import SutureError
from workbench.trace import TEXTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from workbench.segmentation import Segmentation

    Ints = NDArray[np.int64]
    Select = pl.Expr | Callable[[pl.DataFrame], pl.Series | NDArray[np.bool_]]

Pooling = Literal["token", "mean", "first", "last"]
POOLINGS: tuple[Pooling, ...] = ("token", "mean", "first", "last")


class Text(NamedTuple):
    """A text with its language, where that is known."""

    content: str
    language: str | None = None


class Windows(NamedTuple):
    """Stretches of tokens that are run together; each field is (windows,).

    ``first`` is the number of its first token in the stretch of texts, ``size`` its tokens, ``number`` its
    place among the windows of its text.
    """

    first: Ints
    size: Ints
    number: Ints


class Batch(NamedTuple):
    """Windows that are run at once, and what is kept of them.

    Attributes:
        windows: numbers of the windows (rows of the batch).
        longest: tokens of the longest, special ones included.
        rows: units within the part, rising (units,).
        row: of each token that is kept, its row of the batch (tokens,).
        place: and its place among that window's tokens.
        unit: and its place in ``rows``.
    """

    windows: Ints
    longest: int
    rows: Ints
    row: Ints
    place: Ints
    unit: Ints


@dataclass(frozen=True, eq=False)
class Plan:
    """A part of a trace before it is run.

    Attributes:
        texts: the texts, numbered through the trace; columns as in ``workbench.trace.TEXTS``.
        units: one row a unit that is kept; columns as in ``workbench.trace.UNITS``.
        tokens: the tokens.
        windows: the windows, those without a unit that is kept included.
        batches: what to run, in order.
        selected: units that the selection left, before any draw.
        windowed: texts that are longer than a window.
        cut: words that are longer than a window, so that some of their tokens are not pooled.
    """

    texts: pl.DataFrame
    units: pl.DataFrame
    tokens: Tokens
    windows: Windows
    batches: tuple[Batch, ...]
    selected: int
    windowed: int
    cut: int


def windows_of(counts: Ints, room: int, step: int, *, causal: bool) -> tuple[Windows, Ints]:
    """Windows over texts of so many tokens, and each token's window (tokens,).

    A text that fits is one window. In a longer one, windows begin ``step`` tokens apart and the last ends
    with the text. A token's state is taken where it stands farthest from both edges, or for a causal model
    in the first window that has it, where most text comes before it.
    """
    first: list[int] = []
    size: list[int] = []
    number: list[int] = []
    home: list[Ints] = []
    begin = 0
    for count in counts.tolist():
        if count > room:
            lows = np.append(np.arange(0, count - room, step), count - room)
            highs = lows[:-1] + room
            turns = highs if causal else (lows[1:] + highs) // 2
            home.append(len(first) + np.searchsorted(turns, np.arange(count), side="right"))
            first += (begin + lows).tolist()
            size += [room] * len(lows)
            number += range(len(lows))
        elif count:
            home.append(np.full(count, len(first)))
            first.append(begin)
            size.append(count)
            number.append(0)
        begin += count
    found = Windows(np.array(first, np.int64), np.array(size, np.int64), np.array(number, np.int64))
    return found, np.concatenate([np.empty(0, np.int64), *home])


class Layout(NamedTuple):
    """How texts are laid out for a model.

    Attributes:
        pooling: what a unit is.
        room: tokens that a window has room for, without the special ones.
        step: tokens between the beginnings of two windows of a text.
        extra: special tokens around a window.
        budget: tokens of a batch, padding and special ones included.
        causal: a token sees only those before it.
    """

    pooling: Pooling
    room: int
    step: int
    extra: int
    budget: int
    causal: bool


def plan(
    texts: Sequence[Text],
    cuts: Sequence[Segmentation],
    pieces: Sequence[bytes],
    layout: Layout,
    first_text: int = 0,
    select: Select | None = None,
    drawn: Ints | None = None,
) -> Plan:
    """Lays a stretch of texts out.

    Args:
        texts: the texts.
        cuts: their segmentations.
        pieces: bytes of every id.
        layout: how.
        first_text: number of the first text in the trace.
        select: which units to keep: an expression over the columns of ``units``, or a function of that frame
            that gives a mask.
        drawn: numbers of those to keep among all that ``select`` leaves; None for all.
    """
    words = words_of([text.content for text in texts])
    tokens = tokens_of(cuts, words)
    counts = np.bincount(tokens.text, minlength=len(texts)) if len(texts) else np.empty(0, np.int64)
    windows, home = windows_of(counts, layout.room, layout.step, causal=layout.causal)
    unit, home, cut = _grouped(tokens, windows, home, layout)
    contents = [text.content for text in texts]
    if layout.pooling == "token":
        frame = token_units(tokens, words, pieces, len(texts))
    else:
        frame = word_units(tokens, words, contents)
    inside = np.flatnonzero(unit >= 0)
    heads = inside[np.unique(unit[inside], return_index=True)[1]]
    frame = frame.with_columns(
        pl.col("text") + pl.lit(first_text, pl.UInt32),
        pl.Series("window", windows.number[home[heads]], pl.UInt16),
    )
    keep = _chosen(frame, select)
    selected = int(keep.sum())
    if drawn is not None:
        numbers = np.flatnonzero(keep)
        keep = np.zeros(len(keep), bool)
        keep[numbers[drawn[(drawn >= 0) & (drawn < selected)]]] = True
    unit[inside] = np.where(keep, np.cumsum(keep) - 1, -1)[unit[inside]]
    table = pl.DataFrame(
        {
            "text": np.arange(first_text, first_text + len(texts)),
            "content": contents,
            "language": [text.language for text in texts],
        },
        schema=TEXTS,
    )
    batches = tuple(_batches(windows, home, unit, layout))
    windowed = int((counts > layout.room).sum())
    return Plan(table, frame.filter(pl.Series(keep)), tokens, windows, batches, selected, windowed, cut)


def _grouped(tokens: Tokens, windows: Windows, home: Ints, layout: Layout) -> tuple[Ints, Ints, int]:
    """Each token's unit or -1, its window, and how many words their window does not hold whole.

    All tokens of a word are taken from one window: that of its middle token, or for a causal model of its
    last. Either holds every word that is no longer than what two windows share.
    """
    if layout.pooling == "token":
        return np.arange(len(tokens.ids)), home, 0
    inside = np.flatnonzero(tokens.word >= 0)
    starts = np.flatnonzero(np.diff(tokens.word[inside], prepend=-1) > 0)
    ends = np.append(starts[1:], len(inside)) - 1
    anchor = ends if layout.causal else (starts + ends) // 2
    number = np.repeat(np.arange(len(starts)), ends - starts + 1)
    unit, home = np.full(len(tokens.ids), -1), home.copy()
    unit[inside] = number
    home[inside] = home[inside[anchor]][number]
    place = np.arange(len(home)) - windows.first[home]
    lost = (unit >= 0) & ((place < 0) | (place >= windows.size[home]))
    cut = len(np.unique(unit[lost]))
    unit[lost] = -1
    return _picked(unit, layout.pooling), home, cut


def _picked(unit: Ints, pooling: Pooling) -> Ints:
    """Leaves of each unit the tokens that are pooled: all of them, the first or the last."""
    if pooling == "mean":
        return unit
    inside = np.flatnonzero(unit >= 0)
    edge = (
        np.diff(unit[inside], prepend=-1) > 0
        if pooling == "first"
        else np.diff(unit[inside], append=unit.max(initial=-1) + 1) > 0
    )
    found = np.full(len(unit), -1)
    found[inside[edge]] = unit[inside[edge]]
    return found


def _chosen(frame: pl.DataFrame, select: Select | None) -> NDArray[np.bool_]:
    if select is None:
        return np.ones(frame.height, bool)
    made = frame.select(select).to_series() if isinstance(select, pl.Expr) else select(frame)
    mask = pl.Series(made)
    if mask.dtype != pl.Boolean or len(mask) != frame.height:
        raise SutureError(
            f"a selection must give one truth value a unit; it gave {len(mask)} of type {mask.dtype} for "
            f"{frame.height} units; make it a mask over the frame's rows"
        )
    return mask.fill_null(value=False).to_numpy()


def _batches(windows: Windows, home: Ints, unit: Ints, layout: Layout) -> Iterator[Batch]:
    """Windows that hold a unit, by length, as many at a time as the budget has room for."""
    kept = np.flatnonzero(unit >= 0)
    wanted = np.unique(home[kept])
    order = wanted[np.argsort(windows.size[wanted], kind="stable")]
    # Kept tokens by window: a stretch of `kept` sorted so is one window's.
    by = kept[np.argsort(home[kept], kind="stable")]
    edges = np.searchsorted(home[by], np.arange(len(windows.first) + 1))
    group: list[int] = []
    for window in order.tolist():
        size = int(windows.size[window]) + layout.extra
        if group and (len(group) + 1) * size > layout.budget:
            yield _batch(group, by, edges, windows, unit, layout.extra)
            group = []
        group.append(window)
    if group:
        yield _batch(group, by, edges, windows, unit, layout.extra)


def _batch(group: list[int], by: Ints, edges: Ints, windows: Windows, unit: Ints, extra: int) -> Batch:
    chosen = np.array(group, np.int64)
    sizes = edges[chosen + 1] - edges[chosen]
    row = np.repeat(np.arange(len(group)), sizes)
    token = np.concatenate([by[edges[window] : edges[window + 1]] for window in group])
    order = np.argsort(token, kind="stable")
    token, row = token[order], row[order]
    rows, place = np.unique(unit[token], return_inverse=True)
    longest = int(windows.size[chosen].max()) + extra
    return Batch(chosen, longest, rows, row, token - windows.first[chosen[row]], place)
