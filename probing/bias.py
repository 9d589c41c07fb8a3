"""Association of words with two poles, layer by layer: WEAT, SEAT, and a token beside its neutral twin.

A figure is a candidate for review: it says that vectors lie so, not that a model acts so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from probing.directions import check, known, mask, units
from probing.significance import DRAWS, repartitioned, sign_flipped
from workbench.errors import SutureError
from workbench.multiple import holm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probing.directions import Bools, Floats, Masked, States, View

    Coverage = Literal["single-token", "multi-token", "not coverable"]

TEMPLATES = (
    "This is {}.",
    "That is {}.",
    "There is {}.",
    "Here is {}.",
    "{} is here.",
    "{} is there.",
    "{} is a person.",
    "The person's name is {}.",
)
"""Bleached sentences of SEAT (May et al. 2019); the last two are for names."""


class Weat(NamedTuple):
    """A WEAT of one layer (Caliskan et al. 2017); None where a set is too small for it.

    Attributes:
        statistic: Σ_X s − Σ_Y s.
        difference: mean_X s − mean_Y s.
        effect: the difference over the standard deviation of s over X ∪ Y, ddof 0, as in WEFE.
        effect_sample: the same with ddof 1, as in the code of SEAT.
        p: share of partitions of X ∪ Y into sets of these sizes whose difference of means is at least the
            observed one: one-sided, towards X going with A.
        p_two_sided: at least as far from zero.
        p_holm: p corrected for the layers it was asked in together.
        kind: whether partitions were counted out (``exact``) or drawn (``monte carlo``).
        looked_at: how many.
        sizes: words of X, Y, A and B with a direction.
        undefined: words without one, which are left out.
    """

    statistic: float | None
    difference: float | None
    effect: float | None
    effect_sample: float | None
    p: float | None
    p_two_sided: float | None
    p_holm: float | None
    kind: str
    looked_at: int
    sizes: tuple[int, int, int, int]
    undefined: int


class Twins(NamedTuple):
    """Tokens beside their neutral twins, in how much nearer they lie to A than to B.

    Attributes:
        difference: s(token) − s(twin) of each pair; masked where either has no direction.
        cosine: of token and twin, raw.
        mean: of the differences; None without a pair.
        p: of the mean, one-sided, over the signs of the differences.
        p_two_sided: at least as far from zero.
        kind: ``exact`` or ``monte carlo``.
    """

    difference: Masked
    cosine: Masked
    mean: float | None
    p: float | None
    p_two_sided: float | None
    kind: str


def association(words: States, first: States, second: States, view: View = "raw") -> Masked:
    """s(w) = mean_a cos(w, a) − mean_b cos(w, b) of each word (words,); masked without a direction.

    Args:
        words: (words, width).
        first: the pole A (words, width).
        second: the pole B (words, width).
        view: raw; centred and standardised are about the moments of all three together. For those of a whole
            layer, give ``drift.centred`` rows.

    Raises:
        SutureError: widths differ, or a pole has no word with a direction.
    """
    check(words, first, second, rows=False)
    rows, defined = units(np.concatenate([words, first, second]), view)
    ends = np.cumsum([len(words), len(first), len(second)])
    parts = [slice(0, ends[0]), slice(ends[0], ends[1]), slice(ends[1], ends[2])]
    poles = []
    for name, part in zip("AB", parts[1:], strict=True):
        if not defined[part].any():
            raise SutureError(f"pole {name} must have a word with a direction; it has none; give others")
        poles.append(rows[part][defined[part]].mean(0))
    return mask(rows[parts[0]] @ (poles[0] - poles[1]), defined[parts[0]])


def weat(
    targets: tuple[States, States],
    poles: tuple[States, States],
    *,
    view: View = "raw",
    draws: int = DRAWS,
    seed: int = 0,
) -> Weat:
    """WEAT of two target sets X and Y against two poles A and B, in one layer.

    SEAT is the same with vectors of sentences (May et al. 2019).

    Args:
        targets: X and Y (words, width) each.
        poles: A and B.
        view: as for ``association``.
        draws: partitions to draw where they cannot be counted out.
        seed: of the draws.

    Raises:
        SutureError: widths differ, or a pole has no word with a direction.
    """
    return weat_layers([(targets, poles)], view=view, draws=draws, seed=seed)[0]


def weat_layers(
    layers: Sequence[tuple[tuple[States, States], tuple[States, States]]],
    *,
    view: View = "raw",
    draws: int = DRAWS,
    seed: int = 0,
) -> list[Weat]:
    """The same test in several layers, with p corrected for their number by Holm.

    Args:
        layers: targets and poles of each.
        view: as for ``weat``.
        draws: partitions to draw where they cannot be counted out.
        seed: of the draws.
    """
    found = [_one(targets, poles, view=view, draws=draws, seed=seed) for targets, poles in layers]
    corrected = holm([each.p for each in found])
    return [each._replace(p_holm=p) for each, p in zip(found, corrected, strict=True)]


def twins(
    tokens: States,
    neutral: States,
    poles: tuple[States, States],
    *,
    view: View = "raw",
    draws: int = DRAWS,
    seed: int = 0,
) -> Twins:
    """Whether tokens lie nearer to a pole than their neutral twins do, pair by pair.

    Args:
        tokens: flagged tokens (pairs, width).
        neutral: the twin of each.
        poles: A and B.
        view: as for ``association``.
        draws: patterns of signs to draw where they cannot be counted out.
        seed: of the draws.

    Raises:
        SutureError: the pairs are not pairs, or a pole has no word with a direction.
    """
    check(tokens, neutral)
    both = association(np.concatenate([tokens, neutral]), *poles, view)
    (one, first), (two, second) = units(tokens), units(neutral)
    values, defined = both.data, known(both)
    told = defined[: len(tokens)] & defined[len(tokens) :]
    difference = values[: len(tokens)] - values[len(tokens) :]
    near = mask(np.clip(np.einsum("ij,ij->i", one, two), -1, 1), first & second)
    if not told.any():
        return Twins(mask(difference, told), near, None, None, None, "exact")
    tested = sign_flipped(difference[None, told], draws=draws, seed=seed)
    return Twins(
        mask(difference, told),
        near,
        float(difference[told].mean()),
        float(tested.greater[0]),
        float(tested.two_sided[0]),
        tested.kind,
    )


def coverage(pieces: Sequence[int], unknown: Sequence[bool] | Bools) -> list[Coverage]:
    """What a vocabulary makes of the words of a set; a word of several pieces is composed, not absent.

    Args:
        pieces: tokens of each word.
        unknown: whether text of it has no token of its own.
    """
    return [
        "not coverable" if lacks or not count else "single-token" if count == 1 else "multi-token"
        for count, lacks in zip(pieces, unknown, strict=True)
    ]


def _one(
    targets: tuple[States, States],
    poles: tuple[States, States],
    *,
    view: View,
    draws: int,
    seed: int,
) -> Weat:
    words = np.concatenate(targets)
    both = association(words, *poles, view)
    defined = known(both)
    inside = np.arange(len(words)) < len(targets[0])
    first, second = both.data[defined & inside], both.data[defined & ~inside]
    directed = [int(units(pole)[1].sum()) for pole in poles]
    sizes = (len(first), len(second), directed[0], directed[1])
    undefined = len(words) + sum(len(pole) for pole in poles) - sum(sizes)
    if not len(first) or not len(second):
        return Weat(None, None, None, None, None, None, None, "exact", 0, sizes, undefined)
    scores = np.concatenate([first, second])
    tested = repartitioned(scores[None], len(first), draws=draws, seed=seed)
    difference = float(first.mean() - second.mean())
    return Weat(
        float(first.sum() - second.sum()),
        difference,
        _effect(difference, scores, 0),
        _effect(difference, scores, 1),
        float(tested.greater[0]),
        float(tested.two_sided[0]),
        None,
        tested.kind,
        tested.looked_at,
        sizes,
        undefined,
    )


def _effect(difference: float, scores: Floats, ddof: int) -> float | None:
    """A difference in standard deviations; None where the scores do not differ."""
    spread = float(scores.std(ddof=ddof)) if len(scores) > ddof else 0.0
    return difference / spread if spread > 1e-12 else None
