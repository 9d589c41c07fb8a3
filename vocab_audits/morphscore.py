"""MorphScore (Arnett & Bergen 2025) as published in 2024, and its revision (arXiv 2507.06378)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.resampling import Ratio

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from vocab_audits.boundaries import Compared

    Floats = NDArray[np.float64]

FIRST = "2024: words of two morphs and several tokens"
REVISED = "2025: words of two or three morphs"
REVISED_MACRO = "2025 macro: distinct pieces that are morphs"
SUBWORDS = ("subword_precision", "subword_recall", "subword_f1")


class Quirks(NamedTuple):
    """Conventions of MorphScore that change its figures.

    Attributes:
        exclude_single_token: leave out words that are one token; otherwise each counts 1, whatever its
            morphs.
        exclude_single_morph: leave out words of one morph; otherwise one of several tokens counts 0.
        frequency_scale: weigh words by their frequency; figures of subwords are not weighed.
    """

    exclude_single_token: bool = True
    exclude_single_morph: bool = True
    frequency_scale: bool = False

    @property
    def said(self) -> str:
        """What differs from the default, for the variant's name."""
        parts = ["", "a word of one token counts 1"] if not self.exclude_single_token else [""]
        return ", ".join(parts if self.exclude_single_morph else [*parts, "with words of one morph"])


def scores(compared: Compared, frequency: Floats | None, quirks: Quirks) -> Iterator[Ratio]:
    """The boundary scores of both years, and the revision's subword scores.

    Args:
        compared: gold and predicted boundaries.
        frequency: frequency of each word, NaN where it is not known (words,); None without any.
        quirks: conventions.
    """
    gold, hits, tokens = compared.gold.counts, compared.hits, compared.cuts.tokens
    split = tokens > 1
    two = (gold == 1) & split
    yield Ratio("morphscore", FIRST, "share", np.where(two, hits, 0).astype(float), two.astype(float))
    taken = taken_by(compared, quirks)
    said, weight = quirks.said, taken.astype(float)
    if quirks.frequency_scale:
        weight *= np.nan_to_num(frequency) if frequency is not None else np.nan
        said += ", scaled by frequency"
    ends = hits / np.maximum(tokens, 1)
    for name, variant, value in (
        ("morphscore_recall", REVISED, _share(hits, gold)),
        ("morphscore_precision", "2025: the word's end counts as a cut", ends),
        ("morphscore_precision", "2025 without the word's end", _share(hits, compared.predicted)),
    ):
        score = np.where(split, value, 1.0)
        yield Ratio(name, variant + said, "share", np.nan_to_num(score * weight), np.nan_to_num(weight))
    yield from _subwords(compared, taken, quirks.said)


def taken_by(compared: Compared, quirks: Quirks) -> NDArray[np.bool_]:
    """Words that the revision scores (words,); the data that it is published with has no fourth morph."""
    gold, split = compared.gold.counts, compared.cuts.tokens > 1
    several = (gold > 0) | (not quirks.exclude_single_morph)
    taken: NDArray[np.bool_] = np.where(split, several, not quirks.exclude_single_token) & (gold <= 2)
    return taken


def macro_f1(compared: Compared, quirks: Quirks) -> float | None:
    """F1 of the mean precision and the mean recall of subwords; None where no word is scored."""
    precision, recall = (
        each.above[compared.scored].sum() for each in _means(compared, taken_by(compared, quirks), "")
    )
    words = int((taken_by(compared, quirks) & compared.scored).sum())
    if not words:
        return None
    return float(2 * precision * recall / (words * (precision + recall))) if precision + recall else 0.0


def _subwords(compared: Compared, taken: NDArray[np.bool_], said: str) -> Iterator[Ratio]:
    """Pieces that are morphs by their letters, wherever they stand; one that repeats counts once."""
    common = (compared.common * taken).astype(float)
    pieces, morphs = ((counts + 1.0) * taken for counts in (compared.predicted, compared.gold.counts))
    sums = ((common, pieces), (common, morphs), (2 * common, pieces + morphs))
    for name, (above, below) in zip(SUBWORDS, sums, strict=True):
        yield Ratio(name, f"2025 micro: distinct pieces that are morphs{said}", "share", above, below)
    yield from _means(compared, taken, said)


def _means(compared: Compared, taken: NDArray[np.bool_], said: str) -> list[Ratio]:
    """Mean precision and recall of subwords over words."""
    one = taken.astype(float)
    variant = REVISED_MACRO + said
    return [
        Ratio(name, variant, "share", one * compared.common / (counts + 1.0), one)
        for name, counts in zip(SUBWORDS, (compared.predicted, compared.gold.counts), strict=False)
    ]


def _share(above: NDArray[np.int64], below: NDArray[np.int64]) -> Floats:
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)
