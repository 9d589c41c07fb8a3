"""Token counts over a corpus, in bounded memory: with all cores of this machine, or on Ray.

The counts are sums over batches, so they depend neither on the engine nor on the number of workers.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import polars as pl

from workbench.errors import SutureError
from workbench.languages import UNKNOWN, has_word_spaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.corpora import Batch, Corpus
    from workbench.tokenizer import Tokenizer

__all__ = ["ALL", "Counts", "Part", "count", "has_word_spaces", "measure", "word_types"]

ALL = "all"
"""The one language of counts that are not kept apart by language."""

WORD = r"[^\s\x1c-\x1f]+"
"""What ``str.split`` leaves whole: Python, unlike Unicode, takes the four separators for spaces too."""

MERGE_ROWS = 1 << 20

DOCUMENT_SCHEMA = pl.Schema(
    {
        "language": pl.String(),
        "document": pl.Int64(),
        "bytes": pl.Int64(),
        "codepoints": pl.Int64(),
        "tokens": pl.Int64(),
    }
)


class Part(NamedTuple):
    """Counts of one batch.

    ``ids`` are the batch's token ids, each once where ``times`` (equally long) says how often; ``totals``
    are documents, bytes, code points and tokens; ``sizes`` has the last three a document, if asked for;
    ``place`` orders the parts of a corpus.
    """

    place: tuple[int, int]
    language: str
    ids: NDArray[np.int32]
    times: NDArray[np.int64] | None
    totals: tuple[int, int, int, int]
    sizes: pl.DataFrame | None


@dataclass(frozen=True, eq=False)
class Counts:
    """Token counts of a corpus.

    Attributes:
        tokens: for each language, the occurrences of every id (rows_needed,); ``und`` stands for text
            whose language is not known, ``all`` for everything where languages were not kept apart.
        totals: a row a language, sorted: language, documents, bytes, codepoints, tokens.
        documents: a row a document, if asked for, sorted: language, document (its place among those of
            its language, from 0), bytes, codepoints, tokens.
    """

    tokens: Mapping[str, NDArray[np.int64]] = field(repr=False)
    totals: pl.DataFrame
    documents: pl.DataFrame | None = field(default=None, repr=False)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages, sorted."""
        return tuple(self.tokens)

    @property
    def total(self) -> NDArray[np.int64]:
        """Occurrences of every id in all languages together (rows_needed,)."""
        whole: NDArray[np.int64] = np.sum(list(self.tokens.values()), axis=0, dtype=np.int64)
        return whole


def count(
    tokenizer: Tokenizer,
    corpus: Corpus,
    *,
    by_language: bool = True,
    documents: bool = False,
    engine: Literal["local", "ray"] = "local",
    workers: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Counts:
    """Counts the tokens of a corpus; text that spells a special token counts as plain text.

    Args:
        tokenizer: the tokenizer.
        corpus: the corpus; ``corpus.check()`` tells beforehand what is wrong with its text.
        by_language: keep languages apart.
        documents: also keep the sizes of each document, in memory.
        engine: ``local`` for threads (the libraries encode outside of Python's lock), or ``ray`` for
            Ray Data, which needs the extra ``scale`` and a tokenizer read from a file or by name.
        workers: threads, or Ray actors; by default as many as there are cores.
        progress: called with the number of bytes of text just counted.

    Raises:
        MissingExtra: Ray is not installed.
        SutureError: the corpus cannot be read or holds no text, or an option is out of its range.
    """
    if workers is not None and workers < 1:
        raise SutureError(f"workers must be at least 1; got {workers}; leave it out to use every core")
    if engine == "local":
        parts = _local(tokenizer, corpus.batches(), documents, workers or cores())
    elif engine == "ray":
        from workbench.counting_ray import ray_parts  # noqa: PLC0415 an extra, imported where it is used

        parts = ray_parts(tokenizer, corpus, documents, workers)
    else:
        raise SutureError(f"an engine must be 'local' or 'ray'; got {engine!r}; name one of them")
    tally = _Tally(tokenizer.inventory.rows_needed, by_language)
    for part in parts:
        tally.add(part)
        if progress is not None:
            progress(part.totals[1])
    if not tally.totals or not sum(sizes[1] for sizes in tally.totals.values()):
        raise corpus.no_text()
    return tally.result(documents)


def cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def measure(tokenizer: Tokenizer, batch: Batch, place: tuple[int, int], documents: bool) -> Part:
    """Encodes a batch and measures its text."""
    encoded = tokenizer.encode_batch(batch.texts)
    joined = "".join(batch.texts)
    size = len(joined) if joined.isascii() else len(joined.encode())
    sizes = None
    if documents:
        texts = pl.Series(batch.texts, dtype=pl.String)
        sizes = pl.DataFrame(
            {
                "bytes": texts.str.len_bytes().cast(pl.Int64),
                "codepoints": texts.str.len_chars().cast(pl.Int64),
                "tokens": np.diff(encoded.offsets),
            }
        )
    totals = (len(batch.texts), size, len(joined), len(encoded.ids))
    return Part(place, batch.language or UNKNOWN, encoded.ids, None, totals, sizes)


def _local(tokenizer: Tokenizer, batches: Iterable[Batch], documents: bool, workers: int) -> Iterator[Part]:
    """Parts in the order of the batches, of which at most three a worker are held at a time."""
    waiting: deque[Future[Part]] = deque()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="suture-count")
    try:
        for number, batch in enumerate(batches):
            waiting.append(pool.submit(measure, tokenizer, batch, (0, number), documents))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


