"""Cells of a report's tables: figures, texts and tokens made fit for the screen."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import regex

from workbench.display import CLOSE, OPEN, faithful
from workbench.report.palettes import ink, sequential

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NONE = "–"
"""What stands for a figure that was not measured or has no meaning."""

LONGEST_TEXT = 600
LONGEST_TOKEN = 120
"""Characters shown of a text and of a token; the rest is counted."""

STEEP = 8
"""Ratio of greatest to least above which colours go by ratio, lest one outlier darken the rest."""

_HIDDEN = regex.compile(r"[\p{C}\p{Zl}\p{Zp}]")
_NAMED = regex.compile(rf"({OPEN}[^{CLOSE}]*{CLOSE})")


class Chip(NamedTuple):
    """A piece of a text drawn in a box.

    Attributes:
        parts: its text, each part with whether it is the name of a byte or character, or a sign.
        sign: what stands between it and the next piece.
    """

    parts: tuple[tuple[str, bool], ...]
    sign: str = ""


class Cell(NamedTuple):
    """One cell of a table.

    Attributes:
        text: what it says, fit for the screen.
        sub: a second, smaller line.
        number: whether it is aligned as a number.
        token: a token's parts, each with whether it is the name of a byte or character.
        hint: shown on hovering.
        marks: numbers of the table's notes.
        severity: ``warn`` or ``flag``, or None.
        fill: background colour, with ``ink`` on it.
        share: length of a bar beside the number, 0 to 1.
        chips: pieces of a text in boxes, in the order of the text.
        rtl: whether these run from right to left.
    """

    text: str = ""
    sub: str | None = None
    number: bool = False
    token: tuple[tuple[str, bool], ...] | None = None
    hint: str | None = None
    marks: tuple[int, ...] = ()
    severity: str | None = None
    fill: str | None = None
    share: float | None = None
    chips: tuple[Chip, ...] = ()
    rtl: bool = False

    @property
    def ink(self) -> str | None:
        """Colour of the text on ``fill``."""
        return self.fill and ink(self.fill)


def shown(text: str, limit: int = LONGEST_TEXT) -> str:
    """A text fit for the screen: what has no shape is named, and what is too long is cut."""
    cut = text[:limit]
    named: str = _HIDDEN.sub(lambda match: faithful(match.group().encode("utf-8", "surrogatepass")), cut)
    return named if len(text) <= limit else f"{named}… ({len(text):,} characters)"


def label(measure: str) -> str:
    """A measure's name in words."""
    return shown(measure.replace("_", " ").replace(".", ": ").replace("utf8", "UTF-8"), 80)


def digits(values: Iterable[float | None]) -> int:
    """Decimals that suit all of these values together."""
    known = [abs(value) for value in _finite(values)]
    if all(value == int(value) for value in known):
        return 0
    top = max(known)
    return 1 if top >= 100 else 2 if top >= 10 else 3 if top >= 1 else 4


def _finite(values: Iterable[float | None]) -> Iterator[float]:
    return (value for value in values if value is not None and math.isfinite(value))


def number(value: float | None, decimals: int | None = None) -> str:
    """A figure for people, with an exponent where it would be rounded to nothing or is endless."""
    if value is None or not math.isfinite(value):
        return NONE
    places = digits([value]) if decimals is None else decimals
    if value and not 0.5 * 10**-places <= abs(value) < 1e15:
        return f"{value:.1e}"
    return f"{value:,.{places}f}"


def percent(part: float, whole: float) -> str:
    """A share in per cent; a small one is not made out to be nothing."""
    if not whole:
        return NONE
    return "< 0.1 %" if 0 < part < 0.0005 * whole else f"{100 * part / whole:.1f} %"


def token_cell(piece: bytes | None, **more: Any) -> Cell:
    """A token, faithfully shown, with its bytes for the pointer."""
    if piece is None:
        return Cell(NONE)
    parts: list[tuple[str, bool]] = []
    left = LONGEST_TOKEN
    for part in _NAMED.split(faithful(piece[: 8 * LONGEST_TOKEN])):
        if not part or left <= 0:
            continue
        named = part.startswith(OPEN)
        parts.append((part if named else part[:left], named))
        left -= len(part)
    if left < 0 or len(piece) > 8 * LONGEST_TOKEN:
        parts.append((f"… ({len(piece):,} bytes)", True))
    hint = f"bytes {piece[:32].hex(' ')}{' …' if len(piece) > 32 else ''}"
    return Cell(token=tuple(parts), hint=hint, **more)


class Notes:
    """Numbers the notes of one table, each once."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}

    def mark(self, *texts: str | None) -> tuple[int, ...]:
        """The number of a note made of these texts, or nothing where all are empty."""
        said = ": ".join(shown(text) for text in texts if text)
        return (self.texts.setdefault(said, len(self.texts) + 1),) if said else ()


def severity_of(level: str) -> str | None:
    """The level itself where it is to be shown."""
    return None if level == "info" else level


class Scale(NamedTuple):
    """Colours for the figures of one table, by ratio where the greatest is many times the least."""

    low: float
    high: float
    decimals: int

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Scale:
        """From the least to the greatest of these."""
        known = list(_finite(values))
        return cls(min(known, default=0.0), max(known, default=0.0), digits(known))

    @property
    def by_ratio(self) -> bool:
        """Whether equal ratios, not equal differences, are equal steps of colour."""
        return self.low > 0 and self.high > STEEP * self.low

    def fill(self, value: float | None) -> str | None:
        """A value's colour; the middle one where all are equal."""
        if value is None or not math.isfinite(value):
            return None
        if self.high <= self.low:
            return sequential(0.5)
        if self.by_ratio:
            return sequential(
                (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
            )
        return sequential((value - self.low) / (self.high - self.low))

    def cell(self, value: float | None) -> Cell:
        """A figure on its colour."""
        return Cell(number(value, self.decimals), number=True, fill=self.fill(value))
