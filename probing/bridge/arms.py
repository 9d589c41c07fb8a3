"""The students of the worked distillation: what each reads, and what it is taught by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch

from probing.bridge import baselines, losses
from probing.bridge.bpm import Bridge
from probing.bridge.bytes import end_of_token, marginalize
from probing.bridge.chunks import pair_texts
from probing.bridge.mass import Masses
from probing.bridge.rows import Rows
from probing.tiny import batch, cross_entropy, log_probabilities
from workbench.prefixes import Prefixes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor, nn

    from probing.tiny import Documents, Shape
    from workbench.tokenizer import Tokenizer

END = 256
"""The symbol of a byte student that ends a token."""

Reads = Literal["tokens", "bytes", "bytes and ends", "other tokens"]


@dataclass(frozen=True)
class Arm:
    """One student.

    Attributes:
        name: short name.
        about: what teaches it, in words.
        reads: the symbols that it predicts.
        teach: name of its loss.
    """

    name: str
    about: str
    reads: Reads
    teach: str


ARMS = (
    Arm("tokens-ce", "the teacher's tokens, cross-entropy", "tokens", "ce"),
    Arm("tokens-kd", "the teacher's tokens, its distribution", "tokens", "kd"),
    Arm("bytes-ce", "bytes, cross-entropy", "bytes", "ce"),
    Arm("bytes-mi", "bytes, Marginalize-It", "bytes", "mi"),
    Arm("bytes-eot", "bytes with ends of tokens, End-Of-Token", "bytes and ends", "eot"),
    Arm("other-ce", "another BPE's tokens, cross-entropy", "other tokens", "ce"),
    Arm("other-bpm-fast", "another BPE's tokens, Byte-Prefix Marginalization, fast", "other tokens", "fast"),
    Arm("other-bpm", "another BPE's tokens, Byte-Prefix Marginalization, scatter", "other tokens", "scatter"),
    Arm("other-uld", "another BPE's tokens, sorted probabilities (ULD)", "other tokens", "uld"),
    Arm("other-gold", "another BPE's tokens, merged spans (GOLD-like)", "other tokens", "gold"),
    Arm("other-strict", "another BPE's tokens, strict 1:1 reverse KL", "other tokens", "strict"),
    Arm(
        "other-simct",
        "another BPE's tokens, short shared continuations (SimCT-like)",
        "other tokens",
        "simct",
    ),
)
"""Every student, the plain one of its symbols before those that are taught."""


class Classroom:
    """The vocabularies of the experiment, and the losses of its students over them.

    Attributes:
        teacher: the teacher's tokenizer.
        other: the tokenizer of another vocabulary.
    """

    def __init__(self, teacher: Tokenizer, other: Tokenizer) -> None:
        self.teacher, self.other = teacher, other
        self._masses = Masses(Prefixes.of(teacher.inventory))
        self._bridge = Bridge(teacher.inventory, other.inventory, cache=False)
        self._shared = baselines.Shared.of(self._bridge.twins)

    def symbols(self, reads: Reads) -> int:
        """Size of the vocabulary of a student."""
        sizes = {
            "tokens": self.teacher.inventory.rows_needed,
            "other tokens": self.other.inventory.rows_needed,
            "bytes": END,
            "bytes and ends": END + 1,
        }
        return sizes[reads]

    def read(self, reads: Reads, texts: Sequence[str]) -> list[list[int]]:
        """The symbols of some texts."""
        if reads == "bytes":
            return [list(text.encode()) for text in texts]
        if reads == "bytes and ends":
            pieces = self.teacher.inventory.pieces
            encoded = self.teacher.encode_batch(texts)
            rows = [encoded.row(at).tolist() for at in range(len(texts))]
            return [[symbol for token in row for symbol in (*pieces[token], END)] for row in rows]
        encoded = (self.teacher if reads == "tokens" else self.other).encode_batch(texts)
        return [encoded.row(at).tolist() for at in range(len(texts))]

    def loss(
        self,
        teach: str,
        scores: Tensor,
        documents: Documents,
        texts: Sequence[str],
        taught: Callable[[], Tensor],
    ) -> Tensor:
        """The mean loss of a student on some texts.

        Args:
            teach: what teaches it.
            scores: its log-probabilities (documents, positions, symbols).
            documents: the texts in its symbols.
            texts: the texts.
            taught: the teacher's log-probabilities of their tokens, end to end (tokens, ids).
        """
        if teach == "ce":
            return cross_entropy(scores, documents).mean()
        rows, teacher = scores[documents.real], taught()
        if teach == "kd":
            return -(teacher.softmax(-1) * rows).sum(-1).mean()
        if teach in ("mi", "eot"):
            ids = self.teacher.encode_batch(texts).ids.astype(np.int64)
            make = marginalize if teach == "mi" else end_of_token
            target = make(self._masses, teacher, torch.from_numpy(ids), dtype=torch.float32)
            return -(target.values.to(rows.dtype) * rows).sum(-1).mean()
        return self._across(teach, rows, teacher, texts)

    def _across(self, teach: str, logits: Tensor, teacher: Tensor, texts: Sequence[str]) -> Tensor:
        """Losses over another vocabulary."""
        pairing = pair_texts(self.teacher, self.other, texts)
        width = self.teacher.inventory.rows_needed
        if teach in ("fast", "scatter"):
            rows = Rows.from_logits(teacher, width)
            mode: Literal["fast", "scatter"] = "fast" if teach == "fast" else "scatter"
            target = self._bridge.targets(rows, pairing, mode=mode, mask=False)
            mass, other = target.mass.to(logits.dtype), target.other.to(logits.dtype)
            return losses.token_mean(losses.cross_entropy(logits, mass, other), target.keep)
        q = teacher.softmax(-1)
        if teach == "uld":
            return baselines.uld(logits, q, pairing).mean()
        known = {"gold": baselines.gold, "strict": baselines.strict, "simct": baselines.simct}
        return known[teach](logits, q, pairing, self._shared).mean()


def bits(model: nn.Module, shape: Shape, rows: Sequence[Sequence[int]], size: int = 32) -> float:
    """Bits that a model spends on documents, summed over all their symbols.

    Args:
        model: the model.
        shape: its size.
        rows: the documents.
        size: documents at a time.
    """
    model.eval()
    total = 0.0
    with torch.no_grad():
        for start in range(0, len(rows), size):
            documents: Documents = batch(rows[start : start + size], shape)
            total += float(
                cross_entropy(log_probabilities(model, shape, documents), documents).double().sum()
            )
    model.train()
    return total / float(np.log(2))
