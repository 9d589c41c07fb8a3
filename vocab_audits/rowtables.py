"""Table and findings of the undertrained audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from workbench.findings import Finding, columnar, frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from vocab_audits.rows import Matrix
    from vocab_audits.undertrained import Measured
    from workbench.tokenizer import Tokenizer

AUDIT = "undertrained"
ALONE, TOGETHER = "by the rows alone", "by the rows and by reachability"


def ranked(
    tokenizer: Tokenizer, seen: Measured, scores: Mapping[str, NDArray[np.float64]], share: float
) -> pl.DataFrame:
    """One row an id, in the order of the ranked list: bytes, indicators, places, reasons.

    Args:
        tokenizer: the tokenizer.
        seen: what the weights say.
        scores: mean ranks ``rows`` and ``all`` (height,).
        share: part of the ranked rows that counts as candidates.
    """
    height, last = len(scores["all"]), seen.last
    of = _Columns(height)
    frame_ = tokenizer.inventory.frame.select(
        pl.col("id").alias("token_id"), "bytes", pl.col("kind").cast(pl.String)
    )
    table = pl.DataFrame({"token_id": np.arange(height, dtype=np.int32)})
    table = table.join(frame_, on="token_id", how="left", maintain_order="left")
    table = table.with_columns(
        pl.Series(
            "class", [*seen.classes.cast(pl.String), *[None] * (height - len(seen.classes))], pl.String
        ),
        of.named("known_unused", seen.found),
        of.ids("reference", seen.reference.rows),
        of.flags("zero", last.zero),
        of.flags("not_finite", ~last.finite),
        of.first("same_as", last),
        of.numbers("norm", np.where(last.finite, last.norms, np.nan)),
        *[of.numbers(name, values) for name, values in seen.lists.items()],
        of.numbers("output_bias", _bias(seen)),
        of.numbers("score_rows", scores["rows"]),
        of.numbers("score", scores["all"]),
        has_row=pl.Series(np.arange(height) < last.rows),
    )
    places = [
        pl.when(pl.col(score).is_not_null()).then(pl.struct(score, "token_id").rank("ordinal")).alias(name)
        for score, name in (("score_rows", "place_rows"), ("score", "place"))
    ]
    table = table.with_columns(place.cast(pl.Int64) for place in places)
    table = table.with_columns(candidate=_candidate(table, seen, share))
    table = table.with_columns(reasons=_reasons(share), subject=pl.lit(tokenizer.name))
    order = ["place", "token_id"]
    return table.select("subject", pl.exclude("subject")).sort(order, nulls_last=True)


class _Columns:
    """Columns as long as the table, from what is known of fewer ids."""

    def __init__(self, height: int) -> None:
        self.height = height

    def numbers(self, name: str, values: NDArray[np.float64]) -> pl.Series:
        """Numbers, null where there is none."""
        full = np.full(self.height, np.nan)
        full[: len(values)] = values
        return pl.Series(name, full, nan_to_null=True)

    def flags(self, name: str, values: NDArray[np.bool_]) -> pl.Series:
        """Yes or no; no where nothing is known."""
        full = np.zeros(self.height, np.bool_)
        full[: len(values)] = values
        return pl.Series(name, full)

    def ids(self, name: str, ids: NDArray[np.intp]) -> pl.Series:
        """Whether an id is one of some."""
        full = np.zeros(self.height, np.bool_)
        full[ids] = True
        return pl.Series(name, full)

    def named(self, name: str, groups: Mapping[str, NDArray[np.intp]]) -> pl.Series:
        """The name of the group that an id is in."""
        full = np.full(self.height, -1)
        for place, ids in enumerate(groups.values()):
            full[ids] = place
        return pl.Series(name, [*groups, None], pl.String).gather(np.where(full < 0, len(groups), full))

    def first(self, name: str, matrix: Matrix) -> pl.Series:
        """The first row of equal bits; null for a row that is its own."""
        values = np.where(matrix.repeated, matrix.first, np.nan)
        return self.numbers(name, values).cast(pl.Int32)


def _bias(seen: Measured) -> NDArray[np.float64]:
    name = seen.weights.output_bias()
    if name is None:
        return np.empty(0)
    bias = seen.weights.tensor(name).ravel().astype(np.float64)
    return np.where(np.isfinite(bias), bias, np.nan)


def _candidate(table: pl.DataFrame, seen: Measured, share: float) -> pl.Series:
    """The lowest rows of the entries, leaving aside control tokens and those known to be unused.

    Where the reference was found from the rows alone, nothing counts as known.
    """
    fit = pl.col("bytes").is_not_null() & (pl.col("kind") != "special") & pl.col("place_rows").is_not_null()
    if seen.known:
        fit &= pl.col("known_unused").is_null()
    among = table.select(pl.when(fit).then("place_rows").rank("ordinal").alias("among"), "zero")
    most = int(np.ceil(share * among["among"].count()))
    low = (pl.col("among") <= most) | (pl.col("zero") & pl.col("among").is_not_null())
    return among.select(low.fill_null(value=False).alias("candidate"))["candidate"]


def _reasons(share: float) -> pl.Expr:
    """Why an id stands where it stands, in words."""
    said = [
        pl.when(~pl.col("has_row")).then(pl.lit("entry without row")),
        pl.when(pl.col("bytes").is_null() & pl.col("has_row")).then(pl.lit("row without entry")),
        pl.when("not_finite").then(pl.lit("numbers that are not finite")),
        pl.when("zero").then(pl.lit("row of zeros, which has no direction")),
        pl.when(pl.col("same_as").is_not_null()).then(pl.format("same bits as row {}", "same_as")),
        pl.when(pl.col("class").str.ends_with("_blocked")).then(pl.lit("no text tried leads to it")),
        pl.when((pl.col("known_unused") != "unreached") & (pl.col("known_unused") != "row without entry"))
        .then(pl.format("known to be unused ({})", "known_unused")),
        pl.when("reference").then(pl.lit("one of the reference rows")),
        pl.when(pl.col("candidate") & ~pl.col("zero"))
        .then(pl.lit(f"row among the lowest {100 * share:g} %")),
    ]  # fmt: skip
    return pl.concat_str(said, separator="; ", ignore_nulls=True).replace("", None)


def figures(name: str, seen: Measured, table: pl.DataFrame, share: float, listed: int) -> pl.DataFrame:
    """All findings: figures on the matrices, then the first candidates.

    Args:
        name: the tokenizer's.
        seen: what the weights say.
        table: as ``ranked`` gives it.
        share: part of the ranked rows that counts as candidates.
        listed: candidates to list.
    """
    made = [
        frame([*_tie(name, seen), *_matrices(name, seen, table), *_reference(name, seen)]),
        _listed(name, table, share, listed),
    ]
    return frame([]).vstack(made[0]).vstack(made[1])


def _tie(name: str, seen: Measured) -> Iterator[Finding]:
    tie = seen.weights.tie
    yield Finding(
        name,
        AUDIT,
        "tied",
        float(tie.tied),
        "as the weights decide it",
        "1 for one matrix",
        severity="warn" if tie.mismatch else "info",
        note=tie.mismatch or tie.why,
    )
    tensors = [seen.last.name, *([seen.first.name] if seen.first else [])]
    for tensor in tensors:
        shape, dtype = seen.weights.shape(tensor), seen.weights.dtype(tensor)
        note = f"{tensor}, {shape[0]:,} × {shape[1]:,}, {dtype}"
        yield Finding(name, AUDIT, "rows", float(shape[0]), _variant(seen, tensor), "rows", note=note)


def _variant(seen: Measured, tensor: str) -> str:
    if seen.first is None:
        return "embedding, tied"
    return "input matrix" if tensor == seen.first.name else "output matrix"


def _matrices(name: str, seen: Measured, table: pl.DataFrame) -> Iterator[Finding]:
    entry = pl.col("bytes").is_not_null()
    spare = table.filter(~entry & pl.col("has_row")).height
    note = "padding or holes of the tokenizer's ids; a model may still emit them" if spare else None
    yield Finding(name, AUDIT, "rows_without_entry", float(spare), unit="rows", note=note)
    lacking = table.filter(entry & ~pl.col("has_row"))
    ids = lacking["token_id"].to_numpy()
    yield Finding(
        name,
        AUDIT,
        "entries_without_row",
        float(lacking.height),
        unit="entries",
        severity="flag" if lacking.height else "info",
        note="the model cannot look them up" if lacking.height else None,
        evidence=f"ids {ids.min()}..{ids.max()}" if len(ids) else None,
    )
    for matrix in filter(None, (seen.last, seen.first)):
        variant = _variant(seen, matrix.name)
        odd = int((~matrix.finite).sum())
        yield Finding(name, AUDIT, "zero_rows", float(matrix.zero.sum()), variant, "rows")
        yield Finding(name, AUDIT, "repeated_rows", float(matrix.repeated.sum()), variant, "rows",
                      note="rows whose bits an earlier row has")  # fmt: skip
        yield Finding(name, AUDIT, "rows_not_finite", float(odd), variant, "rows",
                      severity="flag" if odd else "info")  # fmt: skip


def _reference(name: str, seen: Measured) -> Iterator[Finding]:
    reference, component = seen.reference, seen.component
    variant = _variant(seen, seen.last.name)
    found = float(len(reference.rows)) if reference.centre is not None else None
    yield Finding(name, AUDIT, "reference_rows", found, variant, "rows", note=reference.how)
    away = "" if component.settled else f", not settled after {component.passes} passes"
    note = f"residual {component.residual:.1g} of the leading variance{away}"
    yield Finding(name, AUDIT, "first_component", component.share, variant, "share of variance", note=note)
    yield from _agreement(name, seen)


def _agreement(name: str, seen: Measured) -> Iterator[Finding]:
    """Spearman's ρ between what the two matrices say, where there are two."""
    from scipy.stats import spearmanr

    if seen.first is None:
        return
    one, two = seen.lists["norm_input"], seen.lists["cosine"]
    both = ~np.isnan(one) & ~np.isnan(two)
    value = float(spearmanr(one[both], two[both]).statistic) if both.sum() > 2 else np.nan
    known = bool(np.isfinite(value))
    yield Finding(
        name,
        AUDIT,
        "agreement",
        value if known else None,
        "Spearman's ρ of input norm and output cosine",
        "correlation",
        note=None if known else "not applicable: one of the two does not vary or is not there",
    )


