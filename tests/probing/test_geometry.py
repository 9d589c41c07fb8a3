"""Comparisons of two layers: invariants, definitions written out, and what chance gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

from probing import geometry
from workbench.errors import SutureError


def draw(rows, width, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)


def rotation(width, seed=9):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(width, width)))[0]


def centring(units):
    return np.eye(units) - 1 / units


def unbiased(one, two):
    """HSIC₁ as printed, from Gram matrices with a zero diagonal."""
    gram = [each.astype(np.float64) @ each.astype(np.float64).T for each in (one, two)]
    k, m = (each - np.diag(np.diag(each)) for each in gram)
    n = len(k)
    e = np.ones(n)
    means = (e @ k @ e) * (e @ m @ e) / ((n - 1) * (n - 2))
    return (np.trace(k @ m) + means - 2 / (n - 2) * (e @ k @ m @ e)) / (n * (n - 3))


@pytest.mark.parametrize(("units", "widths"), [(40, (5, 9)), (12, (30, 20)), (20, (30, 4))])
def test_cka_and_its_debiased_form_are_those_of_gram_matrices(units, widths):
    one, two = draw(units, widths[0]) + 3, draw(units, widths[1], 1) - 2
    two[:, :4] += one[:, :4]
    h = centring(units)
    k, m = (h @ each.astype(np.float64) @ each.astype(np.float64).T @ h for each in (one, two))
    biased = np.trace(k @ m) / np.sqrt(np.trace(k @ k) * np.trace(m @ m))
    assert geometry.cka(one, two) == pytest.approx(biased, abs=1e-9)
    debiased = unbiased(one, two) / np.sqrt(unbiased(one, one) * unbiased(two, two))
    assert geometry.debiased_cka(one, two) == pytest.approx(debiased, abs=1e-8)


def test_a_rotation_a_shift_and_a_scale_change_nothing():
    one = draw(300, 20)
    other = (one @ rotation(20) * 3 + 5).astype(np.float32)
    assert geometry.cka(one, other) == pytest.approx(1, abs=1e-6)
    assert geometry.debiased_cka(one, other) == pytest.approx(1, abs=1e-6)
    found = geometry.procrustes(one, other)
    assert (found.similarity, found.distance) == pytest.approx((1, 0), abs=1e-6)
    np.testing.assert_allclose(found.rotation, rotation(20), atol=1e-5)
    assert geometry.canonical(one, other).svcca == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("units", [100, 500])
def test_noise_has_no_debiased_cka_though_cka_is_high(units):
    one, two = draw(units, 1024), draw(units, 1024, 1)
    assert abs(geometry.debiased_cka(one, two)) < 0.02
    assert geometry.cka(one, two) > 0.6


def test_batches_average_each_hsic_before_the_ratio():
    one, two = draw(90, 12), draw(90, 7, 1)
    two += one[:, :7]
    parts = [(one[start : start + 30], two[start : start + 30]) for start in (0, 30, 60)]
    means = [np.mean([unbiased(a - a.mean(0), b - b.mean(0)) for a, b in chosen])
             for chosen in (parts, [(a, a) for a, _ in parts], [(b, b) for _, b in parts])]  # fmt: skip
    assert geometry.minibatch_cka(parts) == pytest.approx(means[0] / np.sqrt(means[1] * means[2]), abs=1e-6)
    assert geometry.minibatch_cka([(one[:3], two[:3])]) is None


def test_rsa_is_spearman_of_the_distances():
    one, two = draw(40, 6) + 1, draw(40, 9, 1)
    two[:, :6] += one
    expected = spearmanr(pdist(one.astype(float), "cosine"), pdist(two.astype(float), "cosine")).statistic
    assert geometry.rsa(one, two) == pytest.approx(expected, abs=1e-9)
    assert geometry.rsa(one, one * 2) == pytest.approx(1)
    assert geometry.rsa(one, two, limit=20) == geometry.rsa(one, two, limit=20)


def test_procrustes_is_scipys():
    one, two = draw(50, 8), draw(50, 8, 1)
    wide = [each.astype(np.float64) - each.astype(np.float64).mean(0) for each in (one, two)]
    turn, scale = orthogonal_procrustes(*(each / np.linalg.norm(each) for each in wide))
    found = geometry.procrustes(one, two)
    assert found.similarity == pytest.approx(scale, abs=1e-9)
    np.testing.assert_allclose(found.rotation, turn, atol=1e-8)
    left = [each / np.linalg.norm(each) for each in wide]
    assert found.distance == pytest.approx(np.linalg.norm(left[0] @ turn - left[1]) ** 2, abs=1e-9)


def test_states_are_laid_over_another_checkpoint_by_anchors():
    one = draw(100, 8) + 4
    other = (one @ rotation(8) - 2).astype(np.float32)
    moved = geometry.aligned(one[:10], other[:10], (one[10:], other[10:]))
    np.testing.assert_allclose(moved, other[:10], atol=1e-4)
    with pytest.raises(SutureError, match="must vary"):
        geometry.aligned(one, other, (np.ones((5, 8)), np.ones((5, 8))))


def test_canonical_correlations_are_those_of_whitened_layers():
    """By the definition: eigenvalues of Cxx⁻¹ Cxy Cyy⁻¹ Cyx."""
    one, two = draw(200, 4), draw(200, 6, 1)
    two[:, :2] += one[:, :2]
    x, y = (each.astype(np.float64) - each.astype(np.float64).mean(0) for each in (one, two))
    xx, yy, xy = x.T @ x, y.T @ y, x.T @ y
    values = np.linalg.eigvals(np.linalg.solve(xx, xy) @ np.linalg.solve(yy, xy.T)).real
    found = geometry.canonical(one, two, kept=1.0)
    assert found.dimensions == (4, 6)
    assert found.svcca == pytest.approx(np.sqrt(values.clip(0)).mean(), abs=1e-6)
    assert 0 <= found.pwcca <= 1


def test_pwcca_weighs_what_the_layer_is_made_of():
    """The shared direction is nearly all of the first layer's variance."""
    one, two = draw(400, 3), draw(400, 3, 1)
    one[:, 0] *= 100
    two[:, 0] = one[:, 0]
    found = geometry.canonical(one, two, kept=1.0)
    assert found.pwcca > 0.9 > found.svcca


