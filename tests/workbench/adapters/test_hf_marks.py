"""Marks of place in a byte alphabet: they are no bytes of an entry."""

from __future__ import annotations

import pytest

from tests import builders
from workbench.adapters import load

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


@pytest.fixture
def alphabet():
    return list(builders.byte_characters())


def test_an_end_of_word_mark_beside_the_byte_alphabet(alphabet):
    vocab = [*alphabet, *(character + "</w>" for character in alphabet), "at", "at</w>"]
    model = {
        "type": "BPE", "unk_token": None, "end_of_word_suffix": "</w>", "vocab": builders.numbered(vocab),
        "merges": [["a", "t"], ["a", "t</w>"]],
    }  # fmt: skip
    tokenizer = load(builders.document(model, pre_tokenizer=BYTE_LEVEL, decoder=BYTE_LEVEL), "ends")
    entries = {(entry.bytes, entry.position) for entry in map(tokenizer.inventory.entry, (512, 513))}
    assert entries == {(b"at", "any"), (b"at", "final")}
    assert tokenizer.segment("at ate é").exact
    assert tokenizer.segment("ate at").pieces == [b"at", b"e", b" ", b"at"]


def test_a_continuation_mark_beside_the_byte_alphabet(alphabet):
    vocab = [
        "[UNK]",
        *alphabet,
        *(f"##{character}" for character in alphabet),
        builders.spelled("é".encode()),
    ]
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
             "max_input_chars_per_word": 100, "vocab": builders.numbered(vocab)}  # fmt: skip
    tokenizer = load(builders.document(model, pre_tokenizer=BYTE_LEVEL, decoder=BYTE_LEVEL), "continues")
    inventory = tokenizer.inventory
    assert inventory.entry(513).bytes == "é".encode()
    assert {inventory.entry(token).position for token in inventory.find(b"a")} == {"initial", "inner"}
    assert tokenizer.segment("éa").pieces == ["é".encode(), b"a"]
    assert tokenizer.segment("éa").exact
