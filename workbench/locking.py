"""A lock on a path that the system gives up by itself when its holder ends, however it ends."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from workbench.errors import SutureError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

PAUSE = 0.05
"""Seconds between two tries of one who waits."""


class Busy(SutureError):
    """Another process holds what this one needs."""


class Lock:
    """A file that one process at a time holds; the file goes when it is released.

    As a context manager it is held within the block.
    """

    def __init__(self, path: Path, busy: str, wait: float = 0.0) -> None:
        """Says what is locked.

        Args:
            path: the file; its folder is made.
            busy: the sentence for the one who comes second.
            wait: seconds to wait for the first one.
        """
        self.path, self.busy, self.wait = path, busy, wait
        self._file: IO[bytes] | None = None

    def take(self) -> None:
        """Takes the lock.

        Raises:
            Busy: another holds it, still after the time to wait.
            OSError: the folder or file cannot be made.
        """
        until = time.monotonic() + self.wait
        while (file := self._try()) is None:
            if time.monotonic() >= until:
                raise Busy(self.busy)
            time.sleep(PAUSE)
        self._file = file

    def _try(self) -> IO[bytes] | None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = self.path.open("ab")
        except FileNotFoundError:
            return None  # the folder went between our making it and opening the file
        if _locked(file) and _names(self.path, file):
            return file
        file.close()  # held by another, or removed by the one who held it between our opening and locking
        return None

    def release(self) -> None:
        """Gives the lock up; giving it up twice is giving it up."""
        if self._file is not None:
            if _names(self.path, self._file):
                with suppress(OSError):  # where an open file cannot be removed, it stays, unlocked
                    self.path.unlink()
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        self.take()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _names(path: Path, file: IO[bytes]) -> bool:
    """Whether the path still names the file that is open."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _locked(file: IO[bytes]) -> bool:
    """Locks an open file without waiting, and says whether that could be."""
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 each system has its own

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
