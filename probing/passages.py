"""Short passages of a corpus, and which of them are held out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workbench.corpora import kept
from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.corpora import Corpus


class Split(NamedTuple):
    """Passages to learn from and passages held out; no text is in both."""

    train: list[str]
    held: list[str]


def passages(texts: Iterable[str], most: int) -> Iterator[str]:
    """Texts cut into passages at white space; a single word that is too long is left out.

    Args:
        texts: the texts; an empty one gives nothing.
        most: bytes of a passage at most.

    Yields:
        Passages without white space at their ends; within one, words are parted by one space.
    """
    for text in texts:
        held: list[str] = []
        size = 0
        for word in text.split():
            length = len(word.encode())
            if length > most:
                continue
            if held and size + 1 + length > most:
                yield " ".join(held)
                held, size = [], 0
            size += length + bool(held)
            held.append(word)
        if held:
            yield " ".join(held)


def split(corpus: Corpus, most: int, share: float = 0.1, limit: int | None = None) -> Split:
    """Passages of a corpus, divided by a hash of their text, so that equal texts fall on one side.

    Args:
        corpus: the corpus.
        most: bytes of a passage at most.
        share: share that is held out, about.
        limit: passages taken at most.

    Raises:
        SutureError: one side is empty.
    """
    found = Split([], [])
    texts = (text for batch in corpus.batches() for text in batch.texts)
    for count, passage in enumerate(dict.fromkeys(passages(texts, most))):
        if limit is not None and count >= limit:
            break
        found[kept(passage, share)].append(passage)
    if not (found.train and found.held):
        raise SutureError(
            f"a corpus must give passages to learn from and to hold out; {corpus.source} gives "
            f"{len(found.train)} and {len(found.held)}; give more text"
        )
    return found
