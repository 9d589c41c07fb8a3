"""Rank files against Python's own base64 and tiktoken's loader."""

from __future__ import annotations

import base64

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from tests import vocabs
from workbench.adapters import load
from workbench.adapters.ranks import parse
from workbench.errors import UnreadableFile

tables = st.dictionaries(st.binary(min_size=1, max_size=6), st.integers(0, 2**31), max_size=12)


def line(piece: bytes, rank: int, gap: bytes = b" ") -> bytes:
    return base64.b64encode(piece) + gap + str(rank).encode()


@given(tables, st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_what_was_written_is_read(ranks, end, closed):
    data = end.join(line(piece, rank) for piece, rank in ranks.items()) + (end if closed else b"")
    found = parse(data, "x")
    assert found == ranks
    assert list(found) == list(ranks)


@given(tables.filter(bool), st.sampled_from([b"  ", b"\t", b" \t"]))
def test_blank_lines_and_other_spaces_are_passed_over(ranks, gap):
    data = b"\n\n".join(line(piece, rank, gap) for piece, rank in ranks.items())
    assert parse(b"\n" + data + b"\n \n", "x") == ranks


def test_of_equal_entries_the_last_holds():
    assert parse(line(b"a", 1) + b"\n" + line(b"a", 2), "x") == {b"a": 2}


@pytest.mark.parametrize(
    "bad",
    [
        b"YQ==",
        b"YQ= 0",
        b"YQ== x",
        b"YQ== 0 1",
        b"# 0",
        b"\xff\xfe 0",
        b"YQ== 1.0",
        b"YQ== 0\x00",
        b'"YQ==" 0',
    ],
)
def test_a_line_that_is_none_is_named(bad):
    data = b"\n".join([line(b"a", 0), line(b"b", 1), bad, line(b"c", 2)])
    with pytest.raises(UnreadableFile, match=r"line 3 of some\.tiktoken holds"):
        parse(data, "some.tiktoken")


@pytest.mark.vocabs
@pytest.mark.parametrize("name", ["gpt2", "p50k", "cl100k", "o200k"])
def test_an_encoding_by_name_is_tiktokens_own(need, name):
    need(name)
    encoding = vocabs.ITEMS[name].encoding
    own = tiktoken.get_encoding(encoding)
    ours = load(f"tiktoken:{encoding}").engine.encoding
    assert ours._mergeable_ranks == own._mergeable_ranks
    assert (ours.name, ours._pat_str, ours._special_tokens) == (own.name, own._pat_str, own._special_tokens)
    text = "naïve 日本 <|endoftext|> 12345 don't"
    assert ours.encode(text, allowed_special="all") == own.encode(text, allowed_special="all")
