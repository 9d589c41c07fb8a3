"""The true bytes of every entry of a ``tokenizer.json``.

Entries are written in one of several alphabets: the byte alphabet of byte-level BPE, a visible mark
for the space, ``<0xXX>`` for a byte, a prefix for a piece that continues a word. Added tokens are
literal text in all of them, even where the library's own decoder sends them through the byte alphabet.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from workbench.errors import UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

SPACE_MARK = "\u2581"
BYTE_ENTRY = r"^<0x[0-9A-Fa-f]{2}>$"


def parts(component: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """A normaliser, pre-tokenizer or decoder with its sequences flattened, in order."""
    if not isinstance(component, dict):
        return
    for key in ("normalizers", "pretokenizers", "decoders", "processors"):
        if component.get("type") == "Sequence" and isinstance(component.get(key), list):
            for part in component[key]:
                yield from parts(part)
            return
    yield component


@dataclass(frozen=True)
class Alphabet:
    """How a document writes bytes as entry text.

    Attributes:
        byte_level: each character stands for one byte.
        space_mark: the character that stands for a space, if any.
        byte_tokens: ``<0xXX>`` stands for a byte.
        prefix: marks a piece that continues a word, if any.
        suffix: marks a piece that ends a word, if any.
    """

    byte_level: bool
    space_mark: str | None
    byte_tokens: bool
    prefix: str | None
    suffix: str | None

    @classmethod
    def of(cls, doc: dict[str, Any]) -> Alphabet:
        """Read off the declared pipeline of a document."""
        model = doc["model"]
        stages = [*parts(doc.get("normalizer")), *parts(doc.get("pre_tokenizer")), *parts(doc.get("decoder"))]
        types = {stage.get("type") for stage in stages}
        mark = None
        for stage in stages:
            pattern = stage.get("pattern")
            if stage.get("type") == "Metaspace":
                mark = stage.get("replacement", SPACE_MARK)
            elif stage.get("type") == "Replace" and isinstance(pattern, dict):
                pair = (pattern.get("String"), stage.get("content"))
                mark = pair[0] if pair[1] == " " and pair[0] == SPACE_MARK else mark
                mark = pair[1] if pair[0] == " " and pair[1] == SPACE_MARK else mark
        return cls(
            byte_level="ByteLevel" in types,
            space_mark=mark,
            byte_tokens=bool(model.get("byte_fallback")) or "ByteFallback" in types,
            prefix=model.get("continuing_subword_prefix") or None,
            suffix=model.get("end_of_word_suffix") or None,
        )


@cache
def byte_alphabet() -> dict[str, int]:
    """The 256 characters of byte-level BPE, each with its byte.

    Printable Latin-1 characters stand for themselves; the other 68 bytes take the characters from
    U+0100 on, in order.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    table.update({chr(256 + index): byte for index, byte in enumerate(others)})
    return table


def decode_byte_level(texts: Sequence[str]) -> list[bytes]:
    """Bytes of entries written in the byte alphabet.

    An entry with a character outside that alphabet is literal text, as the library's decoder has it.
    """
    if not texts:
        return []
    points = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
    table = np.full(max(324, int(points.max(initial=0)) + 1), -1, np.int16)
    for character, byte in byte_alphabet().items():
        table[ord(character)] = byte
    values = table[points]
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    ends = np.cumsum(sizes)
    outside = np.concatenate([[0], np.cumsum(values < 0)])
    literal = outside[ends] > outside[ends - sizes]
    buffer = values.astype(np.uint8).tobytes()
    found = [buffer[end - size : end] for end, size in zip(ends.tolist(), sizes.tolist(), strict=True)]
    for index in np.flatnonzero(literal).tolist():
        found[index] = texts[index].encode()
    return found


def vocabulary(doc: dict[str, Any]) -> tuple[list[str], list[int], list[float] | None]:
    """Entry texts, ids and scores of the model, without added tokens.

    Raises:
        UnreadableFile: the model has no vocabulary of a known form.
    """
    vocab = doc["model"].get("vocab")
    if isinstance(vocab, dict):
        return list(vocab), list(vocab.values()), None
    if isinstance(vocab, list):
        return [row[0] for row in vocab], list(range(len(vocab))), [row[1] for row in vocab]
    raise UnreadableFile(
        f"a tokenizer.json's model must hold a vocabulary; got {type(vocab).__name__}; "
        "export the tokenizer again with its model"
    )


