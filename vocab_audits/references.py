"""Rows that no text can have trained, to measure the others by: found by rule, or from the rows alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from vocab_audits.census import RESERVED
from vocab_audits.partial import split

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from vocab_audits.rows import Matrix
    from workbench.inventory import Inventory

    Ids = NDArray[np.intp]

SOURCES = ("row without entry", "hole", "reserved", "byte of no text", "unreached")
"""Where a row is known to be unused from: no id of the tokenizer's, a hole among them, a slot of kind
``unused`` or named as such, bytes that no valid UTF-8 holds, an entry that no text tried leads to."""

ENOUGH = 10
"""Rows of the surer sources below which entries that no text reached are taken too: theirs is a search,
and no proof."""

HELD = 4_096
"""Reference rows held at most; of more, as many are taken evenly."""

BALL = 20
"""Rows that a reference found from the rows alone has."""

FAR = 3.0
"""Distances from the middle one, in the reference rows' own spread, at which one is left out as trained."""


class Reference(NamedTuple):
    """The mean of known-unused rows.

    Attributes:
        centre: that mean (width,), or None where there is no reference.
        rows: ids of the rows averaged.
        left_out: ids of those that belong to no cluster of the others, so were trained all the same.
        how: what they are and where they come from, in words.
    """

    centre: NDArray[np.float64] | None
    rows: Ids
    left_out: Ids
    how: str


def sources(inventory: Inventory, rows: int, classes: pl.Series) -> dict[str, Ids]:
    """Ids of rows that are known to be unused, by source; a row counts for the first that fits.

    Args:
        inventory: the tokenizer's entries.
        rows: rows of the matrix.
        classes: class of every entry, as reachability gives it.
    """
    frame, height = inventory.frame, inventory.rows_needed
    kind = frame["kind"].cast(pl.String)
    reserved = (kind == "unused") | inventory.texts.str.contains(RESERVED).fill_null(value=False)
    odd = inventory.texts.is_null() & frame["bytes"].is_not_null() & kind.is_in(["piece", "byte"])
    never = np.zeros(height, np.bool_)
    ids = np.flatnonzero(odd.to_numpy())
    never[ids] = [split(inventory.pieces[token]) is None for token in ids.tolist()]
    masks = {
        "hole": (kind == "gap").to_numpy(),
        "reserved": reserved.to_numpy(),
        "byte of no text": never,
        "unreached": classes.cast(pl.String).str.ends_with("_blocked").to_numpy(),
    }
    found = {"row without entry": np.arange(height, rows)}
    taken = np.zeros(height, np.bool_)
    for name, mask in masks.items():
        found[name] = np.flatnonzero(mask & ~taken)
        found[name] = found[name][found[name] < rows]
        taken |= mask
    return found


def known(matrix: Matrix, found: Mapping[str, Ids]) -> Reference:
    """The mean over rows that are known to be unused.

    Rows that are zero or not finite have no direction and are left aside. Of the others, those that lie
    farther from the median row than the rest do by ``FAR`` times their spread are left out: slots that bear
    a reserved name and were trained all the same.

    Args:
        matrix: the scanned matrix.
        found: ids by source.
    """
    used: dict[str, Ids] = {}
    for name in SOURCES:
        if name == "unreached" and sum(map(len, used.values())) >= ENOUGH:
            break
        ids = found[name]
        ids = ids[matrix.finite[ids] & ~matrix.zero[ids]]
        if len(ids):
            used[name] = ids
    if not used:
        nothing = np.empty(0, np.intp)
        return Reference(None, nothing, nothing, "no row is known to be unused")
    ids = np.concatenate(list(used.values()))
    step = -(-len(ids) // HELD)
    ids = ids[::step]
    rows = matrix.gather(ids)
    away = np.linalg.norm(rows - np.median(rows, axis=0), axis=1)
    middle = np.median(away)
    spread = 1.4826 * np.median(np.abs(away - middle))
    near = away <= middle + FAR * spread + 1e-6 * middle
    said = ", ".join(f"{len(part):,} {name}" for name, part in used.items())
    how = f"mean of known-unused rows: {said}"
    if step > 1:
        how += f", of which every {step}th"
    if not near.all():
        how += f"; {int((~near).sum()):,} that lie apart from the others left out"
    return Reference(rows[near].mean(0, dtype=np.float64), ids[near], ids[~near], how)


def blind(matrix: Matrix) -> Reference:
    """The mean of the rows that lie closest together among those of low norm, nothing known of any entry.

    Rows that were never trained share what the output layer's gradient, weight decay and initialisation
    made of them all. Among the rows of lowest norm, as they are and about the mean, the ``BALL`` that lie
    within the tightest ball are sought by concentration steps: take the rows nearest to the mean of the
    last ones until they stay (Rousseeuw and Van Driessen 1999, with a round covariance). Zero rows and
    repeated ones are left aside, as they say nothing of how the others lie.

    Args:
        matrix: the scanned matrix.
    """
    fit = matrix.finite & ~matrix.zero & ~matrix.repeated
    size = min(BALL, max(1, int(fit.sum()) // 20))
    nothing = np.empty(0, np.intp)
    if not fit.any():
        return Reference(None, nothing, nothing, "no row has a direction")
    lists = [_lowest(norms, fit) for norms in (matrix.norms, _about_mean(matrix))]
    pool = np.union1d(*lists)
    rows = matrix.gather(pool)
    balls = [_tightest(rows, np.searchsorted(pool, start[:size])) for start in lists]
    radius, chosen = min(balls, key=lambda ball: ball[0])
    how = (
        f"found from the rows alone: the {size} that lie within the tightest ball among the {len(pool):,} "
        f"of lowest norm (mean distance {radius:.3g})"
    )
    return Reference(rows[chosen].mean(0, dtype=np.float64), pool[chosen], nothing, how)


def _lowest(norms: NDArray[np.float64], fit: NDArray[np.bool_]) -> Ids:
    order = np.argsort(np.where(fit, norms, np.inf), kind="stable")
    return order[: min(HELD // 2, int(fit.sum()))]


def _about_mean(matrix: Matrix) -> NDArray[np.float64]:
    """Distance of every row to the mean row."""
    mean = matrix.mean.astype(np.float32)
    found = np.empty(matrix.rows)
    for start, chunk in matrix.passed():
        np.subtract(chunk, mean, out=chunk)
        found[start : start + len(chunk)] = np.einsum("ij,ij->i", chunk, chunk)
    return np.sqrt(found)


def _tightest(rows: NDArray[np.float32], chosen: Ids, most: int = 100) -> tuple[float, Ids]:
    """Mean distance to the centre and places of a ball that no step makes tighter."""
    size, last = len(chosen), np.empty(0, np.intp)
    for _ in range(most):
        away = np.linalg.norm(rows - rows[chosen].mean(0), axis=1)
        chosen = np.sort(np.argsort(away, kind="stable")[:size])
        if np.array_equal(chosen, last):
            break
        last = chosen
    return float(away[chosen].mean()), chosen
