"""States of tokens, taken from a model as it runs and written as they come.

Plain forward hooks stand on the blocks of the headless model. Each takes the rows that are wanted out of
its block's output, pools them in 32 bits, shows them to the observers and writes them; nothing is kept for
the next layer, so that a pass needs little more memory than the model alone, over any number of texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from importlib import metadata
from typing import TYPE_CHECKING, Any

import polars as pl

from probing.models import LONGEST
from probing.planning import POOLINGS, Pooling, Text
from probing.running import Kept, Pass
from workbench.errors import SutureError
from workbench.tracewriter import TraceWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from probing.models import Model
    from probing.planning import Select
    from probing.running import Observe
    from workbench.trace import Trace


@dataclass(frozen=True)
class Options:
    """How a pass is made; all of it is part of the trace's key.

    Attributes:
        layers: names of the layers that are stored, in the model's order.
        pooling: a unit is a token, or a word by the mean, the first or the last of its tokens.
        budget: tokens of a batch, padding included.
        select: which units to keep.
        most: units that are stored at most, drawn from all that ``select`` leaves.
        seed: of that draw.
        window: tokens that are run at a time at most, special ones included.
        stride: tokens between the beginnings of two windows of a long text.
        padding: side on which a batch is filled up.
    """

    layers: tuple[str, ...]
    pooling: Pooling
    budget: int
    select: Select | None
    most: int | None
    seed: int
    window: int
    stride: int
    padding: str

    def described(self) -> dict[str, Any]:
        """Ready for JSON."""
        chosen = self.select
        plain = chosen is None or isinstance(chosen, pl.Expr)
        name = (
            None if chosen is None else str(chosen) if plain else getattr(chosen, "__qualname__", "function")
        )
        return {**asdict(replace(self, select=None)), "select": name}


def capture(
    model: Model,
    texts: Iterable[str | tuple[str, str | None]],
    folder: str | Path,
    *,
    layers: Sequence[str] | None = None,
    pooling: Pooling = "token",
    budget: int = 2048,
    select: Select | None = None,
    most: int | None = None,
    seed: int = 0,
    window: int | None = None,
    stride: int | None = None,
    padding: str = "right",
    observers: Sequence[Observe] = (),
    progress: Callable[[int, int], None] | None = None,
    replace: bool = False,
) -> Trace:
    """Runs a model over texts and writes the states of their tokens as a trace.

    A pass that was stopped goes on where it was when it is called again with the same arguments, and ends
    with the same bytes. A trace that is there already is opened, unless there are observers to be shown it.

    Args:
        model: the model.
        texts: texts, or pairs of a text and its language; gone through more than once.
        folder: where the trace is to be.
        layers: names of layers, of ``model.layers`` and ``model.sublayers``; all of the former by default.
            With none, the observers are shown ``model.layers`` and nothing is stored.
        pooling: a unit is a token, or a whitespace word: the mean of its tokens, the first or the last one.
        budget: tokens of a batch at most, padding included; a longer window is a batch of its own.
        select: units to keep: an expression over ``trace.units``, or a function of it that gives a mask.
        most: units to store at most, drawn at random; observers see all that ``select`` leaves.
        seed: of the draw.
        window: tokens that the model is given at a time, by default as many as it takes, 2,048 at most.
        stride: tokens between windows of a longer text, by default half of what a window has room for.
        padding: ``right`` or ``left``.
        observers: called with a layer's name, states (units, width) in 32 bits on the model's device, and the
            frame of the units, layer after layer, batch after batch. One that is a ``Kept`` goes on with a
            stopped pass; with another, such a pass begins anew.
        progress: told bytes of text done and in all.
        replace: put the trace in the stead of another one.

    Raises:
        SutureError: an option is out of range, a layer is unknown, or the place is taken.
    """
    longest = window or min(model.positions, LONGEST)
    step = stride or max(1, (longest - len(model.template)) // 2)
    options = Options(_ordered(model, layers), pooling, budget, select, most, seed, longest, step, padding)
    _check(model, options)
    source = Source(list(texts) if isinstance(texts, Iterator) else texts)
    key = _key(model, options, source)
    with TraceWriter(folder, key, widths(model, options.layers)) as writer:
        there = writer.begin(replace=replace)
        if there is not None and not observers:
            return there
        if there is not None:
            raise SutureError(
                f"observers must see a pass; {folder} holds the trace of one already; give another folder"
            )
        if not all(isinstance(observer, Kept) for observer in observers):
            writer.restart()
        told = progress or (lambda *_: None)
        run = Pass(model, options, writer, observers, lambda done: told(done, source.size))
        counts = run.run(source.__iter__)
        return writer.publish({**_about(model, options, source), **counts})


@dataclass(eq=False)
class Source:
    """Texts that are gone through more than once.

    Attributes:
        given: texts, or pairs of a text and its language.
        digest: SHA-256 of contents and languages.
        count: how many texts.
        size: their bytes.
    """

    given: Iterable[str | tuple[str, str | None]]
    digest: str = field(init=False)
    count: int = field(init=False, default=0)
    size: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        hasher = hashlib.sha256()
        for text in self:
            data = text.content.encode("utf-8", "surrogatepass")
            hasher.update(len(data).to_bytes(8, "little") + data + f"{text.language}\n".encode())
            self.count, self.size = self.count + 1, self.size + len(data)
        self.digest = hasher.hexdigest()

    def __iter__(self) -> Iterator[Text]:
        for each in self.given:
            yield Text(each) if isinstance(each, str) else Text(*each)


def widths(model: Model, layers: Sequence[str]) -> dict[str, int]:
    """Dimensions of a state in each layer; those of a raw embedding row may be others."""
    row = model.module.get_input_embeddings().weight.shape[1]  # type: ignore[operator]  # a method of theirs
    return {layer: int(row) if layer == "static" else model.width for layer in layers}


def _ordered(model: Model, layers: Sequence[str] | None) -> tuple[str, ...]:
    """Wanted layers in the model's order, sub-layers last."""
    known = (*model.layers, *model.sublayers)
    wanted = model.layers if layers is None else layers
    for name in wanted:
        if name not in known:
            raise SutureError(
                f"a layer must be one of {', '.join(model.layers)}, or like "
                f"{', '.join(model.sublayers[:2])}; got {name!r}; pick some of these"
            )
    return tuple(name for name in known if name in wanted)


