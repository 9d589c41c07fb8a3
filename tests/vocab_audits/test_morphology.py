"""The alignment audit against plain loops over words, closed forms, and defects of other tools."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import builders
from tests.vocabs import need
from vocab_audits.boundaries import Compared
from vocab_audits.consistency import consistency, pair_scores, surprisal
from vocab_audits.morphology import morphology
from workbench.adapters import load, load_segmenter
from workbench.cutting import cut_words
from workbench.errors import SutureError
from workbench.lexicon import SCHEMA, MorphLexicon, bounds
from workbench.resampling import ratios
from workbench.segmentation import Segmentation


def lexicon(rows, **columns) -> MorphLexicon:
    """A lexicon from (language, morphs parted by |)."""
    table = {
        "language": [language for language, _ in rows],
        "word": [morphs.replace("|", "") for _, morphs in rows],
        "morphs": [morphs.split("|") for _, morphs in rows],
        "how": ["concatenative"] * len(rows),
        **columns,
    }
    schema = {name: SCHEMA[name] for name in table}
    frame = pl.DataFrame(table, schema).with_columns(
        [pl.lit(None, kind).alias(name) for name, kind in SCHEMA.items() if name not in table]
    )
    return MorphLexicon("made", "made", frame.select(SCHEMA.names()))


class Fixed:
    """A segmenter that cuts known words at known places."""

    name = "fixed"

    def __init__(self, cuts: dict[str, str]) -> None:
        self.cuts = cuts

    def segment(self, text: str) -> Segmentation:
        skip = len(text) - len(text.lstrip(" "))
        parts = self.cuts[text[skip:]].split("|")
        places = np.cumsum([0, skip, *(len(part.encode()) for part in parts)])
        return Segmentation.from_cuts(text.encode(), sorted(set(places.tolist())))

    def segment_batch(self, texts):
        return [self.segment(text) for text in texts]


def measured(segmenter, gold, form="bare", language=None, **options) -> dict[tuple[str, str], float | None]:
    table = morphology(segmenter, gold, resamples=0, **options).tables["morphology"]
    language = gold.languages[0] if language is None else language
    rows = table.filter(language=language, form=form)
    return {(row["measure"], row["variant"]): row["value"] for row in rows.iter_rows(named=True)}


def value(found, measure, variant=""):
    (match,) = [
        figure for (name, kind), figure in found.items() if name == measure and kind.startswith(variant)
    ]
    return match


def brute(segmenter, gold: MorphLexicon, before: str):  # noqa: C901 one loop, on purpose plain
    """Every ratio by a loop over words and sets of character offsets."""
    sums: Counter[str] = Counter()
    for row in gold.frame.iter_rows(named=True):
        word, skip = row["word"], len(before)
        found = segmenter.segment(before + word)
        if found.unknown:
            sums["unknown"] += 1
            continue
        index = {len((before + word)[:at].encode()): at - skip for at in range(len(before + word) + 1)}
        cuts = {index[cut] for cut in found.cuts.tolist() if cut in index and 0 < index[cut] < len(word)}
        ends, at = set(), 0
        for morph in row["morphs"][:-1]:
            at += len(morph)
            ends.add(at)
        hits = len(cuts & ends)
        tokens = sum(
            e > len(before.encode()) and e > s
            for s, e in zip(found.starts.tolist(), found.ends.tolist(), strict=True)
        )
        sums.update(scored=1, hits=hits, predicted=len(cuts), gold=len(ends), whole=tokens == 1)
        if cuts:
            sums.update({"macro precision": hits / len(cuts), "with cuts": 1})
        if ends:
            sums.update({"macro recall": hits / len(ends), "with gold": 1})
        if cuts or ends:
            sums.update({"macro f1": 2 * hits / (len(cuts) + len(ends)), "with any": 1})
        if len(word) > 1:
            sums["chance"] += len(cuts) * len(ends) / (len(word) - 1)
        if len(ends) == 1 and tokens > 1:
            sums.update({"2024": hits, "2024 words": 1})
        if 1 <= len(ends) <= 2 and tokens > 1:
            sums.update({"2025 recall": hits / len(ends), "2025 end": hits / tokens, "2025": 1})
            sums["2025 inner"] += hits / len(cuts) if cuts else 0
        owner = [sum(place >= end for end in sorted(ends)) for place in range(len(word))]
        token = [sum(place >= cut for cut in sorted(cuts)) for place in range(len(word))]
        for number, morph in enumerate(row["morphs"]):
            held = Counter(token[place] for place in range(len(word)) if owner[place] == number)
            sums.update({"integrity": max(held.values()) / len(morph), "intact": len(held) == 1, "morphs": 1})
        pairs = Counter(zip(token, owner, strict=True))
        for number in set(token):
            parts = {morph: count for (part, morph), count in pairs.items() if part == number}
            broken = any(count < len(row["morphs"][morph]) for morph, count in parts.items())
            sums.update(turbid=len(parts) > 1 and broken, tokens=1)
    return sums


def over(sums, above, below):
    return sums[above] / sums[below] if sums[below] else None


PAIRS = [(b"p", b"l"), (b"i", b"n"), (b"in", b"g"), (b"e", b"d")]
WORDPIECES = [
    "[UNK]",
    "play",
    "##ing",
    "##ed",
    "##s",
    "p",
    "##l",
    "##a",
    "##y",
    "un",
    "##do",
    "do",
    "e",
    "##v",
]
SEGMENTERS = {
    "byte level": lambda: load(builders.byte_level([b"pl", b"in", b"ing", b"ed"], PAIRS)),
    "word pieces": lambda: load(builders.wordpiece(WORDPIECES)),
    "whitespace": lambda: load_segmenter("spacy:en"),
    "gpt2": lambda: load("tiktoken:r50k_base"),
    "unigram": lambda: load(str(need("mistral-v1"))),
}
WORDS = "play|ing play|ed play|s un|do|ing do évè|ne|ments 사람|이 p|l|a|y undo|s ed|ing 日本|語 un|play|ed"
ROWS = [("en", word) for word in WORDS.split()]


@pytest.mark.parametrize("name", SEGMENTERS)
def test_every_ratio_by_a_loop(name):
    segmenter, gold = SEGMENTERS[name](), lexicon(ROWS)
    own = getattr(getattr(segmenter, "pipeline", None), "prefix_space", False)
    for form, before in {"bare": "", "after a space": " "}.items():
        if own and form == "bare":
            continue
        found = measured(segmenter, gold, form)
        sums = brute(segmenter, gold, "" if own else before)
        twice = None if not sums["predicted"] + sums["gold"] else 2 / (sums["predicted"] + sums["gold"])
        expected = {
            ("precision", "micro"): over(sums, "hits", "predicted"),
            ("recall", "micro"): over(sums, "hits", "gold"),
            ("f1", "micro"): twice and sums["hits"] * twice,
            ("f1", "micro, as many cuts at random"): twice and sums["chance"] * twice,
            ("precision", "macro over words where it is defined"): over(sums, "macro precision", "with cuts"),
            ("recall", "macro over words where it is defined"): over(sums, "macro recall", "with gold"),
            ("f1", "macro over words where it is defined"): over(sums, "macro f1", "with any"),
            ("kept_whole", "words that are one token"): over(sums, "whole", "scored"),
            ("morphscore", "2024: words of two morphs and several tokens"): over(sums, "2024", "2024 words"),
            ("morphscore_recall", "2025: words of two or three morphs"): over(sums, "2025 recall", "2025"),
            ("morphscore_precision", "2025: the word's end counts as a cut"): over(sums, "2025 end", "2025"),
            ("morphscore_precision", "2025 without the word's end"): over(sums, "2025 inner", "2025"),
            ("morphs_intact", "morphs that lie in one token"): over(sums, "intact", "morphs"),
            ("words_scored", "words without an unknown token"): sums["scored"],
            ("words_unknown", "words with an unknown token, left out"): sums["unknown"],
        }  # fmt: skip
        assert {key: found[key] for key in expected} == pytest.approx(expected), form
        assert value(found, "token_turbidity") == pytest.approx(over(sums, "turbid", "tokens"))
        assert value(found, "morph_integrity") == pytest.approx(over(sums, "integrity", "morphs"))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text("aé語", min_size=1, max_size=8), st.integers(), st.integers()), max_size=6))
def test_hits_and_overlaps_of_random_cuts(rows):
    def cut(word, seed):
        chance = random.Random(seed)  # noqa: S311 cuts, not secrets
        ends = [0, *(at for at in range(1, len(word)) if chance.random() < 0.4), len(word)]
        return [word[low:high] for low, high in pairwise(ends)]

    words = [f"{word}{number}" for number, (word, *_) in enumerate(rows)]
    gold = [cut(word, one) for word, (_, one, _) in zip(words, rows, strict=True)]
    cuts = {word: "|".join(cut(word, two)) for word, (_, _, two) in zip(words, rows, strict=True)}
    compared = Compared(
        words, bounds(pl.Series(gold, dtype=pl.List(pl.String))), cut_words(Fixed(cuts), words)
    )
    overlaps = compared.overlaps
    assert int(overlaps.characters.sum()) == sum(map(len, words))
    assert len(overlaps.morph_rows) == sum(map(len, gold))
    assert len(overlaps.token_rows) == sum(len(parts.split("|")) for parts in cuts.values())
    assert (compared.hits <= np.minimum(compared.predicted, compared.gold.counts)).all()
    whole = np.bincount(overlaps.morph_rows, overlaps.morph_characters, minlength=len(words))
    assert whole.tolist() == list(map(len, words))


def test_worked_figures():
    gold = lexicon([("de", "Anlage|n|techniker"), ("tr", "ev|ler|imiz|de")])
    segmenter = Fixed({"Anlagentechniker": "Anlagen|techniker", "evlerimizde": "evler|imizde"})
    for language, (precision, recall, f1) in {"de": (1, 0.5, 2 / 3), "tr": (1, 1 / 3, 0.5)}.items():
        found = measured(segmenter, gold, language=language)
        assert found["precision", "micro"] == precision
        assert found["recall", "micro"] == pytest.approx(recall)
        assert found["f1", "micro"] == pytest.approx(f1)


def test_a_korean_word_in_bytes_is_not_nought():
    gold = lexicon([("ko", "사람|이"), ("ko", "학교|에")])
    found = measured(load(builders.byte_level()), gold)
    assert value(found, "morphscore", "2024") == 1
    assert found["recall", "micro"] == 1
    assert found["precision", "micro"] < 1, "recall alone would praise cutting everywhere"
    assert value(found, "cuts_inside_characters") > 0


def test_continuation_marks_do_not_hide_a_boundary():
    gold = lexicon([("en", "play|ing")])
    found = measured(load(builders.wordpiece(["[UNK]", "play", "##ing"])), gold)
    assert value(found, "morphscore", "2024") == found["f1", "micro"] == 1


def test_an_unknown_word_is_no_hit_and_no_miss():
    gold = lexicon([("ta", "தமிழ்|கள்"), ("ta", "play|ing")])
    found = measured(load(builders.wordpiece(["[UNK]", "play", "##ing"])), gold, exclude_single_token=False)
    assert value(found, "words_unknown") == 1
    assert value(found, "morphscore_recall") == 1
    only = measured(load(builders.wordpiece(["[UNK]", "x"])), lexicon([("ta", "தமிழ்|கள்")]))
    assert only["recall", "micro"] is None
    assert value(only, "morphscore", "2024") is None


def test_the_end_of_a_word_is_no_boundary_unless_the_quirk_is_asked_for():
    gold = lexicon([("en", "play|ing")])
    found = measured(Fixed({"playing": "play|ing"}), gold)
    assert found["precision", "micro"] == 1
    assert value(found, "morphscore_precision", "2025: the word's end") == 0.5
    assert value(found, "morphscore_precision", "2025 without") == 1


def test_quirks_are_switched_and_named():
    gold = lexicon([("en", "play|ing"), ("en", "dog"), ("en", "cat|s")], frequency=[1.0, 5.0, 3.0])
    segmenter = Fixed({"playing": "playing", "dog": "d|og", "cats": "ca|ts"})
    default = measured(segmenter, gold)
    assert value(default, "morphscore_recall") == 0
    single = measured(segmenter, gold, exclude_single_token=False)
    assert (
        value(single, "morphscore_recall", "2025: words of two or three morphs, a word of one token counts 1")
        == 0.5
    )
    morph = measured(segmenter, gold, exclude_single_morph=False)
    assert ("morphscore_recall", "2025: words of two or three morphs, with words of one morph") in morph
    scaled = measured(segmenter, gold, exclude_single_token=False, frequency_scale=True)
    assert value(scaled, "morphscore_recall") == pytest.approx(1 / 4)
    assert scaled["recall", "micro, weighted by the lexicon's frequencies"] == 0


def test_what_is_undefined_stays_undefined():
    found = measured(Fixed({"dog": "dog"}), lexicon([("en", "dog")]))
    assert found["precision", "micro"] is found["recall", "micro"] is found["f1", "micro"] is None
    findings = morphology(Fixed({"dog": "dog"}), lexicon([("en", "dog")])).table()
    assert findings.filter(pl.col("value").is_null())["note"].null_count() == 0


def test_consistency_by_hand():
    table = pl.DataFrame({"morph": ["ing", "ing", "ing", "s", "un"], "split": ["|-", "|-", "--", "||", "|-"]})
    found = consistency(table)
    assert found.occurrences == 3
    assert found.majority == pytest.approx(2 / 3)
    assert found.entropy == pytest.approx(-(2 / 3) * math.log2(2 / 3) - (1 / 3) * math.log2(1 / 3))
    assert consistency(table.filter(pl.col("morph") == "s")) == (None, None, 0)


@given(
    st.lists(st.tuples(st.lists(st.sampled_from("abc"), min_size=1, max_size=3),
                       st.lists(st.sampled_from("xyz"), min_size=1, max_size=3)), max_size=7)
)  # fmt: skip
def test_consistency_over_pairs_by_enumeration(rows):
    pieces, morphs = [row[0] for row in rows], [row[1] for row in rows]
    found = Counter()
    for one, two in combinations(range(len(rows)), 2):
        token, unit = set(pieces[one]) & set(pieces[two]), set(morphs[one]) & set(morphs[two])
        found.update(token=bool(token), unit=bool(unit), both=bool(token and unit))
    expected = (over(found, "both", "token"), over(found, "both", "unit"))
    scores = pair_scores(pieces, morphs)
    assert (scores.precision, scores.recall) == expected
    total = found["token"] + found["unit"]
    assert scores.f1 == (2 * found["both"] / total if total else None)


@given(
    st.lists(st.lists(st.sampled_from([b"a", b"bb", b"c"]), min_size=1, max_size=4), max_size=6), st.randoms()
)
def test_surprisal_by_a_loop(words, chance):
    gold = [chance.random() < 0.5 for word in words for _ in word[1:]]
    found = surprisal(words, np.array(gold, bool))
    tokens = [token for word in words for token in word]
    kinds, bits = len(set(tokens)), []
    for row, word in enumerate(words):
        for at in range(1, len(word)):
            others = [
                (two[place - 1] if place else None, two[place])
                for other, two in enumerate(words) for place in range(len(two)) if (other, place) != (row, at)
            ]  # fmt: skip
            alone = (sum(token == word[at] for _, token in others) + 1) / (len(others) + kinds)
            before = [pair for pair in others if pair[0] == word[at - 1]]
            given_ = (sum(pair[1] == word[at] for pair in before) + alone) / (len(before) + 1)
            bits.append(-math.log2(given_) / len(word[at]))
    one = [bit for bit, is_gold in zip(bits, gold, strict=True) if is_gold]
    other = [bit for bit, is_gold in zip(bits, gold, strict=True) if not is_gold]
    assert found.cuts == (len(one), len(other))
    if not one or not other:
        assert found.difference is found.auc is None
        return
    wins = sum((a > b + 1e-9) + 0.5 * (abs(a - b) <= 1e-9) for a in one for b in other)
    assert found.difference == pytest.approx(sum(one) / len(one) - sum(other) / len(other))
    assert found.auc == pytest.approx(wins / len(one) / len(other))


def test_intervals_against_scipy_and_a_closed_form():
    from scipy import stats

    chance = np.random.default_rng(3)
    above = chance.integers(0, 4, (400, 1)).astype(float)
    below = above + chance.integers(0, 4, (400, 1))
    found = ratios(above, below, 2000, 1)

    def statistic(a, b, axis=-1):
        return a.sum(axis) / b.sum(axis)

    other = stats.bootstrap(
        (above[:, 0], below[:, 0]), statistic, paired=True, vectorized=True, n_resamples=2000,
        method="percentile", random_state=chance,
    ).confidence_interval  # fmt: skip
    assert found.value[0] == above.sum() / below.sum()
    assert (found.low[0], found.high[0]) == pytest.approx((other.low, other.high), abs=0.01)
    share = ratios((chance.random((5000, 1)) < 0.3).astype(float), np.ones((5000, 1)), 2000, 0)
    width = 1.96 * math.sqrt(0.3 * 0.7 / 5000)
    assert share.high[0] - share.low[0] == pytest.approx(2 * width, rel=0.1)


def test_many_units_are_resampled_in_groups(monkeypatch):
    chance = np.random.default_rng(0)
    values = (chance.random((3000, 2)) < 0.4).astype(float)
    whole = ratios(values, np.ones((3000, 2)), 800, 0)
    monkeypatch.setattr("workbench.resampling.UNITS", 500)
    grouped = ratios(values, np.ones((3000, 2)), 800, 0)
    assert np.array_equal(whole.value, grouped.value)
    assert np.allclose(whole.high - whole.low, grouped.high - grouped.low, rtol=0.15)
    assert np.isnan(ratios(values, np.zeros((3000, 2)), 10, 0).value).all()


def test_groups_add_up_to_the_whole():
    roles = [
        ["root", "suffix"],
        ["root", "suffix"],
        ["root", "suffix"],
        ["prefix", "root", "suffix"],
        ["root"],
    ]
    gold = lexicon(ROWS[:5], roles=roles, pos=["VERB", "VERB", "NOUN", None, "VERB"],
                   features=["V;PST", "V;PST", "N;PL", None, "V"])  # fmt: skip
    segmenter = load(builders.byte_level())
    groups = morphology(segmenter, gold, resamples=0).tables["morphology_groups"].filter(form="bare")
    sums = measured(segmenter, gold)
    for name in ("how", "morphs", "characters"):
        part = groups.filter(group=name)
        assert part["gold"].sum() == value(sums, "boundaries_gold")
        assert part["hits"].sum() == value(sums, "boundaries_hit")
    beside = {row["value"]: row["gold"] for row in groups.filter(group="role").iter_rows(named=True)}
    assert beside == {"prefix": 1, "suffix": 4}
    assert dict(groups.filter(group="feature").select("value", "words").iter_rows())["PST"] == 2
    assert groups.filter(group="part of speech", value="VERB")["words"].to_list() == [3]


def test_the_tables_tell_words_and_morphs():
    gold = lexicon(
        [("en", "play|ing"), ("en", "play|ed"), ("en", "sing|ing")], lemma=["play", "play", "sing"]
    )
    segmenter = Fixed({"playing": "play|ing", "played": "pl|ayed", "singing": "singing"})
    tables = morphology(segmenter, gold, resamples=5).tables
    words = tables["morphology_words"].filter(form="bare")
    assert words.row(0, named=True)["word"] == "played"
    assert words.row(0, named=True)["pieces"] == ["pl", "ayed"]
    morphs = {
        row["morph"]: row for row in tables["morphology_morphs"].filter(form="bare").iter_rows(named=True)
    }
    assert (morphs["play"]["occurrences"], morphs["play"]["intact"], morphs["play"]["splits"]) == (2, 0.5, 2)
    assert (morphs["ing"]["intact"], morphs["ing"]["splits"]) == (1.0, 2)
    found = measured(segmenter, gold)
    assert value(found, "paradigm_entropy") == pytest.approx(1)
    whole = tables["morphology"]
    assert whole.filter(pl.col("low") > pl.col("value")).is_empty()
    assert whole.filter(pl.col("high") < pl.col("value")).is_empty()


@pytest.mark.parametrize("option", ["resamples", "seed", "pairs", "words"])
def test_a_negative_number_is_refused(option):
    with pytest.raises(SutureError, match=f"{option} of morphology must be 0 or more; got -1"):
        morphology(Fixed({"dog": "dog"}), lexicon([("en", "dog")]), **{option: -1})


def test_a_segmenter_measured_by_its_own_rules_is_warned_of():
    segmenter = Fixed({"dog": "dog"})
    gold = lexicon([("en", "dog")])
    assert morphology(segmenter, gold, resamples=0).table().filter(measure="circular").is_empty()
    segmenter.source = "affixes:en"
    made = replace(gold, source="embedded:en")
    warned = morphology(segmenter, made, resamples=0).table().filter(measure="circular")
    assert warned["severity"].to_list() == ["warn"]
