"""Surface segmentation of inflected words: a form and its lemma give the stem, known affixes the rest."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from workbench.affixes import Affixes, affixes
from workbench.compounds import Parts, split_compound
from workbench.errors import MissingExtra, UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workbench.affixes import Morphs, Paradigm

COMPOUNDING = frozenset({"de", "fi"})
"""Languages whose stems are looked up as compounds."""

STEM = 3
"""Letters that the stem of an unknown word must have to be looked up."""
END = 4
"""Letters that the stem of a known form must have, for it to tell how a longer, unknown word ends."""

KNOWN = ("lemma", "affixes", "stem", "end", "parts", "irregular", "none")
"""How a word was read. ``lemma``: it is its own lemma; ``affixes``: lemma and affixes lead to it. Words that
the dictionary lacks: ``stem``, its stem makes a lemma of the dictionary; ``end``, like the known form in
which it ends; ``parts``, a compound or derivation of known words. Whole for want of an analysis: ``irregular``,
no known affixes lead from the lemma to the form; ``none``, no lemma is known."""


class Cut(NamedTuple):
    """A form in parts: prefixes, stem, suffixes, clitics."""

    front: Morphs
    stem: str
    back: Morphs
    clitics: Morphs


class Analysis(NamedTuple):
    """A word and its morphs.

    Attributes:
        morphs: parts that join to the word.
        roles: what each is.
        lemma: its dictionary form, or None where none is known.
        process: what made the cuts, as in ``lexicon.SCHEMA``; None for a word of one morph.
        known: how it was found, one of ``KNOWN``.
    """

    morphs: Morphs
    roles: Morphs
    lemma: str | None
    process: str | None
    known: str


def lemmas(language: str) -> Mapping[str, str]:
    """simplemma's dictionary of a language, forms to lemmas, held compressed and decoded on look-up.

    Raises:
        MissingExtra: simplemma is not installed.
        UnknownName: it has no such language.
    """
    try:
        from simplemma.strategies.dictionaries import StreamDictionaryFactory  # noqa: PLC0415 an extra
    except ImportError as error:
        raise MissingExtra(
            f"simplemma must be installed to look up lemmas; it is not ({error}); "
            "run pip install 'suture[linguistics]'"
        ) from None
    try:
        found: Mapping[str, str] = StreamDictionaryFactory(cache_max_size=1).get_dictionary(language)
    except ValueError:
        raise UnknownName(
            f"simplemma must have a dictionary of the language; it has none for {language!r}; give another"
        ) from None
    return found


def lowered(word: str, language: str) -> str:
    """The word in lower case, as long as before; a word that would change in length is left as it is.

    Turkish I and İ become ı and i.
    """
    if language == "tr":
        word = word.replace("I", "ı").replace("İ", "i")
    low = word.lower()
    return low if len(low) == len(word) else word


@dataclass(frozen=True, eq=False)
class Analyser:
    """Cuts the words of a language into morphs.

    Attributes:
        affixes: the language's affix inventory.
        dictionary: lemma of each known form.
        frequencies: share of each word in lower case in running text, for compounds; may be empty.
    """

    affixes: Affixes
    dictionary: Mapping[str, str] = field(repr=False)
    frequencies: Mapping[str, float] = field(repr=False, default_factory=dict)

    @classmethod
    def of(cls, language: str) -> Analyser:
        """The analyser of a language with the dictionaries of simplemma and, for compounds, wordfreq.

        Raises:
            MissingExtra: one of the two is needed and not installed.
            UnknownName: there is no affix inventory or no dictionary for the language.
        """
        inventory = affixes(language)
        shares = frequencies(language) if language in COMPOUNDING else {}
        return cls(inventory, lemmas(language), shares)

    @cached_property
    def _endings(self) -> list[str]:
        """Endings of citation forms, the empty one first."""
        found = {ending for paradigm in self.affixes.paradigms for ending in paradigm.lemma}
        return sorted(found, key=lambda ending: (len(ending), ending))

    @cached_property
    def _nouns(self) -> bool:
        return self.affixes.language == "de"  # its nouns are told by their capital

    def lemma(self, word: str) -> str | None:
        """The lemma of a form: as written, else in lower case, else with a capital."""
        low = lowered(word, self.affixes.language)
        for spelling in dict.fromkeys((word, low, low[:1].upper() + low[1:])):
            found = self.dictionary.get(spelling)
            if found is not None:
                return found
        return None

    def analyse(self, word: str) -> Analysis:
        """The morphs of a word, none empty; composed letters are assumed."""
        language = self.affixes.language
        low = lowered(word, language)
        lemma = self.lemma(word)
        if lemma is not None:
            if low == lowered(lemma, language):
                return self._told(word, Cut((), word, (), ()), lemma, "lemma")
            cut = self._cut(low, lowered(lemma, language))
            return self._told(word, cut or Cut((), word, (), ()), lemma, "affixes" if cut else "irregular")
        for find, known in ((self._by_stem, "stem"), (self._by_end, "end"), (self._as_compound, "parts")):
            found = find(low)
            if found is not None:
                return self._told(word, *found, known)
        return Analysis((word,), ("root",), None, None, "none")

    def _cut(self, form: str, lemma: str) -> Cut | None:
        """The best reading of a form: the longest stem, then the fewest morphs, then the first paradigm."""
        return min(self._candidates(form, lemma), key=lambda each: each[0], default=(None, None))[1]

    def _by_stem(self, form: str) -> tuple[Cut, str] | None:
        """Reads an unknown form by the longest stem that, with the ending of a citation form, is a lemma."""
        for size in range(len(form) - 1, STEM - 1, -1):
            for ending in self._endings:
                lemma = form[:size] + ending
                cut = self._cut(form, lemma) if lemma != form and self._is_lemma(lemma) else None
                if cut is not None and not cut.front:
                    return cut, lemma
        return None

    def _by_end(self, form: str) -> tuple[Cut, str] | None:
        """Reads an unknown form like the longest known inflected form that it ends in."""
        for at in range(1, len(form) - END):
            lemma = self.dictionary.get(form[at:])
            cut = None if lemma is None or lemma == form[at:] else self._cut(form[at:], lemma)
            if cut is not None and not cut.front and len(cut.stem) >= END:
                return Cut((), form[:at] + cut.stem, cut.back, cut.clitics), f"{form[:at]}{lemma}"
        return None

    def _as_compound(self, form: str) -> tuple[Cut, str] | None:
        """Takes an unknown form for a lemma where it is made of known words."""
        return (Cut((), form, (), ()), form) if self._stem(form).process else None

    def _candidates(self, form: str, lemma: str) -> Iterator[tuple[tuple[int, int, int], Cut]]:
        """Ways to read a form, each with its rank."""
        for order, paradigm in enumerate(self.affixes.paradigms):
            for base in paradigm.stems(lemma):
                for particle, stem in self._inside(base, paradigm):
                    for cut in _around(form, stem, particle, paradigm):
                        count = len(cut.front) + len(cut.back) + len(cut.clitics)
                        yield (-len(stem) - len(particle), count, order), cut

    def _inside(self, base: str, paradigm: Paradigm) -> Iterator[tuple[str, str]]:
        """A stem with no particle, and where prefixes may stand after one, parted from its particle."""
        yield "", base
        if paradigm.prefixes.tables:
            for particle in self.affixes.particles:
                if base.startswith(particle) and len(base) > len(particle) + 1:
                    yield particle, base[len(particle) :]

    def _told(self, word: str, cut: Cut, lemma: str, known: str) -> Analysis:
        """Parts the stem once more, and gives every morph the spelling that it has in the word."""
        at = sum(map(len, cut.front))
        stem = self._stem(word[at : at + len(cut.stem)])
        morphs, place = [], 0
        for size in map(len, (*cut.front, *stem.morphs, *cut.back, *cut.clitics)):
            morphs.append(word[place : place + size])
            place += size
        roles = ["prefix"] * len(cut.front) + list(stem.roles)
        roles += ["suffix"] * len(cut.back) + ["clitic"] * len(cut.clitics)
        steps = ["inflection"] if len(morphs) > len(stem.morphs) else []
        steps += [stem.process] if stem.process else []
        return Analysis(tuple(morphs), tuple(roles), lemma, "+".join(steps) or None, known)

    def _stem(self, stem: str) -> Parts:
        """A stem as the parts of a compound, or a lemma with derivational affixes, or whole."""
        whole = Parts((stem,), ("root",), None)
        if self.frequencies:
            return split_compound(stem, self.dictionary, self.frequencies, self.affixes.links, self._nouns) or whole
        return self._derived(stem) or whole

    def _derived(self, stem: str) -> Parts | None:
        low = lowered(stem, self.affixes.language)
        for prefix in self.affixes.outer_prefixes:
            base = low[len(prefix) :]
            if low.startswith(prefix) and len(base) >= self.affixes.least + 1 and self._is_lemma(base):
                inner = self._stem(stem[len(prefix) :])
                return Parts((stem[: len(prefix)], *inner.morphs), ("prefix", *inner.roles), "derivation")
        for suffix in self.affixes.outer_suffixes:
            base = low[: len(low) - len(suffix)]
            if low.endswith(suffix) and len(base) >= self.affixes.least and self._is_lemma(base):
                inner = self._stem(stem[: len(base)])
                return Parts((*inner.morphs, stem[len(base) :]), (*inner.roles, "suffix"), "derivation")
        return None

    def _is_lemma(self, text: str) -> bool:
        return self.dictionary.get(text) == text


def _around(form: str, stem: str, particle: str, paradigm: Paradigm) -> Iterator[Cut]:
    """Affixes before and after each place of a stem in a form; something must be left to cut."""
    at = form.find(stem)
    while at >= 0:
        before, after = form[:at], form[at + len(stem) :]
        at = form.find(stem, at + 1) if paradigm.prefixes.tables else -1
        front = paradigm.prefixes.parse(before[len(particle) :]) if before.startswith(particle) else None
        tail = paradigm.tail(after) if front is not None else None
        if front is not None and tail is not None and (front or after):
            yield Cut(((particle, *front) if particle else front), stem, *tail)


def frequencies(language: str) -> Mapping[str, float]:
    """Share of each word of a language in running text, from wordfreq's largest list.

    Raises:
        MissingExtra: wordfreq is not installed.
    """
    try:
        import wordfreq  # noqa: PLC0415 an extra
    except ImportError as error:
        raise MissingExtra(
            f"wordfreq must be installed for the frequencies of words; it is not ({error}); "
            "run pip install 'suture[linguistics]'"
        ) from None
    if language not in wordfreq.available_languages("small"):
        return {}
    found: Mapping[str, float] = wordfreq.get_frequency_dict(language, "best")
    return found


def composed(word: str) -> bool:
    """Whether a word is in Unicode's composed form, as dictionaries are."""
    return unicodedata.is_normalized("NFC", word)
