"""Compounds by look-up, against every split there is."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.compounds import LEAST, RAREST, split_compound

WORDS = ["aaa", "aab", "baa", "abab", "bbaa", "aaab"]


def brute_force(stem, lemmas, shares, links):
    """The best of all ways to cut a text at any places, each part a word or a link between words."""
    best, chosen = (math.log(shares[stem]) if shares.get(stem) else -math.inf), None
    for count in range(1, len(stem)):
        for cuts in combinations(range(1, len(stem)), count):
            parts = [stem[a:b] for a, b in zip((0, *cuts), (*cuts, len(stem)), strict=True)]
            for roles in readings(parts, lemmas, shares, links):
                values = [
                    math.log(shares[part]) for part, role in zip(parts, roles, strict=True) if role == "root"
                ]
                mean = sum(values) / len(values)
                if len(values) > 1 and mean > best + 1e-12:
                    best, chosen = mean, (tuple(parts), roles)
    return best, chosen


def readings(parts, lemmas, shares, links):
    """Roles that the parts can have: links stand alone between words."""

    def known(part):
        least = RAREST * (10 if len(part) == LEAST else 1)
        return len(part) >= LEAST and lemmas.get(part) == part and shares.get(part, 0) >= least

    def go(at, roles):
        if at == len(parts):
            if roles[-1] == "root":
                yield tuple(roles)
            return
        if known(parts[at]):
            yield from go(at + 1, [*roles, "root"])
        if parts[at] in links and roles and roles[-1] == "root":
            yield from go(at + 1, [*roles, "link"])

    yield from go(0, [])


@given(
    stem=st.text("ab", min_size=3, max_size=10),
    chosen=st.dictionaries(st.sampled_from(WORDS), st.sampled_from([1e-3, 1e-4, 3e-5, 2e-6, 1e-8])),
    links=st.lists(st.sampled_from(["a", "b", "ba"]), max_size=2, unique=True),
    whole=st.sampled_from([0.0, 1e-5]),
)
def test_the_best_split_is_the_best_of_all(stem, chosen, links, whole):
    shares = {**chosen, **({stem: whole} if stem not in chosen and whole else {})}
    lemmas = {word: word for word in chosen}
    best, parts = brute_force(stem, lemmas, shares, links)
    found = split_compound(stem, lemmas, shares, links, capital=False)
    assert (found is None) == (parts is None)
    if found is not None:
        values = [
            math.log(shares[m]) for m, role in zip(found.morphs, found.roles, strict=True) if role == "root"
        ]
        assert sum(values) / len(values) == pytest.approx(best)
        assert found.roles in set(readings(list(found.morphs), lemmas, shares, links))
        assert "".join(found.morphs) == stem
        assert found.process == "compound"


def test_parts_keep_the_spelling_of_the_word():
    lemmas = {"Arbeit": "Arbeit", "Amt": "Amt", "amt": "amt"}
    shares = {"arbeit": 1e-4, "amt": 1e-4}
    found = split_compound("Arbeitsamt", lemmas, shares, ["s"], capital=True)
    assert found is not None
    assert found.morphs == ("Arbeit", "s", "amt")
    assert found.roles == ("root", "link", "root")
    assert split_compound("Arbeitsamt", lemmas, shares, [], capital=True) is None
    assert split_compound("Arbeitsamt", {"amt": "amt"}, shares, ["s"], capital=True) is None
