"""Every substring of a lexicon's words, and how each lies to the words' morphs.

A string is a unit where it is a whole morph or a whole word somewhere, a sequence of morphs where it begins
and ends with one and holds several, else a fragment. All substrings of one length are numbered at once, from
those of the length before, so that any string is looked up exactly and all of one length can be counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from workbench.characters import Characters
from workbench.ranges import ranges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.lexicon import MorphLexicon

    Ints = NDArray[np.int64]

UNITS = ("root", "prefix", "suffix", "affix", "morph", "inflected_word", "derived_word", "compound", "word",
         "name")  # fmt: skip
"""What a whole morph or word is: ``affix`` is any other than prefix and suffix; ``morph`` is one of which the
lexicon does not say the role; ``word`` is one of several morphs of which it does not say the process."""

CLASSES = (*UNITS, "morph_sequence", "within_morph", "cross_morph")
"""All that a string found in a lexicon can be. ``morph_sequence`` is several whole morphs that are no whole
word; ``within_morph`` and ``cross_morph`` are fragments, told by what most of their occurrences are."""

SEQUENCE, WITHIN, CROSS = (CLASSES.index(name) for name in ("morph_sequence", "within_morph", "cross_morph"))
ABSENT = 255

PLACES = ("any", "begin", "inner", "final")
"""Where in a word an occurrence counts: anywhere, at its begin, not at its begin, at its end."""

_ROLES = {"root": "root", "prefix": "prefix", "suffix": "suffix"}


@dataclass(frozen=True, eq=False)
class Stream:
    """The words of a lexicon laid end to end, character by character.

    Attributes:
        points: number of each character in ``alphabet`` (characters,).
        alphabet: the distinct code points, rising.
        sizes: characters of each word (words,).
        word_units: index into ``UNITS`` of each whole word (words,).
        morph_sizes: characters of each morph, word after word (morphs,).
        morph_units: index into ``UNITS`` of each morph (morphs,).
        language_of: index into ``languages`` of each word (words,).
        languages: the lexicon's languages.
    """

    points: Ints
    alphabet: NDArray[np.uint32]
    sizes: Ints
    word_units: NDArray[np.uint8]
    morph_sizes: Ints
    morph_units: NDArray[np.uint8]
    language_of: Ints
    languages: tuple[str, ...]

    @classmethod
    def of(cls, lexicon: MorphLexicon) -> Stream:
        """The words of a lexicon."""
        frame = lexicon.frame.with_columns(row=pl.int_range(pl.len()))
        characters = Characters.of(frame["word"])
        alphabet, points = np.unique(characters.points, return_inverse=True)
        languages = tuple(lexicon.languages)
        numbers = pl.col("language").replace_strict(list(languages), range(len(languages)),
                                                    return_dtype=pl.Int64)  # fmt: skip
        morphs = morph_units(frame)
        return cls(
            points.astype(np.int64),
            alphabet,
            characters.sizes,
            frame.select(_word_unit()).to_series().to_numpy(),
            morphs["morph"].str.len_chars().cast(pl.Int64).to_numpy(),
            morphs["unit"].to_numpy(),
            frame.select(numbers).to_series().to_numpy() if frame.height else np.empty(0, np.int64),
            languages,
        )

    @cached_property
    def word(self) -> Ints:
        """The word of each character."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def before(self) -> Ints:
        """Characters of the same word before each."""
        return ranges(0, self.sizes)

    @cached_property
    def left(self) -> Ints:
        """Characters of the same word from each on, itself too."""
        left: Ints = self.sizes[self.word] - self.before
        return left

    @cached_property
    def morph(self) -> Ints:
        """The morph of each character."""
        return np.repeat(np.arange(len(self.morph_sizes)), self.morph_sizes)

    @cached_property
    def opens(self) -> NDArray[np.bool_]:
        """Whether each character is the first of its morph."""
        found = np.ones(len(self.morph), bool)
        found[1:] = self.morph[1:] != self.morph[:-1]
        return found

    @cached_property
    def closes(self) -> NDArray[np.bool_]:
        """Whether each character is the last of its morph."""
        return np.append(self.opens[1:], True)[: len(self.opens)]

    @cached_property
    def rows(self) -> Ints:
        """Words of each language."""
        return np.bincount(self.language_of, minlength=len(self.languages))

    def spelled(self, forms: pl.Series) -> tuple[Ints, Ints]:
        """Numbers of the characters of strings, -1 for one that no word has, and the strings' lengths."""
        characters = Characters.of(forms)
        if not len(self.alphabet):
            return np.full(len(characters.points), -1), characters.sizes
        place = np.minimum(np.searchsorted(self.alphabet, characters.points), len(self.alphabet) - 1)
        return np.where(self.alphabet[place] == characters.points, place, -1), characters.sizes


