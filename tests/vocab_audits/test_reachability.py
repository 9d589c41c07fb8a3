"""Reachability: every witness encodes as it says, and nothing that a text shows is called blocked."""

from __future__ import annotations

from functools import cache
from itertools import product

import polars as pl
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from tests import builders, vocabs
from vocab_audits.reachability import CLASSES, classify, reachability
from workbench.adapters import load

CORPUS = [
    "the cat sat on the mat and the dog barked at the cats, barking loudly",
    "hello world! Hello café, naïve façade; unhappily, unhelpful",
    "Привет мир, мир и война",
    "日本語のテキスト 日本 語",
    "for i in range(10):\n    print(i)\n\n// done",
    "1234 5678 1999 2023 🙂🙃",
] * 20

UNK, BERT_UNK = "<unk>", "[UNK]"

CONTEXT_ONLY = [3413, 3914, 24091, 48235, 63100, 65447, 99494, 125141, 147008, 175653, 182292, 193819]
"""Entries of o200k whose own text is encoded as something else, though longer texts hold them."""


def train(model, trainer, size=400, special=(), **parts) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(model)
    for name, part in parts.items():
        setattr(backend, name, part)
    options = {"unk_token": "<unk>"} if trainer is trainers.UnigramTrainer else {}
    if isinstance(parts.get("pre_tokenizer"), pre_tokenizers.ByteLevel):
        options["initial_alphabet"] = pre_tokenizers.ByteLevel.alphabet()
    made = trainer(vocab_size=size, special_tokens=list(special), show_progress=False, **options)
    backend.train_from_iterator(CORPUS, made)
    return backend


def byte_level(**options):
    return train(
        models.BPE(),
        trainers.BpeTrainer,
        special=["<|end|>"],
        pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False, **options),
        decoder=decoders.ByteLevel(),
    )


def wordpiece():
    return train(
        models.WordPiece(unk_token=BERT_UNK),
        trainers.WordPieceTrainer,
        special=["[UNK]", "[CLS]"],
        normalizer=normalizers.BertNormalizer(),
        pre_tokenizer=pre_tokenizers.BertPreTokenizer(),
        decoder=decoders.WordPiece(),
    )


def unigram():
    return train(
        models.Unigram(),
        trainers.UnigramTrainer,
        special=["<unk>"],
        pre_tokenizer=pre_tokenizers.Metaspace(),
        decoder=decoders.Metaspace(),
    )


def byte_fallback():
    listed = [f"<0x{byte:02X}>" for byte in range(256)]
    return train(
        models.BPE(unk_token=UNK, byte_fallback=True),
        trainers.BpeTrainer,
        size=600,
        special=["<unk>", *listed],
        pre_tokenizer=pre_tokenizers.Metaspace(),
    )


def sentencepiece():
    import sentencepiece

    model = builders.sentencepiece_model(CORPUS, 600, "bpe", byte_fallback=True)
    return sentencepiece.SentencePieceProcessor(model_proto=model)


def ranks():
    extra = [b"th", b"the", b" t", b" th", b" the", b"\xe2\x82", b"\xe6\x97", b"\n\n", b"//", b"\n//", b"12"]
    return builders.encoding(extra, pattern=builders.O200K, special={"<|end|>": 300})


TRAINED = {
    "byte-level BPE": byte_level,
    "byte-level BPE without pattern": lambda: byte_level(use_regex=False),
    "WordPiece": wordpiece,
    "Unigram": unigram,
    "BPE, byte fallback": byte_fallback,
    "SentencePiece BPE": sentencepiece,
    "tiktoken": ranks,
}


@cache
def trained(name: str):
    tokenizer = load(TRAINED[name](), name)
    return tokenizer, classify(tokenizer)


def assert_witnesses_hold(tokenizer, table) -> None:
    """Each class is what the tokenizer itself says of the entry's text and of its witness."""
    rows = table.filter(pl.col("witness").is_not_null())
    encoded = tokenizer.encode_batch(rows["witness"].to_list())
    for index, (token, name, piece) in enumerate(rows.select("token_id", "class", "bytes").iter_rows()):
        ids = encoded.row(index).tolist()
        assert token in ids, (token, name)
        if name == "ok":
            assert ids == [token]
            text = piece.decode()
            assert rows["witness"][index] in (text, text.removeprefix(" "))
    named = dict(
        table.select("class", "witness").group_by("class").agg(pl.col("witness").count()).iter_rows()
    )
    sizes = dict(table["class"].cast(pl.String).value_counts().iter_rows())
    for name in ("ok", "context_only"):
        assert named.get(name, 0) == sizes.get(name, 0)
    blocked = table.filter(pl.col("class").cast(pl.String).str.ends_with("_blocked"))
    assert blocked["witness"].null_count() == blocked.height
    assert blocked["reason"].null_count() == 0


def name_of(table, token: int) -> str:
    return table["class"][token]


def seen(tokenizer, texts) -> set[int]:
    return set(tokenizer.encode_batch(texts).ids.tolist())


REACHED = ("ok", "context_only", "not_utf8_alone", "special")


