"""The inventory of a tokenizer: every id with its true bytes, held as columns."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from workbench.characters import decoded
from workbench.errors import SutureError, UnknownName, upstream

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

KINDS = ("piece", "byte", "special", "added", "unused", "gap")
"""Kinds of a row: learned piece, byte-fallback byte, control token, literal added token, reserved
slot (never produced from text), and a hole in the id range."""

POSITIONS = ("any", "initial", "inner", "final")
"""Where in a word an entry may stand, for models that mark it outside the bytes: WordPiece's
continuing entries are ``inner`` and the others ``initial``; an end-of-word suffix makes ``final``."""

MAX_ROWS = 4_000_000
"""Ids above this are refused: no known model has more, and a huge id would fill memory with holes."""

SCHEMA = pl.Schema(
    {
        "id": pl.Int32(),
        "bytes": pl.Binary(),
        "kind": pl.Enum(KINDS),
        "rank": pl.Int32(),
        "score": pl.Float32(),
        "position": pl.Enum(POSITIONS),
    }
)


DEFAULTS: dict[str, Any] = {"kind": "piece", "rank": None, "score": None, "position": "any"}


def _missing(name: str, ids: NDArray[np.int32]) -> NDArray[np.intp]:
    """Ids below the highest that no entry has.

    Raises:
        SutureError: an id repeats, is negative or beyond ``MAX_ROWS``.
    """
    if not len(ids):
        return np.empty(0, np.intp)
    if ids.min() < 0 or ids.max() >= MAX_ROWS:
        raise SutureError(
            f"token ids must lie in 0..{MAX_ROWS - 1}; {name} has ids from {ids.min()} to {ids.max()}; "
            "check the file for a corrupted id"
        )
    times = np.bincount(ids)
    if times.max() > 1:
        raise SutureError(
            f"each id must name one entry; {name} gives id {times.argmax()} to several; "
            "check the file for repeated ids"
        )
    return np.flatnonzero(times == 0)


class Entry(NamedTuple):
    """One row of an inventory, made on demand."""

    id: int
    bytes: bytes | None
    kind: str
    rank: int | None
    score: float | None
    position: str


@dataclass(frozen=True, eq=False)
class Inventory:
    """All entries of a tokenizer.

    Attributes:
        name: short name, unique within a run.
        source: where it was read from, as a user would type it.
        frame: one row an id, row ``i`` holds id ``i``; columns as in ``SCHEMA``. Holes in the id
            range are rows of kind ``gap`` with null bytes.
        merge_source: the merges, or a function that recovers them when they are first asked for, or
            None where the model has none.
        rows: rows of the model's embedding matrix where a config or weights told, else None.
        notes: what a reader should know about how it was read.
    """

    name: str
    source: str
    frame: pl.DataFrame = field(repr=False)
    merge_source: NDArray[np.int32] | Callable[[], NDArray[np.int32]] | None = field(default=None, repr=False)
    rows: int | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.frame.schema != SCHEMA:
            raise SutureError(
                f"an inventory's columns must be {dict(SCHEMA)}; got {dict(self.frame.schema)}; "
                "build it with Inventory.build"
            )
        ids = self.frame["id"].to_numpy()
        if not np.array_equal(ids, np.arange(len(ids))):
            raise SutureError(
                "row i of an inventory must hold id i; the ids have holes or repeat; "
                "build it with Inventory.build"
            )

    @classmethod
    def build(
        cls,
        name: str,
        source: str,
        columns: Mapping[str, Sequence[Any] | NDArray[Any] | pl.Series],
        merges: NDArray[np.int32] | Callable[[], NDArray[np.int32]] | None = None,
        **rest: Any,
    ) -> Inventory:
        """Makes an inventory from columns in any order of ids, and fills holes with gap rows.

        Args:
            name: short name.
            source: where it came from.
            columns: ``id`` and ``bytes``; optionally ``kind`` (default ``piece``), ``rank``,
                ``score``, ``position`` (default ``any``).
            merges: the merges, or a function that recovers them.
            rest: ``rows`` and ``notes`` of the inventory.

        Raises:
            SutureError: an id repeats, is negative or beyond ``MAX_ROWS``.
        """
        with upstream(f"{name} must give ids, bytes and scores of their types"):
            given = pl.DataFrame(
                [pl.Series(key, values, dtype=SCHEMA[key]) for key, values in columns.items()]
            )
        ids = given["id"].to_numpy()
        missing = _missing(name, ids)
        for key, value in DEFAULTS.items():
            if key not in given.columns:
                given = given.with_columns(pl.lit(value, dtype=SCHEMA[key]).alias(key))
        given = given.select([pl.col(key).cast(kind) for key, kind in SCHEMA.items()])
        if len(missing):
            holes = pl.DataFrame({"id": pl.Series(missing, dtype=pl.Int32)}).with_columns(
                pl.lit(value, dtype=SCHEMA[key]).alias(key)
                for key, value in {**DEFAULTS, "bytes": None, "kind": "gap"}.items()
            )
            given = pl.concat([given, holes.select(given.columns)])
        if len(missing) or (np.diff(ids) != 1).any():
            given = given[np.argsort(given["id"].to_numpy())]
        return cls(name, source, given, merges, **rest)

    def renamed(self, name: str) -> Inventory:
        """The same inventory under another name."""
        return replace(self, name=name)

    def __len__(self) -> int:
        """Number of entries: rows that are not holes."""
        return int((self.frame["kind"] != "gap").sum())

    @property
    def rows_needed(self) -> int:
        """Rows an embedding matrix needs: the highest id plus one."""
        return self.frame.height

    @cached_property
    def digest(self) -> str:
        """SHA-256 of ids, kinds and bytes: equal for equal inventories, whatever file held them."""
        hasher = hashlib.sha256()
        hasher.update(self.frame["kind"].to_physical().to_numpy().tobytes())
        hasher.update(self.lengths.tobytes())
        hasher.update(b"".join(self.pieces))
        return hasher.hexdigest()

    @cached_property
    def pieces(self) -> list[bytes]:
        """Bytes of every id, empty for a hole; a list, for joining pieces of a token sequence."""
        return self.frame["bytes"].fill_null(b"").to_list()

    @cached_property
    def texts(self) -> pl.Series:
        """Each id's bytes as a string (rows_needed,), null for a hole or bytes that are not UTF-8."""
        return decoded(self.frame["bytes"])

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """Length in bytes of every id (rows_needed,), 0 for a hole."""
        return self.frame["bytes"].bin.size().fill_null(0).cast(pl.Int32).to_numpy()

    @cached_property
    def kinds(self) -> NDArray[np.uint8]:
        """Index into ``KINDS`` of every id (rows_needed,)."""
        return self.frame["kind"].to_physical().cast(pl.UInt8).to_numpy()

    @cached_property
    def _by_bytes(self) -> dict[bytes, list[int]]:
        found: dict[bytes, list[int]] = {}
        for index, piece in enumerate(self.frame["bytes"].to_list()):
            if piece is not None:
                found.setdefault(piece, []).append(index)
        return found

    @cached_property
    def merges(self) -> NDArray[np.int32] | None:
        """Rows (left id, right id, result id) in order of application (merges, 3), or None."""
        return self.merge_source() if callable(self.merge_source) else self.merge_source

    def find(self, piece: bytes) -> list[int]:
        """Ids of all entries with exactly these bytes, in order of id."""
        return self._by_bytes.get(piece, [])

    def entry(self, token_id: int) -> Entry:
        """The entry of an id.

        Raises:
            UnknownName: the id lies outside the inventory.
        """
        if not 0 <= token_id < self.rows_needed:
            raise UnknownName(
                f"an id of {self.name} must lie in 0..{self.rows_needed - 1}; got {token_id}; "
                "look an entry up by its text instead"
            )
        return Entry(*self.frame.row(token_id))
