"""A segmenter that finds the words of a running text and cuts each by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import regex

from workbench.errors import SutureError
from workbench.segmentation import Segmentation, utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WORD = r"\p{L}[\p{L}\p{M}]*"
"""A word: letters with their marks. An apostrophe, a hyphen and a digit are none."""

_TOKEN = regex.compile(rf"({WORD})|(\s+)|[^\s\p{{L}}]+")


@dataclass(frozen=True, eq=False)
class WordSegmenter:
    """Cuts the words of a text; what else is between white space is one token a run.

    Attributes:
        name: name shown beside its results.
        parts: the parts of a word, which join to it.
        source: what was asked for, as a user would type it.
        digest: versions and digests of what it cuts by.
        notes: what a reader of its figures should know.
    """

    name: str
    parts: Callable[[str], Sequence[str]] = field(repr=False)
    source: str | None = None
    digest: str | None = None
    notes: tuple[str, ...] = ()

    def segment(self, text: str) -> Segmentation:
        """Cuts one text; its white space is under no token.

        Raises:
            SutureError: the text holds a lone surrogate, or the parts of a word do not join to it.
        """
        data = utf8(text)
        sizes, spaces = [], []
        for found in _TOKEN.finditer(text):
            word, space = found[1], found[2]
            parts = self.parts(word) if word else (found[0],)
            if word and "".join(parts) != word:
                raise SutureError(
                    f"the parts of a word must join to it; {self.name} gives {list(parts)} for {word!r}; "
                    "correct the segmenter"
                )
            sizes += [len(part.encode()) for part in parts if part]
            spaces += [space is not None for part in parts if part]
        ends = np.cumsum(np.array(sizes, np.int64))
        kept = ~np.array(spaces, bool)
        starts = ends - np.array(sizes, np.int64)
        return Segmentation(data, starts[kept], ends[kept], exact=bool(kept.all()))

    def segment_batch(self, texts: Sequence[str]) -> list[Segmentation]:
        """Cuts many texts, each as ``segment`` would."""
        return [self.segment(text) for text in texts]
