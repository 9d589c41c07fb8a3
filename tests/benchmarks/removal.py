"""Entries taken out of a published vocabulary, beside rebuilding all of it and encoding all text twice."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tests import vocabs
from tests.benchmarks import peer
from tests.benchmarks.texts import texts
from workbench.adapters import load
from workbench.bpe import merges_from_ranks
from workbench.corpora import open_corpus
from workbench.removal import recost, simulate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from workbench.corpora import Corpus
    from workbench.removal import Removal
    from workbench.tokenizer import Tokenizer

NAME, NUMBER, MEGABYTES = "o200k", 1000, 10


class Line(NamedTuple):
    """One work: CPU seconds of ours and of the plain way, and what both found, which must be the same."""

    work: str
    ours: float
    plain: float
    found: int

    @property
    def ratio(self) -> float:
        """How many times our CPU seconds the plain way takes."""
        return self.plain / self.ours


def lines(runs: int) -> list[Line]:
    """Both works, ours and the plain way in turns in one process; of each the least CPU counts.

    Raises:
        RuntimeError: the two do not find the same.
    """
    tokenizer = load(vocabs.vocab(NAME))
    corpus = open_corpus(str(_written(peer.peers_dir() / "removal.txt")))
    pool = np.flatnonzero((tokenizer.inventory.lengths > 1) & (tokenizer.inventory.kinds == 0))
    ids = np.sort(np.random.default_rng(0).choice(pool, NUMBER, replace=False)).tolist()
    removal = simulate(tokenizer, ids)
    whole = f"what is lost of {len(tokenizer.inventory):,} entries"
    text = f"what {corpus.size / 1e6:.1f} MB of text cost before and after"
    return [
        _turns(whole, lambda: _lost(tokenizer, ids), lambda: _rebuilt(tokenizer, ids), runs),
        _turns(text, lambda: _recost(removal, corpus), lambda: _encoded(removal, corpus), runs),
    ]


def _written(path: Path) -> Path:
    """About ten megabytes of different lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    size, seed = 0, 0
    with path.open("w", encoding="utf-8", newline="\n") as target:
        while size < MEGABYTES * 1_000_000:
            for text in texts(20_000, seed):
                line = " ".join(text.split()) + "\n"
                target.write(line)
                size += len(line.encode())
            seed += 1
    return path


def _lost(tokenizer: Tokenizer, ids: list[int]) -> list[int]:
    """What our simulation says that merges no longer build."""
    found: list[int] = simulate(tokenizer, ids).lost.tolist()
    return found


def _rebuilt(tokenizer: Tokenizer, ids: list[int]) -> list[int]:
    """Every entry built from its bytes, with the table as it is and with the smaller one."""
    frame = tokenizer.inventory.frame.filter(tokenizer.inventory.frame["kind"] == "piece")
    ranks = dict(frame.select("bytes", "id").iter_rows())
    kept = {piece: rank for piece, rank in ranks.items() if rank not in set(ids)}
    before, after = merges_from_ranks(ranks).unbuilt, merges_from_ranks(kept).unbuilt
    return np.setdiff1d(after, before).tolist()


def _recost(removal: Removal, corpus: Corpus) -> list[int]:
    found = recost(removal, corpus)
    return [int(found[name].sum()) for name in ("tokens_before", "tokens_after", "changed")]


def _encoded(removal: Removal, corpus: Corpus) -> list[int]:
    """All of the text by both tokenizers."""
    before = after = changed = 0
    for batch in corpus.batches():
        old, new = (each.encode_batch(batch.texts) for each in (removal.before, removal.after))
        before, after = before + len(old.ids), after + len(new.ids)
        rows = range(len(batch.texts))
        changed += sum(not np.array_equal(old.row(index), new.row(index)) for index in rows)
    return [before, after, changed]


def _turns(work: str, ours: Callable[[], list[int]], plain: Callable[[], list[int]], runs: int) -> Line:
    print(work, file=sys.stderr)
    least = [float("inf"), float("inf")]
    found: list[list[int]] = [[], []]
    for _ in range(runs):
        for side, does in enumerate((ours, plain)):
            began = time.process_time()
            found[side] = does()
            least[side] = min(least[side], time.process_time() - began)
    if found[0] != found[1]:
        raise RuntimeError(f"both ways must find the same; they differ on {work}")
    return Line(work, least[0], least[1], found[0][-1] if "cost" in work else len(found[0]))
