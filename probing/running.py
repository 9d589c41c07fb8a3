"""The pass itself: batches through a model, states to observers and to the files."""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch

from probing.hooks import Hooks
from probing.planning import Layout, plan
from workbench.tracewriter import LARGEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray
    from torch import Tensor

    from probing.capture import Options
    from probing.models import Model
    from probing.planning import Batch, Plan, Text
    from workbench.segmentation import Segmentation
    from workbench.tracewriter import TraceWriter

    Observe = Callable[[str, Tensor, pl.DataFrame], None]
    Ints = NDArray[np.int64]

PART_TOKENS = 1 << 15
"""Tokens after which a part of a trace ends, with the text that they end in."""

READ_TEXTS = 256
"""Texts that are segmented at a time."""

KEEP_SECONDS = 2.0
"""How long a pass goes on before it notes what is done; the end of a part is always noted."""


@runtime_checkable
class Kept(Protocol):
    """An observer that a stopped pass can go on with."""

    def __call__(self, layer: str, states: Tensor, units: pl.DataFrame) -> None:
        """Sees the states of some units in one layer, in the order of the layers."""

    def state(self) -> dict[str, NDArray[Any]]:
        """What it has seen so far, as arrays."""

    def restore(self, kept: dict[str, NDArray[Any]]) -> None:
        """Takes up what ``state`` gave."""


def layout_of(model: Model, options: Options) -> Layout:
    """How the texts are laid out for a model."""
    extra = len(model.template)
    return Layout(
        options.pooling, options.window - extra, options.stride, extra, options.budget, model.parts.causal
    )


def plans(
    model: Model,
    options: Options,
    texts: Iterator[Text],
    first: int = 0,
    drawn: Ints | None = None,
    seen: int = 0,
) -> Iterator[Plan]:
    """The parts of a trace, one after the other.

    Args:
        model: the model.
        options: the pass.
        texts: the texts that are left.
        first: number of the first of them.
        drawn: numbers of the units to keep, of all that the selection leaves; None for all of those.
        seen: how many of those the texts before have.
    """
    layout, pieces = layout_of(model, options), model.tokenizer.inventory.pieces
    for taken, cuts in _stretches(model, texts):
        made = plan(
            taken, cuts, pieces, layout, first, options.select, None if drawn is None else drawn - seen
        )
        first, seen = first + len(taken), seen + made.selected
        yield made


def _stretches(model: Model, texts: Iterator[Text]) -> Iterator[tuple[list[Text], list[Segmentation]]]:
    """Texts of a part with their segmentations."""
    taken: list[Text] = []
    cuts: list[Segmentation] = []
    tokens, ended = 0, False
    while not ended:
        read = [text for _, text in zip(range(READ_TEXTS), texts, strict=False)]
        ended = len(read) < READ_TEXTS
        for text, cut in zip(
            read, model.tokenizer.segment_batch([text.content for text in read]), strict=True
        ):
            taken.append(text)
            cuts.append(cut)
            tokens += len(cut)
            if tokens >= PART_TOKENS:
                yield taken, cuts
                taken, cuts, tokens = [], [], 0
    if taken:
        yield taken, cuts


