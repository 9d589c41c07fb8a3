"""The lexicon that needs no download."""

from __future__ import annotations

from importlib import metadata

import polars as pl
import pytest

from tests.outside import without
from workbench import tagging
from workbench.affixes import affixes, languages
from workbench.errors import MissingExtra, SutureError, UnknownName
from workbench.inflection import Analyser
from workbench.lexicon import SCHEMA
from workbench.lexicons import embedded as module
from workbench.lexicons import open_lexicon
from workbench.lexicons.embedded import embedded, quality, quality_note

pytest.importorskip("simplemma")
wordfreq = pytest.importorskip("wordfreq")


@pytest.fixture(name="small", scope="module")
def small_fixture():
    return embedded(("en", "hu"), most=300)


def test_entries_are_the_most_frequent_words_that_can_be_read(small):
    frame = small.frame
    assert frame.schema == SCHEMA
    assert dict(frame.group_by("language").len().iter_rows()) == {"en": 300, "hu": 300}
    english = frame.filter(pl.col("language") == "en")
    shares = english["frequency"].to_list()
    assert shares == sorted(shares, reverse=True)
    for word, share in english.select("word", "frequency").head(20).iter_rows():
        assert share == pytest.approx(wordfreq.word_frequency(word.lower(), "en", "best"), rel=0.01)
    assert english["word"].n_unique() == 300


def test_entries_are_what_the_analyser_says(small):
    analyser = Analyser.of("hu")
    for row in small.of("hu").frame.iter_rows(named=True):
        found = analyser.analyse(row["word"])
        assert (row["morphs"], row["roles"]) == (list(found.morphs), list(found.roles))
        assert (row["lemma"], row["process"], row["how"]) == (found.lemma, found.process, "concatenative")
        assert found.known in module.SURE


def test_every_word_that_was_looked_at_is_an_entry_or_in_the_ledger(small):
    rows = dict(small.ledger.filter(pl.col("language") == "en").select("reason", "rows").iter_rows())
    assert set(rows) <= {"noise", "not_concatenative", "unanalysed"}
    ranked = list(wordfreq.iter_wordlist("en", "best"))
    last = small.of("en").frame["word"][-1]
    looked = ranked[: [word.lower() for word in ranked].index(last.lower()) + 1]
    assert sum(rows.values()) + 300 == len({word.lower() for word in looked})
    for language, _, _, line, example in small.ledger.iter_rows():
        if language == "en":
            assert ranked[line - 1].lower() == example.lower()


def test_it_is_the_same_each_time_and_known_by_its_entries(small):
    again = embedded(("en", "hu"), most=300)
    assert again.digest == small.digest
    assert again.frame.equals(small.frame)
    assert embedded(("hu", "en"), most=300).digest != small.digest
    assert embedded(("en",), most=300).digest != small.digest


def test_it_says_what_it_was_made_of_and_how_good_it_is(small):
    assert all(part in (small.licence or "") for part in ("Apache-2.0", "MIT", "CC BY-SA 4.0", "simplemma"))
    assert small.notes[0] == (
        f"made by rule with simplemma {metadata.version('simplemma')} and wordfreq "
        f"{metadata.version('wordfreq')}, not annotated by hand"
    )
    assert small.notes[1].startswith("en: precision 0.")
    assert "n = " in small.notes[1]
    assert quality_note("sw") == "sw: quality not measured, no gold at hand"


def test_the_measured_quality_is_above_the_bar():
    found = quality()
    assert set(found) == {"en", "fr", "hu", "it", "es"}
    assert found["en"]["joined"]["f1"][0] >= 0.75
    for sets in found.values():
        for row in sets.values():
            for name in ("precision", "recall", "f1"):
                value, low, high = row[name]
                assert 0 <= low <= value <= high <= 1
            precision, recall, f1 = (row[name][0] for name in ("precision", "recall", "f1"))
            assert f1 == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-3)


def test_without_a_frequency_list_the_dictionary_is_sampled_evenly(monkeypatch):
    stems = {f"{chr(97 + one)}{chr(97 + two)}kua": True for one in range(10) for two in range(10)}
    forms = {f"{prefix}{stem}": stem for stem in stems for prefix in ("wana", "nili", "tuta", "xyz")}
    monkeypatch.setattr(module.Analyser, "of", lambda code: Analyser(affixes(code), forms))
    module._language.cache_clear()
    found = embedded(("sw",), most=57)
    module._language.cache_clear()
    looked = list(forms)[:: len(forms) // 57]
    assert found.frame["word"].to_list() == [word for word in looked if not word.startswith("xyz")]
    assert found.frame["frequency"].null_count() == len(found) > 20
    assert found.frame["morphs"].to_list() == [
        [word[:2], word[2:4], word[4:-1], "a"] for word in found.frame["word"]
    ]
    assert found.ledger["rows"].to_list() == [len(looked) - len(found)]
    assert found.ledger["reason"].to_list() == ["not_concatenative"]


def test_it_is_opened_by_name():
    found = open_lexicon("embedded:en,de")
    assert found.languages == ["en", "de"]
    assert found.source == "embedded:en,de"
    assert 3000 < len(found) <= 4000


def test_what_is_refused():
    with pytest.raises(UnknownName, match=f"one of|of {languages()[0]}.*got xx"):
        embedded(("en", "xx"))
    with pytest.raises(SutureError, match="most=0"):
        embedded(most=0)


@pytest.mark.parametrize("package", ["simplemma", "wordfreq"])
def test_missing_packages_are_named(monkeypatch, package):
    without(monkeypatch, package)
    with pytest.raises(MissingExtra, match=rf"^{package}.*pip install 'suture\[linguistics\]'"):
        embedded(("en",), most=7)


def test_without_a_pipeline_tags_stay_null(small):
    if tagging.pipeline("en") or tagging.pipeline("hu"):
        pytest.skip("a spaCy pipeline is installed")
    assert small.frame["pos"].null_count() == small.frame["features"].null_count() == 600


def test_a_pipeline_gives_tags(monkeypatch, tmp_path):
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("attribute_ruler")
    ruler.add([[{"LOWER": "houses"}]], {"POS": "NOUN", "MORPH": "Number=Plur"})
    ruler.add([[{"LOWER": "the"}]], {"POS": "DET"})
    nlp.to_disk(tmp_path / "model")
    monkeypatch.setattr(tagging, "pipeline", lambda _: str(tmp_path / "model"))
    words = ["houses", "the", "don't"]
    frame = pl.DataFrame({"word": words, "morphs": [[word] for word in words]}).select(
        *(pl.col(name) if name in ("word", "morphs") else pl.lit(None, kind).alias(name)
          for name, kind in SCHEMA.items())
    )  # fmt: skip
    found, name = tagging.tagged("en", frame)
    assert found["pos"].to_list() == ["NOUN", "DET", None]
    assert found["features"].to_list() == ["Number=Plur", None, None]
    assert name is not None
    assert name.endswith("without context")


def test_pipelines_are_told_by_their_declarations(monkeypatch):
    points = [metadata.EntryPoint(name, name, "spacy_models") for name in ("de_x_md", "de_x_sm", "en_y_lg")]
    monkeypatch.setattr(tagging.metadata, "entry_points", lambda **_: points)
    assert tagging.pipeline("de") == "de_x_sm"
    assert tagging.pipeline("en") == "en_y_lg"
    assert tagging.pipeline("fr") is None
