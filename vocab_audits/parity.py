"""What one meaning costs in each language, against a language of reference, on parallel text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from vocab_audits.frequencies import ginis
from vocab_audits.parallel import LEAST, parallel_sets
from workbench.audit import Outcome, audit
from workbench.errors import SutureError
from workbench.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from vocab_audits.parallel import ParallelSet
    from workbench.corpora import Corpus
    from workbench.segmentation import Segmenter

    Floats = NDArray[np.float64]

UNITS = {"line": None, "byte": "bytes", "character": "characters", "grapheme": "graphemes"}
"""Each unit of cost with the size that it counts."""

NAMES = {"line": "line", "byte": "byte", "character": "code point", "grapheme": "grapheme cluster"}
NOT_PARALLEL = (
    "not applicable: the corpus is not known to be parallel; give a folder of translations line for line, "
    "or name the reference"
)
DOUBTFUL = 0.3
"""Correlation of line lengths below which a folder's text hardly looks like a translation."""

BLOCKS = 20_000
"""Lines, or runs of neighbouring lines, that are drawn anew for the intervals."""

COLUMNS: dict[str, Any] = {
    "set": pl.String, "reference": pl.String, "language": pl.String, "script": pl.String, "lines": pl.Int64,
    "unspelled_lines": pl.Int64, "agreement": pl.Float64, "tokens": pl.Int64, "bytes": pl.Int64,
    "characters": pl.Int64, "graphemes": pl.Int64,
    **{f"tokens_per_{unit}": pl.Float64 for unit in UNITS},
    **{f"premium_{unit}{end}": pl.Float64 for unit in (*UNITS, "mean") for end in ("", "_low", "_high")},
}  # fmt: skip
SUMMARY: dict[str, Any] = {
    "set": pl.String, "unit": pl.String, "gini": pl.Float64, "gini_low": pl.Float64, "gini_high": pl.Float64,
    "min_max_ratio": pl.Float64, "min_max_ratio_low": pl.Float64, "min_max_ratio_high": pl.Float64,
    "cheapest": pl.String, "dearest": pl.String,
}  # fmt: skip
LORENZ: dict[str, Any] = {
    "set": pl.String, "unit": pl.String, "place": pl.Int64, "language": pl.String, "cost": pl.Float64,
    "languages": pl.Float64, "tokens": pl.Float64,
}  # fmt: skip
SCRIPTS: dict[str, Any] = {
    "set": pl.String, "script": pl.String, "languages": pl.String, "premium_line": pl.Float64,
    **{f"tokens_per_{unit}": pl.Float64 for unit in UNITS},
}  # fmt: skip


class Costs(NamedTuple):
    """Costs and premiums of every language, as drawn ``draws`` times (draws, languages), by unit.

    ``premiums`` has besides the units the key ``mean``: per line, the mean of the lines' ratios.
    """

    costs: dict[str, Floats]
    premiums: dict[str, Floats]


