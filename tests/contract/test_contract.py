"""The contract of segmenters and tokenizers, over small trained ones, real ones, and texts made up."""

from __future__ import annotations

from functools import cache

import pytest
import tokenizers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, trainers

from tests import builders
from workbench.adapters import load
from workbench.testing import HARD, check_tokenizer

CORPUS = [
    "the cat sat on the mat and the dog barked at the cat",
    "hello world, hello café, naïve façade",
    "Привет мир, мир и война",
    "日本語のテキスト 日本 語",
    "हिन्दी भाषा हिन्दी",
    "for i in range(10): print(i)",
    "1234 5678 1999 2023",
] * 20
UNK, BERT_UNK = "<unk>", "[UNK]"
FALLBACK = [f"<0x{byte:02X}>" for byte in range(256)]


def train(model, trainer, special=(), size=300, **parts) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(model)
    for name, part in parts.items():
        setattr(backend, name, part)
    options = {} if trainer is trainers.WordLevelTrainer else {"show_progress": False}
    if trainer is trainers.UnigramTrainer:
        options["unk_token"] = UNK
    if isinstance(model, models.BPE) and model.end_of_word_suffix:
        options["end_of_word_suffix"] = model.end_of_word_suffix
    if isinstance(parts.get("pre_tokenizer"), pre_tokenizers.ByteLevel):
        options["initial_alphabet"] = pre_tokenizers.ByteLevel.alphabet()
    backend.train_from_iterator(CORPUS, trainer(vocab_size=size, special_tokens=list(special), **options))
    return backend


def byte_level(normalizer=None, *, prefix=False):
    backend = train(
        models.BPE(),
        trainers.BpeTrainer,
        ["<|endoftext|>"],
        400,
        pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=prefix),
        decoder=decoders.ByteLevel(),
    )
    backend.normalizer = normalizer
    return backend


def with_added_tokens():
    backend = byte_level()
    backend.add_tokens(
        [
            "né",
            AddedToken("ham", single_word=True),
            AddedToken("the", lstrip=True, rstrip=True),
            AddedToken("é", normalized=True),
        ]
    )
    return backend


def wordpiece(**options):
    return train(
        models.WordPiece(unk_token=BERT_UNK),
        trainers.WordPieceTrainer,
        ["[UNK]", "[CLS]", "[SEP]"],
        normalizer=normalizers.BertNormalizer(**options),
        pre_tokenizer=pre_tokenizers.BertPreTokenizer(),
        decoder=decoders.WordPiece(),
    )


def unigram(*steps):
    return train(
        models.Unigram(),
        trainers.UnigramTrainer,
        ["<unk>", "<s>"],
        normalizer=normalizers.Sequence([normalizers.NFKC(), *steps]),
        pre_tokenizer=pre_tokenizers.Metaspace(),
        decoder=decoders.Metaspace(),
    )


def byte_fallback(*, listed_as_special=True):
    backend = train(
        models.BPE(unk_token=UNK, byte_fallback=True, fuse_unk=True),
        trainers.BpeTrainer,
        ["<unk>", "<s>", *FALLBACK],
        600,
        pre_tokenizer=pre_tokenizers.Metaspace(),
    )
    if not listed_as_special:
        backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        backend.pre_tokenizer = None
    return backend


def word_level(pre_tokenizer, *steps):
    backend = train(
        models.WordLevel(unk_token=UNK),
        trainers.WordLevelTrainer,
        ["<unk>", "[PAD]"],
        pre_tokenizer=pre_tokenizer,
    )
    if steps:
        backend.normalizer = normalizers.Sequence(list(steps))
    return backend


def character_bpe(**options):
    return train(
        models.BPE(**options),
        trainers.BpeTrainer,
        ["<unk>"] if options else [],
        pre_tokenizer=pre_tokenizers.Whitespace(),
    )


def sentencepiece(size, kind, **options):
    import sentencepiece

    model = builders.sentencepiece_model(CORPUS, size, kind, **options)
    return sentencepiece.SentencePieceProcessor(model_proto=model)


