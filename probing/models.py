"""Models whose states are traced: opened from safetensors through transformers' standard classes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from probing.architectures import Family, family_of, found
from probing.loading import loaded
from probing.places import folder_of
from workbench.errors import MissingExtra, SutureError, UnreadableFile

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import torch
    from numpy.typing import NDArray
    from torch import nn

    from workbench.adapters.templates import Template
    from workbench.tokenizer import Tokenizer
    from workbench.weights import Weights

DTYPES = ("float32", "bfloat16", "float16")
LONGEST = 2048
"""Positions that a model without a limit of its own is given at a time."""


@dataclass(eq=False)
class Model:
    """A model in evaluation mode with its tokenizer.

    Attributes:
        name: short name.
        source: where it came from, as a user would type it.
        family: its ``model_type``.
        parts: where its blocks, norm and head are.
        module: the headless model, which is all that a trace runs.
        full: the model with its language-model head, around the same ``module``; None without one.
        tokenizer: its tokenizer.
        template: special ids before and after a text.
        dtype: type of its numbers.
        notes: what a reader should know.
    """

    name: str
    source: str
    family: str
    parts: Family
    module: nn.Module = field(repr=False)
    full: nn.Module | None = field(repr=False)
    tokenizer: Tokenizer = field(repr=False)
    template: Template
    dtype: str = "float32"
    notes: tuple[str, ...] = ()
    weights: Weights | None = field(default=None, repr=False)

    @property
    def config(self) -> Any:
        """The model's configuration, an object of transformers."""
        return self.module.config

    @property
    def device(self) -> torch.device:
        """Where it runs."""
        return next(self.module.parameters()).device

    @property
    def depth(self) -> int:
        """Number of blocks, a shared one counted as often as it is called."""
        return int(self.config.num_hidden_layers)

    @property
    def layers(self) -> tuple[str, ...]:
        """Names of the layers that are traced unless others are asked for.

        ``static``, ``0`` … ``L``, and ``L.norm`` where the family has a norm after its last block.
        """
        last = () if self.parts.norm is None else (f"{self.depth}.norm",)
        return ("static", *map(str, range(self.depth + 1)), *last)

    @property
    def sublayers(self) -> tuple[str, ...]:
        """Names of what attention and the feed-forward part of each block add to the state."""
        kinds = [kind for kind, path in (("attn", self.parts.attention), ("mlp", self.parts.mlp)) if path]
        return tuple(f"{layer}.{kind}" for layer in range(1, self.depth + 1) for kind in kinds)

    @property
    def width(self) -> int:
        """Dimensions of a state."""
        return int(self.config.hidden_size)

    @property
    def positions(self) -> int:
        """Tokens that it takes at a time, special ones included."""
        said = getattr(self.config, "max_position_embeddings", None)
        said = said or getattr(self.config, "n_positions", None) or getattr(self.config, "seq_length", None)
        if not isinstance(said, int) or said < 1:
            return LONGEST
        return said - self.pad - 1 if self.parts.offset else said

    @property
    def pad(self) -> int:
        """Id that fills a batch up; no state of it is kept."""
        said = getattr(self.config, "pad_token_id", None)
        return said if isinstance(said, int) and said >= 0 else 0

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the weights' files; of a model that was never a file, of its parameters by name."""
        if self.weights is not None:
            return self.weights.digest
        hasher = hashlib.sha256()
        for name, value in sorted(self.module.state_dict().items()):
            hasher.update(f"{name} {tuple(value.shape)} {value.dtype} ".encode())
            hasher.update(value.detach().cpu().contiguous().flatten().view(_bytes()).numpy().tobytes())
        return hasher.hexdigest()

    @property
    def lens(self) -> str:
        """How ``unembed`` makes logits: ``head``, or ``tied embedding`` where the checkpoint has no head."""
        return "tied embedding" if self.full is None else "head"

    def unembed(self, states: NDArray[np.float32], *, normed: bool = False) -> NDArray[np.float32] | None:
        """Logits of every id (n, ids) of states (n, width), as the model's head makes them.

        The final norm of a family that has one comes before the head. Without a head in the checkpoint the
        input embedding stands in for it, which ``lens`` says.

        Args:
            states: after any block.
            normed: they are after the final norm already, as those of the layer ``L.norm`` are.

        Returns:
            None where the embedding is of another width than the states and there is no head.
        """
        import torch

        weight = self.module.get_input_embeddings().weight  # type: ignore[operator]  # a method of theirs
        if self.full is None and weight.shape[1] != self.width:
            return None
        with torch.inference_mode():
            value = torch.as_tensor(states).to(self.device, weight.dtype)
            if self.parts.norm and not normed:
                value = self.module.get_submodule(self.parts.norm)(value)
            if self.parts.between:
                value = self.module.get_submodule(self.parts.between)(value)
            if self.full is None:
                logits = value @ weight.T
            else:
                for path in self.parts.path:
                    value = self.full.get_submodule(path)(value)
                logits = value
            cap = getattr(self.config, "final_logit_softcapping", None)
            if cap and self.full is not None:
                logits = torch.tanh(logits / cap) * cap
            found: NDArray[np.float32] = logits.float().cpu().numpy()
        return found


