"""Tokens of segmentations, as rows and side by side."""

from __future__ import annotations

from functools import reduce
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.cells import cell_len, chop_cells
from rich.text import Text

from workbench.alignment import Alignment
from workbench.commands.printing import table
from workbench.display import faithful

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from rich.table import Table

    from workbench.segmentation import Segmentation, Segmenter, Unit

BAR = "│"
SHOWN = 200
"""Tokens, stretches and differences that are shown to people; ``--json`` has all."""

LABEL = 20
"""Cells that a segmenter's name may take beside its pieces."""


def tokens(
    segmenter: Segmenter, cut: Segmentation, unit: Unit, limit: int | None = None
) -> list[dict[str, Any]]:
    """The tokens of a segmentation, or the first ``limit`` of them, ready for JSON.

    ``bytes`` is the text under the token; ``entry`` its entry's own bytes, which differ where a
    normaliser or a space put before the text had a hand in it.
    """
    inventory = getattr(segmenter, "inventory", None)
    ids = [None] * len(cut) if cut.ids is None else cut.ids.tolist()
    rows = zip(ids, cut.pieces, cut.spans(unit).tolist(), _notes(cut), strict=True)
    found = []
    for token_id, piece, (start, end), note in islice(rows, limit):
        entry = None if inventory is None or token_id is None else inventory.pieces[token_id]
        found.append(
            {
                "id": token_id,
                "start": start,
                "end": end,
                "bytes": piece.hex(),
                "shown": faithful(piece),
                "entry": None if entry is None else entry.hex(),
                "note": note,
            }
        )
    return found


def _notes(cut: Segmentation) -> list[str | None]:
    """What is particular about each token, if anything."""
    unknown, synthetic = set(cut.unknown), set(cut.synthetic)
    raw = np.frombuffer(cut.text + b"\0", np.uint8)
    inside = (raw & 0xC0) == 0x80
    parts = (inside[cut.starts] | inside[cut.ends]).tolist()
    empty = (cut.starts == cut.ends).tolist()
    notes: list[str | None] = []
    for index in range(len(cut)):
        told = ["unknown"] * (index in unknown) + ["space not in the text"] * (index in synthetic)
        told += ["stands on no text"] * (empty[index] and not told)
        told += ["part of a character"] * parts[index]
        notes.append(", ".join(told) or None)
    return notes


def token_table(segmenter: Segmenter, cut: Segmentation, unit: Unit) -> Table:
    """The first ``SHOWN`` tokens of a segmentation as a table for the terminal."""
    rows = []
    for index, token in enumerate(tokens(segmenter, cut, unit, SHOWN)):
        differs = token["entry"] is not None and token["entry"] != token["bytes"]
        told = [f"entry {faithful(bytes.fromhex(token['entry']))}"] if differs else []
        note = Text(", ".join([*told, *filter(None, [token["note"]])]))
        number = "" if token["id"] is None else token["id"]
        rows.append([index, number, token["start"], token["end"], Text(token["shown"]), note])
    return table(None, ["##", "#id", "#start", "#end", "piece", "note"], rows)


def cell(cut: Segmentation, held: Sequence[int], start: int, end: int) -> str:
    """The pieces of these tokens between two offsets, with bars between; ``‹…›`` is under no token."""
    parts: list[str] = []
    here = start
    for index in held:
        low, high = int(cut.starts[index]), int(cut.ends[index])
        if low > here:
            parts.append(f"‹{faithful(cut.text[here:low])}›")
        parts.append(faithful(cut.text[low:high]))
        here = max(here, high)
    if here < end:
        parts.append(f"‹{faithful(cut.text[here:end])}›")
    return BAR.join(parts)


def side_by_side(names: Sequence[str], cuts: Sequence[Segmentation], width: int) -> list[str]:
    """The pieces of several segmentations of one text under one another, cuts of all in one column.

    Args:
        names: what each is called.
        cuts: the segmentations.
        width: cells of a line; what is longer goes on in another block.

    Returns:
        Lines, with an empty one between blocks, of the first ``SHOWN`` stretches between cuts of all.
    """
    labels = [name if cell_len(name) <= LABEL else name[: LABEL - 1] + "…" for name in names]
    margin = max(map(cell_len, labels))
    lines: list[str] = []
    for block in _blocks(islice(_columns(cuts), SHOWN), max(width - margin - 2, 8)):
        lines += [""] * bool(lines)
        for row, label in enumerate(labels):
            body = "".join(_padded(column[row], max(map(cell_len, column))) + BAR for column in block)
            lines.append(f"{_padded(label, margin)} {BAR}{body}".rstrip())
    return lines


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _columns(cuts: Sequence[Segmentation]) -> Iterator[list[str]]:
    """For each stretch between cuts of all, its cell in every row."""
    pairs = [Alignment(cuts[0], other) for other in cuts]
    shared: NDArray[np.int64] = reduce(np.intersect1d, [pair.shared for pair in pairs])
    held = [np.flatnonzero(cut.starts < cut.ends) for cut in cuts]
    places = [np.searchsorted(cut.starts[index], shared) for cut, index in zip(cuts, held, strict=True)]
    for number, (low, high) in enumerate(pairwise(shared.tolist())):
        yield [
            cell(cut, index[place[number] : place[number + 1]].tolist(), low, high)
            for cut, index, place in zip(cuts, held, places, strict=True)
        ]


def _blocks(columns: Iterator[list[str]], width: int) -> Iterator[list[list[str]]]:
    """Columns that fit into a line together; one that is wider than a line is chopped."""
    block: list[list[str]] = []
    used = 0
    for column in columns:
        size = max(map(cell_len, column)) + 1
        if block and used + size > width:
            yield block
            block, used = [], 0
        if size > width:
            rows = [chop_cells(text, width - 1) for text in column]
            longest = max(map(len, rows))
            for index in range(longest):
                yield [[row[index] if index < len(row) else "" for row in rows]]
            continue
        block.append(column)
        used += size
    if block:
        yield block
