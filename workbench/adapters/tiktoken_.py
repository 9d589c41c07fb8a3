"""tiktoken encodings: by name, from a rank file with a pattern, or as an object."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
import regex
import tiktoken

from workbench.adapters.ranks import parse
from workbench.errors import Unreachable, UnreadableFile
from workbench.inventory import Inventory
from workbench.normalising import Normalised
from workbench.tokenizer import Encoded, Pipeline, Step, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from workbench.adapters.editing import Edited, Mode


LONG = 32
"""Mean length in characters from which ids are taken as bytes, which is faster but costs more a call."""


@dataclass(frozen=True, eq=False)
class TiktokenEngine:
    """Encodes with ``tiktoken``; ids may be shifted, as Tekken's are by its special slots."""

    encoding: tiktoken.Encoding
    shift: int = 0

    def encode_batch(self, texts: Sequence[str]) -> Encoded:
        """Ids of each text; special-token text is data."""
        core = self.encoding._core_bpe  # noqa: SLF001 its wrapper replaces lone surrogates without a word
        if sum(map(len, texts)) < LONG * len(texts):
            ids, offsets = Encoded.of(core.encode_ordinary(text) for text in texts)
        else:
            plain: set[str] = set()
            buffers = [bytes(core.encode_to_tiktoken_buffer(text, plain)) for text in texts]
            sizes = np.fromiter(map(len, buffers), np.int64, len(buffers)) // 4
            ids = np.frombuffer(b"".join(buffers), np.int32)
            offsets = np.concatenate([[0], np.cumsum(sizes)])
        return Encoded(ids + np.int32(self.shift) if self.shift else ids, offsets)

    def encode_control(self, text: str) -> list[int]:
        """Ids of one text with special-token text as control ids."""
        special = set(self.encoding._special_tokens.values())  # noqa: SLF001 tiktoken names no public list
        ids = self.encoding.encode(text, allowed_special="all")
        return [token if token in special else token + self.shift for token in ids]

    def normalise(self, text: str) -> Normalised:
        """The text itself: tiktoken has no normaliser."""
        return Normalised(text.encode(), ())

    def pretokenize(self, text: str) -> list[str]:
        """What the pattern finds, in order."""
        return [match.group() for match in _compiled(self.encoding._pat_str).finditer(text)]  # noqa: SLF001

    def model_ids(self, pretoken: str) -> list[int]:
        """Ids of one pre-token."""
        ids = self.encoding._encode_single_piece(pretoken)  # noqa: SLF001 the one call past the pattern
        return [token + self.shift for token in ids]

    def unknown_spans(
        self,
        text: str,  # noqa: ARG002 part of the interface
        *,
        control: bool = False,  # noqa: ARG002 likewise
    ) -> list[tuple[int, int, bool]]:
        """None: every byte has an entry."""
        return []

    def decode_each(self, ids: Sequence[int]) -> list[str | None]:
        """Each id alone as tiktoken decodes it, special ids included."""
        special = set(self.encoding._special_tokens.values())  # noqa: SLF001 tiktoken names no public list
        bare = [token if token in special else token - self.shift for token in ids]
        return list(self.encoding.decode_batch([[token] for token in bare]))

    def without(self, tokenizer: Tokenizer, ids: Sequence[int], mode: Mode) -> Edited:  # noqa: ARG002 both leave holes
        """The tokenizer without some entries; see ``workbench.adapters.editing``."""
        from workbench.adapters import editing_ranks

        return editing_ranks.edit(tokenizer, self, ids)


@cache
def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern)


def engine(encoding: tiktoken.Encoding, shift: int = 0) -> TiktokenEngine:
    """The engine of an encoding whose ids are its ranks plus a shift."""
    return TiktokenEngine(encoding, shift)


def from_encoding(
    encoding: tiktoken.Encoding, name: str, source: str, notes: tuple[str, ...] = ()
) -> Tokenizer:
    """A tokenizer around a ``tiktoken.Encoding``."""
    ranks: dict[bytes, int] = encoding._mergeable_ranks  # noqa: SLF001 tiktoken offers no public table
    special: dict[str, int] = encoding._special_tokens  # noqa: SLF001 likewise
    ids = [*ranks.values(), *special.values()]
    inventory = Inventory.build(
        name,
        source,
        {
            "id": ids,
            "bytes": [*ranks, *(text.encode() for text in special)],
            "kind": ["piece"] * len(ranks) + ["special"] * len(special),
            "rank": [*ranks.values(), *([None] * len(special))],
        },
        merges=lambda: recovered(ranks),
        notes=notes,
    )
    steps = (
        Step("pre-tokenizer", "pattern", encoding._pat_str),  # noqa: SLF001 likewise
        Step("model", "BPE", "by rank; an entry that spells a whole pre-token is used as it is"),
    )
    pipeline = Pipeline(
        "BPE",
        steps,
        encoding._pat_str,  # noqa: SLF001 likewise
        byte_level=True,
        ignore_merges=True,
        notes=notes,
    )
    return Tokenizer(inventory, pipeline, engine(encoding))


