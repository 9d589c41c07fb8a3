"""The growth audit beside the bare trainer of the ``tokenizers`` library on the same text."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from tests.benchmarks import peer
from tests.benchmarks.measure import Measured, measure
from tests.benchmarks.texts import texts
from workbench.lexicons import open_lexicon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MEGABYTES, SIZE = 10, 32_768
LEXICON = "embedded:en,de,fi"

BARE = """
import json, sys
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
made = Tokenizer(models.BPE())
made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
alphabet = pre_tokenizers.ByteLevel.alphabet()
trainer = trainers.BpeTrainer(vocab_size=int(sys.argv[2]), min_frequency=2, show_progress=False,
                              initial_alphabet=alphabet)
with open(sys.argv[1], encoding="utf-8", newline="\\n") as lines:
    made.train_from_iterator((line.removesuffix("\\n") for line in lines), trainer)
print(json.dumps(made.get_vocab_size()))
"""

OURS = """
import json, sys
from workbench.corpora import open_corpus
from workbench.lexicons import open_lexicon
from vocab_audits.growth import growth
found = growth(open_corpus(sys.argv[1]), open_lexicon(sys.argv[3]))
print(json.dumps(int(found.tables["growth"]["size"].max())))
"""

TRAINING = """
import json, sys
from workbench.corpora import open_corpus
from vocab_audits.sampling import read_text, sampled
from vocab_audits.training import bpe
text = read_text(sampled(open_corpus(sys.argv[1]), 50_000_000), None)
print(json.dumps(bpe(text.whole, int(sys.argv[2])).get_vocab_size()))
"""


class Line(NamedTuple):
    """One side: what it does, and what it takes."""

    work: str
    found: Measured


def lines(runs: int) -> list[Line]:
    """The audit, its training alone, and the bare trainer, in turns; of each the least CPU counts.

    Raises:
        RuntimeError: a side fails, or does not come to the size.
    """
    folder = peer.peers_dir()
    folder.mkdir(parents=True, exist_ok=True)
    corpus, gold = folder / "growth.txt", folder / "growth.parquet"
    size = _write(corpus)
    open_lexicon(LEXICON).frame.write_parquet(gold)
    sides = {
        f"the bare trainer of tokenizers, {SIZE:,} entries on {size / 1e6:.1f} MB": BARE,
        "our training on counted pre-tokens, the same size and text": TRAINING,
        "the whole audit at seven sizes: cost, cuts, census, chance, first merges": OURS,
    }
    words = [str(corpus), str(SIZE), str(gold)]
    turns: dict[str, list[Measured]] = {work: [] for work in sides}
    for _ in range(runs):
        for work, script in sides.items():
            print(work, file=sys.stderr)
            turns[work].append(_one([sys.executable, "-c", script, *words], folder / "growth.out"))
    return [Line(work, _best(found)) for work, found in turns.items()]


def _write(path: Path) -> int:
    """About ten megabytes of different lines; gives the bytes written."""
    size = 0
    with path.open("w", encoding="utf-8", newline="\n") as target:
        for text in _endless():
            line = " ".join(text.split()) + "\n"
            size += len(line.encode())
            target.write(line)
            if size >= MEGABYTES * 1_000_000:
                return size
    raise AssertionError


def _endless() -> Iterator[str]:
    for seed in range(100):
        yield from texts(50_000, seed)


def _one(command: list[str], output: Path) -> Measured:
    try:
        done = measure(command, stdout=output)
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"a side of the comparison failed: {error.stderr[-400:]}") from error
    if (found := json.loads(output.read_text(encoding="utf-8"))) != SIZE:
        raise RuntimeError(f"each side must come to {SIZE:,} entries; one came to {found:,}")
    return done


def _best(found: list[Measured]) -> Measured:
    """The run with the least CPU, with the highest peak of memory of all."""
    least = min(found, key=lambda run: run.cpu_s)
    return least._replace(rss_mb=max(run.rss_mb for run in found))


def rows(runs: int) -> list[list[str]]:
    """Rows of a table: work, CPU seconds, their ratio to the bare trainer's, peak memory in MiB."""
    found = lines(runs)
    base = found[0].found.cpu_s
    return [
        [work, f"{side.cpu_s:.1f}", f"{side.cpu_s / base:.2f}", f"{side.rss_mb:.0f}"] for work, side in found
    ]
