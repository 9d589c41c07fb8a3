"""Whether a segmenter cuts words where their morphs meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from vocab_audits import consistency as equal
from vocab_audits.boundaries import Compared
from vocab_audits.morphgroups import GROUPS, groups
from vocab_audits.morphmeasures import ratios_of
from vocab_audits.morphscore import REVISED_MACRO, SUBWORDS, Quirks, macro_f1
from vocab_audits.morphtables import MORPHS, WORDS, families, morphs_table, words_table
from vocab_audits.wordweights import frequencies
from workbench.audit import Outcome, audit
from workbench.cutting import cut_words
from workbench.errors import SutureError
from workbench.findings import Finding, columnar, frame
from workbench.resampling import ratios
from workbench.tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.lexicon import MorphLexicon
    from workbench.segmentation import Segmenter

FORMS = {"bare": "", "after a space": " "}
"""How a word is given: alone, or behind a space whose cut does not count."""

SCHEMA = pl.Schema(
    {
        "subject": pl.String(),
        "language": pl.String(),
        "form": pl.String(),
        "measure": pl.String(),
        "variant": pl.String(),
        "unit": pl.String(),
        "value": pl.Float64(),
        "low": pl.Float64(),
        "high": pl.Float64(),
        "words": pl.Int64(),
        "note": pl.String(),
    }
)


UNPLACED = ("not_concatenative", "ambiguous")
"""Reasons of a lexicon's ledger for rows of gold that have no certain place on the surface."""

PLACED_GROUPS = pl.Schema({"language": pl.String(), "form": pl.String(), **GROUPS})


class Settings(NamedTuple):
    """Options of the audit that its parts share."""

    quirks: Quirks
    resamples: int
    seed: int
    pairs: int
    words: int


class Part(NamedTuple):
    """Figures of some words in one form."""

    measures: list[dict[str, Any]]
    groups: pl.DataFrame
    words: pl.DataFrame
    morphs: pl.DataFrame


@audit("Alignment with morphology")
def morphology(
    segmenter: Segmenter,
    lexicon: MorphLexicon,
    *,
    resamples: int = 1000,
    seed: int = 0,
    pairs: int = 2000,
    words: int = 200,
    exclude_single_token: bool = True,
    exclude_single_morph: bool = True,
    frequency_scale: bool = False,
) -> Outcome:
    """Whether words are cut where their morphs meet, in each language, against as many cuts at random.

    Args:
        segmenter: anything that cuts text.
        lexicon: words with their morphs.
        resamples: draws of the bootstrap over words; 0 for no intervals.
        seed: of the draws and of the words that pairs are made of.
        pairs: words whose pairs the pairwise consistency compares; more are thinned to so many.
        words: words of each language and form in the table of words; the worst first.
        exclude_single_token: MorphScore 2025 leaves out words of one token; otherwise each counts 1.
        exclude_single_morph: MorphScore 2025 leaves out words of one morph.
        frequency_scale: MorphScore 2025 weighs words by frequency.

    Returns:
        Findings for each language and form, and over all languages; tables ``morphology`` (the same with
        intervals), ``morphology_groups``, ``morphology_words`` and ``morphology_morphs``.

    Raises:
        SutureError: a number of the options is negative, or the lexicon has no entry.
    """
    for name, value in {"resamples": resamples, "seed": seed, "pairs": pairs, "words": words}.items():
        if value < 0:
            raise SutureError(f"{name} of morphology must be 0 or more; got {value}; correct the option")
    if not len(lexicon):
        raise SutureError(f"a lexicon must have an entry to be scored; {lexicon.name} has none; give another")
    quirks = Quirks(exclude_single_token, exclude_single_morph, frequency_scale)
    settings = Settings(quirks, resamples, seed, pairs, words)
    parts = list(_parts(segmenter, lexicon, settings))
    figures = [*(row for part in parts for row in part.measures), *_unplaced(lexicon)]
    table = pl.DataFrame(figures, SCHEMA)
    table = table.with_columns(subject=pl.lit(segmenter.name))
    subject = pl.lit(segmenter.name).alias("subject")
    tables = {"morphology": table}
    for name in ("groups", "words", "morphs"):
        joined = pl.concat([getattr(part, name) for part in parts])
        tables[f"morphology_{name}"] = joined.select(subject, pl.all())
    findings = _findings(table)
    if str(getattr(segmenter, "source", "")).startswith("affixes:") and "embedded" in lexicon.source:
        said = "the embedded lexicon is made by the rules of this segmenter: the figures measure it by itself"
        circular = Finding(segmenter.name, "morphology", "circular", severity="warn", note=said)
        findings = pl.concat([findings, frame([circular])])
    return Outcome(findings, tables)


