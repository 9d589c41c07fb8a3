"""Pairs of published vocabularies laid over each other on multilingual text: homes, chunks, residual."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from probing.bridge.chunks import pair_texts
from probing.bridge.report import vocabularies
from tests import vocabs
from vocab_audits.bridgeable import bridgeable
from workbench.adapters import load
from workbench.corpora import open_corpus

if TYPE_CHECKING:
    from pathlib import Path

    from workbench.tokenizer import Tokenizer

SIZE = 1 << 20
"""Bytes of text, taken in turn from each language."""

PAIRS = (
    ("o200k", "cl100k"), ("cl100k", "o200k"), ("tekken", "gpt2"), ("gpt2", "tekken"), ("gemma3", "llama3"),
    ("llama3", "gemma3"), ("qwen3", "llama3"), ("deepseek", "o200k"), ("o200k", "deepseek"),
)  # fmt: skip


class Row(NamedTuple):
    """One pair: teacher to student."""

    pair: str
    twins: float
    spannable: float
    non_spanning: float
    strict: float
    residual: float
    expected_spannable: float


def texts(data: Path) -> list[str]:
    """About ``SIZE`` bytes of the parallel text, a line of each language in turn, or the embedded corpus."""
    folder = data / "parallel"
    corpus = open_corpus(str(folder)) if folder.is_dir() else open_corpus("embedded")
    sides = [[text for batch in corpus.file_batches(file) for text in batch.texts] for file in corpus.files]
    found, size = [], 0
    for line in range(max(map(len, sides))):
        for side in sides:
            if line < len(side) and side[line] and size < SIZE:
                found.append(side[line])
                size += len(side[line].encode())
    return found


def rows(data: Path, folder: Path) -> list[Row]:
    """Every pair on the same text.

    Args:
        data: folder with the parallel text.
        folder: where the text is written for the audit.
    """
    text = texts(data)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "text.txt").write_text("\n".join(text), encoding="utf-8")
    corpus = open_corpus(str(folder / "text.txt"))
    loaded: dict[str, Tokenizer] = {}
    found = []
    for teacher, student in PAIRS:
        for name in (teacher, student):
            if name not in loaded:
                encoding = vocabs.ITEMS[name].encoding
                spec = f"tiktoken:{encoding}" if encoding else str(vocabs.vocab(name))
                loaded[name] = load(spec, name)
        above, below = loaded[teacher], loaded[student]
        entries = vocabularies(above, below)
        shares = pair_texts(above, below, text).shares()
        outcome = bridgeable([above, below], corpus)
        subject = f"{teacher} to {student}"
        expected = {row.measure: row.value for row in outcome.findings if row.subject == subject}
        found.append(
            Row(
                f"{teacher} → {student}",
                entries["share with a twin of the same bytes"],
                entries["share that a student entry goes on beyond"],
                shares["non_spanning"] or 0.0,
                shares["strict"] or 0.0,
                expected["residual_expected"] or 0.0,
                expected["spannable_expected"] or 0.0,
            )
        )
    return found
