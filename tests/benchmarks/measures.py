"""Measures of states beside what they are usually computed by: every pair, a sort, a loop, a library."""

from __future__ import annotations

import sys
import time
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from probing import bias, geometry, neighbours, probes, ranks, similarity
from probing.products import Directions

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    States = NDArray[np.float32]

PAIRS, POOL, ENTRIES, ASKED, WIDTH = 5_000, 2_000, 50_000, 500, 768
SAMPLED = 1_000
HEAD = ["measure", "beside", "CPU ms", "its CPU ms", "its / ours", "apart"]


class Work(NamedTuple):
    """Two ways to one figure.

    Attributes:
        measure: what is computed, of what.
        beside: the other way.
        ours: computes it.
        theirs: computes it the other way.
        apart: how far the two results lie apart, in words.
    """

    measure: str
    beside: str
    ours: Callable[[], object]
    theirs: Callable[[], object]
    apart: Callable[[object, object], str]


def states(rows: int, width: int = WIDTH, seed: int = 0, offset: float = 0.3) -> States:
    """Random rows that share a direction, as layers do."""
    return (np.random.default_rng(seed).normal(size=(rows, width)) + offset).astype(np.float32)


def rows(runs: int) -> list[list[str]]:
    """Rows of the table; of the runs, which take turns, the least CPU time of each side counts."""
    with threadpool_limits(1):
        return [_row(work, runs) for work in works()]


def _row(work: Work, runs: int) -> list[str]:
    print(work.measure, file=sys.stderr)
    ours, theirs = [], []
    found: list[object] = [None, None]
    for _ in range(runs):
        for place, (side, times) in enumerate(((work.ours, ours), (work.theirs, theirs))):
            start = time.process_time()
            found[place] = side()
            times.append(time.process_time() - start)
    one, two = min(ours), min(theirs)
    return [
        work.measure,
        work.beside,
        f"{one * 1e3:,.1f}",
        f"{two * 1e3:,.1f}",
        f"{two / one:,.1f}",
        work.apart(*found),
    ]


def works() -> list[Work]:
    """All comparisons."""
    return [*_pairs(), *_nearest(), *_layers(), *_tests()]


def _pairs() -> list[Work]:
    layer = states(PAIRS)
    chance = np.random.default_rng(1)

    def every() -> float:
        unit = layer.astype(np.float64)
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        total = sum(float((unit[at : at + 500] @ unit.T).sum()) for at in range(0, PAIRS, 500))
        return (total - PAIRS) / (PAIRS * (PAIRS - 1))

    def drawn() -> float:
        one, two = chance.integers(0, PAIRS, (2, SAMPLED))
        left, right = layer[one].astype(np.float64), layer[two].astype(np.float64)
        length = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        return float((np.einsum("ij,ij->i", left, right) / length).mean())

    def spread(ours: object, _: object) -> str:
        draws = np.array([drawn() for _ in range(200)])
        return f"{np.sqrt(((draws - ours) ** 2).mean()):.1e} (rms)"

    what = f"anisotropy, {PAIRS:,} × {WIDTH}"
    return [
        Work(what, "every pair, by blocked products", lambda: similarity.anisotropy(layer), every, _gap),
        Work(what, f"{SAMPLED:,} pairs drawn", lambda: similarity.anisotropy(layer), drawn, spread),
    ]


