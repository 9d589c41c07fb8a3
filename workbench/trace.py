"""A trace: the states of the tokens of some texts, layer by layer, in a folder that is read a part at a time.

``trace.json`` says what was traced and how; each folder of ``parts`` holds a stretch of the texts: which
units were kept (``units.parquet``), the texts (``texts.parquet``), and one safetensors file a layer with the
units' states in the same order. ``workbench.tracewriter`` writes it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from workbench.errors import SutureError, UnknownName, UnreadableFile
from workbench.tensorfiles import Tensor, read_header

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

FORMAT = 1
TENSOR = "states"
"""Name of the one tensor of a layer's file."""

UNITS = pl.Schema(
    {
        "text": pl.UInt32(),
        "position": pl.UInt32(),
        "start": pl.UInt32(),
        "end": pl.UInt32(),
        "token_id": pl.Int32(),
        "piece": pl.Binary(),
        "word": pl.UInt32(),
        "pieces": pl.UInt16(),
        "window": pl.UInt16(),
    }
)
"""Columns of ``units``: number of the text; place of the (first) token among the text's tokens without the
special ones; byte offsets in the text; token id, null where several tokens were pooled; bytes of the entry,
or of the text under pooled tokens; number of the whitespace word in the text, null beside words; tokens
pooled; and the window of a long text in which the state was computed, 0 in a text that fits the model."""

TEXTS = pl.Schema({"text": pl.UInt32(), "content": pl.String(), "language": pl.String()})

CHUNK_BYTES = 32 << 20
"""Bytes of 32-bit floats that a pass over a layer holds at a time."""


