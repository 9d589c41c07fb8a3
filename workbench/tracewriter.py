"""Writes a trace as its states come, with no more of them in memory than the caller holds.

States are stored in 16 bits. A batch that holds a number which 16 bits cannot (beyond 65,504, or not finite)
is stored as it is, and that part of that layer in 32 bits; the other batches keep their 16-bit values there,
so the files do not depend on the order of the batches or on where a run was stopped.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from workbench.errors import SutureError, UnreadableFile
from workbench.tensorfiles import read_header
from workbench.trace import FORMAT, TENSOR, TEXTS, UNITS, Trace, file_name, part_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from numpy.typing import NDArray

    States = NDArray[np.float16] | NDArray[np.float32]

KINDS: dict[str, np.dtype[Any]] = {"F16": np.dtype("<f2"), "F32": np.dtype("<f4")}
LARGEST = float(np.finfo(np.float16).max)
COPY_ROWS = 1024
"""Rows that are held while a file is rewritten in 32 bits."""


class TraceWriter:
    """Writes a trace under a temporary name, part by part, and renames it when it is whole.

    After ``begin``, ``part`` and ``batch`` say where to go on: the number of the part that is to be opened
    next, and how many of its batches are written already.

    Attributes:
        folder: where the trace is to be.
        key: digest of all that determines the trace; a stopped one goes on only under the same key.
        widths: width of each layer's states, in order.
        part: parts that are whole.
        batch: batches of the next part that are written.
        kept: what ``keep`` was last given beside them.
    """

    def __init__(self, folder: str | Path, key: str, widths: Mapping[str, int]) -> None:
        self.folder, self.key, self.widths = Path(folder).expanduser(), key, dict(widths)
        self.partial = self.folder.with_name(f".{self.folder.name}.partial")
        self.part, self.batch = 0, 0
        self.kept: dict[str, NDArray[Any]] = {}
        self._done: list[dict[str, Any]] = []
        self._open: dict[str, _Layer] = {}
        for layer in self.widths:
            file_name(layer)

    def begin(self, *, replace: bool = False) -> Trace | None:
        """Makes the working folder, or takes up the one that a stopped run has left.

        Args:
            replace: put the new trace in the stead of another one at the same place.

        Returns:
            The trace, where it is there already under the same key; there is nothing to do then.

        Raises:
            SutureError: the place holds something else, or the beginning of another trace, or cannot be
                written to.
        """
        if (self.folder / "trace.json").is_file():
            former = Trace.open(self.folder)
            if former.about.get("key") == self.key:
                return former
            if not replace:
                raise SutureError(
                    f"an output folder must be new, or hold the trace that is asked for; {self.folder} holds "
                    "another trace; choose another folder, or say that it is to be replaced"
                )
        elif self.folder.exists() and not (self.folder.is_dir() and not any(self.folder.iterdir())):
            raise SutureError(
                f"an output folder must be new, empty or a trace; {self.folder} holds something else; choose "
                "another"
            )
        try:
            (self.partial / "parts").mkdir(parents=True, exist_ok=True)
            self._take_up(replace=replace)
        except OSError as error:
            raise SutureError(
                f"the output folder must be writable; {self.folder.parent} is not ({error.strerror}); "
                "choose another"
            ) from None
        return None

    @property
    def texts(self) -> int:
        """Texts of the parts that are whole."""
        return sum(int(part["texts"]) for part in self._done)

    def restart(self) -> None:
        """Drops what a stopped run has left, to begin with the first part."""
        if self.part or self.batch:
            self.abandon()
            self.part, self.batch, self.kept, self._done = 0, 0, {}, []
            self.begin(replace=True)

    def open_part(self, units: pl.DataFrame, texts: pl.DataFrame) -> None:
        """Begins the next part, or goes on with it.

        Args:
            units: one row a unit; columns as in ``workbench.trace.UNITS``.
            texts: the texts that they are of, those without a unit included.
        """
        folder = self._writing()
        folder.mkdir(exist_ok=True)
        units.select(UNITS.names()).cast(UNITS).write_parquet(folder / "units.parquet")
        texts.select(TEXTS.names()).cast(TEXTS).write_parquet(folder / "texts.parquet")
        self._rows = {"units": units.height, "texts": texts.height}
        for layer, width in self.widths.items():
            self._open[layer] = _Layer(folder / file_name(layer), layer, (units.height, width), self.key)

    def write(self, layer: str, rows: NDArray[np.int64], states: States) -> None:
        """Writes states of some of the part's units.

        Args:
            layer: its name.
            rows: numbers of the units within the part (n,), rising.
            states: (n, width), in 16 or 32 bits.
        """
        self._open[layer].write(rows, states)

    def keep(self, batch: int, kept: Mapping[str, NDArray[Any]] | None = None) -> None:
        """Notes that so many batches of the part are written, with what a later run needs beside them."""
        self.batch, self.kept = batch, dict(kept or {})
        self._note()

    def close_part(self, kept: Mapping[str, NDArray[Any]] | None = None) -> None:
        """Ends the part; all its states must have been written."""
        wide = [layer for layer, file in self._open.items() if file.dtype == "F32"]
        self._close()
        self._done.append({**self._rows, "wide": wide})
        self.part, self.batch, self.kept = self.part + 1, 0, dict(kept or {})
        self._note()
        self._settle()

    def publish(self, about: Mapping[str, Any]) -> Trace:
        """Puts the finished trace in its place; ``about`` is what a reader is to know of it."""
        doc = {
            "format": FORMAT,
            "about": {**about, "key": self.key},
            "layers": list(self.widths.items()),
            "parts": self._done,
        }
        text = json.dumps(doc, ensure_ascii=False, indent=1)
        (self.partial / "trace.json").write_text(text + "\n", encoding="utf-8")
        (self.partial / "journal.safetensors").unlink(missing_ok=True)
        former = self.folder.with_name(f".{self.folder.name}.former")
        shutil.rmtree(former, ignore_errors=True)
        if self.folder.exists():
            self.folder.replace(former)
        self.partial.replace(self.folder)
        shutil.rmtree(former, ignore_errors=True)
        return Trace.open(self.folder)

    def abandon(self) -> None:
        """Drops what is written."""
        self._close()
        shutil.rmtree(self.partial, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def _writing(self) -> Path:
        return self.partial / "parts" / f"{part_name(self.part)}.writing"

    def _settle(self) -> None:
        """Renames the last whole part, unless that was done before a run was stopped."""
        if self.part:
            name = part_name(self.part - 1)
            writing = self.partial / "parts" / f"{name}.writing"
            if writing.is_dir():
                writing.replace(self.partial / "parts" / name)

    def _note(self) -> None:
        facts = {"key": self.key, "part": self.part, "batch": self.batch, "done": self._done}
        path = self.partial / "journal.safetensors"
        writing = path.with_suffix(".writing")
        writing.write_bytes(save(self.kept, {"facts": json.dumps(facts)}))
        writing.replace(path)

    def _take_up(self, *, replace: bool) -> None:
        path = self.partial / "journal.safetensors"
        if not path.is_file():
            self._note()
            return
        try:
            with safe_open(path, "np") as file:
                facts = json.loads(file.metadata()["facts"])
                kept = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 no mapping
        except (SafetensorError, OSError, KeyError, TypeError, ValueError):
            facts, kept = {"key": None}, {}
        if facts["key"] != self.key:
            if not replace:
                raise SutureError(
                    f"a stopped trace goes on with the options, texts and weights that it was begun with; "
                    f"{self.partial} was begun with others; remove it, or choose another folder"
                )
            shutil.rmtree(self.partial)
            (self.partial / "parts").mkdir(parents=True)
            self._note()
            return
        self.part, self.batch = facts["part"], facts["batch"]
        self._done, self.kept = facts["done"], kept
        self._settle()


class _Layer:
    """The file of one layer of one part, whose header is written first and whose rows come in any order."""

    def __init__(self, path: Path, layer: str, shape: tuple[int, int], key: str) -> None:
        self.path, self.shape, self.facts = path, shape, {"layer": layer, "trace": key}
        self.dtype = "F16"
        if path.is_file():
            tensor = read_header(path).get(TENSOR)
            if tensor is None or tensor.shape != shape:
                raise UnreadableFile(
                    f"a stopped trace must have its files as it left them; {path} is another; remove the "
                    f"folder {path.parent.parent.parent}"
                )
            self.dtype, self.start = tensor.dtype, tensor.start
        else:
            self.start = self._make(path, "F16")
        self.file = os.open(path, os.O_RDWR)

    def write(self, rows: NDArray[np.int64], states: States) -> None:
        """Writes rows at their places."""
        if not len(rows):
            return
        # Numbers that are given in 16 bits fit, whatever they are.
        fits = states.dtype == np.float16 or bool((np.abs(states) <= LARGEST).all())
        if not fits and self.dtype == "F16":
            self._widen()
        kind = KINDS[self.dtype]
        data = np.ascontiguousarray(states.astype(np.float16, copy=False) if fits else states, kind)
        width = self.shape[1] * kind.itemsize
        edges = np.concatenate([[0], np.flatnonzero(np.diff(rows) != 1) + 1, [len(rows)]])
        for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            # As bytes: a memory view of 16-bit floats cannot be cut on Python 3.11.
            _pwrite(self.file, data[low:high].view(np.uint8), self.start + int(rows[low]) * width)

    def close(self) -> None:
        """Closes the file."""
        os.close(self.file)

    def _make(self, path: Path, dtype: str) -> int:
        """Makes a file of zeros with its header, under its name at once; gives the place of the first row."""
        units, width = self.shape
        size = units * width * KINDS[dtype].itemsize
        doc = {
            "__metadata__": self.facts,
            TENSOR: {"dtype": dtype, "shape": [units, width], "data_offsets": [0, size]},
        }
        text = json.dumps(doc, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        writing = path.with_suffix(".writing")
        with writing.open("wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            file.truncate(8 + len(text) + size)
        writing.replace(path)
        return 8 + len(text)

    def _widen(self) -> None:
        """Rewrites the file in 32 bits."""
        wide = self.path.with_suffix(".wide")
        start = self._make(wide, "F32")
        file = os.open(wide, os.O_RDWR)
        units, width = self.shape
        for low in range(0, units, COPY_ROWS):
            high = min(units, low + COPY_ROWS)
            data = os.pread(self.file, (high - low) * width * 2, self.start + low * width * 2)
            rows = np.frombuffer(data, KINDS["F16"]).astype(KINDS["F32"])
            _pwrite(file, rows.view(np.uint8), start + low * width * 4)
        wide.replace(self.path)
        os.close(self.file)
        self.file, self.start, self.dtype = file, start, "F32"


def _pwrite(file: int, data: NDArray[np.uint8], place: int) -> None:
    left = memoryview(data).cast("B")  # type: ignore[arg-type]  # an array is a buffer
    while left:
        written = os.pwrite(file, left, place)
        left, place = left[written:], place + written


def write_trace(
    folder: str | Path,
    layers: Mapping[str, States],
    units: pl.DataFrame,
    texts: pl.DataFrame,
    about: Mapping[str, Any],
    key: str = "",
) -> Trace:
    """Writes a trace of states that are all in memory, as one part.

    Args:
        folder: where to; a trace that is there is replaced.
        layers: states (units, width) by the layer's name, in order.
        units: one row a unit.
        texts: the texts.
        about: what a reader is to know.
        key: digest of all that determines it.
    """
    with TraceWriter(folder, key, {name: states.shape[1] for name, states in layers.items()}) as writer:
        done = writer.begin(replace=True)
        if done is not None:
            shutil.rmtree(done.folder)
            writer.begin()
        writer.open_part(units, texts)
        for name, states in layers.items():
            writer.write(name, np.arange(len(states)), states)
        writer.close_part()
        return writer.publish(about)
