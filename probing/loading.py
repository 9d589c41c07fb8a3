"""Weights into modules: transformers' own loading, with all that it would pass over in silence refused."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from workbench.errors import SutureError, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from torch import nn

    from probing.architectures import Family
    from workbench.weights import Weights


def loaded(family: Family, weights: Weights, folder: Path, dtype: str) -> tuple[nn.Module | None, nn.Module]:
    """The model with its head, if the checkpoint has one, and the headless model.

    Raises:
        SutureError: parameters are missing, of another shape, or left over from more blocks.
    """
    import torch
    import transformers

    headed = family.head is not None and _has_head(family, weights)
    options: dict[str, Any] = {"add_pooling_layer": False} if family.pooler and not headed else {}
    maker = getattr(transformers, str(family.head if headed else family.base), None)
    if maker is None:
        raise SutureError(
            f"transformers must have {family.base}; version {transformers.__version__} has none; update it"
        )
    with _quiet():
        try:
            config = maker.config_class.from_pretrained(folder, local_files_only=True)
            model, told = maker.from_pretrained(
                folder, config=config, dtype=getattr(torch, dtype), use_safetensors=True,
                local_files_only=True, ignore_mismatched_sizes=True, output_loading_info=True, **options,
            )  # fmt: skip
        except Exception as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0][:160]
            raise UnreadableFile(
                f"a checkpoint must be one that transformers can load; {folder} is not ({reason}); fetch "
                "config and weights again"
            ) from error
    _complete(told, folder, family)
    return (model, model.base_model) if headed else (None, model)


def _has_head(family: Family, weights: Weights) -> bool:
    if family.mark is not None:
        return any(name.endswith(family.mark) for name in weights.names)
    # A decoder's head is one matrix: in the file, or tied to the embedding as its config says.
    said = weights.config.get("tie_word_embeddings")
    return weights.unembedding() is not None or (_ties(family) if said is None else bool(said))


def _ties(family: Family) -> bool:
    import transformers

    return bool(getattr(getattr(transformers, family.base).config_class(), "tie_word_embeddings", False))


def _complete(told: dict[str, Any], folder: Path, family: Family) -> None:
    lacking, other = sorted(told["missing_keys"]), sorted(told["mismatched_keys"])
    blocks = f"{family.blocks}." if family.blocks else None
    more = sorted(name for name in told["unexpected_keys"] if blocks and blocks in f".{name}")
    if lacking:
        raise UnreadableFile(
            f"a checkpoint must hold every parameter; {folder} lacks {len(lacking)}, such as {lacking[0]}, "
            "which would be random; fetch the whole checkpoint"
        )
    if other:
        name, stored, wanted = other[0][:3]
        raise UnreadableFile(
            f"parameters must have the shapes that the config says; in {folder} {name} is {list(stored)} "
            f"instead of {list(wanted)}; fetch config and weights of one model"
        )
    if more:
        raise UnreadableFile(
            f"a checkpoint must have the blocks that its config says; {folder} has more, such as {more[0]}; "
            "fetch config and weights of one model"
        )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keeps transformers' tables and bars off the terminal: what they say is checked."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(50)
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]
