"""Parallel text in a corpus: which files are translations of each other, and the sizes of their lines."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
import regex

from vocab_audits.words import spells_everything
from workbench.characters import Characters
from workbench.corpora import is_parallel
from workbench.errors import SutureError
from workbench.languages import UNKNOWN
from workbench.tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from workbench.corpora import Corpus
    from workbench.corpusfiles import CorpusFile
    from workbench.segmentation import Segmenter

EXAMPLES = "spaCy's examples"

NO_LANGUAGE = (UNKNOWN, "zxx", "mul", "xx")
"""Codes that name no single language."""

ALIKE = 0.8
"""Correlation of line lengths from which example sentences are taken for translations.

Gale and Church (1993, https://aclanthology.org/J93-1004) align sentences by length alone. Of the eight-line
examples of spaCy 3.8, those that are translations or near ones have 0.85 and more, the others at most 0.74.
"""

LEAST = 5
"""Lines below which a correlation says nothing."""

_CLUSTER = regex.compile(r"\X")


class Lines(NamedTuple):
    """The text of one language of a set, line by line, and what a segmenter makes of it.

    Arrays are (lines,): ``bytes``, ``characters`` (code points), ``graphemes`` (extended clusters),
    ``tokens``, and ``unspelled`` (whether a line holds text without an entry). ``script`` is the ISO 15924
    code that most of its characters have.
    """

    bytes: NDArray[np.int64]
    characters: NDArray[np.int64]
    graphemes: NDArray[np.int64]
    tokens: NDArray[np.int64]
    unspelled: NDArray[np.bool_]
    script: str


class ParallelSet(NamedTuple):
    """Texts that are translations line for line.

    ``lines`` holds those of each language, sorted by code, with one number of lines; ``agreement`` is the
    correlation of the logarithms of their lengths in characters with those of the reference, None where
    there are too few; ``left_out`` says of each other language why.
    """

    name: str
    reference: str
    lines: Mapping[str, Lines]
    agreement: Mapping[str, float | None]
    left_out: Mapping[str, str]

    @property
    def languages(self) -> list[str]:
        """The languages taken, sorted."""
        return list(self.lines)

    @property
    def size(self) -> int:
        """Number of lines of each language."""
        return len(self.lines[self.reference].tokens)

    def matrix(self, key: str) -> NDArray[np.float64]:
        """One size of every line of every language (lines, languages)."""
        return np.column_stack([getattr(each, key) for each in self.lines.values()]).astype(np.float64)


def parallel_sets(segmenter: Segmenter, corpus: Corpus, reference: str | None) -> list[ParallelSet]:
    """The parallel parts of a corpus, the longest first, measured with a segmenter.

    A part is the files of one folder that have as many lines each, or the example sentences of spaCy, of
    which a language is taken if it has as many sentences as the reference, of like lengths in their order.

    Args:
        segmenter: counts the tokens.
        corpus: any corpus.
        reference: a language named by the user, which says that what has as many lines is parallel. Where
            no folder has it, the languages of all documents are tried. None takes English, else the first.

    Raises:
        SutureError: a reference is named, and no text in another language has as many lines.
    """
    found = []
    for name, files in _candidates(corpus, reference).items():
        made = _set(name, _measured(segmenter, corpus, files), reference)
        if made is not None:
            found.append(made)
    if reference is not None and not found:
        sizes = _measured(segmenter, corpus, corpus.files)
        made = _set(corpus.name, sizes, reference)
        if made is None:
            listed = ", ".join(f"{name} ({len(each.tokens)})" for name, each in sizes.items()) or "none"
            raise SutureError(
                "a reference must be a language of a corpus in which another has as many documents; got "
                f"{reference!r} and {listed}; leave it out, or give translations line for line"
            )
        found.append(made)
    return sorted(found, key=lambda each: -each.size)


def _candidates(corpus: Corpus, reference: str | None) -> dict[str, Sequence[CorpusFile]]:
    """Groups of files that may be parallel, by name."""
    if corpus.language is not None:
        return {}
    groups: dict[Path | None, list[CorpusFile]] = {}
    for file in corpus.files:
        groups.setdefault(None if file.format == "examples" else file.path.parent, []).append(file)
    found: dict[str, Sequence[CorpusFile]] = {}
    for folder, files in groups.items():
        known = [file.language for file in files if file.language and file.language not in NO_LANGUAGE]
        several = len(known) > 1 and len(set(known)) == len(known)
        if not several or (reference is not None and reference not in known):
            continue
        if folder is None:
            found[EXAMPLES] = [file for file in files if file.language in known]
        elif reference is not None or is_parallel(files):
            found[str(folder) if folder.name in found else folder.name] = files
    return found


def _set(name: str, sizes: Mapping[str, Lines], reference: str | None) -> ParallelSet | None:
    """The languages that have as many lines as the reference; None where no other has."""
    base = reference or _default(sizes)
    if base is None or base not in sizes:
        return None
    kept: dict[str, Lines] = {}
    agreement: dict[str, float | None] = {}
    left: dict[str, str] = {}
    for language, lines in sorted(sizes.items()):
        if len(lines.tokens) != len(sizes[base].tokens):
            left[language] = f"{len(lines.tokens)} lines"
            continue
        alike = _agreement(lines, sizes[base])
        if name == EXAMPLES and language != base and (alike is None or alike < ALIKE):
            left[language] = "other sentences, by their lengths"
            continue
        kept[language], agreement[language] = lines, alike
    return ParallelSet(name, base, kept, agreement, left) if len(kept) > 1 else None


def _default(languages: Iterable[str]) -> str | None:
    """English, else the first."""
    names = sorted(languages)
    english = [name for name in names if name.replace("_", "-").split("-")[0].lower() in ("en", "eng")]
    return next(iter(english or names), None)


def _agreement(one: Lines, two: Lines) -> float | None:
    """Correlation of the logarithms of line lengths; None for few lines or lines all of one length."""
    a, b = np.log1p(one.characters), np.log1p(two.characters)
    if len(a) < LEAST or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])


def _measured(segmenter: Segmenter, corpus: Corpus, files: Iterable[CorpusFile]) -> dict[str, Lines]:
    """The lines of each language in some files, a batch at a time."""
    parts: dict[str, list[Lines]] = {}
    lossless = isinstance(segmenter, Tokenizer) and spells_everything(segmenter.inventory)
    for batch in chain.from_iterable(corpus.file_batches(file) for file in files):
        if batch.language and batch.language not in NO_LANGUAGE:
            parts.setdefault(batch.language, []).append(_lines(segmenter, batch.texts, lossless))
    return {language: _joined(some) for language, some in parts.items()}


def _joined(parts: Sequence[Lines]) -> Lines:
    arrays = {key: np.concatenate([getattr(part, key) for part in parts]) for key in Lines._fields[:-1]}
    return Lines(**arrays, script=parts[0].script)


def _lines(segmenter: Segmenter, texts: list[str], lossless: bool) -> Lines:
    column = pl.Series(texts, dtype=pl.String)
    tokens, unspelled = _tokens(segmenter, texts, lossless)
    script = Characters.of(pl.Series(["".join(texts)])).script_of()[0]
    return Lines(
        column.str.len_bytes().cast(pl.Int64).to_numpy(),
        column.str.len_chars().cast(pl.Int64).to_numpy(),
        np.array([*map(graphemes, texts)], np.int64),
        tokens,
        unspelled,
        str(script.cast(pl.String).item()),
    )


def graphemes(text: str) -> int:
    """Extended grapheme clusters of a text (Unicode Standard Annex 29)."""
    if text.isascii() and "\r" not in text:
        return len(text)
    return len(_CLUSTER.findall(text))


def _tokens(
    segmenter: Segmenter, texts: list[str], lossless: bool
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Tokens of each text, and whether it holds text that no entry spells."""
    if not isinstance(segmenter, Tokenizer):
        found = segmenter.segment_batch(texts)
        tokens = np.array([*map(len, found)], np.int64)
        return tokens, np.array([bool(each.unknown) for each in found], np.bool_)
    encoded = segmenter.encode_batch(texts)
    lost = np.zeros(len(texts), np.bool_)
    if segmenter.unknown:
        places = np.flatnonzero(np.isin(encoded.ids, sorted(segmenter.unknown)))
        lost[np.searchsorted(encoded.offsets, places, side="right") - 1] = True
    elif not lossless:
        lost = np.array([*_dropped(segmenter, texts)], np.bool_)
    return np.diff(encoded.offsets), lost


def _dropped(segmenter: Tokenizer, texts: list[str]) -> Iterator[bool]:
    """Whether text that is no white space lies under no token."""
    for each in segmenter.segment_batch(texts):
        holes = (each.text[low:high] for low, high in each.uncovered.tolist())
        yield any(hole.decode(errors="replace").strip() for hole in holes)
