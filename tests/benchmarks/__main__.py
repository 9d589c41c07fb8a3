"""Measures and writes ``docs/measurements.md``: ``python -m tests.benchmarks [--only SECTION] [--runs N]``."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import platform
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import regex

from tests import vocabs
from tests.benchmarks import (
    affixes,
    bridge,
    bridge_bpm,
    bridge_pairs,
    encode,
    fidelity,
    growth,
    measures,
    morphology,
    peer,
    removal,
    speed,
    unwanted,
)
from tests.benchmarks.texts import scripts_of, texts
from workbench.inventory import KINDS

PAGE = Path(__file__).parent.parent.parent / "docs" / "measurements.md"
TITLES = {
    "fidelity": "Fidelity to the upstream libraries",
    "speed": "Speed and memory beside a named peer",
    "encode": "Encoding and counting beside the bare encoder",
    "affixes": "Morphs by lemma and affixes against gold",
    "morphology": "Alignment with morphology beside a named peer",
    "growth": "A growing BPE beside the bare trainer",
    "bridge": "Byte prefixes beside a named peer and the bare sums",
    "bpm": "Byte-prefix marginalization beside one index_add",
    "measures": "Measures of states beside every pair, a sort, a loop and a library",
    "pairs": "Published vocabularies laid over each other",
    "removal": "Entries taken out beside rebuilding everything",
    "unwanted": "Term lists over vocabularies",
}
HEAD = """# Measurements

Written by `make bench`; no figure is by hand. Ratios come from runs that took turns on one machine, and say more
than seconds do: two cores, shared with other work. No test asserts a time.
"""


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; all but the first column are set to the right."""
    rule = ["---", *["---:" for _ in head[1:]]]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *rows])


def of_fidelity(options: argparse.Namespace) -> str:
    """Every id, every entry's bytes, and ids of many texts, against the upstream library."""
    made = texts(options.texts)
    rows, kinds = [], []
    for name in fidelity.VOCABULARIES:
        print(f"fidelity of {name}", file=sys.stderr)
        try:
            row = fidelity.compare(name, made)
        except LookupError as error:
            rows.append([name, str(error), *[""] * 9])
            continue
        rows.append([row.name, *(f"{value:,}" for value in row[1:-1])])
        kinds.append([row.name, *(f"{value:,}" for value in row.kinds)])
    head = [
        "vocabulary", "entries", "holes", "ids that one side lacks", "entries compared", "library cannot say",
        "bytes differ", "texts", "ids differ", "pieces join to the text", "text not accounted for",
    ]  # fmt: skip
    return f"""{table(head, rows)}

{options.texts:,} different texts hold {len(scripts_of(made))} scripts besides common characters:
sentences of the embedded corpus, slices and joins of them, and words of random assigned characters with odd glue
between. "Library cannot say": its decoder gives U+FFFD for part of a character. A tokenizer that puts a space before
the text (Mistral's SentencePiece) or normalises it (BERT, Qwen 3) has pieces that do not join to the text as given;
there each piece must be what the library's normaliser makes of the text under it, and nothing but white space and
what the normaliser removes may stand under none. In the columns "differ", "lacks" and "not accounted for", anything
but 0 is a defect.

{table(["entries by kind", *KINDS], kinds)}"""


def of_speed(options: argparse.Namespace) -> str:
    """Ours against the peer's."""
    rows = [
        [
            line.work,
            f"{line.ours.cpu_s:.2f}",
            f"{line.theirs.cpu_s:.2f}",
            f"{line.ratio:.2f}",
            f"{line.ratio_bar:g}",
            f"{line.ours.rss_mb:.0f}",
            f"{line.theirs.rss_mb:.0f}",
            "–" if line.memory_bar == float("inf") else f"{line.memory_bar:.0f}",
            "yes" if line.holds else "no",
        ]
        for line in speed.lines(options.data, options.runs)
    ]
    head = ["work", "CPU s", "peer's CPU s", "ratio", "bar", "MiB", "peer's MiB", "bar", "holds"]
    return f"""{table(head, rows)}

The peer is {peer.PEER} {peer.VERSION}, in an environment of its own. CPU seconds are user and system from the start
of the process to its end, imports and loading included; of {options.runs} turns the least of each side counts, and
the highest peak of memory. The peer's lint tests reachability by encoding what it decoded; ours searches contexts
and completes partial characters besides. From a tokenizer.json, most of the time and memory of both goes into the
library that reads it and encodes."""