def _parts(segmenter: Segmenter, lexicon: MorphLexicon, settings: Settings) -> Iterator[Part]:
    own = isinstance(segmenter, Tokenizer) and segmenter.pipeline.prefix_space
    forms = {"after a space": ""} if own else FORMS  # such a tokenizer puts the space itself
    words, spoken = lexicon.frame["word"].to_list(), lexicon.frame["language"].to_numpy()
    for form, before in forms.items():
        cuts = cut_words(segmenter, words, before)
        together = [None] if len(lexicon.languages) > 1 else []
        for language in [*together, *lexicon.languages]:
            rows = np.flatnonzero((spoken == language) | (language is None))
            compared = Compared([words[row] for row in rows], lexicon.boundaries.pick(rows), cuts.pick(rows))
            yield _part(lexicon.frame[rows], compared, (language, form), settings)


def _part(frame: pl.DataFrame, compared: Compared, which: tuple[str | None, str], settings: Settings) -> Part:
    language, form = which
    frequency, source = frequencies(frame)
    columns = ratios_of(compared, frequency, source, settings.quirks)
    above, below = (np.stack([each[at] for each in columns], 1) for at in (3, 4))
    found = ratios(above, below, settings.resamples, settings.seed)
    scored = int(compared.scored.sum())
    place = {"language": language, "form": form}
    rows = [
        {**place, "measure": each.measure, "variant": each.variant, "unit": each.unit, "value": value,
         "low": low, "high": high, "words": int((below[:, at] > 0).sum()),
         "note": None if value is not None else _why(each.measure, compared)}
        for at, (each, value, low, high) in enumerate(zip(columns, *map(_nullable, found), strict=True))
    ]  # fmt: skip
    rows += [{**place, **row} for row in _counts(compared, scored)]
    both = _row(
        SUBWORDS[-1], REVISED_MACRO + settings.quirks.said, "share", macro_f1(compared, settings.quirks)
    )
    rows.append({**place, **both, "words": scored})
    if language is None:
        return Part(rows, *(each.to_frame() for each in (PLACED_GROUPS, WORDS, MORPHS)))
    split = equal.splits(compared, frame["morphs"].explode())
    rows += [{**place, **row, "words": scored} for row in _equal(compared, frame, split, settings)]
    at = [pl.lit(language).alias("language"), pl.lit(form).alias("form")]
    return Part(
        rows,
        groups(compared, frame, frequency).select(*at, pl.all()),
        words_table(compared, frame, settings.words).select(*at, pl.all()).cast(WORDS),
        morphs_table(split, frame, compared.scored).select(*at, pl.all()).cast(MORPHS),
    )


