import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.normalising import Aligned, Normalised, align, trimmed

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
ODD = st.text(
    st.sampled_from("e\u0301 \u1112\u1161\u11a8A\u0130\ufb01\u00bdx\u0327\u3099\u304b"), max_size=14
)
FUNCTIONS = {
    "NFC": lambda text: unicodedata.normalize("NFC", text),
    "NFD": lambda text: unicodedata.normalize("NFD", text),
    "NFKC": lambda text: unicodedata.normalize("NFKC", text),
    "lower": str.lower,
    "no spaces": lambda text: text.replace(" ", ""),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@given(text=st.one_of(TEXT, ODD))
def test_blocks_tile_both_sides_and_normalise_to_each_other(name: str, text: str) -> None:
    function = FUNCTIONS[name]
    made = align(text, function)
    source = text.encode()
    assert made.target == function(text).encode()
    assert made.source_cuts[0] == made.target_cuts[0] == 0
    assert made.source_cuts[-1] == len(source)
    assert made.target_cuts[-1] == len(made.target)
    blocks = zip(pairwise(made.source_cuts), pairwise(made.target_cuts), made.equal, strict=True)
    for (a, b), (c, d), equal in blocks:
        assert function(source[a:b].decode()).encode() == made.target[c:d]
        assert equal == (source[a:b] == made.target[c:d])


@given(text=ODD)
def test_cuts_are_the_finest_that_brute_force_finds(text: str) -> None:
    function = FUNCTIONS["NFC"]
    whole = function(text)
    finest = [i for i in range(len(text) + 1) if function(text[:i]) + function(text[i:]) == whole]
    made = align(text, function)
    changed = {
        len(text.encode()[:a].decode())
        for edges, equal in zip(pairwise(made.source_cuts), made.equal, strict=True)
        if not equal
        for a in edges
    }
    assert changed <= set(finest)
    for low, high in pairwise(finest):
        if function(text[low:high]) != text[low:high]:
            assert {low, high} <= changed


@given(text=st.one_of(TEXT, ODD))
def test_spans_go_back_to_the_characters_that_made_them(text: str) -> None:
    stages = (align(text, FUNCTIONS["NFD"]), align(FUNCTIONS["NFD"](text), str.lower))
    made = Normalised(text.encode(), stages)
    target = made.target
    ends = np.arange(1, len(target) + 1)
    starts = ends - 1
    low, high = made.to_source(starts, ends)
    assert (low < high).all()
    assert (np.diff(low) >= 0).all()
    if len(target):
        assert low[0] == 0
        assert high[-1] == len(text.encode())


@given(text=TEXT)
def test_trimming_drops_the_ends(text: str) -> None:
    made = trimmed(text, text.strip())
    assert made.target == text.strip().encode()
    kept = len(text.encode()) - sum(b - a for a, b in made.dropped.tolist())
    assert kept == len(made.target)


def test_an_insertion_has_no_source() -> None:
    made = Aligned.of([("", " "), ("ab", "ab")])
    low, high = made.to_source(np.array([0, 1]), np.array([2, 3]))
    assert (low.tolist(), high.tolist()) == ([0, 0], [1, 2])