def of_encode(options: argparse.Namespace) -> str:
    """The ratios of encoding and counting to bare encoding, as their own script prints them."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        encode.main(["--runs", str(options.runs)])
    return f"""```
{printed.getvalue().strip()}
```

CPU seconds for 10 MB of the sample, repeated: the library's own call a line (or ten thousand lines), our `encode_batch`
with the first ratio (bar 1.15, `!` above it), and `count`, which also reads the file and adds up tokens, bytes and
characters, with the second. Medians of {options.runs} turns."""


def of_morphology(options: argparse.Namespace) -> str:
    """Boundary scores beside the peer's, and the whole audit."""
    rows = []
    for line in morphology.lines(options.data, options.runs):
        cells = [line.work, f"{line.ours.cpu_s:.2f}", f"{line.ours.rss_mb:.0f}"]
        if line.theirs:
            ratio = line.theirs.cpu_s / line.ours.cpu_s
            cells += [f"{line.theirs.cpu_s:.2f}", f"{line.theirs.rss_mb:.0f}", f"{ratio:.2f}"]
        cells += ["–"] * (6 - len(cells))
        rows.append([*cells, "–" if line.bar is None else f"{line.bar:g}"])
    head = ["work", "CPU s", "MiB", "peer's CPU s", "peer's MiB", "ratio", "bar"]
    return f"""{table(head, rows)}

CPU seconds of a process from its start to its end, but in the first four lines of the work alone; the peer is
{peer.PEER} {peer.VERSION} through its library, without its lint. The bar is on the first line alone; with reading,
imports and loading the ratios are those below it. Through the library that the peer uses, no scorer can pass the ratio
of the third line. The words are Hungarian gold words that concatenate, and pairs of them written as one to reach the
number. Of {options.runs} turns the least counts."""


def of_growth(options: argparse.Namespace) -> str:
    """The growth audit beside the trainer alone."""
    head = ["work", "CPU s", "ratio", "MiB"]
    return f"""{table(head, growth.rows(options.runs))}

The baseline is the trainer of the tokenizers library, fed the same lines. CPU seconds are user and system from the
start of the process to its end, imports included; of {options.runs} turns the least counts, and the highest peak of
memory. The lexicon ({growth.LEXICON}) is read from a file. The text is that of the fidelity section, many scripts and random
words, so it has far more distinct pre-tokens than prose of its size."""


def of_affixes(_: argparse.Namespace) -> str:
    """Boundaries of the affix segmenter against gold."""
    return affixes.section()


def of_bridge(options: argparse.Namespace) -> str:
    """Masses of byte prefixes beside the peer's and beside the least that must be done."""
    found = bridge.lines(runs=options.runs)
    return f"""{table(*bridge.cost(found))}

{table(*bridge.bars(found))}

CPU milliseconds a position on one thread, medians of {options.runs} turns; "/{bridge.BATCH}" is by position in a batch of {bridge.BATCH}. "Bare
sums": a gather, a cumulative sum in 64 bits and two gathers, which every index of this kind must do. "All nodes": the
mass of every byte prefix in the vocabulary, which End-Of-Token and Marginalize-It take from. "Peer": the same from
{bridge.PEER} {bridge.VERSION} in an environment of its own, in 32 bits. "Path": masses and next-byte distributions along one
realised token (NumPy, from probabilities). "Targets": End-Of-Token's rows of one realised token (torch, from logits, in
log space, 64 bits). "Root": the exact next byte at a token boundary, beside one torch index_add over the vocabulary.
"Apart": how far the peer's masses of {len(bridge.PREFIXES)} prefixes lie from ours. `!` marks a bar that does not hold."""


