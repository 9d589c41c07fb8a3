"""Words cut in bulk, against one segmentation a word."""

import numpy as np
import pytest

from tests import builders
from tests.vocabs import need
from workbench.adapters import load, load_segmenter
from workbench.cutting import cut_words

WORDS = [
    "playing",
    "naïve",
    "日本語",
    "a",
    "Straße",
    "unbelievable",
    "ñandú",
    "😀",
    "e\u0301te\u0301",
    "İstanbul",
]


def brute(segmenter, word: str, before: str):
    """Boundaries at character edges, other cuts, tokens on the word and whether one is unknown."""
    found = segmenter.segment(before + word)
    skip, size = len(before.encode()), len((before + word).encode())
    edges = {len((before + word)[:n].encode()) for n in range(len(before + word) + 1)}
    spans = list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
    cuts = {place for span in spans for place in span if skip < place < size}
    tokens = sum(end > skip and end > start for start, end in spans)
    return sorted(cut - skip for cut in cuts & edges), len(cuts - edges), tokens, bool(found.unknown)


SEGMENTERS = {
    "byte level": lambda: load(builders.byte_level([b"pl", b"play"], [(b"p", b"l"), (b"pl", b"ay")][:1])),
    "word pieces": lambda: load(builders.wordpiece(["[UNK]", "play", "##ing", "a", "str", "##a", "##s"])),
    "spacy": lambda: load_segmenter("spacy:en"),
    "bert": lambda: load(str(need("bert"))),
    "gpt2": lambda: load("tiktoken:r50k_base"),
    "mistral": lambda: load(str(need("mistral-v1"))),
}


@pytest.mark.parametrize("before", ["", " "])
@pytest.mark.parametrize("name", SEGMENTERS)
def test_words_in_bulk_are_cut_as_each_alone(name, before):
    segmenter = SEGMENTERS[name]()
    cuts = cut_words(segmenter, WORDS, before)
    for index, word in enumerate(WORDS):
        expected = brute(segmenter, word, before)
        assert (
            cuts.bounds.row(index).tolist(), int(cuts.inside[index]), int(cuts.tokens[index]),
            bool(cuts.unknown[index]),
        ) == expected, word  # fmt: skip
    assert cuts.bounds.sizes.tolist() == [len(word.encode()) for word in WORDS]


def test_no_words_give_no_cuts():
    cuts = cut_words(load_segmenter("spacy:en"), [])
    assert len(cuts) == len(cuts.bounds) == 0
    assert cuts.bounds.offsets.tolist() == [0]


def test_chunks_join(monkeypatch):
    segmenter = load(builders.byte_level([b"pl"], [(b"p", b"l")]))
    whole = cut_words(segmenter, WORDS)
    monkeypatch.setattr("workbench.cutting.CHUNK", 3)
    parts = cut_words(segmenter, WORDS)
    for name in ("places", "offsets", "sizes"):
        assert np.array_equal(getattr(whole.bounds, name), getattr(parts.bounds, name))
    assert np.array_equal(whole.tokens, parts.tokens)


def test_picked_words_are_as_if_cut_alone():
    words = ["playing", "사람이", "x", "un語do"]
    tokenizer = load(builders.byte_level([b"pl", b"in", b"ing"], [(b"p", b"l"), (b"i", b"n"), (b"in", b"g")]))
    rows = np.array([3, 0, 3, 1])
    picked = cut_words(tokenizer, words, " ").pick(rows)
    alone = cut_words(tokenizer, [words[row] for row in rows], " ")
    for name in ("tokens", "inside", "unknown", "whole"):
        assert getattr(picked, name).tolist() == getattr(alone, name).tolist()
    for name in ("places", "offsets", "sizes"):
        assert getattr(picked.bounds, name).tolist() == getattr(alone.bounds, name).tolist()
