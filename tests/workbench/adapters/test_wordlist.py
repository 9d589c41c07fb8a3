"""vocab.txt and RWKV's World vocabulary."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import BertWordPieceTokenizer

from workbench.adapters import hf, wordlist
from workbench.errors import UnreadableFile
from workbench.testing import HARD, check_tokenizer

ENTRIES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "un",
    "##able",
    "##aff",
    "été",
    "ete",
    "##s",
    "to",
    ".",
    "日",
    "##",
]


@pytest.fixture(name="read")
def read_fixture(tmp_path):
    def read(data, **config):
        path = tmp_path / "vocab.txt"
        path.write_bytes(data if isinstance(data, bytes) else "".join(f"{x}\n" for x in data).encode())
        if config:
            (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
        return wordlist.from_vocab_txt(path)

    return read


def test_entries_positions_and_kinds(read):
    frame = read(ENTRIES).inventory.frame
    assert frame["bytes"].to_list() == [
        *(entry.encode() for entry in ENTRIES[:5]),
        *(b"able", b"aff", "été".encode(), b"ete", b"s", b"to", b".", "日".encode(), b"##"),
    ]
    assert frame["kind"].to_list() == ["special"] * 4 + ["piece"] * 10
    assert frame["position"].to_list() == ["any"] * 4 + [
        *("initial", "inner", "inner", "initial", "initial", "inner"),
        *("initial", "initial", "initial", "initial"),
    ]


def test_only_a_line_feed_ends_an_entry(read):
    odd = ["a\u2028b", "c\u0085d", "e\x0bf", "g\x0ch", "i\u2029j"]
    inventory = read(["[UNK]", *odd]).inventory
    assert inventory.pieces[1:] == [entry.encode() for entry in odd]


def test_last_line_without_a_line_feed_counts(read):
    assert read(b"[UNK]\na\nb").inventory.pieces == [b"[UNK]", b"a", b"b"]
    assert read(b"[UNK]\na\nb\n\n").inventory.pieces == [b"[UNK]", b"a", b"b", b""]


def test_windows_line_ends_are_no_part_of_entries(read):
    tokenizer = read(b"[UNK]\r\na\r\n")
    assert tokenizer.inventory.pieces == [b"[UNK]", b"a"]
    assert any("CR" in note for note in tokenizer.inventory.notes)
    assert read(b"[UNK]\nx\r\n").inventory.pieces == [b"[UNK]", b"x\r"]


def test_contract(read):
    check_tokenizer(read(ENTRIES))


def test_segmentation(read):
    found = read(ENTRIES).segment("Unaffable tos!")
    assert found.pieces == [b"Un", b"aff", b"able", b"to", b"s", b"!"]
    assert found.unknown == (5,)


def test_lower_casing_is_read_from_the_config_or_told_by_the_entries(read):
    def choice(entries, **config):
        tokenizer = read(entries, **config)
        return tokenizer.encode("TO") != tokenizer.encode("#"), tokenizer.inventory.notes

    assert choice([*ENTRIES, "ℝ"])[0]  # a capital letter without a small one
    assert "no entry has capital letters" in choice(ENTRIES)[1][0]
    cased, notes = choice([*ENTRIES, "Berlin"])
    assert not cased
    assert "entries have capital letters" in notes[0]
    assert choice(ENTRIES, do_lower_case=False) == (False, ())
    assert choice([*ENTRIES, "Berlin"], do_lower_case=True) == (True, ())


def test_accents_and_special_tokens_of_the_config(read):
    tokenizer = read(ENTRIES, do_lower_case=True, strip_accents=False)
    assert tokenizer.encode("Été") == [ENTRIES.index("été")]
    assert read(ENTRIES, do_lower_case=True).encode("Été") == [ENTRIES.index("ete")]
    renamed = read(["<u>", "a"], unk_token={"content": "<u>"}, do_lower_case=True)
    assert renamed.encode("b") == [0]
    assert renamed.unknown == {0}


def test_of_equal_entries_the_last_is_used_and_both_are_listed(read):
    tokenizer = read(["[UNK]", "a", "b", "a"])
    assert tokenizer.inventory.find(b"a") == [1, 3]
    assert tokenizer.encode("a") == [3]


words = st.text(st.sampled_from("unafblesto .É日é\u0301\u200bTO"), max_size=20)


@pytest.fixture(name="upstream", scope="module")
def upstream_fixture(tmp_path_factory):
    path = tmp_path_factory.mktemp("bert") / "vocab.txt"
    path.write_text("".join(f"{entry}\n" for entry in ENTRIES))
    return wordlist.from_vocab_txt(path), BertWordPieceTokenizer(str(path), lowercase=True)


@given(text=words)
def test_equals_the_librarys_own_bert(upstream, text):
    ours, theirs = upstream
    assert ours.encode(text) == theirs.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "has 0 lines"),
        (b"a\nb\n", "unknown token [UNK]"),
        (b"[UNK]\n\xff\xfe\n", "line 2 of"),
    ],
)
def test_broken_lists(read, data, reason):
    with pytest.raises(UnreadableFile) as caught:
        read(data)
    assert reason in str(caught.value)


@pytest.mark.vocabs
def test_bert(need):
    ours = wordlist.from_vocab_txt(need("bert-vocab"))
    theirs = hf.from_path(need("bert"), "bert")
    assert ours.inventory.frame.equals(theirs.inventory.frame)
    assert ours.encode_batch(HARD).ids.tolist() == theirs.encode_batch(HARD).ids.tolist()


RWKV = "1 '\\x00' 1\n2 ' a' 2\n3 \"it's\" 4\n4 b'\\xe6\\x97' 2\n6 '日\\n' 4\n7 'a' 1\n8 '\\\\' 1\n"


@pytest.fixture(name="rwkv")
def rwkv_fixture(tmp_path):
    def read(text):
        path = tmp_path / "rwkv.txt"
        path.write_bytes(text.encode())
        return wordlist.from_rwkv(path)

    return read


def test_rwkv_literals(rwkv):
    tokenizer = rwkv(RWKV)
    assert tokenizer.inventory.frame["bytes"].to_list() == [
        *(None, b"\x00", b" a", b"it's", b"\xe6\x97", None, "日\n".encode(), b"a", b"\\")
    ]
    assert tokenizer.encode("a a\x00it's") == [7, 2, 1, 3]
    assert tokenizer.name == "rwkv"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("x 'a' 1", "no id"),
        ("-1 'a' 1", "no id"),
        ("99999999999 'a' 1", "no id"),
        ("1 'a'", "no id"),
        ("1 'a' 2", "a literal of 1 bytes"),
        ("1 '' 0", "a literal of 0 bytes"),
        ("1 'a 1", "no literal"),
        ("1 ['a'] 1", "no literal"),
        ("1 __import__('os') 1", "no literal"),
        ("1 'a' + 'b' 2", "fetch"),
        ("1 '\\x' 1", "fetch"),
        ("1 b'é' 2", "fetch"),
        (f"1 '{'a' * 5000}' 5000", "more than 4096 bytes"),
    ],
)
def test_malformed_rwkv_lines_are_named(rwkv, line, reason):
    with pytest.raises(UnreadableFile, match=r"line 2 of .*rwkv\.txt") as caught:
        rwkv(f"5 'z' 1\n{line}\n")
    assert reason in str(caught.value)


@given(st.lists(st.text(min_size=1, max_size=8) | st.binary(min_size=1, max_size=8), min_size=1, max_size=8))
def test_written_rwkv_lines_are_read_back(tmp_path_factory, entries):
    lines = [
        f"{index} {entry!r} {len(entry.encode() if isinstance(entry, str) else entry)}"
        for index, entry in enumerate(entries)
    ]
    path = tmp_path_factory.getbasetemp() / "round.txt"
    path.write_bytes("\n".join(lines).encode())
    expected = [entry.encode() if isinstance(entry, str) else entry for entry in entries]
    assert wordlist.from_rwkv(path).inventory.pieces == expected


@pytest.mark.vocabs
def test_rwkv_world(need):
    path = need("rwkv")
    tokenizer = wordlist.from_rwkv(path)
    assert (len(tokenizer.inventory), tokenizer.inventory.rows_needed) == (65_529, 65_530)
    check_tokenizer(tokenizer)
    by_length = {}
    for token, piece in enumerate(tokenizer.inventory.pieces):
        by_length.setdefault(len(piece), {})[piece] = token
    for text in HARD:
        data, here, expected = text.encode(), 0, []
        while here < len(data):
            size = next(n for n in range(128, 0, -1) if data[here : here + n] in by_length.get(n, {}))
            expected.append(by_length[size][data[here : here + size]])
            here += size
        assert tokenizer.encode(text) == expected
