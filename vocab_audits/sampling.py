"""What tokenizers are trained on: a sample of a corpus as counts of pre-tokens, and morphs of its words."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import polars as pl
import regex

from workbench.adapters.morfessor_ import learn
from workbench.bpe import GPT2_PATTERN, pretokens
from workbench.corpora import Batch, kept
from workbench.counting import WORD
from workbench.errors import SutureError
from workbench.languages import TWO_TO_THREE, UNKNOWN, has_word_spaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from workbench.corpora import Corpus

TOTALS = pl.Schema(
    {"language": pl.String(), "documents": pl.Int64(), "bytes": pl.Int64(), "words": pl.Int64()}
)


def sampled(corpus: Corpus, limit: int) -> Iterator[Batch]:
    """The documents of a corpus, thinned by their hash to about ``limit`` bytes, and never more than that.

    Args:
        corpus: the corpus.
        limit: bytes of text; 0 for all.

    Raises:
        SutureError: the limit is negative, or the corpus cannot be read or holds no text.
    """
    if limit < 0:
        raise SutureError(f"limit_bytes must be 0, for all, or more; got {limit}; correct the option")
    if not limit:
        yield from corpus.batches()
        return
    total = sum(len(text.encode()) for batch in corpus.batches() for text in batch.texts)
    share, left = limit / max(total, 1), limit
    for batch in corpus.batches():
        texts = []
        for text in batch.texts if share >= 1 else [text for text in batch.texts if kept(text, share)]:
            if (left := left - len(text.encode())) < 0:
                break
            texts.append(text)
        if texts:
            yield Batch(texts, batch.language)
        if left < 0:
            return


def cutter(pattern: str | None) -> Callable[[str], list[str]]:
    """A function that cuts a text into pre-tokens, which join to it.

    Raises:
        SutureError: the pattern is no regular expression.
    """
    asked = pattern or GPT2_PATTERN
    list(pretokens("", asked))  # refuses what is no regular expression
    compiled = regex.compile(asked)

    def cut(text: str) -> list[str]:
        if not compiled.groups:
            found: list[str] = compiled.findall(text)
            if sum(map(len, found)) == len(text):
                return [piece for piece in found if piece]
        return list(pretokens(text, asked))

    return cut


def pretoken_counts(texts: Iterable[str], pattern: str | None) -> Counter[str]:
    """How often each pre-token occurs."""
    return Counter(chain.from_iterable(map(cutter(pattern), texts)))


def parted(counts: Counter[str], morphs: Mapping[str, Sequence[str]]) -> Counter[str]:
    """Pre-tokens cut at the morphs of their words, so that no pair reaches over a boundary of morphs.

    Args:
        counts: how often each pre-token occurs.
        morphs: morphs of a word; a pre-token of a word after a space keeps it on its first morph.
    """
    found: Counter[str] = Counter()
    for piece, times in counts.items():
        word = piece.removeprefix(" ")
        first, *rest = morphs.get(word) or (word,)
        for part in (piece[: len(piece) - len(word)] + first, *rest):
            found[part] += times
    return found


def words_of(counts: Counter[str]) -> Counter[str]:
    """Pre-tokens that are words of letters, without the space before them."""
    letters = regex.compile(r" ?([\p{L}\p{M}]+)")
    found: Counter[str] = Counter()
    for piece, times in counts.items():
        if match := letters.fullmatch(piece):
            found[match[1]] += times
    return found


def learned_morphs(words: Counter[str], most: int, seed: int) -> dict[str, list[str]]:
    """Morphs of every word by Morfessor Baseline (Creutz and Lagus 2002), learned from word types.

    Args:
        words: occurrences of each word.
        most: word types that it learns from, the most frequent first.
        seed: of the order in which it goes through them.

    Raises:
        MissingExtra: Morfessor is not installed.
    """
    types = [word for word, _ in sorted(words.items(), key=lambda item: (-item[1], item[0]))[:most]]
    if not types:
        return {}
    model = learn(types, seed)
    return {word: list(model.viterbi_segment(word)[0]) for word in words}


class Text(NamedTuple):
    """A sample of a corpus as counts of pre-tokens.

    Attributes:
        counts: how often each pre-token occurs, by language; ``und`` where it is not known.
        totals: one row a language: language, documents, bytes, words (between white space; null where the
            language puts none between words).
    """

    counts: dict[str, Counter[str]]
    totals: pl.DataFrame

    @property
    def whole(self) -> Counter[str]:
        """Counts of all languages together."""
        found: Counter[str] = Counter()
        for counts in self.counts.values():
            found.update(counts)
        return found

    def lexical(self, languages: Iterable[str]) -> Counter[str]:
        """Words of letters in lower case, of these languages and of text of no known language.

        Where there is no such text, those of all languages.
        """
        wanted = {_base(language) for language in languages} | {UNKNOWN}
        chosen = [counts for language, counts in self.counts.items() if _base(language) in wanted]
        found: Counter[str] = Counter()
        for counts in chosen or self.counts.values():
            for word, times in words_of(counts).items():
                found[word.lower()] += times
        return found


def _base(language: str) -> str:
    """A language's code of three letters, without script and region."""
    code = language.replace("_", "-").partition("-")[0].lower()
    return TWO_TO_THREE.get(code, code)


def read_text(batches: Iterable[Batch], pattern: str | None) -> Text:
    """Counts the pre-tokens of documents.

    Raises:
        SutureError: the pattern is no regular expression.
    """
    cut = cutter(pattern)
    counts: dict[str, Counter[str]] = {}
    rows = []
    for batch in batches:
        language = batch.language or UNKNOWN
        counts.setdefault(language, Counter()).update(chain.from_iterable(map(cut, batch.texts)))
        texts = pl.Series(batch.texts, dtype=pl.String)
        words = texts.str.count_matches(WORD).sum() if has_word_spaces(language) else None
        rows.append((language, len(texts), texts.str.len_bytes().sum(), words))
    totals = (
        pl.DataFrame(rows, TOTALS, orient="row")
        .group_by("language")
        .agg(
            pl.col("documents", "bytes").sum(),
            words=pl.when(pl.col("words").count() > 0).then(pl.col("words").sum()),
        )
    )
    return Text(counts, totals.sort("language"))
