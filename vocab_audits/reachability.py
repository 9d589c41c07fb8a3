"""Reachability: can any text lead to this entry, and if none was found, what stands in the way?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from vocab_audits.census import RESERVED
from vocab_audits.partial import TRIES, completions
from workbench.audit import Outcome, audit
from workbench.findings import Finding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.tokenizer import Tokenizer

CLASSES = (
    "ok",
    "context_only",
    "pretok_blocked",
    "normalizer_blocked",
    "merge_blocked",
    "not_utf8_alone",
    "special",
    "gap",
)
"""``ok``: the entry's own text is encoded as it. ``context_only``: a longer text holds it.
``not_utf8_alone``: its bytes are no text, so only a neighbour can complete them; with a witness where
one was found. The three ``…_blocked`` classes say what changes or cuts the entry's text in every
context tried; ``special`` entries are not reached from text by design."""

BEFORE = (
    "a", "1", ".", " ", "\n", "e", "x", "A", "un", "re", "s", "the", "0", "-", "/", "\u00a7", "\u2021",
    "\u0438", "\u03b1", "\u4e2d", "\uac00", "\u304b", "\u0627",
)  # fmt: skip
AFTER = ("a", "A", "1", " ", ".", "s", "S", "\n", "\u0301", "!", "*", ")", "x", "\u2021")

WORDS = 120
"""Short words of the inventory itself that are tried as left contexts for what is left over."""

CROSS_LIMIT = 256
"""Entries left over up to which contexts on both sides at once are tried."""

BATCH = 8_192
"""Texts encoded at a time, which bounds memory."""


@dataclass
class Search:
    """What is still open, and what led to what is settled.

    Attributes:
        tokenizer: the tokenizer.
        ids: open ids (open,).
        texts: their texts (open,).
        found: the text in which an id appeared beside others.
        alone: ids whose own text was encoded as them alone; then, where the tokenizer puts a space
            before a text, those for which that held without their leading space.
    """

    tokenizer: Tokenizer
    ids: NDArray[np.int32]
    texts: pl.Series
    found: dict[int, str] = field(default_factory=dict)
    alone: list[NDArray[np.int32]] = field(default_factory=list)

    def attempt(self, before: str = "", after: str = "", *, alone: bool = False, bare: bool = False) -> None:
        """Encodes every open entry's text in one context and closes those that appear.

        Args:
            before: text put before.
            after: text put after.
            alone: ask that the entry be the only token.
            bare: leave out an entry's leading space, which the tokenizer puts there itself.
        """
        if self.texts.is_empty():
            return
        trial = self.texts.str.strip_prefix(" ") if bare else self.texts
        if before or after:
            trial = before + trial + after
        hit = appears(self.tokenizer, trial, self.ids, alone=alone)
        if alone:
            self.alone.append(self.ids[hit])
        else:
            self.found.update({int(self.ids[k]): trial[k] for k in np.flatnonzero(hit).tolist()})
        self.keep(~hit)

    def keep(self, open_: NDArray[np.bool_]) -> None:
        """Narrows the search to some of its entries."""
        if not open_.all():
            self.ids = self.ids[open_]
            self.texts = self.texts.filter(pl.Series(open_))


def appears(
    tokenizer: Tokenizer, trial: pl.Series, wanted: NDArray[np.int32], *, alone: bool = False
) -> NDArray[np.bool_]:
    """Whether each text's ids hold the wanted one, or are it alone.

    Args:
        tokenizer: the tokenizer.
        trial: texts.
        wanted: one id a text.
        alone: ask that it be the only token.
    """
    hits = [np.empty(0, np.bool_)]
    for start in range(0, len(trial), BATCH):
        ids, offsets = tokenizer.encode_batch(trial[start : start + BATCH].to_list())
        sizes = np.diff(offsets)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        equal = ids == wanted[start : start + BATCH][owner]
        hit = np.bincount(owner[equal], minlength=len(sizes)) > 0
        hits.append(hit & (sizes == 1) if alone else hit)
    return np.concatenate(hits)


@audit("Reachability of entries")
def reachability(tokenizer: Tokenizer, *, listed: int = 200) -> Outcome:
    """Class of every entry, with a witness text wherever one was found.

    The test is a search: an entry is encoded alone, then in left and right contexts, then after words
    of the inventory. It goes beyond encoding what was decoded, which condemns pieces that continue a
    word, partial characters, and entries that only a longer pre-token holds.

    Args:
        tokenizer: the tokenizer.
        listed: how many unreached entries to list as findings.

    Returns:
        Counts and the unreached entries as findings; table ``reachability`` with one row an id.
    """
    table = classify(tokenizer)
    name = tokenizer.name
    counts = dict(table["class"].cast(pl.String).value_counts().iter_rows())
    witnessed = table.filter((pl.col("class") == "not_utf8_alone") & pl.col("witness").is_not_null()).height
    found = [
        Finding(name, "reachability", f"class.{key}", float(counts.get(key, 0)), unit="entries")
        for key in CLASSES
    ]
    found.append(
        Finding(
            name,
            "reachability",
            "not_utf8_witnessed",
            float(witnessed),
            unit="entries",
            note="entries that are no text alone for which a text was found; the search is not exhaustive",
        )
    )
    blocked = table.with_columns(kind=tokenizer.inventory.frame["kind"], text=tokenizer.inventory.texts)
    expected = (pl.col("kind") == "byte") | pl.col("text").str.contains(RESERVED).fill_null(value=False)
    blocked = blocked.filter(pl.col("class").cast(pl.String).str.ends_with("_blocked"))
    found.append(
        Finding(
            name,
            "reachability",
            "blocked_by_design",
            float(blocked.filter(expected).height),
            unit="entries",
            note="of the blocked ones: reserved slots, and byte entries whose byte a piece spells",
        )
    )
    found += [
        Finding(
            name,
            "reachability",
            row["class"],
            None,
            severity="warn",
            token_id=row["token_id"],
            token=row["bytes"],
            evidence=row["reason"],
        )
        for row in blocked.filter(~expected).head(listed).iter_rows(named=True)
    ]
    return Outcome(found, {"reachability": table.with_columns(subject=pl.lit(name))})


def classify(tokenizer: Tokenizer) -> pl.DataFrame:
    """One row an id: ``class``, ``witness`` (a text that leads to it, or null), ``reason``.

    A witness of an ``ok`` entry is its own text. No witness is given where the reason forbids one.
    """
    frame = tokenizer.inventory.frame
    text = tokenizer.inventory.texts
    ordinary = frame["kind"].is_in(["piece", "byte", "added"])
    whole = ordinary & text.is_not_null() & (text.str.len_bytes() > 0)
    search = Search(tokenizer, frame["id"].filter(whole).to_numpy(), text.filter(whole))
    blocked = _search(search)
    open_ = frame.filter(ordinary & text.is_null())
    partial = _complete(tokenizer, open_["id"].to_numpy(), open_["bytes"].to_list())
    code = {name: index for index, name in enumerate(CLASSES)}
    classes = np.full(frame.height, code["context_only"], np.uint8)
    classes[frame["kind"].is_in(["special", "unused"]).to_numpy()] = code["special"]
    classes[(frame["kind"] == "gap").to_numpy()] = code["gap"]
    classes[open_["id"].to_numpy()] = code["not_utf8_alone"]
    for ids in search.alone:
        classes[ids] = code["ok"]
    for token, (name, _) in blocked.items():
        classes[token] = code[name]
    empty = (ordinary & (text.str.len_bytes() == 0).fill_null(value=False)).to_numpy()
    classes[empty] = code["merge_blocked"]
    found = pl.DataFrame(
        {"token_id": [*search.found, *partial], "witness": [*search.found.values(), *partial.values()]},
        schema={"token_id": pl.Int32, "witness": pl.String},
    )
    reasons = pl.DataFrame(
        {"token_id": list(blocked), "reason": [reason for _, reason in blocked.values()]},
        schema={"token_id": pl.Int32, "reason": pl.String},
    )
    named = pl.Series("class", classes).cat.to(pl.Enum(CLASSES))
    table = frame.select(pl.col("id").alias("token_id"), "bytes").with_columns(named)
    table = table.join(found, on="token_id", how="left", maintain_order="left")
    table = table.join(reasons, on="token_id", how="left", maintain_order="left")
    bare = np.zeros(frame.height, np.bool_)
    if len(search.alone) > 1:
        bare[search.alone[1]] = True
    return table.with_columns(
        pl.when(pl.lit(pl.Series(bare)))
        .then(text.str.strip_prefix(" "))
        .when(pl.col("class") == "ok")
        .then(text)
        .otherwise("witness")
        .alias("witness")
    )


def _search(search: Search) -> dict[int, tuple[str, str]]:
    """Tries contexts from the cheapest on, and gives class and reason of what no context shows."""
    search.attempt(alone=True)
    prefixed = search.tokenizer.pipeline.prefix_space
    if prefixed:
        search.attempt(alone=True, bare=True)
    for before in BEFORE:
        search.attempt(before)
    for after in AFTER:
        search.attempt(after=after)
    blocked = _settled(search)
    if search.tokenizer.pipeline.pattern is None:
        for word in _words(search):
            search.attempt(word)
    if len(search.ids) <= CROSS_LIMIT:
        for before in BEFORE:
            for after in AFTER:
                search.attempt(before, after, bare=prefixed)
    for token, text in zip(search.ids.tolist(), search.texts, strict=True):
        blocked[token] = _reason(search.tokenizer, token, text)
    return blocked


def _settled(search: Search) -> dict[int, tuple[str, str]]:
    """Closes what no context can help.

    That is text that the normaliser changes, and text that is cut by character class rather than by a
    pattern that looks around.
    """
    closed: dict[int, tuple[str, str]] = {}
    for token, text in zip(search.ids.tolist(), search.texts, strict=True):
        name, reason = _reason(search.tokenizer, token, text)
        by_class = name == "pretok_blocked" and search.tokenizer.pipeline.pattern is None
        if name == "normalizer_blocked" or by_class:
            closed[token] = (name, reason)
    search.keep(np.array([token not in closed for token in search.ids.tolist()], np.bool_))
    return closed


def _reason(tokenizer: Tokenizer, token: int, text: str) -> tuple[str, str]:
    engine = tokenizer.engine
    normal = engine.normalise(text).target
    if normal.removeprefix(b" ") != text.encode().removeprefix(b" "):
        return "normalizer_blocked", f"the normaliser turns it into {normal.decode(errors='replace')!r}"
    pieces = engine.pretokenize(text)
    if len(pieces) > 1:
        return "pretok_blocked", f"the pre-tokenizer cuts it into {len(pieces)} pre-tokens"
    inner = tokenizer.inventory.entry(token).position == "inner"
    if inner and len(engine.pretokenize(f"a{text}")) > 1:
        return "pretok_blocked", "the pre-tokenizer sets it apart, so it never continues a word"
    ids = ", ".join(map(str, tokenizer.encode(text)[:8]))
    return "merge_blocked", f"the model spells its text with ids {ids}"


def _words(search: Search) -> list[str]:
    """Short words of the inventory that can stand at the left, in its own order."""
    if search.texts.is_empty():
        return []
    inventory = search.tokenizer.inventory
    words = inventory.texts.filter(inventory.frame["position"].is_in(["any", "initial"])).drop_nulls()
    chosen = words.filter((words.str.len_chars() <= 3) & words.str.contains(r"^\p{L}+$"))
    return chosen.head(WORDS).to_list()


def _complete(tokenizer: Tokenizer, ids: NDArray[np.int32], pieces: list[bytes]) -> dict[int, str]:
    """Texts found for entries that are no text alone."""
    offers = completions(pieces)
    sizes = np.array([len(offer) for offer in offers], np.int64)
    open_ = np.arange(len(pieces))
    found: dict[int, str] = {}
    for turn in range(TRIES):
        open_ = open_[sizes[open_] > turn]
        if not len(open_):
            break
        trial = [offers[row][turn] for row in open_.tolist()]
        hit = appears(tokenizer, pl.Series(trial, dtype=pl.String), ids[open_])
        found.update({int(ids[open_[k]]): trial[k] for k in np.flatnonzero(hit).tolist()})
        open_ = open_[~hit]
    return found
