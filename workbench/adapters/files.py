"""Tokenizers from paths: one file, a model directory, a file inside an installed package."""

from __future__ import annotations

import importlib
import json
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.adapters.sniff import sniff
from workbench.errors import SutureError, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from workbench.tokenizer import Tokenizer

READERS = {
    "spm": ("spm", "from_path"),
    "tekken": ("tekken", "from_path"),
    "gguf": ("gguf", "from_path"),
    "rwkv": ("wordlist", "from_rwkv"),
    "vocab.txt": ("wordlist", "from_vocab_txt"),
}
"""Module and function that read a format; imported only when such a file is read."""


def from_file(path: Path, name: str | None = None, pattern: str | None = None) -> Tokenizer:
    """Reads one tokenizer file, whatever its format.

    Args:
        path: the file.
        name: short name; by default the file's stem, or its folder's name for a generic stem.
        pattern: for a rank file, its pre-token pattern or the name of an encoding that has it.

    Raises:
        UnreadableFile: not a tokenizer, or damaged.
        UnsafeFile: a pickle.
    """
    kind = sniff(path)
    label = name or short_name(path)
    if kind == "tokenizer.json":
        from workbench.adapters import hf

        return hf.from_path(path, label, rows_of(path.parent), folder=path.parent)
    if kind == "tiktoken":
        from workbench.adapters import tiktoken_

        return tiktoken_.from_file(path, label, pattern)
    if kind == "vocab.json":
        return _from_vocab_and_merges(path.parent, label)
    module, function = READERS[kind]
    read: Callable[[Path, str], Tokenizer] = getattr(
        importlib.import_module(f"workbench.adapters.{module}"), function
    )
    return read(path, label)


def short_name(path: Path) -> str:
    """A name for a file: its stem, or its folder's where the stem says nothing."""
    generic = {"tokenizer", "vocab", "merges", "spiece", "sentencepiece"}
    return path.parent.resolve().name if path.stem in generic else path.stem


def from_directory(path: Path, name: str | None = None, source: str | None = None) -> Tokenizer:
    """Reads a model directory: its ``tokenizer.json`` if there is one, else its other tokenizer files.

    Raises:
        UnreadableFile: no tokenizer file lies in it.
    """
    from dataclasses import replace

    label = name or path.resolve().name
    order = ("tokenizer.json", "tekken.json", "*.model", "*.tiktoken", "vocab.json", "vocab.txt", "*.gguf")
    found = next((file for pattern in order for file in sorted(path.glob(pattern))), None)
    if found is None:
        raise UnreadableFile(
            f"a model directory must hold a tokenizer file ({', '.join(order)}); {path} holds none; "
            "name the file itself"
        )
    tokenizer = from_file(found, label)
    if source is not None:
        tokenizer = replace(tokenizer, inventory=replace(tokenizer.inventory, source=source))
    return replace(tokenizer, folder=path)


def from_package(address: str, name: str | None = None) -> Tokenizer:
    """Reads a file or a model directory that an installed package ships: ``distribution/path/inside``.

    The path may be cut short from the left as long as it names one of them.

    Raises:
        UnreadableFile: the distribution is not installed, or has no such file, or several.
    """
    distribution, _, inside = address.partition("/")
    try:
        files = metadata.distribution(distribution).files or []
    except (metadata.PackageNotFoundError, ValueError):
        raise UnreadableFile(
            f"pkg: must name an installed distribution; {distribution!r} is not installed; "
            f"run pip install {distribution or 'NAME'}"
        ) from None
    hits, folders = _named(files, inside), _named({file.parent for file in files}, inside)
    times = len(hits) + len(folders)
    if times != 1:
        near = [
            str(file) for file in files if Path(str(file)).suffix in (".json", ".model", ".tiktoken", ".txt")
        ]
        raise UnreadableFile(
            f"pkg: must name one file or folder of {distribution}; {inside!r} names {times}; "
            f"it ships {', '.join(near[:8]) or 'no tokenizer file'}"
        )
    from dataclasses import replace

    source = f"pkg:{address}"
    if folders:
        place = Path(str(metadata.distribution(distribution).locate_file(folders[0])))
        return from_directory(place, name or (distribution if place.name == "model" else None), source)
    tokenizer = from_file(Path(str(hits[0].locate())), name)
    return replace(tokenizer, inventory=replace(tokenizer.inventory, source=source))


def _named(paths: Iterable[Any], inside: str) -> list[Any]:
    """Paths that are the one named, or else that end with it."""
    wanted = inside.rstrip("/")
    return [path for path in paths if str(path) == wanted] or [
        path for path in paths if wanted and str(path).endswith("/" + wanted)
    ]


def _from_vocab_and_merges(folder: Path, name: str) -> Tokenizer:
    """Builds byte-level BPE from the pair of files that GPT-2 and RoBERTa introduced."""
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers

    from workbench.adapters import hf, hf_vocab

    vocab, merges = folder / "vocab.json", folder / "merges.txt"
    if not merges.is_file():
        raise UnreadableFile(f"a vocab.json needs its merges.txt beside it; {folder} has none; copy it there")
    entries = json.loads(vocab.read_bytes())
    alphabet = hf_vocab.byte_alphabet()
    if not set(alphabet) <= set(entries):
        raise UnreadableFile(
            f"vocab.json with merges.txt is read as byte-level BPE, whose 256 byte entries must be there; "
            f"{vocab} lacks some; give the model's tokenizer.json"
        )
    try:
        backend = tokenizers.Tokenizer(models.BPE.from_file(str(vocab), str(merges)))
    except Exception as error:  # noqa: BLE001 the library raises Exception itself
        raise UnreadableFile(
            f"vocab.json and merges.txt must fit each other; those in {folder} do not "
            f"({str(error)[:120]}); fetch both again"
        ) from None
    config = _json(folder / "tokenizer_config.json")
    prefix = bool(config.get("add_prefix_space", False))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    backend.decoder = decoders.ByteLevel()
    special = [text for text in entries if text.startswith("<") and text.endswith(">") and len(text) > 2]
    backend.add_special_tokens(special)
    notes = ("read from vocab.json and merges.txt: GPT-2's pattern and <…> as special tokens are assumed",)
    return hf.from_tokenizer(backend, name, str(vocab), rows=rows_of(folder), notes=notes, folder=folder)


def _json(path: Path) -> dict[str, Any]:
    try:
        doc = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return doc if isinstance(doc, dict) else {}


def rows_of(folder: Path) -> int | None:
    """Rows of the embedding matrix of a model directory, from its weights or else its config."""
    from workbench.weights import open_weights

    try:
        weights = open_weights(folder)
        name = weights.embedding()
        if name is not None:
            return weights.shape(name)[0]
    except SutureError:
        pass
    config = _json(folder / "config.json")
    inner = config.get("text_config")
    size = config.get("vocab_size") or (inner.get("vocab_size") if isinstance(inner, dict) else None)
    return size if isinstance(size, int) and size > 0 else None
