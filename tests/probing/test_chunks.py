"""Chunks between sync points and the class of every student position, against sets of offsets."""

from itertools import pairwise

import numpy as np
import pytest

from probing.bridge.chunks import CLASSES, pair, pair_texts
from tests.firstorder import any_cut, inventory_of, vocabulary
from tests.vocabs import need
from workbench.adapters import load
from workbench.errors import SutureError
from workbench.tokenizer import Encoded


def encoded(*rows):
    return Encoded.of(rows)


def random_pair(seed, samples=4):
    chance = np.random.default_rng(seed)
    sides = [vocabulary(chance, int(chance.integers(4, 12))) for _ in range(2)]
    texts = [bytes(chance.choice(list(b"abc"), int(chance.integers(0, 30))).tolist()) for _ in range(samples)]
    ids = [[any_cut(chance, pieces, text) for text in texts] for pieces in sides]
    return sides, texts, ids


def ends_of(pieces, tokens):
    return np.cumsum([0, *(len(pieces[token]) for token in tokens)]).tolist()


def by_hand(sides, texts, ids):
    """(class, governing token, pending bytes, spanning) of every student position, from sets of offsets."""
    found, base, chunks = [], 0, 0
    for sample in range(len(texts)):
        teacher, student = (ends_of(pieces, rows[sample]) for pieces, rows in zip(sides, ids, strict=True))
        sync = sorted(set(teacher) & set(student))
        chunks += len(sync) - 1
        for low, high in pairwise(student):
            left = max(at for at in sync if at <= low)
            right = min(at for at in sync if at >= high)
            count = [sum(left < at <= right for at in side) for side in (student, teacher)]
            name = {(False, False): "1:1", (True, False): "N:1", (False, True): "1:N", (True, True): "M:N"}
            token = max(at for at in range(len(teacher)) if teacher[at] <= low)
            found.append(
                (
                    name[count[0] > 1, count[1] > 1],
                    base + token,
                    low - teacher[token],
                    high > teacher[token + 1],
                )
            )
        base += len(teacher) - 1
    return found, chunks


@pytest.mark.parametrize("seed", range(60))
def test_every_position_is_classed_as_by_hand(seed):
    sides, texts, ids = random_pair(seed)
    inventories = [inventory_of(pieces, name) for pieces, name in zip(sides, "ts", strict=True)]
    found = pair(*inventories, *(encoded(*rows) for rows in ids))
    wanted, chunks = by_hand(sides, texts, ids)
    got = zip(
        [CLASSES[each] for each in found.classes.tolist()],
        found.governing.tolist(),
        found.pending.tolist(),
        found.spanning.tolist(),
        strict=True,
    )
    assert list(got) == wanted
    assert found.data == b"".join(texts)
    census = found.census()
    assert census["chunks"].sum() == chunks == len(found.sync) - 1
    assert census["positions"].sum() == len(found) == sum(map(len, ids[1]))
    assert census["teacher_tokens"].sum() == sum(map(len, ids[0]))
    assert census["bytes"].sum() == sum(map(len, texts))
    shares = found.shares()
    assert shares["spanning"] + shares["non_spanning"] == pytest.approx(1)


def test_the_last_rows_are_those_of_chunk_and_sample():
    teacher, student = inventory_of([b"a", b"b", b"ab", b"ba"]), inventory_of([b"a", b"b", b"aba"])
    found = pair(teacher, student, encoded([2, 0], [1, 2, 1]), encoded([2], [1, 0, 1, 1]))
    assert found.chunk_end.tolist() == [1, 2, 3, 3, 4]
    assert found.last_row.tolist() == [1, 4, 4, 4, 4]


def test_a_sample_whose_bytes_differ_is_refused_and_named():
    teacher, student = inventory_of([b"a", b"b"], "big"), inventory_of([b"a", b"ab"], "small")
    found = pair(teacher, student, encoded([0, 1], [0, 0], [1]), encoded([1], [1], [0]))
    assert found.kept.tolist() == [0]
    assert found.data == b"ab"
    assert [each.sample for each in found.refused] == [1, 2]
    assert found.refused[0].reason == "big spells 2 bytes and small 2, which differ from byte 1 on"


def test_a_token_without_bytes_refuses_its_sample_alone():
    teacher, student = inventory_of([b"a", b""], "big"), inventory_of([b"a"], "small")
    found = pair(teacher, student, encoded([0, 1], [0]), encoded([0], [0]))
    assert found.kept.tolist() == [1]
    assert found.refused == ((0, "token 1 of big has no bytes that a text holds"),)


def test_no_sample_at_all_has_no_share():
    teacher = inventory_of([b"a"])
    found = pair(teacher, teacher, encoded(), encoded())
    assert len(found) == 0
    assert set(found.shares().values()) == {None}
    assert found.census()["positions"].sum() == 0


def test_blank_tokens_are_spaces_and_tabs_and_no_line_ends():
    toy = inventory_of([b" ", b"\t ", b"\n", b" a"])
    found = pair(toy, toy, encoded([0, 1, 2, 3]), encoded([0, 1, 2, 3]))
    assert found.blank.tolist() == [True, True, False, False]


def test_other_counts_of_samples_and_foreign_ids_are_refused():
    toy = inventory_of([b"a"], "toy")
    with pytest.raises(SutureError, match="the same samples; toy has 1 and toy 2"):
        pair(toy, toy, encoded([0]), encoded([0], [0]))
    with pytest.raises(SutureError, match=r"ids must lie in 0..0, the entries of toy; got 0 to 7"):
        pair(toy, toy, encoded([0, 7]), encoded([0]))


def test_an_unknown_token_refuses_its_text():
    bert, gpt2 = load(str(need("bert")), "bert"), load(str(need("gpt2")), "gpt2")
    found = pair_texts(bert, gpt2, ["plain", "\U00013000"])
    assert found.kept.tolist() == [0]
    assert "stands for text without an entry" in found.refused[0].reason
