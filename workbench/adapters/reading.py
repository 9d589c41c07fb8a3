"""Reading a user's file whole, within a limit."""

from __future__ import annotations

from pathlib import Path

from workbench.errors import UnreadableFile


def read_bytes(path: str | Path, what: str, limit: int) -> bytes:
    """Bytes of a file.

    Args:
        path: the file, as typed.
        what: what it must be, with its article, for messages.
        limit: most bytes that are read.

    Raises:
        UnreadableFile: missing, no file, or larger than the limit.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise UnreadableFile(
            f"{what} must be a readable file; {path} is not ({error.strerror or error}); check the path"
        ) from None
    if len(data) > limit:
        raise UnreadableFile(
            f"{what} must have at most {limit >> 20} MiB; {path} has more; give the tokenizer's own file"
        )
    return data
