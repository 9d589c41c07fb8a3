"""The tables of a growing BPE: cost, census, boundaries and units at each size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from vocab_audits.boundaries import scored
from vocab_audits.censuses import census, classes
from vocab_audits.chance import LEAST, LONGEST, MATCHED, chance, draw, substrings
from workbench.bpe import BYTES
from workbench.languages import has_word_spaces

if TYPE_CHECKING:
    from collections import Counter

    from numpy.typing import NDArray

    from vocab_audits.growth import Grown
    from vocab_audits.unitclasses import Classified
    from workbench.lexicon import MorphLexicon

CHUNK = 1 << 16
"""Words encoded at a time."""

LETTERS = r"^[\p{L}\p{M}]+$"


def subject(size: int) -> str:
    """Name of the BPE of a size."""
    return f"bpe-{size}"


def costs(grown: Grown) -> pl.DataFrame:
    """Tokens, bytes per token and tokens per word of the text at each size.

    Returns:
        subject, size, language (null for the whole), documents, bytes, words, tokens, bytes_per_token,
        fertility; tokens per word only where words have spaces between.
    """
    parts = []
    for size in grown.sizes:
        each = grown.restricted.tokens(size)
        tokens = {language: int((each * found).sum()) for language, found in grown.occurrences.items()}
        rows = grown.text.totals.with_columns(
            tokens=pl.col("language").replace_strict(tokens, return_dtype=pl.Int64)
        )
        spaced = [language for language in tokens if has_word_spaces(language)]
        rows = rows.with_columns(worded=pl.when(pl.col("language").is_in(spaced)).then(pl.col("tokens")))
        whole = rows.select(
            pl.lit(None, pl.String).alias("language"),
            pl.col("documents", "bytes").sum(),
            pl.when(pl.col("words").count() > 0).then(pl.col("words").sum()),
            pl.col("tokens", "worded").sum(),
        )
        parts.append(
            pl.concat([whole, rows.select(whole.columns)]).select(
                pl.lit(subject(size)).alias("subject"), pl.lit(size, pl.Int64).alias("size"), pl.all()
            )
        )
    return pl.concat(parts).select(
        pl.exclude("worded"),
        (pl.col("bytes") / pl.when(pl.col("tokens") > 0).then(pl.col("tokens"))).alias("bytes_per_token"),
        (pl.col("worded") / pl.when(pl.col("words") > 0).then(pl.col("words"))).alias("fertility"),
    )


def censuses(grown: Grown, known: Classified) -> pl.DataFrame:
    """The census of each size: subject, size, and the columns of ``censuses.census``."""
    table = classes(known)
    total = np.sum(list(grown.occurrences.values()), axis=0)
    return pl.concat(
        census(table.filter(pl.col("token_id") < size), known, grown.restricted.counts(total, size)).select(
            pl.lit(subject(size)).alias("subject"), pl.lit(size, pl.Int64).alias("size"), pl.all()
        )
        for size in grown.sizes
    )


def boundaries(grown: Grown, lexicon: MorphLexicon) -> pl.DataFrame:
    """Precision, recall and F1 of the cuts inside the lexicon's words at each size.

    Each word is cut once, at the full size; the cuts of a smaller size are those that later merges close.

    Returns:
        subject, size, language (null for the whole), words, gold, predicted, hits, precision, recall, f1.
        Sums over words (micro); each word stands after a space; cuts inside a character are none.
    """
    joined, gold, language = _places(grown, lexicon)
    names, count = lexicon.languages, len(lexicon.languages)
    words = dict(lexicon.frame["language"].value_counts().iter_rows())
    golds = np.bincount(language[gold], minlength=count)
    parts = []
    for size in grown.sizes:
        cut = joined >= size
        rows = pl.DataFrame(
            {
                "language": names,
                "words": [words[name] for name in names],
                "gold": golds,
                "predicted": np.bincount(language[cut], minlength=count),
                "hits": np.bincount(language[cut & gold], minlength=count),
            },
            schema={"language": pl.String, **dict.fromkeys(("words", "gold", "predicted", "hits"), pl.Int64)},
        )
        whole = rows.select(pl.lit(None, pl.String).alias("language"), pl.exclude("language").sum())
        parts.append(
            pl.concat([whole, rows]).select(
                pl.lit(subject(size)).alias("subject"), pl.lit(size, pl.Int64).alias("size"), pl.all()
            )
        )  # fmt: skip
    return scored(pl.concat(parts))


def _places(
    grown: Grown, lexicon: MorphLexicon
) -> tuple[NDArray[np.int32], NDArray[np.bool_], NDArray[np.int64]]:
    """Each place between two characters of a word: what entry closes it, whether morphs meet, language."""
    words = (" " + lexicon.frame["word"]).to_list()
    parts = [grown.running.encode_batch(words[at : at + CHUNK]).ids for at in range(0, len(words), CHUNK)]
    joined = grown.restricted.joined_by(np.concatenate([np.empty(0, np.int32), *parts]))
    sizes = lexicon.boundaries.sizes + 1  # with the space
    starts = np.cumsum(sizes) - sizes
    stream = np.frombuffer("".join(words).encode() + b"\0", np.uint8)
    inner = (stream[1:] & 0xC0) != 0x80
    inner[starts] = inner[starts + sizes - 1] = False  # after the space, and after the word
    gold = np.zeros(len(joined), bool)
    gold[starts[lexicon.boundaries.rows] + lexicon.boundaries.places] = True
    number = {name: place for place, name in enumerate(lexicon.languages)}
    named = lexicon.frame["language"].replace_strict(number, return_dtype=pl.Int64).to_numpy()
    return joined[inner], gold[inner], np.repeat(named, sizes)[inner]


def units(grown: Grown, lexicon: MorphLexicon, words: Counter[str]) -> pl.DataFrame:
    """Every morph and word of the lexicon in lower case, with the merge that makes it an entry.

    Args:
        grown: the BPE.
        lexicon: words and their morphs.
        words: words of the text, in lower case.

    Returns:
        kind (``morph``, ``word``), language, role, unit, attested (the word, or one with the morph, is in
        the text), token_id, rank (of its first merge; null for a single byte and for what never comes),
        size (entries at which it is there; null for what never comes). An entry counts in lower case and
        without the space before it.
    """
    frame = lexicon.frame.with_columns(word=pl.col("word").str.to_lowercase())
    seen = pl.Series(list(words), dtype=pl.String)
    frame = frame.with_columns(attested=pl.col("word").is_in(seen.implode()))
    blank = pl.lit(None, pl.String).repeat_by(pl.col("morphs").list.len())
    roles = pl.when(pl.col("roles").is_null()).then(blank).otherwise(pl.col("roles").cast(pl.List(pl.String)))
    morphs = frame.select("language", "attested", unit="morphs", role=roles).explode("unit", "role")
    morphs = morphs.with_columns(pl.col("unit").str.to_lowercase(), kind=pl.lit("morph"))
    whole = frame.select(
        "language", "attested", unit="word", role=pl.lit(None, pl.String), kind=pl.lit("word")
    )
    keys = ["kind", "language", "role", "unit"]
    table = pl.concat([part.select(*keys, "attested") for part in (morphs, whole)])
    table = table.group_by(keys, maintain_order=True).agg(pl.col("attested").any())
    first = _strings(grown).group_by(unit="string").agg(pl.col("token_id").min())
    merged = pl.col("token_id").cast(pl.Int64) - len(BYTES)
    return table.join(first, on="unit", how="left", maintain_order="left").with_columns(
        rank=pl.when(merged >= 0).then(merged), size=pl.max_horizontal(merged + 1, 0) + len(BYTES)
    ).with_columns(size=pl.when(pl.col("token_id").is_not_null()).then("size"))  # fmt: skip


def _strings(grown: Grown) -> pl.DataFrame:
    """Entries as they are compared with units: token_id and string, in lower case, without a space before."""
    texts = grown.tokenizer.inventory.texts
    table = pl.DataFrame({"token_id": np.arange(len(texts), dtype=np.int32), "string": texts})
    string = pl.col("string").str.strip_prefix(" ").str.to_lowercase()
    return table.with_columns(string).filter(pl.col("string").str.len_bytes() > 0)


def reached(grown: Grown, forms: pl.DataFrame) -> pl.DataFrame:
    """Which share of the lexicon's morphs and words are entries at each size.

    Returns:
        subject, size, kind, role, distinct, reached, share, and of those whose word is in the text attested,
        attested_reached, attested_share.
    """
    parts = [
        forms.group_by("kind", "role", maintain_order=True).agg(
            pl.lit(subject(size)).alias("subject"),
            pl.lit(size, pl.Int64).alias("size"),
            pl.len().cast(pl.Int64).alias("distinct"),
            (pl.col("size") <= size).sum().cast(pl.Int64).alias("reached"),
            pl.col("attested").sum().cast(pl.Int64).alias("attested_distinct"),
            (pl.col("attested") & (pl.col("size") <= size)).sum().cast(pl.Int64).alias("attested_reached"),
        )
        for size in grown.sizes
    ]
    some = pl.when(pl.col("attested_distinct") > 0).then("attested_distinct")
    return pl.concat(parts).select(
        "subject", "size", "kind", "role", "distinct", "reached",
        (pl.col("reached") / pl.col("distinct")).alias("share"),
        "attested_distinct", "attested_reached", (pl.col("attested_reached") / some).alias("attested_share"),
    )  # fmt: skip


def listed(
    grown: Grown, forms: pl.DataFrame, words: Counter[str], seed: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The entries as a list of morphs at each size, beside random substrings of the text's words.

    Returns:
        One row a size and kind of chance: subject, size, matched (of ``chance.MATCHED``), strings, hits,
        morphs, precision, recall, and at random expected (hits), deviation, expected_precision,
        expected_recall, excess. And one random list for the full size, as ``chance.draw`` gives it.
    """
    lengths = pl.col("unit").str.len_chars().is_between(LEAST, LONGEST)
    morphs = forms.filter((pl.col("kind") == "morph") & pl.col("attested") & lengths)["unit"].unique()
    pool = substrings(words, morphs)
    entries = _strings(grown).filter(pl.col("string").str.contains(LETTERS))
    first = entries.group_by("string").agg(pl.col("token_id").min()).sort("string")
    rows = []
    for size in grown.sizes:
        here = first.filter(pl.col("token_id") < size)["string"]
        for name, cell in MATCHED.items():
            found = chance(here, pool, cell)
            rows.append((subject(size), size, name, found.size, found.hits, len(morphs), found.mean,
                         found.deviation, found.excess))  # fmt: skip
    counts = dict.fromkeys(("strings", "hits", "morphs"), pl.Int64)
    schema = {"subject": pl.String, "size": pl.Int64, "matched": pl.String, **counts,
              **dict.fromkeys(("expected", "deviation", "excess"), pl.Float64)}  # fmt: skip
    strings, known = (pl.when(pl.col(name) > 0).then(name) for name in ("strings", "morphs"))
    table = pl.DataFrame(rows, schema, orient="row").with_columns(
        precision=pl.col("hits") / strings,
        recall=pl.col("hits") / known,
        expected_precision=pl.col("expected") / strings,
        expected_recall=pl.col("expected") / known,
    )
    random = draw(first["string"], pool, MATCHED["as frequent"], seed)
    return table, random.select(pl.lit(subject(grown.sizes[-1])).alias("subject"), pl.all())


def merge_log(grown: Grown, known: Classified) -> pl.DataFrame:
    """Every merge in its order.

    Returns:
        subject, rank, token_id, left, right, bytes, class, tokens (occurrences at the full size).
    """
    total = np.sum(list(grown.occurrences.values()), axis=0)
    pieces, built = grown.tokenizer.inventory.frame["bytes"], np.flatnonzero(grown.restricted.left >= 0)
    log = pl.DataFrame({
        "rank": built - len(BYTES), "token_id": built.astype(np.int32),
        "left": pieces.gather(grown.restricted.left[built]),
        "right": pieces.gather(grown.restricted.right[built]), "tokens": total[built],
    })  # fmt: skip
    log = log.join(
        classes(known).select("token_id", "bytes", "class"), on="token_id", how="left", maintain_order="left"
    )
    return log.select(
        pl.lit("bpe").alias("subject"), "rank", "token_id", "left", "right", "bytes", "class", "tokens"
    )
