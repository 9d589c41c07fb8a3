"""Minimum description length of labels given states: how easily a property is read, not only whether."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from probing.directions import check, check_labels, finite
from probing.probes import logistic, standardised
from workbench.errors import SutureError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from probing.directions import Floats, Ints, States

FRACTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)
"""Where the blocks of the online code end, as shares of the rows (Voita & Titov 2020)."""


class CodeLength(NamedTuple):
    """Bits that the labels take when they are sent block by block.

    Attributes:
        bits: L, of the online code; a kbit of the article is 1,024 of them.
        uniform: N log₂ K, of a code that knows the classes alone.
        compression: uniform over bits; 1 means that the states say nothing.
        ends: rows known after each block (blocks,).
        block_bits: bits of each block; the first one is uniform.
        rows: N.
        classes: K.
    """

    bits: float
    uniform: float
    compression: float
    ends: Ints
    block_bits: Floats
    rows: int
    classes: int


def online_code(
    states: States,
    labels: NDArray[Any],
    groups: NDArray[Any] | None = None,
    *,
    penalty: float = 1.0,
    seed: int = 0,
) -> CodeLength:
    """L = t₁ log₂ K − Σ_i Σ log₂ p_i(y), p_i a logistic regression on all rows before block i + 1.

    So that a class not met yet has a code, p is (t p̂ + 1/K) / (t + 1) after t rows: one row's weight goes to
    the uniform distribution. Rows come in a random order of their groups. For the control task, give the
    labels of ``probes.control_labels``.

    Args:
        states: (units, width).
        labels: class of each unit.
        groups: units that stay together, such as sentences; each its own by default.
        penalty: 1/C of the regressions.
        seed: of the order.

    Raises:
        SutureError: there are no two classes.
    """
    check(states)
    check_labels(states, labels, *([] if groups is None else [groups]))
    use = finite(states)
    rows = states[use]
    names, label = np.unique(labels[use], return_inverse=True)
    if len(names) < 2:
        raise SutureError(f"a code for labels needs two classes; got {len(names)}; give other labels")
    order = _order(np.arange(len(rows)) if groups is None else groups[use], seed)
    rows, label = rows[order], label[order]
    ends = np.unique(np.maximum(1, np.round(np.array(FRACTIONS) * len(rows)))).astype(np.int64)
    bits = [float(ends[0] * np.log2(len(names)))]
    for start, end in pairwise(ends):
        odds = _probabilities(rows[:start], label[:start], rows[start:end], len(names), penalty)
        bits.append(float(-np.log2(odds[np.arange(end - start), label[start:end]]).sum()))
    uniform = len(rows) * float(np.log2(len(names)))
    return CodeLength(sum(bits), uniform, uniform / sum(bits), ends, np.array(bits), len(rows), len(names))


def _probabilities(train: States, target: Ints, test: States, classes: int, penalty: float) -> Floats:
    """P of each class at each test row (rows, classes), mixed with the uniform distribution."""
    one, two = standardised(train, test)
    fit = logistic(one, target, penalty)
    found = np.zeros((len(test), classes))
    if fit is None:
        found[:, target[0]] = 1.0
    else:
        found[:, fit.classes_] = fit.predict_proba(two)
    mixed: Floats = (len(train) * found + 1 / classes) / (len(train) + 1)
    return mixed


def _order(groups: NDArray[Any], seed: int) -> Ints:
    """Rows by a random order of their groups, each group's in its own order."""
    _, group = np.unique(groups, return_inverse=True)
    place = np.random.default_rng(seed).permutation(int(group.max()) + 1)
    return np.argsort(place[group], kind="stable").astype(np.int64)
