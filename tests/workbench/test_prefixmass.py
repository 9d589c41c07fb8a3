"""Masses of prefixes against plain sums over entries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.firstorder import inventory_of, vocabulary
from workbench.adapters import load
from workbench.errors import SutureError
from workbench.prefixes import Prefixes
from workbench.prefixmass import (
    COLUMNS,
    END,
    SPELLESS,
    along,
    exact_mass,
    next_byte,
    node_masses,
    paths,
    prefix_mass,
)

SEEDS = range(12)


def case(seed: int, letters: bytes = b"abc") -> tuple[list[bytes], Prefixes, np.ndarray]:
    """A random vocabulary with doubles and byte-less ids, and six distributions over it, some with zeros."""
    chance = np.random.default_rng(seed)
    pieces = vocabulary(chance, 12, letters=letters, complete=bool(seed % 2))
    pieces += [pieces[0], b"", pieces[3], b""]
    q = chance.dirichlet(np.full(len(pieces), 0.3), 6)
    q[1, ::2] = 0
    q[2] *= 10.0 ** -chance.integers(0, 60, len(pieces))
    q /= q.sum(1, keepdims=True)
    return pieces, Prefixes.of(inventory_of(pieces)), q


def z(pieces: list[bytes], q: np.ndarray, prefix: bytes) -> float:
    return math.fsum(q[t] for t, piece in enumerate(pieces) if piece and piece.startswith(prefix))


def e(pieces: list[bytes], q: np.ndarray, prefix: bytes) -> float:
    return math.fsum(q[t] for t, piece in enumerate(pieces) if piece and piece == prefix)


def close(found, expected) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=0)


@pytest.mark.parametrize("seed", SEEDS)
def test_masses_are_sums_over_entries(seed):
    pieces, index, q = case(seed)
    names = [index.spelled(node) for node in range(len(index))]
    brute = np.array([[z(pieces, row, name) for name in names] for row in q])
    np.testing.assert_allclose(node_masses(q, index), brute, rtol=0, atol=1e-15)
    close(node_masses(q, index, tails=True), brute)
    close(node_masses(q[0], index, tails=True), brute[0])
    with np.errstate(divide="ignore"):
        logs = np.log(q)
        np.testing.assert_allclose(node_masses(logs, index, log=True), np.log(brute), rtol=0, atol=1e-12)
    for prefix in [*names, b"abcabc", b"d"]:
        close(prefix_mass(q, index, prefix), [z(pieces, row, prefix) for row in q])
        close(exact_mass(q, index, prefix), [e(pieces, row, prefix) for row in q])
        logged = np.exp(prefix_mass(logs, index, prefix, log=True))
        np.testing.assert_allclose(logged, prefix_mass(q, index, prefix), rtol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_follows_a_prefix(seed):
    pieces, index, q = case(seed)
    for prefix in (b"", b"a", b"ab", b"abc", b"ca", b"d"):
        found = next_byte(q, index, prefix)
        whole = np.array([z(pieces, row, prefix) for row in q])
        silent = q[:, index.byteless].sum(1) if not prefix else np.zeros(len(q))
        expected = np.zeros((len(q), COLUMNS))
        for letter in b"abcd":
            expected[:, letter] = [z(pieces, row, prefix + bytes([letter])) for row in q]
        expected[:, END] = [e(pieces, row, prefix) for row in q] if prefix else 0
        expected[:, SPELLESS] = silent
        with np.errstate(invalid="ignore", divide="ignore"):
            close(found, expected / (whole + silent)[:, None])
            logged = next_byte(np.log(q), index, prefix, log=True)
        np.testing.assert_allclose(np.exp(logged), found, rtol=1e-12)
        full = whole + silent > 0
        np.testing.assert_allclose(found[full].sum(1), 1, rtol=0, atol=1e-14)
        assert np.isnan(found[~full]).all()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("log", [False, True])
def test_masses_along_realised_tokens(seed, log):
    pieces, index, q = case(seed)
    tokens = np.random.default_rng(seed).choice(index.order, len(q))
    with np.errstate(divide="ignore"):
        given_ = np.log(q) if log else q
    found = along(given_, index, tokens, log=log)
    back = np.exp if log else np.asarray
    at = 0
    for position, token in enumerate(tokens):
        for size in range(len(pieces[token]) + 1):
            prefix = pieces[token][:size]
            assert found.paths.position[at] == position
            assert found.paths.depth[at] == size
            assert index.spelled(found.paths.node[at]) == prefix
            row = q[position]
            np.testing.assert_allclose(back(found.mass[at]), z(pieces, row, prefix), rtol=1e-12)
            np.testing.assert_allclose(back(found.exact[at]), e(pieces, row, prefix), rtol=1e-12)
            np.testing.assert_allclose(back(found.next[at]), next_byte(row, index, prefix), rtol=1e-12)
            at += 1
    assert at == len(found.mass) == found.paths.first[-1]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_chain_along_a_token_is_its_probability(seed):
    pieces, index, q = case(seed)
    for position, row in enumerate(q):
        tokens = index.order
        found = along(np.tile(row, (len(tokens), 1)), index, tokens)
        for token, low, high in zip(tokens, found.paths.first[:-1], found.paths.first[1:], strict=True):
            steps = [found.next[low + size, byte] for size, byte in enumerate(pieces[token])]
            chain = math.prod([*steps, found.next[high - 1, END]])
            same = e(pieces, row, pieces[token])  # the mass of a token is that of all ids with its bytes
            assert chain == pytest.approx(same, rel=1e-12, abs=0) or (same == 0 and np.isnan(chain)), position


def test_a_tail_keeps_its_digits_along_a_path():
    pieces = [b"a", b"ab", b"abc", b"abd", b"b"]
    index = Prefixes.of(inventory_of(pieces))
    q = np.array([0.5, 1e-20, 3e-40, 1e-40, 0.5])
    found = along(q[None], index, [2])
    assert found.next[2, ord("c")] == pytest.approx(3e-20, rel=1e-13)
    assert found.mass[3] == pytest.approx(3e-40, rel=1e-13)
    assert node_masses(q, index)[index.find(b"abc")] == 0  # the difference of a sum that has no digits left
    assert node_masses(q, index, tails=True)[index.find(b"abc")] == 3e-40
    logs = np.array([-1.0, -2000.0, -3000.0, -3000.0, -0.5])
    found = along(logs[None], index, [2], log=True)
    assert found.next[3, END] == 0
    assert found.next[2, ord("c")] == pytest.approx(-1000.0, abs=1e-9)


def test_the_quoted_example():
    """Masses .5, .125 and .125 under the prefix "is", one of which ends there (arXiv 2609.12303)."""
    index = Prefixes.of(inventory_of([b"is", b"isa", b"ist", b"o"]))
    found = next_byte([0.125, 0.5, 0.125, 0.25], index, b"is")
    assert found[END] == pytest.approx(0.125 / 0.75, abs=1e-16)
    assert found[END] == pytest.approx(0.167, abs=5e-4)


@given(st.lists(st.binary(min_size=1, max_size=3), min_size=1, max_size=20), st.integers(0, 2**32 - 1))
def test_segments_cut_the_sorted_entries_whole(pieces, seed):
    index = Prefixes.of(inventory_of(pieces))
    tokens = np.random.default_rng(seed).choice(len(pieces), 3)
    walk = paths(index, tokens)
    assert walk.place[0] == 0
    start = walk.position[walk.row] * len(pieces) + walk.place
    assert (np.diff(start) > 0).all()
    ends = np.append(start[1:], 3 * len(pieces))
    for row, column, low, high in zip(walk.row, walk.column, start, ends, strict=True):
        prefix = index.spelled(walk.node[row])
        place = walk.position[row] * len(pieces)
        for token in index.order[low - place : high - place]:
            wanted = prefix if column == END else prefix + bytes([column])
            assert pieces[token] == wanted if column == END else pieces[token].startswith(wanted)


def test_no_positions_give_no_rows():
    _, index, _ = case(0)
    found = along(np.empty((0, index.width)), index, np.empty(0, int))
    assert found.next.shape == (0, COLUMNS)
    assert node_masses(np.empty((0, index.width)), index).shape == (0, len(index))


@pytest.mark.parametrize(
    ("change", "log", "message"),
    [
        (lambda q: q[:, :-1], False, "must have 16 values"),
        (lambda q: q[None], False, "must have 16 values"),
        (lambda q: q - 0.1, False, "numbers of at least 0"),
        (lambda q: q * np.nan, False, "numbers of at least 0"),
        (lambda q: q + np.inf, False, "numbers of at least 0"),
        (lambda q: q * np.nan, True, "got NaN"),
        (lambda q: q + np.inf, True, "got NaN"),
        (lambda q: q[:2], False, "one distribution a realised token"),
    ],
)
def test_what_is_no_distribution_is_refused(change, log, message):
    _, index, q = case(1)
    with pytest.raises(SutureError, match=message):
        along(change(q), index, index.order[:6], log=log)


@pytest.mark.parametrize("tokens", [[-1], [16], [13], [0.5], 0, [[0]]])
def test_what_is_no_realised_token_is_refused(tokens):
    _, index, q = case(1)
    with pytest.raises(SutureError, match="realised token"):
        along(q[:1], index, tokens)


@pytest.mark.vocabs
@pytest.mark.parametrize("name", ["gpt2", "gemma3"])
def test_real_vocabularies(need, name):
    index = Prefixes.of(load(need(name)).inventory)
    chance = np.random.default_rng(0)
    q = chance.dirichlet(np.full(index.width, 0.05), 3)
    tokens = chance.choice(index.order, 3)
    found = along(q, index, tokens)
    pieces = index.inventory.pieces
    silent = set(index.byteless.tolist())
    for position, token in enumerate(tokens):
        low = found.paths.first[position]
        for size in range(len(pieces[token]) + 1):
            prefix = pieces[token][:size]
            below = [t for t, piece in enumerate(pieces) if piece.startswith(prefix) and t not in silent]
            assert found.mass[low + size] == pytest.approx(math.fsum(q[position, below]), rel=1e-12)
    masses = node_masses(q, index)
    np.testing.assert_allclose(masses, node_masses(q, index, tails=True), rtol=0, atol=1e-12)
    kids = masses[:, 1:]
    sums = np.stack([np.bincount(index.parent[1:], row, len(index)) for row in kids])
    own = np.stack([np.bincount(index.node_of[index.order], row[index.order], len(index)) for row in q])
    np.testing.assert_allclose(sums + own, masses, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.next.sum(1), 1, rtol=0, atol=1e-12)
