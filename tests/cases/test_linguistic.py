"""What matters to a linguist: clusters, canonical forms, morph boundaries, marks at the start of files."""

from __future__ import annotations

import unicodedata

import pytest

from tests import builders
from vocab_audits.pipeline import pipeline
from workbench.adapters import load
from workbench.alignment import Alignment
from workbench.corpora import open_corpus
from workbench.errors import SutureError
from workbench.segmentation import Segmentation

HINDI = "हिन्दी"


def cut(*parts: str) -> Segmentation:
    """A segmentation from its parts."""
    ends, position = [0], 0
    for part in parts:
        position += len(part.encode())
        ends.append(position)
    return Segmentation.from_cuts("".join(parts).encode(), ends)


def reported(tokenizer, measure: str) -> dict:
    return pipeline(tokenizer).table().filter(measure=measure).row(0, named=True)


@pytest.mark.parametrize(
    ("pattern", "broken"), [(builders.GPT2, [1, 3, 4, 5]), (builders.CL100K, [1, 3, 5]), (builders.O200K, [])]
)
def test_letter_patterns_break_clusters(pattern, broken):
    pieces = load(builders.encoding(pattern=pattern)).engine.pretokenize(HINDI)
    found = cut(*pieces)
    clusters = cut("हि", "न्दी")
    inside = set(found.boundaries.tolist()) - set(clusters.boundaries.tolist())
    assert [len(HINDI.encode()[:byte].decode()) for byte in sorted(inside)] == broken
    assert found.shared("grapheme") == len(broken)


def test_composed_and_decomposed_spellings_are_told_apart():
    tokenizer = load(builders.encoding())
    composed, decomposed = "é", "e\u0301"
    assert unicodedata.normalize("NFC", decomposed) == composed
    assert tokenizer.encode(composed) == [195, 169]
    assert tokenizer.encode(decomposed) == [101, 204, 129]
    assert "é" in reported(tokenizer, "canonical_spellings_differ")["evidence"].split()


def test_a_normaliser_that_composes_leaves_no_spelling_apart():
    row = reported(load(builders.byte_level(normalizer={"type": "NFC"})), "canonical_spellings_differ")
    assert (row["value"], row["severity"], row["evidence"]) == (0.0, "info", None)


def test_words_that_accent_stripping_makes_equal_are_told_by_their_spans():
    tokenizer = load(builders.wordpiece(["ハ", "##ハ"]))
    stripped, plain = tokenizer.segment("パパ"), tokenizer.segment("ハハ")
    assert stripped.ids.tolist() == plain.ids.tolist() == [1, 2]
    assert stripped.pieces == ["パ".encode()] * 2
    assert (stripped.exact, plain.exact) == (False, True)
    row = reported(tokenizer, "distinct_texts_merged")
    assert (row["severity"], row["evidence"]) == ("warn", "パパ = ハハ")


@pytest.mark.parametrize(
    ("gold", "tokens", "scores"),
    [
        (("Anlage", "n", "techniker"), ("Anlagen", "techniker"), (1.0, 0.5, 2 / 3)),
        (("ev", "ler", "imiz", "de"), ("evler", "imizde"), (1.0, 1 / 3, 0.5)),
        (("ev", "ler"), ("evler",), (None, 0.0, 0.0)),
        (("ev",), ("ev",), (None, None, None)),
    ],
    ids=["linking element", "agglutination", "whole word", "one morph"],
)
def test_boundary_scores(gold, tokens, scores):
    assert Alignment(cut(*gold), cut(*tokens)).scores == pytest.approx(scores)


def test_a_byte_order_mark_changes_the_first_word_unless_the_corpus_takes_it_off(tmp_path):
    entries = ["▁", "H", "i", "▁H", "▁Hi", "\ufeff", "Hi"]
    tokenizer = load(builders.metaspace(entries, ["▁ H", "▁H i", "H i"]))
    assert tokenizer.encode("Hi") == [4]
    assert tokenizer.encode("\ufeffHi") == [0, 5, 6]
    path = tmp_path / "text.txt"
    path.write_bytes(b"\xef\xbb\xbfHi\n")
    corpus = open_corpus(str(path))
    assert [problem.kind for problem in corpus.check()] == ["bom"]
    assert [text for batch in corpus.batches() for text in batch.texts] == ["Hi"]


@pytest.mark.parametrize(
    ("data", "kind", "offset", "count"),
    [(b"ok\nab \xd0\xff cd \xff\n", "invalid_utf8", 6, 3), ("Grüße\n".encode("utf-16"), "utf16", 0, 1)],
)
def test_a_corpus_that_is_not_utf8_is_refused_before_work_starts(tmp_path, data, kind, offset, count):
    path = tmp_path / "text.txt"
    path.write_bytes(data)
    corpus = open_corpus(str(path))
    assert [(found.kind, found.offset, found.count) for found in corpus.problems] == [(kind, offset, count)]
    with pytest.raises(SutureError, match=r"must be UTF-8; .*text\.txt"):
        corpus.check()


@pytest.mark.parametrize(("prefix", "stable"), [("http:", False), ("http", True)])
def test_tokens_of_a_prefix_need_not_begin_the_tokens_of_the_whole(prefix, stable):
    tokenizer = load(builders.encoding([b":/", b"://"]))
    part, whole = tokenizer.segment(prefix), tokenizer.segment("http://")
    assert (whole.ids.tolist()[: len(part)] == part.ids.tolist()) is stable
    shared = [cut for cut in part.cuts.tolist() if cut in whole.cuts.tolist()]
    assert shared[-1] == 4, "up to here, in bytes, both agree"
    assert "'http:' in 'http://'" in reported(tokenizer, "prefix_unstable")["evidence"]