def _listed(name: str, table: pl.DataFrame, share: float, listed: int) -> pl.DataFrame:
    """How many candidates there are, of which class, and the first of them with their reasons."""
    rows = table.filter("candidate")
    alive = rows.filter(pl.col("class").is_in(["ok", "context_only", "not_utf8_alone"]))
    ranks = table["place"].count()
    note = None if ranks else "not measured: no reference row, and one matrix alone, whose norms say little"
    variant = f"lowest {100 * share:g} % of entries not known to be unused, {ALONE}"
    counted = [
        Finding(name, AUDIT, measure, float(part.height) if ranks else None, variant, "entries", note=note)
        for measure, part in (("candidates", rows), ("candidates_reached", alive))
    ]
    shown = rows.head(listed)
    said = pl.format("place {}; {}", pl.col("place"), pl.col("reasons"))
    listing = {
        "subject": name,
        "audit": AUDIT,
        "measure": "candidate",
        "variant": f"mean rank, {TOGETHER}",
        "value": pl.col("score"),
        "unit": "share of the list",
        "severity": pl.when(pl.col("class").str.ends_with("_blocked")).then(pl.lit("info")).otherwise(
            pl.lit("warn")
        ),
        "token_id": pl.col("token_id"),
        "token": pl.col("bytes"),
        "note": said,
    }  # fmt: skip
    return frame(counted).vstack(columnar(listing, shown))
