"""What stands around a hit: its kin, the longest entries, the pieces of Han entries, the lists' words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import regex

from workbench.characters import Characters
from workbench.termlists import folding
from workbench.termlists.matching import SOUGHT

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from workbench.inventory import Inventory
    from workbench.termlists import TermLists
    from workbench.tokenizer import Tokenizer

STATUSES = ("single", "several", "not_coverable")
"""A list word as one token, as several, and with a part that the inventory cannot spell."""

SUFFIX = 4
"""Characters of the longest ending that makes kin."""
STEM = 4
"""Characters of the shortest stem, so that three letters do not make kin of half a vocabulary."""
PRODUCTIVE = 20
"""Pairs of entries that an ending must part for it to count as one."""
HAN_LONG = 3
"""Characters of Unicode's script Han (``\\p{Han}``) from which an entry counts as a long one."""

_HAN = regex.compile(r"\p{Han}+")


def searched(inventory: Inventory) -> pl.DataFrame:
    """Entries searched: token_id, bytes, text, and ``bare``, the key less what stands around its letters."""
    entries = (
        inventory.frame.select("bytes", "kind", pl.col("id").alias("token_id"))
        .with_columns(text=inventory.texts)
        .filter(pl.col("kind").is_in(SOUGHT) & pl.col("text").is_not_null())
    )
    bare = folding.keys(entries["text"]).str.replace_all(r"^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$", "")
    return entries.select("token_id", "bytes", "text", bare.alias("bare"))


def variants(entries: pl.DataFrame) -> pl.DataFrame:
    """How many entries are alike but for case, width and what stands around: token_id, variants."""
    some = entries.filter(pl.col("bare") != "")
    return some.select("token_id", variants=pl.len().over("bare").cast(pl.Int64))


def kin(entries: pl.DataFrame, hits: pl.DataFrame) -> pl.DataFrame:
    """Entries that are a hit's word with an ending, where the ending is one of the inventory's own.

    An ending is a stretch of up to ``SUFFIX`` letters that parts at least ``PRODUCTIVE`` pairs of entries.
    Nothing here is a hit: it is what a reader of the hits may want to see.

    Args:
        entries: as ``searched`` gives them.
        hits: as ``matching.match`` gives them; shapes have no kin.

    Returns:
        token_id, bytes, of (the hit's id), ending.
    """
    words = entries.filter(pl.col("bare").str.contains(r"^\p{L}{4,}$"))
    known = words.select(stem="bare").unique()
    parted = pl.concat([
        words.select(
            "token_id", "bytes", stem=pl.col("bare").str.head(-size), ending=pl.col("bare").str.tail(size)
        ).filter(pl.col("stem").str.len_chars() >= STEM)
        for size in range(1, SUFFIX + 1)
    ])  # fmt: skip
    pairs = parted.join(known, on="stem")
    often = (
        pairs.group_by("ending").agg(pl.col("stem").n_unique().alias("n")).filter(pl.col("n") >= PRODUCTIVE)
    )
    stems = (
        hits.filter(pl.col("via") != "shape").select(of="token_id").unique()
        .join(entries.select(of="token_id", stem="bare"), on="of").sort("of").unique("stem", keep="first")
    )  # fmt: skip
    found = pairs.join(often, on="ending", how="semi").join(stems, on="stem")
    fresh = found.join(hits.select("token_id").unique(), on="token_id", how="anti")
    return fresh.select("token_id", "bytes", "of", "ending").sort("of", "token_id")


def longest(entries: pl.DataFrame, hits: pl.DataFrame, top: int) -> pl.DataFrame:
    """The longest entries of each script: script, token_id, bytes, characters, hit."""
    characters = Characters.of(entries["text"])
    script, _ = characters.script_of()
    sized = entries.select("token_id", "bytes").with_columns(
        script.cast(pl.String), characters=pl.Series(characters.sizes),
        hit=pl.col("token_id").is_in(hits["token_id"].unique().to_list()),
    )  # fmt: skip
    ordered = sized.sort("script", "characters", "token_id", descending=[False, True, False])
    kept = ordered.group_by("script", maintain_order=True).head(top)
    return kept.select("script", "token_id", "bytes", "characters", "hit")


