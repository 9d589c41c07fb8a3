"""Completions of pieces that are no text alone, against what UTF-8 allows."""

from __future__ import annotations

from itertools import chain, pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vocab_audits.partial import TRIES, completions, split

NEVER = [0xC0, 0xC1, *range(0xF5, 0x100)]

valid = st.characters(exclude_categories=["Cs"])
slices = st.tuples(st.text(valid, min_size=1, max_size=4), st.integers(0, 3), st.integers(0, 3)).map(
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
    (offers,) = completions([piece])
    texts = list(offers)
    assert 0 < len(texts) == len(offers) <= TRIES
    assert all(piece in text.encode() for text in texts)


@given(st.lists(st.binary(min_size=1, max_size=6), max_size=5))
def test_bytes_of_any_kind_are_held_or_given_up(pieces):
    offers = completions(pieces)
    assert len(offers) == len(pieces)
    for piece, texts in zip(pieces, offers, strict=True):
        assert all(piece in text.encode() for text in texts)


@pytest.mark.parametrize("byte", NEVER)
def test_bytes_of_no_valid_text_are_given_up(byte):
    offers = completions([bytes([byte]), b"a" + bytes([byte]), bytes([byte, 0x80])])
    assert list(map(list, offers)) == [[], [], []]


def pairs_in_text() -> set[bytes]:
    """All pairs of bytes that stand side by side in texts."""
    points = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    spelled = [chr(point).encode() for point in points]
    inside = set(chain.from_iterable(pairwise(data) for data in spelled))
    across = product({data[-1] for data in spelled}, {data[0] for data in spelled})
    return {bytes(pair) for pair in inside.union(across)}


def test_of_all_pairs_of_bytes_those_in_some_text_are_completed():
    pairs = [bytes([first, second]) for first in range(256) for second in range(256)]
    broken = [pair for pair in pairs if not is_text(pair)]
    completed = {pair for pair, texts in zip(broken, completions(broken), strict=True) if len(texts)}
    assert completed == {pair for pair in pairs_in_text() if not is_text(pair)}