@pytest.mark.parametrize("name", ["cka", "debiased_cka", "rsa", "procrustes", "canonical"])
def test_a_layer_that_does_not_vary_is_like_none(name):
    assert getattr(geometry, name)(np.zeros((20, 4), np.float32), draw(20, 4)) is None
    assert getattr(geometry, name)(np.full((20, 4), 0.1, np.float32), draw(20, 4)) is None
    assert getattr(geometry, name)(np.full((20, 4), np.nan, np.float32), draw(20, 4)) is None


def test_rows_that_are_not_finite_are_left_out():
    one, two = draw(50, 5), draw(50, 5, 1)
    clean = geometry.debiased_cka(one[1:], two[1:])
    one[0, 0] = np.nan
    assert geometry.debiased_cka(one, two) == pytest.approx(clean, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 30), st.integers(1, 8), st.integers(1, 8))
def test_figures_stay_within_their_bounds(seed, units, width, other):
    one, two = draw(units, width, seed), draw(units, other, seed + 1)
    assert -1e-9 <= geometry.cka(one, two) <= 1 + 1e-9
    assert geometry.cka(one, two) == pytest.approx(geometry.cka(two, one), abs=1e-9)
    if width == other:
        assert 0 <= geometry.procrustes(one, two).similarity <= 1
    assert 0 <= geometry.canonical(one, two).svcca <= 1


def test_layers_of_other_units_are_refused_in_a_sentence():
    with pytest.raises(SutureError, match="the same units"):
        geometry.cka(draw(3, 2), draw(4, 2))
    with pytest.raises(SutureError, match="one shape"):
        geometry.procrustes(draw(4, 2), draw(4, 3))
