"""Vocabularies that are plain lists: BERT's ``vocab.txt`` and RWKV's World vocabulary."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import regex
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from workbench.adapters.longest import longest_match
from workbench.adapters.reading import read_bytes
from workbench.errors import UnreadableFile
from workbench.inventory import MAX_ROWS, Inventory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.tokenizer import Tokenizer

LIMIT = 128 * 2**20
"""Largest file that is read; the largest known is a hundredth of this."""

LINE_LIMIT = 4096
"""Most bytes of a line of RWKV's vocabulary; the longest known has under 600."""

INNER = "##"
SPECIAL = {
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "mask_token": "[MASK]",
}
"""BERT's special tokens, by the names under which a tokenizer_config.json may rename them."""


def from_vocab_txt(path: str | Path, name: str | None = None) -> Tokenizer:
    """Reads a WordPiece ``vocab.txt``: one entry a line, its id the line's number from 0.

    Lines end at LF alone, so an entry may hold any other line break of Unicode. Options come from a
    ``tokenizer_config.json`` beside the file; without one, lower-casing is assumed where it would change
    no entry.

    Args:
        path: the file.
        name: short name; by default the file's stem.

    Raises:
        UnreadableFile: missing, not UTF-8, or without the unknown token that WordPiece needs.
    """
    from workbench.adapters import files

    file = Path(path)
    texts, notes = _lines(read_bytes(file, "a vocab.txt", LIMIT), str(path))
    config = _config(file.parent / "tokenizer_config.json")
    return wordpiece(
        texts,
        name or file.stem,
        str(path),
        config,
        notes,
        rows=files.rows_of(file.parent),
        folder=file.parent,
    )


