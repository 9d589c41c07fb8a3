"""Our vocabulary audits and corpus figures beside the peer's, in the same run, from process start."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests import vocabs
from tests.benchmarks import peer
from tests.benchmarks.measure import Measured, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LINT = """
import sys
from workbench.adapters import load
from vocab_audits.census import census
from vocab_audits.reachability import reachability
tokenizer = load(sys.argv[1])
print(census(tokenizer.inventory).table().height + reachability(tokenizer).table().height)
"""

TIER1 = """
import sys
from workbench.adapters import load
from workbench.corpora import open_corpus
from vocab_audits.compression import compression
print(compression(load(sys.argv[1]), open_corpus(sys.argv[2])).table().height)
"""


class Line(NamedTuple):
    """One comparison: ours and theirs, with the bars on the ratio and on our memory."""

    work: str
    ours: Measured
    theirs: Measured
    ratio_bar: float
    memory_bar: float

    @property
    def ratio(self) -> float:
        """How many times our CPU seconds the peer takes."""
        return self.theirs.cpu_s / self.ours.cpu_s

    @property
    def holds(self) -> bool:
        """Whether both bars hold."""
        return self.ratio >= self.ratio_bar and self.ours.rss_mb <= self.memory_bar


def own(script: str, *words: str) -> Measured:
    """One run of ours in a process of its own."""
    environment = {"TIKTOKEN_CACHE_DIR": str(vocabs.tiktoken_dir()), "HF_HUB_OFFLINE": "1"}
    return measure([sys.executable, "-c", script, *words], stdout=Path(os.devnull), env=environment)


def lines(data: Path, runs: int) -> list[Line]:
    """Every comparison; ours and theirs take turns, and the least CPU and the highest peak of each count.

    Args:
        data: folder with the parallel corpus.
        runs: turns.
    """
    parallel = str(data / "parallel" / "*.txt")
    o200k = "tiktoken:o200k_base"
    plan: list[tuple[str, Callable[[], Measured], Callable[[], Measured], float, float]] = [
        (
            "census and reachability of o200k, from its ranks",
            lambda: own(LINT, o200k),
            peer.peer_lint,
            2.5,
            250,
        ),
        (
            "the same from the tokenizer.json that the peer reads",
            lambda: own(LINT, str(peer.o200k_json())),
            peer.peer_lint,
            1,
            float("inf"),
        ),
    ]
    if (data / "parallel").is_dir():
        plan += [
            (
                "figures on 1.8 MB in five languages, against the peer's command (which also lints)",
                lambda: own(TIER1, o200k, parallel),
                lambda: peer.peer_tier1(data=data),
                3,
                300,
            ),
            (
                "the same against the peer's library, without its lint",
                lambda: own(TIER1, o200k, parallel),
                lambda: peer.peer_tier1_alone(data=data),
                3,
                300,
            ),
        ]
    return [_turns(work, ours, theirs, runs, *bars) for work, ours, theirs, *bars in plan]


def _turns(
    work: str, ours: Callable[[], Measured], theirs: Callable[[], Measured], runs: int, *bars: float
) -> Line:
    print(work, file=sys.stderr)
    pairs = [(ours(), theirs()) for _ in range(runs)]
    best = [_best(side) for side in zip(*pairs, strict=True)]
    return Line(work, best[0], best[1], bars[0], bars[1])


def _best(runs: Sequence[Measured]) -> Measured:
    """The run with the least CPU, with the highest peak of memory of all of them."""
    least = min(runs, key=lambda run: run.cpu_s)
    return least._replace(rss_mb=max(run.rss_mb for run in runs))
