"""Boundaries of the affix segmenter against gold: the shared task of SIGMORPHON 2022, word level.

The affix inventories were developed on one half of the rows (those whose word has an even first byte of its
SHA-256); what is reported is the other half.
"""

from __future__ import annotations

import hashlib
import os
import re
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.inflection import Analyser
from workbench.lexicons.embedded import SURE
from workbench.paths import bundle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from workbench.inflection import Analysis

README = Path(__file__).parent.parent.parent / "README.md"
MARKS = ("<!-- affixes -->", "<!-- end of affixes -->")
LANGUAGES = {"eng": "en", "fra": "fr", "hun": "hu", "ita": "it", "spa": "es"}
OTHERS = ("ces", "lat", "mon")
DRAWS = 1000
ROUNDING = 4
SETS = {
    "joined": "inflected words whose morphs join to them",
    "placed": "words inflected only whose affixes end them",
    "all": "all words whose morphs join to them",
}


class Row(NamedTuple):
    """A gold row: the word, its morphs, and whether it has inflection, derivation, compounding (``110``)."""

    word: str
    morphs: tuple[str, ...]
    kinds: str


class Scored(NamedTuple):
    """Boundaries of each word that are right, made and gold (words, 3), and whether it was analysed."""

    counts: NDArray[np.int64]
    sure: NDArray[np.bool_]


def data_dir() -> Path:
    """Where the gold lies: beside the checkout, or where SUTURE_SIGMORPHON says."""
    beside = Path(__file__).parents[3] / "shared" / "data" / "sigmorphon2022"
    return Path(os.environ.get("SUTURE_SIGMORPHON", beside))


def read(path: Path) -> Iterator[Row]:
    """Rows of a file of the shared task."""
    for line in path.read_text(encoding="utf-8").splitlines():
        word, morphs, *kinds = line.split("\t")
        yield Row(word, tuple(morphs.split(" @@")), kinds[0] if kinds else "")


def held_out(word: str) -> bool:
    """Whether a word is of the half that the inventories were not developed on."""
    return hashlib.sha256(word.encode()).digest()[0] % 2 == 1


def gold(row: Row, kind: str) -> set[int] | None:
    """Boundaries of a row in a set of rows, or None where it is not of the set.

    In ``placed`` the affixes after the first morph are the word's last letters, whatever became of the stem:
    (incrociare, erai) puts one boundary into incrocerai.
    """
    joins = "".join(row.morphs) == row.word
    if kind != "placed":
        return boundaries(row.morphs) if joins and (kind == "all" or row.kinds[:1] == "1") else None
    tail = "".join(row.morphs[1:])
    if row.kinds != "100" or not row.word.endswith(tail) or len(tail) >= len(row.word):
        return None
    return boundaries((row.word[: len(row.word) - len(tail)], *row.morphs[1:]))


def boundaries(morphs: Iterable[str]) -> set[int]:
    """Places between morphs."""
    ends = np.cumsum([len(morph) for morph in morphs]).tolist()
    return set(ends[:-1])


def score(rows: Iterable[Row], kind: str, analyse: Callable[[str], Analysis]) -> Scored:
    """Compares the analyses of the rows of a set with their gold."""
    counts, sure = [], []
    for row in rows:
        right = gold(row, kind)
        if right is None:
            continue
        found = analyse(row.word)
        made = boundaries(found.morphs)
        counts.append((len(made & right), len(made), len(right)))
        sure.append(found.known in SURE)
    return Scored(np.array(counts, np.int64).reshape(-1, 3), np.array(sure, bool))


