"""How exactly inventories and segmentations follow the upstream libraries, on real vocabularies.

The upstream objects are made here from the files, without our adapters.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tests.vocabs import need, vocab
from workbench.adapters import load
from workbench.inventory import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from workbench.segmentation import Segmentation
    from workbench.tokenizer import Tokenizer

QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPACE_MARK = "\u2581"


@dataclass(frozen=True)
class Upstream:
    """What a library says about one vocabulary.

    Attributes:
        ids: every id that it knows.
        encode: ids of texts, special-token text being data.
        decode: bytes of an id as candidates, any of which would be right; None where it cannot say.
        normalise: what its normaliser makes of a text.
    """

    ids: set[int]
    encode: Callable[[Sequence[str]], Iterable[Sequence[int]]]
    decode: Callable[[int], set[bytes] | None]
    normalise: Callable[[str], str] = str


class Row(NamedTuple):
    """One line of the table; every difference must be 0. ``kinds`` counts the entries of each kind."""

    name: str
    ids: int
    holes: int
    ids_apart: int
    bytes_compared: int
    bytes_unsaid: int
    bytes_apart: int
    texts: int
    texts_apart: int
    exact: int
    unaccounted: int
    kinds: tuple[int, ...]


def of_tiktoken(name: str) -> tuple[str, Upstream]:
    """A published encoding: ours from the rank file, the library's by name from its cache."""
    import tiktoken

    return str(vocab(name)), _tiktoken(
        tiktoken.get_encoding("r50k_base" if name == "gpt2" else f"{name}_base")
    )


def of_qwen(name: str) -> tuple[str, Upstream]:
    """Ranks whose pattern is given."""
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    ranks = load_tiktoken_bpe(str(vocab(name)))
    made = tiktoken.Encoding("qwen", pat_str=QWEN, mergeable_ranks=ranks, special_tokens={})
    return f"{vocab(name)}#pattern={QWEN}", _tiktoken(made)


def _tiktoken(encoding) -> Upstream:
    ids = {*encoding._mergeable_ranks.values(), *encoding._special_tokens.values()}
    return Upstream(
        ids,
        lambda texts: [encoding.encode(text, disallowed_special=()) for text in texts],
        lambda token: {encoding.decode_single_token_bytes(token)},
    )


def of_tekken(name: str) -> tuple[str, Upstream]:
    """Tekken, against mistral-common."""
    from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    made = Tekkenizer.from_file(vocab(name))

    def decode(token: int) -> set[bytes]:
        if token < made.num_special_tokens:
            return {made.id_to_piece(token).encode()}
        return {made.id_to_byte_piece(token, SpecialTokenPolicy.KEEP)}

    return str(vocab(name)), Upstream(
        set(range(made.n_words)),
        lambda texts: [made.encode(text, bos=False, eos=False) for text in texts],
        decode,
    )


def of_sentencepiece(name: str) -> tuple[str, Upstream]:
    """A SentencePiece model, against its library."""
    import sentencepiece

    made = sentencepiece.SentencePieceProcessor(model_file=str(vocab(name)))

    def decode(token: int) -> set[bytes]:
        piece = made.id_to_piece(token)
        if made.is_byte(token):
            return {bytes.fromhex(piece[3:5])}
        if made.is_control(token) or made.is_unknown(token):
            return {piece.encode()}
        return {piece.replace(SPACE_MARK, " ").encode()}

    return str(vocab(name)), Upstream(
        set(range(made.get_piece_size())), lambda texts: made.encode(list(texts), out_type=int), decode
    )


