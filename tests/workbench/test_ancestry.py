from __future__ import annotations

import numpy as np
import pytest

from tests import builders
from workbench import bpe
from workbench.adapters import load
from workbench.ancestry import ancestry
from workbench.errors import UnknownName

TEXTS = ["the theatre there then gathers other mothers together", "lower lowest newer newest wide widest"] * 3


@pytest.fixture(scope="module", name="ours")
def ours_fixture() -> bpe.BPE:
    return bpe.train(TEXTS, 330)


def test_a_ranked_entry_has_the_tree_of_the_whole_vocabulary(ours):
    inventory = load(builders.encoding(ranks=ours.ranks)).inventory
    for token_id in range(len(ours.ranks)):
        assert ancestry(inventory, token_id) == bpe.genealogy(token_id, inventory.merges, inventory.pieces)


def test_a_listed_entry_has_the_tree_of_the_whole_vocabulary(ours):
    extra = sorted(ours.ranks, key=ours.ranks.get)[256:]
    pieces = {token_id: piece for piece, token_id in ours.ranks.items()}
    pairs = [(pieces[left], pieces[right]) for left, right in ours.merges]
    inventory = load(builders.byte_level(extra, pairs)).inventory
    used = bpe.merges_in_use(inventory.merges).merges
    for token_id in range(len(ours.ranks)):
        assert ancestry(inventory, token_id) == bpe.genealogy(token_id, used, inventory.pieces)


def test_ranks_that_are_not_ids_are_kept_apart():
    from workbench.inventory import Inventory

    pieces = [b"ab", b"a", b"b", b"abab"]
    inventory = Inventory.build(
        "shifted", "test", {"id": [7, 3, 5, 2], "bytes": pieces, "rank": [2, 0, 1, 3]}, merges=np.array
    )
    tree = ancestry(inventory, 2)
    assert (tree.left.id, tree.right.id) == (7, 7)
    assert [leaf.id for leaf in tree.leaves()] == [3, 5, 3, 5]


def test_without_merges_or_for_a_hole_there_is_no_tree():
    from workbench.inventory import Inventory

    words = Inventory.build("words", "test", {"id": [0], "bytes": [b"word"]})
    assert ancestry(words, 0) is None
    with pytest.raises(UnknownName):
        ancestry(words, 1)
    holed = Inventory.build("holed", "test", {"id": [0, 2], "bytes": [b"a", b"b"]}, merges=np.array)
    assert ancestry(holed, 1) is None


@pytest.mark.vocabs
def test_real_entries_are_built_of_their_own_bytes(need):
    inventory = load(need("gpt2")).inventory
    for token_id in (262, 1279, 30000, 50255):
        tree = ancestry(inventory, token_id)
        assert b"".join(leaf.bytes for leaf in tree.leaves()) == inventory.entry(token_id).bytes
        assert all(len(leaf.bytes) == 1 for leaf in tree.leaves())