def columns(doc: dict[str, Any]) -> dict[str, Any]:
    """Columns of the inventory, as ``Inventory.build`` takes them."""
    alphabet = Alphabet.of(doc)
    texts, ids, scores = vocabulary(doc)
    frame = pl.DataFrame(
        {"id": pl.Series(ids, dtype=pl.Int64), "text": pl.Series(texts, dtype=pl.String)},
    )
    if scores is not None:
        frame = frame.with_columns(pl.Series("score", scores, dtype=pl.Float32))
    text = pl.col("text")
    kind, position, plain = pl.lit("piece"), pl.lit("any"), text
    if alphabet.prefix:
        inner = text.str.starts_with(alphabet.prefix)
        plain = text.str.strip_prefix(alphabet.prefix)
        position = pl.when(inner).then(pl.lit("inner")).otherwise(pl.lit("initial"))
    if alphabet.suffix:
        position = pl.when(text.str.ends_with(alphabet.suffix)).then(pl.lit("final")).otherwise(position)
        plain = plain.str.strip_suffix(alphabet.suffix)
    if alphabet.byte_level:
        spelled = decode_byte_level(frame.select(plain).to_series().to_list())
        frame = frame.with_columns(pl.Series("bytes", spelled, dtype=pl.Binary))
    else:
        if alphabet.space_mark:
            plain = plain.str.replace_all(alphabet.space_mark, " ", literal=True)
        own = plain.cast(pl.Binary)
        if alphabet.byte_tokens:
            single = text.str.contains(BYTE_ENTRY)
            value = pl.when(single).then(text.str.slice(3, 2)).str.decode("hex", strict=False)
            own = pl.when(single).then(value).otherwise(own)
            kind = pl.when(single).then(pl.lit("byte")).otherwise(kind)
            position = pl.when(single).then(pl.lit("any")).otherwise(position)
        frame = frame.with_columns(own.alias("bytes"))
    frame = frame.with_columns(kind.alias("kind"), position.alias("position"))
    return _with_added(frame.drop("text"), doc).to_dict()


def _with_added(frame: pl.DataFrame, doc: dict[str, Any]) -> pl.DataFrame:
    added = doc.get("added_tokens") or []
    if not added:
        return frame
    rows = pl.DataFrame(
        {
            "id": pl.Series([token["id"] for token in added], dtype=pl.Int64),
            "bytes": pl.Series([token["content"].encode() for token in added], dtype=pl.Binary),
            "kind": ["special" if token.get("special") else "added" for token in added],
            "position": "any",
        }
    ).unique("id", keep="last", maintain_order=True)
    # Trainers of byte-fallback models register the byte entries as special tokens; the model makes them
    # of bytes all the same.
    rows = rows.join(frame.filter(pl.col("kind") == "byte"), on="id", how="anti", maintain_order="left")
    # A literal token that the model's vocabulary also spells is produced by the model too, so the
    # model's spelling holds: a run of spaces may be written with the space mark in both places.
    spelled = frame.select("id", pl.col("bytes").alias("own"), pl.col("position").alias("place"))
    literal = pl.col("kind") == "added"
    rows = rows.join(spelled, on="id", how="left", maintain_order="left").select(
        "id",
        pl.when(literal).then(pl.coalesce("own", "bytes")).otherwise("bytes").alias("bytes"),
        "kind",
        pl.when(literal).then(pl.coalesce("place", "position")).otherwise("position").alias("position"),
    )
    if "score" in frame.columns:
        rows = rows.join(frame.select("id", "score"), on="id", how="left")
    return pl.concat([frame.join(rows, on="id", how="anti"), rows.select(frame.columns)])


def merges(doc: dict[str, Any]) -> NDArray[np.int32]:
    """Rows (left id, right id, result id) of a BPE document, in order of application.

    Raises:
        UnreadableFile: a merge names a piece that the vocabulary lacks.
    """
    vocab, prefix = doc["model"]["vocab"], doc["model"].get("continuing_subword_prefix") or ""
    pairs = [tuple(pair.split(" ", 1)) if isinstance(pair, str) else pair for pair in doc["model"]["merges"]]
    try:
        rows = [
            (vocab[left], vocab[right], vocab[left + right.removeprefix(prefix)]) for left, right in pairs
        ]
    except KeyError as error:
        raise UnreadableFile(
            f"each merge must name entries of the vocabulary; {error} is none; export the tokenizer again"
        ) from None
    return np.array(rows, np.int32).reshape(-1, 3)