def _lines(data: bytes, source: str) -> tuple[list[str], tuple[str, ...]]:
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    notes: tuple[str, ...] = ()
    if lines[-1] == b"":
        lines.pop()
    if lines and all(line.endswith(b"\r") for line in lines):
        lines = [line[:-1] for line in lines]
        notes = ("each line ends with CR LF, of which CR is taken for no part of the entry",)
    if not 0 < len(lines) < MAX_ROWS:
        raise UnreadableFile(
            f"a vocab.txt must hold one entry a line; {source} has {len(lines)} lines; "
            "give the tokenizer's own file"
        )
    try:
        return [line.decode() for line in lines], notes
    except UnicodeDecodeError:
        number = next(index for index, line in enumerate(lines, 1) if not _is_utf8(line))
        raise UnreadableFile(
            f"a vocab.txt must be UTF-8; line {number} of {source} is not ({lines[number - 1][:40]!r}); "
            "convert the file"
        ) from None


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _config(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def wordpiece(
    texts: Sequence[str],
    name: str,
    source: str,
    config: Mapping[str, Any],
    notes: tuple[str, ...] = (),
    rows: int | None = None,
    folder: Path | None = None,
) -> Tokenizer:
    """A WordPiece tokenizer from entry texts, in which ``##`` marks those that continue a word.

    Args:
        texts: text of each id; of equal texts the last is used, as BERT's own loader has it.
        name: short name.
        source: where they came from.
        config: ``do_lower_case``, ``strip_accents``, ``tokenize_chinese_chars`` and the special tokens, as
            in a ``tokenizer_config.json``.
        notes: what a reader should know.
        rows: rows of the embedding matrix, where known.
        folder: the model directory, where there is one.

    Raises:
        UnreadableFile: the unknown token is no entry.
    """
    from dataclasses import replace

    from workbench.adapters import hf

    special = {key: _content(config.get(key), default) for key, default in SPECIAL.items()}
    vocab = {text: index for index, text in enumerate(texts)}
    if special["unk_token"] not in vocab:
        raise UnreadableFile(
            f"a WordPiece vocabulary must hold its unknown token {special['unk_token']}; {source} does not; "
            "name it in a tokenizer_config.json beside the file, or give the tokenizer's own file"
        )
    lower = config.get("do_lower_case")
    if not isinstance(lower, bool):
        lower = not _cased(texts)
        state, which = ("on", "no entry has") if lower else ("off", "entries have")
        notes += (f"lower-casing is assumed to be {state}, as {which} capital letters",)
    backend = _backend(vocab, special, lower=lower, config=config)
    doc = json.loads(backend.to_str())
    built = hf.from_tokenizer(backend, name, source, doc, rows, notes, folder)
    inventory = _inventory(texts, frozenset(special.values()), name, source, rows, notes)
    return replace(built, inventory=inventory)


def _content(value: Any, default: str) -> str:
    """A special token of a config: its text, or a record that holds its text."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) and value else default


def _cased(texts: Sequence[str]) -> bool:
    """Whether lower-casing changes an entry; ``[UNK]`` and its like, all in brackets, do not count.

    A letter such as U+211D is a capital without a small one, and stands in lower-cased vocabularies too.
    """
    column = pl.Series(texts, dtype=pl.String)
    plain = column.filter(~(column.str.starts_with("[") & column.str.ends_with("]")))
    return bool((plain.str.to_lowercase() != plain).any())


def _backend(
    vocab: Mapping[str, int], special: Mapping[str, str], *, lower: bool, config: Mapping[str, Any]
) -> tokenizers.Tokenizer:
    usable = {text: index for text, index in vocab.items() if text}
    model = models.WordPiece(usable, unk_token=special["unk_token"], continuing_subword_prefix=INNER)
    backend = tokenizers.Tokenizer(model)
    accents, chinese = config.get("strip_accents"), config.get("tokenize_chinese_chars")
    backend.normalizer = normalizers.BertNormalizer(
        lowercase=lower,
        strip_accents=accents if isinstance(accents, bool) else None,
        handle_chinese_chars=chinese if isinstance(chinese, bool) else True,
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix=INNER)
    backend.add_special_tokens([text for text in special.values() if text in vocab])
    cls, sep = special["cls_token"], special["sep_token"]
    if cls in vocab and sep in vocab:
        backend.post_processor = processors.BertProcessing((sep, vocab[sep]), (cls, vocab[cls]))
    return backend


def _inventory(
    texts: Sequence[str],
    special: frozenset[str],
    name: str,
    source: str,
    rows: int | None,
    notes: tuple[str, ...],
) -> Inventory:
    """Columns from the list itself, in which a text that stands twice keeps both its ids."""
    text = pl.col("text")
    control = text.is_in(list(special))
    inner = text.str.starts_with(INNER) & (text.str.len_chars() > len(INNER)) & ~control
    frame = pl.DataFrame({"text": pl.Series(texts, dtype=pl.String)}).select(
        id=pl.int_range(pl.len(), dtype=pl.Int32),
        bytes=pl.when(inner).then(text.str.strip_prefix(INNER)).otherwise(text).cast(pl.Binary),
        kind=pl.when(control).then(pl.lit("special")).otherwise(pl.lit("piece")),
        position=pl.when(control)
        .then(pl.lit("any"))
        .when(inner)
        .then(pl.lit("inner"))
        .otherwise(pl.lit("initial")),
    )
    return Inventory.build(name, source, frame.to_dict(), rows=rows, notes=notes)


def from_rwkv(path: str | Path, name: str | None = None) -> Tokenizer:
    """Reads RWKV's World vocabulary: on each line an id, a Python literal of the entry, its size in bytes.

    The literals are parsed as literals, never evaluated. The list begins with id 1; id 0, which models
    use as the end of a text, is a hole.

    Args:
        path: the file.
        name: short name; by default the file's stem.

    Raises:
        UnreadableFile: a line is something else; the message says which.
    """
    data = read_bytes(path, "an RWKV vocabulary", LIMIT)
    rows: list[tuple[int, bytes]] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            rows.append(_rwkv_row(line))
        except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
            raise UnreadableFile(
                f"each line of an RWKV vocabulary must hold an id, a literal and its size in bytes; "
                f"line {number} of {path} holds {line[:40]!r} ({str(error)[:80]}); fetch the file again"
            ) from None
    return longest_match(rows, name or Path(path).stem, str(path))


QUOTED = regex.compile(r"b?(?:'.*'|\".*\")", regex.DOTALL)
PLAIN = regex.compile(r"'[^'\\]*'|\"[^\"\\]*\"")


def _rwkv_row(line: bytes) -> tuple[int, bytes]:
    """The id and bytes of a line.

    Raises:
        ValueError, SyntaxError, MemoryError, RecursionError: it is something else.
    """
    if len(line) > LINE_LIMIT:
        raise ValueError(f"more than {LINE_LIMIT} bytes")
    first, _, rest = line.decode().rstrip("\r").partition(" ")
    literal, _, size = rest.rpartition(" ")
    if not first.isdecimal() or not size.isdecimal() or not 0 <= int(first) < MAX_ROWS:
        raise ValueError(f"no id from 0 to {MAX_ROWS - 1} and no size")
    if PLAIN.fullmatch(literal):
        piece = literal[1:-1].encode()
    elif QUOTED.fullmatch(literal):
        value = ast.literal_eval(literal)
        piece = value.encode() if isinstance(value, str) else value
    else:
        raise ValueError("no literal of text or bytes")
    if len(piece) != int(size) or not piece:
        raise ValueError(f"a literal of {len(piece)} bytes")
    return int(first), piece
