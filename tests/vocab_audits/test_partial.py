"""Completions of pieces that are no text alone, against what UTF-8 allows."""

from __future__ import annotations

import unicodedata
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vocab_audits.partial import LAST, TRIES, completions, split

NEVER = [0xC0, 0xC1, *range(0xF5, 0x100)]

assigned = st.characters(exclude_categories=["Cs", "Cn", "Co"], max_codepoint=LAST - 1)
slices = st.tuples(st.text(assigned, min_size=1, max_size=4), st.integers(0, 3), st.integers(0, 3)).map(
    lambda drawn: drawn[0].encode()[drawn[1] : len(drawn[0].encode()) - drawn[2]]
)


def is_text(piece: bytes) -> bool:
    try:
        piece.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(slices.filter(lambda piece: piece and not is_text(piece)))
def test_what_was_cut_out_of_a_text_is_completed_by_texts_that_hold_it(piece):
    parts = split(piece)
    assert parts.tail + parts.middle.encode() + parts.head == piece
    (texts,) = completions([piece])
    assert 0 < len(texts) <= 2 * TRIES
    assert all(piece in text.encode() for text in texts)


@given(st.lists(st.binary(min_size=1, max_size=6), max_size=5))
def test_bytes_of_any_kind_are_held_or_given_up(pieces):
    offers = completions(pieces)
    assert len(offers) == len(pieces)
    for piece, texts in zip(pieces, offers, strict=True):
        assert all(piece in text.encode() for text in texts)


@pytest.mark.parametrize("byte", NEVER)
def test_bytes_of_no_valid_text_are_given_up(byte):
    assert completions([bytes([byte]), b"a" + bytes([byte]), bytes([byte, 0x80])]) == [[], [], []]


@cache
def pairs_in_text() -> frozenset[bytes]:
    """All pairs of bytes in texts of assigned characters."""
    some = [chr(point) for point in range(LAST) if not 0xD800 <= point < 0xE000]
    known = [text.encode() for text in some if unicodedata.category(text) not in ("Cn", "Co")]
    inside = {bytes(pair) for data in known for pair in pairwise(data)}
    across = {
        bytes([end, start]) for end in {data[-1] for data in known} for start in {data[0] for data in known}
    }
    return frozenset(inside | across)


def test_of_all_pairs_of_bytes_those_in_some_text_are_completed():
    pairs = [bytes([first, second]) for first in range(256) for second in range(256)]
    broken = [pair for pair in pairs if not is_text(pair)]
    completed = {pair for pair, texts in zip(broken, completions(broken), strict=True) if texts}
    assert completed == {pair for pair in pairs_in_text() if not is_text(pair)}
