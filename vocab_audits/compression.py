"""What a text costs in tokens, by language, and how it uses the vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from vocab_audits.figures import (
    document_sizes,
    size_figures,
    token_figures,
    words_alone,
)
from vocab_audits.frequencies import entropy
from vocab_audits.usage import TABLE, in_learned_order
from workbench.audit import Outcome, audit
from workbench.counting import count
from workbench.findings import Finding
from workbench.languages import UNKNOWN, has_word_spaces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from vocab_audits.figures import Figures
    from workbench.corpora import Corpus
    from workbench.inventory import Inventory
    from workbench.tokenizer import Tokenizer


class Measure(NamedTuple):
    """One figure: its column in the table, its name and variant among the findings, its unit."""

    key: str
    name: str
    variant: str | None
    unit: str


TOTALS, DOCUMENTS = "ratio of totals", "mean of the documents' ratios"
BARE, AFTER_SPACE = "words alone, bare", "words alone, after a space"
PRODUCIBLE = "of entries that text can produce"
MEASURES = (
    Measure("documents", "documents", None, "documents"),
    Measure("bytes", "bytes", None, "bytes"),
    Measure("characters", "characters", "code points", "characters"),
    Measure("tokens", "tokens", "corpus token count", "tokens"),
    Measure("bytes_per_token", "bytes_per_token", TOTALS, "bytes"),
    Measure("bytes_per_token_mean", "bytes_per_token", DOCUMENTS, "bytes"),
    Measure("characters_per_token", "characters_per_token", TOTALS, "characters"),
    Measure("characters_per_token_mean", "characters_per_token", DOCUMENTS, "characters"),
    Measure("words", "words", "what stands between white space", "words"),
    Measure("fertility_after_space", "fertility", AFTER_SPACE, "tokens per word"),
    Measure("fertility_bare", "fertility", BARE, "tokens per word"),
    Measure("fertility_running", "fertility", "running text, ratio of totals", "tokens per word"),
    Measure("fertility_mean", "fertility", "running text, mean of the documents' ratios", "tokens per word"),
    Measure("continued_after_space", "continued_words", AFTER_SPACE, "share of words"),
    Measure("continued_bare", "continued_words", BARE, "share of words"),
    Measure("single_after_space", "single_token_words", AFTER_SPACE, "share of words"),
    Measure("single_bare", "single_token_words", BARE, "share of words"),
    Measure("entropy", "entropy", "Shannon", "bits per token"),
    Measure("renyi_observed", "renyi_efficiency", "α = {alpha}, over log2 of the types seen", "ratio"),
    Measure("renyi_declared", "renyi_efficiency", "α = {alpha}, over log2 of all entries declared", "ratio"),
    Measure("types", "entries_seen", PRODUCIBLE, "entries"),
    Measure("never_seen", "entries_never_seen", PRODUCIBLE, "entries"),
    Measure("hapaxes", "entries_seen_once", PRODUCIBLE, "entries"),
    Measure("utilisation", "vocabulary_utilisation", PRODUCIBLE, "share of entries"),
    Measure("utilisation_all", "vocabulary_utilisation", "of all entries declared", "share of entries"),
    Measure("hapax_share", "share_seen_once", "of entries seen", "share of entries"),
    Measure("unknown_tokens", "unknown_tokens", "running text", "tokens"),
    Measure("unknown_characters", "unknown_characters", "words alone, without white space", "characters"),
    Measure("coverage", "coverage", "words alone, without white space", "share of characters"),
    Measure("valid_tokens", "utf8_valid_tokens", "valid UTF-8 by themselves", "share of tokens"),
    Measure("crossing_tokens", "utf8_crossing_tokens", "parts of several characters", "share of tokens"),
    Measure("lone_bytes", "lone_byte_tokens", "one byte that is no character", "share of tokens"),
    Measure("split_characters", "split_characters", "of characters of several bytes", "share of characters"),
)
WORD_KEYS = frozenset(
    measure.key
    for measure in MEASURES
    if measure.name in ("words", "fertility", "continued_words", "single_token_words")
)


@audit("Compression and fertility", version=2)
def compression(
    tokenizer: Tokenizer,
    corpus: Corpus,
    *,
    alpha: float = 2.5,
    top_rare: int = 20,
) -> Outcome:
    """Tokens per byte, character and word, evenness and use of the vocabulary.

    Args:
        tokenizer: the tokenizer.
        corpus: the corpus; a language is told apart where its files or rows name it.
        alpha: order of the Rényi efficiency.
        top_rare: how many of the first-learned entries that the corpus never shows are listed.

    Returns:
        Findings for the whole corpus and each language; tables ``token_counts`` (subject, token_id,
        count, for entries that occur) and ``compression`` (one row a language, null for the whole).

    Raises:
        SutureError: the order is negative.
    """
    entropy(np.ones(1, np.int64), alpha)  # refuses a bad order before the work
    counts = count(tokenizer, corpus, documents=True)
    sizes = document_sizes(counts, corpus)
    figures: Figures = {language: {} for language in (None, *counts.languages)}
    for part in (
        size_figures(sizes),
        words_alone(tokenizer, corpus),
        token_figures(tokenizer, counts, alpha),
    ):
        for language, found in part.items():
            figures[language] |= found
    if counts.languages == (UNKNOWN,):
        del figures[UNKNOWN]  # the same as the whole
    named = {"alpha": f"{alpha:g}"}
    seen = np.flatnonzero(counts.total)
    occurring = pl.DataFrame({"token_id": seen.astype(np.int32), "count": counts.total[seen]})
    subject = pl.lit(tokenizer.name).alias("subject")
    return Outcome(
        [
            *_findings(tokenizer.name, figures, named),
            *_never_seen(tokenizer.inventory, counts.total, top_rare),
        ],
        {TABLE: occurring.select(subject, pl.all()), "compression": _wide(figures).select(subject, pl.all())},
    )


def _findings(name: str, figures: Figures, named: dict[str, str]) -> Iterator[Finding]:
    unspaced = [language for language in figures if language and not has_word_spaces(language)]
    for language, found in figures.items():
        for measure in MEASURES:
            value = found.get(measure.key)
            note = None if value is not None else "not applicable: nothing of the kind occurs"
            if measure.key in WORD_KEYS:
                note = _word_note(value is None, found.get("words"), language, unspaced)
            lossy = measure.key == "coverage" and language is None and value is not None and value < 1
            if lossy:
                note = "text without an entry costs no token or one for all of it: the lengths look shorter"
            yield Finding(
                name,
                "compression",
                measure.name,
                None if value is None else float(value),
                measure.variant and measure.variant.format(**named),
                measure.unit,
                "warn" if lossy else "info",
                language=language,
                note=note,
            )


def _word_note(missing: bool, words: float | None, language: str | None, unspaced: list[str]) -> str | None:
    """Why there is no figure of words, or which languages it leaves out."""
    if language in unspaced or (language is None and unspaced and words is None):
        return "not applicable: words are not parted by spaces"
    if missing:
        return f"not applicable: {'the tokenizer puts a space before every text' if words else 'no words'}"
    if language is None and unspaced:
        return f"without {', '.join(unspaced)}, where words are not parted by spaces"
    return None


def _never_seen(inventory: Inventory, total: NDArray[np.int64], top: int) -> Iterator[Finding]:
    """The first-learned of the entries that the corpus never shows."""
    ordered = in_learned_order(inventory)
    missing = pl.Series(total[ordered["id"].to_numpy()] == 0)
    unseen = ordered.filter(missing & (pl.col("bytes").bin.size() > 1)).head(top)
    for token_id, token in unseen.select("id", "bytes").iter_rows():
        yield Finding(
            inventory.name,
            "compression",
            "entry_never_seen",
            0.0,
            "first learned, of several bytes",
            "occurrences",
            token_id=token_id,
            token=token,
        )


def _wide(figures: Figures) -> pl.DataFrame:
    """One row a language, null for the whole; one column a measure."""
    schema = {"language": pl.String()} | {measure.key: pl.Float64() for measure in MEASURES}
    rows = [{"language": language, **found} for language, found in figures.items()]
    columns = {key: [row.get(key) for row in rows] for key in schema}
    return pl.DataFrame([pl.Series(key, columns[key], kind, strict=False) for key, kind in schema.items()])
