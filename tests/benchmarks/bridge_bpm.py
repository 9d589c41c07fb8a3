"""Byte-prefix marginalization beside one index_add: CPU milliseconds a position, one thread.

`python -m tests.benchmarks.bridge_bpm [TEACHER-STUDENT…]` prints the figures; the page has them as a section.
The bare side is one torch ``index_add`` of the teacher's rows into the student's cells, by the same map, into
a fresh array: what any such method must do at least.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np
import torch

from probing.bridge.bpm import Bridge, Mode
from probing.bridge.chunks import pair, pair_texts
from probing.bridge.rows import Rows
from tests.benchmarks.texts import sentences
from tests.vocabs import vocab
from workbench.adapters import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from probing.bridge.chunks import Pairing

PAIRS = ("o200k-cl100k", "cl100k-gpt2", "gpt2-cl100k", "tekken-gpt2", "gemma3-llama3")
BATCH = 32
REPEATS = 9
POSITIONS = 256
BAR = 1.5
"""A batch of boundaries, and a text's positions in the published mode, may take this times one index_add."""

MEGABYTE = 1_000_000


class Line(NamedTuple):
    """Figures of one pair, in CPU milliseconds a position where nothing else is said.

    Attributes:
        pair: teacher-student.
        map_s: CPU seconds for the map, which vocabularies extend it, and both tries.
        census_s: CPU seconds for laying two tokenisations of 1 MB over each other, and the census.
        row: one row in float64 NumPy.
        row_bare: one index_add of that row in torch, 64 bits.
        batch: boundaries, a batch of them.
        batch_bare: its index_add.
        fast: positions of a text without corrections.
        scatter: with those of the realised path.
        walk: with the walk.
        text_bare: one index_add of every position's governing row.
        pending: share of the text's positions that start inside a teacher token.
        spanning: share that crosses a boundary.
    """

    pair: str
    map_s: float
    census_s: float
    row: float
    row_bare: float
    batch: float
    batch_bare: float
    fast: float
    scatter: float
    walk: float
    text_bare: float
    pending: float
    spanning: float

    @property
    def holds(self) -> bool:
        """Whether the bar holds for a batch and for a text."""
        return self.batch <= BAR * self.batch_bare and self.scatter <= BAR * self.text_bare


def turns(*works: Callable[[], object], repeats: int = REPEATS) -> list[float]:
    """Median CPU milliseconds of each of several works that take turns, after one turn unmeasured."""
    taken: list[list[float]] = [[] for _ in works]
    for turn in range(repeats + 1):
        for work, held in zip(works, taken, strict=True):
            began = time.process_time()
            work()
            if turn:
                held.append(1000 * (time.process_time() - began))
    return [float(np.median(held)) for held in taken]


def rows_of(width: int, count: int, dtype: torch.dtype = torch.float32) -> Rows:
    """Random distributions."""
    generator = torch.Generator().manual_seed(7)
    values = torch.rand(count, width, generator=generator, dtype=dtype)
    return Rows.from_probabilities(values / values.sum(dim=1, keepdim=True), width)


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of one turn."""
    began = time.process_time()
    work()
    return time.process_time() - began


def of_text(bridge: Bridge, pairing: Pairing) -> list[float]:
    """A position's cost in each mode and of the bare index_add."""
    at = np.arange(min(POSITIONS, len(pairing)))
    rows = rows_of(bridge.size[0], len(pairing.teacher.ids))
    source = rows.values[torch.from_numpy(pairing.governing[at])]
    cells = torch.from_numpy(bridge.cells)
    modes = [lambda mode=mode: bridge.targets(rows, pairing, at, mode=mode) for mode in get_args(Mode)]
    empty = len(at), bridge.size[1] + 2
    found = turns(*modes, lambda: torch.zeros(*empty).index_add_(1, cells, source), repeats=3)
    return [each / len(at) for each in found]


def line(names: str) -> Line:
    """Everything measured for one pair.

    Raises:
        LookupError: a vocabulary is not in the cache.
    """
    torch.set_num_threads(1)
    teacher, student = (load(str(vocab(name)), name) for name in names.split("-"))
    for each in (teacher.inventory, student.inventory):
        _ = each.pieces, each.lengths, each.kinds  # read once; not part of the map
    bridge = Bridge(teacher.inventory, student.inventory, cache=False)
    map_s = seconds(lambda: (bridge.cells, bridge.spannable))
    texts = sentences()
    long = texts * -(-MEGABYTE // sum(len(text.encode()) for text in texts))
    encoded = [each.encode_batch(long) for each in (teacher, student)]
    census_s = seconds(lambda: _laid(bridge, encoded))
    one, many = rows_of(bridge.size[0], 1, torch.float64), rows_of(bridge.size[0], BATCH)
    cells, size = torch.from_numpy(bridge.cells), bridge.size[1] + 2
    values = one.values[0].numpy()
    row, row_bare, batch, batch_bare = turns(
        lambda: bridge.row(values),
        lambda: torch.zeros(size, dtype=torch.float64).index_add_(0, cells, one.values[0]),
        lambda: bridge.boundary(many),
        lambda: torch.zeros(BATCH, size).index_add_(1, cells, many.values),
    )
    pairing = pair_texts(teacher, student, ["".join(texts[:: len(texts) // 16])])
    at = slice(0, POSITIONS)
    return Line(
        names, map_s, census_s, row, row_bare, batch / BATCH, batch_bare / BATCH, *of_text(bridge, pairing),
        float((pairing.pending[at] > 0).mean()), float(pairing.spanning[at].mean()),
    )  # fmt: skip


def _laid(bridge: Bridge, encoded: list) -> None:
    pair(bridge.teacher, bridge.student, *encoded).census()


HEAD = [
    "teacher-student", "map, s", "1 MB census, s", "row", "bare", "batch", "bare", "ratio", "text", "+ path",
    "+ walk", "bare", "ratio", "pending", "crossing", "holds",
]  # fmt: skip


def cells_of(found: Line) -> list[str]:
    """A line for the page."""
    return [
        found.pair,
        *(f"{value:.2f}" for value in (found.map_s, found.census_s, found.row, found.row_bare)),
        *(f"{value:.2f}" for value in (found.batch, found.batch_bare, found.batch / found.batch_bare)),
        *(f"{value:.2f}" for value in (found.fast, found.scatter, found.walk, found.text_bare)),
        f"{found.scatter / found.text_bare:.2f}",
        *(f"{100 * value:.0f} %" for value in (found.pending, found.spanning)),
        "yes" if found.holds else "no",
    ]


def main(pairs: list[str]) -> int:
    """Prints the figures of some pairs."""
    print(" | ".join(HEAD))
    for names in pairs or PAIRS:
        print(" | ".join(cells_of(line(names))), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
