"""The type of a morph lexicon, and boundaries in bytes."""

from itertools import accumulate

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import SutureError
from workbench.lexicon import LEDGER, SCHEMA, MorphLexicon, bounds, ledger


def entry(word: str, morphs: list[str], **told) -> dict:
    return dict.fromkeys(SCHEMA) | {"language": "tr", "word": word, "morphs": morphs} | told


def lexicon(*entries: dict, **told) -> MorphLexicon:
    return MorphLexicon("x", "x.tsv", pl.DataFrame(list(entries), SCHEMA), **told)


def test_the_type_refuses_morphs_that_do_not_join():
    for morphs in (["ev", "lar"], ["evler", ""], []):
        with pytest.raises(SutureError, match="join to its word"):
            lexicon(entry("evler", morphs))
    with pytest.raises(SutureError, match="one role each"):
        lexicon(entry("evler", ["ev", "ler"], roles=["root"]))


def test_bounds_are_byte_offsets():
    found = bounds(pl.Series([["ñan", "dú"], ["a"], ["é", "é", "x"]]))
    assert [found.row(index).tolist() for index in range(3)] == [[4], [], [2, 4]]
    assert found.sizes.tolist() == [7, 1, 5]
    assert len(set(found.keys.tolist())) == 3
    picked = found.pick(pl.Series([2, 0]).to_numpy())
    assert (picked.row(0).tolist(), picked.row(1).tolist()) == ([2, 4], [4])


@given(st.lists(st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=4), max_size=6))
def test_bounds_agree_with_counting_bytes_word_by_word(words):
    found = bounds(pl.Series(words, dtype=pl.List(pl.String)))
    assert len(found) == len(words)
    for index, morphs in enumerate(words):
        ends = list(accumulate(len(morph.encode()) for morph in morphs))
        assert found.row(index).tolist() == ends[:-1]
        assert found.sizes[index] == ends[-1]


def test_other_columns_are_refused():
    with pytest.raises(SutureError, match="must have the columns"):
        MorphLexicon("x", "x", pl.DataFrame({"word": ["a"]}))


def test_a_part_keeps_the_ledger_and_the_card_sums_it():
    left = ledger(
        [("tr", "noise", 3, 7, "1990s"), ("de", "noise", 2, 1, "a b"), ("de", "duplicate", 1, 9, "x")]
    )
    assert left.schema == LEDGER
    whole = lexicon(entry("ev", ["ev"]), entry("Haus", ["Haus"], language="de"), ledger=left, licence="CC0")
    part = whole.of("de")
    assert (part.languages, len(part)) == (["de"], 1)
    card = part.card()
    assert card["left_out"] == {"duplicate": 1, "noise": 5}
    assert (card["entries"], card["licence"]) == (1, "CC0")
