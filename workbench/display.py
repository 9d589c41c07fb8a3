"""How bytes are shown to people: the one module that knows marks for spaces, breaks and odd characters.

``faithful`` names every byte. A space is shown as ``␣``, a newline as ``⏎``, a tab as ``⇥``; what has no
shape of its own (controls, format and bidirectional controls, other spaces, fillers, variation selectors,
private-use and unassigned characters) as ``⟨U+XXXX⟩``; a byte that is not UTF-8 as ``⟨E2⟩``; a combining
mark with nothing before it to sit on, as ``◌`` with the mark. The same characters in the text itself are
named too, so no two byte strings are shown by one string: ``parse(faithful(piece)) == piece``.

To the eye some still look alike: letters of two scripts with one shape, composed and decomposed letters
(``é`` of one or two code points). Where that matters, show the hexadecimal bytes beside it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
import regex

from workbench.characters import decoded
from workbench.errors import SutureError
from workbench.paths import written_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SPACE, NEWLINE, TAB = "\u2423", "\u23ce", "\u21e5"
CARRIER, OPEN, CLOSE = "\u25cc", "\u27e8", "\u27e9"
BULLET = "\u2022"
MARKS = {" ": SPACE, "\n": NEWLINE, "\t": TAB}

_OWN = SPACE + NEWLINE + TAB + CARRIER + OPEN + CLOSE
_NAMED = rf"{_OWN}\uFFFD\u2400-\u243F\u2800\U0001D159\U00013441\U00013442"
"""Own marks, replacement character, control pictures, and symbols and letters without a shape."""

_ODD = rf"[{_NAMED}\p{{C}}\p{{Z}}\p{{Default_Ignorable_Code_Point}}\p{{Variation_Selector}}]"
_REPLACED = rf"(?P<odd>{_ODD})|(?<![^{_ODD[1:]})\p{{M}}"
_PICTURE = r"\p{Extended_Pictographic}(?:\uFE0F|\p{Emoji_Modifier})?"
_EMOJI = rf"(?P<emoji>{_PICTURE}(?:\u200D{_PICTURE})*|[0-9#*]\uFE0F?\u20E3)"
_FAITHFUL = regex.compile(_REPLACED)
_READABLE = regex.compile(f"{_EMOJI}|(?P<space> )|{_REPLACED}")
_SHOWN = regex.compile(rf"{OPEN}(?:U\+(?P<point>[0-9A-F]{{4,6}})|(?P<byte>[0-9A-F]{{2}})){CLOSE}|[{_OWN}]")

# The same in Polars' pattern language. Characters younger than Unicode 15 are left to Python, so that the
# two agree whatever version of Unicode each of them has.
_PLAIN_ROW = (
    r"^(?:[[\p{L}\p{M}\p{N}\p{P}\p{S}]&&\p{age=15.0}--[\p{DI}\p{VS}\x{FFFD}\x{2400}-\x{243F}\x{2800}"
    rf"\x{{1D159}}\x{{13441}}\x{{13442}}{_OWN}]]|[ \n\t])*$"
)
_LONE_MARK = r"(?:^|[ \n\t])\p{M}"


def faithful(piece: bytes) -> str:
    """Shows bytes so that each can be told, as the module describes; ``parse`` is its inverse."""
    return str(_FAITHFUL.sub(_mark, _text(piece)))


def readable(piece: bytes) -> str:
    """Shows bytes to be read as text: as ``faithful``, but spaces stay spaces and emoji stay whole.

    Joiners and variation selectors are kept inside emoji sequences alone. There is no way back to the
    bytes from here.
    """
    return str(_READABLE.sub(_readable_mark, _text(piece)))


def _text(piece: bytes) -> str:
    return piece.decode("utf-8", "surrogateescape")


def _mark(match: regex.Match[str]) -> str:
    character: str = match.group()
    if match["odd"] is None:
        return CARRIER + character
    return MARKS.get(character) or _name(character)


def _readable_mark(match: regex.Match[str]) -> str:
    return str(match.group()) if match["emoji"] or match["space"] else _mark(match)


@cache
def _name(character: str) -> str:
    point = ord(character)
    if 0xDC80 <= point <= 0xDCFF:  # how Python carries an undecodable byte
        return f"{OPEN}{point - 0xDC00:02X}{CLOSE}"
    return f"{OPEN}U+{point:04X}{CLOSE}"


def parse(shown: str) -> bytes:
    """The bytes behind what ``faithful`` shows.

    Raises:
        SutureError: a bracket does not hold the name of a character or byte.
    """
    parts: list[bytes] = []
    here = 0
    for match in _SHOWN.finditer(shown):
        parts += [_text_bytes(shown[here : match.start()]), _meant(match)]
        here = match.end()
    return b"".join([*parts, _text_bytes(shown[here:])])


def _text_bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise SutureError(
            f"what is parsed must be valid Unicode; {text[:40]!a} holds a surrogate; write its bytes by name"
        ) from None


def _meant(match: regex.Match[str]) -> bytes:
    if match["byte"]:
        return bytes.fromhex(match["byte"])
    if match["point"]:
        point = int(match["point"], 16)
        if point < 0x110000 and not 0xD800 <= point < 0xE000:
            return chr(point).encode()
    plain = {mark: character for character, mark in MARKS.items()} | {CARRIER: ""}
    if match.group() in plain:
        return plain[match.group()].encode()
    raise SutureError(
        f"brackets must name a character, as {OPEN}U+200B{CLOSE}, or a byte, as {OPEN}E2{CLOSE}; got "
        f"{match.string[match.start() : match.start() + 10]!r}; correct it"
    )


def faithful_column(pieces: pl.Series) -> pl.Series:
    """``faithful`` of a column of bytes; null stays null.

    Rows of plain text (which most of a vocabulary is) are shown by Polars alone; only a row with something
    odd in it goes through Python.

    Args:
        pieces: a Binary column.

    Returns:
        A String column of the same name and length.
    """
    text = decoded(pieces)
    plain = text.str.contains(_PLAIN_ROW) & ~text.str.contains(_LONE_MARK)
    shown = text.str.replace_many(list(MARKS), list(MARKS.values()))
    odd = (~plain.fill_null(value=False) & pieces.is_not_null()).arg_true()
    by_hand = pl.Series(list(map(faithful, pieces.gather(odd).to_list())), dtype=pl.String)
    return shown.scatter(odd, by_hand).alias(pieces.name)


def masked(text: str) -> str:
    """A text in which each word keeps its first letter alone, for terms that need not be read in full.

    What comes before that letter is kept, every other character (grapheme cluster) becomes a bullet, and
    a word without a letter or digit becomes bullets throughout.
    """
    hidden = regex.sub(r"\S+", _masked_match, text)
    return readable(hidden.encode("utf-8", "surrogatepass"))


def _masked_match(match: regex.Match[str]) -> str:
    return _masked_word(match.group())


def _masked_word(word: str) -> str:
    clusters: list[str] = regex.findall(r"\X", word)
    first = next((index for index, cluster in enumerate(clusters) if cluster[0].isalnum()), -1)
    kept = first + 1
    return "".join(clusters[:kept]) + "".join(map(_bullet, clusters[kept:]))


def _bullet(cluster: str) -> str:
    return cluster if "\udc80" <= cluster <= "\udcff" else BULLET  # how Python carries an undecodable byte


def masked_bytes(piece: bytes) -> bytes:
    """Bytes whose text is masked as by ``masked``; a byte that is not UTF-8 stays, for it spells nothing."""
    hidden: str = regex.sub(r"\S+", _masked_match, _text(piece))
    return hidden.encode("utf-8", "surrogateescape")


def masked_column(values: pl.Series) -> pl.Series:
    """Texts or bytes with each word masked, in lists too; null stays null and the type stays what it is.

    Numbers, truth values, dates and categories are given back as they are; of another nested type, nothing.
    """
    kind = values.dtype
    if isinstance(kind, pl.List):
        rows = [None if row is None else masked_column(row).to_list() for row in values]
        return pl.Series(values.name, rows, kind)
    if kind not in (pl.String, pl.Binary):
        return pl.Series(values.name, [None] * len(values), kind) if kind.is_nested() else values
    mask: Callable[[Any], Any] = masked if kind == pl.String else masked_bytes
    once = values.drop_nulls().unique()
    hidden = pl.Series([mask(value) for value in once.to_list()], dtype=kind)
    table = pl.DataFrame({"clear": once, "hidden": hidden}, schema={"clear": kind, "hidden": kind})
    found = values.to_frame("clear").join(table, on="clear", how="left", maintain_order="left")
    return found["hidden"].alias(values.name)


def csv_safe(cells: pl.Series) -> pl.Series:
    """A String column in which no cell is a formula to a spreadsheet.

    A cell that starts with ``=``, ``+``, ``-``, ``@`` (also in their full-width forms), a tab or a line
    break is given a leading apostrophe. See https://owasp.org/www-community/attacks/CSV_Injection.
    """
    return cells.str.replace(r"^([=+\-@\t\r\n＝＋－＠])", "'${1}")


def write_csv(frame: pl.DataFrame, path: Path) -> None:
    """Writes a table for spreadsheets and for programs; the file appears whole or not at all.

    Each Binary column becomes two: ``<name>_hex``, from which ``bytes.fromhex`` has the exact bytes, and
    ``<name>_shown``, for reading. Strings are made safe (``csv_safe``) and quoted; a null is an empty cell
    without quotes. A spreadsheet may take a hexadecimal cell of digits for a number: import it as text.

    Raises:
        SutureError: a column is nested, two would have one name, or the place is not writable.
    """
    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    if nested:
        raise SutureError(
            f"a CSV file must have flat columns; {', '.join(nested)} hold lists; unnest them or write Parquet"
        )
    columns = [column for series in frame.iter_columns() for column in _csv_columns(series)]
    names = [column.name for column in columns]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise SutureError(
            f"each column of a CSV file must have a name of its own; {', '.join(twice)} would come twice; "
            "rename one"
        )
    try:
        with written_whole(path) as partial:
            pl.DataFrame(columns).write_csv(partial, quote_style="non_numeric")
    except OSError as error:
        raise SutureError(
            f"a CSV file must be written to a writable place; {path} is none ({error.strerror or error}); "
            "choose another"
        ) from None


def _csv_columns(series: pl.Series) -> list[pl.Series]:
    name = csv_safe(pl.Series([series.name]))[0]
    if series.dtype == pl.Binary:
        shown = csv_safe(faithful_column(series))
        return [series.bin.encode("hex").alias(f"{name}_hex"), shown.alias(f"{name}_shown")]
    if isinstance(series.dtype, pl.Enum | pl.Categorical) or series.dtype == pl.String:
        return [csv_safe(series.cast(pl.String)).alias(name)]
    return [series.alias(name)]
