"""SentencePiece models without some pieces.

The format has a type for this: an unused piece keeps its id, and no text gives it. A BPE may still build it
on the way to a longer piece, and takes it apart again where it would be left over, so no other piece is
lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import sentencepiece

from workbench.adapters import spm, spm_proto
from workbench.adapters.editing import Edited, Structure
from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from workbench.adapters.editing import Mode, Read
    from workbench.adapters.spm import SpmEngine
    from workbench.tokenizer import Tokenizer


def edit(tokenizer: Tokenizer, engine: SpmEngine, ids: Sequence[int], mode: Mode) -> Edited:
    """The same model with some pieces marked as unused.

    Args:
        tokenizer: a tokenizer around a model.
        engine: its engine.
        ids: pieces to take out.
        mode: ``mask``; a model cannot drop a piece and keep the ids of the others.

    Raises:
        SutureError: mode is ``drop``, or a piece of a BPE is a single character, which the library gives
            even where it is unused.
    """
    if mode == "drop":
        raise SutureError(
            "to drop an entry, a file must give ids of their own; a SentencePiece model's ids are places in "
            f"a list, so every later id of {tokenizer.name} would move; use --mode mask"
        )
    for token, reason in letters(tokenizer, ids).items():
        raise SutureError(
            f"of a SentencePiece BPE, pieces of two characters and more can be masked; {token} of "
            f"{tokenizer.name} {reason}; leave it out"
        )
    data = spm_proto.retyped(engine.processor.serialized_model_proto(), frozenset(ids), spm_proto.UNUSED)
    inventory = tokenizer.inventory
    source = f"{inventory.source} without {len(ids)} entries"
    made = spm.from_proto(data, tokenizer.name, source, inventory.rows)
    unigram = engine.spec.model == "Unigram"
    return Edited(
        made,
        lambda others: _structure(tokenizer, made, others, unigram=unigram),
        ".model",
        lambda: data,
        str,
        _read,
        "sentencepiece",
        everywhere=unigram and _least_goes(tokenizer, ids),
    )


def letters(tokenizer: Tokenizer, ids: Sequence[int]) -> dict[int, str]:
    """Of these pieces of a BPE, those of one character, with the reason why they stay."""
    if tokenizer.pipeline.model == "Unigram":
        return {}
    texts = tokenizer.inventory.texts
    return {token: "is one character, which SentencePiece gives in any case" for token in ids
            if len(texts[token] or "") == 1}  # fmt: skip


def _least_goes(tokenizer: Tokenizer, ids: Sequence[int]) -> bool:
    """Whether the lowest score goes, on which the cost of an unknown character rests."""
    frame = tokenizer.inventory.frame
    scores = frame.filter(pl.col("kind") == "piece")["score"]
    return frame["score"].gather(list(ids)).min() == scores.min()


def _structure(before: Tokenizer, after: Tokenizer, others: NDArray[np.int32], *, unigram: bool) -> Structure:
    """Of a Unigram model, which pieces win over their parts; a BPE builds all that it built."""
    none = np.empty((0, 3), np.int32)
    if not unigram:
        there = np.ones(len(others), bool)
        return Structure(there, there, none)
    texts = before.inventory.texts.gather(others).to_list()
    sides = [
        np.array(
            [
                text is not None and each.engine.model_ids(text) == [token]
                for text, token in zip(texts, others.tolist(), strict=True)
            ],
            bool,
        )
        for each in (before, after)
    ]
    return Structure(sides[0], sides[1], none)


def _read(path: Path) -> Read:
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return lambda texts: processor.encode(list(texts), out_type=int)
