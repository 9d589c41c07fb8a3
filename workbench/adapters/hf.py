"""Hugging Face ``tokenizer.json`` files, read as they stand.

The file itself is the truth: it is loaded with ``tokenizers``, never through a class name, which may
rebuild the pipeline differently (the ``pipeline`` audit compares the two where both can be had).
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import tokenizers

from workbench.adapters import hf_vocab
from workbench.errors import Unreachable, UnreadableFile, upstream
from workbench.inventory import Inventory
from workbench.normalising import Normalised, align, trimmed
from workbench.segmentation import unit_index
from workbench.tokenizer import Encoded, Pipeline, Step, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from workbench.adapters.editing import Edited, Mode
    from workbench.normalising import Aligned

GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The pattern inside a ByteLevel pre-tokenizer, which its file does not spell out."""

STAGES = {
    "normalizer": "normaliser",
    "pre_tokenizer": "pre-tokenizer",
    "post_processor": "post-processor",
    "decoder": "decoder",
}


@dataclass(frozen=True, eq=False)
class HfEngine:
    """Encodes with ``tokenizers``; aligns with the real normalisers, one stage at a time."""

    backend: tokenizers.Tokenizer
    doc: dict[str, Any]
    unk: int | None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def encode_batch(self, texts: Sequence[str]) -> Encoded:
        """Ids of each text; special-token text is data, so are the template's tokens left out."""
        encodings = self.backend.encode_batch_fast(list(texts), add_special_tokens=False)
        return Encoded.of(encoding.ids for encoding in encodings)

    def encode_control(self, text: str) -> list[int]:
        """Ids of one text with special-token text as control ids."""
        ids: list[int] = self._encoded(text, control=True).ids
        return ids

    def _encoded(self, text: str, *, control: bool) -> tokenizers.Encoding:
        with self._lock:
            self.backend.encode_special_tokens = not control
            try:
                return self.backend.encode(text, add_special_tokens=False)
            finally:
                self.backend.encode_special_tokens = True

    @cached_property
    def _stages(self) -> list[Callable[[str], Aligned]]:
        found = [_aligner(part) for part in hf_vocab.parts(self.doc.get("normalizer"))]
        mark = hf_vocab.Alphabet.of(self.doc).space_mark
        if mark:
            found.append(lambda text: align(text, lambda part: part.replace(mark, " ")))
        return [stage for stage in found if stage is not None]

    def normalise(self, text: str) -> Normalised:
        """The text through each normaliser in turn, in the inventory's alphabet.

        A prepended space is left out: it is found on the token that carries it.
        """
        done: list[Aligned] = []
        current = text
        for stage in self._stages:
            done.append(stage(current))
            current = done[-1].target.decode()
        return Normalised(text.encode(), tuple(done))

    def pretokenize(self, text: str) -> list[str]:
        """Pre-tokens, in the alphabet of the model's own vocabulary."""
        if self.backend.normalizer is not None:
            text = self.backend.normalizer.normalize_str(text)
        if self.backend.pre_tokenizer is None:
            return [text] if text else []
        return [piece for piece, _ in self.backend.pre_tokenizer.pre_tokenize_str(text)]

    def model_ids(self, pretoken: str) -> list[int]:
        """Ids of one pre-token."""
        return [token.id for token in self.backend.model.tokenize(pretoken)]

    def unknown_spans(self, text: str, *, control: bool = False) -> list[tuple[int, int, bool]]:
        """Byte spans of unknown tokens, from the library's character offsets."""
        encoding = self._encoded(text, control=control)
        data = text.encode()
        index = unit_index(data, "codepoint")
        offset = [0, *([0] * len(text))]
        for byte in range(len(data), -1, -1):
            offset[index[byte]] = byte
        following = [*(low for low, _ in encoding.offsets[1:]), len(text)]
        rows = zip(encoding.ids, encoding.offsets, following, strict=True)
        return [
            (offset[low], offset[high], after < high)
            for token, (low, high), after in rows
            if token == self.unk
        ]

    def decode_each(self, ids: Sequence[int]) -> list[str | None]:
        """The file's own decoder on each id alone, special ids included."""
        return list(self.backend.decode_batch([[token] for token in ids], skip_special_tokens=False))

    def without(self, tokenizer: Tokenizer, ids: Sequence[int], mode: Mode) -> Edited:
        """The tokenizer without some entries; see ``workbench.adapters.editing``."""
        from workbench.adapters import editing_hf

        return editing_hf.edit(tokenizer, self, ids, mode)


def _aligner(part: dict[str, Any]) -> Callable[[str], Aligned] | None:
    """The alignment function of one normaliser, or None where it changes nothing that is a byte."""
    if part.get("type") in ("Prepend", "ByteLevel"):
        return None
    bare = {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}
    host = tokenizers.Tokenizer.from_str(
        json.dumps({"version": "1.0", "added_tokens": [], "normalizer": part, "model": bare})
    )
    normalise = host.normalizer.normalize_str
    if part.get("type") == "Strip":
        return lambda text: trimmed(text, normalise(text))
    character = cache(normalise)
    return lambda text: align(text, normalise, character)


