"""A teacher's predictions kept in files: written shard by shard, read a passage at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from workbench.errors import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch import Tensor

SHARD = 256
"""Passages of a file; no more than these are held while it is written."""


TOP = 50
"""Ids kept where not all are; each is an id of 4 bytes and a float of 2."""


class Stored(NamedTuple):
    """Bytes to keep a teacher's predictions for a byte of text, by form, in 16-bit floats.

    Attributes:
        every: every id, a row a token.
        top: the ``TOP`` likeliest ids of a token.
        ends: 256 bytes and an end, a row a byte and one a token.
        bytes: 256 bytes, a row a byte.
    """

    every: float
    top: float
    ends: float
    bytes: float


def stored_bytes(ids: int, tokens: int, size: int) -> Stored:
    """What a text of so many tokens and bytes (``size``) costs under a vocabulary of so many ids."""
    return Stored(2 * ids * tokens / size, 6 * TOP * tokens / size, 514 * (size + tokens) / size, 512.0)


class Dump:
    """Log-probabilities of passages in 16-bit floats, in safetensors files of ``SHARD`` passages.

    A file is written under a temporary name and renamed when it is whole, so that a dump that was stopped
    goes on with the first file that is missing.
    """

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self.count = folder, count

    def write(self, predict: Callable[[list[int]], list[Tensor]]) -> None:
        """Writes the files that are missing.

        Args:
            predict: log-probabilities (tokens, ids) of each of some passages, named by their numbers.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        for first in range(0, self.count, SHARD):
            path = self._path(first)
            if path.exists():
                continue
            numbers = list(range(first, min(first + SHARD, self.count)))
            rows = {
                str(n): row.to(torch.float16).contiguous()
                for n, row in zip(numbers, predict(numbers), strict=True)
            }
            writing = path.with_suffix(".writing")
            save_file(rows, writing)
            writing.replace(path)

    def read(self, numbers: list[int]) -> Tensor:
        """Log-probabilities of some passages, end to end (tokens, ids), in 32 bits.

        Raises:
            UnreadableFile: a file is missing or damaged.
        """
        found = []
        for number in numbers:
            path = self._path(number)
            try:
                with safe_open(path, framework="pt") as file:
                    found.append(file.get_tensor(str(number)))
            except Exception as error:  # noqa: BLE001 the library's errors have no common class
                raise UnreadableFile(
                    f"a dump must hold every passage; {path} lacks passage {number} ({error}); remove the "
                    "folder and start again"
                ) from None
        return torch.cat(found).float()

    def _path(self, number: int) -> Path:
        return self.folder / f"{number // SHARD:05}.safetensors"
