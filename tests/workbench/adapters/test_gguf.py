"""GGUF headers, written by the ``gguf`` library and read here."""

from __future__ import annotations

import json
import struct

import gguf as library
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import byte_characters, sentencepiece_model, spelled
from workbench.adapters import gguf, gguf_header, gguf_pre, hf, spm, wordlist
from workbench.errors import SutureError, UnreadableFile
from workbench.testing import HARD, check_inventory, check_tokenizer

NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)


@pytest.fixture(name="write")
def write_fixture(tmp_path):
    def write(model, tokens, types=None, *, rows=None, endian=library.GGUFEndian.LITTLE, **fields):
        path = tmp_path / "small.gguf"
        writer = library.GGUFWriter(path, "llama", endianess=endian)
        writer.add_tokenizer_model(model)
        writer.add_token_list(tokens)
        if types is not None:
            writer.add_token_types(types)
        for key, value in fields.items():
            add = {bool: writer.add_bool, int: writer.add_uint32, str: writer.add_string}
            add.get(type(value), writer.add_array)(f"tokenizer.ggml.{key}", value)
        writer.add_chat_template("{{ messages }}")
        if rows:
            writer.add_tensor("output.weight", np.zeros((3, 4), np.float32))
            writer.add_tensor("token_embd.weight", np.zeros((rows, 8), np.float16))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    return write


EXTRA = [b"th", b"the", b" ", b" the", "é".encode(), b"12"]
MERGES = ["t h", "th e", "Ġ the", "Ã ©", "1 2"]


def byte_level(write, *, pre="gpt-2", merges=MERGES, **fields):
    tokens = [*byte_characters(), *(spelled(piece) for piece in EXTRA if len(piece) > 1)]
    types = [NORMAL] * len(tokens) + [CONTROL, USER, UNUSED]
    named = {"pre": pre} if pre else {}
    tokens += ["<|end|>", "  ", "[PAD7]"]
    listed = {"merges": merges} if merges is not None else {}
    return gguf.from_path(write("gpt2", tokens, types, **named, **listed, **fields))


def test_byte_level_inventory(write):
    tokenizer = byte_level(write, rows=300)
    inventory = tokenizer.inventory
    longer = [piece for piece in EXTRA if len(piece) > 1]
    assert inventory.pieces == [*(bytes([b]) for b in range(256)), *longer, b"<|end|>", b"  ", b"[PAD7]"]
    kinds = inventory.frame["kind"].to_list()
    assert kinds == ["piece"] * (256 + len(longer)) + ["special", "added", "unused"]
    assert inventory.rows == 300
    pieces = inventory.pieces
    joined = [
        (pieces[left] + pieces[right], pieces[result]) for left, right, result in inventory.merges.tolist()
    ]
    assert all(left == right for left, right in joined)
    assert [right for _, right in joined] == longer


def test_byte_level_contract(write):
    check_tokenizer(byte_level(write))


def test_byte_level_encoding(write):
    tokenizer = byte_level(write)
    inventory = tokenizer.inventory
    found = tokenizer.segment("the the é<|end|>")
    assert found.pieces[:2] == [b"the", b" the"]
    assert inventory.find(b"<|end|>")[0] not in found.ids.tolist()
    assert inventory.find(b"<|end|>")[0] in tokenizer.encode_control("the<|end|>")
    assert tokenizer.pipeline.pattern == hf.GPT2_PATTERN


