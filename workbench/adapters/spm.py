"""SentencePiece models, encoded by the ``sentencepiece`` library itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import regex
import sentencepiece

from workbench.adapters import spm_proto
from workbench.adapters.reading import read_bytes
from workbench.adapters.spm_aligned import MARK, aligned
from workbench.errors import UnreadableFile
from workbench.inventory import Inventory
from workbench.normalising import Normalised
from workbench.tokenizer import Encoded, Pipeline, Step, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from workbench.adapters.editing import Edited, Mode

LIMIT = 128 * 2**20
"""Largest model file that is read; the largest known is an eighth of this."""

WORDS_BEGIN = regex.compile(r"^[^ ]+| +[^ ]*")
WORDS_END = regex.compile(r"[^ ]* +|[^ ]+")


@dataclass(frozen=True, eq=False)
class SpmEngine:
    """Encodes with ``sentencepiece``.

    User-defined pieces are matched in any text, before the normaliser, as the library has no way to
    leave them out; control pieces never are. ``encode_control`` cuts the text at control pieces and
    encodes what lies between each on its own, dummy prefix included.

    Attributes:
        processor: the loaded model.
        spec: what the model file declares.
        control: text of each control piece, with its id.
        words: cuts a normalised text into stretches that no piece crosses, or None if pieces cross
            from one word into the next.
    """

    processor: sentencepiece.SentencePieceProcessor
    spec: spm_proto.Spec
    control: dict[str, int]
    words: regex.Pattern[str] | None

    def encode_batch(self, texts: Sequence[str]) -> Encoded:
        """Ids of each text."""
        rows = self.processor.encode(list(texts), out_type="numpy")
        sizes = np.fromiter(map(len, rows), np.int64, len(rows))
        ids = np.concatenate(rows) if rows else np.empty(0, np.int32)
        return Encoded(ids, np.concatenate([[0], np.cumsum(sizes)]))

    def encode_control(self, text: str) -> list[int]:
        """Ids of one text in which the text of a control piece becomes its id."""
        ids: list[int] = []
        for part in self._control.split(text):
            if part in self.control:
                ids.append(self.control[part])
            elif part:
                ids += self.processor.encode(part, out_type=int)
        return ids

    @cached_property
    def _control(self) -> regex.Pattern[str]:
        longest = sorted(self.control, key=len, reverse=True)
        return regex.compile(f"({'|'.join(map(regex.escape, longest)) or '(?!)'})")

    def normalise(self, text: str) -> Normalised:
        """The text after the model's own normaliser, with a plain space for U+2581."""
        source = text.encode()
        target, offsets = self.processor.normalize(source, with_offsets=True)
        return Normalised(source, (aligned(source, target, offsets, self.spec),))

    def pretokenize(self, text: str) -> list[str]:
        """Words of the normalised text, each with the spaces before it (after it, in suffix models).

        SentencePiece cuts at spaces inside its model, so these are stretches that no piece crosses.
        A model with pieces that do is given the text whole.
        """
        whole: str = self.processor.normalize(text).replace(MARK, " ")
        if self.words is None:
            return [whole] if whole else []
        found: list[str] = self.words.findall(whole)
        return found

    def model_ids(self, pretoken: str) -> list[int]:
        """Ids of one pre-token, by the same model without its normaliser."""
        ids: list[int] = self._bare.encode(pretoken, out_type=int)
        return ids

    @cached_property
    def _bare(self) -> sentencepiece.SentencePieceProcessor:
        data = spm_proto.without_normaliser(self.processor.serialized_model_proto())
        return sentencepiece.SentencePieceProcessor(model_proto=data)

    def unknown_spans(self, text: str, *, control: bool = False) -> list[tuple[int, int, bool]]:
        """Byte spans of unknown pieces.

        The library's own offsets give all pieces of one stretch the stretch's ends, so the pieces, which
        join to the normalised text, are laid out here. A model with unknown pieces has no byte pieces.
        """
        spans: list[tuple[int, int, bool]] = []
        start = 0
        for part in self._control.split(text) if control else [text]:
            if not (control and part in self.control):
                spans += [(start + low, start + high, shared) for low, high, shared in self._unknown_in(part)]
            start += len(part.encode())
        return spans

    def _unknown_in(self, text: str) -> list[tuple[int, int, bool]]:
        found = self.processor.encode(text.encode(), out_type="offset_mapping")
        sizes = [len(piece.replace(MARK.encode(), b" ")) for piece in found["pieces"]]
        ends = np.cumsum(np.array(sizes, np.int64))
        unknown = np.flatnonzero(np.array(found["ids"]) == self.processor.unk_id())
        normalised = self.normalise(text)
        lows, highs = normalised.to_source((ends - sizes)[unknown], ends[unknown])
        rows = zip(lows.tolist(), highs.tolist(), ends[unknown].tolist(), strict=True)
        return [(low, high, normalised.to_target(high, end=True) > end) for low, high, end in rows]

    def decode_each(self, ids: Sequence[int]) -> list[str | None]:
        """The library's decoding of each id alone, which takes the added space off the first piece."""
        return list(self.processor.decode([[token] for token in ids]))

    def without(self, tokenizer: Tokenizer, ids: Sequence[int], mode: Mode) -> Edited:
        """The tokenizer without some entries; see ``workbench.adapters.editing``."""
        from workbench.adapters import editing_spm

        return editing_spm.edit(tokenizer, self, ids, mode)

    def kept_in(
        self,
        tokenizer: Tokenizer,
        ids: Sequence[int],
        mode: Mode,
    ) -> dict[int, str]:
        """Single characters of a BPE, which the library gives even where they are unused."""
        from workbench.adapters import editing_spm

        return editing_spm.letters(tokenizer, ids) if mode == "mask" else {}


