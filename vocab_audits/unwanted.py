"""Unwanted entries: what of term lists and pattern families an inventory holds, as candidates for review."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl

from vocab_audits import unwantedtables as around
from workbench.audit import Outcome, audit
from workbench.counting import count
from workbench.errors import SutureError
from workbench.findings import Finding, columnar, frame
from workbench.termlists import open_lists
from workbench.termlists.matching import KINDS, match

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from workbench.corpora import Corpus
    from workbench.termlists import TermLists
    from workbench.tokenizer import Tokenizer

ENTRY = "unwanted_entry"
"""The measure of a hit; its variant is the category."""

GRADES = ("info", "warn", "flag")
"""Severity of a finding by that of its term: mild, moderate, strong; a fragment is one step lower."""

CANDIDATE = "a candidate for review, not a verdict"
SPAM = ("gambling_spam", "sexual", "scam")
"""Categories of our advert families, of whose share of the long Han entries there is a figure."""


def _opened(options: Mapping[str, Any]) -> str:
    """Digest of the lists, so that those of an upgraded package are another input."""
    return open_lists(*options["lists"]).digest


@audit("Unwanted entries", sensitive=True, inputs=_opened)
def unwanted(
    tokenizer: Tokenizer,
    corpus: Corpus,
    *,
    lists: tuple[str, ...] = ("all",),
    languages: tuple[str, ...] = (),
    leet: bool = False,
    top: int = 50,
) -> Outcome:
    """Entries that term lists and pattern families name, and what stands around them.

    Args:
        tokenizer: the tokenizer.
        corpus: the corpus in which entries are counted.
        lists: names and paths of term lists, as the verb ``lists`` takes them.
        languages: codes of the languages whose terms are sought; none for all. Terms of no language stay.
        leet: read digits and signs between letters as letters too.
        top: longest entries kept of each script, and mild hits that have a finding of their own.

    Returns:
        Counts by category, list and kind, and a finding for each hit that is not mild; tables ``unwanted``
        (all hits), ``unwanted_lists``, ``unwanted_words``, ``unwanted_longest``, ``unwanted_pieces`` and
        ``unwanted_kin``.

    Raises:
        SutureError: a list cannot be read, or ``top`` is negative.
    """
    if top < 0:
        raise SutureError(f"top must be 0 or more; got {top}; give a number such as 50")
    opened = open_lists(*lists)
    opened = opened.spoken(*languages) if languages else opened
    inventory, name = tokenizer.inventory, tokenizer.name
    entries = around.searched(inventory)
    counts = count(tokenizer, corpus, by_language=False).total
    hits = _filled(match(inventory, opened, leet=leet), entries, counts)
    tables = {
        "unwanted": hits, "unwanted_lists": _described(opened),
        "unwanted_words": around.words(tokenizer, opened),
        "unwanted_longest": around.longest(entries, hits, top),
        "unwanted_pieces": around.han_pieces(entries, hits), "unwanted_kin": around.kin(entries, hits),
    }  # fmt: skip
    findings = chain(
        _lists(name, opened), _counted(name, hits, entries.height, inventory.rows_needed, int(counts.sum())),
        _words(name, tables["unwanted_words"]), _han(name, entries, hits), _kin(name, tables["unwanted_kin"]),
    )  # fmt: skip
    subject = pl.lit(name).alias("subject")
    return Outcome(
        pl.concat([frame(findings), _entries(name, hits, top)]),
        {key: table.select(subject, pl.all()) for key, table in tables.items()},
    )


def _filled(hits: pl.DataFrame, entries: pl.DataFrame, counts: NDArray[np.int64]) -> pl.DataFrame:
    """Hits with their occurrences in the corpus and the number of entries alike; ``bytes`` for ``token``."""
    ids = hits["token_id"].to_numpy()
    seen = hits.with_columns(pl.Series("occurrences", counts[ids], dtype=pl.Int64))
    alike = around.variants(entries)
    joined = seen.join(alike, on="token_id", how="left", maintain_order="left").rename({"token": "bytes"})
    return joined.with_columns(pl.col("variants").fill_null(1))


def _described(lists: TermLists) -> pl.DataFrame:
    """The lists with their terms by category, one row a list and category."""
    return lists.lists.join(lists.counts().rename({"terms": "in_category"}), left_on="name", right_on="list",
                            how="left", maintain_order="left")  # fmt: skip


def _lists(name: str, lists: TermLists) -> Iterator[Finding]:
    """Each list by name, licence and digest, so that a figure can be traced to what it rests on."""
    for row in lists.lists.iter_rows(named=True):
        said = f"{row['source']}; licence {row['licence'] or 'not stated'}; SHA-256 {row['digest'][:16]}"
        said += f"; {row['refused']} rows left out" if row["refused"] else ""
        yield Finding(name, "unwanted", "list_terms", float(row["terms"]), row["name"], "terms", note=said)
    for missing in lists.missing:
        yield Finding(name, "unwanted", "list_missing", None, unit="terms", note=missing)


def _counted(name: str, hits: pl.DataFrame, searched: int, rows: int, tokens: int) -> Iterator[Finding]:
    """Entries hit: all, by category, by list and by kind, and how often the corpus has them."""
    yield Finding(name, "unwanted", "entries_searched", float(searched), "valid UTF-8, no control tokens",
                  "entries", evidence=f"of {rows:,} ids")  # fmt: skip
    distinct = hits["token_id"].n_unique()
    yield Finding(name, "unwanted", "entries_hit", float(distinct), "all lists together, an entry once",
                  "entries", note=CANDIDATE)  # fmt: skip
    yield Finding(name, "unwanted", "share_hit", distinct / searched if searched else None,
                  "all lists together, an entry once", "share of entries searched",
                  note=None if searched else "not applicable: no entries")  # fmt: skip
    for column, measure in (("category", "category"), ("list", "list"), ("kind", "kind"), ("via", "via")):
        named = pl.col(column).cast(pl.String)
        counted = hits.group_by(named).agg(pl.col("token_id").n_unique()).sort(column)
        for value, entries in counted.iter_rows():
            yield Finding(name, "unwanted", f"{measure}.{value}", float(entries),
                          "an entry counts once in each that it is of", "entries")  # fmt: skip
    once = hits.unique("token_id")
    occurring = int(once["occurrences"].sum())
    seen = once.filter(pl.col("occurrences") > 0).height
    yield Finding(name, "unwanted", "hit_tokens", occurring / tokens if tokens else None,
                  "occurrences in the run's corpus", "share of tokens",
                  note=None if tokens else "not applicable: the corpus has no tokens",
                  evidence=f"{occurring:,} of {tokens:,}; {seen:,} entries occur")  # fmt: skip


def _entries(name: str, hits: pl.DataFrame, top: int) -> pl.DataFrame:
    """A finding for each entry and category, at its gravest; of the mild ones the first ``top``."""
    grade = pl.col("severity").replace_strict({"mild": 0, "moderate": 1, "strong": 2}, return_dtype=pl.Int8)
    graded = hits.with_columns(grade=(grade - (pl.col("kind") == KINDS[1]).cast(pl.Int8)).clip(0, 2))
    whole = graded.group_by("token_id", "category", maintain_order=True).agg(
        pl.col("bytes", "occurrences", "language").first(), pl.col("grade").max(),
        evidence=pl.concat_str("list", pl.lit(": "), "evidence").unique(maintain_order=True).str.join("; "),
        lists=pl.col("list").n_unique(),
    ).sort("grade", "lists", "token_id", descending=[True, True, False])  # fmt: skip
    kept = pl.concat([whole.filter(pl.col("grade") > 0), whole.filter(grade=0).head(top)])
    severity = pl.col("grade").replace_strict(dict(enumerate(GRADES)), return_dtype=pl.String)
    said = pl.concat_str(
        pl.lit(f"{CANDIDATE}; named by "), "lists", pl.when(pl.col("lists") == 1).then(pl.lit(" list"))
        .otherwise(pl.lit(" lists")),
    )  # fmt: skip
    return columnar(
        {"subject": name, "audit": "unwanted", "measure": ENTRY, "variant": pl.col("category"),
         "value": pl.col("occurrences").cast(pl.Float64), "unit": "occurrences in the corpus",
         "severity": severity, "token_id": pl.col("token_id"), "token": pl.col("bytes"),
         "language": pl.col("language"), "note": said, "evidence": pl.col("evidence")},
        kept,
    )  # fmt: skip


def _words(name: str, costs: pl.DataFrame) -> Iterator[Finding]:
    """List words that are one token, several, or cannot be spelled."""
    words = costs.unique(["list", "term"], maintain_order=True)
    for (listed,), part in words.group_by("list", maintain_order=True):
        counted = dict(part["status"].cast(pl.String).value_counts().iter_rows())
        for status in around.STATUSES:
            yield Finding(name, "unwanted", f"words.{status}", float(counted.get(status, 0)), str(listed),
                          "words of the list", evidence=f"of {part.height:,}")  # fmt: skip
    if words.height:
        share = words.filter(status="several").height / words.height
        yield Finding(name, "unwanted", "words_composed_share", share,
                      "all lists, the cheaper of bare and after a space", "share of words",
                      note="a word of several tokens is composed, not absent")  # fmt: skip


def _han(name: str, entries: pl.DataFrame, hits: pl.DataFrame) -> Iterator[Finding]:
    """Long Han entries, and the share that our advert families describe."""
    long = around.long_han(entries)
    spam = hits.filter((pl.col("list") == "patterns") & pl.col("category").is_in(SPAM))["token_id"].unique()
    flagged = long.filter(pl.col("token_id").is_in(spam.to_list())).height
    share = flagged / long.height if long.height else None
    variant = f"{around.HAN_LONG} and more characters of Unicode's script Han (\\p{{Han}})"
    yield Finding(name, "unwanted", "long_han_entries", float(long.height), variant, "entries")
    yield Finding(name, "unwanted", "long_han_adverts", share, variant,
                  "share of the long Han entries",
                  note=None if long.height else "not applicable: no such entry",
                  evidence=f"{flagged:,} of {long.height:,}")  # fmt: skip


def _kin(name: str, kin: pl.DataFrame) -> Iterator[Finding]:
    yield Finding(name, "unwanted", "kin_of_hits", float(kin["token_id"].n_unique()),
                  f"a hit's word with an ending that parts {around.PRODUCTIVE} and more pairs of entries",
                  "entries", note="no hits by themselves; they are in the table unwanted_kin")  # fmt: skip