@pytest.mark.parametrize("name", TRAINED)
def test_a_witness_contains_the_entry_when_encoded(name):
    tokenizer, table = trained(name)
    assert table.height == tokenizer.inventory.rows_needed
    assert table["token_id"].to_list() == list(range(table.height))
    assert_witnesses_hold(tokenizer, table)
    texts = tokenizer.inventory.texts
    kinds = tokenizer.inventory.frame["kind"]
    for token, label in enumerate(table["class"]):
        assert (label == "gap") == (kinds[token] == "gap")
        assert (label == "special") == (kinds[token] in ("special", "unused"))
        assert (label == "not_utf8_alone") == (
            kinds[token] in ("piece", "byte", "added") and texts[token] is None
        )


@pytest.mark.parametrize("name", TRAINED)
def test_no_entry_of_a_trained_vocabulary_that_its_corpus_shows_is_blocked(name):
    tokenizer, table = trained(name)
    shown = seen(tokenizer, CORPUS)
    assert {name_of(table, token) for token in shown} <= set(REACHED)
    assert len(shown) > 30


@pytest.mark.parametrize("name", TRAINED)
@settings(deadline=None, max_examples=40)
@given(
    text=st.text(
        st.one_of(st.sampled_from(" \nathe,.1日本мир🙂é"), st.characters(exclude_categories=["Cs"])),
        max_size=20,
    )
)
def test_no_entry_that_a_text_shows_is_blocked(name, text):
    tokenizer, table = trained(name)
    assert {name_of(table, token) for token in seen(tokenizer, [text])} <= set(REACHED)


def test_no_continuing_entry_of_a_trained_wordpiece_is_called_unreachable():
    tokenizer, table = trained("WordPiece")
    inner = table.filter(tokenizer.inventory.frame["position"] == "inner")
    assert inner.height > 50
    assert set(inner["class"]) == {"context_only"}
    alone = tokenizer.encode_batch([piece.decode() for piece in inner["bytes"]])
    own = [alone.row(index).tolist() == [token] for index, token in enumerate(inner["token_id"])]
    assert not any(own)  # the plain test of encoding an entry's text condemns every one of them


LETTERS = ("a", "b")
EVERY = ["".join(letters) for size in range(1, 9) for letters in product(LETTERS, repeat=size)]
words = st.text(st.sampled_from(LETTERS), min_size=2, max_size=4)


def brute_force(tokenizer) -> set[int]:
    return seen(tokenizer, EVERY)


def as_merges(pieces):
    """A vocabulary of these pieces, and a merge for each whose two parts stand in it before."""
    known, merges = list(LETTERS), []
    for piece, at in pieces:
        if piece in known:
            continue
        if piece[:at] in known and piece[at:] in known:
            merges.append(f"{piece[:at]} {piece[at:]}")
        known.append(piece)
    return known, merges


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(words, st.integers(1, 3)).filter(lambda pair: pair[1] < len(pair[0])), max_size=8))
def test_bpe_classes_are_those_of_all_texts_up_to_eight_letters(pieces):
    vocabulary, merges = as_merges(pieces)
    tokenizer = load(builders.bpe(vocabulary, merges))
    table = classify(tokenizer)
    reached = brute_force(tokenizer)
    for token, (piece, label) in enumerate(table.select("bytes", "class").iter_rows()):
        alone = tokenizer.encode(piece.decode()) == [token]
        assert label == ("ok" if alone else "merge_blocked"), piece
        assert (token in reached) == alone, piece


@settings(deadline=None, max_examples=60)
@given(
    st.lists(words, max_size=4, unique=True),
    st.lists(st.text(st.sampled_from(LETTERS), min_size=1, max_size=3), max_size=5, unique=True),
)
def test_wordpiece_classes_are_those_of_all_texts_up_to_eight_letters(initial, inner):
    marked = [f"##{piece}" for piece in inner]
    tokenizer = load(builders.wordpiece([*LETTERS, *initial, *marked]))
    table = classify(tokenizer)
    reached = brute_force(tokenizer)
    for token, label in enumerate(table["class"].to_list()[1:], 1):
        assert (label in ("ok", "context_only")) == (token in reached), table.row(token)
    assert_witnesses_hold(tokenizer, table)


scored = st.dictionaries(words, st.floats(-9, -1), max_size=6)


@settings(deadline=None, max_examples=60)
@given(scored)
def test_unigram_classes_are_those_of_all_texts_up_to_eight_letters(pieces):
    tokenizer = load(builders.unigram({"a": -3.0, "b": -4.0, **pieces}))
    table = classify(tokenizer)
    reached = brute_force(tokenizer)
    for token, label in enumerate(table["class"].to_list()[1:], 1):
        assert (label in ("ok", "context_only")) == (token in reached), table.row(token)
    assert_witnesses_hold(tokenizer, table)


def blocked(tokenizer, piece: bytes) -> tuple[str, str]:
    table = classify(tokenizer)
    (row,) = table.filter(pl.col("bytes") == piece).iter_rows(named=True)
    assert row["witness"] is None
    return row["class"], row["reason"]


