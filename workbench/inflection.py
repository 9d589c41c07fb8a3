"""Surface segmentation of inflected words: a form and its lemma give the stem, known affixes the rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

from workbench.affixes import Affixes, affixes
from workbench.compounds import Parts, split_compound
from workbench.dictionaries import frequencies, lemmas

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from workbench.affixes import Morphs, Paradigm

COMPOUNDING = frozenset({"de", "fi", "hu"})
"""Languages whose stems are looked up as compounds."""

LEAST = 2
"""Letters that a stem must have beside affixes."""
STEM = 3
"""Letters that the stem of an unknown word must have to be looked up."""
END = 4
"""Letters that the stem of a known form must have, for it to tell how a longer, unknown word ends."""

KNOWN = ("lemma", "affixes", "stem", "parts", "end", "attested", "irregular", "none")
"""How a word was read. ``lemma``: it is its own lemma; ``affixes``: lemma and affixes lead to it. Words that
the dictionary lacks: ``stem``, its stem makes a lemma of the dictionary; ``parts``, a compound or derivation
of known words; ``end``, like the known form in which it ends; ``attested``, its stem makes a word of the
frequency list. Whole for want of an analysis: ``irregular``, no known affixes lead from the lemma to the
form; ``none``, no lemma is known."""


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
        frequencies: share of each word in lower case in running text; may be empty.
    """

    affixes: Affixes
    dictionary: Mapping[str, str] = field(repr=False)
    frequencies: Mapping[str, float] = field(repr=False, default_factory=dict)

    @classmethod
    def of(cls, language: str) -> Analyser:
        """The analyser of a language with the dictionary of simplemma and the frequencies of wordfreq.

        Raises:
            MissingExtra: one of the two is not installed.
            UnknownName: there is no affix inventory or no dictionary for the language.
        """
        return cls(affixes(language), lemmas(language), frequencies(language))

    @cached_property
    def _endings(self) -> list[str]:
        """Endings of citation forms, the empty one first."""
        found = {ending for paradigm in self.affixes.paradigms for ending in paradigm.lemma}
        return sorted(found, key=lambda ending: (len(ending), ending))

    @cached_property
    def _guides(self) -> list[tuple[Callable[[str], tuple[Cut, str] | None], str]]:
        """What a word without a lemma is read by, in order."""
        return [
            (partial(self._by_stem, self._is_lemma), "stem"),
            (self._by_end, "end"),
            (self._by_parts, "parts"),
            (partial(self._by_stem, self._is_attested), "attested"),
        ]

    @cached_property
    def _nouns(self) -> bool:
        return self.affixes.language == "de"  # its nouns are told by their capital

    def spelled(self, word: str) -> str | None:
        """How the dictionary spells a form: as written, else in lower case, else with a capital."""
        low = lowered(word, self.affixes.language)
        spellings = dict.fromkeys((word, low, low[:1].upper() + low[1:]))
        return next((each for each in spellings if self.dictionary.get(each) is not None), None)

    def lemma(self, word: str) -> str | None:
        """The lemma of a form, or None where the dictionary lacks it."""
        spelling = self.spelled(word)
        return None if spelling is None else self.dictionary.get(spelling)

    def analyse(self, word: str) -> Analysis:
        """The morphs of a word, none empty; composed letters are assumed."""
        language = self.affixes.language
        low = lowered(word, language)
        lemma = self.lemma(word)
        if lemma is not None:
            if low == lowered(lemma, language):
                return self._told(word, Cut((), word, (), ()), lemma, "lemma")
            further = self.dictionary.get(lemma, lemma)  # a plural may have a possessed noun for its lemma
            for base in dict.fromkeys((further, lemma) if len(further) >= STEM else (lemma,)):
                cut = self._cut(low, lowered(base, language))
                if cut is not None:
                    return self._told(word, cut, base, "affixes")
            return self._told(word, Cut((), word, (), ()), lemma, "irregular")
        for find, known in self._guides:
            found = find(low)
            if found is not None:
                cut, lemma = found
                lemma = lemma[:1].upper() + lemma[1:] if word[:1].isupper() else lemma
                return self._told(word, cut, lemma, known)
        return Analysis((word,), ("root",), None, None, "none")

    def _cut(self, form: str, lemma: str) -> Cut | None:
        """The best reading of a form: the longest stem, then the fewest morphs, then the first paradigm."""
        return min(self._candidates(form, lemma), key=lambda each: each[0], default=(None, None))[1]

    def _by_stem(self, is_word: Callable[[str], bool], form: str) -> tuple[Cut, str] | None:
        """Reads an unknown form by the longest stem that makes a word with the ending of a citation form."""
        for size in range(len(form) - 1, STEM - 1, -1):
            for ending in self._endings:
                lemma = form[:size] + ending
                cut = self._cut(form, lemma) if lemma != form and is_word(lemma) else None
                if cut is not None and not cut.front:
                    return cut, lemma
        return None

    def _by_end(self, form: str) -> tuple[Cut, str] | None:
        """Reads an unknown form like the longest known form that it ends in, if that is inflected."""
        for at in range(1, len(form) - END):
            end = form[at:]
            lemma = self.lemma(end)
            if lemma is None:
                continue
            base = lowered(lemma, self.affixes.language)
            if base == end:
                return None
            cut = self._cut(end, base)
            if cut is not None and not cut.front and len(cut.stem) >= END:
                return Cut((), form[:at] + cut.stem, cut.back, cut.clitics), form[:at] + base
        return None

    def _by_parts(self, form: str) -> tuple[Cut, str] | None:
        """Takes an unknown form for a lemma where it is made of known words."""
        return (Cut((), form, (), ()), form) if self._stem(form).process else None

    def _candidates(self, form: str, lemma: str) -> Iterator[tuple[tuple[int, int, int], Cut]]:
        """Ways to read a form, each with its rank."""
        for order, paradigm in enumerate(self.affixes.paradigms):
            for base in paradigm.stems(lemma):
                for particle, stem in self._inside(base, paradigm):
                    if len(stem) < LEAST:
                        continue
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
        stem = (
            self._as_lemma(word[at : at + len(cut.stem)], lemma)
            if not cut.front
            else _whole(word[at : at + len(cut.stem)])
        )
        morphs, place = [], 0
        for size in map(len, (*cut.front, *stem.morphs, *cut.back, *cut.clitics)):
            morphs.append(word[place : place + size])
            place += size
        roles = ["prefix"] * len(cut.front) + list(stem.roles)
        roles += ["suffix"] * len(cut.back) + ["clitic"] * len(cut.clitics)
        steps = ["inflection"] if len(morphs) > len(stem.morphs) else []
        steps += [stem.process] if stem.process else []
        return Analysis(tuple(morphs), tuple(roles), lemma, "+".join(steps) or None, known)

    def _as_lemma(self, stem: str, lemma: str) -> Parts:
        """A stem parted where its lemma is, as far as the two are spelled alike; the last part may differ."""
        low, low_lemma = lowered(stem, self.affixes.language), lowered(lemma, self.affixes.language)
        parts = self._stem(lemma)
        morphs: list[str] = []
        at = 0
        for morph in parts.morphs[:-1]:
            at += len(morph)
            if at >= len(low) or low[:at] != low_lemma[:at]:
                return _whole(stem)
            morphs.append(stem[at - len(morph) : at])
        return Parts((*morphs, stem[at:]), parts.roles, parts.process)

    def _stem(self, stem: str) -> Parts:
        """A lemma as the parts of a compound, or with derivational affixes, or whole."""
        if self.affixes.language in COMPOUNDING:
            found = split_compound(stem, self.dictionary, self.frequencies, self.affixes.links, self._nouns)
            if found is not None:
                return found
        return self._derived(stem) or _whole(stem)

    def _derived(self, stem: str) -> Parts | None:
        low = lowered(stem, self.affixes.language)
        for prefix in self.affixes.outer_prefixes:
            base = low[len(prefix) :]
            if not low.startswith(prefix) or len(base) <= self.affixes.least:
                continue
            if self._is_lemma(base) and not self._opaque(base, low):
                inner = self._stem(stem[len(prefix) :])
                return Parts((stem[: len(prefix)], *inner.morphs), ("prefix", *inner.roles), "derivation")
        for suffix in self.affixes.outer_suffixes:
            base = low[: len(low) - len(suffix)]
            if not low.endswith(suffix) or len(base) < self.affixes.least:
                continue
            if self._is_lemma(base) and not self._opaque(base, low):
                inner = self._stem(stem[: len(base)])
                return Parts((*inner.morphs, stem[len(base) :]), (*inner.roles, "suffix"), "derivation")
        return None

    def _opaque(self, base: str, whole: str) -> bool:
        """Whether a derived word is more frequent than its base, and so is hardly felt as derived.

        Hay, "Lexical frequency in morphology: is everything relative?", Linguistics 39, 2001.
        """
        return self.frequencies.get(base, 0.0) < self.frequencies.get(whole, 0.0)

    def _is_lemma(self, text: str) -> bool:
        return self.dictionary.get(text) == text

    def _is_attested(self, text: str) -> bool:
        return len(text) > STEM and text in self.frequencies and self.dictionary.get(text) is None


def _whole(stem: str) -> Parts:
    return Parts((stem,), ("root",), None)


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
