"""Morphs in random lists: exact figures against draws, and substrings against a plain loop."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

from vocab_audits.chance import LONGEST, MATCHED, chance, draw, substrings

WORDS = Counter({"walking": 9, "walks": 5, "talking": 4, "talk": 8, "kings": 3, "über": 2, "x": 40, "wal": 1})
MORPHS = pl.Series(["walk", "talk", "ing", "king", "über", "s", "wa"])
LISTED = pl.Series(["wal", "walk", "ing", "al", "lk", "ki", "lks", "nothing", "übe"])


@pytest.fixture(scope="module")
def pool():
    return substrings(WORDS, MORPHS)


def test_substrings_are_those_of_a_loop(pool):
    expected = Counter()
    for word, times in WORDS.items():
        for start in range(len(word)):
            for end in range(start + 2, min(len(word), start + LONGEST) + 1):
                expected[word[start:end]] += times
    found = dict(pool.select("string", "count").iter_rows())
    assert found == {string: times for string, times in expected.items() if times >= 2}
    for string, count, band, letters, hit in pool.iter_rows():
        assert 2**band <= count < 2 ** (band + 1)
        assert letters == len(string)
        assert hit == (string in MORPHS)


@pytest.mark.parametrize("matched", MATCHED.values(), ids=MATCHED)
def test_mean_and_deviation_are_those_of_many_draws(pool, matched):
    found = chance(LISTED, pool, matched)
    here = [string for string in LISTED if string in set(pool["string"])]
    assert (found.size, found.hits) == (len(here), sum(string in MORPHS for string in here))
    cells = pool.partition_by(matched, as_dict=True)
    random = np.random.default_rng(5)
    hits = np.zeros(20_000)
    for cell in cells.values():
        drawn = sum(string in set(here) for string in cell["string"])
        hits += random.hypergeometric(int(cell["hit"].sum()), int((~cell["hit"]).sum()), drawn, len(hits))
    assert found.mean == pytest.approx(hits.mean(), abs=4 * hits.std() / 140 + 1e-9)
    assert found.deviation == pytest.approx(hits.std(), rel=0.03, abs=1e-9)


@pytest.mark.parametrize("matched", MATCHED.values(), ids=MATCHED)
def test_a_random_list_has_the_cells_of_the_list_and_no_string_twice(pool, matched):
    table = draw(LISTED, pool, matched, 3)
    assert table.equals(draw(LISTED, pool, matched, 3))
    assert table["drawn"].is_unique().all()
    assert table["drawn"].null_count() == 0
    known = {row["string"]: row for row in pool.iter_rows(named=True)}
    for row in table.iter_rows(named=True):
        assert all(known[row["string"]][key] == known[row["drawn"]][key] for key in matched)
        assert row["drawn_hit"] == (row["drawn"] in MORPHS)


def test_the_draws_have_the_exact_mean(pool):
    matched = MATCHED["as frequent"]
    hits = [int(draw(LISTED, pool, matched, seed)["drawn_hit"].sum()) for seed in range(400)]
    found = chance(LISTED, pool, matched)
    assert np.mean(hits) == pytest.approx(found.mean, abs=4 * found.deviation / 20)


def test_nothing_to_compare():
    empty = substrings({}, MORPHS)
    assert empty.is_empty()
    found = chance(LISTED, empty, ("band",))
    assert (found.size, found.hits, found.mean, found.excess) == (0, 0, 0.0, None)
    assert draw(LISTED, empty, ("band",), 0).is_empty()