class Pass:
    """One pass of a model over texts.

    Args:
        model: the model, in evaluation mode while it runs.
        options: how.
        writer: where the states go; it says where to go on.
        observers: shown every unit's states.
        progress: told bytes of text done.
    """

    def __init__(
        self,
        model: Model,
        options: Options,
        writer: TraceWriter,
        observers: Sequence[Observe],
        progress: Callable[[int], None],
    ) -> None:
        self.model, self.options, self.writer = model, options, writer
        self.observers, self.progress = list(observers), progress
        self.counts = {"selected": 0, "windowed": 0, "cut": 0, "bytes": 0}
        self._drawn: Ints | None = None
        self._now: _Taken
        self._pending: list[tuple[str, Ints, Tensor, Tensor, Tensor]] = []
        self._takes = set(inspect.signature(model.module.forward).parameters)
        self._restore()

    def run(self, texts: Callable[[], Iterator[Text]]) -> dict[str, int]:
        """Runs all that is left; ``texts`` gives them from the first on. Says how many units were seen."""
        model, left = self.model, texts()
        if self.options.most is not None:
            self._drawn = self._draw(texts())
        for _ in range(self.writer.texts):
            next(left)
        training = model.module.training
        model.module.eval()
        try:
            with (
                Hooks(model, self.options.layers or model.layers, self._take) as hooks,
                torch.inference_mode(),
            ):
                drawn = None if self.observers else self._drawn
                for made in plans(
                    model, self.options, left, self.writer.texts, drawn, self.counts["selected"]
                ):
                    self._part(made, hooks)
        finally:
            model.module.train(training)
        return {name: self.counts[name] for name in ("selected", "windowed", "cut")}

    def _draw(self, texts: Iterator[Text]) -> Ints:
        """Numbers of the units that are stored, of all that the selection leaves."""
        total = sum(made.selected for made in plans(self.model, self.options, texts))
        most = min(total, self.options.most or total)
        return np.sort(np.random.default_rng(self.options.seed).choice(total, most, replace=False))

    def _part(self, made: Plan, hooks: Hooks) -> None:
        stored = np.arange(made.units.height)
        if self.observers and self._drawn is not None:
            numbers = self.counts["selected"] + stored
            stored = stored[np.isin(numbers, self._drawn, assume_unique=True)]
        self.writer.open_part(made.units[stored], made.texts)
        size = int(made.texts["content"].str.len_bytes().sum())
        noted = time.monotonic()
        for number, batch in enumerate(made.batches):
            if number < self.writer.batch:
                continue
            self._batch(made, batch, stored, hooks)
            if time.monotonic() - noted > KEEP_SECONDS:
                self.writer.keep(number + 1, self._state())
                noted = time.monotonic()
            self.progress(self.counts["bytes"] + size * (number + 1) // len(made.batches))
        for name, value in (
            ("selected", made.selected), ("windowed", made.windowed), ("cut", made.cut), ("bytes", size),
        ):  # fmt: skip
            self.counts[name] += value
        self.writer.close_part(self._state())

    def _batch(self, made: Plan, batch: Batch, stored: Ints, hooks: Hooks) -> None:
        inputs, shift = self._inputs(made, batch)
        device = self.model.device
        flat = batch.row * batch.longest + batch.place + shift[batch.row]
        within = np.flatnonzero(np.isin(batch.rows, stored, assume_unique=True))
        tokens = made.windows.first[batch.windows[batch.row]] + batch.place
        self._now = _Taken(
            torch.from_numpy(flat).to(device),
            None if self.options.pooling == "token" else torch.from_numpy(batch.unit).to(device),
            torch.from_numpy(np.bincount(batch.unit)).to(device, torch.float32).unsqueeze(1),
            made.units[batch.rows] if self.observers else None,
            np.searchsorted(stored, batch.rows[within]),
            None if len(within) == len(batch.rows) else torch.from_numpy(within).to(device),
        )
        hooks.begin()
        if "static" in (self.options.layers or self.model.layers):
            table = self.model.module.get_input_embeddings().weight  # type: ignore[operator]  # theirs
            self._keep("static", table[torch.from_numpy(made.tokens.ids[tokens]).to(device)])
        self.model.module(**inputs)
        hooks.end()
        self._flush()

    def _inputs(self, made: Plan, batch: Batch) -> tuple[dict[str, Any], Ints]:
        """What the model is called with, and where in each row the text's first token stands."""
        before, after = self.model.template
        count, left = len(batch.windows), self.options.padding == "left"
        ids = np.full((count, batch.longest), self.model.pad)
        mask = np.zeros_like(ids)
        shift = np.empty(count, np.int64)
        for row, window in enumerate(batch.windows.tolist()):
            first, size = made.windows.first[window], made.windows.size[window]
            whole = [*before, *made.tokens.ids[first : first + size].tolist(), *after]
            start = batch.longest - len(whole) if left else 0
            ids[row, start : start + len(whole)] = whole
            mask[row, start : start + len(whole)] = 1
            shift[row] = start + len(before)
        device = self.model.device
        inputs: dict[str, Any] = {
            "input_ids": torch.from_numpy(ids).to(device),
            "attention_mask": torch.from_numpy(mask).to(device),
        }
        if left and "position_ids" in self._takes and not self.model.parts.offset:
            places = np.maximum(np.cumsum(mask, axis=1) - 1, 0)
            inputs["position_ids"] = torch.from_numpy(places).to(device)
        if "use_cache" in self._takes:
            inputs["use_cache"] = False
        return inputs, shift

    def _take(self, layer: str, state: Tensor) -> None:
        self._keep(layer, state.flatten(0, -2).index_select(0, self._now.flat))

    def _keep(self, layer: str, rows: Tensor) -> None:
        """Pools one layer's rows (tokens, width), shows them and writes those that are stored."""
        now, states = self._now, rows.float()
        if now.unit is not None:
            sums = torch.zeros(len(now.size), states.shape[1], device=states.device)
            states = sums.index_add_(0, now.unit, states).div_(now.size)
        for observer in self.observers:
            observer(layer, states, now.units)  # type: ignore[arg-type]  # there with an observer
        if layer not in self.options.layers or not len(now.rows):
            return
        if now.stored is not None:
            states = states.index_select(0, now.stored)
        low, high = torch.aminmax(states)
        if states.device.type == "cpu":
            fits = max(-float(low), float(high)) <= LARGEST
            self.writer.write(layer, now.rows, (states.half() if fits else states).numpy())
            return
        half = states.half()
        host = torch.empty(half.shape, dtype=half.dtype, pin_memory=True)
        host.copy_(half, non_blocking=True)
        fit = torch.maximum(-low, high) <= LARGEST
        self._pending.append((layer, now.rows, host, fit, states))

    def _flush(self) -> None:
        """Writes what was copied from a device, after one wait for all of it."""
        if not self._pending:
            return
        fits = torch.stack([fit for *_, fit, _ in self._pending]).tolist()
        torch.cuda.synchronize(self.model.device)
        for (layer, rows, host, _, states), fit in zip(self._pending, fits, strict=True):
            self.writer.write(layer, rows, host.numpy() if fit else states.cpu().numpy())
        self._pending.clear()

    def _state(self) -> dict[str, NDArray[Any]]:
        found: dict[str, NDArray[Any]] = {
            f"{place}.{name}": value
            for place, observer in enumerate(self.observers)
            if isinstance(observer, Kept)
            for name, value in observer.state().items()
        }
        return {**found, "pass": np.array([*self.counts.values()], np.int64)}

    def _restore(self) -> None:
        kept = self.writer.kept
        if "pass" not in kept:
            return
        self.counts = dict(zip(self.counts, kept["pass"].tolist(), strict=True))
        for place, observer in enumerate(self.observers):
            if isinstance(observer, Kept):
                prefix = f"{place}."
                observer.restore(
                    {
                        name.removeprefix(prefix): value
                        for name, value in kept.items()
                        if name.startswith(prefix)
                    }
                )


class _Taken(NamedTuple):
    """What is taken of the batch that runs.

    Attributes:
        flat: of each token that is kept, its place in the batch laid end to end.
        unit: its unit; None where each token is one.
        size: tokens of each unit (units, 1).
        units: frame of the units, for observers.
        rows: rows of the files that stored units go to, rising.
        stored: which units those are; None for all.
    """

    flat: Tensor
    unit: Tensor | None
    size: Tensor
    units: pl.DataFrame | None
    rows: Ints
    stored: Tensor | None