def from_path(path: str | Path, name: str | None = None) -> Tokenizer:
    """Reads a SentencePiece ``.model`` file.

    Args:
        path: the file.
        name: short name; by default the file's stem.

    Raises:
        UnreadableFile: missing, too large, truncated or no such model.
    """
    from workbench.adapters import files

    data = read_bytes(path, "a SentencePiece model", LIMIT)
    return from_proto(data, name or Path(path).stem, str(path), files.rows_of(Path(path).parent))


def from_proto(
    data: bytes, name: str, source: str, rows: int | None = None, extra: tuple[str, ...] = ()
) -> Tokenizer:
    """A tokenizer from a serialized model.

    Args:
        data: the model message, as in a ``.model`` file.
        name: short name.
        source: where it came from.
        rows: rows of the model's embedding matrix, where known.
        extra: what a reader should know about where the model came from.

    Raises:
        UnreadableFile: truncated or no such model.
    """
    processor = sentencepiece.SentencePieceProcessor()
    try:
        spec = spm_proto.read(data)
        processor.LoadFromSerializedProto(data)
        frame = _frame(processor, spec)
    except (RuntimeError, ValueError) as error:
        raise UnreadableFile(
            f"a SentencePiece model must be complete; {source} is damaged or no such model "
            f"({_reason(error)}); fetch it again"
        ) from None
    ordered, notes = _ordered(frame, spec)
    merges = (lambda: merges_by_score(frame)) if ordered else None
    columns = frame.select("id", "bytes", "kind", "score").to_dict()
    inventory = Inventory.build(name, source, columns, merges=merges, rows=rows, notes=(*notes, *extra))
    control = dict(frame.filter(kind="special", unknown=False).select("text", "id").iter_rows())
    crossing = r"[^ ] " if not spec.suffix else r" [^ ]"
    crosses = frame.filter(pl.col("kind") == "piece")["plain"].str.contains(crossing).any()
    words = None if crosses else WORDS_END if spec.suffix else WORDS_BEGIN
    engine = SpmEngine(processor, spec, control, words)
    unknown = frozenset({processor.unk_id()})
    return Tokenizer(inventory, _pipeline(spec, frame, inventory.notes), engine, unknown)


def _reason(error: Exception) -> str:
    """The gist of the library's message, without its source file and line."""
    return (
        regex.sub(r"^\w+: \S+\(\d+\) ", "", str(error).splitlines()[0])[:120]
        if str(error)
        else "no reason given"
    )


