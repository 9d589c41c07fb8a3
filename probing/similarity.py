"""How alike states of one layer are: to any other, to the same word elsewhere, to their sentence.

Means over pairs come from sums of unit rows, exactly, with no pair formed and none drawn. Each measure of a
word or a sentence stands beside the anisotropy of its layer, which is what chance gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from probing.directions import (
    check,
    check_labels,
    finite,
    group_sums,
    mask,
    unit_blocks,
    units,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from probing.directions import Floats, Ints, Masked, States, View

    Labels = NDArray[Any]

CONTEXTS = 5
"""Distinct sentences that a word needs for its self-similarity to be told."""


class Grouped(NamedTuple):
    """A measure of each group of rows; masked where it has no meaning.

    Attributes:
        groups: the distinct labels, in order (groups,).
        values: of each group.
        counts: rows with a direction.
        contexts: distinct sentences, where they were given; else the rows.
    """

    groups: Labels
    values: Masked
    counts: Ints
    contexts: Ints


class Dimensions(NamedTuple):
    """What each dimension puts into the anisotropy (Timkey & van Schijndel 2021, eq. 3).

    Attributes:
        contribution: CC_i, the mean over pairs of what dimension i puts into a cosine; sums to A.
        share: CC_i / A; masked where A is 0.
        anisotropy: A; None below two rows.
    """

    contribution: Floats
    share: Masked
    anisotropy: float | None


def anisotropy(states: States, sentences: Labels | None = None, view: View = "raw") -> float | None:
    """Mean cosine of two different rows, exact: A = (|S|² − N) / (N (N − 1)), S the sum of the unit rows.

    With sentences, of two rows of different sentences: (|S|² − Σ_s |S_s|²) / (N² − Σ_s n_s²), so that what a
    shared context adds is left out (Ethayarajh 2019 for the measure; the closed forms are derived).

    Args:
        states: (units, width).
        sentences: label of each row's sentence (units,).
        view: what the cosines are of.

    Returns:
        −1 to 1; None where there is no such pair.
    """
    check(states)
    if sentences is None:
        total, count = np.zeros(states.shape[1]), 0
        for part in unit_blocks(states, view):
            total += part.unit.sum(0)
            count += int(part.defined.sum())
        return float(total @ total - count) / (count * (count - 1)) if count > 1 else None
    check_labels(states, sentences)
    names, group = np.unique(sentences, return_inverse=True)
    sums, counts = group_sums(states, group, len(names), view)
    total, squares = sums.sum(0), float(np.einsum("ij,ij->", sums, sums))
    pairs = int(counts.sum()) ** 2 - int((counts**2).sum())
    return float(total @ total - squares) / pairs if pairs else None


def self_similarity(
    states: States,
    types: Labels,
    sentences: Labels | None = None,
    *,
    least: int = CONTEXTS,
    view: View = "raw",
) -> Grouped:
    """Mean cosine of two occurrences of a word: (|Σ u|² − n) / (n (n − 1)) (Ethayarajh 2019).

    Args:
        states: (units, width).
        types: word type of each row.
        sentences: sentence of each row; without them every row counts as a context of its own.
        least: contexts that a type must have; masked below.
        view: what the cosines are of.
    """
    check(states)
    check_labels(states, types)
    names, group = np.unique(types, return_inverse=True)
    sums, counts = group_sums(states, group, len(names), view)
    contexts = counts if sentences is None else _contexts(states, group, len(names), sentences)
    enough = (contexts >= max(least, 1)) & (counts >= 2)
    pairs = np.where(enough, counts * (counts - 1), 1)
    return Grouped(
        names, mask((np.einsum("ij,ij->i", sums, sums) - counts) / pairs, enough), counts, contexts
    )


def intra_sentence(states: States, sentences: Labels, view: View = "raw") -> Grouped:
    """Mean cosine of a sentence's rows to the sentence's mean row (Ethayarajh 2019).

    Args:
        states: (units, width).
        sentences: sentence of each row.
        view: raw, or the rows centred or standardised by the layer first.

    Returns:
        One value a sentence; masked below two rows, or where the mean is zero.
    """
    check(states)
    check_labels(states, sentences)
    names, group = np.unique(sentences, return_inverse=True)
    sums, counts = group_sums(states, group, len(names), view, unit=False)
    middles, moved = units(sums)
    totals = np.zeros(len(names))
    for part in unit_blocks(states, view):
        here = group[part.rows]
        near = np.einsum("ij,ij->i", part.unit, middles[here])
        totals += np.bincount(here, np.where(part.defined, near, 0.0), len(names))
    return Grouped(names, mask(totals / np.maximum(counts, 1), moved & (counts >= 2)), counts, counts)


def explained(states: States, types: Labels, *, centred: bool = False, least: int = CONTEXTS) -> Grouped:
    """Maximum explainable variance: s₁² / Σ s_i² of a word's occurrences (Ethayarajh 2019).

    Uncentred by default, as in the article: how much of the occurrences one fixed vector could keep. Centred,
    it is the share of the first principal component about their mean, which the authors' code takes.

    Args:
        states: (units, width).
        types: word type of each row.
        centred: about the mean of the word's occurrences.
        least: rows that a type must have; masked below.
    """
    check(states)
    check_labels(states, types)
    use = finite(states)
    names, group = np.unique(types, return_inverse=True)
    counts = np.bincount(group[use], minlength=len(names))
    order = np.argsort(group, kind="stable")
    order = order[use[order]]
    values = np.full(len(names), np.nan)
    ends = np.cumsum(counts)
    for which in np.flatnonzero(counts >= max(least, 2)):
        values[which] = _first_share(
            states[order[ends[which] - counts[which] : ends[which]]], centred=centred
        )
    return Grouped(names, mask(np.nan_to_num(values), ~np.isnan(values)), counts, counts)


def explained_at_random(
    states: States, sizes: Sequence[int], *, centred: bool = False, seed: int = 0
) -> Floats:
    """The same share of random rows of the layer: the baseline of ``explained`` (sizes,).

    Args:
        states: (units, width).
        sizes: rows of each draw, without replacement; a word's count, so that both see as many.
        centred: as for the word.
        seed: of the draws.
    """
    check(states)
    use = np.flatnonzero(finite(states))
    chance = np.random.default_rng(seed)
    return np.array(
        [
            _first_share(states[chance.choice(use, min(size, len(use)), replace=False)], centred=centred)
            for size in sizes
        ]
    )


def dimensions(states: States) -> Dimensions:
    """Each dimension's part in the anisotropy: CC_i = ((Σ u_i)² − Σ u_i²) / (N (N − 1)), exact.

    Timkey & van Schijndel (2021, eq. 3) average over drawn pairs; the closed form is derived. A few
    dimensions with most of A are called rogue.

    Args:
        states: (units, width).
    """
    check(states)
    sums, squares, count = np.zeros(states.shape[1]), np.zeros(states.shape[1]), 0
    for part in unit_blocks(states):
        sums += part.unit.sum(0)
        squares += (part.unit**2).sum(0)
        count += int(part.defined.sum())
    if count < 2:
        nothing = np.zeros(states.shape[1])
        return Dimensions(nothing, mask(nothing, nothing > 0), None)
    contribution = (sums**2 - squares) / (count * (count - 1))
    total = float(contribution.sum())
    told = np.full(len(sums), abs(total) > 1e-12)
    return Dimensions(contribution, mask(contribution / (total if told.all() else 1.0), told), total)


def _contexts(states: States, group: Ints, groups: int, sentences: Labels) -> Ints:
    """Distinct sentences of each group."""
    check_labels(states, sentences)
    found = np.zeros(len(states), bool)
    for part in unit_blocks(states):
        found[part.rows] = part.defined
    _, sentence = np.unique(sentences, return_inverse=True)
    pairs = np.unique(np.stack([group[found], sentence[found]]), axis=1)
    return np.bincount(pairs[0], minlength=groups)


def _first_share(rows: States, *, centred: bool) -> float:
    """s₁² / Σ s_i² from the smaller Gram matrix; NaN where all is zero."""
    here = np.asarray(rows, np.float64)
    if centred:
        here = here - here.mean(0)
    gram = here @ here.T if len(here) <= here.shape[1] else here.T @ here
    total = float(np.trace(gram))
    return float(np.linalg.eigvalsh(gram)[-1]) / total if total > 0 else float("nan")
