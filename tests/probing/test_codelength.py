"""The online code against one written out with scikit-learn."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from probing import codelength, probes
from workbench.errors import SutureError


def draw(rows, width, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)


def separable(rows=1200, classes=4, strength=2.0):
    labels = np.random.default_rng(1).integers(0, classes, rows)
    return draw(rows, 12) + strength * draw(classes, 12, 2)[labels], labels


def test_the_code_is_that_of_one_model_after_another():
    states, labels = separable()
    found = codelength.online_code(states, labels)
    order = codelength._order(np.arange(1200), 0)
    x, y = states[order].astype(np.float64), labels[order]
    assert found.ends.tolist() == [1, 2, 5, 10, 19, 38, 75, 150, 300, 600, 1200]
    bits = found.ends[0] * np.log2(4)
    for start, end in pairwise(found.ends):
        if len(set(y[:start])) == 1:
            p = np.where(y[start:end] == y[0], 1.0, 0.0)
        else:
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(
                x[:start], y[:start]
            )
            known = list(model.classes_)
            every = model.predict_proba(x[start:end])
            p = np.array(
                [row[known.index(c)] if c in known else 0 for row, c in zip(every, y[start:end], strict=True)]
            )
        bits -= np.log2((start * p + 1 / 4) / (start + 1)).sum()
    assert found.bits == pytest.approx(bits, rel=1e-4)
    assert found.uniform == 2400
    assert found.compression == pytest.approx(2400 / bits, rel=1e-4)
    assert found.block_bits.sum() == pytest.approx(found.bits)


def test_noise_is_not_compressed_and_a_property_is():
    states, labels = separable(strength=4.0)
    assert codelength.online_code(states, labels).compression > 5
    assert codelength.online_code(draw(1200, 12, 5), labels).compression < 1.05
    types = np.arange(1200) // 3
    control = probes.control_labels(types, labels)
    assert codelength.online_code(states, control).compression < 1.05


def test_groups_stay_together():
    order = codelength._order(np.array([2, 0, 2, 1, 0]), 0)
    groups = np.array([2, 0, 2, 1, 0])[order]
    assert sorted(order.tolist()) == [0, 1, 2, 3, 4]
    assert sum(a != b for a, b in pairwise(groups)) == 2


def test_a_few_rows_make_a_few_blocks():
    found = codelength.online_code(*separable(5, 2))
    assert found.ends.tolist() == [1, 2, 5]
    assert np.isfinite(found.bits)


def test_one_class_has_no_code():
    with pytest.raises(SutureError, match="two classes"):
        codelength.online_code(draw(9, 3), np.zeros(9))