@dataclass(frozen=True, eq=False)
class Trace:
    """A finished trace, opened for reading.

    Attributes:
        folder: where it lies.
        about: what was traced: ``model``, ``source``, ``family``, digests of weights and tokenizer, ``dtype``
            of the pass, ``pooling``, ``norm`` (whether a layer after the final norm is there) and more.
        widths: dimensions of each layer's states, in order of the layers: ``static`` is the raw embedding
            row, ``0`` the embedding output, ``1`` … ``L`` the blocks' outputs before any final norm,
            ``L.norm`` the state after it.
        parts: units of each part.
        wide: layers of which a part is stored in 32 bits, since 16 bits cannot hold a state of it.
    """

    folder: Path
    about: dict[str, Any]
    widths: dict[str, int]
    parts: tuple[int, ...] = field(repr=False)
    wide: tuple[str, ...] = ()

    @classmethod
    def open(cls, folder: str | Path) -> Trace:
        """Opens a trace; of the states, only that their files are there is checked now.

        Raises:
            UnreadableFile: no finished trace, one of another format, or one that lacks files.
        """
        folder = Path(folder).expanduser()
        try:
            doc = json.loads((folder / "trace.json").read_bytes())
        except (OSError, ValueError, RecursionError):
            raise UnreadableFile(
                f"a trace must be a folder with trace.json; {folder} is none; make one with suture trace "
                f"MODEL TEXT -o {folder.name}"
            ) from None
        if not isinstance(doc, dict) or doc.get("format") != FORMAT:
            raise UnreadableFile(
                f"a trace must be of format {FORMAT}; {folder} is of another; trace the text again with this "
                "version"
            )
        try:
            about, widths = dict(doc["about"]), {str(name): int(width) for name, width in doc["layers"]}
            parts = tuple(int(part["units"]) for part in doc["parts"])
            wide = tuple(name for name in widths if any(name in part["wide"] for part in doc["parts"]))
        except (KeyError, TypeError, ValueError):
            raise UnreadableFile(
                f"a trace.json must name layers and parts; that of {folder} does not; trace the text again"
            ) from None
        found = cls(folder, about, widths, parts, wide)
        wanted = [
            part / name
            for part in map(found._part, range(len(parts)))
            for name in ("units.parquet", "texts.parquet", *map(file_name, widths))
        ]
        lacking = [path for path in wanted if not path.is_file()]
        if lacking:
            raise UnreadableFile(
                f"a trace must have all its files; {folder} lacks {lacking[0].relative_to(folder)} and "
                f"{len(lacking) - 1} more; copy it whole, or trace the text again"
            )
        return found

    @property
    def layers(self) -> tuple[str, ...]:
        """Names of the layers, in order."""
        return tuple(self.widths)

    def __len__(self) -> int:
        """Number of units."""
        return sum(self.parts)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of ``trace.json``, which holds the digests of weights, tokenizer and texts."""
        return hashlib.sha256((self.folder / "trace.json").read_bytes()).hexdigest()

    @cached_property
    def units(self) -> pl.DataFrame:
        """One row a unit, in the order of the rows of states; columns as in ``UNITS``.

        Raises:
            UnreadableFile: a table is damaged, or of another length than the states.
        """
        tables = [self._table(index, "units.parquet", UNITS) for index in range(len(self.parts))]
        for index, table in enumerate(tables):
            if table.height != self.parts[index]:
                raise UnreadableFile(
                    f"a trace needs one row a unit; part {index} of {self.folder} has {table.height} rows "
                    f"for {self.parts[index]} units; trace the text again"
                )
        return pl.concat([UNITS.to_frame(), *tables])

    @cached_property
    def texts(self) -> pl.DataFrame:
        """One row a text; columns as in ``TEXTS``."""
        tables = [self._table(index, "texts.parquet", TEXTS) for index in range(len(self.parts))]
        return pl.concat([TEXTS.to_frame(), *tables])

    def states(self, layer: str, rows: slice | ArrayLike | None = None) -> NDArray[np.float32]:
        """States of a layer as 32-bit floats (units, width), in memory of their own.

        Args:
            layer: its name.
            rows: which units, by number or as a mask; in the order asked for; None for all.

        Raises:
            UnknownName: no such layer or unit.
            UnreadableFile: a file is damaged.
        """
        width = self._width(layer)
        if rows is None or (isinstance(rows, slice) and rows.step in (None, 1)):
            start, stop, _ = (rows or slice(None)).indices(len(self))
            return self._range(layer, start, max(start, stop))
        wanted = np.arange(len(self))[rows] if isinstance(rows, slice) else self._numbers(np.asarray(rows))
        found = np.empty((len(wanted), width), np.float32)
        ends = np.cumsum(self.parts, dtype=np.int64)
        home = np.searchsorted(ends, wanted, side="right")
        for part in np.unique(home).tolist():
            mine = np.flatnonzero(home == part)
            tensor = self._tensor(part, layer)
            kind = tensor.kind(layer)
            held = np.memmap(tensor.path, kind, "r", tensor.start, tensor.shape)
            found[mine] = held[wanted[mine] - (ends[part] - self.parts[part])]
        return found

    def chunks(self, layer: str, most: int = CHUNK_BYTES) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """A layer's states in order, a few at a time: number of the first unit, and the states.

        Args:
            layer: its name.
            most: bytes of 32-bit floats at a time.
        """
        step = max(1, most // (4 * self._width(layer)))
        for start in range(0, len(self), step):
            yield start, self._range(layer, start, min(len(self), start + step))

    def _range(self, layer: str, start: int, stop: int) -> NDArray[np.float32]:
        found, first = [np.empty((0, self._width(layer)), np.float32)], 0
        for part, units in enumerate(self.parts):
            low, high = max(start - first, 0), min(stop - first, units)
            if low < high:
                found.append(self._tensor(part, layer).read(layer, low, high))
            first += units
        return found[1] if len(found) == 2 else np.concatenate(found)

    def _numbers(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        if rows.dtype == bool and len(rows) == len(self):
            return np.flatnonzero(rows)
        if rows.size == 0:
            return np.empty(0, np.int64)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= len(self):
            raise UnknownName(
                f"units of a trace must be numbers in 0..{len(self) - 1}, or a mask of {len(self)}; got "
                f"{str(rows)[:60]}; look them up in units"
            )
        return rows.astype(np.int64)

    def _width(self, layer: str) -> int:
        if layer not in self.widths:
            raise UnknownName(
                f"a layer must be one of {', '.join(self.layers)}; got {layer!r}; pick one, or trace the "
                "text again with it"
            )
        return self.widths[layer]

    def _part(self, index: int) -> Path:
        return self.folder / "parts" / part_name(index)

    def _tensor(self, part: int, layer: str) -> Tensor:
        path = self._part(part) / file_name(layer)
        tensor = read_header(path).get(TENSOR)
        if tensor is None or tensor.shape != (self.parts[part], self.widths[layer]):
            raise UnreadableFile(
                f"a layer's file must hold {self.parts[part]} states of width {self.widths[layer]}; {path} "
                f"holds {'none' if tensor is None else list(tensor.shape)}; trace the text again"
            )
        return tensor

    def _table(self, part: int, name: str, schema: pl.Schema) -> pl.DataFrame:
        path = self._part(part) / name
        try:
            return pl.read_parquet(path).select([pl.col(key).cast(kind) for key, kind in schema.items()])
        except (OSError, pl.exceptions.PolarsError) as error:
            reason = (str(error).splitlines() or [""])[0][:100]
            raise UnreadableFile(
                f"a trace's tables must be complete; {path} is not ({reason}); trace the text again"
            ) from None


def part_name(index: int) -> str:
    """Folder of a part."""
    return f"{index:05d}"


def file_name(layer: str) -> str:
    """File of a layer in a part's folder.

    Raises:
        SutureError: the name cannot be a file's.
    """
    if not layer or not all(part.isalnum() or part == "_" for part in layer.split(".")):
        raise SutureError(
            f"a layer's name must be letters, figures and dots between them; got {layer!r}; rename it"
        )
    return f"layer-{layer}.safetensors"
