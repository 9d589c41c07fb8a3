"""The prefix index and the map between two of them, against plain loops over entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import byte_ranks, encoding
from tests.firstorder import inventory_of, vocabulary
from workbench.adapters import load
from workbench.errors import SutureError
from workbench.prefixes import Prefixes, check_text, homes, longest_prefix

if TYPE_CHECKING:
    from workbench.inventory import Inventory

PIECES = st.lists(
    st.one_of(st.binary(max_size=4), st.text("ab", max_size=6).map(str.encode), st.just(b"\xff\xff")),
    max_size=30,
)


def longest(student: Inventory, text: bytes, most: int | None = None) -> int:
    """The lowest id of the longest entry that begins a text, −1 if none does."""
    held = [
        (-len(piece), token)
        for token, (piece, kind) in enumerate(zip(student.pieces, student.frame["kind"], strict=True))
        if piece and kind == "piece" and text.startswith(piece) and (most is None or len(piece) <= most)
    ]
    return min(held, default=(0, -1))[1]


@given(PIECES)
def test_nodes_are_the_prefixes_and_their_ranges_partition(pieces):
    index = Prefixes.of(inventory_of(pieces))
    held = sorted((piece, token) for token, piece in enumerate(pieces) if piece)
    assert index.order.tolist() == [token for _, token in held]
    assert index.byteless.tolist() == [token for token, piece in enumerate(pieces) if not piece]
    names = [index.spelled(node) for node in range(len(index))]
    prefixes = {piece[:size] for piece in pieces for size in range(len(piece) + 1)} | {b""}
    assert names == sorted(prefixes, key=lambda name: (len(name), name))
    assert index.depth.tolist() == [len(name) for name in names]
    for node, name in enumerate(names):
        below = [token for piece, token in held if piece.startswith(name)]
        assert index.ids(node).tolist() == below
        assert index.ids_at(node).tolist() == [token for piece, token in held if piece == name]
        assert index.entry[node] == min(index.ids_at(node), default=-1)
        kids = range(index.children[node], index.children[node + 1])
        assert [names[kid][:-1] for kid in kids] == [name] * len(kids)
        assert all(index.parent[kid] == node and index.byte[kid] == names[kid][-1] for kid in kids)
        # A node's range is its own entries and then its children's, end to end.
        edges = [index.low[node] + index.own[node], *(index.high[kid] for kid in kids)]
        assert edges[:-1] == [index.low[kid] for kid in kids]
        assert edges[-1] == index.high[node]
    starts, nodes = index.runs
    assert [names[node] for node in nodes] == sorted({piece for piece, _ in held})
    assert starts.tolist() == [index.low[node] for node in nodes]
    assert [index.node_of[token] for _, token in held] == [names.index(piece) for piece, _ in held]


@given(PIECES, st.binary(max_size=3))
def test_a_prefix_is_found_or_not(pieces, prefix):
    index = Prefixes.of(inventory_of(pieces))
    node = index.find(prefix)
    assert (node >= 0) == (not prefix or any(piece.startswith(prefix) for piece in pieces))
    assert node < 0 or index.spelled(node) == prefix


@given(PIECES, PIECES, st.binary(max_size=2), st.none() | st.integers(0, 3))
def test_homes_are_the_longest_entries_that_begin_what_follows(teacher, student, after, most):
    one, two = inventory_of(teacher), inventory_of(student)
    placed = homes(Prefixes.of(one), Prefixes.of(two), after, most)
    below = sorted((p, t) for t, p in enumerate(teacher) if p.startswith(after) and len(p) > len(after))
    assert placed.ids.tolist() == [token for _, token in below]
    assert placed.homes.tolist() == [longest(two, piece[len(after) :], most) for piece, _ in below]


def test_special_reserved_and_missing_ids_are_byteless():
    kinds = ["piece", "special", "unused", "byte", "added", "piece"]
    inventory = inventory_of([b"a", b"<s>", b"ab", b"\n", b"abc", None], kinds=kinds)
    index = Prefixes.of(inventory)
    assert index.byteless.tolist() == [1, 2]
    assert index.order.tolist() == [3, 0, 4]
    assert index.width == 5
    holed = Prefixes.of(inventory_of([b"a", None, b"", b"a"]))
    assert holed.byteless.tolist() == [1, 2]
    assert holed.ids_at(holed.find(b"a")).tolist() == [0, 3]


def test_an_inventory_without_bytes_has_a_root_alone():
    index = Prefixes.of(inventory_of([b"", b""]))
    assert len(index) == 1
    assert index.find(b"a") == -1
    assert index.find(b"") == 0
    full = Prefixes.of(inventory_of([b"a"]))
    assert homes(full, index).homes.tolist() == [-1]
    assert homes(index, full).homes.tolist() == []


def test_the_map_of_an_inventory_to_itself_is_the_identity_but_for_doubles():
    inventory = inventory_of([b"a", b"ab", b"a", b"", b"ba", b"abab"])
    assert longest_prefix(inventory, inventory, cache=False).tolist() == [0, 1, 0, -1, 4, 5]


def test_a_permutation_of_ids_permutes_the_map():
    chance = np.random.default_rng(3)
    teacher, student = vocabulary(chance, 40), vocabulary(chance, 30)
    plain = longest_prefix(inventory_of(teacher), inventory_of(student), cache=False)
    one, two = chance.permutation(40), chance.permutation(30)
    moved = longest_prefix(
        inventory_of([teacher[at] for at in one]), inventory_of([student[at] for at in two]), cache=False
    )
    assert moved.tolist() == np.argsort(two)[plain[one]].tolist()


def test_a_map_is_kept_and_a_broken_file_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("SUTURE_CACHE", str(tmp_path))
    one, two = inventory_of([b"ab", b"b", b"", b"c"]), inventory_of([b"a", b"b"])
    expected = [0, 1, -1, -1]
    assert longest_prefix(one, two, cache=False).tolist() == expected
    assert list(tmp_path.iterdir()) == []
    assert longest_prefix(one, two).tolist() == expected
    (kept,) = (tmp_path / "prefixes").iterdir()
    assert one.digest in kept.name
    assert two.digest in kept.name
    np.save(kept, np.array([1, 1, -1, -1], np.int32))
    assert longest_prefix(one, two).tolist() == [1, 1, -1, -1]  # it is read
    for broken in (b"", b"\x93NUMPY", kept.read_bytes()[:-4]):
        kept.write_bytes(broken)
        assert longest_prefix(one, two).tolist() == expected
    for wrong in (np.zeros(3, np.int32), np.zeros(4), np.full(4, 2, np.int32), np.array([{}] * 4, object)):
        np.save(kept, wrong, allow_pickle=True)
        assert longest_prefix(one, two).tolist() == expected
    assert [path.name for path in (tmp_path / "prefixes").iterdir()] == [kept.name]


def test_a_cache_that_cannot_be_written_is_gone_without(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("SUTURE_CACHE", str(tmp_path / "file"))
    one = inventory_of([b"ab", b"b"])
    assert longest_prefix(one, one).tolist() == [0, 1]


def test_entries_bound_to_a_place_in_a_word_are_refused(need):
    check_text(load(encoding([b"th"])).inventory)
    with pytest.raises(SutureError, match="must spell the text byte for byte"):
        check_text(load(need("bert")).inventory)
    with pytest.raises(SutureError, match="0 of 0 are"):
        check_text(inventory_of([b""]))


def test_bytes_of_part_characters_are_entries_like_any():
    pieces = [*byte_ranks(), "é".encode(), "€".encode()[:2], "€".encode()]
    index = Prefixes.of(inventory_of(pieces))
    assert index.ids(index.find(b"\xe2")).tolist() == [0xE2, 257, 258]
    student = Prefixes.of(inventory_of([*byte_ranks(), "€".encode()[:2]]))
    assert homes(index, student, b"").homes[-1] == 255
    placed = dict(zip(*homes(index, student), strict=True))
    assert placed[257] == placed[258] == 256
    assert placed[256] == 0xC3


@pytest.mark.vocabs
@pytest.mark.parametrize(("one", "two"), [("o200k", "cl100k"), ("gpt2", "tekken")])
def test_real_maps_are_those_of_trying_every_length(need, one, two, tmp_path, monkeypatch):
    monkeypatch.setenv("SUTURE_CACHE", str(tmp_path))
    teacher, student = (load(need(name)).inventory for name in (one, two))
    found = longest_prefix(teacher, student)
    assert found.tolist() == longest_prefix(teacher, student).tolist()
    index = Prefixes.of(student)
    lowest = {}
    for token in index.order.tolist():
        lowest.setdefault(student.pieces[token], token)
    silent = set(Prefixes.of(teacher).byteless.tolist())
    for token in range(0, teacher.rows_needed, 7):
        piece = b"" if token in silent else teacher.pieces[token]
        tries = (lowest.get(piece[:size]) for size in range(len(piece), 0, -1))
        assert found[token] == next((held for held in tries if held is not None), -1), piece
