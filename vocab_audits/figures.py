"""Figures of a tokenizer on a corpus, for the whole and for each language."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from vocab_audits.fragments import fragments
from vocab_audits.frequencies import efficiency, entropy
from vocab_audits.usage import PRODUCED
from vocab_audits.words import lengths, spaced, spells_everything, unspelled, word_figures
from workbench.counting import WORD, word_types
from workbench.languages import UNKNOWN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.corpora import Corpus
    from workbench.counting import Counts
    from workbench.tokenizer import Tokenizer

    Figures = dict[str | None, dict[str, float | None]]
    """Figures by key, for the whole (None) and for each language; what has no meaning is None or absent."""


def document_sizes(counts: Counts, corpus: Corpus) -> pl.DataFrame:
    """The counts' documents, with the number of words of each; null where words have no spaces between."""
    if counts.documents is None:
        raise AssertionError
    words = [
        pl.DataFrame({"text": batch.texts}, schema={"text": pl.String}).select(
            pl.lit(batch.language or UNKNOWN).alias("language"),
            pl.col("text").str.count_matches(WORD).cast(pl.Int64).alias("words"),
        )
        for batch in corpus.batches()
    ]
    # The counts' documents are sorted by language; a language's own stay in the order of the corpus.
    ordered = pl.concat(words).sort("language", maintain_order=True)
    table = counts.documents.with_columns(ordered["words"])
    return table.with_columns(pl.when(pl.lit(spaced(table["language"]))).then(pl.col("words")).alias("words"))


def _by_language(table: pl.DataFrame, figures: list[pl.Expr]) -> Figures:
    """Figures of all rows together and of each language."""
    whole = table.select(figures).row(0, named=True)
    parts = table.group_by("language").agg(figures)
    return {None: whole} | {row.pop("language"): row for row in parts.iter_rows(named=True)}


def size_figures(sizes: pl.DataFrame) -> Figures:
    """Tokens against bytes, characters and words of running text; words only where spaces part them."""
    tokens, words = pl.col("tokens"), pl.col("words")
    filled = pl.when(tokens > 0).then(tokens)
    worded = pl.when(words.is_not_null()).then(tokens)
    return _by_language(
        sizes,
        [
            pl.len().alias("documents"),
            pl.col("bytes").sum(),
            pl.col("codepoints").sum().alias("characters"),
            tokens.sum(),
            _ratio(pl.col("bytes").sum(), tokens.sum()).alias("bytes_per_token"),
            (pl.col("bytes") / filled).mean().alias("bytes_per_token_mean"),
            _ratio(pl.col("codepoints").sum(), tokens.sum()).alias("characters_per_token"),
            (pl.col("codepoints") / filled).mean().alias("characters_per_token_mean"),
            pl.when(words.count() > 0).then(words.sum()).alias("words"),
            _ratio(worded.sum(), words.sum()).alias("fertility_running"),
            (tokens / pl.when(words > 0).then(words)).mean().alias("fertility_mean"),
        ],
    )


def _ratio(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    return part / pl.when(whole > 0).then(whole)


def words_alone(tokenizer: Tokenizer, corpus: Corpus) -> Figures:
    """Figures of words alone, and of characters that the inventory cannot spell.

    Where it can spell anything, runs of text without spaces between words need not be encoded.
    """
    types = word_types(corpus)
    types = types.with_columns(spaced(types["language"]))
    complete = spells_everything(tokenizer.inventory)
    proper = types.filter("spaced")
    known = lengths(tokenizer, (proper if complete else types)["word"])
    proper = proper.join(known, on="word")
    figures = _by_language(proper, word_figures()) if proper.height else {}
    suspects = known.filter("suspect")["word"] if not complete else known["word"].clear()
    for language, found in coverage(types, unspelled(tokenizer, suspects)).items():
        figures[language] = figures.get(language, {}) | found
    return figures


def coverage(types: pl.DataFrame, lost: pl.DataFrame) -> Figures:
    """Characters, without white space, that the inventory cannot spell.

    Args:
        types: the words of a corpus: language, word, count.
        lost: characters lost from a word: word, lost; others lose none.
    """
    table = types.join(lost, on="word", how="left").with_columns(pl.col("lost").fill_null(0))
    characters = (pl.col("word").str.len_chars() * pl.col("count")).sum()
    missing = (pl.col("lost") * pl.col("count")).sum()
    return _by_language(
        table, [missing.alias("unknown_characters"), (1 - _ratio(missing, characters)).alias("coverage")]
    )


def token_figures(tokenizer: Tokenizer, counts: Counts, alpha: float) -> Figures:
    """Evenness, use of the vocabulary and whole characters, from the tokens' frequencies alone."""
    inventory, total = tokenizer.inventory, counts.total
    seen = np.flatnonzero(total)
    kinds = inventory.frame["kind"].is_in(PRODUCED) & inventory.frame["bytes"].is_not_null()
    producible = kinds.to_numpy()
    parts = fragments(inventory.frame["bytes"].gather(seen).fill_null(b"").to_list())
    known = ~np.isin(seen, sorted(tokenizer.unknown))

    def of(occurrences: NDArray[np.int64]) -> dict[str, float | None]:
        here = occurrences[seen]
        whole, spelled = here.sum(), here * known
        types = int(((here > 0) & producible[seen]).sum())
        once = int(((here == 1) & producible[seen]).sum())
        text = spelled.sum()
        return {
            "entropy": entropy(here),
            "renyi_observed": efficiency(here, alpha, int((here > 0).sum())),
            "renyi_declared": efficiency(here, alpha, len(inventory)),
            "types": types,
            "never_seen": int(producible.sum()) - types,
            "hapaxes": once,
            "utilisation": _share(types, producible.sum()),
            "utilisation_all": _share((here > 0).sum(), len(inventory)),
            "hapax_share": _share(once, types),
            "unknown_tokens": int(whole - text),
            "valid_tokens": _share((spelled * parts.valid).sum(), text),
            "crossing_tokens": _share((spelled * parts.crossing).sum(), text),
            "lone_bytes": _share((spelled * parts.lone).sum(), text),
            "split_characters": _share((spelled * parts.split).sum(), (spelled * parts.leads).sum()),
        }

    return {None: of(total)} | {language: of(tokens) for language, tokens in counts.tokens.items()}


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None
