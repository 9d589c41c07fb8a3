"""Forms of one word: what is brought together, and what stays apart."""

import unicodedata

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.termlists import folding


@pytest.mark.parametrize(
    "text", ["zork", "ZORK", "Zork", "ｚｏｒｋ", "𝐳𝐨𝐫𝐤", "zo\u200brk", "z\u00adork", "ZOR\u212a"]
)
def test_one_key_for_many_spellings(text):
    assert folding.key(text) == "zork"


@given(st.lists(st.text(max_size=6), max_size=20))
def test_a_column_has_the_keys_of_its_rows(texts):
    """Folded together, by one call, or one by one: the same, with the edge in the text or not."""
    given_ = [text.encode("utf-8", "replace").decode() for text in texts]
    for column in (given_, [*given_, "é\U0010ffff"]):
        assert folding.keys(pl.Series(column, dtype=pl.String)).to_list() == [
            folding.key(text) for text in column
        ]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8))
def test_a_key_is_its_own_key(text):
    once = folding.key(text)
    assert folding.key(once) == once


def read(function, *texts):
    folded = folding.keys(pl.Series(texts, dtype=pl.String))
    rows, made = function(folded)
    return dict(zip(rows.to_list(), made.to_list(), strict=True))


def test_look_alikes_are_read_in_mixed_words_alone():
    found = read(folding.lookalikes, "zоrk", "сосо", "zork", "рот zork", "βeta", "zork и", None)
    assert found == {0: "zork"} | ({4: found[4]} if 4 in found else {})
    assert "рот" not in found.values()


def test_each_look_alike_is_one_letter_of_another_script_that_folding_leaves():
    for other, latin in folding.LOOKALIKES.items():
        assert folding.key(other) == other, "the table is asked after folding"
        assert latin.isascii()
        assert len(latin) == 1
        assert unicodedata.category(other) == "Ll"


def test_digits_among_letters_are_read_as_letters_in_both_ways():
    rows, made = folding.unleeted(
        folding.keys(pl.Series([" z0rk", "b1arf", "2024", "7 of 9", "$zork", "zork"]))
    )
    found = set(zip(rows.to_list(), made.to_list(), strict=True))
    assert {(0, " zork"), (1, "biarf"), (1, "blarf"), (4, "szork")} <= found
    assert not {row for row, _ in found} & {2, 3, 5}


@pytest.mark.parametrize("text", ["彩票", "ゾーク", "เสก"])
def test_scripts_without_spaces(text):
    assert folding.unspaced(text)


@pytest.mark.parametrize("text", ["zork", "彩x", "12", "조크", ""])
def test_scripts_with_spaces(text):
    assert not folding.unspaced(text)
