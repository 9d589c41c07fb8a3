"""The exact probability of a byte string under a token teacher: all segmentations, each asked of the teacher.

The bytes to come begin with p if one token covers the last byte of p and those before it spell what stands
before. With M(p | c) for a context c of tokens::

    M(p | c) = Z(p | c) + Σ q(t | c) · M(p without b(t) | c·t), over t whose bytes are a proper prefix of p
    M(empty) = 1

The contexts double with every byte that can be cut, so this is for a word, not for a text: it measures how
far the targets of ``probing.bridge.bytes`` lie from the truth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.errors import SutureError
from workbench.prefixes import ROOT, check_text
from workbench.prefixmass import prefix_mass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from workbench.prefixes import Prefixes

    Predict = Callable[[Sequence[tuple[int, ...]]], NDArray[np.float64]]


def log_marginals(
    index: Prefixes, predict: Predict, text: bytes, context: tuple[int, ...] = (), *, limit: int = 10_000
) -> NDArray[np.float64]:
    """Log of the probability that the bytes after a context begin with each prefix of a text.

    Args:
        index: of the teacher's inventory.
        predict: log-probabilities of the next token after each of some contexts (contexts, ids); −inf is 0.
        text: bytes.
        context: tokens before them; a token ends where the text begins.
        limit: contexts asked for at most.

    Returns:
        (bytes + 1,), 0 for the empty prefix, falling; the next byte's distribution is the difference of two.

    Raises:
        SutureError: the inventory's entries do not spell text; more contexts are needed.
    """
    check_text(index.inventory)
    found = np.full(len(text) + 1, -np.inf)
    found[0] = 0
    open_: list[tuple[int, float, tuple[int, ...]]] = [(0, 0.0, context)] if text else []
    asked = 0
    while open_:
        asked += len(open_)
        if asked > limit:
            raise SutureError(
                f"the segmentations of {len(text)} bytes must need at most {limit} contexts; they need more; "
                "give fewer bytes or a higher limit"
            )
        rows = np.asarray(predict([tokens for *_, tokens in open_]), np.float64)
        following = []
        for (at, share, tokens), row in zip(open_, rows, strict=True):
            following += _walk(index, row, text, (at, share, tokens), found)
        open_ = following
    return found


def _walk(
    index: Prefixes,
    row: NDArray[np.float64],
    text: bytes,
    state: tuple[int, float, tuple[int, ...]],
    found: NDArray[np.float64],
) -> list[tuple[int, float, tuple[int, ...]]]:
    """Adds what one context gives to each prefix, and returns the contexts that go on from it."""
    at, share, tokens = state
    following, node = [], ROOT
    for end in range(at + 1, len(text) + 1):
        node = int(index.step(np.array([node]), np.frombuffer(text[end - 1 : end], np.uint8))[0])
        if node < 0:
            break
        mass = share + float(prefix_mass(row, index, text[at:end], log=True))
        found[end] = np.logaddexp(found[end], mass)
        if end < len(text):
            following += [
                (end, share + float(row[token]), (*tokens, token))
                for token in index.ids_at(node).tolist()
                if row[token] > -np.inf
            ]
    return following
