"""Unicode properties of many strings at once, as columns.

All characters of a column are laid end to end in one array of code points, looked up by distinct
character, and reduced string by string.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from fontTools.unicodedata import Scripts

if TYPE_CHECKING:
    from numpy.typing import NDArray

COMMON = ("Zyyy", "Zinh", "Zzzz")
"""Script codes of characters that belong to no one script: common, inherited, unknown."""

CATEGORIES = (
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn",
)  # fmt: skip


def decoded(pieces: pl.Series) -> pl.Series:
    """A column of bytes as strings, null where they are not UTF-8; Polars' own cast refuses those whole."""
    return pl.Series("text", list(map(_utf8_or_none, pieces.to_list())), dtype=pl.String)


def _utf8_or_none(piece: bytes | None) -> str | None:
    try:
        return None if piece is None else piece.decode()
    except UnicodeDecodeError:
        return None


@dataclass(frozen=True, eq=False)
class Characters:
    """The characters of a column of strings.

    Attributes:
        points: code points, end to end (characters,).
        sizes: number of characters of each string (strings,).
    """

    points: NDArray[np.uint32]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, strings: pl.Series) -> Characters:
        """From a column of strings; a null has no characters."""
        filled = strings.fill_null("")
        sizes = filled.str.len_chars().cast(pl.Int64).to_numpy()
        points = np.frombuffer(str(filled.str.join().item()).encode("utf-32-le"), np.uint32)
        return cls(points, sizes)

    @cached_property
    def _distinct(self) -> tuple[NDArray[np.uint32], NDArray[np.intp]]:
        size = int(self.points.max(initial=0)) + 1
        present = np.zeros(size, np.bool_)
        present[self.points] = True
        distinct = np.flatnonzero(present).astype(np.uint32)
        place = np.zeros(size, np.intp)
        place[distinct] = np.arange(len(distinct))
        return distinct, place[self.points]

    @cached_property
    def categories(self) -> NDArray[np.uint8]:
        """Index into ``CATEGORIES`` of each character's general category (characters,)."""
        distinct, place = self._distinct
        index = {name: number for number, name in enumerate(CATEGORIES)}
        known = [index[unicodedata.category(chr(point))] for point in distinct.tolist()]
        return np.array(known, np.uint8)[place]

    @cached_property
    def spaces(self) -> NDArray[np.bool_]:
        """Whether each character is white space, as ``str.isspace`` has it (characters,)."""
        distinct, place = self._distinct
        return np.array([chr(point).isspace() for point in distinct.tolist()], np.bool_)[place]

    @cached_property
    def scripts(self) -> tuple[NDArray[np.int16], list[str]]:
        """Index of each character's script (characters,), and the script codes of ISO 15924."""
        distinct, place = self._distinct
        codes = sorted(set(Scripts.VALUES))
        number = {code: index for index, code in enumerate(codes)}
        ranges = np.array([number[code] for code in Scripts.VALUES], np.int16)
        found = ranges[np.searchsorted(np.array(Scripts.RANGES), distinct, side="right") - 1]
        return found[place], codes

    def count(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Number of chosen characters in each string (strings,).

        Args:
            chosen: whether a character counts (characters,).
        """
        total = np.concatenate([[0], np.cumsum(chosen, dtype=np.int32)])
        ends = np.cumsum(self.sizes)
        found: NDArray[np.int64] = total[ends] - total[ends - self.sizes]
        return found

    def of_categories(self, *names: str) -> NDArray[np.int64]:
        """Number of characters in each string whose general category is one of these."""
        wanted = np.isin(CATEGORIES, names)
        return self.count(wanted[self.categories])

    def first_is(self, *names: str) -> NDArray[np.bool_]:
        """Whether each string's first character after white space is of one of these categories."""
        places = np.flatnonzero(~self.spaces)
        starts = np.cumsum(self.sizes) - self.sizes
        if not len(places):
            return np.zeros(len(starts), np.bool_)
        index = np.searchsorted(places, starts)
        first = places[np.minimum(index, len(places) - 1)]
        inside = (index < len(places)) & (first < starts + self.sizes)
        found: NDArray[np.bool_] = inside & np.isin(CATEGORIES, names)[self.categories[first]]
        return found

    def script_of(self) -> tuple[pl.Series, pl.Series]:
        """Script of each string, and whether it mixes several.

        Common and inherited characters have no say. A string of several scripts takes the one with
        most characters, the first of them on a tie; a string of none is ``Zyyy``.

        Returns:
            Column of ISO 15924 codes (an enumeration), and column of booleans.
        """
        scripts, codes = self.scripts
        neutral = np.isin(np.arange(len(codes)), [codes.index(code) for code in COMMON])[scripts]
        filled = np.flatnonzero(self.sizes)
        starts = (np.cumsum(self.sizes) - self.sizes)[filled]
        high, low = np.full((2, len(self.sizes)), -1, np.int16)
        if len(filled):
            high[filled] = np.maximum.reduceat(np.where(neutral, np.int16(-1), scripts), starts)
            low[filled] = np.minimum.reduceat(np.where(neutral, np.int16(len(codes)), scripts), starts)
        spoken = high >= 0
        mixed = spoken & (low != high)
        result = np.where(spoken, high, codes.index("Zyyy"))
        result[mixed] = self._commonest(scripts, neutral, mixed)
        named = pl.Series("script", result.astype(np.uint8)).cat.to(pl.Enum(codes))
        return named, pl.Series("mixed_script", mixed)

    def _commonest(
        self, scripts: NDArray[np.int16], neutral: NDArray[np.bool_], mixed: NDArray[np.bool_]
    ) -> NDArray[np.int16]:
        """Script with most characters in each string that mixes several; the first on a tie."""
        chosen = np.flatnonzero(np.repeat(mixed, self.sizes) & ~neutral)
        owner = np.searchsorted(np.cumsum(self.sizes), chosen, side="right")
        table = pl.DataFrame({"owner": owner, "script": scripts[chosen], "place": chosen})
        counted = table.group_by("owner", "script").agg(pl.len().alias("n"), pl.col("place").min())
        first = counted.sort("owner", "n", "place", descending=[False, True, False]).unique(
            "owner", keep="first", maintain_order=True
        )
        return first["script"].to_numpy()