def _frame(processor: sentencepiece.SentencePieceProcessor, spec: spm_proto.Spec) -> pl.DataFrame:
    """One row a piece: id, text as in the file, plain text, bytes, kind, score, whether unknown."""
    ids = list(range(processor.get_piece_size()))
    text, plain = pl.col("text"), pl.col("plain")
    literal = pl.col("unknown") | pl.col("control")
    frame = pl.DataFrame(
        {
            "id": pl.Series(ids, dtype=pl.Int32),
            "text": processor.id_to_piece(ids),
            "score": pl.Series(processor.get_score(ids), dtype=pl.Float32),
            "unknown": processor.is_unknown(ids),
            "control": processor.is_control(ids),
            "byte": processor.is_byte(ids),
            "unused": processor.is_unused(ids),
        }
    ).with_columns(plain=pl.when(literal).then(text).otherwise(text.str.replace_all(MARK, " ", literal=True)))
    kind = (
        pl.when(literal)
        .then(pl.lit("special"))
        .when("byte")
        .then(pl.lit("byte"))
        .when("unused")
        .then(pl.lit("unused"))
        .when(pl.col("id").is_in(list(spec.user_defined)))
        .then(pl.lit("added"))
        .otherwise(pl.lit("piece"))
    )
    value = pl.when("byte").then(text.str.slice(3, 2)).str.decode("hex", strict=False)
    spelled = pl.when("byte").then(value).otherwise(plain.cast(pl.Binary))
    return frame.with_columns(kind.alias("kind"), spelled.alias("bytes"))


def _ordered(frame: pl.DataFrame, spec: spm_proto.Spec) -> tuple[bool, tuple[str, ...]]:
    """Whether the scores of a BPE model tell one order of its merges, and a note on ties.

    Runs of spaces may share a score, as they do in Llama's models: they meet no other piece's merges.
    """
    if spec.model != "BPE":
        return False, ()
    longer = frame.filter(pl.col("kind").is_in(["piece", "unused"]), pl.col("text").str.len_chars() > 1)
    tied = longer.filter(pl.col("score").is_duplicated())
    if longer.height == 0 or not tied["plain"].str.contains("^ +$").all():
        return False, ("several pieces share a score, so the order of merges is not known",)
    if tied.height == 0:
        return True, ()
    return True, (f"{tied.height} runs of spaces share a score; their merges are given in order of id",)


def merges_by_score(frame: pl.DataFrame) -> NDArray[np.int32]:
    """Merges of a BPE model, rows of (left id, right id, result id).

    SentencePiece keeps no merge list: it joins the neighbours whose result has the highest score,
    whatever the two are. So each way to cut a piece in two pieces is a merge, and the results' scores
    give the order; ways of one result follow each other from the shortest left part.

    Args:
        frame: ``id``, ``text``, ``kind`` and ``score`` of each piece.
    """
    usable = frame.filter(pl.col("kind").is_in(["piece", "unused"])).select("id", "text", "score")
    cut = (
        usable.filter(pl.col("text").str.len_chars() > 1)
        .with_columns(at=pl.int_ranges(1, pl.col("text").str.len_chars()))
        .explode("at")
        .with_columns(
            left=pl.col("text").str.slice(0, pl.col("at")), right=pl.col("text").str.slice(pl.col("at"))
        )
    )
    lookup = usable.select("text", "id")
    return (
        cut.join(lookup.rename({"text": "left", "id": "left_id"}), on="left")
        .join(lookup.rename({"text": "right", "id": "right_id"}), on="right")
        .sort("score", "id", "at", descending=[True, False, False])
        .select("left_id", "right_id", "id")
        .to_numpy()
        .astype(np.int32)
    )


def _pipeline(spec: spm_proto.Spec, frame: pl.DataFrame, notes: tuple[str, ...]) -> Pipeline:
    added = frame.filter(kind="added")["plain"].to_list()
    flags = {
        "a space is added " + ("after" if spec.suffix else "before") + " the text": spec.dummy_prefix,
        "runs of spaces become one and spaces at the ends go": spec.remove_extra,
    }
    steps = [Step("added token", text, "user-defined: matched in any text") for text in added]
    steps.append(
        Step("normaliser", spec.normaliser or "identity", "; ".join(key for key, on in flags.items() if on))
    )
    fallback = int((frame["kind"] == "byte").sum()) == 256
    steps.append(Step("model", spec.model, "byte fallback" if fallback else ""))
    return Pipeline(spec.model, tuple(steps), prefix_space=spec.dummy_prefix and not spec.suffix, notes=notes)
