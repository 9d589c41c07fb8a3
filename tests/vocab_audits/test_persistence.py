"""Persistence against dictionaries of bytes, and on versions of real inventories."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from tests import builders
from tests.vocabs import need
from vocab_audits.persistence import STATES, VARIANTS, persistence
from workbench.adapters import load
from workbench.errors import SutureError
from workbench.inventory import Inventory

TEXT, SPECIAL = VARIANTS["text"], VARIANTS["special"]
RHO, TAU = (f"{name}, of places in the order of learning" for name in ("Spearman's ρ", "Kendall's τ-b"))


def version(name, pieces, merges=None, **more):
    """An inventory whose ids follow the order of its pieces."""
    columns = {"id": range(len(pieces)), "bytes": list(pieces), "rank": range(len(pieces)), **more}
    return SimpleNamespace(inventory=Inventory.build(name, "test", columns, merges))


def value(outcome, subject, measure, variant=TEXT):
    rows = outcome.table().filter(subject=subject, measure=measure, variant=variant)
    assert rows.height == 1, (subject, measure, variant, rows)
    return rows["value"][0]


pieces = st.lists(st.binary(min_size=1, max_size=2), unique=True, min_size=1, max_size=25)


@settings(deadline=None, max_examples=40)
@given(pieces, pieces, pieces)
def test_agrees_with_dictionaries(one, two, three):
    named = {"one": one, "two": two, "three": three}
    outcome = persistence([version(name, some) for name, some in named.items()])
    ids = {name: {piece: index for index, piece in enumerate(some)} for name, some in named.items()}
    for first, second in (("one", "two"), ("two", "three"), ("one", "three")):
        a, b, pair = ids[first], ids[second], f"{first} to {second}"
        both = [piece for piece in a if piece in b]
        expected = {
            "entries_kept": sum(a[piece] == b[piece] for piece in both),
            "entries_moved": sum(a[piece] != b[piece] for piece in both),
            "entries_gone": len(a) - len(both),
            "entries_new": len(b) - len(both),
        }
        assert {name: value(outcome, pair, name) for name in expected} == expected
        assert value(outcome, pair, "share_kept") == pytest.approx(len(both) / len(a))
        if len(both) > 1:
            left, right = [a[piece] for piece in both], [b[piece] for piece in both]
            ranks = np.argsort(np.argsort(left)), np.argsort(np.argsort(right))
            assert value(outcome, pair, "order_correlation", RHO) == pytest.approx(np.corrcoef(*ranks)[0, 1])
            assert value(outcome, pair, "order_correlation", TAU) == pytest.approx(
                kendalltau(left, right).statistic
            )
        else:
            assert value(outcome, pair, "order_correlation", RHO) is None
        rows = outcome.tables["persistence"].filter(pair=pair)
        found = {row["bytes"]: (row["id_before"], row["id_after"]) for row in rows.iter_rows(named=True)}
        changed = {piece for piece in {*a, *b} if a.get(piece) != b.get(piece)}
        assert found == {piece: (a.get(piece), b.get(piece)) for piece in changed}
        groups = outcome.tables["persistence_groups"].filter(pair=pair, by="category")
        sums = {f"entries_{state}": int(groups[state].sum()) for state in STATES}
        assert sums == expected
    common = set(one) & set(two) & set(three)
    assert value(outcome, "one to three", "entries_in_all") == len(common)
    assert value(outcome, "one to three", "entries_in_all_under_one_id") == sum(
        len({some[piece] for some in ids.values()}) == 1 for piece in common
    )


def test_identical_files_change_nothing():
    made = builders.wordpiece(["the", "##the", "a", "##a", "[unused1]"])
    outcome = persistence([load(made, "before"), load(made, "after")])
    pair = "before to after"
    for variant in (TEXT, SPECIAL):
        for measure in ("entries_moved", "entries_gone", "entries_new"):
            assert value(outcome, pair, measure, variant) == 0
    assert value(outcome, pair, "share_kept") == 1
    assert value(outcome, pair, "order_correlation", RHO) == pytest.approx(1)
    assert outcome.tables["persistence"].is_empty()


def test_entries_of_like_bytes_are_matched_by_place_kind_and_order():
    before = version("before", [b"a", b"a", b"a"], kind=["byte", "piece", "piece"])
    after = version("after", [b"a", b"a", b"b"], kind=["piece", "byte", "piece"])
    outcome = persistence([before, after])
    rows = outcome.tables["persistence"].select("bytes", "id_before", "id_after", "state").rows()
    assert sorted(rows, key=str) == sorted(
        [(b"a", 0, 1, "moved"), (b"a", 1, 0, "moved"), (b"a", 2, None, "gone"), (b"b", None, 2, "new")],
        key=str,
    )
    placed = version("placed", [b"a", b"b"], position=["initial", "inner"])
    again = version("again", [b"a", b"b"], position=["inner", "inner"])
    assert value(persistence([placed, again]), "placed to again", "entries_kept") == 1


def test_special_tokens_are_counted_apart():
    before = version("before", [b"a", b"<s>", b"<r1>"], kind=["piece", "special", "unused"])
    after = version("after", [b"<s>", b"a", b"<r1>"], kind=["special", "piece", "special"])
    outcome = persistence([before, after])
    assert value(outcome, "before to after", "entries_moved") == 1
    assert value(outcome, "before to after", "entries_moved", SPECIAL) == 1
    assert value(outcome, "before to after", "entries_kept", SPECIAL) == 1
    assert value(outcome, "before to after", "share_kept", SPECIAL) == 1


def test_the_commonest_difference_of_ids():
    shifted = version("shifted", [b"<x>", b"a", b"b", b"c"], kind=["special", "piece", "piece", "piece"])
    outcome = persistence([version("plain", [b"a", b"b", b"c"]), shifted])
    variant = "commonest difference of the ids of entries that moved"
    assert value(outcome, "plain to shifted", "id_shift", variant) == 1
    assert outcome.table().filter(measure="id_shift")["note"].to_list() == ["3 of the 3 entries that moved"]


def test_merges_are_pairs_of_bytes_whatever_their_ids():
    one = version("one", [b"a", b"b", b"ab", b"abb"], np.array([[0, 1, 2], [2, 1, 3]], np.int32))
    two = version(
        "two", [b"b", b"a", b"bb", b"ab", b"abb"], np.array([[0, 0, 2], [1, 0, 3], [1, 2, 4]], np.int32)
    )
    variant = "of the earlier version's pairs of byte strings"
    assert value(persistence([one, two]), "one to two", "merges_kept", variant) == 0.5
    none = persistence([one, version("bare", [b"a"])])
    assert value(none, "one to bare", "merges_kept", variant) is None
    assert none.table().filter(measure="merges_kept")["note"].item() == "not applicable: no merges in bare"
    assert persistence([one, two], merges=False).table().filter(measure="merges_kept").is_empty()


def test_one_version_is_not_applicable_and_names_differ():
    outcome = persistence([version("only", [b"a"])])
    assert outcome.table().select("subject", "value").rows() == [("only", None)]
    assert "two or more" in outcome.table()["note"].item()
    with pytest.raises(SutureError, match="different names"):
        persistence([version("one", [b"a"]), version("one", [b"b"])])


@pytest.mark.vocabs
def test_generations_of_real_inventories():
    generations = [load(need(name), name) for name in ("gpt2", "cl100k")]
    outcome = persistence(generations, merges=False)
    stayed = value(outcome, "gpt2 to cl100k", "entries_kept") + value(
        outcome, "gpt2 to cl100k", "entries_moved"
    )
    # From the sizes and the published Jaccard index of these two.
    assert stayed / (50_256 + 100_256 - stayed) == pytest.approx(0.4008, abs=5e-5)
    single = outcome.tables["persistence"].filter(
        (pl.col("state") != "kept") & (pl.col("bytes").bin.size() == 1)
    )
    assert single.is_empty()  # the 256 bytes keep their ids
    versions = persistence([load(need(name), name) for name in ("mistral-v1", "mistral-v3")], merges=False)
    pair = "mistral-v1 to mistral-v3"
    shift = "commonest difference of the ids of entries that moved"
    assert value(versions, pair, "entries_gone") == 0
    assert value(versions, pair, "id_shift", shift) == 768
    assert value(versions, pair, "order_correlation", RHO) == pytest.approx(1)
