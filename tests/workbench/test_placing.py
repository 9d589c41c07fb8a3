"""Placing pieces, against texts that were put together from them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.placing import Unknown, place

PIECES = st.lists(
    st.text("abé", min_size=1, max_size=4).flatmap(lambda t: st.sampled_from([t, t + " "])), max_size=8
)
GAPS = st.lists(st.text("xy", max_size=3), min_size=9, max_size=9)


def laid(pieces, gaps):
    """A text of gaps and pieces by turns, and the span of each piece."""
    text, spans = b"", []
    for gap, piece in zip(gaps, pieces, strict=False):
        text += gap.encode()
        spans.append((len(text), len(text) + len(piece.encode())))
        text += piece.encode()
    return text + gaps[-1].encode(), spans


@given(PIECES, GAPS)
def test_pieces_are_found_between_text_that_none_covers(pieces, gaps):
    text, spans = laid(pieces, gaps)
    found = place(text, [piece.encode() for piece in pieces], {})
    assert found == (spans, [], [])


@given(PIECES, GAPS)
def test_a_space_that_the_text_lacks_is_left_off(pieces, gaps):
    bare = [piece.replace(" ", "b") for piece in pieces]
    text, spans = laid(bare, gaps)
    found = place(text, [b" " + piece.encode() for piece in bare], {})
    assert found == (spans, [], [])


@given(st.lists(st.text("abé", min_size=1, max_size=4), max_size=8), GAPS, st.data())
def test_pieces_are_found_around_characters_without_an_entry(pieces, gaps, data):
    """Each stretch is a piece with x and y sprinkled over it, as a model that drops these sees it."""
    scattered = []
    for piece in pieces:
        holes = data.draw(st.lists(st.text("xy", max_size=2), min_size=len(piece), max_size=len(piece)))
        inner = piece[0] + "".join(
            hole + character for hole, character in zip(holes, piece[1:], strict=False)
        )
        scattered.append(inner)
    text, spans = laid(scattered, gaps)
    found = place(
        text, [piece.encode() for piece in pieces], {}, has_entry=lambda character: character not in b"xy"
    )
    assert found.spans == spans
    assert found.lost == []
    assert {text[low:high].decode().strip("xy") for low, high in found.passed} <= {""}
    lengths = [high - low - len(piece.encode()) for (low, high), piece in zip(spans, pieces, strict=True)]
    assert sum(high - low for low, high in found.passed) == sum(lengths)


def test_a_piece_that_stands_nowhere_is_lost_and_moves_nothing():
    assert place(b"abc", [b"a", b"z", b"bc"], {}) == ([(0, 1), (1, 1), (1, 3)], [1], [])


def test_a_character_with_an_entry_is_never_passed_over():
    found = place(b"acb", [b"ab"], {}, has_entry=lambda _: True)
    assert found.lost == [0]


def test_unknown_text_stands_where_it_is_said_to():
    assert place(b"a??b", [b"a", b"<unk>", b"b"], {1: Unknown(1, 3)}) == ([(0, 1), (1, 3), (3, 4)], [], [])


def test_an_unknown_part_of_an_expanded_character_leaves_the_others_their_places():
    target = "a1⁄4b1⁄44".encode()
    known = [b"1", b"?", b"4", b"b", b"1", b"?", b"4", b"4"]
    fixed = place(target, [b"a", *known], {2: Unknown(1, 6, 1), 6: Unknown(7, 12, 7)})
    assert [target[low:high].decode() for low, high in fixed.spans] == list("a1⁄4b1⁄44")
    assert fixed.lost == []


def test_an_unknown_word_is_not_cut_where_the_next_piece_also_stands_inside_it():
    target = b"x prepare a"
    pieces = [b"x", b"<unk>", b"a"]
    assert place(target, pieces, {1: Unknown(2, 9)}).spans == [(0, 1), (2, 9), (10, 11)]


def test_another_spelling_counts_where_the_first_does_not_stand():
    assert place(b"xAx<0x41>", [b"x", b"A", b"x", b"A"], {}, {1: b"<0x41>", 3: b"<0x41>"}).spans == [
        *((0, 1), (1, 2), (2, 3), (3, 9))
    ]