def of_bpm(_: argparse.Namespace) -> str:
    """Byte-prefix marginalization beside the least that it must do."""
    found = [bridge_bpm.cells_of(bridge_bpm.line(names)) for names in bridge_bpm.PAIRS]
    return f"""{table(bridge_bpm.HEAD, found)}

CPU milliseconds a position on one thread, medians of works that take turns; the first two columns are CPU seconds.
"Bare" is one torch index_add of the teacher's rows into a fresh array of the student's cells: in 64 bits for one row
(ours is NumPy's bincount), in 32 for a batch of {bridge_bpm.BATCH} boundaries, and for {bridge_bpm.POSITIONS} student positions of a text in many scripts.
There, "text" is without corrections, "+ path" with the chain along the realised tokens (as published), "+ walk" with
the exact walk. "Pending" positions start inside a teacher token, "crossing" ones go on beyond it. The bar of {bridge_bpm.BAR} is
on both ratios."""


def of_measures(options: argparse.Namespace) -> str:
    """Exact measures of states beside the usual ways to them."""
    return f"""{table(measures.HEAD, measures.rows(options.runs))}

Random states that share a direction, on one thread; of {options.runs} turns the least CPU time of each side counts. "Apart" is
the difference of the two figures; beside drawn pairs it is the root mean square of 200 draws about the exact value,
which is what drawing costs; for ids and ranks it counts those that differ. The rows of the embedding are made ready
once, on both sides."""


def of_pairs(options: argparse.Namespace) -> str:
    """Homes, chunks and residual of pairs of published vocabularies."""
    rows = [
        [row.pair, *(f"{value:.1%}" for value in row[1:])]
        for row in bridge_pairs.rows(options.data, peer.peers_dir() / "pairs")
    ]
    head = [
        "teacher → student",
        "twins",
        "spannable",
        "non-spanning",
        "strict 1:1",
        "residual",
        "spannable by use",
    ]
    return f"""{table(head, rows)}

On 1 MB of parallel text in Arabic, German, English, Spanish and Russian, a line of each in turn. Twins and spannable:
shares of the teacher's entries with the same bytes in the student, and with a student entry that goes on beyond
them. Non-spanning and strict: shares of the student's positions whose realised token crosses no boundary of the
teacher's, and that are a whole token of both. Residual and spannable by use: shares of the teacher's tokens on this
text without a home, and with a longer student entry. The paper's "over 99 % non-spanning" (arXiv 2607.22334) and the
85.6 to 97.0 % strict rows of arXiv 2610.08448 are of their pairs and texts."""


def of_removal(options: argparse.Namespace) -> str:
    """What removal costs to work out, against the plain way."""
    found = removal.lines(options.runs)
    rows = [
        [line.work, f"{line.ours:.2f}", f"{line.plain:.2f}", f"{line.ratio:.1f}", f"{line.found:,}"]
        for line in found
    ]
    head = ["work", "CPU s", "plain way's CPU s", "ratio", "found"]
    return f"""{table(head, rows)}

{removal.NUMBER:,} entries drawn from {removal.NAME} are dropped. The plain way builds every entry from its bytes by the
table as it is and by the smaller one, and encodes all of the text by both; ours builds anew only the entries that hold
the bytes of a removed one, and encodes once more only the texts that can change. Both ran in one process in turns;
of {options.runs} turns the least of each counts, and both must find the same entries lost, tokens and changed texts
(column *found*: entries that merges no longer build; documents that are cut otherwise)."""


