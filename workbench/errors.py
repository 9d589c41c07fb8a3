"""Errors that a user can act on.

Each message is one sentence that says what must hold, what came, and what to do. The command line
prints the sentence alone and exits with status 2; anything that is not a ``SutureError`` is a defect.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class SutureError(Exception):
    """An expected failure: bad input, a missing file, a missing package."""


@contextmanager
def upstream(what: str) -> Iterator[None]:
    """Turns whatever a foreign library raises, panics of its core included, into one sentence.

    Args:
        what: who must do what, such as ``x must encode text``.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, SutureError):
        raise
    except BaseException as error:
        reason = (str(error).splitlines() or [""])[0][:160] or type(error).__name__
        raise SutureError(f"{what}; its library fails ({reason}); check the tokenizer's file") from error


class UnsafeFile(SutureError):
    """A file that would run code when read, such as a pickle; it is never opened further."""


class UnreadableFile(SutureError):
    """A file that is missing, truncated, or not what its place or name promises."""


class UnknownName(SutureError):
    """A name that no registry or inventory holds; the message lists the nearest known ones."""


class MissingExtra(SutureError):
    """An optional package that is not installed; the message holds the install line."""


class Unreachable(SutureError):
    """Something that lies behind a network and is not in a local cache."""
