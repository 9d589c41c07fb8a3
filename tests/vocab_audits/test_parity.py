"""Parity against plain Python over the same lines, identities of inequality, and published figures."""

from __future__ import annotations

import os
from itertools import pairwise
from statistics import mean

import numpy as np
import polars as pl
import pytest
import regex

from tests import builders
from tests.outside import corpus, parallel_text
from tests.vocabs import need, tiktoken_dir
from vocab_audits.parallel import EXAMPLES, graphemes, parallel_sets
from vocab_audits.parity import parity
from workbench.adapters import load
from workbench.corpora import open_corpus
from workbench.errors import SutureError
from workbench.segmentation import Segmentation

ENGLISH = ["The sun is up.", "It rains, the sun is gone.", "Oil runs.", "A long day it was.", "End"]
GERMAN = [
    "Die Sonne scheint über dem Dach.",
    "Es regnet, die Sonne ist fort.",
    "Öl läuft.",
    "Ein langer Tag.",
    "Aus",
]
HINDI = ["सूरज निकल आया है।", "बारिश हो रही है, सूरज चला गया।", "तेल बहता है।", "दिन लंबा था।", "अंत"]
TEXTS = {"de": GERMAN, "en": ENGLISH, "hi": HINDI}
LINE, MEAN = "to en, tokens per line, ratio of totals", "to en, tokens per line, mean of the lines' ratios"


@pytest.fixture
def tokenizer():
    extra = [b"th", b"he", b" t", b" th", b" the", b"on", b"su", b" su", b"\xe0\xa4", b"\xc3\xb6"]
    return load(builders.encoding(extra, pattern=builders.GPT2), "small")


class Words:
    """Cuts before each space; it has no inventory."""

    name = "words"

    def segment(self, text):
        data = text.encode()
        return Segmentation.from_cuts(
            data, [0, *(at for at in range(1, len(data)) if data[at] == 32), len(data)]
        )

    def segment_batch(self, texts):
        return [self.segment(text) for text in texts]


def value(outcome, measure, variant, language=None):
    rows = outcome.table().filter(measure=measure, variant=variant)
    rows = rows.filter(pl.col("language").eq_missing(language))
    assert rows.height == 1, (measure, variant, language, rows)
    return rows["value"][0]


SIZES = {
    "line": lambda _: 1,
    "byte": lambda line: len(line.encode()),
    "code point": len,
    "grapheme cluster": lambda line: len(regex.findall(r"\X", line)),
}


@pytest.mark.parametrize("unit", SIZES)
def test_premiums_and_inequality_against_loops(tmp_path, tokenizer, unit):
    outcome = parity(tokenizer, corpus(tmp_path, **TEXTS))
    tokens = {name: [len(tokenizer.encode(line)) for line in lines] for name, lines in TEXTS.items()}
    costs = {name: sum(tokens[name]) / sum(map(SIZES[unit], lines)) for name, lines in TEXTS.items()}
    for name, cost in costs.items():
        found = value(outcome, "premium", f"to en, tokens per {unit}, ratio of totals", name)
        assert found == pytest.approx(cost / costs["en"])
    found = list(costs.values())
    unequal = sum(abs(one - two) for one in found for two in found) / (2 * 9 * mean(found))
    variant = f"between languages, tokens per {unit}"
    assert value(outcome, "gini", variant) == pytest.approx(unequal)
    assert value(outcome, "min_max_ratio", variant) == pytest.approx(min(found) / max(found))
    ratios = [one / two for one, two in zip(tokens["hi"], tokens["en"], strict=True)]
    assert value(outcome, "premium", MEAN, "hi") == pytest.approx(mean(ratios))


def test_the_worst_case_and_the_scripts(tmp_path, tokenizer):
    outcome = parity(tokenizer, corpus(tmp_path, **TEXTS))
    worst = outcome.table().filter(measure="worst_premium")
    assert worst["note"].to_list() == ["hi"]
    premiums = {name: value(outcome, "premium", LINE, name) for name in TEXTS}
    assert worst["value"].item() == max(premiums.values())
    variant = "premium to en, tokens per line, mean of its languages"
    assert value(outcome, "script.Deva", variant) == premiums["hi"]
    assert value(outcome, "script.Latn", variant) == pytest.approx(mean([premiums["de"], 1.0]))
    scripts = outcome.tables["parity_scripts"].filter(script="Latn").row(0, named=True)
    latin = GERMAN + ENGLISH
    tokens = sum(len(tokenizer.encode(line)) for line in latin)
    assert scripts["tokens_per_byte"] == pytest.approx(tokens / sum(len(line.encode()) for line in latin))
    assert scripts["tokens_per_line"] == pytest.approx(tokens / 10)