def from_tokenizer(
    backend: tokenizers.Tokenizer,
    name: str,
    source: str,
    doc: dict[str, Any] | None = None,
    rows: int | None = None,
    notes: tuple[str, ...] = (),
    folder: Path | None = None,
) -> Tokenizer:
    """A tokenizer around a ``tokenizers.Tokenizer``; padding and truncation are switched off.

    Args:
        backend: the upstream object; without ``doc`` a copy of it is used, with ``doc`` it is changed to
            read special-token text as data.
        name: short name.
        source: where it came from.
        doc: its JSON document, if already parsed.
        rows: rows of the embedding matrix, where known.
        notes: what a reader should know.
        folder: the model directory, where there is one.

    Raises:
        UnreadableFile: the object holds parts written in Python, which no file can hold.
    """
    if doc is None:
        backend, doc = _copied(backend)
    if backend.truncation or backend.padding:
        notes += ("truncation and padding of the file are switched off here",)
        backend.no_truncation()
        backend.no_padding()
    backend.encode_special_tokens = True
    added = _added_tokens(backend)
    if sorted(token["id"] for token in doc.get("added_tokens") or []) != [token["id"] for token in added]:
        notes += ("the file's ids of added tokens are not those that the library gives them, which hold",)
    doc = {**doc, "added_tokens": added}
    model = doc["model"]
    inventory = Inventory.build(
        name,
        source,
        hf_vocab.columns(doc),
        merges=(lambda: hf_vocab.merges(doc)) if model.get("merges") else None,
        rows=rows,
        notes=notes,
    )
    unk = _unknown_id(backend, model)
    strips = {
        token["id"]: (bool(token.get("lstrip")), bool(token.get("rstrip")))
        for token in doc.get("added_tokens") or []
        if token.get("lstrip") or token.get("rstrip")
    }
    engine = HfEngine(backend, {**doc, "model": {**model, "vocab": None, "merges": None}}, unk)
    unknown = frozenset() if unk is None else frozenset({unk})
    notes += _leaks(backend, doc, unknown)
    return Tokenizer(
        inventory, _pipeline(doc, notes), engine, unknown, strips, _literals(doc, inventory), folder
    )


def _literals(doc: dict[str, Any], inventory: Inventory) -> dict[int, bytes]:
    """Added tokens whose text is not their bytes: a letter that the byte alphabet has for one byte."""
    added = {token["id"]: token["content"].encode() for token in doc.get("added_tokens") or []}
    return {token: text for token, text in added.items() if inventory.pieces[token] != text}


def _added_tokens(backend: tokenizers.Tokenizer) -> list[dict[str, Any]]:
    """Added tokens as the library holds them: it counts their ids on from the vocabulary's."""
    flags = ("content", "special", "single_word", "lstrip", "rstrip", "normalized")
    held = sorted(backend.get_added_tokens_decoder().items())
    return [{"id": token, **{flag: getattr(entry, flag) for flag in flags}} for token, entry in held]


def _leaks(backend: tokenizers.Tokenizer, doc: dict[str, Any], unknown: frozenset[int]) -> tuple[str, ...]:
    """A note on control tokens that plain text makes, since the model lists their text among its entries."""
    added = doc.get("added_tokens") or []
    control = [token for token in added if token.get("special") and token["id"] not in unknown]
    rows = backend.encode_batch_fast([token["content"] for token in control], add_special_tokens=False)
    found = [token["content"] for token, row in zip(control, rows, strict=True) if token["id"] in row.ids]
    if not found:
        return ()
    note = (
        f"{len(found)} of {len(control)} control tokens, such as {found[0]}, are made even of data that "
        "spells them: the model lists their text among its entries"
    )
    return (note,)


def _copied(backend: tokenizers.Tokenizer) -> tuple[tokenizers.Tokenizer, dict[str, Any]]:
    """A copy, so that the caller's own object goes on as it was, and its JSON document."""
    try:
        text = backend.to_str()
    except Exception as error:  # noqa: BLE001 the library raises nothing finer
        raise UnreadableFile(
            f"a tokenizer object must consist of the library's own parts; this one does not "
            f"({_reason(error)}); replace that part, or wrap it in a class with segment and segment_batch"
        ) from None
    return tokenizers.Tokenizer.from_str(text), json.loads(text)


def _unknown_id(backend: tokenizers.Tokenizer, model: dict[str, Any]) -> int | None:
    if model.get("unk_id") is not None:
        return int(model["unk_id"])
    text = model.get("unk_token")
    return None if text is None else backend.token_to_id(text)


