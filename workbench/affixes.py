"""Affix inventories of our own writing, and which sequences of affixes a remainder of a word can be.

A file is TOML: ``letters`` says what an upper-case letter stands for (Turkish ``A``: a or e), ``particles``
are separable prefixes, ``links`` may join the parts of a compound, and each ``paradigm`` gives

- ``lemma``: endings, one of which the lemma loses before affixes are added (the empty one by default);
- ``lemma_prefix``: likewise at its front (a noun class);
- ``longest``: whether only the longest of them that fits is taken off; ``only``: a pattern that the lemma
  must match;
- ``stem``: pairs of a pattern and a replacement, the other spellings of what is left; ``plain = false``
  where the unchanged spelling is not meant;
- ``prefixes``, ``suffixes``, ``clitics``: slots from left to right, each a list of affixes set apart by
  spaces. A slot may stay empty unless it begins with ``+``. ``(y)I`` is both ``yI`` and ``I``; ``aba|mos``
  are two morphs.
"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import regex

from workbench.errors import SutureError, UnknownName
from workbench.paths import bundle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Morphs = tuple[str, ...]

_FOLDER = "affixes"
_OPTIONAL = regex.compile(r"\((\w)\)")


@dataclass(frozen=True, eq=False)
class Slots:
    """Places for affixes in their order.

    Attributes:
        tables: for each slot, its affixes as written, each with its morphs.
        required: for each slot, whether it must be filled.
    """

    tables: tuple[Mapping[str, Morphs], ...]
    required: tuple[bool, ...]
    _known: dict[tuple[str, int], Morphs | None] = field(default_factory=dict, repr=False)

    def parse(self, text: str, first: int = 0) -> Morphs | None:
        """The shortest sequence of affixes that makes up a text, one a slot at most.

        Of several as short, the one whose first morph stands in the earlier slot, then is shorter.

        Args:
            text: what stands before or after a stem.
            first: the first slot that may be filled.

        Returns:
            The morphs, none for an empty text, or None where no sequence makes it up.
        """
        if not text:
            return None if any(self.required[first:]) else ()
        key = (text, first)
        if key not in self._known:
            self._known[key] = min(self._sequences(text, first), key=len, default=None)
        return self._known[key]

    def _sequences(self, text: str, first: int) -> Iterator[Morphs]:
        for slot in range(first, len(self.tables)):
            for size in range(1, len(text) + 1):
                morphs = self.tables[slot].get(text[:size])
                rest = None if morphs is None else self.parse(text[size:], slot + 1)
                if morphs is not None and rest is not None:
                    yield morphs + rest
            if self.required[slot]:
                return


@dataclass(frozen=True, eq=False)
class Paradigm:
    """Words that take their affixes in one way; see the head of this file."""

    name: str
    lemma: tuple[str, ...]
    lemma_prefix: tuple[str, ...]
    longest: bool
    only: regex.Pattern[str] | None
    stem: tuple[tuple[regex.Pattern[str], str], ...]
    plain: bool
    prefixes: Slots
    suffixes: Slots
    clitics: Slots

    def stems(self, lemma: str) -> Iterator[str]:
        """What of a lemma can stand in its forms, the unchanged spelling first; none is empty."""
        if self.only is not None and not self.only.search(lemma):
            return
        ends = [end for end in self.lemma if lemma.endswith(end)]
        for front, end in product(self.lemma_prefix, ends[:1] if self.longest else ends):
            if not lemma.startswith(front) or len(lemma) <= len(front) + len(end):
                continue
            base = lemma[len(front) : len(lemma) - len(end)]
            if self.plain:
                yield base
            for pattern, replacement in self.stem:
                changed = pattern.sub(replacement, base, count=1)
                if changed and changed != base:
                    yield changed

    def tail(self, text: str) -> tuple[Morphs, Morphs] | None:
        """The suffixes and the clitics that make up what follows a stem, the fewest morphs first."""
        if not self.clitics.tables:
            found = self.suffixes.parse(text)
            return None if found is None else (found, ())
        best: tuple[Morphs, Morphs] | None = None
        for at in range(len(text), -1, -1):
            suffixes, clitics = self.suffixes.parse(text[:at]), self.clitics.parse(text[at:])
            if suffixes is None or clitics is None:
                continue
            if best is None or len(suffixes) + len(clitics) < len(best[0]) + len(best[1]):
                best = (suffixes, clitics)
        return best


@dataclass(frozen=True, eq=False)
class Affixes:
    """The affix inventory of a language.

    Attributes:
        language: its code.
        paradigms: in the order of the file.
        particles: separable prefixes, the longest first.
        links: linking elements of compounds.
        outer_prefixes: prefixes that form lemmas from lemmas.
        outer_suffixes: suffixes that do.
        least: letters that a lemma must have for such an affix to be cut from it.
        digest: SHA-256 of the file.
    """

    language: str
    paradigms: tuple[Paradigm, ...] = field(repr=False)
    particles: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    outer_prefixes: tuple[str, ...] = ()
    outer_suffixes: tuple[str, ...] = ()
    least: int = 4
    digest: str = ""


def _files() -> dict[str, dict[str, str]]:
    """The inventories as the catalog declares them, by language."""
    rows: Any = tomllib.loads((bundle("corpora") / "catalog.toml").read_text("utf-8"))[_FOLDER]["files"]
    return {row["language"]: row for row in rows}


def languages() -> tuple[str, ...]:
    """Languages that have an inventory."""
    return tuple(_files())


@cache
def affixes(language: str) -> Affixes:
    """The affix inventory of a language.

    Raises:
        UnknownName: there is none.
        SutureError: its file is not the one that the catalog declares.
    """
    files = _files()
    if language not in files:
        raise UnknownName(
            f"an affix inventory must be one of {', '.join(files)}; there is none for {language!r}; "
            "give one of them, or read a lexicon file"
        )
    row = files[language]
    data = (bundle("corpora") / row["path"]).read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != row["sha256"]:
        raise SutureError(
            f"{row['path']} must have the SHA-256 {row['sha256'][:12]}…, as the catalog says; it has "
            f"{found[:12]}…; restore the file, or write its digest into corpora/catalog.toml"
        )
    return read(data.decode(), found)


def read(text: str, digest: str = "") -> Affixes:
    """Reads an inventory from its TOML text.

    Raises:
        SutureError: an affix holds an upper-case letter that ``letters`` does not explain.
    """
    table: Any = tomllib.loads(text)
    letters: dict[str, str] = table.get("letters", {})
    outer: dict[str, Any] = table.get("derivation", {})

    def words(value: str) -> tuple[str, ...]:
        return tuple(sorted(dict.fromkeys(value.split()), key=lambda word: (-len(word), word)))

    return Affixes(
        table["language"],
        tuple(_paradigm(row, letters) for row in table["paradigm"]),
        words(table.get("particles", "")),
        words(table.get("links", "")),
        words(outer.get("prefixes", "")),
        words(outer.get("suffixes", "")),
        outer.get("least", 4),
        digest,
    )


def _paradigm(row: Mapping[str, Any], letters: Mapping[str, str]) -> Paradigm:
    endings = [form for ending in row.get("lemma", [""]) for form in _spelled(ending, letters)]
    return Paradigm(
        row["name"],
        tuple(sorted(endings, key=len, reverse=True)),
        tuple(row.get("lemma_prefix", [""])),
        row.get("longest", False),
        regex.compile(row["only"]) if "only" in row else None,
        tuple((regex.compile(pattern), replacement) for pattern, replacement in row.get("stem", [])),
        row.get("plain", True),
        *(_slots(row.get(key, []), letters) for key in ("prefixes", "suffixes", "clitics")),
    )


def _slots(slots: Sequence[str], letters: Mapping[str, str]) -> Slots:
    tables = []
    for slot in slots:
        table: dict[str, Morphs] = {}
        for item in slot.removeprefix("+").split():
            for form in _spelled(item, letters):
                table.setdefault(form.replace("|", ""), tuple(form.split("|")))
        tables.append(table)
    return Slots(tuple(tables), tuple(slot.startswith("+") for slot in slots))


def _spelled(item: str, letters: Mapping[str, str]) -> list[str]:
    """Every spelling of an affix; the same upper-case letter may stand for different ones in one affix."""
    odd = sorted({letter for letter in item if letter.isupper()} - letters.keys())
    if odd:
        raise SutureError(
            f"an upper-case letter of an affix must stand under letters; {item!r} has {', '.join(odd)}; "
            "explain it there, or write the affix in lower case"
        )
    forms = {_OPTIONAL.sub(r"\1", item), _OPTIONAL.sub("", item)}
    made = {
        "".join(chosen) for form in forms for chosen in product(*(letters.get(each, each) for each in form))
    }
    return sorted(made)
