"""Small tokenizers for the tests, from compact arguments.

In byte-level ones the id of byte ``b`` is ``b`` and extra entries follow from 256 on, so that a test can
say its ids by heart.
"""

from __future__ import annotations

import io
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import tiktoken
import tokenizers
from tokenizers import AddedToken, pre_tokenizers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Added = str | AddedToken

MARK = "▁"
ANYTHING = r"[\s\S]+"

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Patterns of three families; o200k's is given without its contractions, which no test here needs."""


@cache
def byte_characters() -> tuple[str, ...]:
    """The 256 characters of byte-level BPE in order of the bytes, from upstream's own set of them.

    Characters below U+0100 stand for their own byte; the others fill the free bytes in order.
    """
    characters = sorted(pre_tokenizers.ByteLevel.alphabet())
    own = {ord(character): character for character in characters if ord(character) < 256}
    others = iter(character for character in characters if ord(character) >= 256)
    return tuple(own[byte] if byte in own else next(others) for byte in range(256))


def spelled(data: bytes) -> str:
    """Bytes in the byte alphabet."""
    return "".join(byte_characters()[byte] for byte in data)


def document(
    model: Mapping[str, Any],
    *,
    normalizer: Any = None,
    pre_tokenizer: Any = None,
    decoder: Any = None,
    post_processor: Any = None,
    padding: Any = None,
) -> tokenizers.Tokenizer:
    """A tokenizer from the parts of a tokenizer.json."""
    full = {
        "version": "1.0",
        "truncation": None,
        "padding": padding,
        "added_tokens": [],
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": post_processor,
        "decoder": decoder,
        "model": dict(model),
    }
    return tokenizers.Tokenizer.from_str(json.dumps(full))


def with_added(
    backend: tokenizers.Tokenizer, added: Iterable[Added] = (), special: Iterable[Added] = ()
) -> tokenizers.Tokenizer:
    """The same tokenizer with literal and control tokens added, in this order."""
    backend.add_tokens(list(added))
    backend.add_special_tokens(list(special))
    return backend


def bpe(
    vocab: Sequence[str] | Mapping[str, int],
    merges: Iterable[str] = (),
    *,
    ignore_merges: bool = False,
    byte_fallback: bool = False,
    unk: str | None = None,
    **parts: Any,
) -> tokenizers.Tokenizer:
    """BPE over characters; a merge is written with one space between its two sides."""
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": unk,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": byte_fallback,
        "ignore_merges": ignore_merges,
        "vocab": dict(vocab) if not isinstance(vocab, (list, tuple)) else numbered(vocab),
        "merges": [merge.split(" ") for merge in merges],
    }
    return document(model, **parts)


def numbered(entries: Iterable[str]) -> dict[str, int]:
    """Entries with ids in the order given."""
    return {entry: index for index, entry in enumerate(entries)}


def byte_level(
    extra: Sequence[bytes] = (),
    merges: Iterable[tuple[bytes, bytes]] = (),
    *,
    pattern: str | None = None,
    use_regex: bool = True,
    prefix_space: bool = False,
    trimming: bool = False,
    ignore_merges: bool = False,
    added: Iterable[Added] = (),
    special: Iterable[Added] = (),
    normalizer: Any = None,
) -> tokenizers.Tokenizer:
    """Byte-level BPE with ids 0..255 for the bytes.

    Args:
        extra: further entries, in bytes.
        merges: pairs of bytes, in order.
        pattern: pre-token pattern; without it GPT-2's, which the library keeps inside.
        use_regex: cut by GPT-2's pattern.
        prefix_space: put a space before the text.
        trimming: let the post-processor trim spaces off the library's offsets.
        ignore_merges: use an entry that spells a whole pre-token.
        added: literal added tokens.
        special: control tokens.
        normalizer: a normaliser's JSON.
    """
    inner = {
        "type": "ByteLevel",
        "add_prefix_space": prefix_space,
        "trim_offsets": True,
        "use_regex": use_regex and pattern is None,
    }
    pre: dict[str, Any] = inner
    if pattern is not None:
        split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        pre = {"type": "Sequence", "pretokenizers": [split, inner]}
    backend = bpe(
        [*byte_characters(), *map(spelled, extra)],
        [f"{spelled(left)} {spelled(right)}" for left, right in merges],
        ignore_merges=ignore_merges,
        normalizer=normalizer,
        pre_tokenizer=pre,
        decoder={**inner, "use_regex": True},
        post_processor=inner if trimming else None,
    )
    return with_added(backend, added, special)


def metaspace(
    vocab: Sequence[str] | Mapping[str, int],
    merges: Iterable[str] = (),
    *,
    scheme: str = "always",
    special: Iterable[Added] = (),
    post_processor: Any = None,
    **options: Any,
) -> tokenizers.Tokenizer:
    """BPE that writes a space as a mark and puts one before the text or its words."""
    part = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": scheme, "split": True}
    backend = bpe(vocab, merges, pre_tokenizer=part, decoder=part, post_processor=post_processor, **options)
    return with_added(backend, special=special)


def wordpiece(vocab: Sequence[str], **normaliser: Any) -> tokenizers.Tokenizer:
    """WordPiece with BERT's normaliser and pre-tokenizer; ``vocab`` follows after ``[UNK]``, id 0."""
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": numbered(["[UNK]", *vocab]),
    }
    part = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
        **normaliser,
    }
    return document(model, normalizer=part, pre_tokenizer={"type": "BertPreTokenizer"})


def unigram(pieces: Mapping[str, float], **parts: Any) -> tokenizers.Tokenizer:
    """Unigram with ``<unk>`` as id 0 and the pieces after it."""
    vocab = [["<unk>", -10.0], *([piece, score] for piece, score in pieces.items())]
    return document({"type": "Unigram", "vocab": vocab, "unk_id": 0, "byte_fallback": False}, **parts)


def word_level(words: Sequence[str], unk: str, **parts: Any) -> tokenizers.Tokenizer:
    """Whole words, cut at whitespace and punctuation."""
    model = {"type": "WordLevel", "vocab": numbered(words), "unk_token": unk}
    return document(model, pre_tokenizer={"type": "Whitespace"}, **parts)


def byte_ranks(extra: Iterable[bytes] = ()) -> dict[bytes, int]:
    """Ranks of the 256 bytes and, from 256 on, further entries."""
    pieces = [*(bytes([byte]) for byte in range(256)), *extra]
    return {piece: rank for rank, piece in enumerate(pieces)}


def encoding(
    extra: Iterable[bytes] = (),
    *,
    pattern: str = ANYTHING,
    special: Mapping[str, int] | None = None,
    ranks: Mapping[bytes, int] | None = None,
) -> tiktoken.Encoding:
    """A tiktoken encoding: the bytes and further entries, or the ranks given."""
    table = dict(ranks) if ranks is not None else byte_ranks(extra)
    return tiktoken.Encoding(
        "small", pat_str=pattern, mergeable_ranks=table, special_tokens=dict(special or {})
    )


def sentencepiece_model(corpus: Sequence[str], size: int, kind: str = "unigram", **options: Any) -> bytes:
    """A SentencePiece model trained on a few lines, as the bytes of its file."""
    import sentencepiece

    target = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus),
        model_writer=target,
        vocab_size=size,
        model_type=kind,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    return target.getvalue()
