"""The formats in which linguists share segmentations: how each is told, and what each row of it says.

A reader takes the cells of rows (lists of text) and gives the columns word, parts, and what else the format
knows of ``MorphLexicon``; parts may be underlying forms.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from workbench.languages import language_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

POS = {"N": "NOUN", "V": "VERB", "ADJ": "ADJ", "ADV": "ADV", "PROPN": "PROPN", "NUM": "NUM", "PRO": "PRON",
       "DET": "DET", "ADP": "ADP", "CONJ": "CCONJ", "PART": "PART", "INTJ": "INTJ"}  # fmt: skip
"""First tag of UniMorph's features, and MorphyNet's letters, as Universal Dependencies tags."""
DERIVED = {"N": "NOUN", "V": "VERB", "J": "ADJ", "R": "ADV", "U": None, "P": None}
PROCESSES = ("inflection", "derivation", "compound")
_FEATURES = re.compile(r"[A-Z][A-Z0-9+./_{}-]*(?:[;|,][A-Za-z0-9+./_{}-]+)*")
"""``V;PST`` of UniMorph, ``V|PST`` of MorphyNet."""
_LANGUAGE = r"^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,4})*$"


class Format(NamedTuple):
    """One format.

    Attributes:
        about: what it is and how a row of it looks.
        fits: whether some rows, as lists of cells, look like it.
        read: the columns of a frame with a column ``cells``; where a row is not to be used, ``left`` has
            the reason, one of ``lexicon.REASONS``.
        header: names in the first row that tell it, or none.
        note: what a reader of figures made with it should know.
    """

    about: str
    fits: Callable[[Sequence[Sequence[str]]], bool]
    read: Callable[[pl.DataFrame], dict[str, pl.Expr]]
    header: tuple[str, ...] = ()
    note: str | None = None


def cell(number: int) -> pl.Expr:
    """The cell of that number, stripped; null where a row has fewer."""
    return pl.col("cells").list.get(number, null_on_oob=True).str.strip_chars()


def _each(rows: Sequence[Sequence[str]], *conditions: Callable[[Sequence[str]], bool]) -> bool:
    """Whether nine rows of ten meet all conditions."""
    good = sum(all(condition(row) for condition in conditions) for row in rows)
    return bool(rows) and good >= 0.9 * len(rows)


def _by_header(_: Sequence[Sequence[str]]) -> bool:
    """A format that its first row alone tells."""
    return False


def _sigmorphon(_: pl.DataFrame) -> dict[str, pl.Expr]:
    code = cell(2)
    named = [
        pl.when(code.str.slice(place, 1) == "1").then(pl.lit(name)) for place, name in enumerate(PROCESSES)
    ]
    process = pl.concat_str(named, separator="+", ignore_nulls=True)
    return {
        "word": cell(0),
        "parts": cell(1).str.split(" @@"),
        "process": pl.when(process != "").then(process),
    }


def _feature_pos(features: pl.Expr) -> pl.Expr:
    return features.str.extract(r"^([A-Z]+)").replace_strict(POS, default=None, return_dtype=pl.String)


def _inflected(_: pl.DataFrame) -> dict[str, pl.Expr]:
    # A dash, or no fourth column, is no segmentation: also of forms that have endings, as infinitives do.
    said = cell(3).fill_null("-").is_in(["-", ""])
    return {
        "word": cell(1),
        "parts": cell(3).str.split("|"),
        "left": pl.when(cell(2).is_null()).then(pl.lit("malformed")).when(said).then(pl.lit("unanalysed")),
        "process": pl.lit("inflection"),
        "lemma": cell(0),
        "features": cell(2),
        "pos": _feature_pos(cell(2)),
    }


def _derived(_: pl.DataFrame) -> dict[str, pl.Expr]:
    prefix = cell(5) == "prefix"
    base, affix = cell(0), cell(4).str.strip_chars("-")
    root = pl.lit("root")
    pair = pl.when(prefix).then(pl.concat_list(affix, base)).otherwise(pl.concat_list(base, affix))
    roles = (
        pl.when(prefix).then(pl.concat_list(pl.lit("prefix"), root)).otherwise(
            pl.concat_list(root, pl.lit("suffix"))
        )
    )  # fmt: skip
    return {
        "word": cell(1),
        "parts": pl.when(cell(5).is_in(["prefix", "suffix"])).then(pair),
        "roles": roles,
        "process": pl.lit("derivation"),
        "lemma": base,
        "pos": cell(3).replace_strict(DERIVED, default=None, return_dtype=pl.String),
    }


def _morpho_challenge(_: pl.DataFrame) -> dict[str, pl.Expr]:
    # Alternatives stand behind commas. Where they cut differently, the row has no one segmentation.
    surface = cell(1).str.replace_all(r":[^\s,]+", "").str.replace_all(r"(^|[\s,])~", "$1")
    ways = surface.str.split(",").list.eval(pl.element().str.strip_chars().str.replace_all(r"\s+", " "))
    return {
        "word": cell(0),
        "parts": ways.list.first().str.split(" "),
        "left": pl.when(ways.list.n_unique() > 1).then(pl.lit("ambiguous")),
    }


def _plain(_: pl.DataFrame) -> dict[str, pl.Expr]:
    language = cell(2).replace("", None)
    return {
        "word": cell(0),
        "parts": cell(1).str.split(" "),
        "language": language,
        "left": pl.when(~language.str.contains(_LANGUAGE)).then(pl.lit("malformed")),
    }


def _named(table: pl.DataFrame, *names: str) -> pl.Expr:
    """The first of the named columns that a table with a header has; null where it has none."""
    found = next((name for name in names if name in table.columns), None)
    return pl.lit(None, pl.String) if found is None else pl.col(found).cast(pl.String).str.strip_chars()


def _morphscore_2024(table: pl.DataFrame) -> dict[str, pl.Expr]:
    parts = pl.concat_list(_named(table, "pt1").fill_null(""), _named(table, "rest").fill_null(""))
    return {"word": _named(table, "full_word"), "parts": parts}


def _morphscore_2025(table: pl.DataFrame) -> dict[str, pl.Expr]:
    around = [_named(table, name).fill_null("") for name in ("preceding_part", "stem", "following_part")]
    roles = [
        pl.when(part != "").then(pl.lit(role))
        for part, role in zip(around, ("prefix", "root", "suffix"), strict=True)
    ]
    return {
        "word": _named(table, "wordform", "word"),
        "parts": pl.concat_list(around).list.filter(pl.element() != ""),
        "roles": pl.concat_list(roles).list.drop_nulls(),
        "lemma": _named(table, "lemma"),
        "pos": _named(table, "pos", "POS", "upos"),
        "features": _named(table, "morphological_features", "feats"),
        "frequency": _named(table, "word_freq_norm", "word_freq").cast(pl.Float64, strict=False),
        "language": _named(table, "language"),
    }


def _morpholex(table: pl.DataFrame) -> dict[str, pl.Expr]:
    marked = _named(table, "MorphoLexSegm").str.extract_all(r"<[^<>(){}]+<|\([^()]+\)|>[^<>(){}]+>")
    names = {"<": "prefix", "(": "root", ">": "suffix"}
    inner = pl.element()
    parts = marked.list.eval(inner.str.slice(1, inner.str.len_chars() - 2).str.strip_chars("_"))
    roles = marked.list.eval(inner.str.slice(0, 1).replace_strict(names, return_dtype=pl.String))
    roots, affixes = roles.list.count_matches("root"), roles.list.len()
    made = [pl.when(affixes > roots).then(pl.lit("derivation")), pl.when(roots > 1).then(pl.lit("compound"))]
    process = pl.concat_str(made, separator="+", ignore_nulls=True)
    # Endings of inflection are not marked: a word that goes on after its last segment has one.
    ends = _named(table, "Word").str.to_lowercase().str.ends_with(parts.list.last().str.to_lowercase())
    return {
        "word": _named(table, "Word"),
        "parts": parts,
        "left": pl.when(~ends).then(pl.lit("unanalysed")),
        "roles": roles,
        "process": pl.when(process != "").then(process),
        "frequency": _named(table, "HAL_Freq", "freq").cast(pl.Float64, strict=False),
    }


FORMATS: dict[str, Format] = {
    "morphscore-2024": Format(
        "MorphScore 2024 CSV: pt1, rest, full_word",
        _by_header,
        _morphscore_2024,
        ("pt1", "rest", "full_word"),
        "MorphScore 2024 marks one boundary a word; other morphs stay together",
    ),
    "morphscore-2025": Format(
        "MorphScore 2025 CSV: preceding_part, stem, following_part, wordform",
        _by_header,
        _morphscore_2025,
        ("stem", "preceding_part", "following_part"),
    ),
    "morpholex": Format(
        "MorphoLex table (CSV or xlsx): Word, MorphoLexSegm as {<un<(do)>able>}",
        _by_header,
        _morpholex,
        ("Word", "MorphoLexSegm"),
        "MorphoLex does not part endings of inflection; words that go on after their last segment are out",
    ),
    "sigmorphon": Format(
        "SIGMORPHON 2022, words: word, morphs joined by ` @@`, code of three digits",
        lambda rows: (
            _each(rows, lambda row: 2 <= len(row) <= 3, lambda row: len(row) < 3 or len(row[2]) == 3)
            and any(" @@" in row[1] for row in rows)
        ),
        _sigmorphon,
    ),
    "morphynet-derivation": Format(
        "MorphyNet derivations: base, derived word, their parts of speech, affix, prefix or suffix",
        lambda rows: _each(rows, lambda row: len(row) == 6 and row[5].strip() in ("prefix", "suffix")),
        _derived,
        note="a row of MorphyNet's derivations parts one affix from its base; other morphs stay together",
    ),
    "inflection": Format(
        "UniMorph, MorphyNet inflections: lemma, form, features and, if it is segmented, parts joined by |",
        lambda rows: _each(
            rows, lambda row: 3 <= len(row) <= 4, lambda row: _FEATURES.fullmatch(row[2].strip()) is not None
        ),
        _inflected,
    ),
    "morpho-challenge": Format(
        "Morpho Challenge: word, segments as surface:label, alternatives behind commas",
        lambda rows: (
            _each(rows, lambda row: len(row) == 2)
            and any(":" in part for row in rows for part in row[1].split())
        ),
        _morpho_challenge,
    ),
    "plain": Format(
        "word, morphs parted by spaces, and, where it is given, the language",
        lambda rows: _each(
            rows, lambda row: 2 <= len(row) <= 3, lambda row: not row[2:] or language_of(row[2]) is not None
        ),
        _plain,
    ),
}
"""Formats of rows in the order in which they are tried; the first that fits is taken."""
