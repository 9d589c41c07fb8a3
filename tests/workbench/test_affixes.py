"""Affix inventories: what they read, and which sequences of affixes make up a text."""

from __future__ import annotations

import unicodedata
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench import affixes as module
from workbench.affixes import Slots, affixes, languages, read
from workbench.errors import SutureError, UnknownName

PIECE = st.text("ab", min_size=1, max_size=3)
SLOTS = st.lists(st.tuples(st.lists(PIECE, min_size=1, max_size=4), st.booleans()), max_size=4)


def slots(rows):
    tables = tuple({form: tuple(form) if form == "ab" else (form,) for form in forms} for forms, _ in rows)
    return Slots(tables, tuple(needed for _, needed in rows))


def every_filling(rows, text):
    """All ways to fill the slots that make up a text, as morphs."""
    made = slots(rows)
    choices = [[(), *table.values()] if not need else list(table.values())
               for table, need in zip(made.tables, made.required, strict=True)]  # fmt: skip
    for filling in product(*choices):
        morphs = tuple(morph for part in filling for morph in part)
        if "".join(morphs) == text:
            yield morphs


@given(rows=SLOTS, text=st.text("ab", max_size=7))
def test_parse_finds_the_fewest_morphs_of_all_fillings(rows, text):
    found = slots(rows).parse(text)
    all_of_them = list(every_filling(rows, text))
    assert (found is None) == (not all_of_them)
    if found is not None:
        assert found in all_of_them
        assert len(found) == min(map(len, all_of_them))


@given(rows=SLOTS, clitics=SLOTS, text=st.text("ab", max_size=6))
def test_suffixes_and_clitics_share_a_text_in_the_best_way(rows, clitics, text):
    paradigm = read('language = "xx"\n[[paradigm]]\nname = "p"').paradigms[0]
    both = module.Paradigm(**{**vars(paradigm), "suffixes": slots(rows), "clitics": slots(clitics)})
    found = both.tail(text)
    pairs = [
        (front, back)
        for at in range(len(text) + 1)
        for front in every_filling(rows, text[:at])
        for back in every_filling(clitics, text[at:])
    ]
    assert (found is None) == (not pairs)
    if found is not None:
        assert found in pairs
        assert sum(map(len, found)) == min(len(front) + len(back) for front, back in pairs)


@pytest.mark.parametrize("language", languages())
def test_each_inventory_is_read_and_each_affix_is_in_composed_lower_case(language):
    found = affixes(language)
    assert found.language == language
    forms = [
        form
        for paradigm in found.paradigms
        for part in (paradigm.prefixes, paradigm.suffixes, paradigm.clitics)
        for table in part.tables
        for form in table
    ]
    assert len(forms) > 20
    assert all(form and form == form.lower() and unicodedata.is_normalized("NFC", form) for form in forms)
    assert len({paradigm.name for paradigm in found.paradigms}) == len(found.paradigms)


def test_notation():
    text = """
        language = "xx"
        particles = "ab abc"
        [letters]
        A = "ae"
        [[paradigm]]
        name = "one"
        lemma = ["mAk", "k"]
        longest = true
        only = "k$"
        stem = [["b$", "p"]]
        suffixes = ["+ (y)A", "x|yz"]
    """
    found = read(text)
    assert found.particles == ("abc", "ab")
    paradigm = found.paradigms[0]
    assert list(paradigm.stems("kabmak")) == ["kab", "kap"]
    assert list(paradigm.stems("kabek")) == ["kabe"]
    assert list(paradigm.stems("kab")) == []
    assert paradigm.suffixes.parse("yexyz") == ("ye", "x", "yz")
    assert paradigm.suffixes.parse("a") == ("a",)
    assert paradigm.suffixes.parse("xyz") is None
    assert paradigm.suffixes.parse("") is None


def test_an_unexplained_capital_is_refused():
    with pytest.raises(SutureError, match="'lAr' has A"):
        read('language = "xx"\n[[paradigm]]\nname = "p"\nsuffixes = ["lAr"]')


def test_an_unknown_language_and_a_changed_file_are_refused(monkeypatch):
    with pytest.raises(UnknownName, match="there is none for 'xx'"):
        affixes("xx")
    row = {"language": "de", "path": "affixes/de.toml", "sha256": "0" * 64}
    monkeypatch.setattr(module, "_files", lambda: {"de": row})
    affixes.cache_clear()
    with pytest.raises(SutureError, match=r"affixes/de\.toml must have the SHA-256 000000000000"):
        affixes("de")
    affixes.cache_clear()
