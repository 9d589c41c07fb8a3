"""Maps: what is laid out, what is not, and the same twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from probing import project
from tests.outside import without
from workbench.errors import MissingExtra, SutureError


def draw(rows, width=8, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)


def spoilt():
    """Forty rows: one zero, one NaN, one infinite, three equal to others, one negative zero."""
    states = draw(40)
    states[3], states[7, 2], states[8, 0] = 0, np.nan, -np.inf
    states[20], states[30], states[31] = states[10], states[10], states[11]
    states[5] = [-0.0] * 8
    return states


def test_every_row_is_laid_out_or_named():
    kept = project.keep(spoilt())
    assert kept.zero.tolist() == [3, 5]
    assert kept.unfinite.tolist() == [7, 8]
    assert kept.duplicate.tolist() == [20, 30, 31]
    assert kept.twin.tolist() == [10, 10, 11]
    assert sorted(np.concatenate(kept[:4]).tolist()) == list(range(40))


def test_pca_is_that_of_singular_values():
    states = draw(50) * np.arange(1, 9)
    found = project.pca(states, dimensions=3)
    wide = states.astype(np.float64) - states.astype(np.float64).mean(0)
    left, values, _ = np.linalg.svd(wide, full_matrices=False)
    np.testing.assert_allclose(np.abs(found.coordinates), np.abs(left * values)[:, :3], atol=1e-9)
    np.testing.assert_allclose(found.explained, (values**2 / (values**2).sum())[:3], atol=1e-12)
    assert (found.coordinates == project.pca(states, dimensions=3).coordinates).all()


@pytest.mark.parametrize("of", [project.pca, pytest.param(project.umap, marks=pytest.mark.slow)])
def test_a_duplicate_lies_where_its_twin_does_and_the_rest_nowhere(of):
    found = of(spoilt())
    assert found.coordinates.shape == (33, 2)
    assert np.isfinite(found.coordinates).all()
    places, placed = found.everywhere(40)
    assert np.flatnonzero(~placed).tolist() == [3, 5, 7, 8]
    assert (places[[20, 30]] == places[10]).all()
    assert (places[31] == places[11]).all()


def test_umap_of_one_seed_is_the_same_and_finds_what_is_together():
    states = draw(60) + np.repeat(np.eye(3, 8) * 30, 20, axis=0).astype(np.float32)
    found = project.umap(states, seed=3)
    assert (found.coordinates == project.umap(states, seed=3).coordinates).all()
    middles = found.coordinates.reshape(3, 20, 2).mean(1)
    spread = np.linalg.norm(found.coordinates.reshape(3, 20, 2) - middles[:, None], axis=2).max()
    assert min(np.linalg.norm(middles[i] - middles[j]) for i, j in ((0, 1), (0, 2), (1, 2))) > spread
    assert (found.settings["neighbours"], found.settings["metric"], found.seed) == (15, "cosine", 3)


@pytest.mark.parametrize("rows", [3, 4, 6, 12])
def test_fewer_rows_than_neighbours_are_laid_out_too(rows):
    found = project.umap(draw(rows))
    assert found.coordinates.shape == (rows, 2)
    assert np.isfinite(found.coordinates).all()
    assert found.settings["neighbours"] == rows - 1


def test_threads_wait_for_each_other():
    states = [draw(30, seed=seed) for seed in range(4)]
    alone = [project.umap(each).coordinates for each in states]
    with ThreadPoolExecutor(4) as pool:
        together = [each.coordinates for each in pool.map(project.umap, states)]
    assert all((a == b).all() for a, b in zip(alone, together, strict=True))


@pytest.mark.parametrize("of", [project.pca, project.umap])
@pytest.mark.parametrize(
    ("states", "options", "said"),
    [
        (np.ones((9, 4), np.float32), {}, r"3 distinct rows; got 1 of 9 \(0 zero, 0 not finite, 8 equal"),
        (np.zeros((9, 4), np.float32), {}, "9 zero"),
        (np.zeros((0, 4), np.float32), {}, "got 0 of 0"),
        (draw(9), {"dimensions": 9}, "1 to 8 dimensions here; got 9"),
        (draw(9), {"seed": np.random.RandomState(0)}, "whole number; got RandomState"),
    ],
)
def test_what_cannot_be_laid_out_is_refused_in_a_sentence(of, states, options, said):
    with pytest.raises(SutureError, match=said):
        of(states, **options)


@pytest.mark.parametrize(("of", "package"), [(project.pca, "sklearn"), (project.umap, "umap")])
def test_without_the_package_the_install_line_is_said(monkeypatch, of, package):
    without(monkeypatch, package)
    with pytest.raises(MissingExtra, match="pip install"):
        of(draw(9))
