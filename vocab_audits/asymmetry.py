"""Whether a vocabulary treats terms alike: what marked and neutral terms, and names of groups, cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from vocab_audits.signflips import cliffs_delta, cohens_dz, label_swaps, matched, sign_flips
from vocab_audits.termcosts import COLUMNS, CONTEXTS, MEASURES, Costs, costs_of, has_frequencies
from vocab_audits.twins import embedded, read_names, read_twins
from workbench.audit import Outcome, audit
from workbench.errors import SutureError
from workbench.findings import Finding
from workbench.multiple import holm
from workbench.resampling import ratios

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from vocab_audits.twins import Terms
    from workbench.segmentation import Segmenter

    Floats = NDArray[np.float64]

LEVEL = 0.05
"""P-value by Holm below which a difference is taken for no chance."""

WITHOUT = 'frequencies need wordfreq; install it with pip install "suture[linguistics]"'

FIGURES: dict[str, Any] = {
    "subject": pl.String, "kind": pl.String, "language": pl.String, "first": pl.String, "second": pl.String,
    "context": pl.String, "measure": pl.String, "matching": pl.String, "pairs": pl.Int64,
    "terms_first": pl.Int64, "terms_second": pl.Int64, "unspelled": pl.Int64, "mean_first": pl.Float64,
    "mean_second": pl.Float64, "difference": pl.Float64, "low": pl.Float64, "high": pl.Float64,
    "p": pl.Float64, "p_holm": pl.Float64, "test": pl.String, "dz": pl.Float64, "cliffs_delta": pl.Float64,
    "zipf_first": pl.Float64, "zipf_second": pl.Float64,
}  # fmt: skip
TERMS: dict[str, Any] = {
    "subject": pl.String, "kind": pl.String, "language": pl.String, "group": pl.String, "term": pl.String,
    "context": pl.String, "tokens": pl.Int64, "bytes_per_token": pl.Float64, "whole": pl.Boolean,
    "spelled": pl.Boolean, "zipf": pl.Float64,
}  # fmt: skip


@audit("Unequal treatment", sensitive=True, labels=("context", "matching", "first", "second"))
def asymmetry(
    segmenter: Segmenter,
    *,
    names: str | None = None,
    twins: str | None = None,
    names_language: str = "en",
    apart: float = 0.25,
    draws: int = 10_000,
    resamples: int = 1000,
    seed: int = 0,
) -> Outcome:
    """What marked terms cost against neutral ones, and names of one group against another's.

    Args:
        segmenter: anything that cuts text.
        names: a table of names with the columns name and group, and if wanted weight; none is shipped.
        twins: a table with the columns term and twin, and if wanted language.
        names_language: language in which the frequency of the names is looked up.
        apart: greatest difference in frequency, on the Zipf scale, within a pair of equal frequency.
        draws: draws of a test whose flips or labellings are too many to go through.
        resamples: draws for the 95 % intervals; 0 for none.
        seed: of all draws.

    Returns:
        Findings; tables ``asymmetry`` (a row a comparison) and ``asymmetry_terms`` (a row a term).

    Raises:
        SutureError: a list cannot be read, or a number makes no sense.
    """
    if min(draws, resamples) < 0 or draws == 0 or not 0 <= apart <= 9:
        raise SutureError(
            "draws must be above 0, resamples 0 or more, apart from 0 to 9; got "
            f"{draws}, {resamples}, {apart}; leave them out for the usual ones"
        )
    sets = embedded()
    sets += read_twins(twins) if twins else []
    sets += read_names(names, names_language) if names else []
    costs = costs_of(segmenter, sets)
    rows = []
    for each, sides in zip(sets, costs, strict=True):
        for compared in _compared(each, *sides, apart):
            rows += list(_figures(each, *compared, draws, resamples, seed))
    _adjusted(rows)
    subject = segmenter.name
    table = pl.DataFrame([{"subject": subject, **row} for row in rows], schema=FIGURES)
    terms = [row for each, sides in zip(sets, costs, strict=True) for row in _terms(subject, each, sides)]
    telling = _telling(rows)
    findings = [_finding(subject, row, telling=place in telling) for place, row in enumerate(rows)]
    findings.append(_known(subject, costs))
    return Outcome(findings, {"asymmetry": table, "asymmetry_terms": pl.concat([_none(), *terms])})


def _none() -> pl.DataFrame:
    return pl.DataFrame(schema=TERMS)


def _compared(
    each: Terms, first: Costs, second: Costs, apart: float
) -> Iterator[tuple[str, Costs, Costs, int]]:
    """How the two groups are set against each other, with the terms and how many are left out."""
    if each.paired:
        both = first.spelled & second.spelled
        yield "twins", first.at(both), second.at(both), int((~both).sum())
    else:
        lost = int((~first.spelled).sum() + (~second.spelled).sum())
        yield "all", first.at(first.spelled), second.at(second.spelled), lost
    sides = [np.where(side.spelled, side.zipf, np.nan) for side in (first, second)]
    pairs = matched(sides[0], sides[1], apart)
    yield "frequency", first.at(pairs[:, 0]), second.at(pairs[:, 1]), 0


def _figures(
    each: Terms,
    matching: str,
    first: Costs,
    second: Costs,
    unspelled: int,
    draws: int,
    resamples: int,
    seed: int,
) -> Iterator[dict[str, Any]]:
    """A row for each context and measure."""
    paired = matching != "all"
    low, high = _intervals(first, second, resamples, seed, paired=paired)
    means = [_means(side, paired=paired) for side in (first, second)]
    for place, (context, measure) in enumerate(COLUMNS):
        one, two = first.values[:, place], second.values[:, place]
        if paired:
            tested = sign_flips(two - one, draws, seed)
        else:
            tested = label_swaps(one, two, (first.weights, second.weights), draws, seed)
        yield {
            "kind": each.kind,
            "language": None if each.language == "und" else each.language,
            "first": each.groups[0],
            "second": each.groups[1],
            "context": context,
            "measure": measure,
            "matching": matching,
            "pairs": len(one) if paired else None,
            "terms_first": len(one),
            "terms_second": len(two),
            "unspelled": unspelled,
            "mean_first": _number(means[0][place]),
            "mean_second": _number(means[1][place]),
            "difference": _number(means[1][place] - means[0][place]),
            "low": _number(low[place]),
            "high": _number(high[place]),
            "p": tested.p,
            "test": tested.how,
            "dz": cohens_dz(two - one) if paired else None,
            "cliffs_delta": cliffs_delta(one, two),
            "zipf_first": _zipf_mean(first),
            "zipf_second": _zipf_mean(second),
        }


def _means(side: Costs, *, paired: bool) -> Floats:
    """Mean of each column, by weight where groups are compared as wholes."""
    weights = np.ones(len(side.values)) if paired else side.weights
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = (weights[:, None] * side.values).sum(0) / weights.sum()
    return found


def _intervals(
    first: Costs, second: Costs, resamples: int, seed: int, *, paired: bool
) -> tuple[Floats, Floats]:
    """Percentile intervals (Efron 1979) of the differences: over pairs, or over the terms of each group."""
    nothing = np.full(len(COLUMNS), np.nan)
    if not resamples or min(len(first.values), len(second.values)) < 2:
        return nothing, nothing
    if paired:
        differences = second.values - first.values
        found = ratios(differences, np.ones_like(differences), resamples, seed)
        return found.low, found.high
    chance = np.random.default_rng(seed)
    drawn = np.empty((resamples, len(COLUMNS)))
    for place in range(resamples):
        means = []
        for side in (first, second):
            size = len(side.values)
            times = np.bincount(chance.integers(0, size, size), minlength=size) * side.weights
            means.append((times @ side.values) / times.sum())
        drawn[place] = means[1] - means[0]
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return low, high


def _zipf_mean(side: Costs) -> float | None:
    known = side.zipf[np.isfinite(side.zipf)]
    return float(known.mean()) if len(known) else None


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _adjusted(rows: list[dict[str, Any]]) -> None:
    """Adds p-values by Holm over the languages, or groups, of one kind, context, measure and matching."""
    families: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("kind", "context", "measure", "matching"))
        families.setdefault(key, []).append(row)
    for family in families.values():
        for row, value in zip(family, holm([row["p"] for row in family]), strict=True):
            row["p_holm"] = value


def _terms(subject: str, each: Terms, sides: tuple[Costs, Costs]) -> Iterator[pl.DataFrame]:
    for group, terms, side in zip(each.groups, (each.first, each.second), sides, strict=True):
        for start, context in enumerate(CONTEXTS):
            values = side.values[:, 3 * start : 3 * start + 3]
            yield pl.DataFrame(
                {
                    "subject": [subject] * len(terms),
                    "kind": each.kind,
                    "language": None if each.language == "und" else each.language,
                    "group": group,
                    "term": terms,
                    "context": context,
                    "tokens": values[:, 0].astype(np.int64),
                    "bytes_per_token": pl.Series(values[:, 1]).replace(np.inf, None),
                    "whole": values[:, 2] == 1,
                    "spelled": side.spelled,
                    "zipf": pl.Series(side.zipf).fill_nan(None),
                },
                schema=TERMS,
            )


def _telling(rows: Sequence[dict[str, Any]]) -> set[int]:
    """Places of the differences that deserve a look: in tokens, after a space, neither chance nor frequency.

    At equal frequency such a difference must have the same sign and be no chance either; where that is
    not measured, the difference as it is decides.
    """
    found: dict[tuple[str, ...], dict[bool, int]] = {}
    for place, row in enumerate(rows):
        if row["context"] == CONTEXTS[1] and row["measure"] == "tokens":
            key = tuple(str(row[name]) for name in ("kind", "language", "first", "second"))
            found.setdefault(key, {})[row["matching"] == "frequency"] = place
    telling = set()
    for sides in found.values():
        own, even = rows[sides[False]], rows[sides[True]]
        known = [row for row in (own, even) if row["p_holm"] is not None]
        alike = len({row["difference"] > 0 for row in known}) == 1
        if own in known and alike and all(row["p_holm"] < LEVEL for row in known):
            telling.add(sides[False])
    return telling


def _finding(subject: str, row: dict[str, Any], *, telling: bool) -> Finding:
    """A difference, with what it rests on; no term stands in it."""
    how = {"twins": "each against its twin", "all": "all against all", "frequency": "at equal frequency"}
    return Finding(
        subject,
        "asymmetry",
        f"{row['measure']}_difference",
        row["difference"],
        f"{row['kind']}: {row['second']} − {row['first']}; {row['context']}; {how[row['matching']]}",
        MEASURES[row["measure"]],
        "warn" if telling else "info",
        language=row["language"],
        note=_unmeasured(row) if row["difference"] is None else _rests_on(row),
    )


def _unmeasured(row: dict[str, Any]) -> str:
    reason = "too few have entries, or a known and like frequency"
    if row["matching"] == "frequency" and not has_frequencies():
        reason = WITHOUT
    return f"not measured: no terms of {row['first']} and {row['second']} could be compared; {reason}"


def _rests_on(row: dict[str, Any]) -> str:
    """Means, sizes, interval, test, effects and frequencies of a difference, in words."""
    where = f"{row['language']}: " if row["language"] else ""
    told = [f"{where}{row['second']} {row['mean_second']:.3f}, {row['first']} {row['mean_first']:.3f}"]
    if row["pairs"] is None:
        told.append(f"{row['terms_second']} and {row['terms_first']} terms")
    else:
        told.append(f"{row['pairs']} pairs")
    if row["unspelled"]:
        told.append(f"{row['unspelled']} left out for want of entries")
    if row["low"] is not None:
        told.append(f"95 % interval {row['low']:.3f} to {row['high']:.3f}")
    if row["p"] is not None:
        told.append(f"p {row['p']:.2g} ({row['test']}), {row['p_holm']:.2g} by Holm")
    effects = {"dz": "Cohen's dz", "cliffs_delta": "Cliff's delta"}
    told += [f"{words} {row[key]:.2f}" for key, words in effects.items() if row[key] is not None]
    if row["zipf_first"] is not None and row["zipf_second"] is not None:
        told.append(f"mean frequency {row['zipf_second']:.2f} and {row['zipf_first']:.2f} on the Zipf scale")
    return "; ".join(told)


def _known(subject: str, costs: Sequence[tuple[Costs, Costs]]) -> Finding:
    """How many of the terms have a known frequency."""
    zipf = np.concatenate([side.zipf for sides in costs for side in sides])
    told = "terms whose frequency wordfreq knows; others are left out where frequencies are to be equal"
    known = float(np.isfinite(zipf).mean()) if has_frequencies() else None
    note = told if known is not None else f"not measured: {WITHOUT}"
    return Finding(subject, "asymmetry", "frequency_known", known, unit="share", note=note)
