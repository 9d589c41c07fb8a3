"""A tokenizer: an inventory, a described pipeline, and exact byte spans for what it does to a text."""

from __future__ import annotations

import hashlib
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from workbench.errors import upstream
from workbench.inventory import KINDS
from workbench.placing import Unknown, place
from workbench.segmentation import Segmentation, utf8

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from workbench.inventory import Inventory
    from workbench.normalising import Normalised


LITERAL = (KINDS.index("special"), KINDS.index("added"))
"""Kinds that a tokenizer finds in the text before, or beside, its normaliser."""


class Encoded(NamedTuple):
    """Token ids of many texts, end to end.

    ``ids`` is (tokens,) and ``offsets`` is (texts + 1,): text i holds ``ids[offsets[i]:offsets[i+1]]``.
    """

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[list[int]]) -> Encoded:
        """From one list of ids a text; only one of them is held at a time."""
        ids, offsets = array("i"), [0]
        for row in rows:
            ids.fromlist(row)
            offsets.append(len(ids))
        return cls(np.frombuffer(ids, np.int32), np.array(offsets, np.int64))

    def row(self, index: int) -> NDArray[np.int32]:
        """Ids of one text."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]


class Step(NamedTuple):
    """One stage of a pipeline, in the words of the source that declares it."""

    stage: str
    name: str
    detail: str = ""


@dataclass(frozen=True)
class Pipeline:
    """What a tokenizer does to a text, described.

    Attributes:
        model: ``BPE``, ``WordPiece``, ``Unigram``, ``WordLevel`` or ``longest match``.
        steps: stages in order: added tokens, normaliser, pre-tokenizer, model, post-processor, decoder.
        pattern: the regular expression that cuts pre-tokens, where there is one.
        byte_level: the alphabet is the 256 bytes, so any text can be spelled.
        prefix_space: a space is put before the text, and the pieces then hold one more byte than it.
        ignore_merges: an entry that spells a whole pre-token is used even where no merges build it.
        notes: what was assumed or differs from other loaders.
    """

    model: str
    steps: tuple[Step, ...] = ()
    pattern: str | None = None
    byte_level: bool = False
    prefix_space: bool = False
    ignore_merges: bool = False
    notes: tuple[str, ...] = ()

    @property
    def pattern_digest(self) -> str | None:
        """First 12 hexadecimal digits of the pattern's SHA-256, to compare two pipelines by."""
        return None if self.pattern is None else hashlib.sha256(self.pattern.encode()).hexdigest()[:12]


class Engine(Protocol):
    """What an adapter supplies; ``Tokenizer`` does the rest.

    In every method but ``encode_control``, text that spells a special token is plain data.
    """

    def encode_batch(self, texts: Sequence[str]) -> Encoded:
        """Ids of each text, without the tokens that a post-processor adds."""

    def encode_control(self, text: str) -> list[int]:
        """Ids of one text in which special-token text becomes control ids."""

    def normalise(self, text: str) -> Normalised:
        """The text as the model sees it, in the inventory's own alphabet."""

    def pretokenize(self, text: str) -> list[str]:
        """Pre-tokens of a text, normalised and cut, as the model is given them."""

    def model_ids(self, pretoken: str) -> list[int]:
        """Ids of one pre-token, past normaliser and pre-tokenizer."""

    def unknown_spans(self, text: str, *, control: bool = False) -> list[tuple[int, int, bool]]:
        """Byte spans in the text of its unknown tokens, in order.

        The third value says whether the next token begins inside the span, at a character of which the
        normaliser made several.

        With ``control``, of those that ``encode_control`` gives.
        """

    def decode_each(self, ids: Sequence[int]) -> list[str | None]:
        """What the library's own decoder makes of each id alone; None where it refuses."""