def test_what_the_normaliser_changes_is_blocked_by_it():
    tokenizer = load(builders.wordpiece(["the", "The", "the\u0301"]))
    assert blocked(tokenizer, b"The") == ("normalizer_blocked", "the normaliser turns it into 'the'")
    assert blocked(tokenizer, "the\u0301".encode())[0] == "normalizer_blocked"
    kept = load(builders.wordpiece(["the", "The"], lowercase=False))
    assert set(classify(kept)["class"][1:]) == {"ok"}


def test_what_the_pre_tokenizer_cuts_is_blocked_by_it():
    tokenizer = load(builders.wordpiece(["a", "don't", "##!", "##b"]))
    assert blocked(tokenizer, b"don't") == ("pretok_blocked", "the pre-tokenizer cuts it into 3 pre-tokens")
    name, reason = blocked(tokenizer, b"!")
    assert (name, "never continues a word" in reason) == ("pretok_blocked", True)
    assert classify(tokenizer).filter(pl.col("bytes") == b"b")["class"].to_list() == ["context_only"]


def test_a_pattern_that_cuts_in_every_context_is_named():
    tokenizer = load(builders.byte_level([b"ab12"], [], pattern=r"\p{L}+|\p{N}+"))
    assert blocked(tokenizer, b"ab12") == ("pretok_blocked", "the pre-tokenizer cuts it into 2 pre-tokens")


def test_what_the_merges_do_not_build_is_blocked_by_them():
    tokenizer = load(builders.byte_level([b"ab", b"abc", b"bc"], [(b"b", b"c")]))
    assert blocked(tokenizer, b"ab") == ("merge_blocked", "the model spells its text with ids 97, 98")
    assert blocked(tokenizer, b"abc")[0] == "merge_blocked"
    whole = load(builders.byte_level([b"ab", b"abc", b"bc"], [(b"b", b"c")], ignore_merges=True))
    assert set(classify(whole)["class"][256:]) == {"ok"}


def test_an_entry_that_only_a_longer_text_holds_is_shown_there():
    tokenizer = load(builders.encoding([b"ab"], pattern=r"ab(?=s)|[\s\S]"))
    assert classify(tokenizer).row(256, named=True) == {
        "token_id": 256, "bytes": b"ab", "class": "context_only", "witness": "abs", "reason": None,
    }  # fmt: skip


def test_an_entry_without_bytes_is_never_reached():
    assert classify(load(builders.wordpiece(["a", "##"])))["class"].to_list()[1:] == ["ok", "merge_blocked"]


@cache
def real(name: str):
    tokenizer = load(vocabs.need(name), name)
    return tokenizer, classify(tokenizer)


@pytest.mark.vocabs
def test_entries_of_o200k_that_fail_alone_are_shown_in_a_text():
    tokenizer, table = real("o200k")
    chosen = table.filter(pl.col("class") == "context_only")
    assert chosen["token_id"].to_list() == CONTEXT_ONLY
    encoded = tokenizer.encode_batch(chosen["witness"].to_list())
    assert all(token in encoded.row(index) for index, token in enumerate(CONTEXT_ONLY))
    alone = tokenizer.encode_batch([piece.decode() for piece in chosen["bytes"]])
    assert not any(alone.row(index).tolist() == [token] for index, token in enumerate(CONTEXT_ONLY))


@pytest.mark.vocabs
@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "bert", "mistral-v3"])
def test_witnesses_of_real_vocabularies_encode_as_they_say(name):
    tokenizer, table = real(name)
    assert_witnesses_hold(tokenizer, table)


@pytest.mark.vocabs
@pytest.mark.parametrize(
    ("name", "broken", "witnessed"), [("gpt2", 344, 308), ("cl100k", 773, 677), ("o200k", 1562, 1147)]
)
def test_more_broken_entries_are_shown_than_by_every_character_alone(name, broken, witnessed):
    _, table = real(name)
    rows = table.filter(pl.col("class") == "not_utf8_alone")
    assert rows.height == broken
    # Encoding each assigned character alone, after a space, after a letter and doubled shows so many.
    assert rows["witness"].count() >= witnessed
    never = [bytes([byte]) for byte in (0xC0, 0xC1, *range(0xF5, 0x100))]
    assert rows.filter(pl.col("bytes").is_in(never))["witness"].count() == 0
    assert set(table["class"]) <= set(REACHED) | {"gap"}


def test_counts_of_the_audit_are_those_of_its_table():
    tokenizer, table = trained("WordPiece")
    outcome = reachability(tokenizer, listed=3)
    counts = dict(table["class"].cast(pl.String).value_counts().iter_rows())
    found = outcome.table()
    values = dict(found.filter(pl.col("token_id").is_null()).select("measure", "value").iter_rows())
    assert {name: values[f"class.{name}"] for name in CLASSES} == {
        name: counts.get(name, 0) for name in CLASSES
    }
    listed = found.filter(pl.col("token_id").is_not_null())
    assert listed.height == min(
        3, sum(number for name, number in counts.items() if name.endswith("_blocked"))
    )
    assert outcome.tables["reachability"].drop("subject").equals(table)
