"""A tokenizer's compression of a corpus beside the compute-optimal one of a published fit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from vocab_audits import computelaw as law
from vocab_audits.masking import at_random, last_learned, merging
from vocab_audits.parallel import EXAMPLES, NO_LANGUAGE, parallel_sets
from vocab_audits.sampling import sampled
from vocab_audits.sizing import ALPHABET, curves
from vocab_audits.training import MOST
from workbench.audit import Outcome, audit
from workbench.errors import SutureError
from workbench.findings import Finding
from workbench.languages import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vocab_audits.sizing import Curve
    from workbench.corpora import Corpus
    from workbench.corpusfiles import CorpusFile
    from workbench.tokenizer import Tokenizer

TOTALS = "ratio of totals"
SPELLED = 0.01
"""Share of unknown tokens above which compression is that of text which is lost, and no gap is given."""

BILLION = 1e9
PLAIN = f"to T*; {law.FIT}"
ADJUSTED = f"to T* times the bytes of equal content; {law.FIT}"
TRAINED, HELD = "on nine tenths of the text, which it is trained on", "on a tenth of the text, held out"

SIZES: dict[str, Any] = {
    "text": pl.String, "entries": pl.Int64, "bytes": pl.Int64, "tokens": pl.Int64,
    "bytes_per_token": pl.Float64,
}  # fmt: skip
MASKS: dict[str, Any] = {
    "share": pl.Float64, "masked": pl.String, "kept": pl.Int64, "usable": pl.Int64, "bytes": pl.Int64,
    "tokens": pl.Int64, "bytes_per_token": pl.Float64,
}  # fmt: skip


class Asked(NamedTuple):
    """What the recommendation is for: budget C, bytes per parameter ρ, and T*(C)."""

    compute: float
    per_parameter: float
    target: float


@audit("Compute-optimal compression")
def optimum(
    tokenizer: Tokenizer,
    corpus: Corpus,
    *,
    compute: float = 1e20,
    bytes_per_parameter: float = law.BYTES_PER_PARAMETER,
    largest: int = 65_536,
    mask: tuple[float, ...] = (0.9, 0.75),
    limit_bytes: int = 1_000_000,
    seed: int = 0,
) -> Outcome:
    """Bytes per token beside the compute-optimal ones of arXiv 2605.01188, whose fit it rests on.

    Args:
        tokenizer: the tokenizer.
        corpus: the corpus; what of it is parallel tells the bytes of equal content of a language.
        compute: training budget C in FLOP; outside of 5e18 to 2e21 the fit is extrapolated.
        bytes_per_parameter: bytes of training text for a parameter, ρ.
        largest: entries of the largest BPE that is trained to find the size which meets the recommendation;
            0 trains none.
        mask: shares of the entries that merges build to take away, for BPE; none skips it.
        limit_bytes: bytes of text, drawn by hash, for training and for masking; 0 for all.
        seed: seed of masking at random.

    Returns:
        Findings; tables ``optimum`` (bytes per token by language and domain, with targets and gaps),
        ``optimum_sizes`` (compression by size of a BPE) and ``optimum_masking``.

    Raises:
        SutureError: an option is out of its range.
    """
    _check(bytes_per_parameter, largest, mask)
    asked = Asked(compute, bytes_per_parameter, law.recommended(compute))
    table = _with_targets(_measured(tokenizer, corpus), _content(tokenizer, corpus), asked)
    name, subject = tokenizer.name, pl.lit(tokenizer.name).alias("subject")
    findings = [*_whole(name, table.row(0, named=True), asked), *_by_language(name, table)]
    tables = {"optimum": table.select(subject, pl.all())}
    wanted = sampled(corpus, limit_bytes) if largest or mask else []
    texts = [text for batch in wanted for text in batch.texts]
    if largest:
        found, cut = _curves(tokenizer, texts, largest)
        findings += [_size(name, each, text, asked, largest, cut) for text, each in found.items()]
        rows = [row for text, each in found.items() if each for row in _size_rows(each, text, asked)]
        tables["optimum_sizes"] = pl.DataFrame(rows, schema=SIZES).select(subject, pl.all())
    if mask:
        rows = list(_masked(tokenizer, texts, mask, seed))
        findings += _mask_findings(name, rows, mask)
        tables["optimum_masking"] = pl.DataFrame(rows, schema=MASKS).select(subject, pl.all())
    return Outcome(findings, tables)


def _check(per_parameter: float, largest: int, mask: Sequence[float]) -> None:
    if not 0 < per_parameter < math.inf:
        raise SutureError(f"bytes_per_parameter must be positive; got {per_parameter}; 60 is the fit's")
    if largest and not ALPHABET <= largest <= MOST:
        raise SutureError(
            f"largest must be 0, or from the {ALPHABET} bytes to {MOST:,} entries; got {largest}; correct it"
        )
    if not all(0 <= share < 1 for share in mask):
        raise SutureError(
            f"each share of mask must be from 0 up to 1; got {list(mask)}; 0.9 masks nine tenths"
        )


def _domain(file: CorpusFile) -> str:
    """The folder of a file that is named after its language, else the file's own name."""
    if file.format == "examples":
        return EXAMPLES
    named = file.language and file.language not in NO_LANGUAGE
    return file.path.parent.name if named else file.path.name.partition(".")[0]