def of_unwanted(options: argparse.Namespace) -> str:
    """One pass of all terms beside a loop, what vocabularies hold, and the precision of our families."""
    found = unwanted.precision()
    low, high = found.interval
    number, wall, cpu, peak = unwanted.whole()
    common = ", ".join(
        f"{entries} ({name})" for entries, name in zip(unwanted.common(), unwanted.SPAM, strict=True)
    )
    return f"""{table(["GPT-2, " + unwanted.LIST, "entries found", "search CPU s", "ratio", "process CPU s", "MiB"], unwanted.cost_rows(options.runs))}

The loop compiles an expression for each term and asks each entry, folded beforehand as ours are; it finds the same
entries. CPU seconds of the search alone, and of the process with imports and reading; of {options.runs} turns the least counts.

{table(unwanted.HEAD, unwanted.held_rows())}

Entries hit. "Word", "fragment", "contains" and the next four columns: the lists {" and ".join(unwanted.LISTS)}; "substring" is what a
search for their terms anywhere would report. The last six: Suture's own pattern families, with those of the reported
entries that they describe ("known": GPT-2 43453, 37444, 23282; cl100k 99944, 82000, 89472; o200k 181081, 2783, 182292,
147008, 193819, 99494). No family names an entry. The whole audit of {number} of them in one run, with every list at hand, counts on the
embedded corpus and the report: {wall:.0f} s, {cpu:.0f} CPU s, {peak:.0f} MiB.

Of o200k's {found.long:,} entries with three and more characters of Unicode's script Han (`\\p{{Han}}`), the advert families
(gambling_spam, sexual, scam) name {found.named:,}, {found.named / found.long:.1%}. Of {found.read} of these, drawn with a seed, the reader, who wrote the
families, judged {found.right} to be adverts or their
sales talk by themselves: precision {found.right / found.read:.2f}, Wilson's 95 % interval {low:.2f} to {high:.2f}; a doubtful one counts as a miss. The
families were written with these entries in view, so the figure is no estimate for other vocabularies. Of the
{unwanted.COMMON:,} commonest Chinese words of wordfreq, as entries, they name {common}. Verdicts by id are in `tests/benchmarks/unwanted_verdicts.toml`."""


def main() -> int:
    """Measures the sections asked for and writes the page, keeping the text of the others."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--only", choices=TITLES, action="append", help="a section; may be repeated")
    parser.add_argument("--runs", type=int, default=3, help="turns of each comparison (default: 3)")
    parser.add_argument("--texts", type=int, default=10_000, help="texts for fidelity (default: 10000)")
    parser.add_argument("--data", type=Path, default=peer.data_dir(), help="folder with the parallel corpus")
    options = parser.parse_args()
    os.environ["TIKTOKEN_CACHE_DIR"] = str(vocabs.tiktoken_dir())
    former = dict(regex.findall(r"^## (.*?)\n\n(.*?)(?=\n## |\Z)", _text(), regex.MULTILINE | regex.DOTALL))
    measured = {
        "fidelity": of_fidelity,
        "speed": of_speed,
        "encode": of_encode,
        "affixes": of_affixes,
        "morphology": of_morphology,
        "growth": of_growth,
        "bridge": of_bridge,
        "bpm": of_bpm,
        "measures": of_measures,
        "pairs": of_pairs,
        "removal": of_removal,
        "unwanted": of_unwanted,
    }
    for key in options.only or TITLES:
        former[TITLES[key]] = f"{measured[key](options)}\n\n{_where()}\n"
    parts = [f"## {title}\n\n{former[title]}" for title in TITLES.values() if title in former]
    PAGE.write_text("\n".join([HEAD, *parts]), encoding="utf-8")
    print(PAGE)
    return 0


def _text() -> str:
    return PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""


def _where() -> str:
    names = ("suture", "polars", "numpy", "tokenizers", "tiktoken", "sentencepiece")
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in names)
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return f"Measured on {datetime.now(UTC):%Y-%m-%d}; {machine}; {versions}."


if __name__ == "__main__":
    raise SystemExit(main())
