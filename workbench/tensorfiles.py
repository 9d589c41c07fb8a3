"""What a safetensors file says it holds, believed only where the file bears it out.

The format is eight bytes that give the length of a JSON header, the header, and the data: see
https://github.com/huggingface/safetensors. Nothing in it runs when it is read. The header is checked here
rather than by the library, which cannot give 16-bit brain floats to NumPy and maps a file for good, so
that the resident memory of a long pass grows to the size of the file.
"""

from __future__ import annotations

import json
import math
import stat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.errors import UnreadableFile, UnsafeFile

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

HEADER_LIMIT = 100_000_000
"""Longest header that is read, the bound of the format's own library."""

SIZES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E5M2": 1, "F8_E4M3": 1, "F8_E8M0": 1, "U16": 2, "I16": 2, "F16": 2,
    "BF16": 2, "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8, "C64": 8,
}  # fmt: skip
"""Bytes of a number by the format's name of its type."""

READ = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "F64": "<f8"}
"""NumPy types of the types that are read; a brain float is the upper half of a 32-bit float."""


class Tensor(NamedTuple):
    """Where a tensor lies.

    Attributes:
        path: the file.
        dtype: type of its numbers, as the format names it.
        shape: its dimensions.
        start: the file's byte at which its data begin.
    """

    path: Path
    dtype: str
    shape: tuple[int, ...]
    start: int

    @property
    def width(self) -> int:
        """Numbers in a row: in one step along the first dimension."""
        return math.prod(self.shape[1:])

    def read(self, name: str, start: int, stop: int) -> NDArray[np.float32]:
        """Rows as 32-bit floats (stop - start, ...), read into memory of their own.

        Raises:
            UnreadableFile: of a type that is not read here, or the file has become shorter.
        """
        kind = np.dtype(self.kind(name))
        data = np.empty((stop - start) * self.width, kind)
        try:
            with self.path.open("rb") as file:
                file.seek(self.start + start * self.width * kind.itemsize)
                got = file.readinto(data.view(np.uint8))  # type: ignore[arg-type]  # an array is a buffer
        except OSError as error:
            raise _unreadable(self.path, error) from None
        if got != data.nbytes:
            raise UnreadableFile(
                f"weights must stay as they are while they are read; {self.path} has become shorter; "
                "copy it whole and start again"
            )
        shaped = data.reshape(stop - start, *self.shape[1:])
        if self.dtype == "BF16":
            return np.left_shift(shaped, 16, dtype=np.uint32).view(np.float32)
        return shaped.astype(np.float32, copy=False)

    def kind(self, name: str) -> str:
        """NumPy's name of the stored type.

        Raises:
            UnreadableFile: the type is not read here.
        """
        if self.dtype not in READ:
            raise UnreadableFile(
                f"a matrix must be stored as {', '.join(READ)} to be read; {name} of {self.path} is "
                f"{self.dtype}; convert the checkpoint to BF16 first"
            )
        return READ[self.dtype]


def read_header(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file by name.

    Raises:
        UnreadableFile: missing, empty, truncated, or its header lies about what follows.
        UnsafeFile: it is a pickle or an archive of one.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFile(
                f"weights must be a regular file; {path} is a folder, pipe or device; name the file"
            )
        with path.open("rb") as file:
            head = file.read(8)
            if len(head) < 8:
                raise UnreadableFile(
                    f"a safetensors file must begin with the length of its header; {path} has {len(head)} "
                    "bytes; fetch it again"
                )
            _refuse(path, head)
            length = int.from_bytes(head, "little")
            if length > min(HEADER_LIMIT, status.st_size - 8):
                raise UnreadableFile(
                    f"a safetensors file must hold the header that it announces; {path} announces {length:,} "
                    f"bytes and has {status.st_size - 8:,}; fetch it again, or check that it is safetensors"
                )
            text = file.read(length)
    except OSError as error:
        raise _unreadable(path, error) from None
    return _placed(path, _parsed(path, text), 8 + length, status.st_size)


def _unreadable(path: Path, error: OSError) -> UnreadableFile:
    why = error.strerror or str(error)
    return UnreadableFile(f"weights must be a readable file; {path} is not ({why}); check the path")


def _refuse(path: Path, head: bytes) -> None:
    if head.startswith((b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")):
        # Eight bytes that begin like a pickle's may also be the length of a long header.
        if int.from_bytes(head, "little") <= HEADER_LIMIT:
            return
        raise UnsafeFile(
            f"weights must be data that runs nothing when read; {path} is a pickle or an archive such as "
            "PyTorch writes; save the model as safetensors"
        )


def _parsed(path: Path, text: bytes) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a name comes twice")
        return found

    try:
        doc = json.loads(text.decode(), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise UnreadableFile(
            f"the header of a safetensors file must be JSON in UTF-8 that names each tensor once; that of "
            f"{path} is not ({str(error)[:100]}); fetch it again"
        ) from None
    if not isinstance(doc, dict):
        raise UnreadableFile(
            f"the header of a safetensors file must name tensors; that of {path} is a "
            f"{type(doc).__name__}; fetch it again"
        )
    return {name: entry for name, entry in doc.items() if name != "__metadata__"}


def _placed(path: Path, entries: dict[str, Any], offset: int, size: int) -> dict[str, Tensor]:
    """Tensors with checked places: end to end, without overlap, from the header to the end of the file."""
    found, spans = {}, []
    for name, entry in entries.items():
        dtype, shape, low, high = _entry(path, name, entry)
        if high > size - offset:
            raise UnreadableFile(
                f"a safetensors file must hold all its tensors; {path} ends at byte {size - offset:,} of its "
                f"data, and {name} runs to {high:,}; the file is cut short, fetch it again"
            )
        spans.append((low, high))
        found[name] = Tensor(path, dtype, shape, offset + low)
    end = 0
    for low, high in sorted(spans):
        if low != end:
            raise UnreadableFile(
                f"the tensors of a safetensors file must lie end to end; in {path} one ends at {end:,} and "
                f"the next begins at {low:,}; fetch it again"
            )
        end = high
    if end != size - offset:
        raise UnreadableFile(
            f"a safetensors file must end with its last tensor; {path} has {size - offset - end:,} bytes "
            "more; fetch it again"
        )
    return found


def _entry(path: Path, name: str, entry: Any) -> tuple[str, tuple[int, ...], int, int]:
    try:
        dtype, shape, (low, high) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
    except (KeyError, TypeError, ValueError):
        raise UnreadableFile(
            f"each tensor of a safetensors file must have dtype, shape and data_offsets; {name!r} of {path} "
            "lacks one; fetch it again"
        ) from None
    numbers = (*shape, low, high)
    if not isinstance(dtype, str) or not all(type(number) is int and number >= 0 for number in numbers):
        raise UnreadableFile(
            f"shapes and places of a tensor must be whole numbers from 0 on; {name!r} of {path} has shape "
            f"{str(list(shape))[:80]} and place {str([low, high])[:80]}; fetch it again"
        )
    wanted = math.prod(shape) * SIZES[dtype] if dtype in SIZES else high - low
    if high - low != wanted or high < low:
        raise UnreadableFile(
            f"a tensor must have the bytes of its shape; {name!r} of {path} is {dtype} {list(shape)}, which "
            f"takes {wanted:,} bytes, and has {high - low:,}; fetch it again"
        )
    return dtype, shape, low, high
