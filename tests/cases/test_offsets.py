"""Where tokens stand in the text as given."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import builders
from workbench.adapters import load
from workbench.alignment import Alignment
from workbench.errors import SutureError
from workbench.segmentation import Segmentation


def spans(found: Segmentation, unit="codepoint") -> list[list[int]]:
    return found.spans(unit).tolist()


def test_a_character_in_three_tokens():
    found = load(builders.byte_level()).segment("i ⭢ j")
    assert spans(found, "byte") == [[n, n + 1] for n in range(7)]
    assert spans(found) == [[0, 1], [1, 2], [2, 3], [2, 3], [2, 3], [3, 4], [4, 5]]
    assert found.shared() == 2


def test_a_character_in_two_tokens_of_a_rank_table():
    found = load(builders.encoding([b"\xe2\x82"])).segment("a€b")
    assert spans(found, "byte") == [[0, 1], [1, 3], [3, 4], [4, 5]]
    assert spans(found) == [[0, 1], [1, 2], [1, 2], [2, 3]]
    assert found.shared() == 1


def test_utf16_units_count_a_surrogate_pair_whole():
    face = "🙂".encode()
    found = load(builders.encoding([face[:2], face[:3], face])).segment("a🙂b")
    assert spans(found, "utf16") == [[0, 1], [1, 3], [3, 4]]
    assert spans(found) == [[0, 1], [1, 2], [2, 3]]


def test_a_prefix_space_after_a_control_token_takes_no_letter():
    backend = builders.byte_level([b" b"], [(b" ", b"b")], prefix_space=True, trimming=True, special=["<d>"])
    found = load(backend).segment_control("<d>bc<d>")
    assert found.ids.tolist() == [257, 256, 99, 257]
    assert spans(found) == [[0, 3], [3, 4], [4, 5], [5, 8]]
    assert found.synthetic == (1,)


def test_a_space_that_the_text_lacks_stands_on_nothing():
    found = load(builders.metaspace(["▁", "中", "文", "中文"], ["中 文"])).segment("中文")
    assert found.ids.tolist() == [0, 3]
    assert spans(found) == [[0, 0], [0, 2]]
    assert found.synthetic == (0,)
    assert not len(found.uncovered)


def test_entries_used_past_the_merges_keep_their_spans():
    found = load(builders.byte_level([b"are", b" you"], ignore_merges=True)).segment("are you")
    assert found.ids.tolist() == [256, 257]
    assert spans(found) == [[0, 3], [3, 7]]


def test_composed_syllables_span_all_their_jamo():
    tokenizer = load(builders.bpe(["해", "요"], normalizer={"type": "NFC"}))
    decomposed = unicodedata.normalize("NFD", "해요")
    assert len(decomposed) == 4
    found = tokenizer.segment(decomposed)
    assert found.ids.tolist() == [0, 1]
    assert spans(found) == [[0, 2], [2, 4]]
    assert not found.exact
    assert tokenizer.segment("해요").exact


def test_a_letter_that_lowercasing_doubles_shifts_nothing():
    found = load(builders.bpe(["i", "\u0307", "k"], normalizer={"type": "Lowercase"})).segment("İki")
    assert found.ids.tolist() == [0, 1, 2, 0]
    assert spans(found) == [[0, 1], [0, 1], [1, 2], [2, 3]]


def test_a_control_character_inside_a_word_is_in_its_span_and_named():
    found = load(builders.wordpiece(["this"])).segment("T\x10his")
    assert found.ids.tolist() == [1]
    assert spans(found) == [[0, 5]]
    assert found.pieces == [b"T\x10his"]
    assert found.dropped.tolist() == [[1, 2]]


def test_an_accent_taken_off_in_two_steps_drops_no_letter():
    chain = {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]}
    tokenizer = load(builders.bpe(["e", "a"], normalizer=chain))
    found = tokenizer.segment("éa")
    assert spans(found) == [[0, 1], [1, 2]]
    assert found.dropped.tolist() == []
    # The mark that stands alone is text of its own, and gone.
    assert tokenizer.segment("e\u0301a").dropped.tolist() == [[1, 3]]
    assert tokenizer.segment("\u0301\u0327a").dropped.tolist() == [[0, 4]]


@given(st.text(st.sampled_from("aeéÉ\u0301ǘ e\u0308"), max_size=12))
def test_dropped_text_is_what_normalises_to_nothing(text):
    chain = {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]}
    backend = builders.bpe(["e"], normalizer=chain)
    found = load(backend).segment(text)
    lone = sum(len(mark.encode()) for mark in text if unicodedata.combining(mark))
    assert np.diff(found.dropped, axis=1).sum() == lone
    data = text.encode()
    assert all(not backend.normalizer.normalize_str(data[a:b].decode()) for a, b in found.dropped.tolist())


def test_words_and_tokens_that_cross_stay_linked():
    text = b"Don't stop"
    words = np.array([[0, 2], [2, 5], [6, 10]])
    tokens = np.array([[0, 3], [3, 5], [5, 10]])
    found = Alignment(
        Segmentation(text, words[:, 0], words[:, 1], exact=False),
        Segmentation(text, tokens[:, 0], tokens[:, 1]),
    )
    assert found.crossing.tolist() == [[1, 0]]
    assert found.links.tolist() == [[0, 0], [1, 0], [1, 1], [2, 2]]


def test_a_merge_across_text_without_an_entry_spans_that_text():
    found = load(builders.bpe(["a", "b", "ab", "c"], ["a b"])).segment("caxbcxab")
    assert found.ids.tolist() == [3, 2, 3, 2]
    assert spans(found) == [[0, 1], [1, 4], [4, 5], [6, 8]]
    assert found.dropped.tolist() == [[2, 3]]
    assert found.uncovered.tolist() == [[5, 6]]
    assert found.unknown == ()


def test_padding_of_a_file_leaves_no_trace():
    padding = {
        "strategy": {"Fixed": 4},
        "direction": "Left",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[PAD]",
    }
    tokenizer = load(builders.word_level(["[PAD]", "a", "b"], "[PAD]", padding=padding))
    found = tokenizer.segment("a b")
    assert found.ids.tolist() == [1, 2]
    assert spans(found) == [[0, 1], [2, 3]]
    assert any("padding" in note for note in tokenizer.inventory.notes)


def test_an_exact_segmentation_of_nothing_is_refused():
    empty = np.empty(0, np.int64)
    with pytest.raises(SutureError, match="must cover its text"):
        Segmentation(b"abc", empty, empty)
    assert len(Segmentation(b"", empty, empty)) == 0


ACCENTED = ("x", "a", "[UNK]", "x préparé a", "x", "préparé", "a")
HANGUL = ("\u1100", "##\u1161", "[UNK]", "옮겨 가", "옮겨", "가", "가")


@pytest.mark.parametrize("case", [ACCENTED, HANGUL])
def test_an_unknown_word_is_whole_though_the_next_token_also_stands_inside_it(case):
    first, second, _, text, *slices = case
    tokenizer = load(builders.wordpiece([first, second]))
    segmentation = tokenizer.segment(text)
    assert [piece.decode() for piece in segmentation.pieces] == slices


def test_a_first_piece_that_joins_the_added_space_to_those_of_the_text_is_synthetic(need):
    tokenizer = load(need("mistral-v3"))
    for text, synthetic in (("    def", (0,)), ("def", (0,)), (" def", (0,)), ("\ndef", (0,))):
        segmentation = tokenizer.segment(text)
        pieces = tokenizer.decode(segmentation.ids.tolist())
        assert (segmentation.synthetic, pieces) == (synthetic, b" " + text.encode())
