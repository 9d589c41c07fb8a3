"""Growth: one BPE read at every size, what its entries are, and when morphs and words come into it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from vocab_audits.growthfindings import findings
from vocab_audits.growthtables import boundaries, censuses, costs, listed, merge_log, reached, units
from vocab_audits.restricted import Restricted
from vocab_audits.sampling import read_text, sampled
from vocab_audits.training import MOST, bpe, from_merges, save, with_pattern
from vocab_audits.unitclasses import classified
from workbench.adapters import load
from workbench.audit import Outcome, audit
from workbench.bpe import BYTES
from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from vocab_audits.sampling import Text
    from workbench.corpora import Corpus
    from workbench.lexicon import MorphLexicon
    from workbench.tokenizer import Tokenizer

CHUNK = 1 << 16
"""Pre-tokens encoded at a time, which bounds memory."""


class Grown(NamedTuple):
    """A BPE with all its beginnings, and how the text it was trained on uses it.

    Attributes:
        tokenizer: the BPE at its full size; every text it is given counts as one pre-token.
        running: the same as it cuts running text.
        restricted: its entries with their pairs.
        sizes: the sizes at which it is read, rising.
        occurrences: occurrences of each entry at the full size, by language (entries,).
        text: what it was trained on.
    """

    tokenizer: Tokenizer
    running: Tokenizer
    restricted: Restricted
    sizes: tuple[int, ...]
    occurrences: dict[str, NDArray[np.int64]]
    text: Text


@audit("A growing BPE vocabulary", on_request=True)
def growth(
    corpus: Corpus,
    lexicon: MorphLexicon,
    *,
    sizes: tuple[int, ...] = (512, 1024, 2048, 4096, 8192, 16384, 32768),
    pattern: str | None = None,
    limit_bytes: int = 50_000_000,
    seed: int = 0,
    keep: str | None = None,
) -> Outcome:
    """What a byte-level BPE learns first: its entries, cost and cuts at rising sizes, beside chance.

    Args:
        corpus: text to train on, and to measure cost on.
        lexicon: words and their morphs.
        sizes: numbers of entries at which the one BPE is read; what the text does not yield is said.
        pattern: regular expression of pre-tokens; GPT-2's by default.
        limit_bytes: text taken, thinned by the documents' hash; 0 for all.
        seed: of the one random list that the table ``growth_null`` shows.
        keep: folder in which the BPE of each size is written as ``bpe-SIZE/tokenizer.json``.

    Returns:
        Findings on each size (subject ``bpe-SIZE``) and on the whole (subject ``bpe``); tables ``growth``,
        ``growth_census``, ``growth_boundaries``, ``growth_list``, ``growth_reached``, ``growth_units``,
        ``growth_merges`` and ``growth_null``.

    Raises:
        SutureError: a size is below 257, or the pattern is no regular expression.
    """
    wanted = checked(sizes)
    text = read_text(sampled(corpus, limit_bytes), pattern)
    grown = grow(text, wanted, pattern)
    known = classified(grown.tokenizer.inventory, lexicon)
    words = text.lexical(lexicon.languages)
    forms = units(grown, lexicon, words)
    lists, random = listed(grown, forms, words, seed)
    tables = {
        "growth": costs(grown),
        "growth_census": censuses(grown, known),
        "growth_boundaries": boundaries(grown, lexicon),
        "growth_list": lists,
        "growth_reached": reached(grown, forms),
        "growth_units": forms.select(pl.lit("bpe").alias("subject"), pl.all()),
        "growth_merges": merge_log(grown, known),
        "growth_null": random,
    }
    if keep:
        _write(grown, pattern, Path(keep))
    return Outcome(findings(tables, wanted, lexicon.name), tables)


def checked(sizes: Sequence[int]) -> tuple[int, ...]:
    """Sizes, rising and each once.

    Raises:
        SutureError: there is none, or one is no whole number above the 256 bytes.
    """
    good = all(
        isinstance(size, int) and not isinstance(size, bool) and len(BYTES) < size <= MOST for size in sizes
    )
    if not sizes or not good:
        raise SutureError(
            f"sizes must be whole numbers above 256, the bytes, and at most {MOST:,}; got {list(sizes)}; "
            "give some such as 512, 1024"
        )
    return tuple(sorted(set(sizes)))


def grow(text: Text, sizes: Sequence[int], pattern: str | None) -> Grown:
    """Trains to the greatest size and counts the entries in the text.

    Where the text yields fewer entries, the sizes beyond are left out and the whole comes last.
    """
    made = bpe(text.whole, max(sizes))
    tokenizer = load(made, "bpe")
    whole = len(tokenizer.inventory)
    read = (*(size for size in sizes if size < whole), whole)
    occurrences = {language: _occurrences(tokenizer, counts) for language, counts in text.counts.items()}
    running = load(with_pattern(made, pattern), "bpe")
    return Grown(tokenizer, running, Restricted.of(tokenizer.inventory), read, occurrences, text)


def _occurrences(tokenizer: Tokenizer, counts: Counter[str]) -> NDArray[np.int64]:
    """How often each entry occurs, each pre-token being encoded once (entries,)."""
    found = np.zeros(tokenizer.inventory.rows_needed, np.int64)
    pieces, times = list(counts), np.fromiter(counts.values(), np.int64, len(counts))
    for at in range(0, len(pieces), CHUNK):
        encoded = tokenizer.encode_batch(pieces[at : at + CHUNK])
        np.add.at(found, encoded.ids, np.repeat(times[at : at + CHUNK], np.diff(encoded.offsets)))
    return found


def _write(grown: Grown, pattern: str | None, folder: Path) -> None:
    pieces = grown.tokenizer.inventory.pieces
    first = len(BYTES)
    left, right = (side[first:].tolist() for side in (grown.restricted.left, grown.restricted.right))
    merges = [(pieces[one], pieces[two]) for one, two in zip(left, right, strict=True)]
    for size in grown.sizes:
        save(with_pattern(from_merges(merges[: size - first]), pattern), folder / f"bpe-{size}")