@pytest.mark.parametrize(
    ("pre", "text", "expected"),
    [
        ("gpt-2", "a1234 b!!c", ["a", "1234", " b", "!!", "c"]),
        ("llama-bpe", "a1234 b!!\nc", ["a", "123", "4", " b", "!!\n", "c"]),
        ("qwen2", "a1234\n\n b", ["a", "1", "2", "3", "4", "\n\n", " b"]),
        ("starcoder", "a12 3", ["a", "1", "2", " ", "3"]),
        ("tekken", "fooBar's12", ["foo", "Bar", "'s", "1", "2"]),
        ("gpt-4o", "fooBar's1234", ["foo", "Bar's", "123", "4"]),
        ("deepseek-v3", "日本x 1234", ["日本", "x", " ", "123", "4"]),
        ("deepseek-coder", "x 12\n", ["x", " ", "1", "2", "\n"]),
        ("falcon", "a (1234", ["a", " ", "(", "123", "4"]),
        ("default", "a (1234", ["a", " ", "(", "123", "4"]),
    ],
)
def test_named_patterns(write, pre, text, expected):
    tokenizer = byte_level(write, pre=pre)
    characters = {character: byte for byte, character in enumerate(byte_characters())}
    words = tokenizer.engine.pretokenize(text)
    assert [bytes(characters[x] for x in word).decode() for word in words] == expected
    assert not any("pattern" in note for note in tokenizer.pipeline.notes)


def test_every_named_pattern_cuts_without_loss(write):
    text = "".join(HARD).replace("  ", " ")
    for pre in sorted(gguf_pre.PATTERNS):
        tokenizer = byte_level(write, pre=pre)
        assert tokenizer.decode(tokenizer.encode(text)) == text.encode()
        assert tokenizer.pipeline.ignore_merges == (pre in gguf_pre.IGNORE_MERGES)


def test_unknown_pre_tokenizer_is_noted_with_the_digest_of_the_assumed_pattern(write):
    tokenizer = byte_level(write, pre="some-new-one")
    (note,) = [note for note in tokenizer.pipeline.notes if "pattern" in note]
    assert "'some-new-one' is unknown" in note
    assert tokenizer.pipeline.pattern == hf.GPT2_PATTERN
    assert tokenizer.pipeline.pattern_digest in note


def test_missing_pre_tokenizer_is_noted(write):
    tokenizer = byte_level(write, pre=None)
    (note,) = [note for note in tokenizer.pipeline.notes if "pattern" in note]
    assert tokenizer.pipeline.pattern_digest in note
    assert tokenizer.pipeline.pattern.split("\n") == list(gguf_pre.PATTERNS["default"])


def test_entry_without_merges_is_used_where_the_name_says_so(write):
    tokens, types = [*byte_characters(), "th", "the"], [NORMAL] * 258
    for pre, expected in (("llama-bpe", [257]), ("gpt-2", [256, ord("e")])):
        tokenizer = gguf.from_path(write("gpt2", tokens, types, pre=pre, merges=["t h"]))
        assert tokenizer.encode("the") == expected


def test_inventory_only(write):
    tokenizer = byte_level(write, merges=None)
    check_inventory(tokenizer.inventory)
    assert len(tokenizer.inventory) == 264
    (note,) = [note for note in tokenizer.inventory.notes if "only the inventory" in note]
    assert "needs merges" in note
    with pytest.raises(SutureError, match="gives an inventory only"):
        tokenizer.encode("a")
    broken = byte_level(write, merges=["t h", "x nowhere"])
    assert any("merges are not made of its entries" in note for note in broken.inventory.notes)


def test_repeated_text_gives_an_inventory(write):
    path = write("gpt2", [*byte_characters(), "a"], [NORMAL] * 257, pre="gpt-2", merges=["a b"])
    tokenizer = gguf.from_path(path)
    assert tokenizer.inventory.find(b"a") == [ord("a"), 256]
    assert any("same text" in note for note in tokenizer.inventory.notes)


KIND_NUMBERS = {"piece": NORMAL, "special": CONTROL, "added": USER, "unused": UNUSED, "byte": BYTE}


def columns(tokenizer):
    """Texts, scores and types of a SentencePiece model, as a converter writes them."""
    processor = tokenizer.engine.processor
    ids = list(range(processor.get_piece_size()))
    types = [KIND_NUMBERS[kind] for kind in tokenizer.inventory.frame["kind"].to_list()]
    types[processor.unk_id()] = UNKNOWN
    texts = [
        text.replace("▁", " ") if kind == USER else text
        for text, kind in zip(processor.id_to_piece(ids), types, strict=True)
    ]
    return texts, processor.get_score(ids), types