def _nullable(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def _why(measure: str, compared: Compared) -> str:
    """Why there is no figure."""
    if not compared.scored.any():
        return "not applicable: every word has an unknown token"
    if measure == "cuts_inside_characters" or (measure == "precision" and not compared.predicted.any()):
        return "not applicable: no word is cut"
    return "undefined: no word that the measure is about"


def _counts(compared: Compared, scored: int) -> Iterator[dict[str, Any]]:
    sums = {
        "words_scored": ("words without an unknown token", "words", scored),
        "words_unknown": ("words with an unknown token, left out", "words", len(compared.words) - scored),
        "boundaries_gold": ("in words scored", "boundaries", compared.gold.counts[compared.scored].sum()),
        "boundaries_predicted": ("in words scored", "boundaries", compared.predicted[compared.scored].sum()),
        "boundaries_hit": ("in words scored", "boundaries", compared.hits[compared.scored].sum()),
    }
    for measure, (variant, unit, value) in sums.items():
        yield {"measure": measure, "variant": variant, "unit": unit, "value": float(value), "words": scored}


def _equal(
    compared: Compared, frame: pl.DataFrame, split: pl.DataFrame, settings: Settings
) -> Iterator[dict[str, Any]]:
    """Figures of equal morphs, of families of words, and of surprisal; they have no interval."""
    chosen = np.flatnonzero(compared.scored)
    shown = split.filter(pl.Series(compared.scored[split["row"].to_numpy()]))
    morphs = equal.consistency(shown)
    yield _row(
        "morpheme_consistency", "occurrences split as most of their morph are", "share", morphs.majority
    )
    yield _row("morpheme_split_entropy", "mean over occurrences of morphs that recur", "bits", morphs.entropy)
    pieces = compared.pieces
    tokens = equal.surprisal([pieces[at] for at in chosen], _at_gold(compared))
    if len(chosen) > settings.pairs:
        chosen = np.sort(np.random.default_rng(settings.seed).choice(chosen, settings.pairs, replace=False))
    said = f"pairs of {len(chosen)} words"
    gold = frame["morphs"].to_list()
    found = equal.pair_scores([pieces[at] for at in chosen], [gold[at] for at in chosen])
    for name, value in zip(found._fields, found, strict=True):
        yield _row(f"pair_consistency_{name}", said, "share", value)
    family, variant = families(frame)
    roots = shown.sort(pl.col("morph").str.len_chars(), descending=True, maintain_order=True)
    roots = roots.unique("row", keep="first", maintain_order=True)
    paradigm = equal.consistency(roots.with_columns(family=family.gather(roots["row"])), "family")
    yield _row("paradigm_entropy", f"splits of the longest morph, {variant}", "bits", paradigm.entropy)
    yield _row(
        "boundary_surprisal",
        "at gold boundaries less at other cuts, per byte",
        "bits/byte",
        tokens.difference,
    )
    yield _row("boundary_surprisal_auc", "tokens at gold boundaries against other cuts", "share", tokens.auc)


def _unplaced(lexicon: MorphLexicon) -> Iterator[dict[str, Any]]:
    """How much of the gold has no place on the surface, and so no part in any figure."""
    lost = lexicon.ledger.filter(pl.col("reason").is_in(UNPLACED)).group_by("language")
    rows = dict(lost.agg(pl.col("rows").sum()).iter_rows())
    kept = dict(lexicon.frame["language"].value_counts().iter_rows())
    languages = list(dict.fromkeys([*lexicon.languages, *sorted(rows)]))
    counts = {each: (rows.get(each, 0), kept.get(each, 0)) for each in languages}
    whole = {None: (sum(rows.values()), len(lexicon))} if len(languages) > 1 else {}
    variant = "rows whose morphs do not join to the word, or in several ways"
    for language, (out, entries) in {**whole, **counts}.items():
        note = f"{out:,} rows have no certain place on the surface, {entries:,} entries are scored"
        row = _row("gold_unplaced", variant, "share", out / (out + entries))
        yield {**row, "language": language, "words": entries, "note": note}


def _at_gold(compared: Compared) -> NDArray[np.bool_]:
    """Whether each cut of a word that is scored is at a gold boundary (cuts,)."""
    hit = np.isin(compared.cuts.bounds.keys, compared.gold.keys, assume_unique=True)
    found: NDArray[np.bool_] = hit[compared.scored[compared.cuts.bounds.rows]]
    return found


def _row(measure: str, variant: str, unit: str, value: float | None) -> dict[str, Any]:
    note = None if value is not None else "undefined: nothing to compare"
    return {"measure": measure, "variant": variant, "unit": unit, "value": value, "note": note}


def _findings(table: pl.DataFrame) -> pl.DataFrame:
    """The measures as findings; a language in which nothing could be scored is warned of."""
    unscored = (pl.col("measure") == "words_scored") & (pl.col("value") == 0)
    lost = (pl.col("measure") == "gold_unplaced") & (pl.col("words") == 0)
    shown = table.with_columns(
        variant=pl.concat_str("variant", "form", separator="; ", ignore_nulls=True),
        note=pl.when(unscored).then(pl.lit("no word of this language can be scored")).otherwise("note"),
        severity=pl.when(unscored | lost).then(pl.lit("warn")).otherwise(pl.lit("info")),
    )
    names = ("subject", "measure", "variant", "value", "unit", "severity", "language", "note")
    return columnar({"audit": "morphology", **{name: pl.col(name) for name in names}}, shown)