def test_the_area_under_the_lorenz_curve_gives_the_gini(tmp_path, tokenizer):
    outcome = parity(tokenizer, corpus(tmp_path, **TEXTS))
    for unit, name in zip(("line", "byte", "character", "grapheme"), SIZES, strict=True):
        curve = outcome.tables["parity_lorenz"].filter(unit=unit)
        points = list(curve.select("languages", "tokens").iter_rows())
        assert points[0] == (0, 0)
        assert points[-1] == pytest.approx((1, 1))
        assert curve["cost"].drop_nulls().is_sorted()
        area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))
        assert value(outcome, "gini", f"between languages, tokens per {name}") == pytest.approx(1 - 2 * area)


def test_intervals_are_percentiles_of_lines_drawn_anew(tmp_path, tokenizer):
    outcome = parity(tokenizer, corpus(tmp_path, **TEXTS), resamples=400, seed=7)
    drawn = np.random.default_rng(7).integers(0, 5, (400, 5))
    tokens = {name: np.array([*map(len, map(tokenizer.encode, lines))]) for name, lines in TEXTS.items()}
    totals = tokens["hi"][drawn].sum(axis=1) / tokens["en"][drawn].sum(axis=1)
    means = (tokens["hi"] / tokens["en"])[drawn].mean(axis=1)
    row = outcome.tables["parity"].filter(language="hi").row(0, named=True)
    assert [row["premium_line_low"], row["premium_line_high"]] == pytest.approx(
        np.percentile(totals, (2.5, 97.5))
    )
    assert [row["premium_mean_low"], row["premium_mean_high"]] == pytest.approx(
        np.percentile(means, (2.5, 97.5))
    )
    assert row["premium_line_low"] <= row["premium_line"] <= row["premium_line_high"]
    none = parity(tokenizer, open_corpus(str(tmp_path)), resamples=0)
    assert none.tables["parity"]["premium_line_low"].null_count() == 3
    assert none.table()["evidence"].null_count() == none.table().height
    with pytest.raises(SutureError, match="resamples must be 0 or more"):
        parity(tokenizer, open_corpus(str(tmp_path)), resamples=-1)


def test_runs_of_lines_are_drawn_of_long_texts(tmp_path, tokenizer, monkeypatch):
    monkeypatch.setattr("vocab_audits.parity.BLOCKS", 2)
    outcome = parity(tokenizer, corpus(tmp_path, **TEXTS), resamples=300)
    row = outcome.tables["parity"].filter(language="de").row(0, named=True)
    tokens = {name: [len(tokenizer.encode(line)) for line in lines] for name, lines in TEXTS.items()}
    halves = [sum(tokens["de"][part]) / sum(tokens["en"][part]) for part in (slice(0, 2), slice(2, 5))]
    assert [row["premium_line_low"], row["premium_line_high"]] == pytest.approx(sorted(halves))


def test_any_segmenter_is_measured(tmp_path):
    words = Words()
    outcome = parity(words, corpus(tmp_path, **TEXTS))
    counts = {name: sum(len(line.split()) for line in lines) for name, lines in TEXTS.items()}
    assert value(outcome, "premium", LINE, "de") == pytest.approx(counts["de"] / counts["en"])
    assert outcome.table()["subject"].unique().to_list() == [words.name]


def test_what_is_not_parallel_is_one_finding(tmp_path, tokenizer):
    texts = corpus(tmp_path, de=GERMAN[:2], en=ENGLISH)
    outcome = parity(tokenizer, texts)
    (row,) = outcome.table().to_dicts()
    assert row["value"] is None
    assert row["note"].startswith("not applicable: the corpus is not known to be parallel")
    with pytest.raises(SutureError, match="as many documents"):
        parity(tokenizer, texts, reference="en")
    one = open_corpus(str(tmp_path), language="en")
    assert parity(tokenizer, one).table()["value"].to_list() == [None]


def test_nothing_is_encoded_where_nothing_is_parallel(tmp_path, tokenizer, monkeypatch):
    texts = corpus(tmp_path, de=GERMAN[:2], en=ENGLISH)
    monkeypatch.setattr(type(tokenizer), "encode_batch", None)
    assert parity(tokenizer, texts).table().height == 1


def test_a_named_reference_takes_the_languages_that_are_as_long(tmp_path, tokenizer):
    texts = corpus(tmp_path, de=GERMAN[:2], en=ENGLISH, hi=HINDI)
    outcome = parity(tokenizer, texts, reference="hi")
    assert outcome.tables["parity"]["language"].to_list() == ["en", "hi"]
    assert value(outcome, "premium", LINE.replace("to en", "to hi"), "hi") == 1
    assert "de (2 lines)" in outcome.table().filter(measure="lines")["note"].item()


