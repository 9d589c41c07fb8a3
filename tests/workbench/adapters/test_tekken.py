"""Tekken files: small ones made here, and Mistral's."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.adapters import tekken
from workbench.errors import SutureError, UnreadableFile
from workbench.testing import HARD, check_tokenizer

PATTERN = r"[^\s]+|\s+"


def document(pieces, special=(), *, size=None, slots=None, version="v11", pattern=PATTERN):
    special = [{"rank": rank, "token_str": text, "is_control": True} for rank, text in special]
    slots = len(special) if slots is None else slots
    return {
        "config": {
            "pattern": pattern,
            "num_vocab_tokens": len(pieces),
            "default_vocab_size": len(pieces) + slots if size is None else size,
            "default_num_special_tokens": slots,
            "version": version,
        },
        "vocab": [
            {"rank": rank, "token_bytes": base64.b64encode(piece).decode(), "token_str": None}
            for rank, piece in enumerate(pieces)
        ],
        "special_tokens": special,
    }


BYTES = [bytes([byte]) for byte in range(256)]
FULL = document([*BYTES, b"th", b"the", b" the", b"er"], [(0, "<s>"), (2, "</s>")], slots=4)


@pytest.fixture(name="read")
def read_fixture(tmp_path):
    def read(doc, name=None):
        path = tmp_path / "tekken.json"
        path.write_text(json.dumps(doc), encoding="utf-8")
        return tekken.from_path(path, name)

    return read


def test_ids_follow_the_slots_and_free_slots_are_holes(read):
    tokenizer = read(document([b"a", b"b", b"c", b"d"], [(0, "<s>"), (2, "</s>")], slots=3, size=6))
    frame = tokenizer.inventory.frame
    assert frame["kind"].to_list() == ["special", "gap", "special", "piece", "piece", "piece"]
    assert frame["bytes"].to_list() == [b"<s>", None, b"</s>", b"a", b"b", b"c"]
    assert frame["rank"].to_list() == [None, None, None, 0, 1, 2]
    assert tokenizer.inventory.find(b"d") == []


def test_vocabulary_without_all_bytes_has_an_inventory_but_encodes_nothing(read):
    tokenizer = read(document([b"a", b"b"]))
    with pytest.raises(SutureError, match="254 of the 256 bytes have no entry"):
        tokenizer.encode("ab")


def test_slots_past_the_listed_ones_are_filled_by_number(read):
    inventory = read(FULL).inventory
    assert inventory.pieces[:4] == [b"<s>", b"", b"</s>", b"<SPECIAL_3>"]
    assert inventory.frame["kind"].to_list()[:4] == ["special", "gap", "special", "special"]


def test_encoding(read):
    tokenizer = read(FULL, "mine")
    assert tokenizer.name == "mine"
    assert tokenizer.encode("the other") == [4 + 257, *(4 + byte for byte in b" o"), 4 + 257, 4 + ord("r")]
    assert tokenizer.encode("<s>") == [4 + byte for byte in b"<s>"]
    assert tokenizer.encode_control("<s>the</s>") == [0, 4 + 257, 2]
    assert tokenizer.engine.model_ids("the") == [4 + 257]
    assert tokenizer.engine.decode_each([0, 4 + 257]) == ["<s>", "the"]


def test_contract(read):
    check_tokenizer(read(FULL))


def test_merges_are_in_ids(read):
    inventory = read(FULL).inventory
    pieces = inventory.pieces
    assert [tuple(pieces[token] for token in row) for row in inventory.merges.tolist()] == [
        (b"t", b"h", b"th"),
        (b"th", b"e", b"the"),
        (b" ", b"the", b" the"),
        (b"e", b"r", b"er"),
    ]


@pytest.fixture(name="pair", scope="module")
def pair_fixture(tmp_path_factory):
    """One small file read by both."""
    upstream = pytest.importorskip("mistral_common.tokens.tokenizers.tekken")
    path = tmp_path_factory.mktemp("pair") / "tekken.json"
    doc = document([*BYTES, b"th", b"the", b" the"], [(0, "<s>"), (1, "</s>")], slots=5)
    path.write_text(json.dumps(doc), encoding="utf-8")
    return tekken.from_path(path), upstream.Tekkenizer.from_file(path)


@given(text=st.text(st.sampled_from("the é\n日") | st.characters(codec="utf-8"), max_size=30))
def test_equals_upstream_on_a_small_file(pair, text):
    ours, theirs = pair
    assert ours.encode(text) == theirs.encode(text, bos=False, eos=False)
    assert ours.inventory.pieces[:5] == [theirs.id_to_piece(token).encode() for token in range(5)]


def test_file_without_a_list_of_special_tokens_takes_those_of_its_version(read):
    upstream = pytest.importorskip("mistral_common.tokens.tokenizers.tekken")
    doc = document(BYTES, slots=25, version="v3")
    del doc["special_tokens"]
    tokenizer = read(doc)
    named = [token["token_str"] for token in upstream.Tekkenizer.DEPRECATED_SPECIAL_TOKENS]
    filled = [f"<SPECIAL_{slot}>" for slot in range(20, 25)]
    assert [piece.decode() for piece in tokenizer.inventory.pieces[:25]] == [*named, *filled]
    assert "v3" in tokenizer.pipeline.notes[0]


def broken(**change):
    doc = json.loads(json.dumps(FULL))
    for key, value in change.items():
        place = doc["config"] if key in doc["config"] else doc
        if value is None:
            del place[key]
        else:
            place[key] = value
    return doc


def listed(*pairs):
    return broken(special_tokens=[{"rank": rank, "token_str": text} for rank, text in pairs])


def moved(rank):
    doc = broken()
    doc["vocab"][7]["rank"] = rank
    return doc


@pytest.mark.parametrize(
    ("doc", "reason"),
    [
        (broken(vocab=None), "it has no 'vocab'"),
        (broken(config=None), "it has no 'config'"),
        (broken(pattern=None), "it has no 'pattern'"),
        (broken(pattern=7), "pattern is no text"),
        (broken(default_vocab_size=10**12), "are no sizes"),
        (broken(default_num_special_tokens=-1), "are no sizes"),
        (broken(default_vocab_size=500), "260 entries where 496 are declared"),
        (broken(special_tokens=None), "its version v11 must"),
        (listed((9, "<s>")), "outside its 4 special slots"),
        (listed((0, "")), "has no text"),
        (listed((0, "a"), (0, "b")), "same text or slot"),
        (listed((0, "a"), (1, "a")), "same text or slot"),
        (moved(9), "ranks do not count from 0"),
        (moved(2**70), "fetch it again"),
        (document([*BYTES, b"a"]), "have the same bytes"),
        (broken(vocab=[{"rank": 0, "token_bytes": "?", "token_str": None}] * 260), "fetch it again"),
        ([], "fetch it again"),
        (broken(pattern="("), "must make an encoding"),
    ],
)
def test_broken_documents_are_refused_by_sentence(read, doc, reason):
    with pytest.raises(UnreadableFile, match="fetch it again") as caught:
        read(doc)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_truncated_and_missing_files(tmp_path):
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(FULL)[:-40], encoding="utf-8")
    with pytest.raises(UnreadableFile, match="must be complete JSON"):
        tekken.from_path(path)
    with pytest.raises(UnreadableFile, match="check the path"):
        tekken.from_path(tmp_path)


@pytest.mark.vocabs
def test_mistral(need):
    upstream = pytest.importorskip("mistral_common.tokens.tokenizers.tekken")
    policy = pytest.importorskip("mistral_common.tokens.tokenizers.base").SpecialTokenPolicy
    path = need("tekken")
    ours, theirs = tekken.from_path(path), upstream.Tekkenizer.from_file(path)
    check_tokenizer(ours)
    assert ours.inventory.rows_needed == theirs.n_words == 131_072
    assert ours.inventory.pieces == [
        theirs.id_to_byte_piece(token, policy.KEEP) for token in range(theirs.n_words)
    ]
    for text in HARD:
        assert ours.encode(text) == theirs.encode(text, bos=False, eos=False)
