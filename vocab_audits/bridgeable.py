"""How far the probabilities of one vocabulary can be said in another, before any model runs."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from workbench.audit import Outcome, audit
from workbench.counting import count
from workbench.errors import SutureError
from workbench.findings import Finding
from workbench.prefixes import Prefixes, check_text, longest_prefix, spannable, twins

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from workbench.corpora import Corpus
    from workbench.inventory import Inventory
    from workbench.tokenizer import Tokenizer


class Pair(NamedTuple):
    """What the entries of a teacher are in a student, over the teacher's entries that spell bytes (n,).

    Attributes:
        ids: the teacher's ids.
        homes: the longest student entry that begins each one's bytes, −1 where none does.
        twin: whether that entry has the very same bytes.
        spannable: whether a student entry begins with all its bytes and goes on.
    """

    ids: NDArray[np.int64]
    homes: NDArray[np.int64]
    twin: NDArray[np.bool_]
    spannable: NDArray[np.bool_]


@audit("Bridges between vocabularies", on_request=True)
def bridgeable(tokenizers: Sequence[Tokenizer], corpus: Corpus, *, cache: bool = True) -> Outcome:
    """Which entries of a teacher have a home in a student, and what of its probability has none.

    Every ordered pair is measured, the first as the teacher of the second, as Byte-Prefix Marginalization
    (Wang et al., arXiv 2607.22334) would carry its probabilities over.

    Args:
        tokenizers: at least two.
        corpus: text whose tokens stand for the teacher's probabilities: the residual and the spannable mass
            that are expected on it if the teacher predicts each token as often as it occurs.
        cache: keep the map from entry to entry in a file.

    Returns:
        Findings for each pair; tables ``bridgeable`` (a row a pair) and ``bridgeable_map`` (a row an entry
        of the teacher: its home, whether it is a twin, whether it is spannable).

    Raises:
        SutureError: fewer than two tokenizers.
    """
    if len(tokenizers) < 2:
        raise SutureError(f"a bridge needs two tokenizers; got {len(tokenizers)}; name another")
    counts = {each.name: count(each, corpus).total for each in tokenizers}
    unfit = {each.name: _unfit(each) for each in tokenizers}
    indexes = {each.name: Prefixes.of(each.inventory) for each in tokenizers if not unfit[each.name]}
    findings: list[Finding] = []
    rows, maps = [], []
    for teacher, student in permutations(tokenizers, 2):
        name = f"{teacher.name} to {student.name}"
        why = unfit[teacher.name] or unfit[student.name]
        if why:
            findings.append(Finding(name, "bridgeable", "entries_with_home", unit="share", note=why))
            continue
        above, below = indexes[teacher.name], indexes[student.name]
        pair = paired(teacher.inventory, student.inventory, above, below, cache=cache)
        made = list(_figures(name, pair, below, counts[teacher.name]))
        findings += made
        rows.append({"subject": name, **{each.measure: each.value for each in made}})
        maps.append(_map(name, pair, teacher.inventory))
    tables = {}
    if rows:
        tables = {"bridgeable": pl.DataFrame(rows), "bridgeable_map": pl.concat(maps)}
    return Outcome(findings, tables)


def _unfit(tokenizer: Tokenizer) -> str | None:
    """Why the entries of a tokenizer do not say bytes of a text; None where they do."""
    try:
        check_text(tokenizer.inventory)
    except SutureError as error:
        return f"not applicable: {error}"
    return None


def paired(
    teacher: Inventory, student: Inventory, above: Prefixes, below: Prefixes, *, cache: bool = True
) -> Pair:
    """The homes of a teacher's entries in a student.

    Args:
        teacher: its entries are placed.
        student: its entries are the places.
        above: index of the teacher.
        below: index of the student.
        cache: keep the map in a file.
    """
    homes = longest_prefix(teacher, student, cache=cache)
    ids = np.sort(above.order)
    twin = twins(teacher, student, homes)[ids] >= 0
    return Pair(ids, homes[ids], twin, spannable(above, below)[ids])


def _figures(name: str, pair: Pair, student: Prefixes, counts: NDArray[np.int64]) -> Iterator[Finding]:
    weights = counts[pair.ids]
    reached = len(np.unique(pair.homes[pair.homes >= 0]))
    parts = {
        "entries_with_twin": (pair.twin, "the same bytes"),
        "entries_with_home": (pair.homes >= 0, "a student entry begins the bytes"),
        "entries_spannable": (pair.spannable, "a student entry goes on beyond the bytes"),
    }
    total = float(len(pair.ids))
    yield Finding(name, "bridgeable", "entries_compared", total, "that spell bytes", "entries")
    for measure, (mask, variant) in parts.items():
        yield Finding(
            name, "bridgeable", measure, float(mask.mean()), variant, "share of the teacher's entries"
        )
    for measure, mask, variant in (
        ("residual_expected", pair.homes < 0, "tokens without a home"),
        ("spannable_expected", pair.spannable, "bound on the distance to the exact target"),
        ("twins_expected", pair.twin, "tokens with a twin"),
    ):
        share = float(weights[mask].sum() / weights.sum()) if weights.sum() else None
        said, note = f"{variant}, by use in the corpus", "not applicable: the corpus has no token"
        yield Finding(
            name, "bridgeable", measure, share, said, "share of tokens", note=note if share is None else None
        )
    distinct = int((student.own > 0).sum())
    yield Finding(name, "bridgeable", "student_entries_reached", reached / distinct if distinct else None,
                  "are the home of some entry", "share of the student's byte strings")  # fmt: skip


def _map(name: str, pair: Pair, teacher: Inventory) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "subject": pl.Series([name]).new_from_index(0, len(pair.ids)),
            "token_id": pair.ids.astype(np.int32),
            "bytes": teacher.frame["bytes"].gather(pair.ids),
            "home": pl.Series(pair.homes.astype(np.int32)).replace(-1, None),
            "twin": pair.twin,
            "spannable": pair.spannable,
        }
    )
