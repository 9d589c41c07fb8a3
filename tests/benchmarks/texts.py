"""Texts in many scripts, made by a seed: what fidelity is measured on."""

from __future__ import annotations

import random
import unicodedata
from functools import cache

from fontTools.unicodedata import Scripts, script

from workbench.corpora import open_corpus

SCRIPTS = (
    "Latn", "Cyrl", "Grek", "Arab", "Hebr", "Deva", "Beng", "Guru", "Gujr", "Orya", "Taml", "Telu", "Knda",
    "Mlym", "Sinh", "Thai", "Laoo", "Tibt", "Mymr", "Geor", "Hang", "Ethi", "Cher", "Khmr", "Mong", "Hira",
    "Kana", "Hani", "Armn", "Syrc", "Thaa", "Cans", "Copt", "Java",
)  # fmt: skip
"""Scripts whose characters are drawn at random, beside the sentences of the embedded corpus."""

GLUE = (
    " ", " ", " ", "  ", "\n", "\t", ". ", ", ", "-", "'", "\u2019", "1", "23", "2026", "!", "?\n", "(",
    ") ", "://", "_", "\xa0", "\u3000", "\u200d", "\U0001f642", "\U0001f44b\U0001f3fd",
    "\U0001f1f9\U0001f1ed", "\r\n", "\u0301", "\u2028", "#", "=", "{", "}", "\ufeff",
)  # fmt: skip


@cache
def letters(code: str) -> str:
    """Assigned characters of a script, below the planes of rare ideographs."""
    spans = zip(Scripts.RANGES, [*Scripts.RANGES[1:], 0x110000], Scripts.VALUES, strict=True)
    points = [point for low, high, name in spans if name == code for point in range(low, min(high, 0x20000))]
    return "".join(
        chr(point) for point in points if unicodedata.category(chr(point)) not in ("Cn", "Co", "Cs")
    )


@cache
def sentences() -> list[str]:
    """Documents of the embedded corpus."""
    return [text for batch in open_corpus("embedded").batches() for text in batch.texts if text]


def texts(count: int, seed: int = 2026) -> list[str]:
    """Sentences, slices and joins of them, and random words of each script with odd glue, in turn.

    Args:
        count: how many texts, all of them different.
        seed: of the random choices; the same seed gives the same texts.
    """
    chance = random.Random(seed)  # noqa: S311 texts, not secrets
    known = sentences()
    made: dict[str, None] = {}
    turn = 0
    while len(made) < count:
        turn += 1
        if turn % 4 == 0:
            made[chance.choice(known)] = None
        elif turn % 4 == 1:
            left, right = chance.choice(known), chance.choice(known)
            cut, start = chance.randrange(len(left) + 1), chance.randrange(len(right) + 1)
            made[left[:cut] + chance.choice(GLUE) + right[start:]] = None
        else:
            made[_words(chance, SCRIPTS[(turn // 4 * 2 + turn % 2) % len(SCRIPTS)])] = None
    return list(made)


def _words(chance: random.Random, code: str) -> str:
    pool = letters(code)
    parts = []
    for _ in range(chance.randint(1, 8)):
        parts.append("".join(chance.choices(pool, k=chance.randint(1, 9))))
        parts.append(chance.choice(GLUE))
    return "".join(parts)


def scripts_of(made: list[str]) -> list[str]:
    """Scripts that occur, without the common and the inherited."""
    return sorted({script(character) for character in set("".join(made))} - {"Zyyy", "Zinh", "Zzzz"})
