"""Segmenters that are no tokenizers: affixes, plain rules, Morfessor."""

from __future__ import annotations

import pickle
import random
import unicodedata

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tests.outside import without
from workbench.adapters import affixes, load_segmenter, morfessor_, splitting
from workbench.adapters.words import WordSegmenter
from workbench.corpora import open_corpus
from workbench.errors import MissingExtra, SutureError, UnknownName, UnreadableFile, UnsafeFile
from workbench.inflection import Analyser
from workbench.paths import bundle
from workbench.testing import HARD, SURROGATE, check_segmenter

simplemma = pytest.importorskip("simplemma")
pytest.importorskip("wordfreq")
morfessor = pytest.importorskip("morfessor")

ENGLISH = str(bundle("corpora") / "sample" / "en.txt")
TEXT = st.text(
    st.sampled_from("abé日😀'.- \t\n\u3000\u0301\x0012") | st.characters(exclude_categories=["Cs"])
)


@pytest.fixture(name="model", scope="module")
def model_fixture():
    return morfessor_.train(morfessor_.words_of(open_corpus(ENGLISH)))


# Plain rules


@pytest.mark.parametrize("rule", splitting.RULES)
def test_contract_of_rules(rule):
    segmenter = load_segmenter(f"split:{rule}")
    check_segmenter(segmenter)
    assert segmenter.name == segmenter.source == f"split:{rule}"
    assert segmenter.notes
    with pytest.raises(SutureError, match="lone surrogate"):
        segmenter.segment(SURROGATE)


def spelled(rule, text):
    return [piece.decode() for piece in splitting.from_rule(rule).segment(text).pieces]


@given(text=TEXT)
def test_rules_against_python(text):
    assert spelled("characters", text) == list(text)
    assert spelled("graphemes", text) == regex.findall(r"\X", text)
    assert splitting.from_rule("bytes").segment(text).pieces == [bytes([byte]) for byte in text.encode()]
    assert spelled("whitespace", text) == [run for run in regex.split(r"\s+", text) if run]


@given(text=TEXT)
def test_words_stand_between_word_boundaries(text):
    between = regex.split(r"\b", text, flags=regex.WORD | regex.VERSION1)
    assert spelled("words", text) == [
        piece for piece in between if piece and not regex.fullmatch(r"\s+", piece)
    ]


def test_words_of_a_sentence():
    assert spelled("words", "Don't pay 3.50, Zoë! 日本") == [
        "Don't",
        "pay",
        "3.50",
        ",",
        "Zoë",
        "!",
        "日",
        "本",
    ]


def test_an_unknown_rule():
    with pytest.raises(UnknownName, match="did you mean 'words'"):
        splitting.from_rule("word")


# Affixes


def test_contract_of_affixes():
    segmenter = load_segmenter("affixes:en")
    check_segmenter(segmenter)
    assert segmenter.source == "affixes:en"
    assert "simplemma" in segmenter.digest
    assert any("precision" in note for note in segmenter.notes)


def test_affixes_cut_the_words_of_a_text():
    segmenter = affixes.from_language("de")
    found = segmenter.segment("Die Häuser (3) aufgemacht!")
    assert [piece.decode() for piece in found.pieces] == [
        "Die", "Häus", "er", "(3)", "auf", "ge", "mach", "t", "!",
    ]  # fmt: skip
    assert not found.exact
    assert segmenter.segment("Häuser").exact


def test_decomposed_words_are_cut_like_composed_ones():
    analyse = Analyser.of("de").analyse
    for word in ("Häuser", "größer", "Häusern"):
        parts = affixes.parts(unicodedata.normalize("NFD", word), analyse)
        assert tuple(unicodedata.normalize("NFC", part) for part in parts) == affixes.parts(word, analyse)
    assert affixes.parts("Ha\u0308userä", analyse) == ("Ha\u0308userä",)


def test_parts_that_do_not_join_are_refused():
    segmenter = WordSegmenter("odd", lambda word: (word, "x"))
    with pytest.raises(SutureError, match="must join to it; odd gives"):
        segmenter.segment("one")


# Morfessor


def test_contract_of_morfessor(model):
    check_segmenter(morfessor_.segmenter(model, "morfessor:en"))


