"""Greedy longest match, against the plainest statement of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.adapters import longest
from workbench.adapters.longest import LongestMatchEngine, longest_match
from workbench.testing import check_tokenizer

BYTES = [(byte, bytes([byte])) for byte in range(256)]
entries = st.lists(st.text("abé \n", min_size=1, max_size=5).map(str.encode), max_size=12, unique=True)
texts = st.text("abcé \n日", max_size=30)


def plain(ids, data):
    """At each place, the longest entry; a byte that begins none is left out."""
    found, here = [], 0
    while here < len(data):
        fits = [entry for entry in ids if data.startswith(entry, here)]
        if fits:
            found.append(ids[max(fits, key=len)])
        here += max(map(len, fits), default=1)
    return found


@given(entries, st.lists(texts, max_size=5))
def test_equals_the_plain_statement(words, batch):
    ids = {word: index for index, word in enumerate(words)}
    engine = LongestMatchEngine(ids)
    for _ in range(2):  # the second time from memory
        found = engine.encode_batch(batch)
        assert len(found.offsets) == len(batch) + 1
        for index, text in enumerate(batch):
            assert found.row(index).tolist() == plain(ids, text.encode())


@given(entries, texts)
def test_equals_the_plain_statement_with_a_full_memory(words, text):
    ids = {bytes([byte]): byte for byte in range(256)} | {word: 256 + i for i, word in enumerate(words)}
    engine = LongestMatchEngine(ids)
    for part in (text, text[::-1], text * 2):
        longest_memory = longest.REMEMBERED
        try:
            longest.REMEMBERED = 1
            assert engine.model_ids(part) == plain(ids, part.encode())
        finally:
            longest.REMEMBERED = longest_memory


def test_contract():
    rows = [*BYTES, (300, "日本".encode()), (301, b"the"), (302, b" the"), (303, b"\xe2\x80")]
    tokenizer = longest_match(rows, "small", "here")
    check_tokenizer(tokenizer)
    assert tokenizer.pipeline.byte_level
    assert tokenizer.inventory.frame["kind"][256] == "gap"
    assert tokenizer.engine.pretokenize("a b") == ["a b"]
    assert tokenizer.engine.pretokenize("") == []
    assert tokenizer.engine.decode_each([301, 303, 256]) == ["the", "\ufffd", None]


def test_a_byte_without_an_entry_is_uncovered():
    tokenizer = longest_match([(1, b"a"), (2, b"ab")], "small", "here")
    found = tokenizer.segment("xaab")
    assert found.ids.tolist() == [1, 2]
    assert found.uncovered.tolist() == [[0, 1]]
    assert "254 of the 256 bytes" not in tokenizer.pipeline.notes[0]
    assert "255 of the 256 bytes" in tokenizer.pipeline.notes[0]


def test_control_text():
    tokenizer = longest_match(BYTES[1:], "small", "here", special={0: "<s>", 256: "<s>>"})
    assert tokenizer.encode("<s>") == list(b"<s>")
    assert tokenizer.encode_control("a<s>b<s>>") == [ord("a"), 0, ord("b"), 256]
    assert tokenizer.inventory.frame["kind"][0] == "special"
