"""MorphScore in both years against the published rule written as a plain loop, with each convention."""

from __future__ import annotations

from itertools import pairwise, product
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import builders
from tests.vocab_audits.test_morphology import Fixed, lexicon, measured, value
from vocab_audits.morphscore import REVISED_MACRO, Quirks
from workbench.adapters import load

QUIRKS = [Quirks(*switches) for switches in product((True, False), repeat=3)]


def ends(parts):
    return {sum(map(len, parts[:at])) for at in range(1, len(parts))}


def points(morphs, tokens, quirks):
    """Recall and precision of a word by the rule of the revision; None where it takes no part."""
    if len(morphs) > 3:
        return None
    if len(tokens) == 1:
        return None if quirks.exclude_single_token else (1.0, 1.0)
    if len(morphs) == 1:
        return None if quirks.exclude_single_morph else (0.0, 0.0)
    found = len(ends(morphs) & (ends(tokens) | {len("".join(tokens))}))
    return found / len(ends(morphs)), found / len(tokens)


def revised(words, quirks):
    """The revision's six figures over (morphs, tokens, frequency) rows."""
    kept = [(row, points(row[0], row[1], quirks)) for row in words]
    kept = [(row, point) for row, point in kept if point]
    weights = [row[2] if quirks.frequency_scale else 1 for row, _ in kept]
    weighted = [
        sum(weight * point[at] for (_, point), weight in zip(kept, weights, strict=True)) / sum(weights)
        if sum(weights)
        else None
        for at in (0, 1)
    ]
    common = [len(set(morphs) & set(tokens)) for (morphs, tokens, _), _ in kept]
    sizes = [(len(tokens), len(morphs)) for (morphs, tokens, _), _ in kept]
    if not kept:
        return [*weighted, None, None, None, None]
    pooled = [sum(common) / sum(size[at] for size in sizes) for at in (0, 1)]
    means = [fmean(n / size[at] for n, size in zip(common, sizes, strict=True)) for at in (0, 1)]
    f1 = [2 * p * r / (p + r) if p + r else 0.0 for p, r in (pooled, means)]
    return [*weighted, f1[0], f1[1], means[0], means[1]]


def cut(word, places):
    inner = sorted({place % len(word) for place in places} - {0})
    return [word[low:high] for low, high in pairwise([0, *inner, len(word)])]


PLACES = st.lists(st.integers(0, 8), max_size=3)
WORDS = st.lists(
    st.tuples(st.text("ab語", min_size=1, max_size=7), PLACES, PLACES, st.integers(0, 5)),
    min_size=1, max_size=7, unique_by=lambda row: row[0],
)  # fmt: skip


@pytest.mark.parametrize("quirks", QUIRKS, ids=str)
@settings(max_examples=25, deadline=None)
@given(WORDS)
def test_the_published_rules(quirks, rows):
    words = [(cut(word, gold), cut(word, own), float(often)) for word, gold, own, often in rows]
    made = lexicon(
        [("en", "|".join(morphs)) for morphs, _, _ in words], frequency=[often for _, _, often in words]
    )
    segmenter = Fixed({"".join(tokens): "|".join(tokens) for _, tokens, _ in words})
    found = measured(segmenter, made, **quirks._asdict())
    got = [
        value(found, "morphscore_recall"),
        value(found, "morphscore_precision", "2025: the word's end"),
        value(found, "subword_f1", "2025 micro"),
        value(found, "subword_f1", REVISED_MACRO),
        value(found, "subword_precision", REVISED_MACRO),
        value(found, "subword_recall", REVISED_MACRO),
    ]
    assert got == pytest.approx(revised(words, quirks))
    pairs = [
        ends(tokens) >= ends(morphs) for morphs, tokens, _ in words if len(morphs) == 2 and len(tokens) > 1
    ]
    assert value(found, "morphscore", "2024") == (pytest.approx(fmean(pairs)) if pairs else None)


def test_worked_figures_of_subwords():
    gold = lexicon([("en", "a|ba"), ("en", "na|na|s")])
    found = measured(Fixed({"aba": "ab|a", "nanas": "na|na|s"}), gold)
    # "a" is a piece and a morph although it stands elsewhere; "na" counts once: the published sets do so.
    assert value(found, "subword_precision", "2025 micro") == pytest.approx(3 / 5)
    assert value(found, "subword_f1", "2025 macro") == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert found["precision", "micro"] == pytest.approx(2 / 3)


def test_a_word_of_one_token_counts_before_its_morphs_are_looked_at():
    gold = lexicon([("en", "dog"), ("en", "cat|s")])
    segmenter = Fixed({"dog": "dog", "cats": "c|ats"})
    assert value(measured(segmenter, gold), "morphscore_recall") == 0
    assert value(measured(segmenter, gold, exclude_single_token=False), "morphscore_recall") == 0.5


def test_an_unknown_token_lifts_no_figure():
    gold = lexicon([("ta", "கள்"), ("ta", "தமிழ்|கள்"), ("ta", "play|ing")])
    found = measured(load(builders.wordpiece(["[UNK]", "pl", "##aying"])), gold, exclude_single_token=False)
    assert value(found, "subword_f1", "2025 macro") == 0
    assert value(found, "subword_f1", "2025 micro") == 0
    assert value(found, "morphscore_recall") == 0
