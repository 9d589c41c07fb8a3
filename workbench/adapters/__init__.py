"""Where foreign tokenizers enter: nothing beyond this package sees another library's objects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import SutureError, UnknownName, upstream
from workbench.registry import Registry

if TYPE_CHECKING:
    from workbench.segmentation import Segmenter
    from workbench.tokenizer import Tokenizer

SOURCES = Registry("suture.tokenizers", "tokenizer source")


def load(spec: Any, name: str | None = None) -> Tokenizer:
    """Reads a tokenizer.

    Args:
        spec: ``hf:org/name[@revision]``, ``tiktoken:name``, ``pkg:distribution/path/inside``, a path to
            a file or model directory (a rank file may carry ``#pattern=``), or an object of
            ``tokenizers``, ``tiktoken``, ``sentencepiece`` or ``transformers``.
        name: short name; by default taken from the spec.

    Returns:
        A tokenizer with its exact inventory.

    Raises:
        SutureError: it cannot be read; the message says what to do.
    """
    found = load_segmenter(spec, name)
    if not hasattr(found, "inventory"):
        raise SutureError(
            f"an inventory is needed here; {found.name} only segments; give a tokenizer with a vocabulary"
        )
    return found  # type: ignore[return-value]  # an inventory makes it a Tokenizer


def load_segmenter(spec: Any, name: str | None = None) -> Segmenter:
    """Reads anything that segments: what ``load`` takes, ``spacy:name``, an object with ``segment``."""
    if isinstance(spec, Path):
        return _from_path(str(spec), name)
    if not isinstance(spec, str):
        return _from_object(spec, name)
    scheme, colon, address = spec.partition(":")
    if colon and not Path(spec).exists():
        if scheme in SOURCES.names():
            with upstream(f"{spec} must be a tokenizer that can be read"):
                found: Segmenter = SOURCES.get(scheme)(address, name)
            return found
        if scheme.isalnum() and "/" not in scheme and "." not in scheme:
            raise UnknownName(
                f"a spec's scheme must be one of {', '.join(sorted(SOURCES.names()))}; got {scheme!r}; "
                "for a file, check that its path exists"
            )
    return _from_path(spec, name)


def _from_path(spec: str, name: str | None) -> Tokenizer:
    from workbench.adapters import files

    text, _, pattern = spec.partition("#pattern=")
    path = Path(text).expanduser()
    with upstream(f"{text} must be a tokenizer that can be read"):
        if path.is_dir():
            return files.from_directory(path, name)
        return files.from_file(path, name, pattern or None)


def _from_object(thing: Any, name: str | None) -> Segmenter:
    """Recognises an upstream object by the module of its class, so that no library is imported for it."""
    module = type(thing).__module__.partition(".")[0]
    if callable(getattr(thing, "segment", None)):
        return thing  # type: ignore[no-any-return]  # the protocol is checked by use
    if module == "tiktoken":
        from workbench.adapters import tiktoken_

        return tiktoken_.from_encoding(thing, name or thing.name, "object")
    if module == "transformers" and hasattr(thing, "backend_tokenizer"):
        thing, module = thing.backend_tokenizer, "tokenizers"
    if module == "tokenizers":
        from workbench.adapters import hf

        return hf.from_tokenizer(thing, name or "tokenizer", "object")
    if module == "sentencepiece":
        from workbench.adapters import spm

        return spm.from_proto(thing.serialized_model_proto(), name or "sentencepiece", "object")
    if module == "spacy":
        from workbench.adapters import spacy_

        return spacy_.from_object(thing, name)
    raise SutureError(
        f"a tokenizer must be a spec, a path, an upstream object, or have a segment method; got "
        f"{type(thing).__name__}; wrap it in a class with segment and segment_batch"
    )