def _measured(tokenizer: Tokenizer, corpus: Corpus) -> pl.DataFrame:
    """Documents, bytes and tokens: first of all together, then by language, then by domain."""
    rows = []
    for file in corpus.files:
        for batch in corpus.file_batches(file):
            ids = tokenizer.encode_batch(batch.texts).ids
            lost = int(np.isin(ids, sorted(tokenizer.unknown)).sum()) if tokenizer.unknown else 0
            size = len("".join(batch.texts).encode())
            rows.append((_domain(file), batch.language or UNKNOWN, len(batch.texts), size, len(ids), lost))
    sizes = ["documents", "bytes", "tokens", "unknown_tokens"]
    parts = pl.DataFrame(rows, schema=["domain", "language", *sizes], orient="row")
    if not parts["bytes"].sum():
        raise corpus.no_text()
    order = ["domain", "language", *sizes]
    null = {key: pl.lit(None, pl.String).alias(key) for key in order[:2]}
    groups = [parts.select(pl.col(sizes).sum()).with_columns(*null.values()).select(order)]
    for key, other in (("language", "domain"), ("domain", "language")):
        some = parts.group_by(key).agg(pl.col(sizes).sum()).sort(key)
        groups.append(some.with_columns(null[other]).select(order))
    return pl.concat(groups)


def _content(tokenizer: Tokenizer, corpus: Corpus) -> dict[str, float]:
    """Bytes of each language for those of English, on parallel text; of several parts, the longest has it."""
    found: dict[str, float] = {}
    sets = [each for each in parallel_sets(tokenizer, corpus, None) if each.reference[:2].lower() == "en"]
    for each in sorted(sets, key=lambda one: one.size):
        there = int(each.lines[each.reference].bytes.sum())
        if there:
            found |= {name: int(lines.bytes.sum()) / there for name, lines in each.lines.items()}
    return found


def _with_targets(sizes: pl.DataFrame, content: dict[str, float], asked: Asked) -> pl.DataFrame:
    """Adds compression, what it implies, and the distance to the recommendation, plain and adjusted."""
    rate = pl.col("bytes") / pl.when(pl.col("tokens") > 0).then(pl.col("tokens"))
    known = pl.col("language").replace_strict(content, default=None, return_dtype=pl.Float64)
    table = sizes.with_columns(bytes_per_token=rate, content_bytes=known)
    own = asked.target * pl.col("content_bytes")
    spelled = pl.when(pl.col("unknown_tokens") <= SPELLED * pl.col("tokens")).then(pl.col("bytes_per_token"))
    return table.with_columns(
        tokens_per_parameter=asked.per_parameter / pl.col("bytes_per_token"),
        target=pl.lit(asked.target),
        gap=spelled - asked.target,
        adjusted_target=own,
        adjusted_gap=spelled - own,
    )


def _whole(name: str, row: dict[str, Any], asked: Asked) -> Iterator[Finding]:
    """Figures of the corpus as a whole and of the budget."""
    rate = row["bytes_per_token"]
    budget, warned = f"for C = {asked.compute:g} FLOP; {law.FIT}", law.outside(asked.compute, None)
    low, high = law.rounding(asked.compute)
    yield Finding(name, "optimum", "bytes_per_token", rate, TOTALS, "bytes per token")
    yield Finding(
        name, "optimum", "recommended_bytes_per_token", asked.target, budget, "bytes per token",
        "warn" if warned else "info", note=warned,
        evidence=f"{low:.2f} to {high:.2f}, as the published constants are rounded",
    )  # fmt: skip
    if rate is None:
        return
    note = _lost(row) if row["gap"] is None else law.outside(asked.compute, rate)
    yield Finding(
        name, "optimum", "gap_to_recommended", row["gap"], PLAIN, "bytes per token", note=note,
        evidence=f"{rate / asked.target:.3f} times the recommended" if row["gap"] is not None else None,
    )  # fmt: skip
    ratio = f"at {asked.per_parameter:g} bytes per parameter, for English; {law.FIT}"
    yield Finding(
        name, "optimum", "tokens_per_parameter", row["tokens_per_parameter"], ratio, "tokens per parameter"
    )
    best = law.allocation(asked.compute, rate, asked.per_parameter)
    said = f"of C = 6 N B / T, {budget}"
    note = law.outside(asked.compute, rate)
    for measure, value, unit in (
        ("optimal_parameters", best.parameters, "10⁹ parameters"),
        ("optimal_text", best.bytes, "10⁹ bytes"),
        ("optimal_tokens", best.tokens, "10⁹ tokens"),
    ):
        yield Finding(name, "optimum", measure, value / BILLION, said, unit, note=note)


