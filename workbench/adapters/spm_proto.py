"""The few fields of a SentencePiece model file that its library does not tell, and the way back.

The file is a protobuf message; ``sentencepiece`` reads it but shows neither which pieces are
user-defined nor what its normaliser does, and its own schema module needs a package of its own.
The numbers here are those of the published schema, ``sentencepiece_model.proto``.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

MODELS = {1: "Unigram", 2: "BPE", 3: "Word", 4: "Char"}
"""Numbers of the model types."""

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
"""Types of a piece; GGUF files use the same numbers."""

USER_DEFINED_FIELD = b"\x18\x04"  # field 3 of a piece, its type, as a varint: user-defined


class Spec(NamedTuple):
    """What a model file declares beside its pieces.

    Attributes:
        model: a name out of ``MODELS``.
        user_defined: ids of the user-defined pieces.
        normaliser: name of the normalisation rule, such as ``nmt_nfkc``.
        dummy_prefix: a space is put before (or after) each text.
        remove_extra: runs of spaces become one, and spaces at the ends go.
        suffix: the added space follows the text, and a space ends a word.
    """

    model: str
    user_defined: tuple[int, ...]
    normaliser: str
    dummy_prefix: bool
    remove_extra: bool
    suffix: bool


def read(data: bytes) -> Spec:
    """Reads the declarations of a serialized model.

    Raises:
        ValueError: not such a message, or one without trainer or normaliser part, as a file that was
            cut between two of its pieces has none.
    """
    user_defined: list[int] = []
    found: dict[int, dict[int, int | bytes]] = {}
    index = 0
    for number, value in fields(data):
        if number == 1:
            piece = _message(value)
            if USER_DEFINED_FIELD in piece and dict(fields(piece)).get(3) == USER_DEFINED:
                user_defined.append(index)
            index += 1
        elif number in (2, 3):
            found.setdefault(number, {}).update(fields(_message(value)))
    if len(found) < 2 or index == 0:
        raise ValueError("its trainer or normaliser part is missing")
    trainer, normaliser = found[2], found[3]
    name = normaliser.get(1, b"")
    return Spec(
        model=MODELS.get(int(trainer.get(3, 1)), "Unigram"),
        user_defined=tuple(user_defined),
        normaliser=name.decode(errors="replace") if isinstance(name, bytes) else "",
        dummy_prefix=bool(normaliser.get(3, 1)),
        remove_extra=bool(normaliser.get(4, 1)),
        suffix=bool(trainer.get(24, 0)),
    )


def without_normaliser(data: bytes) -> bytes:
    """The same model whose normaliser does nothing but mark spaces.

    A protobuf message followed by another is their merge, in which the later value of a field holds.
    """
    nothing = _bytes(2, b"") + _number(3, 0) + _number(4, 0)
    return data + _bytes(3, nothing)


def retyped(data: bytes, ids: Collection[int], kind: int) -> bytes:
    """The same model with some of its pieces of another type; nothing else changes.

    Args:
        data: a serialized model.
        ids: pieces, by their place.
        kind: the type, numbered as above.
    """
    parts, index = [], 0
    for number, value in fields(data):
        if number == 1:
            parts.append(_bytes(1, _message(value) + (_number(3, kind) if index in ids else b"")))
            index += 1
        else:
            parts.append(_number(number, value) if isinstance(value, int) else _bytes(number, value))
    return b"".join(parts)


def write(
    pieces: Sequence[bytes],
    scores: Sequence[float],
    types: Sequence[int],
    model: str,
    *,
    dummy_prefix: bool,
    remove_extra: bool,
    charsmap: bytes = b"",
) -> bytes:
    """Serializes a model, for sources that hold the same columns in another container.

    Args:
        pieces: text of each id in UTF-8, with U+2581 for a space.
        scores: score of each id.
        types: type of each id, numbered as above.
        model: ``BPE`` or ``Unigram``.
        dummy_prefix: whether a space is put before each text.
        remove_extra: whether runs of spaces become one.
        charsmap: compiled normalisation rules, empty for none.
    """
    rows = [
        _bytes(1, _bytes(1, piece) + b"\x15" + struct.pack("<f", score) + _number(3, kind))
        for piece, score, kind in zip(pieces, scores, types, strict=True)
    ]
    number = next(key for key, name in MODELS.items() if name == model)
    fallback = list(types).count(BYTE) == 256
    trainer = _number(3, number) + _number(35, int(fallback))
    normaliser = _bytes(1, b"user_defined" if charsmap else b"identity") + _bytes(2, charsmap)
    normaliser += _number(3, int(dummy_prefix)) + _number(4, int(remove_extra))
    return b"".join(rows) + _bytes(2, trainer) + _bytes(3, normaliser)


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Fields of a message in order: number, and an integer for a varint or else the raw bytes.

    Raises:
        ValueError: the bytes break off or are no message.
    """
    at, size = 0, len(data)
    while at < size:
        key, at = _varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        length = {1: 8, 5: 4}.get(wire)
        if wire == 2:
            length, at = _varint(data, at)
        if length is None or key < 8 or at + length > size:
            raise ValueError(f"it breaks off or is no such message at byte {at}")
        yield key >> 3, data[at : at + length]
        at += length


def _message(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("a part of it is a number")  # noqa: TRY004 a fault of the file, not of the caller
    return value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError(f"it breaks off or is no such message at byte {at}")


def _number(field: int, value: int) -> bytes:
    return _encoded(field << 3) + _encoded(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _encoded(field << 3 | 2) + _encoded(len(value)) + value


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