class _Tally:
    """Sums of parts, language by language."""

    def __init__(self, rows: int, by_language: bool) -> None:
        self.rows = rows
        self.by_language = by_language
        self.tokens: dict[str, NDArray[np.int64]] = {}
        self.totals: dict[str, NDArray[np.int64]] = {}
        self.sizes: list[tuple[tuple[int, int], pl.DataFrame]] = []

    def add(self, part: Part) -> None:
        language = part.language if self.by_language else ALL
        if language not in self.tokens:
            # Zeroed by the system page by page: a small text in many languages stays small in memory.
            self.tokens[language] = np.zeros(self.rows, np.int64)
            self.totals[language] = np.zeros(4, np.int64)
        np.add.at(self.tokens[language], part.ids, 1 if part.times is None else part.times)
        self.totals[language] += part.totals
        if part.sizes is not None:
            self.sizes.append((part.place, part.sizes.select(pl.lit(language).alias("language"), pl.all())))

    def result(self, documents: bool) -> Counts:
        languages = sorted(self.tokens)
        for tokens in self.tokens.values():
            tokens.flags.writeable = False
        table = np.array([self.totals[language] for language in languages])
        totals = pl.DataFrame(
            {"language": languages}
            | dict(zip(("documents", "bytes", "codepoints", "tokens"), table.T, strict=True)),
        )
        frame = None
        if documents:
            ordered = [sizes for _, sizes in sorted(self.sizes, key=lambda item: item[0])]
            numbered = pl.concat(ordered).with_columns(
                pl.int_range(pl.len(), dtype=pl.Int64).over("language").alias("document")
            )
            typed = numbered.select(pl.col(name).cast(kind) for name, kind in DOCUMENT_SCHEMA.items())
            frame = typed.sort("language", maintain_order=True)
        return Counts({language: self.tokens[language] for language in languages}, totals, frame)


def word_types(corpus: Corpus) -> pl.DataFrame:
    """The distinct words of a corpus, where a word is what stands between whitespace (``str.split``).

    For languages without spaces between words (``has_word_spaces``) such runs are not words.

    Returns:
        Columns language (``und`` where not known), word, count; the most frequent first in a language.

    Raises:
        SutureError: the corpus cannot be read, or holds no text.
    """
    merged = _NO_WORDS
    waiting: list[pl.DataFrame] = []
    rows = 0
    for batch in corpus.batches():
        words = pl.Series("word", batch.texts, dtype=pl.String).str.extract_all(WORD).explode().drop_nulls()
        found = words.value_counts(name="count")
        waiting.append(
            found.select(
                pl.lit(batch.language or UNKNOWN).alias("language"), "word", pl.col("count").cast(pl.Int64)
            )
        )
        rows += found.height
        if rows > max(MERGE_ROWS, merged.height):
            merged, waiting, rows = _merged([merged, *waiting]), [], 0
    merged = _merged([merged, *waiting])
    return merged.sort(["language", "count", "word"], descending=[False, True, False])


_NO_WORDS = pl.DataFrame(schema={"language": pl.String, "word": pl.String, "count": pl.Int64})


def _merged(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frames).group_by("language", "word").agg(pl.col("count").sum())
