"""Language codes in names of files, and languages without spaces between words."""

from __future__ import annotations

import pytest

from workbench.languages import CODES, TWO_TO_THREE, UNSPACED_LANGUAGES, has_word_spaces, language_of


@pytest.mark.parametrize(
    "stem", ["de", "deu", "DE", "pt-BR", "pt_BR", "zho_Hans", "zh-Hant-TW", "es-419", "xx"]
)
def test_codes_and_tags_name_a_language(stem):
    assert language_of(stem) == stem


@pytest.mark.parametrize("stem", ["", "d", "qq", "notes", "train", "de_", "deu_Latn_x", "a-b", "data"])
def test_other_stems_name_none(stem):
    assert language_of(stem) is None


def test_every_folder_of_spacys_examples_is_a_known_code():
    from workbench.catalog import spacy_examples

    found = {file.language for file in spacy_examples()}
    if not found:
        pytest.skip("spaCy is not installed")
    assert found <= CODES


def test_two_letter_codes_have_each_a_three_letter_one():
    assert len(TWO_TO_THREE) == 183
    assert len(set(TWO_TO_THREE.values())) == 183
    assert all(len(two) == 2 and len(three) == 3 for two, three in TWO_TO_THREE.items())


def test_spaces_do_not_depend_on_which_code_a_language_is_given():
    assert UNSPACED_LANGUAGES <= CODES
    for two, three in TWO_TO_THREE.items():
        assert has_word_spaces(two) == has_word_spaces(three)


@pytest.mark.parametrize(
    "tag", ["th", "tha", "tha_Thai", "lo", "km", "my", "bo", "dz", "zh", "cmn", "yue_Hant", "ja", "JA"]
)
def test_scripts_that_run_words_together(tag):
    assert not has_word_spaces(tag)


@pytest.mark.parametrize(
    "tag", ["en", "ko", "vi", "fi", "ar", "ja-Latn", "zh_Latn", "kor_Hang", None, "und", "unheard of"]
)
def test_scripts_with_spaces(tag):
    assert has_word_spaces(tag)
