"""Genealogy against trees walked one by one, and against merges counted while a text is encoded."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import builders
from tests.vocabs import need
from vocab_audits.compression import compression
from vocab_audits.genealogy import formed, genealogy, lineage
from workbench import bpe
from workbench.adapters import load
from workbench.corpora import open_corpus
from workbench.errors import SutureError
from workbench.inventory import Inventory
from workbench.runs import RunWriter

ALPHABET = b"ab "


def value(outcome, measure, variant=None):
    rows = outcome.table().filter(measure=measure)
    rows = rows if variant is None else rows.filter(pl.col("variant").str.starts_with(variant))
    assert rows.height == 1, rows
    return rows["value"][0]


def inventory(merges, extra=()):
    """Entries of single bytes, of merges by bytes in order, and further ones."""
    found = [bytes([byte]) for byte in range(256)]
    rows = []
    for left, right in merges:
        if left + right not in found:
            found.append(left + right)
        rows.append((found.index(left), found.index(right), found.index(left + right)))
    found += extra
    columns = {"id": range(len(found)), "bytes": found}
    return Inventory.build("small", "test", columns, np.array(rows, np.int32).reshape(-1, 3))


@st.composite
def tables(draw):
    """Merges of an alphabet of three bytes, each of two earlier entries."""
    found = [bytes([byte]) for byte in ALPHABET]
    merges = []
    for _ in range(draw(st.integers(0, 15))):
        left, right = draw(st.sampled_from(found)), draw(st.sampled_from(found))
        if left + right not in found:
            found.append(left + right)
        merges.append((left, right))
    return merges


def nodes(tree):
    """All entries in a tree, the root first."""
    yield tree
    if tree.left is not None:
        yield from nodes(tree.left)
        yield from nodes(tree.right)


def height(tree):
    return 0 if tree.left is None else 1 + max(height(tree.left), height(tree.right))


@settings(deadline=None)
@given(tables())
def test_agrees_with_the_trees(merges):
    small = inventory(merges)
    used = bpe.merges_in_use(small.merges)
    trees = [bpe.genealogy(index, used.merges, small.pieces) for index in range(small.rows_needed)]
    found = lineage(small)
    below = Counter()
    direct = Counter()
    for tree in trees:
        below.update({node.id for node in nodes(tree)} - {tree.id})
        if tree.left is not None:
            direct.update({tree.left.id, tree.right.id})
    assert found.depth.tolist() == [height(tree) for tree in trees]
    assert found.dependants.tolist() == [below[index] for index in range(small.rows_needed)]
    assert found.direct.tolist() == [direct[index] for index in range(small.rows_needed)]
    for index in range(small.rows_needed):
        assert found.dependants[index] == len(bpe.dependants(used.merges, [index]))
    table = genealogy(small).tables["genealogy"]
    assert table.filter("orphan")["token_id"].to_list() == sorted(used.unbuilt.tolist())
    sides = [(None if tree.left is None else tree.left.id) for tree in trees]
    assert table["left"].to_list() == sides


@settings(deadline=None)
@given(tables(), st.text("ab ", max_size=40))
def test_counts_makings_as_the_encoder_makes_them(merges, text):
    small = inventory(merges)
    found = lineage(small)
    pairs = {(left, right): made for left, right, made in found.merges.tolist()}
    ids = bpe.BPE(pairs, pattern=r"[\s\S]+").encode(text)
    made = Counter()
    for token in ids:
        made.update(node.id for node in nodes(bpe.genealogy(token, found.merges, small.pieces)))
    counts = np.bincount(np.array(ids, np.int64), minlength=small.rows_needed)
    assert formed(found, counts).tolist() == [made[index] for index in range(small.rows_needed)]


def test_orphans_are_told_from_blocked_entries_and_from_units():
    # "abc" is listed as "a" + "bc", but "ab" is always joined first; nothing at all makes "xyz".
    small = inventory([(b"a", b"b"), (b"b", b"c"), (b"a", b"bc")], extra=[b"xyz"])
    outcome = genealogy(small)
    assert value(outcome, "orphans", "no merge") == 1
    assert value(outcome, "orphans", "their merges") == 1
    assert value(outcome, "units") == 256
    assert value(outcome, "entries_built") == 2
    listed = outcome.table().filter(measure="orphan")
    assert listed["token"].to_list() == [b"abc", b"xyz"]
    assert listed["severity"].unique().to_list() == ["warn"]
    table = outcome.tables["genealogy"]
    assert table.filter("orphan")["depth"].to_list() == [None, None]


def test_a_character_is_a_unit_where_entries_are_characters():
    made = load(builders.bpe(["é", "a", "éa", "ü", "aü"], ["é a"]), "characters")
    outcome = genealogy(made.inventory)
    assert outcome.tables["genealogy"].filter("orphan")["token_id"].to_list() == [4]
    assert value(outcome, "units") == 3


def test_a_character_of_several_bytes_is_an_orphan_where_entries_are_bytes():
    made = load(builders.byte_level([b"ab", "é".encode()], [(b"a", b"b")]), "bytes")
    assert genealogy(made.inventory).tables["genealogy"].filter("orphan")["token_id"].to_list() == [257]


def test_ranks_alone_are_enough():
    made = load(builders.encoding([b"bc", b"ab", b"bcd", b"abc", b"abcd"]), "ranks")
    table = genealogy(made.inventory).tables["genealogy"].filter(pl.col("token_id") > 255)
    rows = table.select("token_id", "left", "right", "orphan").rows()
    # "abc" is "a" + "bc", since "bc" is joined before "ab"; "abcd" is "a" + "bcd".
    assert rows == [
        (256, 98, 99, False),
        (257, 97, 98, False),
        (258, 256, 100, False),
        (259, 97, 256, False),
        (260, 97, 258, False),
    ]


def test_an_entry_whose_dependant_follows_at_once_is_scaffold_like():
    pairs = [(bytes([byte]), b"!") for byte in range(97, 117)]  # places 1 to 20
    small = inventory([*pairs, (b"u", b"v"), (b"uv", b"w"), (b"a!", b"?")])
    found = genealogy(small).table().filter(measure="scaffold")
    assert found.select("token", "value").rows() == [(b"uv", pytest.approx(21 / 22))]
    assert value(genealogy(small), "scaffolds") == 1


def test_scaffolds_are_measured_on_the_corpus_of_a_run(tmp_path):
    made = load(builders.encoding([b"ab", b"abc", b"de", b"def"], pattern=builders.GPT2), "small")
    text = tmp_path / "text.txt"
    # "ab" arises 20 times and never stays; "de" arises 20 times and stays 10 times.
    text.write_text("abc" * 20 + "\n" + "def" * 10 + "deg" * 10 + "\n")
    writer = RunWriter(tmp_path / "run")
    writer.begin()
    writer.keep("key", compression(made, open_corpus(str(text))))
    writer.finish(["key"], {})
    writer.publish()
    outcome = genealogy(made.inventory, counts=str(tmp_path / "run"))
    listed = outcome.table().filter(measure="scaffold")
    assert listed.select("token", "value").rows() == [(b"ab", 0.0)]
    assert listed["variant"][0].startswith("measured")
    table = outcome.tables["genealogy"].filter(pl.col("token_id").is_in([256, 258]))
    assert table.select("formed", "survival").rows() == [(20, 0.0), (20, 0.5)]
    assert value(outcome, "scaffolds", "measured") == 1


def test_without_merges_it_does_not_apply():
    words = load(builders.wordpiece(["a"]), "wp").inventory
    row = genealogy(words).table().row(0, named=True)
    assert row["value"] is None
    assert row["note"] == "not applicable: wp has no merges"


def test_a_circle_of_merges_is_refused():
    columns = {"id": range(3), "bytes": [b"a", b"aa", b"aaa"], "rank": range(3)}
    circle = np.array([(0, 2, 1), (0, 1, 2)], np.int32)
    with pytest.raises(SutureError, match="circle"):
        genealogy(Inventory.build("circle", "test", columns, circle))


@pytest.mark.vocabs
def test_real_vocabulary():
    gpt2 = load(need("gpt2"), "gpt2").inventory
    outcome = genealogy(gpt2, top=3)
    assert value(outcome, "entries_built") == 50_000
    assert value(outcome, "units") == 256
    assert value(outcome, "orphans", "no merge") == 0
    top = outcome.table().filter(measure="dependants")
    for token, figure in top.select("token_id", "value").rows():
        assert figure == len(bpe.dependants(gpt2.merges, [token]))
    (gold,) = gpt2.find(b" SolidGoldMagikarp")
    (solid,) = gpt2.find(b" Solid")
    row = outcome.tables["genealogy"].row(by_predicate=pl.col("token_id") == gold, named=True)
    tree = bpe.genealogy(gold, gpt2.merges, gpt2.pieces)
    assert (row["left"], row["depth"]) == (tree.left.id, height(tree))
    assert solid in {node.id for node in nodes(tree)}
