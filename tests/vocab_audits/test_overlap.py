"""Overlap against Python sets, and against published figures on real vocabularies."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import builders
from tests.vocabs import need
from vocab_audits.overlap import COUNT, ENTRIES, RANK, overlap
from workbench.adapters import load
from workbench.audit import Outcome
from workbench.errors import SutureError
from workbench.inventory import Inventory
from workbench.runs import RunWriter


def tokenizer(name, columns):
    return SimpleNamespace(inventory=Inventory.build(name, "test", columns))


def of_pieces(name, pieces, **more):
    return tokenizer(name, {"id": range(len(pieces)), "bytes": list(pieces), **more})


def value(outcome, subject, measure, variant=ENTRIES):
    rows = outcome.table().filter(subject=subject, measure=measure, variant=variant)
    assert rows.height == 1, rows
    return rows["value"][0]


pieces = st.lists(st.binary(min_size=1, max_size=3), unique=True, min_size=1, max_size=30)


@settings(deadline=None)
@given(pieces, pieces, pieces)
def test_agrees_with_sets(one, two, three):
    named = {"one": one, "two": two, "three": three}
    outcome = overlap([of_pieces(name, some) for name, some in named.items()])
    sets = {name: set(some) for name, some in named.items()}
    for first, second in (("one", "two"), ("one", "three"), ("two", "three")):
        a, b = sets[first], sets[second]
        both = f"{first} & {second}"
        assert value(outcome, both, "shared_entries") == len(a & b)
        assert value(outcome, both, "jaccard") == pytest.approx(len(a & b) / len(a | b))
        assert value(outcome, both, "overlap_coefficient") == pytest.approx(len(a & b) / min(len(a), len(b)))
        assert value(outcome, f"{first} in {second}", "containment") == pytest.approx(len(a & b) / len(a))
        assert value(outcome, f"{second} in {first}", "containment") == pytest.approx(len(a & b) / len(b))
        weigh = [
            {
                piece: 1 / place / sum(1 / n for n in range(1, len(some) + 1))
                for place, piece in enumerate(some, 1)
            }
            for some in (named[first], named[second])
        ]
        low = sum(min(weights.get(piece, 0) for weights in weigh) for piece in a | b)
        high = sum(max(weights.get(piece, 0) for weights in weigh) for piece in a | b)
        assert value(outcome, both, "jaccard", RANK) == pytest.approx(low / high)
        assert value(outcome, f"{first} in {second}", "containment", RANK) == pytest.approx(
            sum(weigh[0][piece] for piece in a & b)
        )
    alone = outcome.tables["overlap_only"]
    for name, some in sets.items():
        rest = set.union(*(other for key, other in sets.items() if key != name))
        rows = alone.filter(subject=name)
        assert set(rows["bytes"]) == some - rest
        assert [named[name][index] for index in rows["token_id"]] == rows["bytes"].to_list()
        assert value(outcome, name, "entries_only_here") == len(some - rest)
    common = set.intersection(*sets.values())
    assert value(outcome, "one", "entries_all_have") == len(common)
    assert set(outcome.tables["overlap_all"].filter(subject="two")["bytes"]) == common


def test_special_and_reserved_rows_are_left_out_and_special_ones_compared_apart():
    kinds = {"kind": ["piece", "special", "special", "unused", "added"]}
    one = of_pieces("one", [b"a", b"<s>", b"<x>", b"<r>", b"<think>"], **kinds)
    two = of_pieces("two", [b"a", b"<s>", b"<y>", b"<r>", b"</think>"], **kinds)
    outcome = overlap([one, two])
    assert value(outcome, "one & two", "shared_entries") == 1
    assert value(outcome, "one & two", "jaccard") == pytest.approx(1 / 3)
    assert value(outcome, "one & two", "jaccard", "special tokens, by their text") == pytest.approx(1 / 3)
    note = outcome.table().filter(subject="one", measure="entries_compared")["note"][0]
    assert "3 special" in note


def test_holes_are_no_entries():
    one = tokenizer("one", {"id": [0, 5], "bytes": [b"a", b"b"]})
    two = tokenizer("two", {"id": [3, 1], "bytes": [b"a", b"c"]})
    outcome = overlap([one, two])
    assert value(outcome, "one", "entries_compared") == 2
    assert value(outcome, "one & two", "jaccard") == pytest.approx(1 / 3)
    assert outcome.tables["overlap_only"].rows() == [("one", 5, b"b"), ("two", 1, b"c")]


def test_entries_that_differ_in_position_alone_count_once_and_it_is_said():
    word = load(builders.wordpiece(["the", "##the", "##s"]), "wp")
    other = of_pieces("other", [b"the", b"s"])
    outcome = overlap([word, other])
    assert value(outcome, "wp & other", "shared_entries") == 2
    assert value(outcome, "wp", "entries_compared") == 3  # [UNK] is a literal piece of the file here
    notes = outcome.table().filter(measure="jaccard", variant=ENTRIES)["note"]
    assert notes[0].startswith("wp marks")


def test_byte_fallback_and_piece_of_one_byte_are_one():
    one = of_pieces("one", [b"a", b"a"], kind=["piece", "byte"])
    outcome = overlap([one, of_pieces("two", [b"a"])])
    assert value(outcome, "one & two", "jaccard") == 1.0
    assert "1 entries repeat" in outcome.table().filter(subject="one", measure="entries_compared")["note"][0]


def test_learned_order_is_rank_then_score_then_id_and_bytes_come_last():
    ranked = of_pieces("ranked", [b"x", b"y", b"a"], rank=[2, 1, 0])
    scored = of_pieces(
        "scored", [b"\x00", b"u", b"v"], score=[0.0, -3.0, -2.0], kind=["byte", "piece", "piece"]
    )
    only = overlap([ranked, scored]).tables["overlap_only"]
    assert only.filter(subject="ranked")["token_id"].to_list() == [2, 1, 0]
    assert only.filter(subject="scored")["token_id"].to_list() == [2, 1, 0]


def test_lists_the_first_learned_and_the_longest():
    one = of_pieces("one", [b"aa", b"bbbb", b"c", b"ddd"])
    listed = overlap([one, of_pieces("two", [b"zz"])], top=2).table().filter(measure="entry_only_here")
    got = {
        variant: listed.filter(subject="one", variant=variant).select("token", "value").rows()
        for variant in ("first learned", "longest")
    }
    assert got == {
        "first learned": [(b"aa", 1.0), (b"bbbb", 2.0)],
        "longest": [(b"bbbb", 4.0), (b"ddd", 3.0)],
    }


def a_run(folder, counts):
    rows = [(name, token_id, count) for name, some in counts.items() for token_id, count in some.items()]
    schema = {"subject": pl.String, "token_id": pl.Int32, "count": pl.Int64}
    writer = RunWriter(folder)
    writer.begin()
    writer.keep("key", Outcome([], {"token_counts": pl.DataFrame(rows, schema, orient="row")}))
    writer.finish(["key"], {})
    writer.publish()
    return str(folder)


def test_weighs_by_the_counts_of_a_run(tmp_path):
    one = of_pieces("one", [b"a", b"b", b"a"], kind=["piece", "piece", "byte"])
    two = of_pieces("two", [b"c", b"a"])
    run = a_run(tmp_path / "run", {"one": {0: 2, 1: 6, 2: 2}, "two": {0: 1, 1: 3}})
    outcome = overlap([one, two], counts=run)
    assert value(outcome, "one & two", "jaccard", COUNT) == pytest.approx(0.4 / (0.6 + 0.75 + 0.25))
    assert value(outcome, "one in two", "containment", COUNT) == pytest.approx(0.4)
    assert value(outcome, "two in one", "containment", COUNT) == pytest.approx(0.75)


def test_refuses_a_run_without_counts_of_the_inventory(tmp_path):
    run = a_run(tmp_path / "run", {"one": {0: 1}})
    with pytest.raises(SutureError, match="has counts of one"):
        overlap([of_pieces("one", [b"a"]), of_pieces("two", [b"a"])], counts=run)


def test_refuses_equal_names_and_needs_two():
    with pytest.raises(SutureError, match="different names"):
        overlap([of_pieces("one", [b"a"]), of_pieces("one", [b"b"])])
    alone = overlap([of_pieces("one", [b"a"])]).table()
    assert alone["value"].to_list() == [None]
    assert alone["note"][0].startswith("not applicable")


@pytest.mark.vocabs
def test_published_figures():
    names = {
        "gpt2": "gpt2",
        "cl100k": "cl100k",
        "o200k": "o200k",
        "tekken": "tekken",
        "mistral": "mistral-v1",
    }
    outcome = overlap([load(need(file), name) for name, file in names.items()])
    for first, second, jaccard in (
        ("gpt2", "cl100k", 0.4008),
        ("gpt2", "o200k", 0.2067),
        ("cl100k", "o200k", 0.3951),
        ("o200k", "tekken", 0.4368),
        ("o200k", "mistral", 0.1478),
    ):
        assert value(outcome, f"{first} & {second}", "jaccard") == pytest.approx(jaccard, abs=6e-5)
    coefficient = value(outcome, "o200k & mistral", "overlap_coefficient")
    assert coefficient == pytest.approx(0.937, abs=5e-4)
    assert value(outcome, "mistral in o200k", "containment") == coefficient
