"""The vocabulary in a GGUF file's header, and its tokenizer where the header tells enough to rebuild it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
import regex

from workbench.adapters import gguf_header, spm_proto
from workbench.adapters.hf_vocab import BYTE_ENTRY, SPACE_MARK, decode_byte_level
from workbench.adapters.unencodable import UnencodableEngine
from workbench.errors import SutureError, UnreadableFile
from workbench.inventory import MAX_ROWS, Inventory
from workbench.tokenizer import Pipeline, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

PREFIX = "tokenizer."
EMBEDDING = "token_embd.weight"
NAMES = {"gpt2": "BPE", "llama": "BPE", "gemma4": "BPE", "t5": "Unigram", "bert": "WordPiece"}
NAMES["rwkv"] = "longest match"
"""Kinds of vocabulary that are known, by the word in the file, with the model that each means."""

KINDS = {2: "special", 3: "special", 4: "added", 5: "unused", 6: "byte"}
"""Kinds of an entry by its type in the file; any other type is a learned piece."""


ESCAPE = regex.compile(rb"\\(?:x([0-9a-fA-F]{2})|(.))", regex.DOTALL)
ESCAPED = {b"t": b"\t", b"n": b"\n", b"r": b"\r"}


class UnbuildableError(SutureError):
    """What a header lacks for its tokenizer to be rebuilt; shown as a note of the inventory."""


class Vocabulary(NamedTuple):
    """What a header says of its tokenizer.

    Attributes:
        model: the word for its kind, a key of ``NAMES``.
        texts: each id's text, as written.
        types: each id's type.
        scores: each id's score, or None.
        merges: the merges as written, or None.
        fields: all fields of the tokenizer, by the rest of their keys.
        rows: rows of the embedding matrix, where its shape is told.
        notes: what was assumed.
    """

    model: str
    texts: list[str]
    types: NDArray[np.int64]
    scores: NDArray[np.float32] | None
    merges: list[str] | None
    fields: dict[str, Any]
    rows: int | None
    notes: tuple[str, ...]


def from_path(path: str | Path, name: str | None = None) -> Tokenizer:
    """Reads the vocabulary of a GGUF file; its tensors are not touched.

    Where the tokenizer cannot be rebuilt, the inventory is given all the same, a note says why, and
    encoding raises a sentence.

    Args:
        path: the file.
        name: short name; by default the file's stem.

    Raises:
        UnreadableFile: no GGUF file, truncated, or without a vocabulary of a known kind.
    """
    label, source = name or Path(path).stem, str(path)
    vocabulary = _vocabulary(gguf_header.read(path, PREFIX), source)
    columns = _columns(vocabulary)
    inventory = Inventory.build(label, source, columns, rows=vocabulary.rows, notes=vocabulary.notes)
    try:
        built = BUILDERS[vocabulary.model](vocabulary, label, source)
    except SutureError as error:
        reason = str(error).replace(";", ",")
        note = f"only the inventory could be read: {reason}"
        inventory = replace(inventory, notes=(*inventory.notes, note))
        pipeline = Pipeline(NAMES[vocabulary.model], notes=inventory.notes)
        return Tokenizer(inventory, pipeline, UnencodableEngine(source, reason))
    notes = tuple(dict.fromkeys((*vocabulary.notes, *built.inventory.notes)))
    inventory = replace(inventory, merge_source=built.inventory.merge_source, notes=notes)
    return replace(built, inventory=inventory, pipeline=replace(built.pipeline, notes=notes))


def _vocabulary(header: gguf_header.Header, source: str) -> Vocabulary:
    fields = {key.removeprefix("tokenizer.ggml."): value for key, value in header.fields.items()}
    model, tokens = fields.get("model"), fields.get("tokens")
    if model not in NAMES or not isinstance(tokens, list) or not 0 < len(tokens) < MAX_ROWS:
        what = f"a vocabulary of kind {model!r}" if model is not None and tokens else "no vocabulary"
        raise UnreadableFile(
            f"a GGUF file must hold a vocabulary of one of the kinds {', '.join(NAMES)}; "
            f"{source} holds {what}; give the model's own tokenizer file"
        )
    types, scores = fields.get("token_type"), fields.get("scores")
    notes: tuple[str, ...] = ()
    for column in (types, scores):
        if column is not None and (not isinstance(column, np.ndarray) or len(column) < len(tokens)):
            raise UnreadableFile(
                f"a GGUF vocabulary needs one type and one score an entry; {source} has fewer than its "
                f"{len(tokens)} entries; fetch it again"
            )
    if types is None:
        types = np.ones(len(tokens))
        notes = ("the file tells no types, so all entries count as learned pieces",)
    shape = header.shapes.get(EMBEDDING)
    merges = fields.get("merges")
    return Vocabulary(
        model,
        _decoded(tokens, source),
        types[: len(tokens)].astype(np.int64),
        None if scores is None else scores[: len(tokens)].astype(np.float32),
        _decoded(merges, source) if isinstance(merges, list) else None,
        fields,
        int(shape[-1]) if shape else None,
        notes,
    )


def _decoded(strings: list[bytes], source: str) -> list[str]:
    try:
        return [string.decode() for string in strings]
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"text in a GGUF file must be UTF-8; {source} holds {error.object[:40]!r}; "
            "convert the model again"
        ) from None


def _columns(vocabulary: Vocabulary) -> dict[str, Any]:
    """Columns of the inventory: bytes by the kind of vocabulary, kinds by the types."""
    text, kind = pl.col("text"), pl.col("kind")
    frame = pl.DataFrame({"text": pl.Series(vocabulary.texts, dtype=pl.String), "type": vocabulary.types})
    frame = frame.with_columns(
        id=pl.int_range(pl.len(), dtype=pl.Int32),
        kind=pl.col("type").replace_strict(KINDS, default="piece", return_dtype=pl.String),
    )
    literal = kind.is_in(["special", "added"])
    position = pl.lit("any")
    if vocabulary.model in ("gpt2", "rwkv"):
        decode = decode_byte_level if vocabulary.model == "gpt2" else _unescaped
        frame = frame.with_columns(decoded=pl.Series(decode(vocabulary.texts), dtype=pl.Binary))
        spelled = pl.when(literal).then(text.cast(pl.Binary)).otherwise("decoded")
    elif vocabulary.model == "bert":
        initial = text.str.starts_with(SPACE_MARK) | (text.str.starts_with("[") & text.str.ends_with("]"))
        place = pl.when(initial).then(pl.lit("initial")).otherwise(pl.lit("inner"))
        position = pl.when(literal).then(pl.lit("any")).otherwise(place)
        spelled = pl.when(literal).then(text).otherwise(text.str.strip_prefix(SPACE_MARK)).cast(pl.Binary)
    else:
        single = (kind == "byte") & text.str.contains(BYTE_ENTRY)
        plain = text.str.replace_all(SPACE_MARK, " ", literal=True)
        value = pl.when(single).then(text.str.slice(3, 2)).str.decode("hex", strict=False)
        whole = pl.when(kind == "special").then(text).otherwise(plain).cast(pl.Binary)
        spelled = pl.when(single).then(value).otherwise(whole)
    frame = frame.select("id", "kind", bytes=spelled, position=position)
    if vocabulary.scores is not None:
        frame = frame.with_columns(score=pl.Series(vocabulary.scores))
    return frame.to_dict()


def _unescaped(texts: list[str]) -> list[bytes]:
    """Bytes of RWKV entries, which are written with the escapes of a Python bytes literal."""

    def byte(match: regex.Match[bytes]) -> bytes:
        code, letter = match.group(1, 2)
        return bytes([int(code, 16)]) if code else ESCAPED.get(letter, letter)

    return [ESCAPE.sub(byte, text.encode()) if "\\" in text else text.encode() for text in texts]


def _sentencepiece(vocabulary: Vocabulary, name: str, source: str) -> Tokenizer:
    """Llama's and T5's kinds: the columns of a SentencePiece model, put back into one."""
    from workbench.adapters import spm

    if vocabulary.scores is None:
        raise UnbuildableError("a vocabulary of pieces needs scores, and the file has none")
    llama, fields = vocabulary.model == "llama", vocabulary.fields
    types = vocabulary.types.copy()
    types[(types < spm_proto.NORMAL) | (types > spm_proto.BYTE)] = spm_proto.NORMAL
    empty = np.array([not text for text in vocabulary.texts])
    types[empty] = spm_proto.UNUSED
    unknown = int(fields.get("unknown_token_id", 0 if llama else 2))
    if not (types == spm_proto.UNKNOWN).any() and unknown < len(types):
        types[unknown] = spm_proto.UNKNOWN
    own = types == spm_proto.USER_DEFINED
    pieces = [
        (text.replace(" ", SPACE_MARK) if mine else text or f"[EMPTY_{index}]").encode()
        for index, (text, mine) in enumerate(zip(vocabulary.texts, own.tolist(), strict=True))
    ]
    charsmap = fields.get("precompiled_charsmap")
    data = spm_proto.write(
        pieces,
        vocabulary.scores.tolist(),
        types.tolist(),
        "BPE" if llama else "Unigram",
        dummy_prefix=bool(fields.get("add_space_prefix", llama)),
        remove_extra=bool(fields.get("remove_extra_whitespaces", False)),
        charsmap=charsmap.tobytes() if isinstance(charsmap, np.ndarray) else b"",
    )
    return spm.from_proto(data, name, source, extra=("rebuilt as a SentencePiece model from the header",))


def _byte_level(vocabulary: Vocabulary, name: str, source: str) -> Tokenizer:
    """GPT-2's kind: byte-level BPE with the patterns that the file names."""
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers

    from workbench.adapters import gguf_pre, hf

    texts, merges = vocabulary.texts, vocabulary.merges
    vocab = {text: index for index, text in enumerate(texts)}
    if merges is None or len(vocab) < len(texts):
        lack = "the file has none" if merges is None else "two entries of the file have the same text"
        raise SutureError(
            f"byte-level BPE needs merges and distinct entries; {lack}; convert the model again"
        )
    pre = vocabulary.fields.get("pre")
    patterns = gguf_pre.PATTERNS.get(str(pre) if pre else "default", gguf_pre.GPT2)
    digest = Pipeline("BPE", pattern="\n".join(patterns)).pattern_digest
    notes: tuple[str, ...] = ("a GGUF file tells of no normaliser, so none is assumed",)
    if not pre:
        notes += (f"the file names no pre-tokenizer, so llama.cpp's default (pattern {digest}) is assumed",)
    elif pre not in gguf_pre.PATTERNS:
        notes += (
            f"the pattern of pre-tokenizer {pre!r} is unknown, so GPT-2's (pattern {digest}) is assumed",
        )
    pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
    try:
        model = models.BPE(vocab, pairs, ignore_merges=pre in gguf_pre.IGNORE_MERGES)
        backend = tokenizers.Tokenizer(model)
        cuts = [pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated") for pattern in patterns]
        last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        backend.pre_tokenizer = pre_tokenizers.Sequence([*cuts, last])
        backend.decoder = decoders.ByteLevel()
        literal = np.flatnonzero(np.isin(vocabulary.types, (2, 3, 4))).tolist()
        own = vocabulary.types == spm_proto.USER_DEFINED
        backend.add_tokens(
            [tokenizers.AddedToken(texts[i], normalized=False, special=not own[i]) for i in literal]
        )
    except Exception as error:  # noqa: BLE001 the library raises nothing finer
        raise UnbuildableError(f"its merges are not made of its entries ({str(error)[:120]})") from None
    return hf.from_tokenizer(backend, name, source, json.loads(backend.to_str()), notes=notes)


def _wordpiece(vocabulary: Vocabulary, name: str, source: str) -> Tokenizer:
    """BERT's kind: a mark before entries that begin a word, where BERT marks those that continue one."""
    from workbench.adapters import wordlist

    def original(text: str) -> str:
        whole = text.startswith(SPACE_MARK) or (text.startswith("[") and text.endswith("]"))
        return text.removeprefix(SPACE_MARK) if whole else wordlist.INNER + text

    literal = np.isin(vocabulary.types, (2, 3, 4)).tolist()
    texts = [text if kept else original(text) for text, kept in zip(vocabulary.texts, literal, strict=True)]
    fields = vocabulary.fields
    config = {
        "do_lower_case": fields.get("normalizer.lowercase"),
        "strip_accents": fields.get("normalizer.strip_accents"),
    }
    unknown = fields.get("unknown_token_id")
    if isinstance(unknown, int) and unknown < len(texts):
        config["unk_token"] = texts[unknown]
    return wordlist.wordpiece(texts, name, source, config)


def _longest(vocabulary: Vocabulary, name: str, source: str) -> Tokenizer:
    from workbench.adapters.longest import longest_match

    kinds = [KINDS.get(kind, "piece") for kind in vocabulary.types.tolist()]
    pieces = _unescaped(vocabulary.texts)
    rows = [(index, piece) for index, piece in enumerate(pieces) if kinds[index] == "piece" and piece]
    special = {index: text for index, text in enumerate(vocabulary.texts) if kinds[index] == "special"}
    return longest_match(rows, name, source, special)


def _unknown_kind(vocabulary: Vocabulary, name: str, source: str) -> Tokenizer:  # noqa: ARG001 as all builders
    raise UnbuildableError(f"how text of kind {vocabulary.model} is cut is not known here")


BUILDERS: dict[str, Callable[[Vocabulary, str, str], Tokenizer]] = {
    "gpt2": _byte_level,
    "llama": _sentencepiece,
    "t5": _sentencepiece,
    "bert": _wordpiece,
    "rwkv": _longest,
    "gemma4": _unknown_kind,
}
