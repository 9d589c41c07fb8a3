"""Measures of how boundaries of tokens and morphs agree, each a sum over words divided by another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vocab_audits.morphscore import scores
from workbench.resampling import Ratio

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from vocab_audits.boundaries import Compared
    from vocab_audits.morphscore import Quirks

    Floats = NDArray[np.float64]


def ratios_of(compared: Compared, frequency: Floats | None, weights_from: str, quirks: Quirks) -> list[Ratio]:
    """All measures that are ratios of sums; words with an unknown token take no part.

    Args:
        compared: gold and predicted boundaries.
        frequency: frequency of each word, NaN where it is not known (words,); None without any.
        weights_from: where frequencies come from, for the variant's name.
        quirks: conventions of MorphScore.
    """
    kept = compared.scored.astype(np.float64)
    found = [*_boundaries(compared), *_wholes(compared), *scores(compared, frequency, quirks)]
    if frequency is not None:
        weight = np.nan_to_num(frequency)
        found += [
            each._replace(variant=f"micro, weighted by {weights_from}", above=each.above * weight,
                          below=each.below * weight)
            for each in found
            if each.variant == "micro" and each.measure in ("precision", "recall", "f1")
        ]  # fmt: skip
    found += _of_morphs(compared)
    return [each._replace(above=each.above * kept, below=each.below * kept) for each in found]


def _boundaries(compared: Compared) -> Iterator[Ratio]:
    """Precision, recall and F1 of boundaries; F1 = 2·hits / (predicted + gold) (van Rijsbergen 1979)."""
    hits, predicted, gold = (each.astype(float) for each in
                             (compared.hits, compared.predicted, compared.gold.counts))  # fmt: skip
    parts = (("precision", hits, predicted), ("recall", hits, gold), ("f1", 2 * hits, predicted + gold))
    for name, above, below in parts:
        yield Ratio(name, "micro", "share", above, below)
    for name, above, below in parts:
        defined = below > 0
        each = np.divide(above, below, out=np.zeros_like(above), where=defined)
        yield Ratio(name, "macro over words where it is defined", "share", each, defined.astype(float))
    chance = compared.chance
    yield Ratio("f1", "micro, as many cuts at random", "share", 2 * chance, predicted + gold)


def _wholes(compared: Compared) -> Iterator[Ratio]:
    gold, hits = compared.gold.counts, compared.hits
    one = np.ones(len(gold))
    several = gold > 0
    yield Ratio("kept_whole", "words that are one token", "share", compared.cuts.whole.astype(float), one)
    yield Ratio("kept_whole", "of words of several morphs", "share",
                (compared.cuts.whole & several).astype(float), several.astype(float))  # fmt: skip
    yield Ratio("all_boundaries_cut", "of words of several morphs", "share",
                ((hits == gold) & several).astype(float), several.astype(float))  # fmt: skip
    yield Ratio("cut_as_gold", "no boundary missed or added", "share",
                ((hits == gold) & (compared.predicted == gold)).astype(float), one)  # fmt: skip
    yield Ratio("tokens_per_word", "words alone", "tokens", compared.cuts.tokens.astype(float), one)
    yield Ratio("cuts_inside_characters", "of all cuts", "share", compared.cuts.inside.astype(float),
                (compared.cuts.inside + compared.predicted).astype(float))  # fmt: skip


def _of_morphs(compared: Compared) -> Iterator[Ratio]:
    """How whole morphs stay in tokens (the accessors of TkTkT, bauwenst)."""
    overlaps, count = compared.overlaps, len(compared.words)
    morphs = np.bincount(overlaps.morph_rows, minlength=count).astype(float)
    diluted = np.bincount(overlaps.morph_rows, overlaps.diluted, minlength=count).astype(float)
    intact = np.bincount(overlaps.morph_rows, overlaps.integrity == 1, minlength=count)
    tokens = np.bincount(overlaps.token_rows, minlength=count).astype(float)
    turbid = np.bincount(overlaps.token_rows, overlaps.turbid, minlength=count).astype(float)
    yield Ratio("morph_integrity", "greatest share of a morph in one token, mean over morphs", "share",
                overlaps.held(count), morphs)  # fmt: skip
    yield Ratio("morphs_intact", "morphs that lie in one token", "share", intact.astype(float), morphs)
    yield Ratio("token_turbidity", "tokens with parts of several morphs, one not whole", "share", turbid,
                tokens)  # fmt: skip
    yield Ratio("morph_dilution", "morphs of which such a token holds a part, not all", "share", diluted,
                morphs)  # fmt: skip
