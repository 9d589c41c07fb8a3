"""One form for the many ways to write a word: what a term and an entry are compared by.

``keys`` brings text to compatibility form (NFKC, which takes full-width letters back), takes out characters
that show nothing, and folds case. ``lookalikes`` goes one step further where a word mixes Latin letters with
Cyrillic, Greek or Armenian ones, which honest text hardly does: the others become the Latin letters that they
look like. A word that is Cyrillic throughout stays so, since most such words that look Latin are Russian.
``unleeted`` reads digits and signs between letters as letters.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import polars as pl
import regex

if TYPE_CHECKING:
    from collections.abc import Callable

_EDGE = "\U0010ffff"
"""A non-character that parts strings while they are folded together; no fold touches it."""

_LIKE = {
    "a": "аαɑ", "b": "ь", "c": "с", "d": "ԁժ", "e": "еεҽ", "g": "ɡց", "h": "һհ", "i": "іιɩ", "j": "јϳ",
    "k": "кκ", "l": "ӏ", "m": "м", "n": "ոη", "o": "оοօ", "p": "рρ", "q": "ԛզ", "r": "г", "s": "ѕ",
    "t": "тτ", "u": "υս", "v": "ѵν", "w": "ԝωա", "x": "хχ", "y": "уγү", "z": "ᴢ",
}  # fmt: skip
"""Letters that look like Latin ones in common typefaces, after case folding. A small table of our own."""

LOOKALIKES = {other: latin for latin, others in _LIKE.items() for other in others}

_LEET = {"0": "o", "3": "e", "4": "a", "5": "s", "7": "t", "8": "b", "@": "a", "$": "s", "€": "e"}
LEETS = ({**_LEET, "1": "i", "!": "i", "|": "i"}, {**_LEET, "1": "l", "!": "l", "|": "l"})
"""Two readings of digits and signs, of which one takes 1 for i and the other for l."""

_MIXED = (
    r"[\p{Latin}][\p{Latin}\p{M}]*[\p{Cyrillic}\p{Greek}\p{Armenian}]"
    r"|[\p{Cyrillic}\p{Greek}\p{Armenian}][\p{Latin}]|[\p{Latin}][ɑɡɩᴢ]|[ɑɡɩᴢ][\p{Latin}]"
)
_LEETED = r"(?i)\p{Latin}[0134578@$€!|]+\p{Latin}|^\s*[0134578@$€]\p{Latin}{2}|\p{Latin}{2}[0134578@$€]\s*$"
_UNSEEN = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
_WORD = regex.compile(r"[\p{L}\p{M}]+")
_LATIN = regex.compile(r"\p{Latin}")


def key(text: str) -> str:
    """One text as it is compared; ``keys`` does the same for a column."""
    plain = unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).casefold()
    return unicodedata.normalize("NFKC", plain)


def keys(texts: pl.Series) -> pl.Series:
    """The keys of a column of strings; null stays null.

    ASCII, which most of a vocabulary is, is lowered by Polars; the rest is folded in one call.
    """
    lowered = texts.str.to_lowercase()
    odd = texts.str.contains(r"[^\x00-\x7F]").fill_null(value=False).arg_true()
    return (lowered.scatter(odd, _together(key, texts.gather(odd))) if len(odd) else lowered).alias("key")


def _together(function: Callable[[str], str], texts: pl.Series) -> pl.Series:
    """A function that treats stretches apart, over a column at once, or by rows where one holds the edge."""
    joined = function(_EDGE.join(texts.to_list())).split(_EDGE)
    found = joined if len(joined) == len(texts) else [function(text) for text in texts.to_list()]
    return pl.Series(found, dtype=pl.String)


def lookalikes(folded: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Rows whose words mix Latin letters with look-alikes of other scripts.

    Args:
        folded: keys.

    Returns:
        Their places, and their keys with each such word in Latin letters.
    """
    rows = folded.str.contains(_MIXED).fill_null(value=False).arg_true()
    made = _together(_latin, folded.gather(rows)) if len(rows) else pl.Series([], dtype=pl.String)
    changed = made != folded.gather(rows)
    return rows.filter(changed), made.filter(changed)


def _latin(text: str) -> str:
    return str(_WORD.sub(lambda match: _latin_word(match.group()), text))


def _latin_word(word: str) -> str:
    if not _LATIN.search(word):
        return word
    return "".join(LOOKALIKES.get(letter, letter) for letter in word)


def unleeted(folded: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Rows in which digits or signs stand among letters, read as letters.

    Args:
        folded: keys.

    Returns:
        Their places, and their keys with those signs as letters; a row with a 1 comes in both its readings.
    """
    rows = folded.str.contains(_LEETED).fill_null(value=False).arg_true()
    places, made = [], []
    given = folded.gather(rows)
    done: list[pl.Series] = []
    for table in LEETS:
        read = given.str.replace_many(list(table), list(table.values()))
        new = read != given
        for earlier in done:
            new &= read != earlier
        done.append(read)
        places.append(rows.filter(new))
        made.append(read.filter(new))
    return pl.concat(places), pl.concat(made)


def unspaced(text: str) -> bool:
    """Whether all letters of a text are of scripts that are written without spaces between words."""
    return bool(_UNSPACED.fullmatch(text))


UNSPACED_CLASS = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
_UNSPACED = regex.compile(
    rf"[{UNSPACED_CLASS}\p{{M}}\p{{N}}\p{{P}}\s]*[{UNSPACED_CLASS}][{UNSPACED_CLASS}\p{{M}}\p{{N}}\p{{P}}\s]*"
)