def open_model(
    spec: str | Path, *, device: str | None = None, dtype: str = "float32", tokenizer: str | None = None
) -> Model:
    """Opens a model and its tokenizer.

    Args:
        spec: ``hf:org/name[@revision]``, ``pkg:distribution/path/inside``, or a folder with ``config.json``,
            safetensors and a tokenizer's files.
        device: ``cpu``, ``cuda`` or as torch names one; by default ``cuda`` where there is one.
        dtype: type of its numbers: ``float32`` whatever the file holds, ``bfloat16`` or ``float16``.
        tokenizer: spec of its tokenizer, where that is not in the folder.

    Raises:
        MissingExtra: torch or transformers is not installed.
        SutureError: the checkpoint is broken, of an unknown family, or not of its tokenizer.
    """
    from workbench.weights import open_weights

    if dtype not in DTYPES:
        raise SutureError(f"a dtype must be one of {', '.join(DTYPES)}; got {dtype!r}; pick one of these")
    _need()
    folder = folder_of(spec)
    weights = open_weights(folder)
    if not weights.config:
        raise UnreadableFile(
            f"a model's folder must hold a config.json that is complete JSON; {folder} holds none; copy it "
            "from where the weights come"
        )
    family = family_of(weights.config, folder)
    read = _tokenizer(folder, spec, tokenizer)
    _of_embedding(read, weights, folder)
    full, module = loaded(family, weights, folder, dtype)
    name = str(spec).removeprefix("hf:") if str(spec).startswith("hf:") else read.name
    model = wrap(full or module, read, name, source=str(spec), dtype=dtype, device=_device(device))
    model.weights = weights
    if full is None and family.head:
        note = "the checkpoint has no language-model head: the input embedding stands in for it in a lens"
        model.notes = (*model.notes, note)
    return model


def wrap(
    module: Any,
    tokenizer: Tokenizer,
    name: str = "model",
    *,
    source: str = "object",
    dtype: str | None = None,
    device: torch.device | str | None = None,
) -> Model:
    """A model of transformers that is in memory, such as one in training; it is set to evaluation mode.

    Args:
        module: with or without its language-model head.
        tokenizer: its tokenizer.
        name: short name.
        source: where it came from.
        dtype: type of its numbers, to be named in a trace; by default that of its first parameter.
        device: where it is to run; by default where it is.
    """
    from workbench.adapters.templates import template

    family = family_of(module.config.to_dict(), name)
    full = module if type(module).__name__ == family.head else None
    base = module if full is None else module.base_model
    if device is not None:
        module.to(device)
    module.eval()
    depth = int(module.config.num_hidden_layers)
    kind = str(next(module.parameters()).dtype).removeprefix("torch.")
    return Model(
        name, source, family.kind, found(family, base, depth), base, full, tokenizer,
        template(tokenizer, causal=family.causal), dtype or kind,
    )  # fmt: skip


def _bytes() -> torch.dtype:
    import torch

    return torch.uint8


def _need() -> None:
    try:
        import torch  # noqa: F401 only whether it is there
        import transformers  # noqa: F401 likewise
    except ImportError as error:
        raise MissingExtra(
            f"torch and transformers must be installed to run a model; they are not ({error}); "
            "run pip install 'suture[probing]'"
        ) from None


def _device(name: str | None) -> torch.device:
    import torch

    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = (str(error).splitlines() or [""])[0][:120]
        raise SutureError(f"a device must be there; {name!r} is not ({reason}); leave it to choice") from None
    return device


def _tokenizer(folder: Path, spec: str | Path, given: str | None) -> Tokenizer:
    from workbench.adapters import load

    if given is not None:
        return load(given)
    try:
        return load(spec if str(spec).startswith("pkg:") else folder)
    except UnreadableFile as error:
        raise UnreadableFile(
            f"a model must have its tokenizer's files beside it; {folder} has none that can be read "
            f"({str(error).partition(';')[0]}); copy tokenizer.json there, or name a tokenizer"
        ) from None


def _of_embedding(tokenizer: Tokenizer, weights: Weights, folder: Path) -> None:
    """Refuses a tokenizer that makes ids beyond the embedding's rows."""
    name = weights.embedding()
    if name is None:
        return
    rows, needed = weights.shape(name)[0], tokenizer.inventory.rows_needed
    if needed > rows:
        raise SutureError(
            f"a tokenizer's ids must be rows of the embedding; {tokenizer.name} has ids up to {needed - 1} "
            f"and the embedding of {folder} has {rows} rows; give the tokenizer that belongs to the weights"
        )
