"""Masses of byte prefixes beside a named peer and the bare sums: CPU milliseconds a position, one thread.

`python -m tests.benchmarks.bridge [--runs N] [NAME…]` prints the figures; the page has them as a section.
Ours and the peer's take turns in processes of their own, on the same vocabulary and the same probabilities.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tests import vocabs
from tests.benchmarks import peer

if TYPE_CHECKING:
    from collections.abc import Callable

PEER = "genlm-bytes"
VERSION = "0.2.0"
TORCH = "torch==2.13.0"
VOCABULARIES = ("gpt2", "tekken", "o200k", "gemma3")
BATCH = 16
REPEATS = 15
PREFIXES = (b" t", b"th", b" The", b"\n")
"""Prefixes whose mass both sides must give alike, so that the same work is measured."""

BARS = {"bare": 1.5, "bare batch": 1.5, "peer": 25.0, "peer batch": 3.0, "root": 1.2}
"""At most 1.5 times the bare sums and 1.2 times one index_add; the peer at least 25 and 3 times ours."""

_PEER = """
import json, sys, time
import numpy as np, torch
from genlm.backend.tokenization import Token
from genlm.bytes import TokenByteTrie
torch.set_num_threads(1)
folder, batch, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
data, sizes = open(f"{folder}/bytes", "rb").read(), np.load(f"{folder}/sizes.npy")
ends = np.cumsum(sizes).tolist()
pieces = [data[end - size : end] for end, size in zip(ends, sizes.tolist())]
rows = torch.from_numpy(np.load(f"{folder}/q.npy")).float()
began = time.process_time()
trie = TokenByteTrie([Token(token_id=i, byte_string=piece) for i, piece in enumerate(pieces)], device="cpu")
build = time.process_time() - began
def timed(work, n):
    work()
    taken = []
    for _ in range(n):
        began = time.process_time(); work(); taken.append(time.process_time() - began)
    return 1000 * float(np.median(taken))
masses, found = trie.weight_sum(rows[0]), []
for prefix in json.loads(sys.argv[4]):
    node = trie.root
    for byte in bytes(prefix):
        node = trie.children[node].get(byte) if node is not None else None
    found.append(float(masses[node]) if node is not None else 0.0)
