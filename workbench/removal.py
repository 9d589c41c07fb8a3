"""What a tokenizer loses when some of its entries are taken out, worked out without touching its file.

Only what can change is looked at. Let a text be encoded without any removed entry among its tokens or on the
way to them. Then each choice that was made is still there, and the best of many is the best of fewer, so its
tokens stay. This holds for BPE (the lowest merge first), WordPiece (the longest entry first) and Unigram (the
best sum), each with its ties. An entry has a removed one on its way only if its bytes hold that one's. So

1. the entries that may be lost or won are those that hold the bytes of a removed one, and
2. the texts that may be cut otherwise are those with a removed entry, such an entry, or an unknown token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from workbench.adapters.editing import edit, kept_in
from workbench.errors import SutureError
from workbench.inventory import KINDS
from workbench.runs import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from workbench.adapters.editing import Edited, Mode
    from workbench.corpora import Corpus
    from workbench.inventory import Inventory
    from workbench.tokenizer import Encoded, Tokenizer

    Ids = NDArray[np.int32]

MODES = ("drop", "mask")
WHY = {
    "special": "is a special token, which no text gives",
    "added": "is an added token, which is found before the model; take it out of the file's added tokens",
    "byte": "stands for a byte, without which not every text can be spelled",
    "unused": "is reserved, and no text gives it",
    "gap": "is a hole",
}
"""Why an entry of a kind cannot be taken out."""

COST = pl.Schema(
    {
        "language": pl.String(),
        **dict.fromkeys(
            (
                "documents",
                "changed",
                "bytes",
                "tokens_before",
                "tokens_after",
                "unknown_before",
                "unknown_after",
            ),
            pl.Int64(),
        ),
    }
)
"""One row a language; ``changed`` are documents whose tokens differ, ``unknown_…`` tokens for text without an
entry."""


@dataclass(frozen=True, eq=False)
class Removal:
    """A tokenizer before and after.

    Attributes:
        before: the tokenizer as it is.
        edited: the one without the entries, and its file.
        ids: the entries taken out, rising (entries,).
        mode: ``drop`` or ``mask``.
        holders: entries whose bytes hold those of a removed one, rising; all that may be lost or won.
        broken: merges that make or use a removed entry: left, right, result (merges, 3).
        lost: entries that were built of their bytes and are no longer (n,).
        won: entries that were not, and are now (n,).
        whole: those of ``lost`` that a text still gives, where one spells a whole pre-token (n,).
    """

    before: Tokenizer
    edited: Edited
    ids: Ids
    mode: str
    holders: Ids
    broken: Ids
    lost: Ids
    won: Ids
    whole: Ids

    @property
    def after(self) -> Tokenizer:
        """The tokenizer without the entries."""
        return self.edited.tokenizer

    @property
    def idle(self) -> Ids:
        """Rows of the embedding matrix that no text leads to any more, rising."""
        return np.union1d(self.ids, np.setdiff1d(self.lost, self.whole)).astype(np.int32)

    def touched(self, encoded: Encoded) -> NDArray[np.bool_]:
        """Which texts may be cut otherwise than before (texts,)."""
        if self.edited.everywhere:
            return np.ones(len(encoded.offsets) - 1, bool)
        flags = np.zeros(self.before.inventory.rows_needed, bool)
        flags[[*self.ids, *self.holders, *self.before.unknown]] = True
        sums = np.concatenate([[0], np.cumsum(flags[encoded.ids])])
        found: NDArray[np.bool_] = sums[encoded.offsets[1:]] > sums[encoded.offsets[:-1]]
        return found


def simulate(tokenizer: Tokenizer, ids: Iterable[int], mode: Mode = "drop") -> Removal:
    """Takes entries out of a tokenizer, in memory.

    Args:
        tokenizer: as ``load`` gives it; it stays as it is.
        ids: entries to take out.
        mode: ``drop`` takes them out of the file and leaves holes; ``mask`` keeps their places, but no text
            gives them. Either way every other entry keeps its id.

    Raises:
        SutureError: an id is none, repeats or cannot be taken out, or the format cannot lose entries so.
    """
    if mode not in MODES:
        raise SutureError(f"a mode must be 'drop' or 'mask'; got {mode!r}; name one of them")
    wanted = _removable(tokenizer, list(ids))
    edited = edit(tokenizer, wanted.tolist(), mode)
    holders = holding(tokenizer.inventory, wanted)
    found = edited.structure(holders)
    lost = holders[found.before & ~found.after]
    return Removal(
        tokenizer,
        edited,
        wanted,
        mode,
        holders,
        found.broken,
        lost,
        holders[~found.before & found.after],
        _whole(edited.tokenizer, lost),
    )


def holding(inventory: Inventory, ids: Ids) -> Ids:
    """Other learned entries whose bytes hold the bytes of one of these, or maybe do, rising.

    Bytes are looked for as pairs of hexadecimal digits, all in one pass (Aho–Corasick); a match that begins
    inside a byte brings in an entry too many, never one too few.
    """
    spelled = inventory.frame.select("id", "kind", hex=pl.col("bytes").bin.encode("hex"))
    wanted = spelled["hex"].gather(ids).to_list()
    rest = spelled.filter(pl.col("kind") == "piece", ~pl.col("id").is_in(ids.tolist()))
    return rest.filter(pl.col("hex").str.contains_any(wanted))["id"].to_numpy()


def _removable(tokenizer: Tokenizer, ids: Sequence[Any]) -> Ids:
    """The ids as an array in rising order, if all of them can be taken out."""
    inventory = tokenizer.inventory
    if not ids:
        raise SutureError("at least one entry must be named to take out; got none; name ids")
    size = inventory.rows_needed
    for token in ids:
        if isinstance(token, bool) or not isinstance(token, (int, np.integer)) or not 0 <= token < size:
            raise SutureError(
                f"an id of {tokenizer.name} must be a whole number in 0..{size - 1}; got {token!r}; "
                "correct it"
            )
    wanted, times = np.unique(np.array(ids, np.int64), return_counts=True)
    if times.max() > 1:
        raise SutureError(
            f"each entry must be named once; got {wanted[times.argmax()]} {times.max()} times; name it once"
        )
    for token in wanted.tolist():
        if reason := _held(tokenizer, token):
            raise SutureError(
                f"an entry to take out must be one that {tokenizer.name} learned and can do without; {token} "
                f"{reason}; leave it out"
            )
    return wanted.astype(np.int32)


def flagged(tokenizer: Tokenizer, folder: Path) -> list[int]:
    """Entries of a tokenizer that a run flags, rising.

    Raises:
        SutureError: the folder is no run, the run is of other tokenizers, or flags no entry of this one.
    """
    run = Run.open(folder)
    digest = tokenizer.inventory.digest
    cards = run.manifest.get("subjects") or []
    names = [card.get("name") for card in cards if isinstance(card, dict) and card.get("digest") == digest]
    if not names:
        raise SutureError(
            f"a run must be of the tokenizer; {folder} has none of {tokenizer.name}'s digest; audit it first"
        )
    found = run.findings().filter(
        pl.col("subject").is_in(names), pl.col("severity") == "flag", pl.col("token_id").is_not_null()
    )
    if found.is_empty():
        raise SutureError(
            f"a run must flag entries; {folder} flags none of {tokenizer.name}; name entries with --ids"
        )
    return found["token_id"].unique().sort().to_list()


def removable(tokenizer: Tokenizer, ids: Sequence[int], mode: Mode) -> tuple[list[int], dict[int, str]]:
    """Of these entries, those that can be taken out, and why the others cannot."""
    refused = kept_in(tokenizer, ids, mode) | {
        token: why for token in ids if (why := _held(tokenizer, token))
    }
    return [token for token in ids if token not in refused], refused


def _held(tokenizer: Tokenizer, token: int) -> str | None:
    inventory = tokenizer.inventory
    kind = KINDS[inventory.kinds[token]]
    if token in tokenizer.unknown:
        return "stands for text without an entry"
    if kind == "piece" and tokenizer.pipeline.byte_level and inventory.lengths[token] == 1:
        kind = "byte"
    return WHY.get(kind)


def _whole(after: Tokenizer, lost: Ids) -> Ids:
    """Of entries that nothing builds, those that their own text gives, being a whole pre-token."""
    if not after.pipeline.ignore_merges or not len(lost):
        return np.empty(0, np.int32)
    texts = after.inventory.texts.gather(lost)
    told = lost[texts.is_not_null().to_numpy()]
    encoded = after.encode_batch(texts.drop_nulls().to_list())
    single = np.diff(encoded.offsets) == 1
    found: Ids = told[single][encoded.ids[encoded.offsets[:-1][single]] == told[single]]
    return found


def recost(
    removal: Removal, corpus: Corpus, *, progress: Callable[[int], None] | None = None
) -> pl.DataFrame:
    """What a corpus costs before and after, by language.

    Each text is encoded once, and once more only where its tokens can change.

    Args:
        removal: what is taken out.
        corpus: the texts.
        progress: told of the bytes of text that were done.

    Returns:
        A table with the columns of ``COST``.

    Raises:
        SutureError: the corpus cannot be read.
    """
    rows: list[dict[str, Any]] = []
    for batch in corpus.batches():
        rows.append({"language": batch.language or "unknown", **_batch(removal, batch.texts)})
        if progress is not None:
            progress(rows[-1]["bytes"])
    numbers = [name for name in COST if name != "language"]
    return pl.DataFrame(rows, schema=COST).group_by("language").agg(pl.col(numbers).sum()).sort("language")


def _batch(removal: Removal, texts: list[str]) -> dict[str, int]:
    before = removal.before.encode_batch(texts)
    places = np.flatnonzero(removal.touched(before)).tolist()
    after = removal.after.encode_batch([texts[place] for place in places])
    old = [before.row(place) for place in places]
    new = [after.row(index) for index in range(len(places))]
    unknown = [*removal.before.unknown]
    lost = sum(map(len, old))
    return {
        "documents": len(texts),
        "changed": sum(not np.array_equal(one, two) for one, two in zip(old, new, strict=True)),
        "bytes": sum(len(text.encode()) for text in texts),
        "tokens_before": len(before.ids),
        "tokens_after": len(before.ids) - lost + len(after.ids),
        "unknown_before": int(np.isin(before.ids, unknown).sum()),
        "unknown_after": int(np.isin(before.ids, unknown).sum())
        - sum(int(np.isin(row, unknown).sum()) for row in old)
        + int(np.isin(after.ids, unknown).sum()),
    }
