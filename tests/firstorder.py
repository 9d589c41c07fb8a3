"""An oracle for tests: a token model of first order, whose byte marginals can be enumerated.

Every token depends on the one before alone, so the probability that the bytes to come begin with some bytes
is a short recursion, over all segmentations and in exact sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from workbench.inventory import Inventory

if TYPE_CHECKING:
    from collections.abc import Sequence

START = -1
"""The context before the first token."""


def inventory_of(
    pieces: Sequence[bytes | None], name: str = "toy", kinds: Sequence[str] | None = None
) -> Inventory:
    """An inventory whose ids are the places in a list; None makes a hole."""
    held = [(at, piece) for at, piece in enumerate(pieces) if piece is not None]
    columns = {"id": [at for at, _ in held], "bytes": [piece for _, piece in held]}
    if kinds is not None:
        columns["kind"] = [kinds[at] for at, _ in held]
    return Inventory.build(name, "test", columns)


def vocabulary(
    chance: np.random.Generator,
    size: int,
    *,
    longest: int = 4,
    letters: bytes = b"abc",
    complete: bool = True,
) -> list[bytes]:
    """Distinct random strings over a few letters in random order; complete: each letter is one of them."""
    found = {bytes([letter]) for letter in letters} if complete else set()
    while len(found) < size:
        length = int(chance.integers(2 if complete else 1, longest + 1))
        found.add(bytes(chance.choice(list(letters), length).tolist()))
    listed = sorted(found)
    return [listed[at] for at in chance.permutation(len(listed))]


@dataclass(frozen=True, eq=False)
class TokenLM:
    """A first-order model over tokens that never stops.

    Attributes:
        pieces: bytes of each token, none empty.
        start: probabilities of the first token (tokens,).
        rows: probabilities after each token (tokens, tokens).
    """

    pieces: list[bytes]
    start: np.ndarray
    rows: np.ndarray

    @classmethod
    def random(cls, chance: np.random.Generator, pieces: list[bytes], spread: float = 0.5) -> TokenLM:
        """Dirichlet rows; the smaller ``spread``, the more uneven."""
        rows = chance.dirichlet(np.full(len(pieces), spread), size=len(pieces) + 1)
        return cls(pieces, rows[0], rows[1:])

    def q(self, context: int = START) -> np.ndarray:
        """Probabilities of the next token."""
        return self.start if context == START else self.rows[context]

    def marginal(self, bytes_: bytes, context: int = START) -> float:
        """P(the bytes to come begin with these), over all segmentations."""
        if not bytes_:
            return 1.0
        total = 0.0
        for token, (piece, share) in enumerate(zip(self.pieces, self.q(context), strict=True)):
            if piece.startswith(bytes_):
                total += share
            elif bytes_.startswith(piece):
                total += share * self.marginal(bytes_[len(piece) :], token)
        return total

    def enumerated(self, bytes_: bytes, context: int = START) -> float:
        """The same by enumerating every token sequence that is long enough; for testing ``marginal``."""
        total, open_ = 0.0, [(b"", 1.0, context)]
        while open_:
            spelled, share, last = open_.pop()
            if len(spelled) >= len(bytes_):
                total += share * spelled.startswith(bytes_)
                continue
            for token, (piece, q) in enumerate(zip(self.pieces, self.q(last), strict=True)):
                open_.append((spelled + piece, share * q, token))
        return total

    def first(self, student: Sequence[bytes], context: int = START) -> np.ndarray:
        """P(the longest student token that begins the bytes to come is u) for each u, the residual last."""
        mass = np.array([self.marginal(piece, context) for piece in student])
        return without_longer(student, mass)

    def sample(self, chance: np.random.Generator, count: int) -> list[int]:
        """Token ids."""
        found: list[int] = []
        while len(found) < count:
            found.append(int(chance.choice(len(self.pieces), p=self.q(found[-1] if found else START))))
        return found

    @cached_property
    def inventory(self) -> Inventory:
        """The tokens as an inventory."""
        return inventory_of(self.pieces, "teacher")


def without_longer(student: Sequence[bytes], mass: np.ndarray) -> np.ndarray:
    """From P(begins with u) to P(u is the longest that begins it); the residual comes last."""
    found = np.append(mass, 1.0)
    for token, piece in enumerate(student):
        parents = [at for at, other in enumerate(student) if piece.startswith(other) and other != piece]
        parent = max(parents, key=lambda at: len(student[at]), default=len(student))
        found[parent] -= mass[token]
    return found


def greedy(pieces: Sequence[bytes], text: bytes) -> list[int]:
    """Longest match from the left; the pieces must spell the text."""
    order = sorted(range(len(pieces)), key=lambda at: -len(pieces[at]))
    found = []
    at = 0
    while at < len(text):
        token = next(token for token in order if text.startswith(pieces[token], at))
        found.append(token)
        at += len(pieces[token])
    return found


def any_cut(chance: np.random.Generator, pieces: Sequence[bytes], text: bytes) -> list[int]:
    """A random segmentation into pieces; with all letters among them one always exists."""
    found = []
    at = 0
    while at < len(text):
        fitting = [token for token, piece in enumerate(pieces) if text.startswith(piece, at)]
        found.append(int(chance.choice(fitting)))
        at += len(pieces[found[-1]])
    return found
