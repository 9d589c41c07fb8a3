"""Mistral's Tekken files: byte-level BPE ranks in JSON, numbered after a block of special slots."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import tiktoken

from workbench.adapters import tiktoken_
from workbench.adapters.reading import read_bytes
from workbench.adapters.unencodable import UnencodableEngine
from workbench.errors import UnreadableFile
from workbench.inventory import MAX_ROWS, Inventory
from workbench.tokenizer import Pipeline, Step, Tokenizer

if TYPE_CHECKING:
    from workbench.tokenizer import Engine

LIMIT = 256 * 2**20
"""Largest file that is read; the largest known is a tenth of this."""

UNLISTED = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]"),
    *("[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
)
"""Special tokens, from slot 0 on, of files up to version 7 that list none (as ``mistral_common`` has it)."""

LAST_UNLISTED = 7


class Tekken(NamedTuple):
    """What a file says, with ids in place of ranks.

    Attributes:
        ids: id of each entry that is not special.
        special: id of each special token.
        slots: number of special slots; an entry's id is its rank plus this.
        pattern: the pre-token pattern.
        notes: what was assumed.
    """

    ids: dict[bytes, int]
    special: dict[str, int]
    slots: int
    pattern: str
    notes: tuple[str, ...]


def from_path(path: str | Path, name: str | None = None) -> Tokenizer:
    """Reads a ``tekken.json``.

    The vocabulary is cut to the size that the file declares, the special tokens keep the slots that the
    file gives them, and slots that it does not name are filled as ``mistral_common`` fills them: from as
    many slots on as it names. A slot that stays free is a hole.

    Args:
        path: the file.
        name: short name; by default the file's stem.

    Raises:
        UnreadableFile: no JSON, truncated, or without a part that it must have.
    """
    from workbench.adapters import files

    data = read_bytes(path, "a Tekken file", LIMIT)
    try:
        found = _read(json.loads(data))
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        pl.exceptions.PolarsError,
    ) as error:
        raise UnreadableFile(
            f"a Tekken file must be complete JSON with vocabulary and config; {path} is not "
            f"({_reason(error)}); fetch it again"
        ) from None
    return _tokenizer(found, name or Path(path).stem, str(path), files.rows_of(Path(path).parent))


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"it has no {error}"
    return str(error).splitlines()[0][:120] if str(error) else type(error).__name__


def _read(doc: dict[str, Any]) -> Tekken:
    """Checks and renumbers a document.

    Raises:
        ValueError, KeyError, TypeError: a part is missing or is not what it must be.
    """
    config = doc["config"]
    size, slots = config["default_vocab_size"], config["default_num_special_tokens"]
    if not (isinstance(size, int) and isinstance(slots, int) and 0 <= slots <= size < MAX_ROWS):
        raise ValueError(f"its sizes {size!r} and {slots!r} are no sizes")
    vocab = doc["vocab"][: size - slots]
    if len(vocab) < size - slots:
        raise ValueError(f"its vocabulary has {len(vocab)} entries where {size - slots} are declared")
    ranks = pl.Series([entry["rank"] for entry in vocab], dtype=pl.Int64)
    if not (ranks == pl.int_range(len(vocab), eager=True)).all():
        raise ValueError("its ranks do not count from 0")
    pieces = pl.Series([entry["token_bytes"] for entry in vocab], dtype=pl.String).str.decode("base64")
    ids = dict(zip(pieces.to_list(), range(slots, size), strict=True))
    if len(ids) < len(vocab):
        raise ValueError("two of its entries have the same bytes")
    pattern = config["pattern"]
    if not isinstance(pattern, str):
        raise TypeError("its pattern is no text")
    special, notes = _special(doc, slots)
    return Tekken(ids, special, slots, pattern, notes)


def _special(doc: dict[str, Any], slots: int) -> tuple[dict[str, int], tuple[str, ...]]:
    """Special tokens with their slots, and a note on what the file leaves unsaid."""
    listed = doc.get("special_tokens")
    notes: tuple[str, ...] = ()
    if listed is None:
        version = str(doc["config"].get("version", "v1"))
        if not version.removeprefix("v").isdigit() or int(version.removeprefix("v")) > LAST_UNLISTED:
            raise ValueError(f"it lists no special tokens, which its version {version} must")
        listed = [{"rank": slot, "token_str": text} for slot, text in enumerate(UNLISTED)]
        notes = (f"the file lists no special tokens; those of {version} files are assumed",)
    pairs = [(token["token_str"], token["rank"]) for token in listed]
    if any(not isinstance(slot, int) or not 0 <= slot < slots for _, slot in pairs):
        raise ValueError(f"a special token lies outside its {slots} special slots")
    if any(not text or not text.encode() for text, _ in pairs):  # a lone surrogate is no text either
        raise ValueError("a special token has no text")
    taken = {slot for _, slot in pairs}
    fill = [(f"<SPECIAL_{slot}>", slot) for slot in range(len(pairs), slots) if slot not in taken]
    special = dict([*pairs, *fill])
    if len(special) < len(pairs) + len(fill) or len(taken) < len(pairs):
        raise ValueError("two of its special tokens have the same text or slot")
    return special, notes


def _tokenizer(found: Tekken, name: str, source: str, rows: int | None) -> Tokenizer:
    ids, special = found.ids, found.special
    inventory = Inventory.build(
        name,
        source,
        {
            "id": [*special.values(), *ids.values()],
            "bytes": [*(text.encode() for text in special), *ids],
            "kind": ["special"] * len(special) + ["piece"] * len(ids),
            "rank": [*([None] * len(special)), *range(len(ids))],
        },
        merges=lambda: tiktoken_.recovered(ids),
        rows=rows,
        notes=found.notes,
    )
    steps = (
        Step("pre-tokenizer", "pattern", found.pattern),
        Step("model", "BPE", "by rank; an entry that spells a whole pre-token is used as it is"),
    )
    pipeline = Pipeline("BPE", steps, found.pattern, byte_level=True, ignore_merges=True, notes=found.notes)
    return Tokenizer(inventory, pipeline, _engine(found, name, source))


def _engine(found: Tekken, name: str, source: str) -> Engine:
    """An encoding over ids, which are ranks moved by the slots, so the order of merges is the ranks' own."""
    missing = sum(bytes([byte]) not in found.ids for byte in range(256))
    if missing:
        return UnencodableEngine(source, f"{missing} of the 256 bytes have no entry")
    try:
        encoding = tiktoken.Encoding(
            name, pat_str=found.pattern, mergeable_ranks=found.ids, special_tokens=found.special
        )
    except BaseException as error:  # tiktoken panics, outside Exception, on a bad pattern
        if isinstance(error, KeyboardInterrupt):
            raise
        raise UnreadableFile(
            f"a Tekken file's pattern and vocabulary must make an encoding; those of {source} do not "
            f"({_reason(error)}); fetch it again"
        ) from None
    return tiktoken_.engine(encoding)