def rates(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Precision, recall and F1 over words, from their sums (…, words, 3) -> (…, 3); NaN where undefined."""
    right, made, true = np.moveaxis(counts.sum(axis=-2), -1, 0).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack([right / made, right / true, 2 * right / (made + true)], axis=-1)


def figures(counts: NDArray[np.int64]) -> dict[str, list[float]]:
    """Each rate with its percentile interval over words drawn with replacement."""
    draws = np.random.default_rng(0).integers(0, len(counts), (DRAWS, len(counts)))
    low, high = np.nanpercentile(rates(counts[draws]), (2.5, 97.5), axis=0)
    values = zip(rates(counts), low, high, strict=True)
    return {
        name: [round(float(value), ROUNDING) for value in three]
        for name, three in zip(("precision", "recall", "f1"), values, strict=True)
    }


def measure(folder: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Figures by language and set, of the half held out."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for gold_code, code in LANGUAGES.items():
        rows = [row for row in read(folder / f"{gold_code}.word.dev.tsv") if held_out(row.word)]
        analyse = Analyser.of(code).analyse
        found[code] = {}
        for kind, about in SETS.items():
            scored = score(rows, kind, analyse)
            found[code][kind] = {
                "about": about,
                "words": len(scored.sure),
                "scored": int(scored.sure.sum()),
                **figures(scored.counts[scored.sure]),
                **{f"whole_{name}": value for name, value in figures(scored.counts).items()},
            }
    return found


def section(folder: Path | None = None) -> str:
    """Measures, writes ``quality.toml`` and the README's table, and gives the page's section."""
    folder = folder or data_dir()
    if not folder.is_dir():
        return f"Not measured: no gold in {folder.name}; SUTURE_SIGMORPHON names its folder."
    found = measure(folder)
    write_quality(found, bundle("corpora") / "affixes" / "quality.toml")
    renew(README, table(found, "joined", "placed"))
    parts = [f"{SETS[kind].capitalize()}:\n\n{full(found, kind)}" for kind in SETS]
    english = found["en"]["joined"]
    told = PROSE.format(
        draws=f"{DRAWS:,}",
        others=", ".join(OTHERS),
        words=english["words"],
        left=english["words"] - english["scored"],
        whole=english["whole_f1"][0],
        f1=english["f1"][0],
    )
    return "\n\n".join([*parts, told])


PROSE = """Gold: the development words of the SIGMORPHON 2022 shared task on morpheme segmentation, 2,000 a
language. The affix inventories were developed on one half of them (an even first byte of the
word's SHA-256); the figures are of the other half, with 95 % intervals from {draws} draws of words. Between
9 and 33 of its rows a language had been read before, in a sample of the whole file, to learn the gold's
conventions. The gold holds rare words: "analysed" are those with a lemma in simplemma's dictionary, or
whose stem or parts have one, which is what the embedded lexicon takes; "all words" adds the back-off of the
segmenter `affixes:` (the known form in which a word ends, an attested stem) and the words left whole for
want of a lemma: of {words} English words of the first table {left} are not in the lexicon, so that F1 over
all of them is {whole:.2f}, and {f1:.2f} over the rest. A gold morph may be underlying (`incrociare erai`),
so that only rows which join to their word, or whose affixes end it, say where a boundary stands; recall on
rows with derivation and compounds counts boundaries that an inflectional segmenter does not seek. Not
measured: German, Finnish, Russian, Swahili and Turkish, without gold here; {others}, without an affix
inventory."""


def full(found: dict[str, dict[str, dict[str, Any]]], kind: str) -> str:
    """All figures of a set as a Markdown table."""
    head = ["language", "words", "analysed", "precision", "recall", "F1", "F1 of all words"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for code, sets in found.items():
        row = sets[kind]
        shown = [_interval(row[name]) for name in ("precision", "recall", "f1", "whole_f1")]
        lines.append([code, str(row["words"]), str(row["scored"]), *shown])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def table(found: dict[str, dict[str, dict[str, Any]]], *kinds: str) -> str:
    """The README's table: two sets of rows, one line a language and set."""
    head = ["language", "gold rows", "n", "precision", "recall", "F1"]
    lines = [head, ["---", "---", *["---:"] * (len(head) - 2)]]
    for kind in kinds:
        for code, sets in found.items():
            row = sets[kind]
            if row["scored"] >= MIN_SHOWN:
                shown = [f"{row[name][0]:.2f}" for name in ("precision", "recall", "f1")]
                lines.append([code, row["about"], f"{row['scored']} of {row['words']}", *shown])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


MIN_SHOWN = 30


def _interval(three: list[float]) -> str:
    value, low, high = three
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def write_quality(found: dict[str, dict[str, dict[str, Any]]], path: Path) -> None:
    """Writes the figures as data that the embedded lexicon reads for its notes."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("simplemma", "wordfreq"))
    lines = [
        "# Written by python -m tests.benchmarks --only affixes. Three numbers: value, 95 % bounds.",
        '# "scored" words were analysed; "whole_" figures count the words left whole too.',
        'gold = "SIGMORPHON 2022, word level, development words, the half held out"',
        f'versions = "{versions}"',
    ]
    for code, sets in found.items():
        for kind, row in sets.items():
            lines += ["", f"[{code}.{kind}]", *(f"{key} = {_toml(value)}" for key, value in row.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _toml(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def renew(page: Path, made: str) -> None:
    """Puts a table between the marks of a page."""
    begin, end = MARKS
    text = page.read_text(encoding="utf-8")
    new = re.sub(f"(?s){begin}.*?{end}", lambda _: f"{begin}\n{made}\n{end}", text)
    page.write_text(new, encoding="utf-8")
