"""Small language models for experiments: built from transformers' own classes, trained on documents.

A document begins with the id after the vocabulary's last, so that its first token is predicted too, and is
padded at its end; a padded position takes no part in any loss. The same seed gives the same model on the
same machine.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.nn import functional

from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor, nn

PADDING = -1
"""Target id of a padded position."""


@dataclass(frozen=True)
class Shape:
    """Size of a model.

    Attributes:
        vocabulary: ids that it predicts; the id of the same number begins a document.
        width: dimensions of a state.
        layers: transformer layers.
        heads: attention heads.
        context: positions at most.
    """

    vocabulary: int
    width: int = 128
    layers: int = 3
    heads: int = 4
    context: int = 512


class Documents(NamedTuple):
    """A batch of documents.

    ``inputs`` and ``targets`` are (documents, positions): position i of a document sees the start and its
    first i tokens, and is to predict token i; ``targets`` is ``PADDING`` after the document's end.
    """

    inputs: Tensor
    targets: Tensor

    @property
    def real(self) -> Tensor:
        """Positions that predict a token (documents, positions)."""
        return self.targets != PADDING


def build(shape: Shape, seed: int = 0) -> nn.Module:
    """A decoder of the Llama family with random weights and tied embeddings.

    Args:
        shape: its size.
        seed: of the weights.
    """
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=shape.vocabulary + 1,
        hidden_size=shape.width,
        intermediate_size=4 * shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=shape.context,
        tie_word_embeddings=True,
        bos_token_id=shape.vocabulary,
        eos_token_id=None,
        use_cache=False,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: nn.Module = LlamaForCausalLM(config)
    return model


def parameters(model: nn.Module) -> int:
    """Trainable parameters, a tied matrix counted once."""
    return sum(each.numel() for each in model.parameters())


def batch(rows: Sequence[Sequence[int]], shape: Shape) -> Documents:
    """Documents side by side, padded to the longest.

    Raises:
        SutureError: a document is empty, longer than the context, or holds an id outside the vocabulary.
    """
    longest = max(map(len, rows), default=0)
    if not all(map(len, rows)) or not rows or longest > shape.context:
        raise SutureError(
            f"a document must have 1 to {shape.context} tokens; got one of {min(map(len, rows), default=0)} "
            f"and one of {longest}; cut the text before"
        )
    targets = torch.full((len(rows), longest), PADDING)
    for place, row in enumerate(rows):
        targets[place, : len(row)] = torch.tensor(row)
    if targets.max() >= shape.vocabulary or (targets < PADDING).any():
        raise SutureError(
            f"ids must be below {shape.vocabulary}, the size of the vocabulary; got {int(targets.max())}; "
            "use the tokenizer that the model was made for"
        )
    start = torch.full((len(rows), 1), shape.vocabulary)
    inputs = torch.cat([start, targets[:, :-1]], dim=1)
    return Documents(inputs.where(inputs != PADDING, shape.vocabulary), targets)


def log_probabilities(model: nn.Module, shape: Shape, documents: Documents) -> Tensor:
    """Log-probabilities of every id of the vocabulary (documents, positions, vocabulary), in nats.

    The start id is no outcome: the others are normalised without it.
    """
    logits = model(input_ids=documents.inputs, use_cache=False).logits
    return functional.log_softmax(logits[..., : shape.vocabulary].float(), dim=-1)


def cross_entropy(scores: Tensor, documents: Documents) -> Tensor:
    """−log p of each real target, in nats (real positions,)."""
    real = documents.real
    picked = scores[real].gather(1, documents.targets[real].unsqueeze(1))
    return -picked.squeeze(1)


@dataclass(frozen=True)
class Schedule:
    """How a model is trained: AdamW, a linear warm-up, then a cosine down to a tenth.

    Attributes:
        steps: optimiser steps.
        rate: highest learning rate.
        warm: share of the steps in which the rate rises.
        decay: weight decay.
        clip: greatest norm of the gradient.
    """

    steps: int = 400
    rate: float = 3e-3
    warm: float = 0.05
    decay: float = 0.1
    clip: float = 1.0

    def at(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        warm = max(1, round(self.warm * self.steps))
        if step < warm:
            return self.rate * (step + 1) / warm
        done = (step - warm) / max(1, self.steps - warm)
        return self.rate * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * done)))


class Trainer:
    """Trains one model, step by step; its whole state can be kept and taken up again.

    Attributes:
        model: the model, changed in place.
        schedule: the schedule.
        step: steps done.
    """

    def __init__(self, model: nn.Module, schedule: Schedule) -> None:
        self.model, self.schedule, self.step = model, schedule, 0
        self._optimiser = torch.optim.AdamW(
            model.parameters(), lr=schedule.rate, betas=(0.9, 0.95), weight_decay=schedule.decay
        )

    def advance(self, loss: Tensor) -> float:
        """One step down the gradient of a loss.

        Raises:
            SutureError: the loss is not finite.
        """
        value = float(loss.detach())
        if not math.isfinite(value):
            raise SutureError(
                f"a loss must be finite; it is {value} at step {self.step}; lower the learning rate, or look "
                "at the teacher's rows"
            )
        for group in self._optimiser.param_groups:
            group["lr"] = self.schedule.at(self.step)
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.schedule.clip)
        self._optimiser.step()
        self.step += 1
        return value

    def state(self) -> dict[str, Tensor]:
        """Weights, the optimiser's moments and the step, as tensors for one safetensors file."""
        kept: dict[str, Tensor] = {f"model.{name}": value for name, value in self.model.named_parameters()}
        names = [name for name, _ in self.model.named_parameters()]
        moments: dict[int, dict[str, Any]] = self._optimiser.state_dict()["state"]
        for place, moment in moments.items():
            for key, value in moment.items():
                kept[f"optimiser.{key}.{names[place]}"] = torch.as_tensor(value)
        kept["step"] = torch.tensor(self.step)
        return {name: value.detach().clone().contiguous() for name, value in kept.items()}

    def restore(self, kept: dict[str, Tensor]) -> None:
        """Takes up what ``state`` gave.

        Raises:
            SutureError: it is of a model of another shape.
        """
        named = dict(self.model.named_parameters())
        held = {name.removeprefix("model.") for name in kept if name.startswith("model.")}
        if held != set(named) or any(kept[f"model.{name}"].shape != named[name].shape for name in named):
            raise SutureError(
                "a kept state must be of a model of this shape; it is of another; give the same options as "
                "before, or another folder"
            )
        with torch.no_grad():
            for name, value in named.items():
                value.copy_(kept[f"model.{name}"])
        state: dict[int, dict[str, Tensor]] = {}
        for place, name in enumerate(named):
            found = {key.split(".")[1]: value for key, value in kept.items()
                     if key.startswith("optimiser.") and key.split(".", 2)[2] == name}  # fmt: skip
            if found:
                state[place] = found
        self._optimiser.load_state_dict({**self._optimiser.state_dict(), "state": state})
        self.step = int(kept["step"])


def shuffled(count: int, size: int, seed: int) -> Iterator[list[int]]:
    """Endless batches of document numbers: every document once an epoch, each epoch in an order of its own.

    Args:
        count: documents.
        size: documents a batch; the last batch of an epoch may be smaller.
        seed: of the orders.
    """
    generator = torch.Generator().manual_seed(seed)
    while True:
        order = torch.randperm(count, generator=generator).tolist()
        for place in range(0, count, size):
            yield order[place : place + size]


def train(
    trainer: Trainer,
    batches: Iterator[list[int]],
    loss: Callable[[list[int]], Tensor],
    until: int,
    progress: Callable[[int, float], None] = lambda *_: None,
) -> None:
    """Advances to a step; batches already used by a restored trainer must be taken off before.

    Args:
        trainer: the trainer.
        batches: numbers of documents.
        loss: the loss of a batch of documents.
        until: step to stop at.
        progress: told each step and its loss.
    """
    trainer.model.train()
    while trainer.step < until:
        progress(trainer.step, trainer.advance(loss(next(batches))))


def described(shape: Shape, schedule: Schedule) -> dict[str, Any]:
    """Shape and schedule, ready for JSON."""
    return {"shape": asdict(shape), "schedule": asdict(schedule)}
