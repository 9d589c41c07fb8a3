"""The alignment audit beside the peer's, on the same words, and over many vocabularies and languages."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from tests import vocabs
from tests.benchmarks import peer
from tests.benchmarks.measure import Measured, measure
from workbench.lexicons import open_lexicon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORDS = 60_000
"""Words of the comparison; the gold words, and after them two of them written as one."""

THEIRS = """
import json, sys, time
from glotscope import Tokenizer
from glotscope.enums import MorphologicalType
from glotscope.morphynet import parse_morphynet
path, vocabulary = sys.argv[1:]
tokenizer = Tokenizer.from_file(vocabulary)
start = time.process_time()
gold = parse_morphynet(open(path, encoding="utf-8"), language="hun")
begun = time.process_time()
found = tokenizer._morphology(
    gold, morphological_types={"hun": MorphologicalType("agglutinative")}, frequency_weighted=False,
    include_single_token_words=True, leading_space=False, warnings=[]).full_alignment
end = time.process_time()
print(json.dumps([found.precision, found.recall, found.f1, end - begun, end - start]))
"""

OURS = """
import json, sys, time
from workbench.adapters import load
from workbench.cutting import cut_words
from workbench.lexicons import open_lexicon
from vocab_audits.boundaries import Compared
tokenizer = load(sys.argv[2])
tokenizer.inventory.lengths, tokenizer.inventory.pieces
start = time.process_time()
gold = open_lexicon(sys.argv[1])
words = gold.frame["word"].to_list()
begun = time.process_time()
found = Compared(words, gold.boundaries, cut_words(tokenizer, words))
hits, predicted, all_gold = found.hits.sum(), found.predicted.sum(), found.gold.counts.sum()
scores = [hits / predicted, hits / all_gold, 2 * hits / (predicted + all_gold)]
print(json.dumps([*scores, time.process_time() - begun, time.process_time() - start]))
"""

LIBRARY = """
import json, sys, time
from tokenizers import Tokenizer
from workbench.lexicons import open_lexicon
tokenizer = Tokenizer.from_file(sys.argv[2])
words = open_lexicon(sys.argv[1]).frame["word"].to_list()
start = time.process_time()
ids = [each.ids for each in tokenizer.encode_batch_fast(words, add_special_tokens=False)]
print(json.dumps([len(ids), time.process_time() - start]))
"""

AUDIT = """
import json, sys
from workbench.adapters import load
from workbench.lexicons import open_lexicon
from vocab_audits.morphology import morphology
gold, specs = open_lexicon(sys.argv[1]), sys.argv[2:]
tables = [morphology(load(spec), gold).tables["morphology"] for spec in specs]
rows = tables[0].filter(measure="f1", variant="micro", form="bare")
print(json.dumps(dict(rows.select("language", "value").iter_rows())))
"""


class Line(NamedTuple):
    """One comparison: ours, and the peer's where it does the like."""

    work: str
    ours: Measured
    theirs: Measured | None = None
    bar: float | None = None


def lines(data: Path, runs: int) -> list[Line]:
    """Every comparison; ours and theirs take turns, and of each the run with the least CPU counts.

    Args:
        data: folder with ``sigmorphon2022``.
        runs: turns.

    Raises:
        RuntimeError: the two sides find other figures.
    """
    path = peer.peers_dir() / "hun.inflections.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(islice(_rows(data), WORDS)), encoding="utf-8")
    spec, backend = "tiktoken:o200k_base", str(peer.o200k_json())
    theirs = [str(peer.environment() / "python"), "-c", THEIRS, str(path), backend]
    found = {
        "ranks": _least([sys.executable, "-c", OURS, str(path), spec], runs),
        "json": _least([sys.executable, "-c", OURS, str(path), backend], runs),
        "peer": _least(theirs, runs),
        "library": _least([sys.executable, "-c", LIBRARY, str(path), backend], runs),
        "audit": _least([sys.executable, "-c", AUDIT, str(path), spec], runs),
    }
    figures = {name: found[name].numbers["found"][:3] for name in ("ranks", "json", "peer")}
    alone, read = (
        {name: found[name]._replace(cpu_s=found[name].numbers["found"][at]) for name in figures}
        for at in (3, 4)
    )
    if any(abs(a - b) > 1e-12 for one in figures.values() for a, b in zip(one, figures["peer"], strict=True)):
        raise RuntimeError(f"both sides must find the same precision, recall and F1; got {figures}")
    precision, recall, f1 = figures["peer"]
    same = f"P {precision:.5f}, R {recall:.5f}, F1 {f1:.5f} on both sides"
    specs = [
        spec,
        "tiktoken:cl100k_base",
        "tiktoken:r50k_base",
        *map(str, map(vocabs.vocab, ("mistral-v1", "bert"))),
    ]
    every = [sys.executable, "-c", AUDIT, str(data / "sigmorphon2022"), *specs]
    return [
        Line(
            f"{WORDS:,} words in memory cut and scored under o200k, by its ranks: {same}",
            alone["ranks"],
            alone["peer"],
            4,
        ),
        Line("the same, cut by the library that the peer cuts with", alone["json"], alone["peer"]),
        Line(
            "that library's own batch call on these words, without scores",
            found["library"]._replace(cpu_s=found["library"].numbers["found"][1]),
            alone["peer"],
        ),
        Line("the same by its ranks, reading the gold included", read["ranks"], read["peer"]),
        Line("the same, by its ranks, imports and loading included", found["ranks"], found["peer"]),
        Line(
            "the same from the tokenizer.json that the peer reads, imports and loading included",
            found["json"],
            found["peer"],
        ),
        Line(
            "the whole audit of these words: every measure, two forms, intervals",
            found["audit"],
            found["peer"],
        ),
        Line("the whole audit: 5 vocabularies, 8 languages of up to 2,000 words", _least(every, runs)),
    ]


def _rows(data: Path) -> Iterator[str]:
    gold = open_lexicon(str(data / "sigmorphon2022" / "hun.word.dev.tsv")).frame.filter(how="concatenative")
    words = [row for row in gold["morphs"].to_list() if len(row) > 1]
    yield from (_row(word) for word in words)
    for step in range(1, len(words)):
        yield from (_row([*one, *words[(at + step) % len(words)]]) for at, one in enumerate(words))


def _row(morphs: list[str]) -> str:
    return f"{morphs[0]}\t{''.join(morphs)}\tN\t{'|'.join(morphs)}\n"


def _least(command: list[str], runs: int) -> Measured:
    output = peer.peers_dir() / "morphology.out"
    environment = {"TIKTOKEN_CACHE_DIR": str(vocabs.tiktoken_dir()), "HF_HUB_OFFLINE": "1"}
    try:
        done = measure(command, stdout=output, env=environment, runs=runs)
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"a side of the comparison failed: {error.stderr[-400:]}") from error
    return done._replace(numbers={"found": json.loads(output.read_text(encoding="utf-8").splitlines()[-1])})
