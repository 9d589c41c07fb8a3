"""Vectors of a model: rows without direction, cosines that mean nothing, maps that vary, perplexities."""

from __future__ import annotations

import numpy as np
import pytest

from probing import bias, drift, neighbours, project, ranks, similarity
from probing.directions import moments


def pair(x, y, view):
    """The cosine of two vectors, about their own mean where the view is not raw."""
    about = moments(np.array([x, y], np.float32))
    one, two = (np.array([each], np.float32) for each in (x, y))
    return drift.cosine(one, two, view, (about, about)).tolist()[0]


def test_the_cosine_of_a_zero_row_is_none_and_about_the_mean_it_is_not():
    assert pair([0, 0], [2, 0], "raw") is None
    assert pair([0, 0], [2, 0], "centred") == pytest.approx(-1.0)


def test_a_zero_row_puts_no_nan_into_any_measure():
    states = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
    states[[0, 7]] = 0
    labels = np.arange(40) % 4
    told = [
        *drift.drift(states, states[::-1]),
        drift.norm(states),
        similarity.anisotropy(states),
        similarity.anisotropy(states, labels),
        similarity.self_similarity(states, labels).values,
        similarity.intra_sentence(states, labels).values,
        similarity.explained(states, labels).values,
        *ranks.identity_ranks(states, states, np.arange(40))[:1],
        neighbours.among(states, 3).cosine,
        bias.weat((states[:8], states[8:16]), (states[16:20], states[20:24])).effect,
        project.pca(states).coordinates,
    ]
    assert len(told) == 16
    for each in told:
        assert each is not None
        assert np.isfinite(np.ma.getdata(each)).all()
    assert drift.cosine(states, states).tolist()[:1] == [None]


def test_one_dimension_that_dominates_hides_that_two_vectors_are_opposed():
    assert pair([10, 1, 0], [10, -1, 0], "raw") == pytest.approx(0.980198, abs=1e-6)
    assert pair([10, 1, 0], [10, -1, 0], "centred") == pytest.approx(-1.0)


def test_unrelated_words_with_a_rogue_dimension_are_at_chance_beside_the_baseline():
    rng = np.random.default_rng(1)
    one, two = (rng.normal(size=(500, 64)).astype(np.float32) for _ in range(2))
    one[:, 5] += 30
    two[:, 5] += 30
    found = drift.drift(one, two)
    assert found.cosine.min() > 0.8
    assert abs(found.adjusted.mean()) < 0.01
    assert abs(drift.drift(one, two, "standardised").cosine.mean()) < 0.02
    assert similarity.dimensions(one).share.argmax() == 5


@pytest.mark.slow
def test_a_map_of_rows_with_duplicates_is_the_same_twice():
    states = np.random.default_rng(2).normal(size=(510, 16)).astype(np.float32)
    states[400:] = states[:110]
    states[17] = 0
    first, second = project.umap(states), project.umap(states)
    assert (first.coordinates == second.coordinates).all()
    assert len(first.kept.duplicate) == 109  # row 417 is not among them, since 17 is zero
    assert len(first.coordinates) + 109 + 1 == 510
    places, placed = first.everywhere(510)
    assert (places[400] == places[0]).all()
    assert placed.sum() == 509


def test_bits_per_byte_are_one_where_perplexities_are_two():
    size = len(b"hello world!")
    few, many = np.full(3, 2.0), np.full(6, 1.0)
    assert [ranks.perplexity(each) for each in (few, many)] == pytest.approx([7.389056, 2.718282], abs=1e-6)
    bits = [ranks.bits_per_byte(each, size) for each in (few, many)]
    assert bits == pytest.approx([0.721348] * 2, abs=1e-6)


def test_words_of_a_set_that_are_several_tokens_are_composed_and_not_absent():
    assert bias.coverage([3, 1, 1], [False, False, True]) == ["multi-token", "single-token", "not coverable"]
