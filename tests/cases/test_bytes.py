"""What an entry's bytes are, whatever alphabet the vocabulary is written in."""

from __future__ import annotations

import polars as pl
import pytest

from tests import builders
from vocab_audits.census import census
from vocab_audits.pipeline import pipeline
from workbench.adapters import load
from workbench.errors import SutureError
from workbench.runs import RunWriter


def categories(inventory, ids) -> dict[int, str]:
    table = census(inventory).tables["census"]
    return {token_id: table.row(token_id, named=True)["category"] for token_id in ids}


def measured(outcome, measure: str) -> pl.DataFrame:
    return outcome.table().filter(measure=measure)


def test_tokens_that_share_a_character_keep_their_own_bytes():
    tokenizer = load(builders.encoding([b"\xe2\x82"]))
    ids = tokenizer.segment("€").ids.tolist()
    assert ids == [256, 172]
    assert [tokenizer.inventory.entry(token).bytes for token in ids] == [b"\xe2\x82", b"\xac"]
    assert categories(tokenizer.inventory, [256, 172, 97, 32]) == {
        256: "partial_utf8",
        172: "single_byte",
        97: "text",
        32: "whitespace",
    }


def test_the_byte_alphabet_is_read_back_as_bytes():
    inventory = load(builders.byte_level([b"\xc3\xa9"], [(b"\xc3", b"\xa9")])).inventory
    assert inventory.entry(256).bytes == "é".encode()
    assert inventory.entry(32).bytes == b" "
    assert categories(inventory, [256, 32]) == {256: "text", 32: "whitespace"}


def test_added_tokens_are_literal_text_even_in_the_byte_alphabet():
    tokenizer = load(builders.byte_level(use_regex=False, added=["né", "日本"]))
    assert tokenizer.inventory.entry(256).bytes == b"n\xc3\xa9"
    assert tokenizer.inventory.entry(257).bytes == b"\xe6\x97\xa5\xe6\x9c\xac"
    assert categories(tokenizer.inventory, [256]) == {256: "added"}
    found = tokenizer.segment("a né 日本")
    assert found.ids.tolist() == [97, 32, 256, 32, 257]
    assert found.exact


def test_added_tokens_that_the_decoder_breaks_are_reported():
    tokenizer = load(builders.byte_level(use_regex=False, added=["né", "日本"]))
    row = measured(pipeline(tokenizer), "decoder_breaks").row(0, named=True)
    assert (row["value"], row["severity"], row["evidence"]) == (1.0, "warn", "256 'né'")


def test_a_letter_of_the_byte_alphabet_added_as_text_has_two_spellings():
    tokenizer = load(builders.byte_level(added=["é"]))
    assert tokenizer.inventory.entry(0xE9).bytes == b"\xe9"
    assert tokenizer.literals == {0xE9: "é".encode()}
    literal, inside = tokenizer.segment("aéb"), tokenizer.segment("願")
    assert literal.ids.tolist() == [97, 0xE9, 98]
    assert literal.pieces == [b"a", "é".encode(), b"b"]
    assert literal.unknown == ()
    assert inside.ids.tolist() == list("願".encode())
    assert inside.exact


def test_partial_characters_are_no_duplicates_of_each_other():
    inventory = load(builders.encoding([b"\xe2\x82", b"\xe2\x81", b"\xf0\x9f"])).inventory
    assert measured(census(inventory), "duplicates")["value"].to_list() == [0.0, 0.0]


def test_duplicates_are_told_by_bytes():
    literal = load(builders.byte_level(["né".encode()], added=["né"])).inventory
    fallback = load(builders.metaspace(["▁", "A", "<0x41>"], byte_fallback=True)).inventory
    assert literal.find("né".encode()) == [256, 257]
    assert measured(census(literal), "duplicates")["value"].to_list() == [1.0, 1.0]
    # A byte entry is the way out for what no piece spells: equal in bytes, but no duplicate of the piece.
    assert fallback.find(b"A") == [1, 2]
    assert measured(census(fallback), "duplicates")["value"].to_list() == [0.0, 1.0]


def test_an_entry_with_a_space_is_none_without():
    inventory = load(builders.metaspace(["▁", "▁A", "A"], ["▁ A"])).inventory
    assert (inventory.entry(1).bytes, inventory.entry(2).bytes) == (b" A", b"A")
    assert measured(census(inventory), "duplicates")["value"].to_list() == [0.0, 0.0]


@pytest.mark.parametrize("as_special", [False, True])
def test_byte_fallback_entries_are_bytes_also_without_a_decoder(as_special):
    names = ["<0xE2>", "<0x82>", "<0xAC>"]
    backend = builders.bpe(["<unk>", *names, "a"], unk="<unk>", byte_fallback=True)
    if as_special:
        backend.add_special_tokens(names)
    tokenizer = load(backend)
    found = [tokenizer.inventory.entry(token) for token in (1, 2, 3, 4)]
    assert [entry.bytes for entry in found] == [b"\xe2", b"\x82", b"\xac", b"a"]
    assert [entry.kind for entry in found] == ["byte", "byte", "byte", "piece"]
    assert tokenizer.segment("a€").exact
    notes = measured(pipeline(tokenizer), "reading")["note"].to_list()
    assert [note for note in notes if "lacks a ByteFallback step" in note]


def test_a_decoder_with_byte_fallback_is_not_complained_of():
    chain = {
        "type": "Sequence",
        "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}],
    }
    backend = builders.bpe(["<unk>", "<0xE2>"], unk="<unk>", byte_fallback=True, decoder=chain)
    assert measured(pipeline(load(backend)), "reading").is_empty()


def test_where_a_partial_entry_begins_is_told_apart():
    inventory = load(builders.encoding([b" \xe0\xa4", b"\x82\xac"])).inventory
    assert categories(inventory, [256, 257]) == {256: "partial_utf8", 257: "misaligned_utf8"}


def test_entries_that_are_no_text_survive_a_run_on_disk(tmp_path):
    inventory = load(builders.encoding([b"\xe2\x80", b"\xf0\x9f\x98"])).inventory
    outcome = census(inventory, longest=3)
    writer = RunWriter(tmp_path / "run")
    writer.begin()
    writer.keep("piece", outcome)
    writer.finish(["piece"], {"command": "audit"})
    table = writer.publish().table("census")
    assert table["bytes"].to_list() == inventory.frame["bytes"].to_list()
    assert table["bytes"].dtype == pl.Binary


@pytest.mark.parametrize("make", [builders.encoding, builders.byte_level])
@pytest.mark.parametrize("ask", ["segment", "encode", "segment_control", "encode_control"])
def test_a_lone_surrogate_is_refused_with_its_place(make, ask):
    with pytest.raises(SutureError, match=r"U\+D83D stands at character 3"):
        getattr(load(make()), ask)("ab \ud83d c")