def test_languages_of_a_column_are_parallel_if_a_reference_says_so(tmp_path, tokenizer):
    path = tmp_path / "all.parquet"
    rows = [(name, line) for name, lines in TEXTS.items() for line in lines]
    pl.DataFrame(rows, schema=["language", "text"], orient="row").write_parquet(path)
    assert parity(tokenizer, open_corpus(str(path))).table().height == 1
    outcome = parity(tokenizer, open_corpus(str(path)), reference="en")
    (tmp_path / "apart").mkdir()
    apart = parity(tokenizer, corpus(tmp_path / "apart", **TEXTS))
    kept = [name for name in apart.tables["parity"].columns if name != "set"]
    assert outcome.tables["parity"].select(kept).equals(apart.tables["parity"].select(kept))


def test_two_folders_are_two_parts(tmp_path, tokenizer):
    for name, cut in (("one", slice(0, 3)), ("two", slice(3, 5))):
        (tmp_path / name).mkdir()
        corpus(tmp_path / name, **{language: lines[cut] for language, lines in TEXTS.items()})
    outcome = parity(tokenizer, open_corpus(str(tmp_path / "*" / "*.txt")))
    assert outcome.tables["parity"]["set"].unique(maintain_order=True).to_list() == ["one", "two"]
    tokens = [sum(len(tokenizer.encode(line)) for line in lines[3:]) for lines in (HINDI, ENGLISH)]
    assert value(outcome, "premium", f"{LINE}; two", "hi") == pytest.approx(tokens[0] / tokens[1])


def test_lines_that_hardly_are_translations_are_warned_of(tmp_path, tokenizer):
    texts = corpus(tmp_path, en=ENGLISH, fr=["ab", "a", "opq" * 9, "jkl", "mnop" * 8])
    rows = parity(tokenizer, texts).table().filter(measure="odd_line_lengths")
    assert rows["severity"].to_list() == ["warn"]
    assert rows["note"].item().startswith("in fr;")


def test_text_without_an_entry_is_told(tmp_path):
    lossy = load(builders.unigram({"▁": -2.0, "a": -1.0, "b": -1.0}), "uni")
    texts = corpus(tmp_path, en=["ba", "ab"], el=["aβ", "a"])
    outcome = parity(lossy, texts)
    assert dict(outcome.tables["parity"].select("language", "unspelled_lines").iter_rows()) == {
        "el": 1,
        "en": 0,
    }
    notes = outcome.table().filter(measure="premium", variant=LINE).select("language", "note")
    assert dict(notes.iter_rows())["el"].startswith("1 of 2 lines hold text without an entry")
    drops = load(builders.bpe(["a", "b"], pre_tokenizer={"type": "Whitespace"}), "drops")
    assert dict(parity(drops, texts).tables["parity"].select("language", "unspelled_lines").iter_rows()) == {
        "el": 1,
        "en": 0,
    }


def test_nothing_is_divided_by_an_empty_text(tmp_path, tokenizer):
    outcome = parity(tokenizer, corpus(tmp_path, en=["", "", ""], de=GERMAN[:3], hi=HINDI[:3]))
    assert value(outcome, "premium", LINE, "de") is None
    rows = outcome.table().filter(measure="premium", language="de")
    assert rows["note"].str.starts_with("not applicable").all()


@pytest.mark.parametrize("text", ["abc", "a\r\nb", "é", "e\u0301", "👩‍👩‍👧", "नि", "", "한글"])
def test_graphemes_are_those_of_the_regular_expression(text):
    assert graphemes(text) == len(regex.findall(r"\X", text))


def test_spacy_s_examples_are_taken_where_they_are_translations(tokenizer):
    pytest.importorskip("spacy")
    sets = {each.name: each for each in parallel_sets(tokenizer, open_corpus("embedded"), None)}
    assert set(sets) == {EXAMPLES, "parallel"}
    assert sets["parallel"].languages == ["ar", "de", "en", "es", "fi", "fr", "hi", "ja", "ru", "tr", "zh"]
    found = sets[EXAMPLES]
    assert {"am", "ca", "da", "en", "te", "tt"} <= set(found.languages)
    # These have as many sentences as English, but others.
    assert {"ar", "de", "vi", "yo"}.isdisjoint(found.languages)
    assert found.left_out["de"] == "other sentences, by their lengths"
    assert found.left_out["fr"].endswith(" lines")
    assert "xx" not in found.languages


@pytest.mark.vocabs
def test_published_figures(tmp_path):
    need("o200k")
    text = parallel_text(tmp_path)
    assert os.environ["TIKTOKEN_CACHE_DIR"] == str(tiktoken_dir())
    outcome = parity(load("tiktoken:o200k_base"), text)
    for measure, variant, language, figure in (
        ("premium", LINE, "ar", 1.3819),
        ("premium", LINE, "ru", 1.4269),
        ("gini", "between languages, tokens per line", None, 0.0578),
        ("gini", "between languages, tokens per byte", None, 0.0832),
    ):
        assert value(outcome, measure, variant, language) == pytest.approx(figure, abs=6e-5)