def long_han(entries: pl.DataFrame) -> pl.DataFrame:
    """Entries with at least ``HAN_LONG`` Han characters."""
    return entries.filter(pl.col("text").str.count_matches(r"\p{Han}") >= HAN_LONG)


def han_pieces(entries: pl.DataFrame, hits: pl.DataFrame) -> pl.DataFrame:
    """The pieces of long Han entries, ranked: piece, entries, hits, share.

    An entry is cut from the left into the longest shorter entries of Han alone, of two characters at least;
    single characters between them are not counted. This is counting, with no dictionary.
    """
    pure = entries.filter(pl.col("bare").str.contains(r"^\p{Han}{2,}$"))["bare"]
    known = set(pure.to_list())
    long = long_han(entries)
    hit = set(hits["token_id"].to_list())
    times: Counter[str] = Counter()
    flagged: Counter[str] = Counter()
    for token_id, bare in long.select("token_id", "bare").iter_rows():
        pieces = {piece for run in _HAN.findall(bare) for piece in cut(run, known)}
        times.update(pieces)
        if token_id in hit:
            flagged.update(pieces)
    rows = [(piece, times[piece], flagged[piece], flagged[piece] / times[piece]) for piece in times]
    schema = {"piece": pl.String, "entries": pl.Int64, "hits": pl.Int64, "share": pl.Float64}
    return pl.DataFrame(rows, schema, orient="row").sort("entries", "piece", descending=[True, False])


def cut(run: str, known: AbstractSet[str]) -> list[str]:
    """The known pieces of a run, longest first from the left, none as long as the run itself."""
    found, here = [], 0
    while here < len(run):
        longest_end = min(len(run), here + len(run) - 1)
        end = next((end for end in range(longest_end, here + 1, -1) if run[here:end] in known), None)
        if end is None:
            here += 1
            continue
        found.append(run[here:end])
        here = end
    return found


def words(tokenizer: Tokenizer, lists: TermLists) -> pl.DataFrame:
    """What each word of the lists costs: a word of several tokens is composed, and not absent.

    A word is tried as it stands and after a space, and the fewer tokens count. Phrases that are sought inside
    entries are no words, and are left out.

    Returns:
        list, term, category, group, language, tokens, status (of ``STATUSES``).
    """
    kept = lists.terms.filter(pl.col("mode") == "word").with_columns(pl.col("category").cast(pl.String))
    texts = kept["term"].to_list()
    bare, spaced = _cost(tokenizer, texts), _cost(tokenizer, [f" {text}" for text in texts])
    tokens = np.minimum(bare[0], spaced[0])
    lost = bare[1] & spaced[1]
    status = np.where(lost, STATUSES[2], np.where(tokens <= 1, STATUSES[0], STATUSES[1]))
    return kept.select("list", "term", "category", "group", "language").with_columns(
        tokens=pl.when(pl.Series(lost)).then(None).otherwise(pl.Series(tokens, dtype=pl.Int64)),
        status=pl.Series(status.tolist(), dtype=pl.Enum(STATUSES)),
    )


def _cost(tokenizer: Tokenizer, texts: list[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Tokens of each text, and whether one of them stands for text that cannot be spelled."""
    if not texts:
        return np.zeros(0, np.int64), np.zeros(0, np.bool_)
    encoded = tokenizer.encode_batch(texts)
    sizes = np.diff(encoded.offsets)
    unknown = np.concatenate([[0], np.cumsum(np.isin(encoded.ids, [*tokenizer.unknown]))])
    lost = unknown[encoded.offsets[1:]] > unknown[encoded.offsets[:-1]]
    return sizes, lost | (sizes == 0)