def test_words_are_cut_as_the_library_cuts_them(model):
    segmenter = morfessor_.segmenter(model, "m")
    for text in HARD:
        for word in regex.findall(r"\p{L}[\p{L}\p{M}]*", text)[:20]:
            if len(word.lower()) == len(word):
                expected = [part.encode() for part in model.viterbi_segment(word.lower())[0]]
                assert [
                    piece.decode().lower().encode() for piece in segmenter.segment(word).pieces
                ] == expected


def test_training_is_the_librarys_own(model):
    counts = morfessor_.words_of(open_corpus(ENGLISH))
    own = morfessor.BaselineModel()
    own.load_data((1, word) for word in sorted(counts))
    state = random.getstate()
    dots, morfessor.utils.show_progress_bar = morfessor.utils.show_progress_bar, False
    random.seed(0)
    own.train_batch()
    random.setstate(state)
    morfessor.utils.show_progress_bar = dots
    assert list(own.get_segmentations()) == list(model.get_segmentations())


def test_training_tells_its_epochs_and_leaves_no_trace():
    told = []
    before = random.getstate()
    first = morfessor_.train({"walked": 1, "talked": 2, "walks": 1, "talks": 1}, 3, told.append)
    again = morfessor_.train({"talks": 9, "walks": 1, "talked": 1, "walked": 1}, 3)
    assert random.getstate() == before
    assert told[0].startswith("epochs: 0 cost: ")
    assert len(told) > 1
    assert list(first.get_segmentations()) == list(again.get_segmentations())
    assert morfessor.utils.show_progress_bar


def test_a_word_list_and_a_seed(tmp_path, capfd):
    path = tmp_path / "words.txt"
    path.write_text("walked\ntalked\nwalks\ntalks\nWALKING\n", encoding="utf-8")
    found = load_segmenter(f"morfessor:{path}#seed=4")
    assert found.notes[0] == f"trained on 5 word types of {path}, seed 4"
    assert found.name == f"morfessor:{path}#seed=4"
    assert b"".join(found.segment("Walking").pieces) == b"Walking"
    assert capfd.readouterr() == ("", "")


def test_languages_without_spaces_are_passed_over():
    counts = morfessor_.words_of(open_corpus("sample"))
    assert counts["the"] > 10
    with pytest.raises(SutureError, match="must be trained on words"):
        morfessor_.words_of(open_corpus(str(bundle("corpora") / "sample" / "ja.txt"), language="ja"))


def test_a_text_model_is_read(tmp_path, model):
    path = tmp_path / "model.txt"
    morfessor.MorfessorIO(encoding="utf-8").write_segmentation_file(str(path), model.get_segmentations())
    found = load_segmenter(f"morfessor:{path}")
    assert found.notes[0] == "read from a segmentation file of Morfessor"
    trained = morfessor_.segmenter(model, "m")
    text = " ".join(sorted(morfessor_.words_of(open_corpus(ENGLISH))))
    assert found.segment(text).pieces == trained.segment(text).pieces


def test_a_damaged_text_model_is_refused_with_its_line(tmp_path):
    path = tmp_path / "model.txt"
    path.write_text("# remark\n2 walk + ed\n" + "1 talk + s\n" * 500 + "broken\n", encoding="utf-8")
    with pytest.raises(UnreadableFile, match=r"line 503 .* is 'broken'"):
        morfessor_.read_model(path)
    path.write_bytes(b"2 walk + \xff\n")
    with pytest.raises(UnreadableFile, match="must be UTF-8"):
        morfessor_.read_model(path)


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_pickle_is_refused_unread(tmp_path, monkeypatch, protocol):
    path = tmp_path / "model.bin"
    path.write_bytes(pickle.dumps({"a": 1}, protocol))
    monkeypatch.setattr(pickle, "load", lambda *_: pytest.fail("a pickle was loaded"))
    with pytest.raises(UnsafeFile, match="is a pickle; write its segmentations as text"):
        load_segmenter(f"morfessor:{path}")


def test_a_corpus_without_words(tmp_path):
    path = tmp_path / "none.txt"
    path.write_text("12 34\n", encoding="utf-8")
    with pytest.raises(SutureError, match="must be trained on words"):
        load_segmenter(f"morfessor:{path}")


@pytest.mark.parametrize(
    ("package", "spec"), [("morfessor", "morfessor:sample"), ("simplemma", "affixes:en")]
)
def test_missing_packages_are_named(monkeypatch, package, spec):
    without(monkeypatch, package)
    with pytest.raises(MissingExtra, match=r"pip install 'suture\[linguistics\]'"):
        load_segmenter(spec)
