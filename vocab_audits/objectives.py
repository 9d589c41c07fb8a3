"""Objectives: vocabularies of one size, learned from one text in several ways, side by side."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from vocab_audits.contrast import COSTS, between, cost, cuts, shares
from vocab_audits.frequencies import entropy
from vocab_audits.objectivefindings import findings
from vocab_audits.randommerges import random_merges
from vocab_audits.sampling import learned_morphs, parted, read_text, sampled, words_of
from vocab_audits.training import MOST, bpe, from_merges, save, trained, unigram, with_pattern, wordpiece
from workbench.adapters import load
from workbench.audit import Outcome, audit
from workbench.bpe import BYTES
from workbench.corpora import Batch, kept
from workbench.errors import MissingExtra, SutureError
from workbench.languages import UNKNOWN, has_word_spaces

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tokenizers import Tokenizer as Backend

    from workbench.corpora import Corpus
    from workbench.lexicon import MorphLexicon

OBJECTIVES = ("bpe", "wordpiece", "unigram", "morph-bpe", "random")
USUAL = ("bpe", "wordpiece", "unigram")
"""Objectives that have a pipeline of their own in common use."""

LEAST_SIZES = {"wordpiece": 2 * len(BYTES) + 2}
"""WordPiece has each byte twice, and an unknown token; the others have each once."""

LONGEST_WORD = 40
"""Letters of the longest word whose morphs are learned; longer runs are no words as a rule."""

SALT = b"held-out"


class Plan(NamedTuple):
    """What every objective is given.

    Attributes:
        train: documents to learn from.
        held: documents held out.
        size: entries.
        pattern: regular expression of pre-tokens, None for GPT-2's.
        morph_words: word types that Morfessor learns from.
        seed: of the random merges and of Morfessor.
    """

    train: list[Batch]
    held: list[Batch]
    size: int
    pattern: str | None
    morph_words: int
    seed: int


@audit("Objectives side by side", on_request=True)
def objectives(
    corpus: Corpus,
    lexicon: MorphLexicon,
    *,
    objectives: tuple[str, ...] = OBJECTIVES,
    size: int = 8192,
    pattern: str | None = None,
    limit_bytes: int = 4_000_000,
    held_out: float = 0.1,
    alpha: float = 2.5,
    morph_words: int = 20_000,
    usual: bool = False,
    seed: int = 0,
    keep: str | None = None,
) -> Outcome:
    """BPE, WordPiece, Unigram, BPE within learned morphs and random merges, trained alike and compared.

    Args:
        corpus: text to train on; a part is held out for cost.
        lexicon: words and their morphs.
        objectives: which of them.
        size: entries of each; less where the text yields less, and then for all.
        pattern: regular expression of pre-tokens; GPT-2's by default.
        limit_bytes: text taken, thinned by the documents' hash; 0 for all.
        held_out: share of the documents held out, by their hash.
        alpha: order of the Rényi efficiency.
        morph_words: most frequent word types that Morfessor learns from.
        usual: train BPE, WordPiece and Unigram each in the pipeline that is usual for it, instead of one.
        seed: of the random merges and of Morfessor.
        keep: folder in which each is written as ``NAME/tokenizer.json``.

    Returns:
        Findings on each (subject ``OBJECTIVE-SIZE``) and each pair; tables ``objectives``,
        ``objectives_boundaries``, ``objectives_census`` and ``objectives_pairs``.

    Raises:
        SutureError: an option is out of its range.
    """
    _check(objectives, size, held_out)
    entropy(np.ones(1, np.int64), alpha)  # refuses a bad order before the work
    train, held = split(sampled(corpus, limit_bytes), held_out)
    plan = Plan(train, held, size, pattern, morph_words, seed)
    backends, missing = learn(plan, objectives, usual=usual)
    tokenizers = [load(backend, name) for name, backend in backends.items()]
    if keep:
        for name, backend in backends.items():
            save(backend, Path(keep) / name)
    costs = [cost(each, part, name, alpha) for each in tokenizers
             for name, part in (("held out", held), ("trained on", train))]  # fmt: skip
    counted = {row["subject"]: counts for row, counts in costs if row["part"] == "trained on"}
    census = [shares(each, lexicon, counted[each.name]) for each in tokenizers]
    pairs = [between(one, two) for one, two in combinations(zip(tokenizers, census, strict=True), 2)]
    tables = {
        "objectives": pl.DataFrame([row for row, _ in costs], COSTS),
        "objectives_boundaries": pl.concat(cuts(each, lexicon) for each in tokenizers),
        "objectives_census": pl.concat(census),
        "objectives_pairs": pl.DataFrame(pairs),
    }
    asked = {each.name: len(each.inventory) for each in tokenizers}
    return Outcome(findings(tables, asked, size, missing, alpha), tables)


def _check(names: Sequence[str], size: int, held_out: float) -> None:
    unknown = [name for name in names if name not in OBJECTIVES]
    if unknown or not names:
        got = ", ".join(map(str, unknown)) or "none"
        raise SutureError(
            f"objectives must be some of {', '.join(OBJECTIVES)}; got {got}; correct the option"
        )
    if size > MOST:
        raise SutureError(f"size must be at most {MOST:,} entries; got {size}; ask for fewer")
    if size < (least := least_size(names)):
        raise SutureError(
            f"size must be at least {least} for {', '.join(names)}, which spell every byte; got {size}; "
            "raise it"
        )
    if not 0 <= held_out < 1:
        raise SutureError(f"held_out must be a share from 0 to below 1; got {held_out}; 0.1 is usual")


def least_size(names: Iterable[str]) -> int:
    """Entries that all of some objectives have beyond their single bytes."""
    return max(LEAST_SIZES.get(name, len(BYTES) + 1) for name in names)


def split(batches: Iterable[Batch], share: float) -> tuple[list[Batch], list[Batch]]:
    """Documents to learn from and documents held out, told by their hash: equal texts fall alike."""
    train: list[Batch] = []
    held: list[Batch] = []
    for batch in batches:
        out = [kept(text, share, SALT) for text in batch.texts]
        for side, chosen in ((held, True), (train, False)):
            texts = [text for text, away in zip(batch.texts, out, strict=True) if away == chosen]
            if texts:
                side.append(Batch(texts, batch.language))
    return train, held


def learn(plan: Plan, names: Sequence[str], *, usual: bool) -> tuple[dict[str, Backend], dict[str, str]]:
    """Trains each objective to one size: where one yields fewer entries, all are trained anew to those.

    Returns:
        The tokenizers by name, and by objective why one could not be trained.
    """
    text = read_text(plan.train, plan.pattern)
    counts = text.whole
    own = set(USUAL) if usual else set()
    missing: dict[str, str] = {}
    parts = counts
    if "morph-bpe" in names:
        try:
            parts = _parted(text.counts, counts, plan)
        except MissingExtra as error:
            missing["morph-bpe"] = str(error)
    texts = [text for batch in plan.train for text in batch.texts] if own else []
    ways: dict[str, Callable[[int], Backend]] = {
        "bpe": lambda size: bpe(counts, size),
        "wordpiece": lambda size: wordpiece(counts, size),
        "unigram": lambda size: unigram(counts, size),
        "morph-bpe": lambda size: bpe(parts, size),
        "random": lambda size: from_merges(random_merges(counts, size, plan.seed)),
    }
    for name in own:
        ways[name] = partial(trained, name, texts)
    wanted = [name for name in dict.fromkeys(names) if name not in missing]
    if not wanted:
        raise MissingExtra(next(iter(missing.values())))
    size, made = _alike({name: ways[name] for name in wanted}, plan.size)
    return (
        {
            f"{name}-{size}": backend if name in own else with_pattern(backend, plan.pattern)
            for name, backend in made.items()
        },
        {f"{name}-{size}": why for name, why in missing.items()},
    )


def _alike(ways: Mapping[str, Callable[[int], Backend]], size: int) -> tuple[int, dict[str, Backend]]:
    """Trains all to the greatest size, up to the one asked for, that each of them yields."""
    made: dict[str, Backend] = {}
    while True:
        for name, way in ways.items():
            if name not in made or made[name].get_vocab_size() > size:
                made[name] = way(size)
        least = min(backend.get_vocab_size() for backend in made.values())
        if least < least_size(ways):
            raise SutureError(
                f"the text must yield at least {least_size(ways)} entries to compare {', '.join(ways)}; it "
                f"yields {least}; give more text"
            )
        if least >= size:
            return size, made
        size = least


def _parted(by_language: dict[str, Counter[str]], counts: Counter[str], plan: Plan) -> Counter[str]:
    """The pre-tokens, words cut at morphs that Morfessor learned where words have spaces between."""
    words = type(counts)()
    for language, found in by_language.items():
        if has_word_spaces(None if language == UNKNOWN else language):
            words.update(words_of(found))
    known = type(counts)({word: times for word, times in words.items() if len(word) <= LONGEST_WORD})
    return parted(counts, learned_morphs(known, plan.morph_words, plan.seed))
