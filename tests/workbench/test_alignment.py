from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.alignment import Alignment, precision_recall
from workbench.errors import SutureError
from workbench.segmentation import Segmentation


def spans(text: bytes, pairs, **rest) -> Segmentation:
    array = np.array(pairs, np.int64).reshape(-1, 2)
    return Segmentation(text, array[:, 0], array[:, 1], exact=False, **rest)


@st.composite
def two(draw):
    """Two segmentations of one text, with holes, empty spans and tokens that overlap."""
    size = draw(st.integers(0, 14))
    offset = st.integers(0, size)
    pair = st.tuples(offset, offset).map(sorted)
    sides = [sorted(draw(st.lists(pair, max_size=8)), key=lambda span: span[0]) for _ in range(2)]
    return tuple(spans(bytes(size), side) for side in sides)


def brute_cuts(side: Segmentation) -> set[int]:
    return {0, len(side.text), *side.starts.tolist(), *side.ends.tolist()}


def brute_links(one: Segmentation, other: Segmentation) -> list[tuple[int, int]]:
    held = [[set(range(a, b)) for a, b in zip(side.starts, side.ends, strict=True)] for side in (one, other)]
    return [(i, j) for i, a in enumerate(held[0]) for j, b in enumerate(held[1]) if a & b]


@given(two())
def test_boundaries_are_those_of_set_algebra(pair):
    gold, predicted = pair
    found = Alignment(*pair)
    ends = {0, len(gold.text)}
    reference, other = brute_cuts(gold) - ends, brute_cuts(predicted) - ends
    assert found.hits.tolist() == sorted(reference & other)
    assert found.missed.tolist() == sorted(reference - other)
    assert found.false.tolist() == sorted(other - reference)


@given(two())
def test_links_are_the_pairs_that_share_a_byte(pair):
    assert list(map(tuple, Alignment(*pair).links.tolist())) == brute_links(*pair)


@given(two())
def test_crossing_pairs_overlap_and_neither_holds_the_other(pair):
    def bytes_of(side, index):
        return set(range(side.starts[index], side.ends[index]))

    expected = []
    for i, j in brute_links(*pair):
        one, other = bytes_of(pair[0], i), bytes_of(pair[1], j)
        if not one <= other and not other <= one:
            expected.append([i, j])
    assert Alignment(*pair).crossing.tolist() == expected


@given(two())
def test_chunks_lie_between_shared_cuts_and_cannot_be_split(pair):
    gold, predicted = pair
    found = Alignment(*pair)
    cuts = brute_cuts(gold) & brute_cuts(predicted)
    inner = [
        cut
        for cut in sorted(cuts)
        if not any(a < cut < b for side in pair for a, b in zip(side.starts, side.ends, strict=True))
    ]
    expected = []
    for low, high in pairwise(inner):
        tokens = [
            tuple(
                index
                for index, (a, b) in enumerate(zip(side.starts, side.ends, strict=True))
                if a < b and low <= a and b <= high
            )
            for side in pair
        ]
        if tokens[0] or tokens[1]:
            expected.append((low, high, *tokens))
    assert [tuple(chunk) for chunk in found.chunks] == expected
    assert found.shared.tolist() == inner


@given(two())
def test_each_token_on_text_is_in_one_chunk_and_each_link_within_one(pair):
    found = Alignment(*pair)
    for side, name in zip(pair, ("gold", "predicted"), strict=True):
        seen = [token for chunk in found.chunks for token in getattr(chunk, name)]
        assert sorted(seen) == np.flatnonzero(side.starts < side.ends).tolist()
    home = [found.chunk_of(side) for side in pair]
    assert all(home[0][i] == home[1][j] for i, j in found.links.tolist())


@given(two())
def test_swapping_the_sides_swaps_missed_and_false_and_turns_the_pairs(pair):
    one, other = Alignment(*pair), Alignment(*reversed(pair))
    assert one.missed.tolist() == other.false.tolist()
    assert one.hits.tolist() == other.hits.tolist()
    for name in ("links", "crossing"):
        assert sorted(getattr(one, name).tolist()) == sorted(
            row[::-1] for row in getattr(other, name).tolist()
        )


