"""Compounds by lexicon look-up: the split whose parts are the most frequent on average.

The choice is that of Koehn and Knight, "Empirical methods for compound splitting", EACL 2003: of all splits
into known words, the unsplit word among them, the one with the highest geometric mean of frequencies.
Linking elements between parts are morphs of their own and do not count in the mean.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    _Score = Callable[[str], float | None]

LEAST = 3
"""Letters that a part must have."""
RAREST = 1e-6
"""Share in running text that a part must reach: once in a million words; the shortest, ten times that."""


class Parts(NamedTuple):
    """A stem in parts, their roles, and what made it (``compound``, ``derivation`` or None)."""

    morphs: tuple[str, ...]
    roles: tuple[str, ...]
    process: str | None


def split_compound(
    stem: str,
    dictionary: Mapping[str, str],
    frequencies: Mapping[str, float],
    links: Sequence[str],
    capital: bool,
) -> Parts | None:
    """Parts of a compound.

    Args:
        stem: a stem or lemma.
        dictionary: lemma of each form; a part must be a lemma.
        frequencies: share in running text of each word, in lower case.
        links: what may stand between two parts.
        capital: whether a noun is told by its capital, and parts must be nouns.

    Returns:
        The parts with their links, or None where the whole is best.
    """
    low = stem.lower()
    if len(low) != len(stem):
        return None
    known: dict[str, float | None] = {}

    def score(part: str) -> float | None:
        if part not in known:
            share = frequencies.get(part, 0.0)
            fits = share >= RAREST * (10 if len(part) == LEAST else 1) and _is_word(part, dictionary, capital)
            known[part] = math.log(share) if fits else None
        return known[part]

    whole = frequencies.get(low, 0.0)
    best, chosen = math.log(whole) if whole else -math.inf, None
    for parts in splits(low, score, links):
        values = [score(part) or 0.0 for part, role in parts if role == "root"]
        mean = sum(values) / len(values)
        if len(values) > 1 and mean > best:
            best, chosen = mean, parts
    if chosen is None:
        return None
    morphs, at = [], 0
    for part, _ in chosen:
        morphs.append(stem[at : at + len(part)])
        at += len(part)
    return Parts(tuple(morphs), tuple(role for _, role in chosen), "compound")


def splits(text: str, score: _Score, links: Sequence[str]) -> Iterator[tuple[tuple[str, str], ...]]:
    """Every way to read a text as known parts with at most one link between two of them.

    Args:
        text: what is left to split.
        score: of a part, or None where it is not known.
        links: linking elements.
    """
    if score(text) is not None:
        yield ((text, "root"),)
    for size in range(LEAST, len(text) - LEAST + 1):
        if score(text[:size]) is None:
            continue
        for link in ("", *links):
            rest = text[size + len(link) :]
            if len(rest) < LEAST or text[size : size + len(link)] != link:
                continue
            middle = ((link, "link"),) if link else ()
            for tail in splits(rest, score, links):
                yield ((text[:size], "root"), *middle, *tail)


def _is_word(part: str, dictionary: Mapping[str, str], capital: bool) -> bool:
    spelling = part[:1].upper() + part[1:] if capital else part
    return len(part) >= LEAST and dictionary.get(spelling) == spelling