@audit("Parity of languages")
def parity(
    segmenter: Segmenter,
    corpus: Corpus,
    *,
    reference: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Outcome:
    """What a translation costs in each language against the reference, and how unequal languages are.

    Args:
        segmenter: anything that cuts text.
        corpus: any corpus; its parallel parts are measured, each by itself, see ``parallel_sets``.
        reference: language that the others are measured against; naming it says that the corpus is
            parallel. By default English, else the first language of a parallel part.
        resamples: draws of lines, with replacement, that the 95 % intervals rest on; 0 for none.
        seed: seed of these draws; all segmenters of a run are given the same ones.

    Returns:
        Findings; tables ``parity`` (a row a language), ``parity_inequality`` (a row a unit),
        ``parity_lorenz`` (the points of the Lorenz curves) and ``parity_scripts`` (a row a script).

    Raises:
        SutureError: no other text has as many lines as the reference named, or ``resamples`` is negative.
    """
    if resamples < 0:
        raise SutureError(f"resamples must be 0 or more; got {resamples}; 1000 is usual")
    sets = parallel_sets(segmenter, corpus, reference)
    if not sets:
        found = [Finding(segmenter.name, "parity", "premium", None, unit="ratio", note=NOT_PARALLEL)]
        return Outcome(found, {})
    findings: list[Finding] = []
    rows: dict[str, list[dict[str, Any]]] = {"": [], "_inequality": [], "_lorenz": [], "_scripts": []}
    for each in sets:
        exact = _costs(each, None)
        drawn = _drawn(each, resamples, seed)
        named = "" if len(sets) == 1 else f"; {each.name}"
        part = {
            "": _language_rows(each, exact, drawn),
            "_inequality": _unit_rows(each, exact, drawn),
            "_lorenz": list(_lorenz_rows(each, exact)),
            "_scripts": list(_script_rows(each, exact)),
        }
        findings += _findings(segmenter.name, each, part, named)
        for name, some in part.items():
            rows[name] += some
    schemas = {"": COLUMNS, "_inequality": SUMMARY, "_lorenz": LORENZ, "_scripts": SCRIPTS}
    subject = pl.lit(segmenter.name).alias("subject")
    tables = {
        f"parity{name}": pl.DataFrame(rows[name], schema=schema).select(subject, pl.all())
        for name, schema in schemas.items()
    }
    return Outcome(findings, tables)


def _costs(
    each: ParallelSet, weights: NDArray[np.int64] | None, blocks: NDArray[np.intp] | None = None
) -> Costs:
    """Costs and premiums with each line, or block of lines, taken as often as its weight says.

    Args:
        each: the set.
        weights: (draws, blocks); None takes every line once.
        blocks: first line of each block; None makes every line one.
    """
    base = each.languages.index(each.reference)
    tokens = each.matrix("tokens")
    there = tokens[:, [base]]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(there > 0, tokens / there, 0.0)
        totals = _sums(tokens, weights, blocks)
        lines = _sums(np.ones((len(tokens), 1)), weights, blocks)
        sizes = {unit: _sums(each.matrix(key), weights, blocks) for unit, key in UNITS.items() if key}
        costs = {unit: totals / sizes.get(unit, lines) for unit in UNITS}
        premiums = {unit: cost / cost[:, [base]] for unit, cost in costs.items()}
        counted = _sums((there > 0).astype(np.float64), weights, blocks)
        premiums["mean"] = _sums(ratios, weights, blocks) / counted
    return Costs(costs, premiums)


def _sums(values: Floats, weights: NDArray[np.int64] | None, blocks: NDArray[np.intp] | None) -> Floats:
    if blocks is not None:
        values = np.add.reduceat(values, blocks, axis=0)
    found: Floats = values.sum(axis=0, keepdims=True) if weights is None else weights @ values
    return found


def _drawn(each: ParallelSet, resamples: int, seed: int) -> Costs | None:
    """Costs on lines drawn with replacement; None where there are too few lines, or no draw is asked for.

    The same lines are drawn in all languages. Of very long texts, runs of neighbouring lines are drawn.
    """
    if each.size < LEAST or not resamples:
        return None
    number = min(each.size, BLOCKS)
    blocks = np.arange(number) * each.size // number
    generator = np.random.default_rng(seed)
    parts = []
    step = max(1, (1 << 22) // number)
    for start in range(0, resamples, step):
        draws = min(step, resamples - start)
        picked = generator.integers(0, number, (draws, number)) + number * np.arange(draws)[:, None]
        weights = np.bincount(picked.ravel(), minlength=draws * number).reshape(draws, number)
        parts.append(_costs(each, weights, blocks))
    costs = {key: np.concatenate([part.costs[key] for part in parts]) for key in parts[0].costs}
    premiums = {key: np.concatenate([part.premiums[key] for part in parts]) for key in parts[0].premiums}
    return Costs(costs, premiums)


def _between(draws: Floats | None) -> tuple[float | None, float | None]:
    """The 2.5th and 97.5th percentile of draws; None where there are none."""
    known = draws[np.isfinite(draws)] if draws is not None else None
    if known is None or not len(known):
        return None, None
    low, high = np.percentile(known, (2.5, 97.5))
    return float(low), float(high)


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _language_rows(each: ParallelSet, exact: Costs, drawn: Costs | None) -> list[dict[str, Any]]:
    rows = []
    for place, (language, lines) in enumerate(each.lines.items()):
        row: dict[str, Any] = {
            "set": each.name,
            "reference": each.reference,
            "language": language,
            "script": lines.script,
            "lines": each.size,
            "unspelled_lines": int(lines.unspelled.sum()),
            "agreement": each.agreement[language],
        }
        row |= {key: int(getattr(lines, key).sum()) for key in ("tokens", "bytes", "characters", "graphemes")}
        row |= {f"tokens_per_{unit}": _number(cost[0, place]) for unit, cost in exact.costs.items()}
        for key, premium in exact.premiums.items():
            low, high = _between(drawn and drawn.premiums[key][:, place])
            row |= {f"premium_{key}": _number(premium[0, place])}
            row |= {f"premium_{key}_low": low, f"premium_{key}_high": high}
        rows.append(row)
    return rows


def _unit_rows(each: ParallelSet, exact: Costs, drawn: Costs | None) -> list[dict[str, Any]]:
    rows = []
    for unit, cost in exact.costs.items():
        draws = drawn.costs[unit] if drawn else None
        known = np.isfinite(cost[0]).all()
        row: dict[str, Any] = {"set": each.name, "unit": unit}
        for key, of in (("gini", ginis), ("min_max_ratio", _least_over_greatest)):
            row[key] = _number(of(cost)[0])
            row[f"{key}_low"], row[f"{key}_high"] = _between(None if draws is None else of(draws))
        row["cheapest"] = each.languages[int(cost[0].argmin())] if known else None
        row["dearest"] = each.languages[int(cost[0].argmax())] if known else None
        rows.append(row)
    return rows


def _least_over_greatest(costs: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = costs.min(axis=1) / costs.max(axis=1)
    return found


def _lorenz_rows(each: ParallelSet, exact: Costs) -> Iterator[dict[str, Any]]:
    """Shares of the languages, the cheapest first, and of the sum of their costs, from (0, 0) to (1, 1)."""
    for unit, cost in exact.costs.items():
        order = np.argsort(cost[0], kind="stable")
        shares = np.cumsum(cost[0][order]) / cost[0].sum()
        if not np.isfinite(shares).all():
            continue
        yield {"set": each.name, "unit": unit, "place": 0, "languages": 0.0, "tokens": 0.0}
        for place, (index, share) in enumerate(zip(order.tolist(), shares.tolist(), strict=True), 1):
            yield {
                "set": each.name,
                "unit": unit,
                "place": place,
                "language": each.languages[index],
                "cost": float(cost[0, index]),
                "languages": place / len(order),
                "tokens": share,
            }


def _script_rows(each: ParallelSet, exact: Costs) -> Iterator[dict[str, Any]]:
    """Costs by script: of all text in it together; the premium per line is the mean of its languages'."""
    scripts: dict[str, list[int]] = {}
    for place, lines in enumerate(each.lines.values()):
        scripts.setdefault(lines.script, []).append(place)
    for script, places in sorted(scripts.items()):
        some = [list(each.lines.values())[place] for place in places]
        tokens = sum(int(lines.tokens.sum()) for lines in some)
        sizes = {
            unit: sum(int(getattr(lines, key).sum()) for lines in some) if key else each.size * len(some)
            for unit, key in UNITS.items()
        }
        yield {
            "set": each.name,
            "script": script,
            "languages": ", ".join(each.languages[place] for place in places),
            "premium_line": _number(exact.premiums["line"][0, places].mean()),
        } | {f"tokens_per_{unit}": tokens / size if size else None for unit, size in sizes.items()}


def _findings(
    name: str, each: ParallelSet, rows: dict[str, list[dict[str, Any]]], named: str
) -> Iterator[Finding]:
    to = f"to {each.reference}"
    left = "; ".join(f"{language} ({why})" for language, why in each.left_out.items())
    taken = f"{each.name}: {', '.join(each.languages)}{'; left out: ' if left else ''}{left}"
    yield Finding(name, "parity", "lines", float(each.size), f"of each language{named}", "lines", note=taken)
    doubtful = [key for key, value in each.agreement.items() if value is not None and value < DOUBTFUL]
    if doubtful:
        note = f"in {', '.join(doubtful)}; are they translations?"
        said = "correlation with the reference's below 0.3" + named
        yield Finding(
            name, "parity", "odd_line_lengths", float(len(doubtful)), said, "languages", "warn", note=note
        )
    for row in rows[""]:
        yield from _premiums(name, row, to, named)
    lossy = [row["language"] for row in rows[""] if row["unspelled_lines"]]
    for row in rows["_inequality"]:
        yield from _unequal(name, row, named, lossy)
    worst = max(rows[""], key=lambda row: row["premium_line"] or 0.0)
    yield Finding(
        name, "parity", "worst_premium", worst["premium_line"], f"{to}, tokens per line{named}", "ratio",
        note=worst["language"] if worst["premium_line"] else _why(worst),
    )  # fmt: skip
    for row in rows["_scripts"]:
        variant = f"premium {to}, tokens per line, mean of its languages{named}"
        yield Finding(
            name, "parity", f"script.{row['script']}", row["premium_line"], variant, "ratio",
            note=row["languages"],
        )  # fmt: skip


def _premiums(name: str, row: dict[str, Any], to: str, named: str) -> Iterator[Finding]:
    """A language's premium in each unit and both means."""
    lost = row["unspelled_lines"]
    note = None
    if lost:
        note = f"{lost} of {row['lines']} lines hold text without an entry, so they look cheap"
    kinds = [(unit, f"tokens per {NAMES[unit]}, ratio of totals") for unit in UNITS]
    for key, said in [*kinds, ("mean", "tokens per line, mean of the lines' ratios")]:
        value = row[f"premium_{key}"]
        yield Finding(
            name,
            "parity",
            "premium",
            value,
            f"{to}, {said}{named}",
            "ratio",
            language=row["language"],
            note=note if value is not None else _why(row),
            evidence=_interval(row, f"premium_{key}"),
        )


def _unequal(name: str, row: dict[str, Any], named: str, lossy: list[str]) -> Iterator[Finding]:
    variant = f"between languages, tokens per {NAMES[row['unit']]}{named}"
    for measure in ("gini", "min_max_ratio"):
        note = f"cheapest {row['cheapest']}, dearest {row['dearest']}" if row["cheapest"] else None
        if row[measure] is None:
            note = "not applicable: no tokens"
        elif lossy:
            note = f"{note}; text without an entry makes {', '.join(lossy)} look cheap"
        evidence = _interval(row, measure)
        yield Finding(name, "parity", measure, row[measure], variant, "ratio", note=note, evidence=evidence)


def _why(row: dict[str, Any]) -> str:
    return f"not applicable: no tokens in {row['reference']}, or no text in {row['language']}"


def _interval(row: dict[str, Any], key: str) -> str | None:
    low, high = row[f"{key}_low"], row[f"{key}_high"]
    return None if low is None else f"95 % interval {low:.4f} to {high:.4f}, lines drawn anew"