def _nearest() -> list[Work]:
    from sklearn.neighbors import NearestNeighbors

    asked, entries = states(ASKED, seed=2), states(ENTRIES, seed=3)
    ids = np.random.default_rng(4).integers(0, ENTRIES, ASKED)
    ready = Directions.of(entries)
    brute = NearestNeighbors(n_neighbors=10, metric="cosine", algorithm="brute").fit(entries)

    wide = [each.astype(float) for each in (asked, entries)]
    wide = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in wide]

    def counted() -> NDArray[np.float64]:
        found = np.empty(ASKED)
        for at in range(0, ASKED, 100):
            scores = wide[0][at : at + 100] @ wide[1].T
            own = scores[np.arange(len(scores)), ids[at : at + 100], None]
            found[at : at + 100] = 1 + (scores > own).sum(1)
        return found

    def differ(ours: object, theirs: object) -> str:
        return f"{int((np.asarray(ours) != np.asarray(theirs)).sum())} of {np.asarray(ours).size:,}"

    return [
        Work(
            f"10 nearest of {ENTRIES:,} × {WIDTH}, {ASKED} states",
            "scikit-learn's brute force",
            lambda: neighbours.nearest(asked, ready, 10).ids,
            lambda: brute.kneighbors(asked, return_distance=False),
            differ,
        ),
        Work(
            f"own rank among {ENTRIES:,} × {WIDTH}, {ASKED} states",
            "all cosines in 64 bits",
            lambda: ranks.identity_ranks(asked, ready, ids).rank.data,
            counted,
            differ,
        ),
    ]


def _layers() -> list[Work]:
    one, two = states(POOL, seed=5), states(POOL, seed=6)
    two[:, :100] += one[:, :100]

    def printed(first: States, second: States) -> float:
        n = len(first)
        grams = [each.astype(np.float64) @ each.astype(np.float64).T for each in (first, second)]
        for gram in grams:
            np.fill_diagonal(gram, 0)
        k, m = grams
        means = k.sum() * m.sum() / ((n - 1) * (n - 2))
        return float(((k * m).sum() + means - 2 / (n - 2) * (k.sum(0) @ m.sum(0))) / (n * (n - 3)))

    def by_grams() -> float:
        return printed(one, two) / np.sqrt(printed(one, one) * printed(two, two))

    return [
        Work(
            f"debiased CKA, {POOL:,} × {WIDTH}",
            "HSIC₁ as printed, from Gram matrices",
            lambda: geometry.debiased_cka(one, two),
            by_grams,
            _gap,
        )
    ]


def _tests() -> list[Work]:
    from sklearn.linear_model import RidgeClassifier
    from sklearn.preprocessing import StandardScaler

    sets = [states(8, seed=seed) for seed in range(7, 11)]
    groups = np.arange(8_000) // 10
    types, labels = np.random.default_rng(11).integers(0, (900, 16), (8_000, 2)).T
    layer = states(8_000, seed=12) + 0.4 * states(16, seed=13)[labels]
    train, test = probes.split(groups)
    control = probes.control_labels(types, labels)

    def one_by_one() -> float:
        unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in sets]
        s = np.concatenate(unit[:2]) @ (unit[2].mean(0) - unit[3].mean(0))
        total, observed, most = s.sum(), s[:8].sum(), 0
        for chosen in combinations(range(16), 8):
            first = sum(s[list(chosen)])
            most += 2 * first - total >= 2 * observed - total - 1e-9
        return most / 12_870

    def library() -> float:
        wide = StandardScaler().fit(layer[train])
        one, two = wide.transform(layer[train]), wide.transform(layer[test])
        found = [RidgeClassifier().fit(one, each[train]).predict(two) for each in (labels, control)]
        return float((found[0] == labels[test]).mean() - (found[1] == control[test]).mean())

    return [
        Work(
            "exact p of a WEAT of 8 and 8 words",
            "a Python loop over 12,870 partitions",
            lambda: bias.weat((sets[0], sets[1]), (sets[2], sets[3])).p,
            one_by_one,
            _gap,
        ),
        Work(
            f"ridge probe and control, 8,000 × {WIDTH}, 1,000 resamples",
            "scikit-learn's RidgeClassifier twice, no interval",
            lambda: probes.probe(layer, labels, types, groups).selectivity.value,
            library,
            _gap,
        ),
    ]


def _gap(ours: object, theirs: object) -> str:
    return f"{abs(float(ours) - float(theirs)):.1e}"  # type: ignore[arg-type]