CORPUS = ["the lower tower lowers the flower", "new newer newest lowest widest 해요 각 하다"] * 4


@pytest.fixture(name="llama", scope="module")
def llama_fixture():
    data = sentencepiece_model(
        CORPUS,
        380,
        "bpe",
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        user_defined_symbols=["<sep>", "▁▁"],
    )
    return spm.from_proto(data, "llama", "here")


def test_llama(write, llama):
    texts, scores, types = columns(llama)
    tokenizer = gguf.from_path(write("llama", texts, types, scores=scores, rows=len(texts) + 2))
    assert tokenizer.inventory.frame.equals(llama.inventory.frame)
    assert tokenizer.inventory.rows == len(texts) + 2
    assert np.array_equal(tokenizer.inventory.merges, llama.inventory.merges)
    assert tokenizer.encode_batch(HARD).ids.tolist() == llama.encode_batch(HARD).ids.tolist()
    check_tokenizer(tokenizer)


def test_llama_without_added_space(write, llama):
    texts, scores, types = columns(llama)
    tokenizer = gguf.from_path(write("llama", texts, types, scores=scores, add_space_prefix=False))
    assert not tokenizer.pipeline.prefix_space
    assert tokenizer.segment("lower").exact


def test_llama_with_an_empty_entry_and_no_unknown_one(write):
    texts = ["<unk>", "a", "b", "ab", ""]
    path = write(
        "llama", texts, [NORMAL, NORMAL, NORMAL, NORMAL, NORMAL], scores=[0.0, -1.0, -2.0, -0.5, 0.0]
    )
    tokenizer = gguf.from_path(path)
    assert tokenizer.inventory.pieces == [b"<unk>", b"a", b"b", b"ab", b""]
    assert tokenizer.encode("ab") == [0, 3]  # the added space has no entry


def test_llama_without_scores_is_an_inventory(write, llama):
    texts, _, types = columns(llama)
    tokenizer = gguf.from_path(write("llama", texts, types))
    assert tokenizer.inventory.frame["bytes"].equals(llama.inventory.frame["bytes"])
    assert any("needs scores" in note for note in tokenizer.inventory.notes)


def test_t5(write):
    source = spm.from_proto(sentencepiece_model(CORPUS, 80, "unigram"), "t5", "here")
    texts, scores, types = columns(source)
    processor = source.engine.processor
    charsmap = dict(_normaliser(processor.serialized_model_proto()))[2]
    path = write(
        "t5",
        texts,
        types,
        scores=scores,
        add_space_prefix=True,
        remove_extra_whitespaces=True,
        precompiled_charsmap=charsmap,
    )
    tokenizer = gguf.from_path(path)
    assert tokenizer.pipeline.model == "Unigram"
    assert tokenizer.encode_batch(HARD).ids.tolist() == source.encode_batch(HARD).ids.tolist()
    check_tokenizer(tokenizer)


def _normaliser(data):
    from workbench.adapters.spm_proto import fields

    (part,) = [value for number, value in fields(data) if number == 3]
    return fields(part)


WORDPIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "un",
    "##able",
    "##aff",
    "##s",
    "to",
    ".",
    "[unused1]",
    "日",
]


def phantom(text):
    """BERT entries as converters write them for GGUF."""
    if text.startswith("[") and text.endswith("]"):
        return text
    return text[2:] if text.startswith("##") else "▁" + text