def _pipeline(doc: dict[str, Any], notes: tuple[str, ...]) -> Pipeline:
    model = doc["model"]
    steps = [
        Step("added token", token["content"], _flags(token))
        for token in doc.get("added_tokens") or []
        if _flags(token)
    ]
    for key, stage in STAGES.items():
        steps += [Step(stage, part.get("type", "?"), _detail(part)) for part in hf_vocab.parts(doc.get(key))]
        if key == "pre_tokenizer":
            steps.append(Step("model", model_type(doc), _detail(model)))
    alphabet = hf_vocab.Alphabet.of(doc)
    pre = list(hf_vocab.parts(doc.get("pre_tokenizer")))
    prefix = any(
        part.get("add_prefix_space") or part.get("prepend_scheme") in ("always", "first") for part in pre
    ) or any(part.get("type") == "Prepend" for part in hf_vocab.parts(doc.get("normalizer")))
    if model.get("byte_fallback") and not any(
        part.get("type") == "ByteFallback" for part in hf_vocab.parts(doc.get("decoder"))
    ):
        notes += ("the decoder lacks a ByteFallback step, so byte entries decode to their literal names",)
    return Pipeline(
        model_type(doc),
        tuple(steps),
        _pattern(pre),
        byte_level=alphabet.byte_level,
        prefix_space=prefix,
        ignore_merges=bool(model.get("ignore_merges")),
        notes=notes,
    )


def model_type(doc: dict[str, Any]) -> str:
    """The model's type; old files leave it out, and then its fields tell."""
    model = doc["model"]
    if model.get("type"):
        return str(model["type"])
    if "merges" in model:
        return "BPE"
    return "Unigram" if isinstance(model.get("vocab"), list) else "WordPiece"


def _flags(token: dict[str, Any]) -> str:
    names = ("single_word", "lstrip", "rstrip", "normalized")
    kind = [] if token.get("special") else ["not special"]
    return ", ".join([*kind, *(name for name in names if token.get(name))])


def _detail(part: dict[str, Any]) -> str:
    hidden = ("type", "vocab", "merges", "precompiled_charsmap", "special_tokens")
    kept = {key: value for key, value in part.items() if key not in hidden and value not in (None, False)}
    return json.dumps(kept, ensure_ascii=False, sort_keys=True) if kept else ""


def _pattern(pre: list[dict[str, Any]]) -> str | None:
    found = []
    for part in pre:
        pattern = part.get("pattern")
        if isinstance(pattern, dict):
            found.append(pattern.get("Regex") or pattern.get("String") or "")
        elif part.get("type") == "ByteLevel" and part.get("use_regex", True):
            found.append(GPT2_PATTERN)
    return "\n".join(found) or None


def from_path(path: Path, name: str, rows: int | None = None, folder: Path | None = None) -> Tokenizer:
    """Reads one ``tokenizer.json``.

    Raises:
        UnreadableFile: not JSON, truncated, or not a document that ``tokenizers`` can build.
    """
    try:
        text = path.read_text(encoding="utf-8")
        doc = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableFile(
            f"a tokenizer.json must be complete JSON in UTF-8; {path} is not ({_reason(error)}); "
            "fetch it again"
        ) from None
    if not isinstance(doc, dict) or not isinstance(doc.get("model"), dict):
        raise UnreadableFile(
            f"a tokenizer.json must hold a model; {path} holds none; name the tokenizer's own file"
        )
    try:
        backend = tokenizers.Tokenizer.from_str(text)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise UnreadableFile(
            f"a tokenizer.json must be one that tokenizers {tokenizers.__version__} can build; {path} is not "
            f"({_reason(error)}); check its version"
        ) from None
    with upstream(f"{path} must hold a model whose parts fit each other"):
        return from_tokenizer(backend, name, str(path), doc, rows, folder=folder)


def _reason(error: BaseException) -> str:
    return str(error).splitlines()[0][:160] if str(error) else type(error).__name__


WANTED = (
    "tokenizer.json",
    "tokenizer_config.json",
    "tekken.json",
    "*.model",
    "*.tiktoken",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "config.json",
)


def from_hub(address: str, name: str | None = None) -> Tokenizer:
    """Reads ``org/name[@revision]`` from the Hub's cache, or fetches its tokenizer files.

    Raises:
        Unreachable: neither the cache nor the network has it.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    from workbench.adapters.files import from_directory

    repo, _, revision = address.partition("@")
    options: dict[str, Any] = {"revision": revision or None, "allow_patterns": list(WANTED)}
    found = None
    try:
        found = snapshot_download(repo, local_files_only=True, **options)
        return from_directory(_path(found), name or repo, source=f"hf:{address}")
    except (LocalEntryNotFoundError, UnreadableFile):
        pass
    try:
        found = snapshot_download(repo, **options)
    except Exception as error:
        raise Unreachable(
            f"hf:{address} must be in the Hub's cache or reachable; it is not ({type(error).__name__}); copy "
            "its tokenizer.json here and give that path, or set HF_HOME to a cache that has it"
        ) from error
    return from_directory(_path(found), name or repo, source=f"hf:{address}")


def _path(text: str) -> Path:
    from pathlib import Path

    return Path(text)
