"""What encoding and counting cost beside the bare encoder: CPU seconds for the same lines, and ratios.

`python -m tests.benchmarks.encode [--corpus FILE] [--megabytes N] [--runs N]` prints a row a case. The bare
encoder and `encode_batch` get lines that lie in memory; `count` also reads the file and adds up tokens and
sizes. The target is a ratio of at most 1.15 for encoding; `!` marks one above it.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import tiktoken
import tokenizers

from tests import vocabs
from workbench.adapters import load
from workbench.corpora import open_corpus
from workbench.counting import count

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.tokenizer import Tokenizer

TARGET = 1.15


class Case(NamedTuple):
    """One vocabulary: our tokenizer, and the upstream call that says how many tokens some lines have."""

    name: str
    tokenizer: Tokenizer
    bare: Callable[[list[str]], int]


def tiktoken_case(name: str, encoding: str) -> Case:
    """A rank file, against `Encoding.encode_ordinary` line by line."""
    upstream = tiktoken.get_encoding(encoding)

    def bare(lines: list[str]) -> int:
        return sum(len(upstream.encode_ordinary(line)) for line in lines)

    return Case(f"tiktoken {name}", load(str(vocabs.vocab(name))), bare)


def hf_case(name: str) -> Case:
    """A tokenizer.json, against `Tokenizer.encode_batch_fast`, ten thousand lines a call."""
    path = vocabs.vocab(name)
    upstream = tokenizers.Tokenizer.from_file(str(path))
    upstream.no_truncation()
    upstream.no_padding()
    upstream.encode_special_tokens = True

    def bare(lines: list[str]) -> int:
        total = 0
        for start in range(0, len(lines), 10_000):
            some = upstream.encode_batch_fast(lines[start : start + 10_000], add_special_tokens=False)
            total += sum(map(len, some))
        return total

    return Case(f"tokenizers {name}", load(str(path)), bare)


CASES: dict[str, Callable[[], Case]] = {
    "gpt2": lambda: tiktoken_case("gpt2", "r50k_base"),
    "o200k": lambda: tiktoken_case("o200k", "o200k_base"),
    "qwen3": lambda: hf_case("qwen3"),
    "llama3": lambda: hf_case("llama3"),
    "bert": lambda: hf_case("bert"),
}


def repeated(target: Path, megabytes: float) -> Path:
    """Our sample again and again. Caches of words then always hit, which flatters the bare encoder."""
    texts = [line.encode() + b"\n" for batch in open_corpus("sample").batches() for line in batch.texts]
    size = 0
    with target.open("wb") as file:
        for line in itertools.cycle(texts):
            size += file.write(line)
            if size >= megabytes * 1e6:
                break
    return target


class Cost(NamedTuple):
    """CPU seconds and wall seconds of a run, and the number of tokens found."""

    cpu: float
    wall: float
    tokens: int


def cost(work: Callable[[], int]) -> Cost:
    """What one run takes."""
    cpu, wall = time.process_time(), time.perf_counter()
    tokens = work()
    return Cost(time.process_time() - cpu, time.perf_counter() - wall, tokens)


def encoded(tokenizer: Tokenizer, lines: list[str]) -> int:
    """Number of tokens by our own encoding, some thousand lines a call."""
    return sum(len(tokenizer.encode_batch(lines[k : k + 4000]).ids) for k in range(0, len(lines), 4000))


def row(case: Case, path: Path, runs: int, workers: int | None) -> str:
    """Measures one case, turn by turn, and takes medians; all must find as many tokens.

    A ratio is that of neighbouring turns, so that what else the machine does weighs on both sides of it.
    """
    lines = path.read_text("utf-8").removesuffix("\n").split("\n")
    corpus = open_corpus(str(path))
    case.bare(lines[:1000])  # all begin with warm caches
    ways = (
        lambda: case.bare(lines),
        lambda: encoded(case.tokenizer, lines),
        lambda: int(count(case.tokenizer, corpus, workers=workers).total.sum()),
    )
    turns = [[cost(way) for way in ways] for _ in range(runs)]
    found = {run.tokens for turn in turns for run in turn}
    if len(found) > 1:
        raise SystemExit(f"{case.name}: the ways find {sorted(found)} tokens, and must find as many")
    seconds = [median(turn[k].cpu for turn in turns) for k in range(3)]
    ratios = [median(turn[k].cpu / turn[0].cpu for turn in turns) for k in (1, 2)]
    above = "!" if ratios[0] > TARGET else " "
    return "{:20} {:9} {:7.2f} {:9.2f} {:6.2f}{} {:8.2f} {:6.2f}".format(
        case.name, found.pop(), *seconds[:2], ratios[0], above, seconds[2], ratios[1]
    )


def main(arguments: list[str] | None = None) -> int:
    """Prints the table; a vocabulary that the cache lacks is named on stderr."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--corpus", type=Path, default=None, help="a text file; default: the sample, repeated"
    )
    parser.add_argument("--megabytes", type=float, default=10.0)
    parser.add_argument("--runs", type=int, default=5, help="turns of each")
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--workers", type=int, default=None, help="threads of count; default: one a core")
    options = parser.parse_args(arguments)
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(vocabs.tiktoken_dir()))
    heads = ("encoder", "tokens", "bare s", "encode s", "ratio", "count s", "ratio")
    print("{:20} {:>9} {:>7} {:>9} {:>6}  {:>8} {:>6}".format(*heads))
    with tempfile.TemporaryDirectory() as folder:
        path = options.corpus or repeated(Path(folder, "sample.txt"), options.megabytes)
        for name in options.only:
            try:
                print(row(CASES[name](), path, options.runs, options.workers), flush=True)
            except vocabs.VocabMissingError as reason:
                print(f"{name}: {reason}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
