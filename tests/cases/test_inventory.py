"""Sizes, holes, ids, merges, and entries that no text reaches."""

from __future__ import annotations

import base64
import json

import pytest

from tests import builders
from vocab_audits.census import census
from vocab_audits.reachability import reachability
from workbench.adapters import load
from workbench.runs import RunWriter, environment

AWKWARD = ["null", "NA", "nan", "", "None", "ok", '"', ",", "\t", "\r\n", " a", "=1+1"]


def classes(tokenizer, ids) -> dict[int, str]:
    table = reachability(tokenizer).tables["reachability"]
    return {token_id: table.row(token_id, named=True)["class"] for token_id in ids}


def witness(tokenizer, token_id: int) -> str | None:
    return reachability(tokenizer).tables["reachability"].row(token_id, named=True)["witness"]


def value(outcome, measure: str) -> float | None:
    return outcome.table().filter(measure=measure)["value"].item()


def gaps(inventory) -> list[int]:
    return inventory.frame.filter(kind="gap")["id"].to_list()


def test_a_hole_in_the_ids_is_a_row_but_no_entry():
    inventory = load(builders.bpe({"a": 0, "b": 1, "c": 3})).inventory
    assert (len(inventory), inventory.rows_needed, gaps(inventory)) == (3, 4, [2])
    assert inventory.entry(2).bytes is None
    found = census(inventory)
    assert [value(found, key) for key in ("entries", "rows_needed", "gaps")] == [3, 4, 1]


def test_the_hole_before_special_ids_is_counted_and_named():
    inventory = load(builders.encoding(special={"<|end|>": 300})).inventory
    assert (len(inventory), inventory.rows_needed, gaps(inventory)) == (257, 301, list(range(256, 300)))
    found = census(inventory)
    assert value(found, "category.gap") == 44
    assert found.table().filter(measure="gaps")["evidence"].item() == "ids 256..299"


@pytest.mark.parametrize("nested", [False, True])
def test_rows_of_the_matrix_without_an_entry_are_listed_without_alarm(tmp_path, nested):
    builders.bpe(list("abcdef")).save(str(tmp_path / "tokenizer.json"))
    config = {"vocab_size": 8}
    (tmp_path / "config.json").write_text(json.dumps({"text_config": config} if nested else config))
    inventory = load(tmp_path).inventory
    assert (len(inventory), inventory.rows_needed, inventory.rows) == (6, 6, 8)
    row = census(inventory).table().filter(measure="rows_without_entry").row(0, named=True)
    assert (row["value"], row["evidence"], row["severity"]) == (2.0, "ids 6..7", "info")
    assert value(census(inventory), "ids_without_row") == 0


def test_ids_beyond_the_matrix_are_flagged(tmp_path):
    builders.bpe(list("abcdef")).save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text('{"vocab_size": 4}')
    row = census(load(tmp_path).inventory).table().filter(measure="ids_without_row").row(0, named=True)
    assert (row["value"], row["evidence"], row["severity"]) == (2.0, "ids 4..5", "flag")


def test_lines_of_a_word_list_end_at_line_feeds_alone(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes("[UNK]\na\n\u2028\n\u0085\n\x0b\nz\n".encode())
    inventory = load(path).inventory
    found = [inventory.entry(token).bytes.decode() for token in range(inventory.rows_needed)]
    assert found == ["[UNK]", "a", "\u2028", "\u0085", "\x0b", "z"]


def test_words_that_spreadsheets_take_for_nothing_survive_a_run(tmp_path):
    inventory = load(builders.bpe(AWKWARD)).inventory
    writer = RunWriter(tmp_path / "run")
    writer.begin()
    writer.keep("piece", census(inventory, longest=len(AWKWARD)))
    writer.finish(["piece"], {"command": "audit"})
    run = writer.publish()
    assert run.table("census")["bytes"].to_list() == [text.encode() for text in AWKWARD]
    listed = run.findings().filter(measure="longest_entry")
    assert set(listed["token"].to_list()) <= {text.encode() for text in AWKWARD}
    assert b"null" in listed["token"].to_list()


def test_tekken_ids_follow_the_special_slots(tmp_path):
    pieces = [b"\x00", b"a", b"ab", b"abc"]
    doc = {
        "config": {
            "pattern": builders.ANYTHING,
            "default_vocab_size": 6,
            "default_num_special_tokens": 3,
            "version": "v11",
        },
        "special_tokens": [
            {"rank": 0, "token_str": "<s>", "is_control": True},
            {"rank": 2, "token_str": "[INST]", "is_control": True},
        ],
        "vocab": [
            {"rank": rank, "token_bytes": base64.b64encode(piece).decode(), "token_str": None}
            for rank, piece in enumerate(pieces)
        ],
    }
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(doc))
    inventory = load(path).inventory
    entries = [inventory.entry(token) for token in range(inventory.rows_needed)]
    assert [entry.bytes for entry in entries] == [b"<s>", None, b"[INST]", b"\x00", b"a", b"ab"]
    assert [entry.kind for entry in entries] == ["special", "gap", "special", "piece", "piece", "piece"]
    assert gaps(inventory) == [1]


