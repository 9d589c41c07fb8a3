"""Plain rules that cut text: the baselines that a tokenizer is set beside."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import regex

from workbench.errors import UnknownName
from workbench.segmentation import Segmentation, utf8

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Rule(NamedTuple):
    """What a token is, and what else is told of it."""

    token: regex.Pattern[str] | None
    gap: regex.Pattern[str] | None
    about: str


_SPACE = regex.compile(r"\s+")
RULES = {
    "whitespace": _Rule(regex.compile(r"\s+|\S+"), _SPACE, "runs without white space"),
    "words": _Rule(
        regex.compile(r".+?(?:\b|\Z)", regex.WORD | regex.DOTALL),
        _SPACE,
        "what stands between default word boundaries of Unicode (UAX 29), white space left out",
    ),
    "characters": _Rule(regex.compile(r"(?s:.)"), None, "code points"),
    "graphemes": _Rule(regex.compile(r"\X"), None, "extended grapheme clusters of Unicode (UAX 29)"),
    "bytes": _Rule(None, None, "bytes of UTF-8"),
}


@dataclass(frozen=True, eq=False)
class RuleSegmenter:
    """Cuts a text by one rule.

    Attributes:
        name: name shown beside its results.
        rule: key of ``RULES``.
        source: what was asked for, as a user would type it.
        digest: version of the library that holds the rule.
        notes: what a token is.
    """

    name: str
    rule: str
    source: str | None = None
    digest: str | None = None
    notes: tuple[str, ...] = field(default=(), repr=False)

    def segment(self, text: str) -> Segmentation:
        """Cuts one text.

        Raises:
            SutureError: the text holds a lone surrogate.
        """
        data = utf8(text)
        token, gap, _ = RULES[self.rule]
        if token is None:
            return Segmentation.from_cuts(data, np.arange(len(data) + 1))
        pieces = token.findall(text)
        ends = np.cumsum(np.fromiter((len(piece.encode()) for piece in pieces), np.int64, len(pieces)))
        starts = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
        kept = np.array([gap is None or not gap.fullmatch(piece) for piece in pieces], bool)
        return Segmentation(data, starts[kept], ends[kept], exact=bool(kept.all()))

    def segment_batch(self, texts: Sequence[str]) -> list[Segmentation]:
        """Cuts many texts, each as ``segment`` would."""
        return [self.segment(text) for text in texts]


def from_rule(address: str, name: str | None = None) -> RuleSegmenter:
    """Takes a rule by its name.

    Args:
        address: ``whitespace``, ``words``, ``characters``, ``graphemes`` or ``bytes``.
        name: short name; by default ``split:`` and the rule.

    Raises:
        UnknownName: there is no such rule.
    """
    if address not in RULES:
        near = difflib.get_close_matches(address, RULES, 1)
        hint = f"did you mean {near[0]!r}?" if near else "give one of them"
        raise UnknownName(f"split: must name one of {', '.join(RULES)}; got {address!r}; {hint}")
    spec = f"split:{address}"
    return RuleSegmenter(name or spec, address, spec, f"regex {regex.__version__}", (RULES[address].about,))