def _check(model: Model, options: Options) -> None:
    if options.pooling not in POOLINGS or options.padding not in ("right", "left"):
        raise SutureError(
            f"pooling must be one of {', '.join(POOLINGS)} and padding right or left; got "
            f"{options.pooling!r} and {options.padding!r}; pick of these"
        )
    room = options.window - len(model.template)
    if room < 1 or options.window > model.positions or not 1 <= options.stride <= room:
        raise SutureError(
            f"a window must have room for a token and at most {model.positions} positions, and a stride must "
            f"lie within it; got window {options.window} and stride {options.stride}; choose others"
        )
    if options.budget < 1 or (options.most is not None and options.most < 1):
        raise SutureError(
            f"budget and most must be positive; got {options.budget} and {options.most}; choose others"
        )


def _about(model: Model, options: Options, source: Source) -> dict[str, Any]:
    return {
        "model": model.name,
        "source": model.source,
        "family": model.family,
        "weights": model.digest,
        "tokenizer": model.tokenizer.inventory.digest,
        "template": [list(model.template.before), list(model.template.after)],
        "depth": model.depth,
        "width": model.width,
        "norm": model.parts.norm is not None,
        "causal": model.parts.causal,
        "lens": model.lens,
        "dtype": model.dtype,
        "stored": "float16",
        "device": model.device.type,
        "notes": list(model.notes),
        "texts": source.count,
        "bytes": source.size,
        "digest": source.digest,
        **options.described(),
    }


def _key(model: Model, options: Options, source: Source) -> str:
    """SHA-256 of all that determines the states."""
    versions = {name: metadata.version(name) for name in ("torch", "transformers")}
    text = json.dumps([_about(model, options, source), versions], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
