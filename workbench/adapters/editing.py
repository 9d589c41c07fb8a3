"""Tokenizers with entries taken out, each in the format that it was read from.

Two ways are told apart. ``drop`` takes an entry out of the file; its id becomes a hole, and every other
entry keeps its own. ``mask`` keeps the entry's place, so that the matrix and the file keep their size, but
no text gives it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from workbench.tokenizer import Tokenizer

    Read = Callable[[Sequence[str]], list[list[int]]]

Mode = Literal["drop", "mask"]


class Structure(NamedTuple):
    """What removal does to entries that hold a removed one.

    Attributes:
        before: whether an entry's own bytes alone became that entry (entries,).
        after: whether they still do (entries,).
        broken: merges that make or use a removed entry, rows of left, right and result id (merges, 3).
    """

    before: NDArray[np.bool_]
    after: NDArray[np.bool_]
    broken: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Edited:
    """A tokenizer without some entries, and the file that holds it.

    Attributes:
        tokenizer: the tokenizer, as it encodes from now on; every id that stays is the same.
        structure: for entries by id, in rising order: what removal does to them.
        suffix: how the name of its file ends.
        data: the content of its file.
        address: how a file at a path is named to ``load``.
        upstream: reads the file with the format's own library and encodes with that alone.
        library: that library.
        everywhere: whether a text without any removed entry may be cut otherwise than before.
        notes: what a reader should know about the file.
    """

    tokenizer: Tokenizer
    structure: Callable[[NDArray[np.int32]], Structure]
    suffix: str
    data: Callable[[], bytes]
    address: Callable[[Path], str]
    upstream: Callable[[Path], Read]
    library: str
    everywhere: bool = False
    notes: tuple[str, ...] = ()


@runtime_checkable
class Editable(Protocol):
    """An engine whose format can lose entries."""

    def without(self, tokenizer: Tokenizer, ids: Sequence[int], mode: Mode) -> Edited:
        """The tokenizer without some entries, as ``edit`` gives it."""


@runtime_checkable
class Keeping(Protocol):
    """An engine whose format cannot lose some of what it learned."""

    def kept_in(self, tokenizer: Tokenizer, ids: Sequence[int], mode: Mode) -> dict[int, str]:
        """Of these entries, those that stay whatever is asked, each with the reason as a sentence's end."""


def edit(tokenizer: Tokenizer, ids: Sequence[int], mode: Mode) -> Edited:
    """A tokenizer without some of its learned entries.

    Args:
        tokenizer: as ``load`` gives it; it stays as it is.
        ids: entries to take out, each once, in rising order.
        mode: ``drop`` or ``mask``.

    Raises:
        SutureError: the format cannot lose one of them, or cannot in this way; the message says which.
    """
    engine = tokenizer.engine
    if not isinstance(engine, Editable):
        raise SutureError(
            "to lose entries, a tokenizer must come from a tokenizer.json, a vocab.txt, tiktoken's ranks or "
            f"a SentencePiece model; {tokenizer.name} comes from none; give one of these"
        )
    return engine.without(tokenizer, ids, mode)


def kept_in(tokenizer: Tokenizer, ids: Sequence[int], mode: Mode) -> dict[int, str]:
    """Of these entries, those that the format keeps in, each with the reason as a sentence's end."""
    engine = tokenizer.engine
    return engine.kept_in(tokenizer, ids, mode) if isinstance(engine, Keeping) else {}