@given(
    st.integers(1, 40).flatmap(lambda size: st.tuples(*[st.sets(st.integers(0, size))] * 2, st.just(size)))
)
def test_exact_segmentations_have_at_most_as_many_links_as_tokens(sets):
    *sides, size = sets
    pair = [Segmentation.from_cuts(bytes(size), sorted(cuts | {0, size})) for cuts in sides]
    found = Alignment(*pair)
    assert len(found.links) == len(np.union1d(pair[0].cuts, pair[1].cuts)) - 1
    assert b"".join(found.gold.text[chunk.start : chunk.end] for chunk in found.chunks) == bytes(size)


def test_the_worked_example_crosses_once():
    text = b"0123456789"
    words = spans(text, [(0, 2), (2, 5), (6, 10)])
    tokens = Segmentation.from_cuts(text, [0, 3, 5, 10])
    found = Alignment(words, tokens)
    assert found.crossing.tolist() == [[1, 0]]
    assert found.links.tolist() == [[0, 0], [1, 0], [1, 1], [2, 2]]
    assert found.hits.tolist() == [5]
    assert found.missed.tolist() == [2, 6]
    assert found.false.tolist() == [3]
    assert [tuple(chunk) for chunk in found.chunks] == [(0, 5, (0, 1), (0, 1)), (5, 10, (2,), (2,))]


def test_an_empty_span_links_to_nothing_and_uncovered_text_makes_no_chunk():
    text = b"ab cd"
    gold = spans(text, [(0, 0), (0, 2), (3, 5)], synthetic=(0,))
    found = Alignment(gold, spans(text, [(0, 2), (3, 4), (4, 5)]))
    assert found.links.tolist() == [[1, 0], [2, 1], [2, 2]]
    assert [tuple(chunk) for chunk in found.chunks] == [(0, 2, (1,), (0,)), (3, 5, (2,), (1, 2))]
    assert found.chunk_of(gold).tolist() == [-1, 0, 2]


def test_a_cut_inside_a_token_of_overlapping_spans_splits_no_chunk():
    text = "ae\u0301b".encode()
    overlapping = spans(text, [(0, 4), (2, 5)])
    found = Alignment(overlapping, Segmentation.from_cuts(text, [0, 2, 4, 5]))
    assert [tuple(chunk) for chunk in found.chunks] == [(0, 5, (0, 1), (0, 1, 2))]


@pytest.mark.parametrize("other", [b"", b"abd", b"abcd"])
def test_different_texts_are_refused_in_one_sentence(other):
    with pytest.raises(SutureError, match=r"only on one text; got texts of 3 and \d bytes that differ from"):
        Alignment(Segmentation.from_cuts(b"abc", [0, 3]), Segmentation.from_cuts(other, [0, len(other)]))


def test_an_empty_text_has_nothing():
    nothing = Segmentation.from_cuts(b"", [0])
    found = Alignment(nothing, nothing)
    assert (found.links.shape, found.crossing.shape, found.chunks) == ((0, 2), (0, 2), [])
    assert found.scores == (None, None, None)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_scores_follow_their_definitions(hits, false, missed):
    precision, recall, f1 = precision_recall(hits, false, missed)
    assert precision == (None if hits + false == 0 else pytest.approx(hits / (hits + false)))
    assert recall == (None if hits + missed == 0 else pytest.approx(hits / (hits + missed)))
    if precision and recall:
        assert f1 == pytest.approx(2 / (1 / precision + 1 / recall))
    elif hits + false + missed:
        assert f1 == 0.0
    else:
        assert f1 is None


def test_negative_counts_are_refused():
    with pytest.raises(SutureError, match="must not be negative; got 1, -1 and 0"):
        precision_recall(1, -1, 0)