@dataclass(frozen=True, eq=False)
class Tokenizer:
    """A segmenter with an inventory.

    Attributes:
        inventory: every entry with its bytes.
        pipeline: what happens to a text, described.
        engine: the upstream encoder behind one small interface.
        unknown: ids that stand for text which the inventory cannot spell.
        strips: ids of added tokens that swallow whitespace: id to (left, right).
        literals: ids that the text of an added token leads to, though their bytes are others: id to text.
        folder: the model directory that it was read from, where there is one.
    """

    inventory: Inventory
    pipeline: Pipeline
    engine: Engine = field(repr=False)
    unknown: frozenset[int] = frozenset()
    strips: dict[int, tuple[bool, bool]] = field(default_factory=dict)
    literals: dict[int, bytes] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def name(self) -> str:
        """The inventory's name."""
        return self.inventory.name

    def card(self) -> dict[str, Any]:
        """What identifies it and its pipeline, ready for JSON."""
        inventory, pipeline = self.inventory, self.pipeline
        return {
            "name": inventory.name,
            "source": inventory.source,
            "digest": inventory.digest,
            "entries": len(inventory),
            "rows_needed": inventory.rows_needed,
            "rows": inventory.rows,
            "model": pipeline.model,
            "byte_level": pipeline.byte_level,
            "prefix_space": pipeline.prefix_space,
            "ignore_merges": pipeline.ignore_merges,
            "pattern": pipeline.pattern,
            "pattern_digest": pipeline.pattern_digest,
            "notes": list(dict.fromkeys((*inventory.notes, *pipeline.notes))),
        }

    def encode_batch(self, texts: Sequence[str]) -> Encoded:
        """Token ids of many texts; special-token text counts as plain text.

        Args:
            texts: valid Unicode strings.

        Raises:
            SutureError: a text holds a lone surrogate, or the library cannot encode with this file.
        """
        with upstream(f"{self.name} must encode text"):
            try:
                return self.engine.encode_batch(texts)
            except (TypeError, UnicodeEncodeError):
                for text in texts:
                    utf8(text)
                raise

    def encode(self, text: str) -> list[int]:
        """Token ids of one text; special-token text counts as plain text."""
        ids: list[int] = self.encode_batch([text]).ids.tolist()
        return ids

    def encode_control(self, text: str) -> list[int]:
        """Token ids of one text as a trusted prompt: special-token text becomes control ids."""
        utf8(text)
        with upstream(f"{self.name} must encode text"):
            return self.engine.encode_control(text)

    def decode(self, ids: Iterable[int]) -> bytes:
        """The bytes that token ids spell, entry after entry."""
        pieces = self.inventory.pieces
        return b"".join([pieces[token] for token in ids])

    def segment(self, text: str) -> Segmentation:
        """Cuts one text; special-token text counts as plain text."""
        return self.segment_batch([text])[0]

    def segment_batch(self, texts: Sequence[str]) -> list[Segmentation]:
        """Cuts many texts.

        Raises:
            SutureError: a text holds a lone surrogate.
        """
        encoded = self.encode_batch(texts)
        return [self._spans(text, encoded.row(index)) for index, text in enumerate(texts)]

    def segment_control(self, text: str) -> Segmentation:
        """Cuts one text in which special-token text becomes control ids."""
        return self._spans(text, np.array(self.encode_control(text), np.int32), control=True)

    def _spans(self, text: str, ids: NDArray[np.int32], *, control: bool = False) -> Segmentation:
        data = utf8(text)
        table, tokens = self.inventory.pieces, ids.tolist()
        pieces = [table[token] for token in tokens]
        # A text may spell the unknown token itself; that token still stands for text without an entry.
        if b"".join(pieces) == data and self.unknown.isdisjoint(tokens):
            cuts = np.concatenate([[0], np.cumsum(self.inventory.lengths[ids], dtype=np.int64)])
            return Segmentation(data, cuts[:-1], cuts[1:], ids)
        return self._mapped(text, ids, pieces, control=control)

    def _mapped(
        self, text: str, ids: NDArray[np.int32], pieces: list[bytes], *, control: bool
    ) -> Segmentation:
        data, normalised = text.encode(), self.engine.normalise(text)
        unknown = [index for index, token in enumerate(ids.tolist()) if token in self.unknown]
        places = self._unknown_places(text, normalised, control=control) if unknown else []
        placed = place(
            normalised.target,
            pieces,
            dict(zip(unknown, places, strict=False)),
            self._as_normalised(ids, pieces),
            None if self.unknown else lambda character: bool(self.inventory.find(character)),
        )
        starts, ends = _to_source(normalised, placed.spans)
        passed = np.stack(_to_source(normalised, placed.passed), axis=1)
        spans = zip(pieces, starts.tolist(), ends.tolist(), strict=True)
        synthetic = tuple(
            index for index, (piece, low, high) in enumerate(spans) if _adds_space(piece, data[low:high])
        )
        return Segmentation(
            data,
            starts,
            ends,
            ids,
            exact=False,
            absorbed=self._absorbed(data, starts, ends, ids),
            dropped=np.unique(np.concatenate([normalised.dropped, passed], dtype=np.int64), axis=0),
            synthetic=synthetic,
            unknown=tuple(sorted({*unknown, *placed.lost})),
        )

    def _unknown_places(self, text: str, normalised: Normalised, *, control: bool) -> list[Unknown]:
        data, found = normalised.source, []
        for low, high, shared in self.engine.unknown_spans(text, control=control):
            start, end = normalised.to_target(low, end=False), normalised.to_target(high, end=True)
            last = low + len(data[low:high].decode()[:-1].encode())
            found.append(Unknown(start, end, normalised.to_target(last, end=False) if shared else None))
        return found

    def _as_normalised(self, ids: NDArray[np.int32], pieces: list[bytes]) -> dict[int, bytes]:
        """Literal and control tokens by index, as their text stands in the normalised text."""
        literal = np.flatnonzero(np.isin(self.inventory.kinds[ids], LITERAL) | np.isin(ids, [*self.literals]))
        texts = {index: self.literals.get(int(ids[index]), pieces[index]) for index in literal.tolist()}
        return {index: self.engine.normalise(text.decode()).target or text for index, text in texts.items()}

    def _absorbed(
        self, data: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64], ids: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """Whitespace in the holes beside added tokens that strip it."""
        found = []
        strip = [
            (index, self.strips[token]) for index, token in enumerate(ids.tolist()) if token in self.strips
        ]
        for index, (left, right) in strip:
            before = int(ends[index - 1]) if index else 0
            after = int(starts[index + 1]) if index + 1 < len(ids) else len(data)
            if left and data[before : starts[index]].decode(errors="replace").isspace():
                found.append((before, int(starts[index])))
            if right and data[ends[index] : after].decode(errors="replace").isspace():
                found.append((int(ends[index]), after))
        # Two neighbours may both claim what lies between them.
        return np.array(sorted(set(found)), np.int64).reshape(-1, 2)


def _to_source(
    normalised: Normalised, spans: list[tuple[int, int]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    array = np.array(spans, np.int64).reshape(-1, 2)
    return normalised.to_source(array[:, 0], array[:, 1])


def _adds_space(piece: bytes, text: bytes) -> bool:
    """Whether a piece begins with a space that the text under it lacks: no space is there, or one fewer."""
    if piece[:1] != b" ":
        return False
    return piece == b" " + text or not text.decode(errors="replace")[:1].isspace()