def of_rwkv(name: str) -> tuple[str, Upstream]:
    """RWKV's table, against the package's own tokenizer; it cannot encode a byte without an entry."""
    spec = importlib.util.spec_from_file_location("rwkv_upstream", vocab("rwkv-upstream"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.TRIE_TOKENIZER(str(vocab(name)))
    return str(vocab(name)), Upstream(
        set(made.idx2token),
        lambda texts: [made.encode(text) for text in texts],
        lambda k: {made.idx2token[k]},
    )


def of_hf(name: str) -> tuple[str, Upstream]:
    """A tokenizer.json, against the library; entries are decoded after a letter, so that none is first."""
    import tokenizers

    made = tokenizers.Tokenizer.from_file(str(vocab(name)))
    made.encode_special_tokens = True
    made.no_padding()
    made.no_truncation()
    anchor = made.encode("a", add_special_tokens=False).ids[-1:]
    prefix = made.decode(anchor, skip_special_tokens=False)
    inner = made.model.continuing_subword_prefix if "WordPiece" in repr(made.model)[:40] else None

    def decode(token: int) -> set[bytes] | None:
        text = made.decode([*anchor, token], skip_special_tokens=False)
        if not text.startswith(prefix) or "\ufffd" in text:
            return None
        rest = text[len(prefix) :]
        # A WordPiece decoder writes a space between words, which is in no entry.
        return {rest.encode(), rest.removeprefix(" ").encode()} if inner else {rest.encode()}

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [found.ids for found in made.encode_batch(list(texts), add_special_tokens=False)]

    ids = set(made.get_vocab(with_added_tokens=True).values())
    normalise = made.normalizer.normalize_str if made.normalizer else str
    return str(vocab(name)), Upstream(
        ids, encode, decode, lambda text: normalise(text).replace(SPACE_MARK, " ")
    )


VOCABULARIES = {
    "gpt2": of_tiktoken,
    "p50k": of_tiktoken,
    "cl100k": of_tiktoken,
    "o200k": of_tiktoken,
    "qwen": of_qwen,
    "mistral-v1": of_sentencepiece,
    "mistral-v3": of_sentencepiece,
    "tekken": of_tekken,
    "deepseek": of_hf,
    "llama3": of_hf,
    "gemma3": of_hf,
    "qwen3": of_hf,
    "bert": of_hf,
    "rwkv": of_rwkv,
}


def compare(name: str, texts: Sequence[str]) -> Row:
    """Everything that can be compared, for one vocabulary.

    Raises:
        LookupError: the vocabulary is not in the cache.
    """
    spec, upstream = VOCABULARIES[name](name)
    tokenizer = load(spec, name)
    inventory = tokenizer.inventory
    kinds = inventory.frame["kind"]
    ours = set(inventory.frame.filter(kinds != "gap")["id"].to_list())
    said = {token: upstream.decode(token) for token in upstream.ids & ours}
    compared = [token for token, found in said.items() if found is not None]
    pieces = inventory.pieces
    encoded = tokenizer.encode_batch(texts)
    theirs = [list(row) for row in upstream.encode(texts)]
    cut = tokenizer.segment_batch(texts)
    return Row(
        name,
        len(ours),
        inventory.rows_needed - len(ours),
        len(ours ^ upstream.ids),
        len(compared),
        len(said) - len(compared),
        sum(pieces[token] not in said[token] for token in compared),
        len(texts),
        sum(encoded.row(k).tolist() != row for k, row in enumerate(theirs)),
        sum(segmentation.exact for segmentation in cut),
        sum(not accounted(segmentation, pieces, upstream.normalise) for segmentation in cut),
        tuple(np.bincount(inventory.kinds, minlength=len(KINDS)).tolist()),
    )


def accounted(segmentation: Segmentation, pieces: Sequence[bytes], normalise: Callable[[str], str]) -> bool:
    """Whether each piece is what stands under it, and nothing but white space stands under none.

    Pieces of an exact segmentation join to the text. Otherwise a piece, its added space apart, is the text
    under it as the library normalises that; where pieces share a character, it is a part of that. Text that
    the normaliser removed is told as dropped.
    """
    text = segmentation.text
    if segmentation.exact:
        return b"".join(pieces[token] for token in segmentation.ids) == text
    kept = np.ones(len(text), bool)
    for low, high in segmentation.dropped:
        kept[low:high] = False
    for low, high in [*segmentation.uncovered, *segmentation.absorbed]:
        rest = np.frombuffer(text[low:high], np.uint8)[kept[low:high]].tobytes()
        if rest.decode(errors="replace").strip():
            return False
    apart = np.concatenate([[True], segmentation.starts[1:] >= segmentation.ends[:-1], [True]])
    for index, (token, under) in enumerate(zip(segmentation.ids, segmentation.pieces, strict=True)):
        if index in segmentation.unknown:
            continue
        piece = pieces[token][1:] if index in segmentation.synthetic else pieces[token]
        if piece == under:
            continue
        normal = normalise(under.decode()).strip().encode()
        if piece.strip() != normal if apart[index] and apart[index + 1] else piece.strip() not in normal:
            return False
    return True


def unequal(name: str, texts: Sequence[str], limit: int = 5) -> list[tuple[str, list[int], list[int]]]:
    """The first texts that are encoded otherwise, with our ids and theirs; for finding out why."""
    spec, upstream = VOCABULARIES[name](name)
    tokenizer: Tokenizer = load(spec, name)
    rows = zip(texts, upstream.encode(texts), strict=True)
    found = ((text, tokenizer.encode(text), list(row)) for text, row in rows)
    return [each for each in found if each[1] != each[2]][:limit]


__all__ = ["VOCABULARIES", "Row", "accounted", "compare", "need", "unequal"]
