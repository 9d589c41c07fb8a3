"""Tokenizers trained on the pre-tokens of a corpus, one objective beside another.

All but ``trained`` share one pipeline: a pattern cuts pre-tokens, and the alphabet is the 256 bytes. What
they learn from is a count of pre-tokens, so that every objective is given the very same text.
"""

from __future__ import annotations

import io
import json
import tempfile
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from workbench.adapters.hf_train import byte_level_bpe
from workbench.errors import SutureError, upstream

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tokenizers import Tokenizer

MOST = 2_000_000
"""Entries of the largest vocabulary that is trained; trainers set the memory for it aside."""

LEAST = 2
"""A pair, or a piece, seen fewer times than this is not learned."""

FED = 1 << 12
"""Pre-tokens handed to a trainer at a time."""

CONTINUES = "\u2040"
"""Marks a continuing WordPiece entry; no character of the byte alphabet, so that no text can spell it."""

LONGEST = 10_000
"""Bytes of the longest pre-token that WordPiece cuts; the library's own limit of 100 would lose text."""

SENTENCEPIECE: dict[str, Any] = {
    "input_format": "tsv",
    "model_type": "unigram",
    "hard_vocab_limit": False,
    "minloglevel": 2,
    "num_threads": 1,
    "normalization_rule_name": "identity",
    "add_dummy_prefix": False,
    "remove_extra_whitespaces": False,
    "character_coverage": 1.0,
    "split_by_unicode_script": False,
    "split_by_number": False,
    "split_by_whitespace": False,
    "max_sentencepiece_length": 48,
    "max_sentence_length": 1 << 20,
    "unk_id": 0,
    "bos_id": -1,
    "eos_id": -1,
    "pad_id": -1,
}
"""Nothing but the objective: a row a pre-token with its count, no normaliser, no rule of its own for cutting.
The longest piece is the library's 16 characters, for characters of three bytes."""


def _fed(counts: Counter[str]) -> Iterator[list[str]]:
    """The pre-tokens as often as they occur, some thousands at a time."""
    every = counts.elements()
    while some := list(islice(every, FED)):
        yield some


def _pipeline(pattern: str | None) -> Any:
    from tokenizers import Regex, pre_tokenizers

    if pattern is None:
        return pre_tokenizers.ByteLevel(add_prefix_space=False)
    whole = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), whole])


def _whole(model: Any) -> Tokenizer:
    """A tokenizer to which every text is one pre-token."""
    from tokenizers import Tokenizer, decoders, pre_tokenizers

    made = Tokenizer(model)
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.Sequence([decoders.Replace(CONTINUES, ""), decoders.ByteLevel()])
    return made


def with_pattern(made: Tokenizer, pattern: str | None) -> Tokenizer:
    """The same tokenizer as it cuts running text: first by the pattern, or GPT-2's where none is given.

    Raises:
        SutureError: the library cannot read the pattern.
    """
    from tokenizers import Tokenizer

    copy = Tokenizer.from_str(made.to_str())
    try:
        copy.pre_tokenizer = _pipeline(pattern)
    except Exception as error:  # noqa: BLE001 the library raises nothing finer
        raise SutureError(
            f"a pattern must be one that the tokenizers library can read; got {pattern!r} ({error}); "
            "simplify it"
        ) from None
    return copy


