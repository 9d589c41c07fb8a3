"""Where the bytes of one inventory's entries end in another's trie, by plain search."""

import numpy as np
import pytest

from tests.firstorder import inventory_of, vocabulary
from workbench.prefixes import Prefixes, extended, meeting


@pytest.mark.parametrize("seed", range(40))
def test_entries_meet_the_node_of_their_bytes(seed):
    chance = np.random.default_rng(seed)
    one, two = (vocabulary(chance, int(chance.integers(1, 12)), complete=False) for _ in range(2))
    teacher, student = Prefixes.of(inventory_of([*one, one[0]])), Prefixes.of(inventory_of(two))
    for after in (b"", b"a", b"ab", b"cc"):
        found = meeting(teacher, student, after)
        pieces = [[*one, one[0]][token] for token in found.ids]
        assert sorted(pieces) == pieces
        assert sorted(pieces) == sorted(p for p in [*one, one[0]] if p.startswith(after) and p != after)
        left = [piece[len(after) :] for piece in pieces]
        assert found.nodes.tolist() == [student.find(each) for each in left]
        assert extended(student, found.nodes).tolist() == [
            any(u.startswith(each) and u != each for u in two) for each in left
        ]
