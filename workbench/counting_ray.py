"""Counting on Ray Data: one stage reads the files, the next encodes; only sums come back."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from workbench.adapters import load
from workbench.corpora import Batch
from workbench.counting import Part, cores, measure
from workbench.errors import MissingExtra, SutureError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.corpora import Corpus
    from workbench.tokenizer import Tokenizer

BLOCK_BYTES = 4 << 20
"""Size at which Ray hands what was read to the next stage; its own default would starve small corpora."""

READERS_PER_ACTOR = 8
"""Reading tasks for each counting actor at most; more files than that share them."""

READER_CORES = 0.5
"""Less than the counting stage takes, so that Ray keeps the two apart and one file feeds many actors."""

_SIZES = dict.fromkeys(("bytes", "codepoints", "tokens"), pl.Int64)


def ray_parts(tokenizer: Tokenizer, corpus: Corpus, documents: bool, workers: int | None) -> Iterator[Part]:
    """Counts of each batch, in any order; a cluster that runs is used, else one is started and ended.

    Raises:
        MissingExtra: Ray is not installed.
        SutureError: the tokenizer has no source that a worker could load it from.
    """
    try:
        import ray  # noqa: PLC0415 an extra
        import ray.data  # noqa: PLC0415 likewise
    except ImportError:
        raise MissingExtra(
            "counting on Ray needs the package ray; it is not installed; install it with "
            'pip install "suture[scale]"'
        ) from None
    spec = _portable(tokenizer)
    started = not ray.is_initialized()
    if started:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # One core more for the reading; a cluster named by RAY_ADDRESS has its own number of cores.
        own = None if os.environ.get("RAY_ADDRESS") else (workers or cores()) + 1
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR, num_cpus=own)
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # an error is raised; it is not logged too
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    actors = workers or max(1, int(resources.get("CPU", 2)) - 1)
    try:
        yield from _pipeline(ray, spec, tokenizer.inventory.digest, corpus, documents, actors)
    finally:
        if started:
            ray.shutdown()


def _portable(tokenizer: Tokenizer) -> str:
    """The tokenizer's source as another process can load it: a path becomes absolute."""
    source = tokenizer.inventory.source
    if source in ("", "object"):
        raise SutureError(
            f"on Ray each worker loads the tokenizer from its file or by its name; {tokenizer.name} was made "
            "from an object; load it with workbench.adapters.load, or count with the local engine"
        )
    path, mark, rest = source.partition("#")
    return f"{Path(path).resolve()}{mark}{rest}" if Path(path).exists() else source


def _pipeline(
    ray: Any, spec: str, digest: str, corpus: Corpus, documents: bool, actors: int
) -> Iterator[Part]:
    files = [{"file": index} for index in range(len(corpus.files))]
    found = (
        ray.data.from_items(files, override_num_blocks=min(len(files), READERS_PER_ACTOR * actors))
        .map_batches(
            _read,
            batch_size=1,
            fn_kwargs={"corpus": replace(corpus, spool=None)},
            num_cpus=READER_CORES,
        )
        .map_batches(
            _Counter,
            batch_size=1,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=actors),
            fn_constructor_args=(spec, digest, documents),
        )
    )
    found.context.enable_progress_bars = False
    found.context.target_max_block_size = BLOCK_BYTES
    try:
        for table in found.iter_batches(batch_size=None, batch_format="pyarrow"):
            yield from _unpacked(pl.DataFrame(table))
    except ray.exceptions.RayError as error:
        raise _cause(error) from None


def _cause(error: BaseException) -> BaseException:
    """The sentence that a worker raised, out of what Ray wraps around it and writes below it."""
    inner: Any = error
    while inner is not None:
        if isinstance(inner, SutureError) and not hasattr(inner, "cause"):
            return type(inner)(str(inner).splitlines()[0])
        inner = getattr(inner, "cause", None) or inner.__cause__
    return error


def _read(batch: dict[str, Any], corpus: Corpus) -> Iterator[Any]:
    """The documents of one file, a row a batch."""
    for index in batch["file"].tolist():
        for number, some in enumerate(corpus.file_batches(corpus.files[index])):
            row = {"file": [index], "number": [number], "language": [some.language], "texts": [some.texts]}
            yield pl.DataFrame(row, schema_overrides={"language": pl.String}).to_arrow()


class _Counter:
    """An actor with the tokenizer loaded once."""

    def __init__(self, spec: str, digest: str, documents: bool) -> None:
        self.tokenizer = load(spec)
        self.documents = documents
        if self.tokenizer.inventory.digest != digest:
            raise SutureError(
                f"each worker must load the same tokenizer; {spec} holds another one there; "
                "put the same file on every machine"
            )

    def __call__(self, table: Any) -> Any:
        parts = []
        for row in pl.DataFrame(table).iter_rows(named=True):
            batch, place = Batch(row["texts"], row["language"]), (row["file"], row["number"])
            parts.append(_packed(measure(self.tokenizer, batch, place, self.documents)))
        return pl.concat(parts).to_arrow()


def _packed(part: Part) -> pl.DataFrame:
    """A part as one row, its ids counted and its documents' sizes as lists."""
    ids, times = np.unique(part.ids, return_counts=True)
    sizes = pl.DataFrame(schema=_SIZES) if part.sizes is None else part.sizes
    row = {
        "file": [part.place[0]],
        "number": [part.place[1]],
        "language": [part.language],
        "ids": pl.Series([ids], dtype=pl.List(pl.Int32)),
        "times": pl.Series([times], dtype=pl.List(pl.Int64)),
        "totals": pl.Series([list(part.totals)], dtype=pl.List(pl.Int64)),
    }
    return pl.DataFrame(row).with_columns(sizes[name].implode().alias(name) for name in _SIZES)


def _unpacked(frame: pl.DataFrame) -> Iterator[Part]:
    """The parts in some rows; a batch always has documents, so that no sizes means not asked for."""
    for index, (file, number, language) in enumerate(frame.select("file", "number", "language").rows()):
        sizes = pl.DataFrame({name: frame[name][index] for name in _SIZES})
        yield Part(
            (file, number),
            language,
            frame["ids"][index].to_numpy(),
            frame["times"][index].to_numpy(),
            tuple(frame["totals"][index]),
            sizes if sizes.height else None,
        )
