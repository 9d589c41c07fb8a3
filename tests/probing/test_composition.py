"""Pieces beside whole words: by hand, and where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cosine as distance

from probing import composition
from probing.directions import known
from workbench.errors import SutureError


def draw(rows, width=8, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)


STARTS = np.array([0, 1, 3, 6])


def test_pieces_are_composed_word_by_word():
    pieces = draw(6)
    words = [pieces[:1], pieces[1:3], pieces[3:]]
    for how, of in {
        "first": lambda rows: rows[0],
        "last": lambda rows: rows[-1],
        "mean": lambda rows: rows.mean(0),
        "sum": lambda rows: rows.sum(0),
    }.items():
        expected = [of(rows.astype(np.float64)) for rows in words]
        np.testing.assert_allclose(composition.composed(pieces, STARTS, how), expected, atol=1e-12)


def test_the_figures_of_a_word_are_those_of_single_cosines():
    vectors, whole, others = draw(7), draw(7, seed=1) + 1, draw(12, seed=2) + 1
    found = composition.against_whole(vectors, whole, others=others)
    pool = np.concatenate([whole, others]).astype(np.float64)
    for i, vector in enumerate(vectors.astype(np.float64)):
        near = np.array([1 - distance(vector, row) for row in pool])
        assert found.cosine[i] == pytest.approx(near[i], abs=1e-9)
        assert found.baseline[i] == pytest.approx(np.delete(near, i).mean(), abs=1e-9)
        assert found.gain[i] == pytest.approx(near[i] - np.delete(near, i).mean(), abs=1e-9)
        assert found.rank[i] == 1 + (near > near[i]).sum()
        error = np.linalg.norm(vector - pool[i]) / np.linalg.norm(pool[i])
        assert found.error[i] == pytest.approx(error, abs=1e-9)
    assert found.pool == 19
    assert found.at_one == pytest.approx((found.rank == 1).mean())


def test_only_the_error_tells_a_sum_from_a_mean():
    whole = draw(3)
    pieces = np.repeat(whole / np.array([[1], [2], [3]]), [1, 2, 3], axis=0).astype(np.float32)
    found = {how: composition.against_whole(composition.composed(pieces, STARTS, how), whole)
             for how in ("sum", "mean")}  # fmt: skip
    np.testing.assert_allclose(found["sum"].cosine, found["mean"].cosine, atol=1e-9)
    assert found["sum"].error.data == pytest.approx([0, 0, 0], abs=1e-6)
    assert found["mean"].error.data == pytest.approx([0, 1 / 2, 2 / 3], abs=1e-6)
    assert found["sum"].at_one == 1.0


def test_words_without_direction_are_masked():
    vectors, whole = draw(5), draw(5, seed=1)
    vectors[0], whole[1] = 0, 0
    found = composition.against_whole(vectors, whole)
    assert known(found.cosine).tolist() == [False, False, True, True, True]
    assert known(found.gain).tolist() == [False, False, True, True, True]
    assert known(found.error).tolist() == [True, False, True, True, True]
    assert found.pool == 4
    one = composition.against_whole(vectors[2:3], whole[2:3])
    assert (one.baseline.tolist(), one.at_one) == ([None], 1.0)


@pytest.mark.parametrize(
    ("found", "layer"),
    [
        ([0, 0.1, 0.5, 0.9, 1.0, 0.2], 2),
        ([0, 0.6, 0.1, 0.9, 1.0], 3),  # once over the half is not enough
        ([0, 0, 1.0], None),
        ([0.9, 1.0], 0),
        ([None, 0.5, 0.6, None], 1),
        ([0, 0, 0], None),
        ([], None),
    ],
)
def test_pieces_are_a_word_once_half_of_them_are_found_twice_in_a_row(found, layer):
    assert composition.detokenised(found) == layer


def test_pieces_become_a_word_at_the_layer_where_they_were_made_to():
    """Layers whose last piece turns from noise into the whole word."""
    whole = draw(200, 32)
    layers = []
    for share in (0, 0, 0.1, 0.6, 0.9, 1.0):
        last = share * whole + (1 - share) * draw(200, 32, 5)
        pieces = np.stack([draw(200, 32, 7), last], axis=1).reshape(400, 32).astype(np.float32)
        vectors = composition.composed(pieces, np.arange(0, 401, 2), "last")
        layers.append(composition.against_whole(vectors, whole).at_one)
    assert composition.detokenised(layers) == 3


@pytest.mark.parametrize("starts", [[0, 1], [1, 6], [0, 3, 3, 6], []])
def test_starts_must_divide_the_pieces(starts):
    with pytest.raises(SutureError, match="starts must run from 0 to 6"):
        composition.composed(draw(6), np.array(starts, np.int64), "mean")


def test_an_unknown_way_of_composing_is_named():
    with pytest.raises(SutureError, match="first, last, mean, sum; got 'max'"):
        composition.composed(draw(6), STARTS, "max")
