"""Figures of public vocabularies that others have counted before, with other code."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest

from tests import vocabs
from vocab_audits.census import census, describe
from vocab_audits.reachability import classify
from workbench.adapters import load

pytestmark = pytest.mark.vocabs

NEVER_IN_TEXT = [bytes([byte]) for byte in (0xC0, 0xC1, *range(0xF5, 0x100))]


@cache
def inventory(name: str):
    return load(vocabs.need(name), name).inventory


@cache
def table(name: str) -> pl.DataFrame:
    return describe(inventory(name))


def figure(name: str, measure: str, variant: str | None = None) -> float:
    rows = census(inventory(name)).table().filter(measure=measure)
    return rows.filter(pl.col("variant").eq_missing(variant))["value"].item()


@pytest.mark.parametrize(
    ("name", "pieces", "special", "needed"),
    [
        ("gpt2", 50_256, 1, 50_257),
        ("p50k", 50_280, 1, 50_281),
        ("cl100k", 100_256, 5, 100_277),
        ("o200k", 199_998, 2, 200_019),
        ("tekken", 130_072, 1_000, 131_072),
        ("mistral-v1", 31_741, 3, 32_000),
    ],
)
def test_sizes(name, pieces, special, needed):
    counts = dict(inventory(name).frame["kind"].cast(pl.String).value_counts().iter_rows())
    assert (counts["piece"], counts["special"], inventory(name).rows_needed) == (pieces, special, needed)
    assert counts.get("byte", 0) == (256 if name == "mistral-v1" else 0)
    assert figure(name, "entries") == len(inventory(name)) == needed - counts.get("gap", 0)


@pytest.mark.parametrize(("name", "holes"), [("gpt2", 0), ("cl100k", 16), ("o200k", 19), ("tekken", 0)])
def test_holes(name, holes):
    assert figure(name, "gaps") == figure(name, "category.gap") == holes


@pytest.mark.parametrize(
    ("name", "broken"), [("gpt2", 344), ("cl100k", 773), ("o200k", 1_562), ("tekken", 1_435)]
)
def test_entries_that_are_no_text_alone(name, broken):
    assert figure(name, "not_utf8") == broken
    assert figure(name, "category.single_byte") == 128  # every byte from 0x80 on is an entry
    single = table(name).filter(pl.col("category") == "single_byte")["bytes"]
    assert sorted(single) == [bytes([byte]) for byte in range(0x80, 0x100)]
    assert single.is_in(NEVER_IN_TEXT).sum() == 13


@pytest.mark.parametrize(("name", "valid"), [("gpt2", 49_912), ("cl100k", 99_483), ("o200k", 198_424)])
def test_entries_whose_text_alone_is_encoded_as_they_are(name, valid):
    assert (classify(load(vocabs.need(name)))["class"] == "ok").sum() == valid


@pytest.mark.parametrize(("name", "long"), [("gpt2", 3), ("cl100k", 23), ("tekken", 367), ("o200k", 1_216)])
def test_entries_of_more_than_two_han_characters(name, long):
    assert (inventory(name).texts.str.count_matches(r"\p{Han}") > 2).sum() == long


@pytest.mark.parametrize("name", ["gpt2", "p50k", "cl100k", "o200k", "qwen", "tekken", "rwkv"])
def test_no_two_entries_have_the_same_bytes(name):
    spec = f"{vocabs.need(name)}#pattern=cl100k_base" if name == "qwen" else vocabs.need(name)
    values = census(load(spec, name).inventory).table().filter(measure="duplicates")["value"]
    assert values.to_list() == [0, 0]
