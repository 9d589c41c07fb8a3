"""Entropy and inequality against closed forms and against the formulas written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vocab_audits.frequencies import efficiency, entropy, gini
from workbench.errors import SutureError

counts = st.lists(st.integers(0, 10_000), min_size=1, max_size=40).filter(any)


def array(values):
    return np.array(values, np.int64)


@settings(deadline=None)
@given(counts, st.sampled_from([0.0, 0.5, 2.0, 2.5, 3.0, 40.0]))
def test_entropy_is_its_formula(values, alpha):
    shares = [value / sum(values) for value in values if value]
    plain = math.log2(sum(share**alpha for share in shares)) / (1 - alpha)
    assert entropy(array(values), alpha) == pytest.approx(plain, abs=1e-9)
    shannon = -sum(share * math.log2(share) for share in shares)
    assert entropy(array(values)) == pytest.approx(shannon, abs=1e-9)


def test_entropy_of_equal_counts_is_the_same_for_every_order():
    for alpha in (0.0, 0.5, 1.0, 2.5, 300.0):
        assert entropy(array([7] * 8 + [0]), alpha) == pytest.approx(3.0)
        assert efficiency(array([7] * 8), alpha, 8) == pytest.approx(1.0)
        assert efficiency(array([7] * 8), alpha, 64) == pytest.approx(0.5)


def test_order_zero_is_the_logarithm_of_the_types_seen():
    assert entropy(array([1, 5, 0, 90, 4]), 0.0) == pytest.approx(2.0)


def test_near_one_it_tends_to_shannon():
    some = array([1, 2, 3, 50])
    assert entropy(some, 1 + 1e-6) == pytest.approx(entropy(some), abs=1e-4)


def test_a_high_order_tends_to_the_most_frequent_alone():
    assert entropy(array([1, 3]), 5000.0) == pytest.approx(-math.log2(0.75), rel=1e-3)


def test_what_has_no_meaning_is_none():
    assert entropy(array([0, 0])) is None
    assert efficiency(array([0, 0]), 2.5, 9) is None
    assert efficiency(array([3]), 2.5, 1) is None
    assert gini([]) is None
    assert gini([0.0, 0.0]) is None


@pytest.mark.parametrize("alpha", [-1.0, math.inf, math.nan])
def test_refuses_other_orders(alpha):
    with pytest.raises(SutureError, match="order of an entropy"):
        entropy(array([1, 2]), alpha)


@settings(deadline=None)
@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=12))
def test_gini_is_its_formula(values):
    mean = sum(values) / len(values)
    total = sum(abs(one - two) for one in values for two in values)
    assert gini(values) == pytest.approx(total / (2 * len(values) ** 2 * mean), abs=1e-12)


def test_gini_runs_from_equal_to_one_with_all():
    assert gini([3.0] * 5) == 0
    assert gini([0.0, 0.0, 0.0, 1.0]) == pytest.approx(0.75)