@pytest.mark.parametrize(
    ("shortcut", "ids", "reached"), [(False, [0, 1, 2], "merge_blocked"), (True, [3], "ok")]
)
def test_an_entry_without_merges_needs_the_whole_word_shortcut(shortcut, ids, reached):
    tokenizer = load(builders.bpe(["a", "b", "c", "abc"], ignore_merges=shortcut))
    assert tokenizer.encode("abc") == ids
    assert classes(tokenizer, [3, 0]) == {3: reached, 0: "ok"}


def test_an_entry_that_only_a_longer_word_holds_is_reachable():
    tokenizer = load(builders.encoding([b"\xe4\xba", "亚".encode(), "亚A".encode()], pattern=builders.O200K))
    assert tokenizer.encode("亚A") == [257, 65]
    assert tokenizer.encode("亚Aa") == [258, 97]
    assert classes(tokenizer, [258, 257, 256]) == {258: "context_only", 257: "ok", 256: "not_utf8_alone"}
    assert 258 in tokenizer.encode(witness(tokenizer, 258))


def test_an_entry_that_the_normaliser_never_leaves_is_blocked():
    backend = builders.bpe(
        ["C", "c", "a", "t", "Ca", "Cat"], ["C a", "Ca t"], normalizer={"type": "Lowercase"}
    )
    tokenizer = load(backend)
    assert tokenizer.encode("Cat") == [1, 2, 3]
    assert classes(tokenizer, [5, 1]) == {5: "normalizer_blocked", 1: "ok"}
    assert witness(tokenizer, 5) is None


def test_the_pair_behind_an_entry_is_recovered_by_simulation():
    pieces = [b"a", b"b", b"c", b"d", b"bc", b"ab", b"bcd", b"abc", b"abcd"]
    tokenizer = load(builders.encoding(ranks={piece: rank for rank, piece in enumerate(pieces)}))
    made = {result: (left, right) for left, right, result in tokenizer.inventory.merges.tolist()}
    assert made[8] == (0, 6), "a + bcd, neither abc + d nor ab + cd"
    assert made[7] == (0, 4)


def test_text_without_an_entry_is_uncovered_and_shifts_nothing():
    found = load(builders.bpe(["a", "b"])).segment("axb")
    assert found.ids.tolist() == [0, 1]
    assert found.spans("codepoint").tolist() == [[0, 1], [2, 3]]
    assert found.uncovered.tolist() == [[1, 2]]
    assert found.unknown == ()


def test_one_unknown_token_may_stand_for_several_characters():
    found = load(builders.unigram({"a": -1.0})).segment("aαβa")
    assert found.ids.tolist() == [1, 0, 1]
    assert found.spans("codepoint").tolist() == [[0, 1], [1, 3], [3, 4]]
    assert found.unknown == (1,)
    assert not len(found.uncovered)


@pytest.mark.parametrize(
    ("pattern", "make"),
    [
        (builders.GPT2, "tiktoken"),
        (builders.CL100K, "tiktoken"),
        (builders.O200K, "tiktoken"),
        (builders.GPT2, "tokenizers"),
        (builders.O200K, "tokenizers"),
    ],
)
def test_one_vocabulary_under_several_patterns(pattern, make):
    extra = [b"20", b"202", b"2023", b" 2023"]
    backend = (
        builders.encoding(extra, pattern=pattern)
        if make == "tiktoken"
        else builders.byte_level(extra, pattern=pattern, ignore_merges=True)
    )
    tokenizer = load(backend)
    cut = [b" 2023"] if pattern == builders.GPT2 else [b" ", b"202", b"3"]
    assert tokenizer.segment(" 2023").pieces == cut
    assert tokenizer.pipeline.pattern == pattern


def test_patterns_are_compared_by_digest():
    digests = {
        load(builders.encoding(pattern=pattern)).pipeline.pattern_digest
        for pattern in (builders.GPT2, builders.CL100K, builders.O200K, builders.GPT2)
    }
    assert len(digests) == 3


def test_a_vocabulary_is_told_by_digest_whatever_holds_it(tmp_path):
    backend = builders.byte_level([b"th"], [(b"t", b"h")], special=["<s>"])
    backend.save(str(tmp_path / "tokenizer.json"))
    one, other = load(backend).inventory, load(tmp_path).inventory
    assert one.digest == other.digest
    grown = load(builders.byte_level([b"th"], [(b"t", b"h")], special=["<t>"])).inventory
    assert grown.digest != one.digest
    assert {"tokenizers", "tiktoken"} <= set(environment()["versions"])