def bpe(counts: Counter[str], size: int) -> Tokenizer:
    """Byte-level BPE (Sennrich et al. 2016): the most frequent pair of neighbours becomes an entry.

    Ids 0..255 are the bytes in the order of the library's byte alphabet; then the merges in order. The
    first k entries are what training to k entries gives.

    Args:
        counts: how often each pre-token occurs.
        size: entries wanted; fewer come back when pairs run out.
    """
    from tokenizers import models, pre_tokenizers, trainers

    made = _whole(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=LEAST,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    made.train_from_iterator(_fed(counts), trainer)
    return made


def wordpiece(counts: Counter[str], size: int) -> Tokenizer:
    """WordPiece over bytes, as the ``tokenizers`` library trains it.

    Its trainer joins the most frequent pair, as BPE does, with a mark on bytes that continue a pre-token;
    it segments by the longest entry from the left. All 256 bytes are entries in both forms, marked and not.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    unknown, alphabet = "[UNK]", sorted(pre_tokenizers.ByteLevel.alphabet())
    made = _whole(models.WordPiece(unk_token=unknown, max_input_chars_per_word=LONGEST))
    # Given as special tokens, the marked bytes have their ids before the library meets any word, in an
    # order of its own; ties between pairs go by ids.
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        min_frequency=LEAST,
        show_progress=False,
        special_tokens=[unknown, *alphabet, *(CONTINUES + character for character in alphabet)],
        continuing_subword_prefix=CONTINUES,
    )
    made.train_from_iterator(_fed(counts), trainer)
    document = json.loads(made.to_str()) | {"added_tokens": []}
    return Tokenizer.from_str(json.dumps(document))


def unigram(counts: Counter[str], size: int) -> Tokenizer:
    """Unigram over bytes (Kudo 2018): pieces of a seed are taken away so that the likelihood falls least.

    SentencePiece trains it, on one thread, since that of ``tokenizers`` gives another model each time.
    """
    import sentencepiece
    from tokenizers import models

    characters = _characters()
    seen = sorted({character for piece in counts for character in _spelled(piece)})
    unseen = [character for character in characters.values() if character not in set(seen)]
    target = io.BytesIO()
    with tempfile.NamedTemporaryFile("w", prefix="suture-", suffix=".tsv", encoding="utf-8") as rows:
        rows.writelines(f"{_spelled(piece)}\t{times}\n" for piece, times in counts.items())
        rows.flush()
        with upstream("a Unigram must be trainable on the text; give more text or a smaller size"):
            sentencepiece.SentencePieceTrainer.train(
                input=rows.name,
                model_writer=target,
                vocab_size=size + 1 - len(unseen),
                required_chars="".join(seen),
                **SENTENCEPIECE,
            )
    model = sentencepiece.SentencePieceProcessor(model_proto=target.getvalue())
    vocab = [(model.id_to_piece(index), model.get_score(index)) for index in range(1, len(model))]
    least = min(score for _, score in vocab) - 1
    return _whole(models.Unigram(vocab + [(character, least) for character in unseen]))


def _characters() -> dict[int, str]:
    """The character of each byte in the byte alphabet of the ``tokenizers`` library."""
    from workbench.adapters.hf_vocab import byte_alphabet

    return {byte: character for character, byte in byte_alphabet().items()}


def _spelled(text: str) -> str:
    return text.encode().decode("latin-1").translate(_characters())


def from_merges(merges: Sequence[tuple[bytes, bytes]]) -> Tokenizer:
    """Byte-level BPE from pairs of bytes in their order; ids as of ``bpe``."""
    from tokenizers import models

    characters = _characters()
    spelled = ([part.decode("latin-1").translate(characters) for part in pair] for pair in merges)
    pairs = [(left, right) for left, right in spelled]
    texts = dict.fromkeys(chain(sorted(characters.values()), map("".join, pairs)))
    return _whole(models.BPE(vocab={text: index for index, text in enumerate(texts)}, merges=pairs))


def trained(objective: str, texts: list[str], size: int) -> Tokenizer:
    """A tokenizer of one objective in the pipeline that is usual for it.

    Args:
        objective: ``bpe`` (byte-level), ``wordpiece`` (cased, NFC) or ``unigram`` (with a space mark).
        texts: training texts.
        size: entries.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    if objective == "bpe":
        return byte_level_bpe(texts, size)
    common: dict[str, Any] = {"vocab_size": size, "show_progress": False}
    trainer: Any
    if objective == "wordpiece":
        made = Tokenizer(models.WordPiece(unk_token="[UNK]"))  # noqa: S106 a token's name, no secret
        made.normalizer = normalizers.NFC()
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        made.decoder = decoders.WordPiece()
        trainer = trainers.WordPieceTrainer(special_tokens=["[UNK]"], **common)
    else:
        made = Tokenizer(models.Unigram())
        made.normalizer = normalizers.NFKC()
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        made.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(special_tokens=["<unk>"], unk_token="<unk>", **common)  # noqa: S106
    made.train_from_iterator(texts, trainer)
    return made


def save(made: Tokenizer, folder: Path) -> None:
    """Writes a tokenizer into a folder of its own.

    Raises:
        SutureError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tokenizer.json").write_text(made.to_str(), encoding="utf-8")
    except OSError as error:
        raise SutureError(
            f"the folder for trained tokenizers must be writable; {folder} is not ({error.strerror}); "
            "choose another with keep"
        ) from None
