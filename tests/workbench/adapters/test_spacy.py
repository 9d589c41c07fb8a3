"""spaCy tokenizers as segmenters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.outside import without
from workbench.adapters import spacy_
from workbench.errors import MissingExtra, SutureError, UnknownName
from workbench.testing import check_segmenter

spacy = pytest.importorskip("spacy")


@pytest.fixture(name="english", scope="module")
def english_fixture():
    return spacy_.from_name("en")


@pytest.fixture(name="nlp", scope="module")
def nlp_fixture():
    return spacy.blank("en")


@pytest.mark.parametrize("code", ["en", "fr", "xx"])
def test_contract(code):
    check_segmenter(spacy_.from_name(code))


@given(text=st.text(st.sampled_from("abé日😀'.- \t\n\u3000\u0301\x00"), max_size=30) | st.text(max_size=12))
def test_pieces_are_spacys_tokens(english, nlp, text):
    found = english.segment(text)
    assert [piece.decode() for piece in found.pieces] == [token.text for token in nlp.make_doc(text)]


def test_single_spaces_are_under_no_token(english):
    found = english.segment("Don't go é.")
    assert found.pieces == [b"Do", b"n't", b"go", "é".encode(), b"."]
    assert found.uncovered.tolist() == [[5, 6], [8, 9]]
    assert not found.exact
    assert english.segment("don't").exact


def test_names(english):
    assert english.name == "spacy:en"
    assert spacy_.from_name("de", "german").name == "german"
    nlp = spacy.blank("fr")
    assert spacy_.from_object(nlp).name == spacy_.from_object(nlp.tokenizer).name == "spacy:fr"
    assert spacy_.from_object(nlp, "mine").segment("l'eau").pieces == [b"l'", b"eau"]


def test_what_is_no_tokenizer_is_refused():
    with pytest.raises(SutureError, match="got int"):
        spacy_.from_object(3)


@pytest.mark.parametrize("name", ["nope", "en_core_web_none", "..util", ""])
def test_unknown_names(name):
    with pytest.raises(UnknownName, match="must name a language"):
        spacy_.from_name(name)


def test_missing_spacy(monkeypatch):
    without(monkeypatch, "spacy")
    with pytest.raises(MissingExtra, match=r"pip install 'suture\[linguistics\]'"):
        spacy_.from_name("en")


def test_language_that_needs_its_own_package(monkeypatch):
    without(monkeypatch, "sudachipy")
    with pytest.raises(MissingExtra, match="spaCy's ja tokenizer"):
        spacy_.from_name("ja")


def test_installed_pipeline_gives_its_tokenizer_alone(monkeypatch):
    installed = [name for name in spacy.util.get_installed_models() if name.startswith(("en_", "fr_"))]
    if not installed:
        pytest.skip("no spaCy pipeline is installed")
    loaded = []
    real = spacy.load
    monkeypatch.setattr(spacy, "load", lambda *a, **k: loaded.append(real(*a, **k)) or loaded[-1])
    segmenter = spacy_.from_name(installed[0])
    assert loaded[0].pipe_names == []
    check_segmenter(segmenter)
