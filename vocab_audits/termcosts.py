"""What terms cost in tokens, alone and after a space, and how frequent they are."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.errors import upstream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from vocab_audits.twins import Terms
    from workbench.segmentation import Segmentation, Segmenter

    Floats = NDArray[np.float64]

CONTEXTS = ("alone", "after a space")
MEASURES = {"tokens": "tokens", "bytes_per_token": "bytes", "whole": "share"}
"""Measures of a term with the unit of their difference; ``whole`` is 1 for a term that is one token."""

COLUMNS = tuple((context, measure) for context in CONTEXTS for measure in MEASURES)


class Costs(NamedTuple):
    """What terms cost.

    Attributes:
        values: a column for each of ``COLUMNS`` (terms, columns).
        spelled: whether the term has no part without an entry (terms,).
        zipf: base-10 logarithm of its occurrences in a billion words, NaN where it is not known (terms,).
        weights: weight of each (terms,).
    """

    values: Floats
    spelled: NDArray[np.bool_]
    zipf: Floats
    weights: Floats

    def at(self, places: NDArray[np.integer] | NDArray[np.bool_]) -> Costs:
        """Some of the terms."""
        return Costs(self.values[places], self.spelled[places], self.zipf[places], self.weights[places])


def costs_of(segmenter: Segmenter, sets: Sequence[Terms]) -> list[tuple[Costs, Costs]]:
    """Costs of both groups of each set; every term is cut once alone and once after a space."""
    place: dict[str, int] = {}
    for each in sets:
        for term in (*each.first, *each.second):
            place.setdefault(term, len(place))
    texts = list(place)
    with upstream(f"{segmenter.name} must cut text"):
        cuts = segmenter.segment_batch([*texts, *(f" {text}" for text in texts)])
    tokens = np.array([len(cut) for cut in cuts], np.float64).reshape(2, -1)
    sizes = np.array([len(text.encode()) for text in texts], np.float64)
    whole = np.array([_spelled(cut) for cut in cuts], bool)
    spelled = whole[: len(texts)] & whole[len(texts) :]
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.stack([row, sizes / row, row == 1], axis=1) for row in tokens]
    values = np.concatenate(parts, axis=1)
    frequent = _by_language(sets)
    found = []
    for each in sets:
        sides = []
        for index, terms in enumerate((each.first, each.second)):
            places = np.array([place[term] for term in terms], np.int64)
            weights = np.array(each.weights[index] if each.weights else [1.0] * len(terms), np.float64)
            known = np.array([frequent[each.language, term] for term in terms])
            sides.append(Costs(values[places], spelled[places], known, weights))
        found.append((sides[0], sides[1]))
    return found


def _by_language(sets: Sequence[Terms]) -> dict[tuple[str, str], float]:
    """The frequency of each term in its language; the list of a language is read once."""
    wanted: dict[str, dict[str, None]] = {}
    for each in sets:
        wanted.setdefault(each.language, {}).update(dict.fromkeys((*each.first, *each.second)))
    return {
        (language, term): value
        for language, terms in wanted.items()
        for term, value in zip(terms, zipf(list(terms), language).tolist(), strict=True)
    }


def _spelled(cut: Segmentation) -> bool:
    """Whether every part of a term is under a token that stands for it."""
    lost = any(cut.text[low:high].strip() for low, high in cut.uncovered.tolist())
    return len(cut) > 0 and not cut.unknown and not lost


def has_frequencies() -> bool:
    """Whether wordfreq is installed."""
    return importlib.util.find_spec("wordfreq") is not None


def zipf(terms: Sequence[str], language: str) -> Floats:
    """Frequencies by wordfreq; NaN for a word or language that it does not know, or without it."""
    if not has_frequencies():
        return np.full(len(terms), np.nan)
    return _looked_up(tuple(terms), language)


@lru_cache(maxsize=32)
def _looked_up(terms: tuple[str, ...], language: str) -> Floats:
    """Zipf frequencies (Heuven and others 2014), as ``wordfreq.zipf_frequency`` gives them, to 0.01.

    That function keeps the whole list of a language in memory as a dictionary; here the list is gone through
    once, and only what is asked for is kept. A term of several words has 1 / Σ 1/f of their frequencies f.
    """
    from wordfreq import available_languages, read_cBpack
    from wordfreq.tokens import lossy_tokenize

    lists = available_languages("best")
    if language not in lists:
        return np.full(len(terms), np.nan)
    words = [lossy_tokenize(term, language) for term in terms]
    wanted = {word for each in words for word in each}
    bands = enumerate(read_cBpack(lists[language]))
    rank = {word: index for index, band in bands for word in wanted.intersection(band)}
    rarity = np.array(
        [
            sum(10 ** (rank[word] / 100) for word in each) if each and rank.keys() >= set(each) else np.nan
            for each in words
        ]
    )
    found: Floats = np.round(9 - np.log10(rarity), 2)
    return found