def morph_units(frame: pl.DataFrame) -> pl.DataFrame:
    """Every morph of a lexicon's entries, with its language, its row and its index into ``UNITS``.

    A morph without a role is a root if it is also an entry of one morph in its language, else ``morph``.
    """
    roles = pl.when(pl.col("roles").is_null()).then(
        pl.lit(None, pl.String).repeat_by(pl.col("morphs").list.len())
    ).otherwise(pl.col("roles").cast(pl.List(pl.String)))  # fmt: skip
    long = frame.select("language", "row", morph="morphs", role=roles).explode("morph", "role")
    free = frame.filter(pl.col("morphs").list.len() == 1).select("language", morph="word").unique()
    long = long.join(free.with_columns(free=True), on=["language", "morph"], how="left",
                     maintain_order="left")  # fmt: skip
    unit = (
        pl.when(pl.col("role").is_null() & pl.col("free")).then(pl.lit("root"))
        .when(pl.col("role").is_null()).then(pl.lit("morph"))
        .otherwise(pl.col("role").replace_strict(_ROLES, default="affix"))
    )  # fmt: skip
    return long.select("language", "row", "morph", unit=_numbered(unit))


def units_by_language(lexicon: MorphLexicon) -> pl.DataFrame:
    """Distinct units of each language: columns language, unit, form.

    ``unit`` is that of each morph, or of a word of one, in ``UNITS``; and ``all_words`` for whole words.
    """
    frame = lexicon.frame.with_columns(row=pl.int_range(pl.len()), alone=pl.col("morphs").list.len() == 1)
    several = morph_units(frame).join(frame.filter("alone").select("row"), on="row", how="anti")
    alone = frame.filter("alone").select("language", "row", morph="word", unit=_word_unit())
    morphs = (
        pl.concat([several, alone])
        .sort("row", maintain_order=True)
        .select(
            "language",
            unit=pl.col("unit").replace_strict(range(len(UNITS)), list(UNITS), return_dtype=pl.String),
            form="morph",
        )
    )
    words = frame.select("language", unit=pl.lit("all_words"), form="word")
    order = pl.col("unit").replace_strict([*UNITS, "all_words"], range(len(UNITS) + 1))
    return pl.concat([morphs, words]).unique(maintain_order=True).sort(order, "language", maintain_order=True)


def _numbered(unit: pl.Expr) -> pl.Expr:
    return unit.cast(pl.Enum(UNITS)).to_physical().cast(pl.UInt8)


def _word_unit() -> pl.Expr:
    """What each entry's whole word is."""
    process = pl.col("process").fill_null("")
    role = pl.col("roles").list.first().cast(pl.String).fill_null("root")
    roots = pl.col("roles").list.count_matches("root").fill_null(0)
    named = (
        pl.when(pl.col("pos") == "PROPN").then(pl.lit("name"))
        .when(pl.col("morphs").list.len() == 1)
        .then(role.replace_strict(_ROLES, default="affix"))
        .when(process.str.contains("compound") | (roots > 1)).then(pl.lit("compound"))
        .when(process.str.contains("inflection")).then(pl.lit("inflected_word"))
        .when(process.str.contains("derivation")).then(pl.lit("derived_word"))
        .otherwise(pl.lit("word"))
    )  # fmt: skip
    return _numbered(named)


class Length(NamedTuple):
    """All substrings of one length.

    Attributes:
        size: characters of each.
        starts: where each occurrence starts in the stream (occurrences,).
        numbers: which distinct substring each occurrence is (occurrences,).
        distinct: how many there are.
        forms: forms of this length that occur (n,).
        found: the substring that each of them is (n,).
    """

    size: int
    starts: Ints
    numbers: Ints
    distinct: int
    forms: Ints
    found: Ints


