"""Training with the ``tokenizers`` library."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenizers import Tokenizer


def byte_level_bpe(texts: Iterable[str], size: int) -> Tokenizer:
    """A byte-level BPE with the library's own pre-tokens and all 256 bytes, trained on texts.

    Args:
        texts: the texts.
        size: entries; fewer come back when pairs run out.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, initial_alphabet=alphabet)
    made.train_from_iterator(texts, trainer)
    return made
