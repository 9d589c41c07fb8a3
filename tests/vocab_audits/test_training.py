"""Trained tokenizers and what they are trained on."""

from __future__ import annotations

import random
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.outside import corpus
from vocab_audits.sampling import (
    cutter,
    kept,
    learned_morphs,
    parted,
    pretoken_counts,
    read_text,
    sampled,
    words_of,
)
from vocab_audits.training import bpe, save, unigram, with_pattern, wordpiece
from workbench.adapters import load
from workbench.bpe import GPT2_PATTERN, pretokens
from workbench.errors import MissingExtra, SutureError

LINES = [
    "The walker walks where the walking was; the talker talks of walks.",
    "Unhappiness and happiness: the happy are happier, the unhappy unhappier.",
    "Die Häuser und die Häuschen; ein Haus, des Hauses, # ## ### und 1984.",
    "日が出ている。 日が 出て。\tdone(x)  \n",
] * 3
HARD = ["## heading #", "naïve 日本 \U0001f642", "  two  spaces\n\n", "x" * 300, "\x00\x7f", "don't"]


@pytest.mark.parametrize("way", [bpe, wordpiece, unigram])
def test_any_text_is_spelled_byte_for_byte_and_training_repeats(way):
    counts = pretoken_counts(LINES, None)
    made = way(counts, 560)
    assert made.to_str() == way(counts, 560).to_str()
    tokenizer = load(with_pattern(made, None), way.__name__)
    assert len(tokenizer.inventory) <= 560
    singles = {piece for piece in tokenizer.inventory.pieces if len(piece) == 1}
    assert len(singles) == 256
    for text in (*LINES, *HARD):
        segmentation = tokenizer.segment(text)
        assert segmentation.exact
        assert not segmentation.unknown
        assert tokenizer.decode(tokenizer.encode(text)) == text.encode()


def test_wordpiece_marks_what_continues_a_word_outside_of_the_bytes():
    inventory = load(wordpiece(pretoken_counts(LINES, None), 560), "wordpiece").inventory
    by_place = {
        place: set(part["bytes"])
        for (place,), part in inventory.frame.partition_by("position", as_dict=True).items()
    }
    assert {bytes([byte]) for byte in range(256)} <= by_place["inner"]
    assert {bytes([byte]) for byte in range(256)} <= by_place["initial"]
    assert any(len(piece) > 1 for piece in by_place["inner"])
    assert all(b"\xe2\x81\x80" not in piece for piece in by_place["inner"])


@given(st.text("ab é1.#'\n\t日", max_size=40), st.sampled_from([None, r"\p{L}+", r"(a)b|\s", r"[^a]"]))
def test_pre_tokens_are_those_of_the_reference(text, pattern):
    assert cutter(pattern)(text) == list(pretokens(text, pattern or GPT2_PATTERN))


def test_a_pattern_of_its_own_cuts_running_text():
    counts = pretoken_counts(["ab ab ab"] * 3, r"ab|\s")
    tokenizer = load(with_pattern(bpe(counts, 300), r"ab|\s"), "own")
    assert tokenizer.segment("abab ab").pieces == [b"ab", b"ab", b" ", b"ab"]


def test_a_pattern_that_is_none_and_one_that_the_library_cannot_read():
    with pytest.raises(SutureError, match="must be a regular expression; got '\\['"):
        pretoken_counts(["x"], "[")
    with pytest.raises(SutureError, match="that the tokenizers library can read"):
        with_pattern(bpe(Counter({"ab": 2}), 257), r"\p{Nonsense}")


def test_morphs_part_pre_tokens_and_keep_the_space_on_the_first():
    counts = Counter({" unhappy": 3, "unhappy": 2, "!": 4, " of": 1})
    assert words_of(counts) == {"unhappy": 5, "of": 1}
    assert parted(counts, {"unhappy": ["un", "happy"]}) == {" un": 3, "un": 2, "happy": 5, "!": 4, " of": 1}


def test_learned_morphs_join_to_their_words_and_repeat():
    pytest.importorskip("morfessor")
    words = words_of(pretoken_counts(LINES, None))
    state = random.getstate()
    found = learned_morphs(words, 1000, 7)
    assert random.getstate() == state
    assert found == learned_morphs(words, 1000, 7)
    assert found.keys() == words.keys()
    assert all("".join(morphs) == word for word, morphs in found.items())
    assert any(len(morphs) > 1 for morphs in found.values())
    assert learned_morphs(Counter(), 10, 0) == {}


def test_without_morfessor_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "morfessor", None)
    with pytest.raises(MissingExtra, match="pip install"):
        learned_morphs(Counter({"word": 2}), 10, 0)


def test_a_sample_is_within_its_limit_spread_and_the_same_each_time(tmp_path):
    lines = [f"line {number} of many" for number in range(2000)]
    texts = corpus(tmp_path, en=lines)
    some = [text for batch in sampled(texts, 6000) for text in batch.texts]
    assert 4000 < sum(map(len, some)) <= 6000
    assert some == [text for batch in sampled(texts, 6000) for text in batch.texts]
    assert lines.index(some[-1]) > 1500  # not merely the first ones
    assert [text for batch in sampled(texts, 0) for text in batch.texts] == lines
    with pytest.raises(SutureError, match="limit_bytes must be 0"):
        list(sampled(texts, -1))


def test_equal_texts_fall_alike_and_shares_hold():
    texts = [str(number) for number in range(4000)]
    assert sum(kept(text, 0.25) for text in texts) == pytest.approx(1000, abs=120)
    assert {kept(text, 1.0) for text in texts} == {True}
    assert {kept(text, 0.0) for text in texts} == {False}
    assert [kept(text, 0.5) for text in texts] != [kept(text, 0.5, b"salt") for text in texts]


def test_text_is_counted_by_language(tmp_path):
    text = read_text(corpus(tmp_path, en=["a b  a", "The the"], ja=["日が 出て"]).batches(), None)
    assert text.totals.rows() == [("en", 2, 13, 5), ("ja", 1, 13, None)]
    assert text.whole == Counter(pretoken_counts(["a b  a", "The the", "日が 出て"], None))
    assert text.lexical(["eng"]) == {"a": 2, "b": 1, "the": 2}
    assert text.lexical(["fi"]) == {"a": 2, "b": 1, "the": 2, "日が": 1, "出て": 1}


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(SutureError, match="must be writable"):
        save(bpe(Counter({"ab": 2}), 257), tmp_path / "file" / "inside")