def test_bert(write):
    types = [CONTROL] * 4 + [NORMAL] * 8
    path = write("bert", [phantom(text) for text in WORDPIECES], types, unknown_token_id=1)
    tokenizer = gguf.from_path(path)
    expected = wordlist.wordpiece(WORDPIECES, "bert", "here", {})
    assert tokenizer.inventory.frame.equals(expected.inventory.frame)
    assert tokenizer.encode("unaffable TOS. 日日 xyz") == expected.encode("unaffable TOS. 日日 xyz")
    check_tokenizer(tokenizer)
    kept = write("bert", [phantom(text) for text in WORDPIECES], types, **{"normalizer.lowercase": False})
    assert gguf.from_path(kept).encode("TO") == [1]


def test_rwkv(write):
    entries = [*(bytes([byte]) for byte in range(256)), "日本".encode(), b" the", b"\r\n", b"\\x", b"'\""]
    texts = ["<s>", *(repr(entry)[2:-1] for entry in entries), "[PAD]"]
    path = write("rwkv", texts, [CONTROL, *([NORMAL] * len(entries)), UNUSED])
    tokenizer = gguf.from_path(path)
    assert tokenizer.inventory.pieces == [b"<s>", *entries, b"[PAD]"]
    assert tokenizer.encode("日本 the\r\n") == [257, 258, 259]
    assert tokenizer.encode_control("<s>a") == [0, ord("a") + 1]
    check_tokenizer(tokenizer)


def test_known_kind_without_a_tokenizer(write):
    tokenizer = gguf.from_path(write("gemma4", ["<unk>", "<0x41>", "▁a"], [UNKNOWN, BYTE, NORMAL]))
    assert tokenizer.inventory.pieces == [b"<unk>", b"A", b" a"]
    with pytest.raises(SutureError, match="inventory only"):
        tokenizer.encode("a")


def test_types_left_out_are_noted(write):
    tokenizer = gguf.from_path(write("rwkv", ["a", "b"]))
    assert tokenizer.inventory.frame["kind"].to_list() == ["piece", "piece"]
    assert any("tells no types" in note for note in tokenizer.inventory.notes)


@pytest.mark.parametrize("model", ["none", "something"])
def test_unknown_kinds_are_refused(write, model):
    with pytest.raises(UnreadableFile, match="must hold a vocabulary of one of the kinds"):
        gguf.from_path(write(model, ["a"], [NORMAL]))


def test_too_few_types_are_refused(write):
    with pytest.raises(UnreadableFile, match="fewer than its 2 entries"):
        gguf.from_path(write("rwkv", ["a", "b"], [NORMAL]))


def test_text_that_is_no_utf8_is_refused(write):
    with pytest.raises(UnreadableFile, match="must be UTF-8"):
        gguf.from_path(write("rwkv", [b"\xff"], [NORMAL]))


@pytest.mark.parametrize("endian", [library.GGUFEndian.LITTLE, library.GGUFEndian.BIG])
def test_header_equals_the_librarys_reading(write, endian):
    path = write(
        "rwkv", ["a", "é", ""], [NORMAL] * 3, scores=[0.5, -1.0, 2.0], flag=True, rows=3, endian=endian
    )
    header, reader = gguf_header.read(path, ""), library.GGUFReader(path)
    for key, field in reader.fields.items():
        if not key.startswith("GGUF."):
            value, expected = header.fields[key], field.contents()
            if isinstance(value, list):
                value = [entry.decode() for entry in value]
            assert (value.tolist() if isinstance(value, np.ndarray) else value) == expected
    assert header.shapes == {tensor.name: tuple(tensor.shape.tolist()) for tensor in reader.tensors}


def test_tensors_are_not_needed(write):
    path = write("rwkv", ["a", "b"], [NORMAL] * 2, rows=2)
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"token_embd.weight") + 64])
    assert gguf.from_path(path).inventory.rows == 2


@given(share=st.floats(0, 0.98))
def test_truncated_headers(tmp_path_factory, share):
    path = tmp_path_factory.getbasetemp() / "cut.gguf"
    writer = library.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("rwkv")
    writer.add_token_list(["a", "b", "c"])
    writer.add_token_types([1, 1, 1])
    writer.add_bool("general.flag", val=True)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(UnreadableFile) as caught:
        gguf.from_path(path)
    assert "\n" not in str(caught.value)


