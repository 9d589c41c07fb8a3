"""The header of a GGUF file: metadata and the shapes of its tensors, never the tensors.

The ``gguf`` library's own reader makes several array objects for each string, which takes half a
minute for a present vocabulary, and maps every tensor, so that it refuses a header on its own. This
one walks the same layout in a memory map and checks each length before it follows it.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.errors import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Callable

MAGIC = b"GGUF"
VERSIONS = (2, 3)

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Numbers of the scalar value types, with the ``struct`` letter of each."""

STRING, ARRAY = 8, 9

MOST = 1 << 20
"""Most keys and most tensors that are believed; real files have hundreds."""


class Header(NamedTuple):
    """What was asked for of a header.

    Attributes:
        fields: values by key: numbers, text, numpy arrays, or lists of bytes for arrays of strings.
        shapes: dimensions of each tensor in the file's order, in which rows come last.
    """

    fields: dict[str, Any]
    shapes: dict[str, tuple[int, ...]]


def read(path: str | Path, prefix: str) -> Header:
    """Reads the fields whose key begins with a prefix, and all tensor shapes.

    Raises:
        UnreadableFile: missing, no GGUF file of a known version, or truncated within its header.
    """
    try:
        with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Walk(data).header(prefix)
    except OSError as error:
        raise UnreadableFile(
            f"a GGUF file must be a readable file; {path} is not ({error.strerror or error}); check the path"
        ) from None
    except (ValueError, struct.error, UnicodeDecodeError) as error:
        raise UnreadableFile(
            f"a GGUF file must hold a whole header of version 2 or 3; {path} does not ({error}); "
            "fetch it again"
        ) from None


class _Walk:
    """A place in the file that moves forward."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = len(MAGIC)
        self.order = "<"

    def header(self, prefix: str) -> Header:
        if self.data[: self.at] != MAGIC:
            raise ValueError("it does not begin with GGUF")
        version = self.scalar("I")
        if version & 0xFFFF == 0:  # written on a machine of the other byte order
            self.order, self.at = ">", len(MAGIC)
            version = self.scalar("I")
        if version not in VERSIONS:
            raise ValueError(f"it is of version {version}")
        tensors, keys = self.scalar("Q"), self.scalar("Q")
        if max(tensors, keys) > MOST:
            raise ValueError(f"it counts {keys} keys and {tensors} tensors")
        fields: dict[str, Any] = {}
        for _ in range(keys):
            key = self.string().decode()
            kind = self.scalar("I")
            value = self.value(kind, wanted=key.startswith(prefix))
            if value is not None:
                fields[key] = value
        shapes = {}
        for _ in range(tensors):
            name = self.string().decode()
            shapes[name] = tuple(self.scalar("Q") for _ in range(self.bounded(self.scalar("I"), 8)))
            self.skip(4 + 8)  # type and offset
        return Header(fields, shapes)

    def scalar(self, letter: str) -> Any:
        form = struct.Struct(self.order + letter)
        place = self.skip(form.size)
        return form.unpack_from(self.data, place)[0]

    def string(self) -> bytes:
        size = self.scalar("Q")
        place = self.skip(size)
        return self.data[place : place + size]

    def value(self, kind: int, *, wanted: bool) -> Any:
        """The next value, or None where it is not wanted."""
        if kind in SCALARS:
            return self.scalar(SCALARS[kind])
        if kind == STRING:
            text = self.string()
            return text.decode(errors="replace") if wanted else None
        if kind != ARRAY:
            raise ValueError(f"value type {kind} is unknown")
        inner, count = self.scalar("I"), self.scalar("Q")
        if inner in SCALARS:
            form = np.dtype(self.order + SCALARS[inner])
            place = self.skip(self.bounded(count, len(self.data) // form.itemsize) * form.itemsize)
            return np.frombuffer(self.data[place : self.at], form) if wanted else None
        self.bounded(count, len(self.data) // 8)
        if inner == STRING:
            found = self.strings(count)
            return found if wanted else None
        raise ValueError(f"arrays of value type {inner} are unknown")

    def strings(self, count: int) -> list[bytes]:
        """Strings end to end; the loop is kept bare, as a header may hold half a million."""
        size_of: Callable[..., tuple[Any, ...]] = struct.Struct(self.order + "Q").unpack_from
        data, at, end, found = self.data, self.at, len(self.data), []
        for _ in range(count):
            low = at + 8
            at = low + size_of(data, at)[0]
            if at > end:
                raise ValueError(f"it breaks off at byte {end}")
            found.append(data[low:at])
        self.at = at
        return found

    def skip(self, size: int) -> int:
        """Moves on by a size and returns where it stood."""
        place = self.at
        if place + size > len(self.data):
            raise ValueError(f"it breaks off at byte {len(self.data)}")
        self.at = place + size
        return place

    def bounded(self, count: int, most: int) -> int:
        if count > most:
            raise ValueError(f"a count of {count} stands where at most {most} fit")
        return count
