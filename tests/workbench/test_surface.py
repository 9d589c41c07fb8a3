"""Underlying morphs on the surface: worked cases, and every alignment of short strings."""

from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.surface import EDGE, EDIT, MOST_EDITS, place


@pytest.mark.parametrize(
    ("word", "morphs", "status", "cut"),
    [
        ("subsidised", "subside y ise ed", "aligned", "subsid is ed"),
        ("used", "use ed", "aligned", "us ed"),
        ("running", "run ing", "aligned", "runn ing"),
        ("irregular", "in regular", "aligned", "ir regular"),
        ("kadun", "katu n", "aligned", "kadu n"),
        ("happily", "happy ly", "aligned", "happi ly"),
        ("evlerimizde", "ev ler imiz de", "concatenative", "ev ler imiz de"),
        ("Haustür", "Haus Tür", "concatenative", "Haus tür"),
        ("almák", "alma ak", "ambiguous", None),
        ("went", "go ed", "not_concatenative", None),
        ("sheep", "sheep s", "not_concatenative", None),
        ("abandoned", "abandon", "not_concatenative", None),
        ("Haus", "haus", "concatenative", "Haus"),
        ("sheep", "sheep", "concatenative", "sheep"),
    ],
)
def test_worked_cases(word, morphs, status, cut):
    (found,) = place([word], [morphs.split()])
    assert found.status == status
    assert (found.morphs and " ".join(found.morphs)) == cut
    if found.morphs:
        assert "".join(found.morphs) == word
        assert len(found.kept) == len(found.morphs)


def alignments(word: str, morphs: list[str]):
    """Every alignment: its cost and where each boundary between morphs falls."""
    symbols = [(letter, index == 0) for morph in morphs for index, letter in enumerate(morph)]
    ends, total = set(), 0
    for morph in morphs[:-1]:
        total += len(morph)
        ends.add(total)

    @cache
    def rest(at: int, letter: int, passed: bool):
        """(cost, cuts) of every way on from symbol ``at`` and a letter, the boundary there passed or not."""
        found = []
        boundary = at in ends and not passed
        if at == len(symbols) and letter == len(word):
            found.append((0, ()))
        if boundary:
            found += [(cost, (letter, *cuts)) for cost, cuts in rest(at, letter, 1)]
        if letter < len(word):
            begins = at < len(symbols) and symbols[at][1] and not boundary
            price = EDIT + EDGE * begins
            found += [(cost + price, cuts) for cost, cuts in rest(at, letter + 1, passed)]
        if at < len(symbols) and not boundary:
            symbol, first = symbols[at]
            price = EDIT + EDGE * first
            found += [(cost + price, cuts) for cost, cuts in rest(at + 1, letter, 0)]
            if letter < len(word):
                same = symbol == word[letter]
                found += [(cost + (0 if same else price), cuts) for cost, cuts in rest(at + 1, letter + 1, 0)]
        return list(set(found))

    return rest(0, 0, 0)


letters = st.text("ab", min_size=1, max_size=4)


@settings(max_examples=150, deadline=None)
@given(letters, st.lists(st.text("ab", min_size=1, max_size=2), min_size=1, max_size=3))
def test_against_every_alignment(word, morphs):
    ways = alignments(word, morphs)
    least = min(cost for cost, _ in ways)
    cuts = {found for cost, found in ways if cost == least}
    (placed,) = place([word], [morphs])
    near = least // EDIT <= max(len(word), sum(map(len, morphs))) * MOST_EDITS
    if not near:
        assert placed.status == "not_concatenative"
    elif len(cuts) > 1:
        assert placed.status == "ambiguous"
    else:
        ends = [0, *cuts.pop(), len(word)]
        parts = [word[low:high] for low, high in pairwise(ends)]
        shown = [part for part in parts if part]
        longest = max(map(len, morphs))
        gone = not parts[[len(morph) for morph in morphs].index(longest)]
        if gone or (len(shown) == 1 and (len(morphs) > 1 or least)):
            assert placed.status == "not_concatenative"
        else:
            assert placed.morphs == shown
            assert placed.status == ("aligned" if least else "concatenative")


@given(st.lists(st.tuples(letters, st.lists(letters, min_size=1, max_size=3)), max_size=6))
def test_words_together_are_placed_as_each_alone(rows):
    words, morphs = [word for word, _ in rows], [parts for _, parts in rows]
    assert place(words, morphs) == [place([word], [parts])[0] for word, parts in rows]


def test_a_word_of_any_length_is_answered_in_bounded_memory():
    long = "a" * 100_000
    found = place([long, "running", "a" * 200], [[long, "b"], ["run", "ing"], ["a" * 199, "s"]])
    assert [each.status for each in found] == ["not_concatenative", "aligned", "aligned"]


def test_equal_rows_are_answered_alike():
    found = place(["used", "went", "used"], [["use", "ed"], ["go", "ed"], ["use", "ed"]])
    assert found[0] == found[2]
    assert found[0].morphs == ["us", "ed"]
    assert found[1].morphs is None
