"""Which entries of an inventory hold a term of a list: one pass over the vocabulary, however long the lists.

The keys of all entries stand end to end in one text, and an Aho-Corasick automaton of all terms runs over it
once. What it finds is a hit only where it stands right:

``word``
    after a boundary that the entry holds (its space, another sign), or in an entry that begins a word, and
    before the entry's end or a sign; a term of a script without spaces, where it is the whole entry.
``fragment``
    the same, but the entry has nothing before it, so that it may continue a word.
``contains``
    inside an entry, for terms of scripts without spaces and for shapes. Han terms of two characters and more
    count wherever they stand, kana where the run of that script begins and ends, others from three letters.

A term inside a longer word of a script with spaces is no hit. Letters and digits make words; all else bounds
them.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from workbench.termlists import folding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.inventory import Inventory
    from workbench.termlists.terms import TermLists

SOUGHT = ("piece", "added")
"""Kinds of entries that are searched: those that text of their bytes can lead to."""

KINDS = ("word", "fragment", "contains")
VIAS = ("spelling", "look-alike", "leetspeak", "shape")
"""How a term was met: in the entry's own letters, in letters that look like them, in digits and signs for
letters; or the shape of an entry that a pattern describes."""

HITS = pl.Schema(
    {
        "token_id": pl.Int32(), "token": pl.Binary(), "rank": pl.Int32(), "list": pl.String(),
        "category": pl.String(), "group": pl.String(), "language": pl.String(), "severity": pl.String(),
        "kind": pl.Enum(KINDS), "via": pl.Enum(VIAS), "term": pl.String(), "evidence": pl.String(),
        "twin": pl.String(), "twin_id": pl.Int32(),
    }
)  # fmt: skip
"""One row an entry, list, category, group and term. ``twin_id`` is the entry of the neutral twin, written
with the same space before it, where the inventory has one."""

_EDGE, _NO_CHARACTER = "\U0010ffff", "\U0010fffe"
"""What stands between entries, and what stands for it inside one: two code points that no text may use."""

_CLASSES = (
    ("word", r"[\p{L}\p{M}\p{N}]"),
    ("han", r"\p{Han}"),
    ("hiragana", r"\p{Hiragana}"),
    ("katakana", r"[\p{Katakana}ー]"),
    ("unspaced", rf"[{folding.UNSPACED_CLASS}]"),
)


def match(inventory: Inventory, lists: TermLists, *, leet: bool = False) -> pl.DataFrame:
    """All hits of some lists among an inventory's entries.

    Args:
        inventory: the inventory; entries that are not UTF-8 are not searched.
        lists: the lists.
        leet: read digits and signs between letters as letters too.

    Returns:
        Hits, columns as in ``HITS``, in order of id, the gravest of an entry first.
    """
    entries = (
        inventory.frame.select("id", "bytes", "rank", "kind", "position")
        .with_columns(text=inventory.texts)
        .filter(pl.col("kind").is_in(SOUGHT) & pl.col("text").is_not_null() & (pl.col("text") != ""))
    )
    found = [_terms(entries, lists.terms, leet=leet), _shapes(entries, lists.patterns)]
    return _described(pl.concat(found), entries, inventory)


_RAW = pl.Schema(
    {
        "entry": pl.Int64(), "list": pl.String(), "category": pl.String(), "group": pl.String(),
        "language": pl.String(), "severity": pl.String(), "kind": pl.String(), "via": pl.String(),
        "term": pl.String(), "key": pl.String(), "twin": pl.String(),
    }
)  # fmt: skip


def _haystack(entries: pl.DataFrame, *, leet: bool) -> pl.DataFrame:
    """Every text to search, with the place of its entry and how it was come by."""
    folded = folding.keys(entries["text"])
    places = pl.int_range(len(folded), eager=True).cast(pl.Int64)
    parts = [(places, folded, "spelling")]
    for on, read, via in ((True, folding.lookalikes, "look-alike"), (leet, folding.unleeted, "leetspeak")):
        if on:
            rows, made = read(folded)
            parts.append((places.gather(rows), made, via))
    return pl.concat([
        pl.DataFrame({"entry": rows, "text": made}).with_columns(via=pl.lit(via)) for rows, made, via in parts
    ])  # fmt: skip


def _terms(entries: pl.DataFrame, terms: pl.DataFrame, *, leet: bool) -> pl.DataFrame:
    """Hits of terms, by one automaton over one text."""
    if not entries.height or not terms.height:
        return _RAW.to_frame()
    hay = _haystack(entries, leet=leet)
    keyed = terms.select("key").unique(maintain_order=True).with_row_index("number")
    text = _EDGE + _EDGE.join(hay["text"].str.replace_all(_EDGE, _NO_CHARACTER).to_list()) + _EDGE
    first, last, number = occurrences(text, keyed["key"].to_list())
    kinds = _kinds(text, first, last, entries["position"].to_numpy(), hay)
    sizes = hay["text"].str.len_chars().to_numpy().astype(np.int64) + 1
    place = np.searchsorted(np.cumsum(sizes), first - 1, side="right")
    raw = pl.DataFrame({"place": place, "number": number, "contains_kind": kinds[1], "word_kind": kinds[0]})
    rows = (
        hay.with_row_index("place")
        .with_columns(pl.col("place").cast(pl.Int64))
        .select("place", "entry", "via")
    )
    typed = raw.with_columns(pl.col("place").cast(pl.Int64), pl.col("number").cast(pl.UInt32))
    joined = (
        typed.filter((pl.col("word_kind") > 0) | (pl.col("contains_kind") > 0))
        .join(rows, on="place").join(keyed, on="number").join(terms, on="key")
    )  # fmt: skip
    return _judged(joined)


def occurrences(text: str, keys: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Every place where a key stands in a text.

    Args:
        text: the text.
        keys: distinct keys, none empty.

    Returns:
        Offset of the first character, offset after the last, and number of the key, of each occurrence.
    """
    import ahocorasick  # noqa: PLC0415 a pass that has no terms does without it

    automaton = ahocorasick.Automaton()
    for number, key in enumerate(keys):
        automaton.add_word(key, number)
    automaton.make_automaton()
    listed = np.fromiter(chain.from_iterable(automaton.iter(text)), np.int64)
    found: NDArray[np.int64] = listed.reshape(-1, 2)
    sizes = np.fromiter(map(len, keys), np.int64, len(keys))
    last = found[:, 0] + 1
    return last - sizes[found[:, 1]], last, found[:, 1]