def recovered(ranks: Mapping[bytes, int]) -> NDArray[np.int32]:
    """Merges (left id, right id, result id) of a rank table, by simulating BPE with lower ranks."""
    from workbench.bpe import merges_from_ranks

    return merges_from_ranks(ranks)[0]


def from_name(address: str, name: str | None = None) -> Tokenizer:
    """Reads an encoding by tiktoken's own name.

    Raises:
        UnreadableFile: tiktoken knows no such encoding.
        Unreachable: its rank file is neither in tiktoken's cache nor reachable.
    """
    known = tiktoken.list_encoding_names()
    if address not in known:
        raise UnreadableFile(
            f"a tiktoken name must be one of {', '.join(sorted(known))}; got {address!r}; pick one of these"
        )
    try:
        encoding = _encoding(address)
    except Exception as error:
        raise Unreachable(
            f"tiktoken:{address} must be in tiktoken's cache or reachable; it is not "
            f"({type(error).__name__}); set TIKTOKEN_CACHE_DIR to a folder that has it, or "
            "give the .tiktoken file with #pattern="
        ) from error
    return from_encoding(encoding, name or address, f"tiktoken:{address}")


def _encoding(name: str) -> tiktoken.Encoding:
    """One of tiktoken's encodings, its rank file parsed by columns, which takes a third of the time."""
    import tiktoken_ext.openai_public as public
    from tiktoken.load import read_file_cached

    constructor = public.ENCODING_CONSTRUCTORS.get(name)
    if constructor is None:
        return tiktoken.get_encoding(name)

    def load(address: str, expected_hash: str | None = None) -> dict[bytes, int]:
        return parse(read_file_cached(address, expected_hash), address)

    return tiktoken.Encoding(**_called(constructor, load_tiktoken_bpe=load))


def from_file(path: Path, name: str, pattern: str | None = None) -> Tokenizer:
    """Reads a ``.tiktoken`` rank file.

    Args:
        path: the file.
        name: short name.
        pattern: the pre-token pattern, or the name of a tiktoken encoding whose pattern holds. Files
            that tiktoken itself publishes are known by their digest and need none.

    Raises:
        UnreadableFile: the file is damaged, or no pattern is known for it.
    """
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    spec = published(pattern) if pattern in tiktoken.list_encoding_names() else None
    for known in () if pattern else tiktoken.list_encoding_names():
        candidate = published(known)
        if digest in candidate["hashes"] and (
            spec is None or len(candidate["special"]) < len(spec["special"])
        ):
            spec = candidate
    text = spec["pattern"] if spec else pattern
    if text is None:
        raise UnreadableFile(
            f"a rank file holds no pattern, so one must come with it; {path} is none that tiktoken "
            f"publishes; write {path.name}#pattern=cl100k_base, or #pattern= and the expression itself"
        )
    ranks = parse(data, path)
    special = spec["special"] if spec and digest in spec["hashes"] else {}
    try:
        encoding = tiktoken.Encoding(name, pat_str=text, mergeable_ranks=ranks, special_tokens=special)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise UnreadableFile(
            f"ranks and pattern must make an encoding; {path} does not "
            f"({str(error).splitlines()[0][:120]}); check the pattern"
        ) from None
    return from_encoding(encoding, name, f"{path}#pattern={pattern}" if pattern else str(path))


@cache
def published(name: str) -> dict[str, Any]:
    """Pattern, special tokens and expected digests of one of tiktoken's own encodings.

    Read from the installed library by calling its constructor with the file loaders replaced, so
    that nothing is fetched.
    """
    import tiktoken_ext.openai_public as public

    constructor = public.ENCODING_CONSTRUCTORS.get(name)
    hashes: list[str] = []

    def load(*_: object, **options: str) -> dict[bytes, int]:
        hashes.extend(value for key, value in options.items() if key.endswith("hash"))
        return {}

    if constructor is None:
        return {"pattern": None, "special": {}, "hashes": []}
    made = _called(constructor, load_tiktoken_bpe=load, data_gym_to_mergeable_bpe_ranks=load)
    return {"pattern": made["pat_str"], "special": made["special_tokens"], "hashes": hashes}


def _called(constructor: Any, **loaders: Any) -> dict[str, Any]:
    """What a constructor of an encoding returns, with loaders of its module replaced.

    One constructor may call another, so all functions of the module are given the replaced loaders.
    """
    scope: dict[str, Any] = dict(constructor.__globals__)
    for key, value in constructor.__globals__.items():
        if isinstance(value, FunctionType) and value.__module__ == constructor.__module__:
            scope[key] = FunctionType(value.__code__, scope, key, value.__defaults__, value.__closure__)
    scope.update(loaders)
    made: dict[str, Any] = scope[constructor.__name__]()
    return made
