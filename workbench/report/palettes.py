"""Colours that people with any colour vision can tell apart, and text on them that can be read."""

from __future__ import annotations

CATEGORICAL = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""The hues of Okabe and Ito's set; its black is left out, for it vanishes on a dark page."""

OTHER = "#9A9A9A"
"""What is left over beside named categories."""

SEQUENTIAL = (
    "#00224E", "#123570", "#3B496C", "#575D6D", "#707173",
    "#8A8779", "#A69D75", "#C4B56C", "#E4CF5B", "#FEE838",
)  # fmt: skip
"""Steps of cividis, from little to much; lightness alone carries the order (Nuñez et al. 2018)."""

DARK, LIGHT = "#000000", "#FFFFFF"


def sequential(share: float) -> str:
    """The colour of a value that lies ``share`` of the way from the least to the greatest, 0 to 1."""
    place = min(max(share, 0.0), 1.0) * (len(SEQUENTIAL) - 1)
    low = min(int(place), len(SEQUENTIAL) - 2)
    pairs = zip(_channels(SEQUENTIAL[low]), _channels(SEQUENTIAL[low + 1]), strict=True)
    mixed = [round(one + (two - one) * (place - low)) for one, two in pairs]
    return "#{:02X}{:02X}{:02X}".format(*mixed)


def luminance(colour: str) -> float:
    """Relative luminance, 0 to 1, as WCAG 2.2 defines it."""
    parts = [channel / 255 for channel in _channels(colour)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, two: str) -> float:
    """Contrast ratio of two colours, 1 to 21, as WCAG 2.2 defines it."""
    dark, light = sorted((luminance(one), luminance(two)))
    return (light + 0.05) / (dark + 0.05)


def ink(fill: str) -> str:
    """Black or white, whichever is easier to read on a colour; its contrast is never under 4.5."""
    return max(DARK, LIGHT, key=lambda colour: contrast(colour, fill))


def _channels(colour: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue
