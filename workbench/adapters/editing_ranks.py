"""Rank tables without some entries.

A table of ranks has no merges of its own: two neighbours join if their bytes are an entry. So an entry that
was built through a removed one may be built in another way, or in none; each that holds its bytes is built
anew.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import tiktoken

from workbench.adapters import tiktoken_
from workbench.adapters.editing import Edited, Structure
from workbench.bpe import builds, split
from workbench.errors import upstream

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from workbench.adapters.editing import Read
    from workbench.adapters.tiktoken_ import TiktokenEngine
    from workbench.tokenizer import Tokenizer

NOTE = (
    "a rank file holds neither pattern nor special tokens: the pattern is named with #pattern=, the special "
    "tokens are to be given as before"
)


def edit(tokenizer: Tokenizer, engine: TiktokenEngine, ids: Sequence[int]) -> Edited:
    """The same encoding without some ranks; both ways leave holes, as a row says no more than a rank.

    A Tekken table, whose own file must count ranks without a hole, is written with its ids as ranks.

    Args:
        tokenizer: a tokenizer by ranks.
        engine: its engine.
        ids: entries to take out.
    """
    before = engine.encoding
    ranks: dict[bytes, int] = before._mergeable_ranks  # noqa: SLF001 tiktoken offers no public table
    pieces = tokenizer.inventory.pieces
    gone = {pieces[token] for token in ids}
    kept = {piece: rank for piece, rank in ranks.items() if piece not in gone}
    special = before._special_tokens  # noqa: SLF001 likewise
    name, pattern = tokenizer.name, before._pat_str  # noqa: SLF001 likewise
    with upstream(f"{name} must still be an encoding without these entries"):
        after = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=kept, special_tokens=special)
    source = tokenizer.inventory.source
    made = tiktoken_.from_encoding(after, name, f"{source} without {len(ids)} entries")
    made = replace(made, inventory=replace(made.inventory, rows=tokenizer.inventory.rows))
    known = sorted(tiktoken.list_encoding_names())
    short = next((each for each in known if tiktoken_.published(each)["pattern"] == pattern), None)
    return Edited(
        made,
        lambda others: _structure(ranks, kept, pieces, np.array(ids, np.int32), others),
        ".tiktoken",
        lambda: serialised(kept),
        lambda path: f"{path}#pattern={short or pattern}",
        lambda path: _read(path, name, pattern),
        "tiktoken",
        notes=(NOTE,),
    )


def _structure(
    ranks: Mapping[bytes, int],
    kept: Mapping[bytes, int],
    pieces: Sequence[bytes],
    gone: NDArray[np.int32],
    others: NDArray[np.int32],
) -> Structure:
    removed = set(gone.tolist())
    before, after, broken = [], [], []
    for token in others.tolist():
        pair = split(ranks, pieces[token])
        before.append(pair is not None)
        after.append(builds(kept, pieces[token]))
        if pair and not removed.isdisjoint(parts := (ranks[pair[0]], ranks[pair[1]])):
            broken.append((*parts, token))
    pairs = ((token, split(ranks, pieces[token])) for token in gone.tolist())
    broken += [(ranks[pair[0]], ranks[pair[1]], token) for token, pair in pairs if pair]
    rows = np.array(sorted(broken, key=lambda row: row[2]), np.int32).reshape(-1, 3)
    return Structure(np.array(before, bool), np.array(after, bool), rows)


def serialised(ranks: Mapping[bytes, int]) -> bytes:
    """The content of a rank file, in order of rank."""
    rows = sorted(ranks.items(), key=lambda item: item[1])
    return b"".join(b"%s %d\n" % (base64.b64encode(piece), rank) for piece, rank in rows)


def _read(path: Path, name: str, pattern: str) -> Read:
    from tiktoken.load import load_tiktoken_bpe

    encoding = tiktoken.Encoding(
        name, pat_str=pattern, mergeable_ranks=load_tiktoken_bpe(str(path)), special_tokens={}
    )
    return lambda texts: [encoding.encode_ordinary(text) for text in texts]