HEAD = b"GGUF" + struct.pack("<I", 3)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GGML" + bytes(40), "does not begin with GGUF"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version 1"),
        (HEAD + struct.pack("<QQ", 0, 2**60), "counts 1152921504606846976 keys"),
        (HEAD + struct.pack("<QQ", 0, 1) + struct.pack("<Q", 2**62), "breaks off"),
        (HEAD + struct.pack("<QQ", 0, 1) + struct.pack("<Q", 1) + b"kxxxx", "value type"),
        (HEAD + struct.pack("<QQQ", 0, 1, 1) + b"k" + struct.pack("<IIQ", 9, 8, 2**61), "at most"),
        (HEAD + struct.pack("<QQQ", 0, 1, 1) + b"k" + struct.pack("<IIQ", 9, 5, 2**61), "at most"),
        (HEAD + struct.pack("<QQQ", 0, 1, 1) + b"k" + struct.pack("<IIQ", 9, 9, 0), "arrays of value type 9"),
        (HEAD + struct.pack("<QQQ", 1, 0, 1) + b"t" + struct.pack("<I", 4_000_000_000), "at most 8"),
        (HEAD + struct.pack("<QQ", 0, 0), "holds no vocabulary"),
    ],
)
def test_absurd_headers(tmp_path, data, reason):
    path = tmp_path / "odd.gguf"
    path.write_bytes(data)
    with pytest.raises(UnreadableFile) as caught:
        gguf.from_path(path)
    assert reason in str(caught.value)


def test_missing_and_empty_files(tmp_path):
    with pytest.raises(UnreadableFile, match="check the path"):
        gguf.from_path(tmp_path / "none.gguf")
    path = tmp_path / "empty.gguf"
    path.write_bytes(b"")
    with pytest.raises(UnreadableFile, match="whole header"):
        gguf.from_path(path)


@pytest.mark.vocabs
@pytest.mark.parametrize(
    ("name", "pre"), [("llama3", "llama-bpe"), ("qwen3", "qwen2"), ("deepseek", "deepseek-v3")]
)
def test_real_byte_level_vocabularies(need, write, name, pre):
    source = need(name)
    doc = json.loads(source.read_bytes())
    texts = dict(doc["model"]["vocab"])
    added = {token["id"]: token for token in doc["added_tokens"]}
    texts |= {token["content"]: token_id for token_id, token in added.items()}
    by_id = {token_id: text for text, token_id in texts.items()}
    ids = range(max(by_id) + 1)
    types = [(CONTROL if added[i]["special"] else USER) if i in added else NORMAL for i in ids]
    types = [kind if i in by_id else UNUSED for i, kind in zip(ids, types, strict=True)]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in doc["model"]["merges"]]
    path = write("gpt2", [by_id.get(i, f"[PAD{i}]") for i in ids], types, pre=pre, merges=merges)
    found, expected = gguf.from_path(path), hf.from_path(source, name)
    known = expected.inventory.frame["kind"] != "gap"
    ours, theirs = found.inventory.frame.filter(known), expected.inventory.frame.filter(known)
    assert ours["bytes"].equals(theirs["bytes"])
    assert ours["kind"].equals(theirs["kind"])
    for text in HARD:
        if expected.engine.normalise(text).target == text.encode():  # GGUF tells of no normaliser
            assert found.encode(text) == expected.encode(text)


@pytest.mark.vocabs
def test_real_mistral(need, write):
    source = spm.from_path(need("mistral-v3"))
    texts, scores, types = columns(source)
    tokenizer = gguf.from_path(write("llama", texts, types, scores=scores))
    assert tokenizer.inventory.digest == source.inventory.digest
    assert tokenizer.encode_batch(HARD).ids.tolist() == source.encode_batch(HARD).ids.tolist()
