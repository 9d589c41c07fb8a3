"""Ranks against a loop over the vocabulary, and logits against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import log_softmax
from scipy.stats import rankdata

from probing import products, ranks
from probing.directions import known
from workbench.errors import SutureError


def draw(rows, width=6, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)


def by_hand(states, matrix, ids):
    """Ranks from all cosines in 64 bits, ties averaged by scipy."""
    one, two = (
        x.astype(np.float64) / np.linalg.norm(x.astype(np.float64), axis=1)[:, None] for x in (states, matrix)
    )
    scores = np.round(one @ two.T, 10)
    return [rankdata(-row, "average")[own] for row, own in zip(scores, ids, strict=True)]


@pytest.mark.parametrize("room", [1 << 24, 200])
def test_ranks_by_cosine_are_those_of_all_cosines(monkeypatch, room):
    monkeypatch.setattr(products, "SCORES", room)
    states, matrix = draw(40), draw(90, seed=1)
    matrix[10:30] = matrix[50] * 2  # twenty more rows of one direction
    ids = np.random.default_rng(2).integers(0, 90, 40)
    ids[:5] = 50, 10, 11, 29, 12
    found = ranks.identity_ranks(states, matrix, ids)
    assert found.rank.tolist() == by_hand(states, matrix, ids)
    assert found.ties[:5].tolist() == [21] * 5


def test_equal_rows_tie_wherever_they_lie_in_a_large_matrix():
    """A product in 32 bits alone gives equal rows unequal scores here and there."""
    matrix = draw(5000, 333, 1)
    places = np.arange(0, 5000, 7)
    matrix[places] = matrix[0]
    states = draw(64, 333)
    found = ranks.identity_ranks(states, matrix, np.full(64, 7))
    assert (found.ties == len(places)).all()
    assert found.rank.tolist() == by_hand(states, matrix, np.full(64, 7))


def test_a_state_that_is_its_own_row_comes_first():
    matrix = draw(50)
    found = ranks.identity_ranks(matrix * 3, matrix, np.arange(50))
    assert found.rank.tolist() == [1.0] * 50
    assert found.score.tolist() == pytest.approx([1.0] * 50)
    assert ranks.summary(found) == (50, 0, 1.0, 1.0, 1.0, None)


def test_rows_without_direction_or_entry_are_not_ranked():
    matrix, states = draw(20), draw(6, seed=1)
    matrix[3], states[2] = 0, 0
    keep = np.arange(20) < 15
    ids = np.array([3, 1, 1, 19, 0, 14])
    found = ranks.identity_ranks(states, matrix, ids, keep=keep)
    assert known(found.rank).tolist() == [False, True, False, False, True, True]
    use = keep & matrix.any(1)
    place = np.cumsum(use) - 1
    good = [1, 4, 5]
    assert found.rank.compressed().tolist() == by_hand(states[good], matrix[use], place[ids[good]])
    assert found.entries == 14
    assert ranks.summary(found).undefined == 3


def test_centring_takes_off_each_sides_own_mean():
    states, matrix = draw(30) + 40, draw(30, seed=1) - 40
    matrix[:] = states - 77  # the same about their means
    assert ranks.summary(ranks.identity_ranks(states, matrix, np.arange(30), view="centred")).at_one == 1.0
    assert ranks.summary(ranks.identity_ranks(states, matrix, np.arange(30))).at_one < 0.5


def test_logits_are_ranked_with_ties_averaged_and_surprise_in_bits():
    logits = np.random.default_rng(0).integers(0, 5, (30, 40)).astype(np.float32)
    ids = np.random.default_rng(1).integers(0, 40, 30)
    found = ranks.logit_ranks(logits, ids)
    assert found.rank.tolist() == [rankdata(-row)[own] for row, own in zip(logits, ids, strict=True)]
    expected = -log_softmax(logits.astype(np.float64), axis=1)[np.arange(30), ids] / np.log(2)
    np.testing.assert_allclose(found.bits.data, expected, atol=1e-12)
    top = [(row[own] == row.max()) / (row == row.max()).sum() for row, own in zip(logits, ids, strict=True)]
    told = ranks.summary(found)
    assert told.at_one == pytest.approx(np.mean(top))
    assert told.mrr == pytest.approx(np.mean(1 / found.rank.data))
    assert told.bits == pytest.approx(expected.mean())


def test_padding_columns_are_not_ranked_but_have_their_share():
    logits = np.array([[1.0, 2.0, 9.0]])
    found = ranks.logit_ranks(logits, np.array([1]), np.array([True, True, False]))
    assert (found.rank.tolist(), found.entries) == ([1.0], 2)
    assert found.bits.tolist()[0] == pytest.approx(-log_softmax(logits)[0, 1] / np.log(2))
    assert ranks.logit_ranks(logits, np.array([2]), np.array([True, True, False])).rank.tolist() == [None]


def test_logits_that_are_not_finite_give_no_rank():
    logits = np.array([[1.0, np.nan], [0.0, 800.0]])
    found = ranks.logit_ranks(logits, np.array([0, 1]))
    assert (found.rank.tolist(), found.bits.tolist()[0]) == ([None, 1.0], None)
    assert ranks.summary(found, np.array([True, False])) == (0, 1, None, None, None, None)


@settings(max_examples=60, deadline=None)
@given(arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 8)), elements=st.integers(-3, 3)))
def test_the_ranks_of_all_entries_sum_to_what_places_sum_to(logits):
    total = sum(
        ranks.logit_ranks(logits, np.full(len(logits), own)).rank.data for own in range(logits.shape[1])
    )
    np.testing.assert_allclose(total, logits.shape[1] * (logits.shape[1] + 1) / 2)


@pytest.mark.parametrize("ids", [np.array([0, 5]), np.array([-1, 0]), np.array([0]), np.array([0.0, 1.0])])
def test_ids_beyond_the_matrix_are_refused_in_a_sentence(ids):
    with pytest.raises(SutureError, match="ids must be"):
        ranks.identity_ranks(draw(2), draw(5), ids)


def test_a_text_without_bytes_has_no_bits_per_byte():
    with pytest.raises(SutureError, match="at least one byte"):
        ranks.bits_per_byte(np.array([1.0]), 0)