print(json.dumps({
    "build": build, "nodes": len(trie.children), "found": found,
    "single": timed(lambda: trie.weight_sum(rows[0]), repeats),
    "batch": timed(lambda: trie.batch_weight_sum(rows), max(3, repeats // 3)) / batch,
}))
"""


class Line(NamedTuple):
    """One vocabulary: milliseconds of each kind of work, ours and theirs, and what was found on the way."""

    name: str
    ids: int
    nodes: int
    build_s: float
    peer_build_s: float
    ms: dict[str, float]
    apart: float

    def ratios(self) -> dict[str, float]:
        """What the bars are about."""
        ms = self.ms
        return {
            "bare": ms["nodes"] / ms["bare"],
            "bare batch": ms["nodes batch"] / ms["bare batch"],
            "peer": ms["peer"] / ms["nodes"],
            "peer batch": ms["peer batch"] / ms["nodes batch"],
            "root": ms["root"] / ms["index_add"],
        }

    def holds(self) -> dict[str, bool]:
        """Whether each bar holds; a peer's ratio is a floor, the others are ceilings."""
        return {
            key: (value >= BARS[key]) if "peer" in key else (value <= BARS[key])
            for key, value in self.ratios().items()
        }


def lines(names: tuple[str, ...] = VOCABULARIES, runs: int = 3) -> list[Line]:
    """Every vocabulary; of some turns the median of each figure counts."""
    python = peer.environment(PEER, VERSION, (TORCH,)) / "python"
    return [_line(name, python, runs) for name in names]


def _line(name: str, python: Path, runs: int) -> Line:
    print(f"byte prefixes of {name}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="suture-bridge-") as folder:
        own, theirs = [], []
        for _ in range(runs):
            own.append(_run([sys.executable, "-m", "tests.benchmarks.bridge", "--own", name, folder]))
            prefixes = json.dumps([list(prefix) for prefix in PREFIXES])
            theirs.append(_run([str(python), "-c", _PEER, folder, str(BATCH), str(REPEATS), prefixes]))
    ms = {key: float(np.median([run["ms"][key] for run in own])) for key in own[0]["ms"]}
    ms["peer"] = float(np.median([run["single"] for run in theirs]))
    ms["peer batch"] = float(np.median([run["batch"] for run in theirs]))
    apart = float(np.abs(np.subtract(own[0]["found"], theirs[0]["found"])).max())
    builds = [float(np.median([run["build"] for run in side])) for side in (own, theirs)]
    return Line(name, own[0]["ids"], own[0]["nodes"], *builds, ms, apart)


def _run(command: list[str]) -> dict[str, Any]:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    offline = {"HF_HUB_OFFLINE": "1", "TIKTOKEN_CACHE_DIR": str(vocabs.tiktoken_dir())}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=vocabs.ROOT,
        env={**os.environ, **threads, **offline},
    )  # fmt: skip
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, command[:4], done.stdout, done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def timed(work: Callable[[], object], positions: int = 1) -> float:
    """Median CPU milliseconds of some calls, by position."""
    work()
    taken = []
    for _ in range(REPEATS):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return 1000 * float(np.median(taken)) / positions


def own(name: str, folder: Path) -> dict[str, Any]:
    """Ours, in this process; leaves the vocabulary and the probabilities in the folder for the peer."""
    import torch

    from probing.bridge.bytes import end_of_token
    from probing.bridge.mass import Masses
    from workbench.adapters import load
    from workbench.prefixes import Prefixes
    from workbench.prefixmass import along, next_byte, node_masses, prefix_mass

    torch.set_num_threads(1)
    inventory = load(vocabs.vocab(name)).inventory
    began = time.process_time()
    index = Prefixes.of(inventory)
    build = time.process_time() - began
    chance = np.random.default_rng(0)
    logits = chance.normal(0, 3, (BATCH, index.width))
    q = np.exp(logits - logits.max(1, keepdims=True))
    q /= q.sum(1, keepdims=True)
    silent = set(index.byteless.tolist())
    pieces = [b"" if token in silent else piece for token, piece in enumerate(inventory.pieces)]
    (folder / "bytes").write_bytes(b"".join(pieces))
    np.save(folder / "sizes.npy", np.array([len(piece) for piece in pieces]))
    np.save(folder / "q.npy", q)
    ids = chance.choice(index.order, BATCH)
    masses, tensor, tokens = Masses(index), torch.from_numpy(logits), torch.from_numpy(ids)
    one = q[0]
    ms = {
        "bare": timed(lambda: bare(index, one)),
        "nodes": timed(lambda: node_masses(one, index)),
        "tails": timed(lambda: node_masses(one, index, tails=True)),
        "bare batch": timed(lambda: bare(index, q), BATCH),
        "nodes batch": timed(lambda: node_masses(q, index), BATCH),
        "along": timed(lambda: along(q[:1], index, ids[:1])),
        "along batch": timed(lambda: along(q, index, ids), BATCH),
        "targets": timed(lambda: end_of_token(masses, tensor[:1], tokens[:1])),
        "targets batch": timed(lambda: end_of_token(masses, tensor, tokens), BATCH),
        "softmax": timed(lambda: tensor[:1].softmax(1)),
        "index_add": timed(index_add(index, one)),
        "root": timed(lambda: next_byte(one, index)),
        "root tensor": timed(lambda: masses.next_byte(tensor[:1], log=True)),
    }
    found = [float(prefix_mass(one, index, prefix)) for prefix in PREFIXES]
    return {"ms": ms, "ids": index.width, "nodes": len(index), "build": build, "found": found}


def bare(index: Any, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What any such index must do at the least: a gather, a cumulative sum in 64 bits, and two gathers."""
    sums = np.zeros((*q.shape[:-1], len(index.order) + 1))
    np.cumsum(np.take(q, index.order, -1), axis=-1, out=sums[..., 1:])
    return np.take(sums, index.high, -1), np.take(sums, index.low, -1)


def index_add(index: Any, q: np.ndarray) -> Callable[[], object]:
    """One scatter of a row by first byte."""
    import torch

    first = np.full(index.width, 256)
    nodes = np.arange(index.children[0], index.children[1])
    first[index.order] = np.repeat(index.byte[nodes], index.high[nodes] - index.low[nodes])
    where, row = torch.from_numpy(first), torch.from_numpy(q)
    return lambda: torch.zeros(257, dtype=torch.float64).index_add_(0, where, row)


WORKS = {
    "bare": "bare sums",
    "nodes": "all nodes",
    "peer": "peer",
    "targets": "targets",
    "along": "path",
}
"""Works that are measured for one position and in a batch, and their headings."""


def cost(found: list[Line]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table of milliseconds."""
    head = ["vocabulary", "ids", "nodes", "build s", "peer's", *WORKS.values()]
    head += [f"{WORKS[key]} /{BATCH}" for key in WORKS] + ["softmax", "apart"]
    rows = [
        [line.name, f"{line.ids:,}", f"{line.nodes:,}", f"{line.build_s:.2f}", f"{line.peer_build_s:.2f}",
         *(f"{line.ms[key]:.2f}" for key in WORKS), *(f"{line.ms[f'{key} batch']:.2f}" for key in WORKS),
         f"{line.ms['softmax']:.2f}", f"{line.apart:.0e}"]
        for line in found
    ]  # fmt: skip
    return head, rows


def bars(found: list[Line]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table of ratios; `!` marks a bar that does not hold."""
    words = {
        "bare": "all nodes ÷ bare sums", "bare batch": f"the same /{BATCH}", "peer": "peer ÷ all nodes",
        "peer batch": f"the same, /{BATCH}", "root": "root ÷ index_add",
    }  # fmt: skip
    head = ["ratio", "bar", *(line.name for line in found)]
    rows = []
    for key, word in words.items():
        bar = f"{'≥' if 'peer' in key else '≤'} {BARS[key]:g}"
        cells = [f"{line.ratios()[key]:.2f}{'' if line.holds()[key] else ' !'}" for line in found]
        rows.append([word, bar, *cells])
    return head, rows


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", default=VOCABULARIES)
    parser.add_argument("--runs", type=int, default=3, help="turns of each side (default: 3)")
    parser.add_argument("--own", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.own:
        print(json.dumps(own(options.own[0], Path(options.own[1]))))
        return 0
    for line in lines(tuple(options.names), options.runs):
        print(f"{line.name}: {line.ids:,} ids, {line.nodes:,} nodes, masses at most {line.apart:.1e} apart")
        print(f"  build {line.build_s:.2f} s, peer {line.peer_build_s:.2f} s")
        print("  " + ", ".join(f"{key} {value:.3f}" for key, value in line.ms.items()))
        held = line.holds()
        print("  " + ", ".join(f"{k} {v:.2f}{'' if held[k] else ' !'}" for k, v in line.ratios().items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
