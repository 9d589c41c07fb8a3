"""Morfessor Baseline, an unsupervised segmenter of words, trained at load or read from its text model."""

from __future__ import annotations

import hashlib
import logging
import random
import sys
from collections import Counter
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import regex

from workbench.adapters.words import WORD, WordSegmenter
from workbench.errors import MissingExtra, SutureError, UnreadableFile, UnsafeFile
from workbench.languages import has_word_spaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from workbench.corpora import Corpus

_KEPT = 1 << 16
"""Words whose segmentation is kept at a time."""

_HEAD = 4096
_WORDS = regex.compile(WORD)
_LINE = regex.compile(r"(\d+) (\S+(?: \+ \S+)*)")
_SEED = regex.compile(r"(.*)#seed=(\d+)", regex.DOTALL)


def from_words(address: str, name: str | None = None) -> WordSegmenter:
    """Trains Morfessor Baseline on the words of a corpus, or reads a model that it wrote as text.

    Words are taken in lower case, each type once (Morfessor's ``ones``), and cut in lower case.

    Args:
        address: a corpus as ``suture count`` takes it (``sample``, a text file, a word list of one word a
            line), or a segmentation file of Morfessor; ``#seed=3`` after it for another order of training
            than that of seed 0.
        name: short name; by default ``morfessor:`` and the address.

    Raises:
        MissingExtra: Morfessor is not installed.
        UnsafeFile: the file is a pickle, as Morfessor's binary models are.
        SutureError: the corpus cannot be read or has no word.
    """
    _library()
    asked = _SEED.fullmatch(address)
    spec, seed = (asked[1], int(asked[2])) if asked else (address, 0)
    path = Path(spec).expanduser()
    head = b""
    if path.is_file():
        with path.open("rb") as file:
            head = file.read(_HEAD)
        _refuse_pickle(head, path)
    if head and _is_model(head):
        model, digest = read_model(path), hashlib.sha256(path.read_bytes()).hexdigest()
        notes: tuple[str, ...] = ("read from a segmentation file of Morfessor",)
    else:
        from workbench.corpora import open_corpus

        corpus = open_corpus(spec)
        counts = words_of(corpus)
        model, digest = train(counts, seed, _shown), corpus.digest
        notes = (f"trained on {len(counts):,} word types of {spec}, seed {seed}",)
    return segmenter(model, name or f"morfessor:{address}", f"morfessor:{address}", digest, notes)


def segmenter(
    model: Any, name: str, source: str | None = None, digest: str | None = None, notes: tuple[str, ...] = ()
) -> WordSegmenter:
    """A trained model of Morfessor as a segmenter."""
    from importlib import metadata

    known = f"morfessor {metadata.version('morfessor')}" + (f", {digest}" if digest else "")

    def parts(word: str) -> tuple[str, ...]:
        low = word.lower()
        if len(low) != len(word):
            return (word,)
        made, at = [], 0
        for piece in model.viterbi_segment(low)[0]:
            made.append(word[at : at + len(piece)])
            at += len(piece)
        return tuple(made)

    return WordSegmenter(name, lru_cache(_KEPT)(parts), source, known, (*notes, "words in lower case"))


def words_of(corpus: Corpus) -> Counter[str]:
    """Words of a corpus in lower case, with how often they stand in it.

    Documents in a language that puts no spaces between words are passed over.

    Raises:
        SutureError: it holds none.
    """
    counts: Counter[str] = Counter()
    for batch in corpus.batches():
        if not has_word_spaces(batch.language):
            continue
        for text in batch.texts:
            counts.update(_WORDS.findall(text.lower()))
    if not counts:
        raise SutureError(
            f"Morfessor must be trained on words; {corpus.source} holds none; give a corpus or a word list"
        )
    return counts


def train(counts: Mapping[str, int], seed: int = 0, progress: Callable[[str], None] = lambda _: None) -> Any:
    """Trains Morfessor Baseline on the words of a count, in the order of the alphabet, each type once.

    Arguments and errors are those of ``learn``.
    """
    return learn(sorted(counts), seed, progress)


def learn(words: Sequence[str], seed: int = 0, progress: Callable[[str], None] = lambda _: None) -> Any:
    """Trains Morfessor Baseline in batches, each word type once, until its cost hardly falls.

    Args:
        words: the word types; their order is a part of the input.
        seed: of the order in which each epoch takes them; the random state of Python stays as it was.
        progress: told epoch and cost after each epoch.

    Returns:
        A ``morfessor.BaselineModel``.

    Raises:
        MissingExtra: Morfessor is not installed.
    """
    morfessor = _library()
    model = morfessor.BaselineModel()
    model.load_data((1, word) for word in words)
    with _quiet(morfessor, progress):
        state = random.getstate()
        random.seed(seed)
        try:
            model.train_batch()
        finally:
            random.setstate(state)
    return model


def read_model(path: Path) -> Any:
    """Reads a segmentation file of Morfessor: ``COUNT part + part`` a line, ``#`` before remarks.

    Raises:
        UnreadableFile: a line is of another form, or the file is not UTF-8.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise UnreadableFile(
            f"a segmentation file must be UTF-8; {path} is not; convert it, or train from its words"
        ) from None
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line.strip())
        if not found:
            raise UnreadableFile(
                f"a line of a segmentation file must be a count and parts set apart by ' + '; line {number} "
                f"of {path} is {line[:60]!r}; write it with morfessor-train --save-segmentation"
            )
        parts = tuple(found[2].split(" + "))
        rows.append((int(found[1]), "".join(parts), parts))
    model = _library().BaselineModel()
    model.load_segmentations(rows)
    return model


def _refuse_pickle(head: bytes, path: Path) -> None:
    if head.startswith((b"\x80", b"(dp0", b"ccopy_reg", b"PK\x03\x04")):
        raise UnsafeFile(
            f"a Morfessor model must be data that runs nothing when read; {path} is a pickle; write its "
            "segmentations as text with morfessor-train --save-segmentation"
        )


def _is_model(head: bytes) -> bool:
    """Whether a file begins like a segmentation file: its first lines have counts, some a plus sign."""
    lines = [line.strip() for line in head.decode(errors="replace").splitlines()[:-1]]
    rows = [line for line in lines if line and not line.startswith("#")]
    return bool(rows) and all(_LINE.fullmatch(row) for row in rows) and any(" + " in row for row in rows)


def _library() -> Any:
    try:
        import morfessor
    except ImportError as error:
        raise MissingExtra(
            f"Morfessor must be installed; it is not ({error}); run pip install 'suture[linguistics]'"
        ) from None
    return morfessor


def _shown(message: str) -> None:
    """Tells a person who waits at a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"suture: note: Morfessor, {message}\n")


@contextmanager
def _quiet(morfessor: Any, progress: Callable[[str], None]) -> Iterator[None]:
    """Hands Morfessor's reports of an epoch on and keeps its dots off the terminal."""

    class Reports(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            message = record.getMessage()
            if message.startswith("Epochs:"):
                progress(" ".join(message.split()).lower())

    logger, utils = logging.getLogger("morfessor.baseline"), morfessor.utils
    handler, level, dots, up = Reports(), logger.level, utils.show_progress_bar, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = utils.show_progress_bar = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate, utils.show_progress_bar = up, dots