def _lost(row: dict[str, Any]) -> str:
    share = row["unknown_tokens"] / row["tokens"]
    return f"not applicable: {share:.1%} of the tokens stand for text without an entry"


def _by_language(name: str, table: pl.DataFrame) -> Iterator[Finding]:
    for row in table.filter(pl.col("language").is_not_null()).iter_rows(named=True):
        for key, variant in (("gap", PLAIN), ("adjusted_gap", ADJUSTED)):
            note = None
            if row["bytes_per_token"] is None:
                note = "not applicable: no tokens"
            elif row["gap"] is None:
                note = _lost(row)
            elif row[key] is None:
                note = "not applicable: no text parallel to English tells its bytes of equal content"
            yield Finding(
                name,
                "optimum",
                "gap_to_recommended",
                row[key],
                variant,
                "bytes per token",
                language=row["language"],
                note=note,
            )


def _curves(tokenizer: Tokenizer, texts: list[str], largest: int) -> tuple[dict[str, Curve | None], str]:
    """Compression by size, and how the text was cut: as the tokenizer cuts where its pattern can be read."""
    pattern = tokenizer.pipeline.pattern
    cut = "cut by GPT-2's pattern" if pattern is None else "cut by the tokenizer's pattern"
    try:
        found = curves(texts, pattern, largest)
    except SutureError:
        if pattern is None:
            raise
        found, cut = (
            curves(texts, None, largest),
            "cut by GPT-2's pattern, as the tokenizer's own cannot be read",
        )
    return dict(zip((TRAINED, HELD), found, strict=True)), cut


def _size(name: str, curve: Curve | None, text: str, asked: Asked, largest: int, cut: str) -> Finding:
    """The least size that meets the recommendation, or how far the largest falls short."""
    measure, variant = "entries_for_recommended", f"smallest BPE {text}; {law.FIT}"
    if curve is None:
        note = "not applicable: too few documents to hold some out"
        return Finding(name, "optimum", measure, None, variant, "entries", note=note)
    least = curve.smallest(asked.target)
    best = f"{curve.largest:,} entries make {curve.rate(curve.largest):.3f} bytes per token"
    if least is None:
        end = "no larger one was asked for" if curve.largest >= largest else "the text gives no more merges"
        note = f"not reached: {best}, and {end}; {cut}"
        return Finding(name, "optimum", measure, None, variant, "entries", note=note)
    return Finding(name, "optimum", measure, float(least), variant, "entries", note=cut, evidence=best)


def _size_rows(curve: Curve, text: str, asked: Asked) -> Iterator[dict[str, Any]]:
    """The curve at doubling sizes, at its end and where it meets the recommendation."""
    steps = {ALPHABET << power for power in range(64) if ALPHABET << power <= curve.largest}
    steps |= {curve.largest, curve.smallest(asked.target) or curve.largest}
    for entries in sorted(steps):
        tokens = int(curve.tokens[entries - ALPHABET])
        yield {
            "text": text, "entries": entries, "bytes": curve.bytes, "tokens": tokens,
            "bytes_per_token": curve.rate(entries),
        }  # fmt: skip


def _masked(
    tokenizer: Tokenizer, texts: list[str], shares: Sequence[float], seed: int
) -> Iterator[dict[str, Any]]:
    """Tokens with all merges and with each share of the entries taken away; nothing where no merges are."""
    merged = merging(tokenizer, texts)
    if merged is None:
        return
    size = sum(len(text.encode()) for text in texts)
    kinds: list[tuple[float, str, Any]] = [(0.0, "none", merged.order)]
    for share in dict.fromkeys(shares):
        stay = round((1 - share) * len(merged.order))
        kinds.append((share, "last learned", last_learned(merged, stay)))
        kinds.append((share, "at random", at_random(merged, stay, seed)))
    for share, how, kept in kinds:
        tokens = merged.tokens(kept)
        yield {
            "share": share, "masked": how, "kept": len(kept), "usable": len(merged.usable(kept)),
            "bytes": size, "tokens": tokens, "bytes_per_token": size / tokens if tokens else None,
        }  # fmt: skip


def _mask_findings(name: str, rows: list[dict[str, Any]], shares: Sequence[float]) -> Iterator[Finding]:
    unit = "bytes per token"
    if not rows:
        note = "not applicable: masking takes merges away, and this model has none"
        for share in dict.fromkeys(shares):
            yield Finding(name, "optimum", "masked_bytes_per_token", None, _share(share, ""), unit, note=note)
        return
    for row in rows:
        said = f"{row['kept']:,} entries kept, of which {row['usable']:,} can still be built"
        yield Finding(
            name, "optimum", "masked_bytes_per_token", row["bytes_per_token"],
            _share(row["share"], row["masked"]), unit,
            note=said if row["share"] else None,
        )  # fmt: skip


def _share(share: float, how: str) -> str:
    if not share:
        return "all merges, nothing masked"
    return f"{share:.4g} of the entries that merges build masked{', ' if how else ''}{how}"
