"""Similarity inside a layer against pairs formed one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cosine as distance

from probing import similarity
from probing.directions import known
from workbench.errors import SutureError


def states(rows=60, width=7, seed=0, offset=1.0):
    return (np.random.default_rng(seed).normal(size=(rows, width)) + offset).astype(np.float32)


def pairs(rows, keep=lambda _i, _j: True):
    wide = rows.astype(np.float64)
    chosen = [(i, j) for i, j in combinations(range(len(wide)), 2) if keep(i, j)]
    return np.mean([1 - distance(wide[i], wide[j]) for i, j in chosen])


SENTENCES = np.repeat(np.arange(12), 5)
TYPES = np.array(["ab", "c", "ab", "d", "e"] * 12)


def test_anisotropy_is_the_mean_over_all_pairs():
    rows = states()
    assert similarity.anisotropy(rows) == pytest.approx(pairs(rows), abs=1e-9)


def test_pairs_of_one_sentence_are_left_out_exactly():
    rows = states()
    different = pairs(rows, lambda i, j: SENTENCES[i] != SENTENCES[j])
    assert similarity.anisotropy(rows, SENTENCES) == pytest.approx(different, abs=1e-9)


def test_anisotropy_without_a_pair_is_none():
    rows = states()
    assert similarity.anisotropy(rows[:1]) is None
    assert similarity.anisotropy(np.zeros((4, 3), np.float32)) is None
    assert similarity.anisotropy(rows, np.zeros(60, int)) is None


def test_self_similarity_is_the_mean_over_a_words_pairs():
    rows = states()
    found = similarity.self_similarity(rows, TYPES, SENTENCES)
    assert found.groups.tolist() == ["ab", "c", "d", "e"]
    assert found.counts.tolist() == [24, 12, 12, 12]
    assert found.contexts.tolist() == [12] * 4
    for name, value in zip(found.groups, found.values.tolist(), strict=True):
        assert value == pytest.approx(pairs(rows[name == TYPES]), abs=1e-9)


def test_a_word_of_too_few_sentences_has_no_self_similarity():
    rows = states(12)
    types = np.array(["few"] * 6 + ["many"] * 6)
    sentences = np.array([0, 0, 0, 1, 2, 3, 0, 1, 2, 3, 4, 4])
    found = similarity.self_similarity(rows, types, sentences)
    assert known(found.values).tolist() == [False, True]
    assert found.contexts.tolist() == [4, 5]
    assert known(similarity.self_similarity(rows, types, sentences, least=4).values).all()


def test_a_zero_row_is_no_occurrence():
    rows = states(12)
    rows[0] = 0
    types = np.zeros(12, int)
    found = similarity.self_similarity(rows, types)
    assert found.counts.tolist() == [11]
    assert found.values.tolist() == pytest.approx([pairs(rows[1:])], abs=1e-9)


@pytest.mark.parametrize("view", ["raw", "centred"])
def test_intra_sentence_is_the_mean_cosine_to_the_sentences_mean(view):
    rows = states()
    wide = rows.astype(np.float64)
    if view == "centred":
        wide = wide - wide.mean(0)
    found = similarity.intra_sentence(rows, SENTENCES, view)
    for sentence, value in enumerate(found.values.tolist()):
        own = wide[sentence == SENTENCES]
        expected = np.mean([1 - distance(row, own.mean(0)) for row in own])
        assert value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("width", [7, 80])
def test_explained_variance_is_that_of_the_singular_values(centred, width):
    rows = states(width=width)
    found = similarity.explained(rows, TYPES, centred=centred)
    for name, value in zip(found.groups, found.values.tolist(), strict=True):
        own = rows[name == TYPES].astype(np.float64)
        squares = np.linalg.svd(own - own.mean(0) * centred, compute_uv=False) ** 2
        assert value == pytest.approx(squares[0] / squares.sum(), abs=1e-9)


def test_one_vector_explains_equal_occurrences_and_random_rows_less():
    rows = states(40, offset=0.0)
    rows[:10] = rows[0]
    found = similarity.explained(rows, np.arange(40).clip(9))
    assert found.values.tolist()[0] == pytest.approx(1.0, abs=1e-6)
    chance = similarity.explained_at_random(rows[10:], [10] * 20)
    assert chance.shape == (20,)
    assert (chance < 0.9).all()
    assert (chance == similarity.explained_at_random(rows[10:], [10] * 20)).all()


def test_a_rogue_dimension_has_most_of_the_anisotropy():
    rows = states(offset=0.0)
    rows[:, 3] += 30
    found = similarity.dimensions(rows)
    assert found.anisotropy == pytest.approx(pairs(rows), abs=1e-9)
    assert found.contribution.sum() == pytest.approx(found.anisotropy, abs=1e-12)
    assert found.share[3] > 0.99
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    by_hand = np.mean([unit[i] * unit[j] for i, j in combinations(range(60), 2)], axis=0)
    np.testing.assert_allclose(found.contribution, by_hand, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(arrays(np.float32, st.tuples(st.integers(2, 12), st.just(3)), elements=st.integers(-5, 5)), st.data())
def test_closed_forms_are_those_of_pairs(rows, data):
    labels = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows))))
    good = [i for i in range(len(rows)) if rows[i].any()]
    chosen = [(i, j) for i, j in combinations(good, 2) if labels[i] != labels[j]]
    found = similarity.anisotropy(rows, labels)
    if not chosen:
        assert found is None
        return
    wide = rows.astype(np.float64)
    assert found == pytest.approx(np.mean([1 - distance(wide[i], wide[j]) for i, j in chosen]), abs=1e-9)


def test_labels_must_be_one_to_a_row():
    with pytest.raises(SutureError, match="one to a row"):
        similarity.self_similarity(states(), TYPES[:-1])
