"""How alike a segmenter treats the forms of a word family."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import regex

from workbench.segmentation import unit_index

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vocab_audits.families import Family
    from workbench.segmentation import Segmentation

    Place = tuple[int, bool]


class Measure(NamedTuple):
    """A measure of a family: its name, definition, unit, and why it may have no figure."""

    name: str
    variant: str
    unit: str
    missing: str


MEASURES = (
    Measure("tokens_per_form", "mean over forms", "tokens", "no form"),
    Measure("whole_forms", "one token, a space before it aside", "share of forms", "no form"),
    Measure("jaccard", "tokens by id, mean over pairs of forms", "ratio", "no ids"),
    Measure("jaccard", "pieces, a space before them aside, mean over pairs of forms", "ratio", "no pair"),
    Measure("stem_alike", "same cuts inside the stem, edges aside", "share of pairs of forms",
            "fewer than two forms hold a stem of two characters and more"),
    Measure("boundary_recall", "micro over forms", "share of morph boundaries", "none is known"),
    Measure("boundary_precision", "micro over forms", "share of cuts", "no boundary is known, or no cut"),
    Measure("same_cuts", "pairs with as many grapheme clusters", "share of pairs of forms",
            "no such pair, or forms that differ in more than writing"),
    Measure("space_alike", "same cuts after a space as without", "share of forms", "no form of a word"),
    Measure("edges_cut", "between the words of an identifier", "share of word edges", "no identifier"),
    Measure("cuts_on_edges", "between the words of an identifier", "share of cuts", "no identifier or cut"),
)  # fmt: skip
"""All measures of a family, in the order in which ``measured`` gives their figures."""

WRITTEN = ("case", "space", "spelling", "script", "number", "unicode")
"""Kinds whose forms may be compared character by character."""

_EDGE = regex.compile(r"[_\-.]+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})")
"""Where the words of an identifier meet: at a sign, or where capitals say so."""


@dataclass(frozen=True, eq=False)
class Cut:
    """One form as a segmenter cuts it.

    Attributes:
        form: the form.
        found: its segmentation.
        lead: bytes of white space before it.
    """

    form: str
    found: Segmentation
    lead: int

    @classmethod
    def of(cls, form: str, found: Segmentation) -> Cut:
        """With the white space before the form found out."""
        return cls(form, found, len(form.encode()) - len(form.lstrip().encode()))

    @property
    def spelled(self) -> bool:
        """Whether tokens stand for all of the form but white space and what a normaliser takes off."""
        if self.found.unknown:
            return False
        text = bytearray(self.found.text)
        spans = np.concatenate([np.stack([self.found.starts, self.found.ends], axis=1), self.found.dropped])
        for low, high in spans.tolist():
            text[low:high] = b" " * (high - low)
        return not text.decode(errors="replace").strip()

    @property
    def cuts(self) -> list[int]:
        """Byte offsets at which a token begins inside the form, the white space before it aside.

        Text that a normaliser takes off, or that no token holds, makes no cut by its end.
        """
        starts, ends = self.found.starts, self.found.ends
        found: list[int] = np.unique(starts[(starts > self.lead) & (ends > starts)]).tolist()
        return found

    @property
    def tokens(self) -> list[int]:
        """Indices of the tokens with text of the form other than white space before it, or unknown."""
        ends, starts, unknown = self.found.ends, self.found.starts, self.found.unknown
        return [
            index
            for index in range(len(self.found))
            if (ends[index] > self.lead and ends[index] > starts[index]) or index in unknown
        ]

    def names(self, *, ids: bool) -> set[object]:
        """Distinct tokens, by id or by the piece without a space before it; unknown ones are of this form."""
        pieces, numbers = self.found.pieces, self.found.ids
        names: set[object] = set()
        for index in self.tokens:
            if index in self.found.unknown:
                names.add((id(self), index))
            elif ids and numbers is not None:
                names.add(int(numbers[index]))
            else:
                names.add(pieces[index].lstrip(b" \t\n"))
        return names - {b""}

    def places(self) -> tuple[list[Place], int]:
        """Cuts as grapheme clusters before them, each with whether it lies inside one; and their number."""
        text = self.form.encode()[self.lead :]
        index = unit_index(text, "grapheme")
        at = [cut - self.lead for cut in self.cuts]
        return [(int(index[cut]), bool(index[cut] == index[cut - 1])) for cut in at], int(index[-1])


def measured(family: Family, cuts: Sequence[Cut], spaced: Sequence[Cut]) -> list[float | None]:
    """Figures of a family, one a measure; None where it has no meaning.

    Args:
        family: the family.
        cuts: its forms as the segmenter cuts them.
        spaced: the same with a space before each.
    """
    pairs = list(combinations(cuts, 2))
    with_ids = all(cut.found.ids is not None for cut in cuts)
    recall, precision = _boundaries(family, cuts)
    edges, on_edges = _edges(cuts) if family.kind == "code" else (None, None)
    words = [pair for pair in zip(cuts, spaced, strict=True) if not pair[0].lead]
    return [
        _mean([len(cut.tokens) for cut in cuts]),
        _mean([len(cut.tokens) == 1 and cut.spelled for cut in cuts]),
        _mean([_jaccard(one, two, ids=True) for one, two in pairs]) if with_ids else None,
        _mean([_jaccard(one, two, ids=False) for one, two in pairs]),
        _stem(family, cuts),
        recall,
        precision,
        _alike(pairs) if family.kind in WRITTEN else None,
        _alike(words) if family.kind not in ("number", "code") else None,
        edges,
        on_edges,
    ]


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _jaccard(one: Cut, two: Cut, *, ids: bool) -> float:
    left, right = one.names(ids=ids), two.names(ids=ids)
    return len(left & right) / len(left | right) if left | right else 0.0


def _stem(family: Family, cuts: Sequence[Cut]) -> float | None:
    """Share of pairs whose cuts inside the stem are the same; a stem of one character has no inside."""
    if family.stem is None or len(family.stem) < 2:
        return None
    inside = []
    for cut in cuts:
        at = cut.form.find(family.stem)
        if at >= 0 and cut.spelled:
            low = len(cut.form[:at].encode())
            high = low + len(family.stem.encode())
            inside.append([place - low for place in cut.cuts if low < place < high])
    return _mean([one == two for one, two in combinations(inside, 2)])


def _boundaries(family: Family, cuts: Sequence[Cut]) -> tuple[float | None, float | None]:
    """Recall and precision of the known morph boundaries, all forms together."""
    if family.boundaries is None:
        return None, None
    hits = gold = made = 0
    for cut, places in zip(cuts, family.boundaries, strict=True):
        if cut.spelled:
            hits += len(set(places) & set(cut.cuts))
            gold, made = gold + len(places), made + len(cut.cuts)
    return hits / gold if gold else None, hits / made if made and gold else None


def _alike(pairs: Sequence[tuple[Cut, Cut]]) -> float | None:
    """Share of pairs cut at the same characters, of those that can be compared."""
    same = []
    for one, two in pairs:
        if one.spelled and two.spelled:
            (first, size), (second, other) = one.places(), two.places()
            if size == other:
                same.append(first == second)
    return _mean(same)


def edges(form: str) -> Iterator[tuple[int, int]]:
    """Where the words of an identifier meet: byte offsets before and after the sign between them, if any."""
    for match in _EDGE.finditer(form):
        low = len(form[: match.start()].encode())
        high = low + len(match.group().encode())
        if low > 0 and high < len(form.encode()):
            yield low, high


def _edges(cuts: Sequence[Cut]) -> tuple[float | None, float | None]:
    """Share of word edges with a cut, at either side of a sign; share of cuts at an edge."""
    hit = there = on = made = 0
    for cut in cuts:
        if cut.spelled:
            zones = list(edges(cut.form))
            hit += sum(any(low <= place <= high for place in cut.cuts) for low, high in zones)
            on += sum(any(low <= place <= high for low, high in zones) for place in cut.cuts)
            there, made = there + len(zones), made + len(cut.cuts)
    return hit / there if there else None, on / made if made and there else None
