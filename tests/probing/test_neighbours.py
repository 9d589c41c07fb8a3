"""Nearest rows against scikit-learn and a sort of every cosine."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from probing import neighbours, products
from probing.directions import known
from workbench.errors import SutureError


def draw(rows, width=6, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)


def by_hand(states, matrix, k, allowed=lambda _i, _j: True):
    """A sort of every cosine in 64 bits, ties by id."""
    found = []
    for i, state in enumerate(states.astype(np.float64)):
        scored = []
        for j, row in enumerate(matrix.astype(np.float64)):
            if state.any() and row.any() and allowed(i, j):
                scored.append((-round(state @ row / np.linalg.norm(state) / np.linalg.norm(row), 10), j))
        ids = [j for _, j in sorted(scored)[:k]]
        found.append(ids + [neighbours.NONE] * (k - len(ids)))
    return found


@pytest.mark.parametrize("room", [1 << 24, 700])
@pytest.mark.parametrize("k", [1, 3, 10])
def test_the_nearest_are_those_of_a_whole_sort(monkeypatch, room, k):
    monkeypatch.setattr(products, "SCORES", room)
    states, matrix = draw(20), draw(300, seed=1)
    matrix[40:60] = matrix[7]
    assert neighbours.nearest(states, matrix, k).ids.tolist() == by_hand(states, matrix, k)


def test_the_nearest_are_those_of_scikit_learn():
    from sklearn.neighbors import NearestNeighbors

    states, matrix = draw(50, 32), draw(4000, 32, 1)
    found = neighbours.nearest(states, matrix, 10)
    theirs = (
        NearestNeighbors(n_neighbors=10, metric="cosine", algorithm="brute").fit(matrix).kneighbors(states)
    )
    assert (found.ids == theirs[1]).all()
    np.testing.assert_allclose(found.cosine.data, 1 - theirs[0], atol=1e-6)


def test_equal_rows_come_by_id_wherever_they_lie():
    matrix = draw(3000, 64)
    places = np.arange(5, 3000, 100)
    matrix[places] = matrix[5]
    found = neighbours.nearest(matrix[places[:3]] * 2, matrix, 12)
    assert found.ids.tolist() == [places[:12].tolist()] * 3


def test_a_unit_and_its_type_are_no_neighbours_of_it():
    pool = draw(30)
    types = np.array(["a", "b", "c"] * 10)
    found = neighbours.among(pool, 4, types=types)
    assert found.ids.tolist() == by_hand(pool, pool, 4, lambda i, j: types[i] != types[j])
    alone = neighbours.among(pool, 4)
    assert alone.ids.tolist() == by_hand(pool, pool, 4, lambda i, j: i != j)


def test_rows_without_direction_neither_find_nor_are_found():
    pool = draw(12)
    pool[0], pool[1, 2] = 0, np.inf
    keep = np.arange(12) != 5
    found = neighbours.nearest(pool, pool, 9, keep=keep)
    assert (found.ids[:2] == neighbours.NONE).all()
    assert found.cosine.tolist()[0] == [None] * 9
    assert not np.isin([0, 1, 5], found.ids[2:]).any()
    assert known(found.cosine)[2:].all()


def test_fewer_rows_than_neighbours_leave_places_empty():
    found = neighbours.among(draw(3), 5)
    assert (found.ids != neighbours.NONE).sum(1).tolist() == [2, 2, 2]
    assert known(found.cosine).sum(1).tolist() == [2, 2, 2]


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float32, st.tuples(st.integers(1, 12), st.just(3)), elements=st.integers(-3, 3)),
    st.integers(1, 4),
)
def test_small_pools_with_many_ties_are_those_of_a_whole_sort(pool, k):
    assert neighbours.nearest(pool, pool, k).ids.tolist() == by_hand(pool, pool, k)


def test_overlap_is_intersection_over_union():
    one = neighbours.among(draw(40), 5)
    two = neighbours.among(draw(40) + draw(40, seed=1), 5)
    expected = [
        len(set(a) & set(b)) / len(set(a) | set(b))
        for a, b in zip(one.ids.tolist(), two.ids.tolist(), strict=True)
    ]
    assert neighbours.overlap(one, two).tolist() == pytest.approx(expected)
    assert neighbours.overlap(one, one).tolist() == [1.0] * 40


def test_overlap_of_a_row_without_neighbours_is_masked():
    pool = draw(6)
    whole = neighbours.among(pool, 2)
    pool[2] = 0
    assert known(neighbours.overlap(neighbours.among(pool, 2), whole)).tolist() == [
        True,
        True,
        False,
        *[True] * 3,
    ]


def test_chance_is_the_mean_over_all_pairs_of_sets():
    k, pool = 3, 8
    ways = {common: comb(k, common) * comb(pool - k, k - common) for common in range(k + 1)}
    mean = sum(count * common / (2 * k - common) for common, count in ways.items()) / comb(pool, k)
    assert neighbours.chance(k, pool) == pytest.approx(mean, abs=1e-12)
    assert neighbours.chance(10, 5000) == pytest.approx((10 / 5000) / (2 - 10 / 5000), rel=0.06)
    assert neighbours.chance(4, 4) == pytest.approx(1.0)
    assert neighbours.chance(5, 4) is None


def test_random_layers_overlap_by_chance():
    found = neighbours.overlap(neighbours.among(draw(600, 20), 30), neighbours.among(draw(600, 20, 1), 30))
    assert found.mean() == pytest.approx(neighbours.chance(30, 599), abs=0.004)


def test_no_neighbour_at_all_may_not_be_asked_for():
    with pytest.raises(SutureError, match="at least one"):
        neighbours.among(draw(3), 0)