def _of_class(points: NDArray[np.uint32], pattern: str) -> NDArray[np.bool_]:
    """Whether each character is of a class, asked once of each distinct one."""
    distinct, places = np.unique(points, return_inverse=True)
    asked = pl.Series([chr(point) for point in distinct.tolist()], dtype=pl.String).str.contains(pattern)
    found: NDArray[np.bool_] = asked.to_numpy()[places]
    return found


_WORD, _FRAGMENT, _CONTAINS = 1, 2, 3


def _kinds(
    text: str,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    positions: NDArray[np.object_],
    hay: pl.DataFrame,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What each occurrence is in a script with spaces, and in one without; 0 for nothing."""
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    edge = points == ord(_EDGE)
    before, after = first - 1, last
    is_of = {name: _of_class(points, pattern) for name, pattern in _CLASSES}
    place = np.cumsum(edge)[before] - 1
    position = positions[hay["entry"].to_numpy()[place]]
    opens = edge[before] & (position == "initial")
    bounded_left = ~is_of["word"][before] & ~edge[before]
    bounded_right = ~is_of["word"][after]
    # A sign at either end of a term, as in #zork, bounds it by itself.
    bounded_left |= ~is_of["word"][first] & ~edge[before]
    bounded_right |= ~is_of["word"][last - 1]
    # A script with spaces meets one without: a Latin word in a Chinese sentence is bounded by it.
    bounded_left |= is_of["unspaced"][before] & ~is_of["unspaced"][first]
    bounded_right |= is_of["unspaced"][after] & ~is_of["unspaced"][last - 1]
    spaced = np.where(bounded_right & (bounded_left | opens), _WORD, 0)
    spaced = np.where(bounded_right & edge[before] & ~opens, _FRAGMENT, spaced)
    return spaced, _unspaced_kinds(points, first, last, is_of, edge)


def _unspaced_kinds(
    points: NDArray[np.uint32],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    is_of: dict[str, NDArray[np.bool_]],
    edge: NDArray[np.bool_],
) -> NDArray[np.int64]:
    before, after = first - 1, last
    size = last - first
    space = (points == 0x20) & ~edge
    whole = (edge[before] | (space[before] & edge[np.maximum(before - 1, 0)])) & (
        edge[after] | (space[after] & edge[np.minimum(after + 1, len(edge) - 1)])
    )
    within = np.ones(len(first), np.bool_)
    for script in ("hiragana", "katakana"):
        within &= ~(is_of[script][first] & is_of[script][before])
        within &= ~(is_of[script][last - 1] & is_of[script][after])
    native = is_of["han"][first] | is_of["hiragana"][first] | is_of["katakana"][first]
    long_enough = size >= np.where(native, 2, 3)
    return np.where(whole, _WORD, np.where(within & long_enough, _CONTAINS, 0))


def _judged(joined: pl.DataFrame) -> pl.DataFrame:
    """Occurrences as hits, each term once an entry, in its best kind."""
    unspaced = pl.col("key").str.contains(rf"[{folding.UNSPACED_CLASS}]")
    kind = pl.when(unspaced | (pl.col("mode") == "contains")).then("contains_kind").otherwise("word_kind")
    names = {_WORD: "word", _FRAGMENT: "fragment", _CONTAINS: "contains"}
    order = pl.col("via").replace_strict(
        {name: place for place, name in enumerate(VIAS)}, return_dtype=pl.Int64
    )
    kept = joined.with_columns(kind=kind).filter(pl.col("kind") > 0).sort(order, "kind", maintain_order=True)
    once = kept.unique(
        ["entry", "list", "category", "group", "language", "key"], keep="first", maintain_order=True
    )
    named = once.with_columns(pl.col("kind").replace_strict(names, return_dtype=pl.String))
    return named.select([pl.col(name).cast(kind) for name, kind in _RAW.items()])


def _shapes(entries: pl.DataFrame, patterns: pl.DataFrame) -> pl.DataFrame:
    """Hits of shapes: each pattern over the column of texts, in Polars; there are some dozens of them."""
    found = [_RAW.to_frame()]
    text = entries.select("text").with_row_index("entry")
    for row in patterns.iter_rows(named=True):
        rows = text.filter(pl.col("text").str.contains(row["pattern"]))
        if row["unless"]:
            rows = rows.filter(~pl.col("text").str.contains(row["unless"]))
        made = {"list": row["list"], "category": row["category"], "group": row["family"],
                "language": row["language"], "severity": row["severity"], "kind": "contains", "via": "shape",
                "term": row["family"], "key": row["family"], "twin": None}  # fmt: skip
        named = rows.with_columns(pl.lit(value, pl.String).alias(name) for name, value in made.items())
        found.append(named.select([pl.col(name).cast(kind) for name, kind in _RAW.items()]))
    keys = ["entry", "list", "category", "group"]
    return pl.concat(found).unique(keys, keep="first", maintain_order=True)


def _described(raw: pl.DataFrame, entries: pl.DataFrame, inventory: Inventory) -> pl.DataFrame:
    about = entries.with_row_index("entry").select(
        pl.col("entry").cast(pl.Int64),
        "text",
        pl.col("id").alias("token_id"),
        pl.col("bytes").alias("token"),
        "rank",
    )
    shape = pl.concat_str(pl.lit("shape: "), "term")
    spelled = pl.concat_str("term", pl.lit(" ("), "kind", pl.lit(", by "), "via", pl.lit(")"))
    grave = pl.col("severity").replace_strict({"strong": 0, "moderate": 1, "mild": 2}, return_dtype=pl.Int64)
    hits = raw.join(about, on="entry", maintain_order="left").with_columns(
        evidence=pl.when(pl.col("via") == "shape").then(shape).otherwise(spelled)
    )
    hits = _twinned(hits, inventory).sort(
        "token_id", grave, "list", "category", "group", "term", "language", nulls_last=True
    )
    return hits.select([pl.col(name).cast(kind) for name, kind in HITS.items()])


def _twinned(hits: pl.DataFrame, inventory: Inventory) -> pl.DataFrame:
    """The entry of each hit's neutral twin, with a space before it where the hit has one."""
    space = pl.when(pl.col("text").str.starts_with(" ")).then(pl.lit(" ")).otherwise(pl.lit(""))
    sought = hits.with_columns(twin_text=pl.concat_str(space, "twin"))
    known = inventory.frame.select(twin_id="id").with_columns(twin_text=inventory.texts)
    wanted = known.filter(pl.col("twin_text").is_in(sought["twin_text"].drop_nulls().unique().to_list()))
    first = wanted.unique("twin_text", keep="first", maintain_order=True)
    return sought.join(first, on="twin_text", how="left", maintain_order="left")
