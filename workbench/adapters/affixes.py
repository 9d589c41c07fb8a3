"""Words cut into morphs by lemma and affixes, as a segmenter beside tokenizers."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from workbench.adapters.words import WordSegmenter

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.inflection import Analysis

_KEPT = 1 << 16
"""Words whose analysis is kept at a time."""


def from_language(address: str, name: str | None = None) -> WordSegmenter:
    """Takes the affix inventory of a language, simplemma's dictionary and wordfreq's list.

    A word without a lemma is cut like the known form that it ends in, or by a stem that the list has; else it
    stays whole.

    Args:
        address: language code, such as ``de``.
        name: short name; by default ``affixes:`` and the code.

    Raises:
        UnknownName: there is no inventory for the language.
        MissingExtra: simplemma or wordfreq is not installed.
    """
    from importlib import metadata

    from workbench.affixes import affixes
    from workbench.inflection import Analyser
    from workbench.lexicons.embedded import quality_note

    analyse = Analyser.of(address).analyse
    versions = ", ".join(f"{package} {metadata.version(package)}" for package in ("simplemma", "wordfreq"))
    return WordSegmenter(
        name or f"affixes:{address}",
        lru_cache(_KEPT)(lambda word: parts(word, analyse)),
        f"affixes:{address}",
        f"affix inventory {affixes(address).digest[:16]}, {versions}",
        (quality_note(address), "words without a known reading stay whole"),
    )


def parts(word: str, analyse: Callable[[str], Analysis]) -> tuple[str, ...]:
    """The morphs of a word, composed or decomposed; one that mixes both stays whole."""
    composed = unicodedata.normalize("NFC", word)
    morphs = analyse(composed).morphs
    if composed == word:
        return morphs
    decomposed = tuple(unicodedata.normalize("NFD", morph) for morph in morphs)
    return decomposed if "".join(decomposed) == word else (word,)