def lengths(stream: Stream, forms: pl.Series) -> Iterator[Length]:
    """Substrings of all lengths at which some of the forms occurs, the shortest first.

    Args:
        stream: the words.
        forms: strings to look up, none empty.
    """
    spelled, sizes = stream.spelled(forms)
    begins = np.cumsum(sizes) - sizes
    alive = np.flatnonzero(sizes > 0)
    state = np.zeros(len(sizes), np.int64)
    starts, known = np.arange(len(stream.points)), np.zeros(len(stream.points), np.int64)
    width, size = len(stream.alphabet), 0
    while len(alive) and len(starts):
        keys = known * width + stream.points[starts + size]
        distinct, numbers = np.unique(keys, return_inverse=True)
        letters = spelled[begins[alive] + size]
        wanted = state[alive] * width + letters
        place = np.minimum(np.searchsorted(distinct, wanted), len(distinct) - 1)
        here = (letters >= 0) & (distinct[place] == wanted)
        alive, place = alive[here], place[here]
        state[alive] = place
        size += 1
        ended = sizes[alive] == size
        if ended.any():
            done = alive[ended]
            yield Length(size, starts, numbers, len(distinct), done, state[done])
        alive = alive[~ended]
        on = stream.left[starts] > size
        starts, known = starts[on], numbers[on]


class Readings(NamedTuple):
    """What all substrings of one length are, where they occur in one of ``PLACES``.

    Attributes:
        classes: index into ``CLASSES``, or ``ABSENT`` (distinct,).
        counts: occurrences (distinct,).
        units: occurrences as a unit: columns number, language, unit (indices), rows, support.
        chosen: language of the reading taken, -1 for fragments (distinct,).
    """

    classes: NDArray[np.uint8]
    counts: Ints
    units: pl.DataFrame
    chosen: Ints


def read(stream: Stream, length: Length, place: str) -> Readings:
    """Tells what each substring is.

    Of several readings as a unit that one is taken which most entries of a language support, as a share of
    its entries; at the begin of a word, the whole word goes before any morph.

    Args:
        stream: the words.
        length: substrings of one length.
        place: which occurrences count, one of ``PLACES``.
    """
    starts, numbers, last = length.starts, length.numbers, length.starts + length.size - 1
    opens, ends = stream.before[starts] == 0, stream.left[starts] == length.size
    counted = {"any": None, "begin": opens, "inner": ~opens, "final": ends}[place]
    if counted is not None:
        starts, numbers, last, opens, ends = (each[counted] for each in (starts, numbers, last, opens, ends))
    whole = opens & ends
    edges = stream.opens[starts] & stream.closes[last]
    several = stream.morph[last] > stream.morph[starts]
    unit = edges & (~several | whole)
    units = _units(stream, starts[unit], numbers[unit], whole[unit], first=place == "begin")
    best = units.unique("number", keep="first", maintain_order=True)

    def count(chosen: NDArray[np.bool_]) -> Ints:
        return np.bincount(numbers[chosen], minlength=length.distinct)

    total = np.bincount(numbers, minlength=length.distinct)
    across, within = count(several & ~edges), count(~several & ~edges)
    classes = np.where(across > within, CROSS, WITHIN).astype(np.uint8)
    classes[count(edges & several & ~whole) > 0] = SEQUENCE
    classes[best["number"].to_numpy()] = best["unit"].to_numpy()
    classes[total == 0] = ABSENT
    chosen = np.full(length.distinct, -1)
    chosen[best["number"].to_numpy()] = best["language"].to_numpy()
    return Readings(classes, total, units, chosen)


def _units(
    stream: Stream, starts: Ints, numbers: Ints, whole: NDArray[np.bool_], *, first: bool
) -> pl.DataFrame:
    """Readings as a unit, the one to be taken first."""
    word = stream.word[starts]
    unit = np.where(whole, stream.word_units[word], stream.morph_units[stream.morph[starts]])
    table = pl.DataFrame({
        "number": numbers, "language": stream.language_of[word], "unit": unit,
        "whole": whole if first else np.zeros(len(whole), bool),
    })  # fmt: skip
    counted = table.group_by("number", "language", "unit", "whole").agg(rows=pl.len().cast(pl.Int64))
    share = counted["rows"].to_numpy() / stream.rows[counted["language"].to_numpy()]
    return counted.with_columns(support=pl.Series(share, dtype=pl.Float64)).sort(
        "number", "whole", "support", "unit", "language", descending=[False, True, True, False, False]
    )
