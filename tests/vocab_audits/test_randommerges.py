"""Random merges: pairs that are present, each as likely as any other."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from scipy.stats import chisquare

from vocab_audits.randommerges import random_merges
from vocab_audits.training import from_merges
from workbench.adapters import load

COUNTS = Counter({"banana": 3, " bandana": 2, "aaaa": 2, "naïve": 4, "x": 9, "once": 1})


def pairs_of(words):
    found = Counter()
    for parts, times in words:
        for pair in pairwise(parts):
            found[pair] += times
    return found


def joined(parts, pair):
    new, last = [], None
    for part in parts:
        if last is not None and (last, part) == pair:
            new[-1] = last + part
            last = None
        else:
            new.append(part)
            last = part
    return new


@pytest.mark.parametrize("seed", range(5))
def test_each_merge_is_a_pair_that_occurs_often_enough_until_none_does(seed):
    merges = random_merges(COUNTS, 1000, seed)
    words = [([bytes([byte]) for byte in word.encode()], times) for word, times in COUNTS.items()]
    for pair in merges:
        assert pairs_of(words)[pair] >= 2
        words = [(joined(parts, pair), times) for parts, times in words]
    assert max(pairs_of(words).values(), default=0) < 2


def test_the_first_merge_is_any_pair_alike():
    words = [([bytes([byte]) for byte in word.encode()], times) for word, times in COUNTS.items()]
    present = [pair for pair, times in pairs_of(words).items() if times >= 2]
    drawn = Counter(random_merges(COUNTS, 257, seed)[0] for seed in range(60 * len(present)))
    assert set(drawn) == set(present)
    assert chisquare([drawn[pair] for pair in present]).pvalue > 1e-4


def test_the_same_seed_gives_the_same_and_another_does_not():
    assert random_merges(COUNTS, 270, 1) == random_merges(COUNTS, 270, 1)
    assert random_merges(COUNTS, 270, 1) != random_merges(COUNTS, 270, 2)


def test_as_a_tokenizer_it_has_an_entry_a_merge():
    merges = random_merges(COUNTS, 265, 0)
    tokenizer = load(from_merges(merges), "random")
    assert len(tokenizer.inventory) == 256 + len(merges) == 265
    assert tokenizer.segment("bandana naïve").exact