TRAINED = {
    "byte-level BPE": byte_level,
    "byte-level BPE, space put before": lambda: byte_level(prefix=True),
    "byte-level BPE, NFC": lambda: byte_level(normalizers.NFC()),
    "byte-level BPE, lowercased": lambda: byte_level(normalizers.Lowercase()),
    "byte-level BPE, trimmed": lambda: byte_level(normalizers.Strip()),
    "byte-level BPE, added tokens": with_added_tokens,
    "WordPiece, BERT's normaliser": wordpiece,
    "WordPiece, cased": lambda: wordpiece(lowercase=False, strip_accents=False),
    "Unigram, NFKC, Metaspace": unigram,
    "Unigram, runs of spaces joined": lambda: unigram(
        normalizers.Nmt(), normalizers.Replace(tokenizers.Regex(" {2,}"), " ")
    ),
    "BPE, byte fallback, Metaspace": byte_fallback,
    "BPE, byte fallback, space marks by normaliser": lambda: byte_fallback(listed_as_special=False),
    "WordLevel": lambda: word_level(pre_tokenizers.Whitespace()),
    "WordLevel, accents off in steps": lambda: word_level(
        pre_tokenizers.WhitespaceSplit(),
        normalizers.Strip(),
        normalizers.Lowercase(),
        normalizers.NFKD(),
        normalizers.StripAccents(),
    ),
    "BPE without unknown token": character_bpe,
    "BPE, unknown characters fused": lambda: character_bpe(unk_token=UNK, fuse_unk=True),
    "BPE, ends of words marked": lambda: character_bpe(unk_token=UNK, end_of_word_suffix="</w>"),
    "tiktoken": lambda: builders.encoding([b"th", b"the", b"\xe2\x82", b" t"], pattern=builders.CL100K),
    "SentencePiece Unigram": lambda: sentencepiece(300, "unigram"),
    "SentencePiece BPE, byte fallback": lambda: sentencepiece(600, "bpe", byte_fallback=True),
    "SentencePiece, as is": lambda: sentencepiece(
        600,
        "bpe",
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=False,
    ),
}

REAL = (
    *("gpt2", "p50k", "cl100k", "o200k", "qwen", "tekken", "rwkv", "mistral-v1", "mistral-v3"),
    *("bert", "bert-vocab", "deepseek", "llama3", "qwen3", "gemma3"),
)


@cache
def trained(name: str):
    return load(TRAINED[name](), name)


def slices(text: str):
    """Short stretches of a hard text, cut anywhere."""
    start, length = st.integers(0, min(len(text) - 1, 60)), st.integers(1, 8)
    return st.tuples(start, length).map(lambda pair: text[pair[0] : sum(pair)])


PARTS = st.one_of(
    st.sampled_from([text for text in HARD if text]).flatmap(slices),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.sampled_from(["the cat", " ", "hello", "мир", "日本", "<s>", "<unk>", "[UNK]", "▁", "<0x41>", "\n"]),
)


@pytest.mark.parametrize("name", TRAINED)
def test_small_tokenizers_keep_the_contract(name):
    check_tokenizer(trained(name))


@pytest.mark.parametrize("name", TRAINED)
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(texts=st.lists(st.lists(PARTS, max_size=6).map("".join), min_size=1, max_size=4))
def test_small_tokenizers_keep_the_contract_on_made_up_texts(name, texts):
    check_tokenizer(trained(name), texts)


@pytest.mark.vocabs
@pytest.mark.parametrize("name", REAL)
def test_real_tokenizers_keep_the_contract(need, name):
    spec = f"{need(name)}#pattern=cl100k_base" if name == "qwen" else need(name)
    tokenizer = load(spec, name)
    check_tokenizer(tokenizer)
    control = tokenizer.inventory.frame.filter(kind="special")["bytes"].head(20).to_list()
    check_tokenizer(tokenizer, [f"a {piece.decode()}b {piece.decode()}" for piece in control])
