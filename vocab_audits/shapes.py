"""What an entry is by its bytes alone, before any lexicon is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from vocab_audits.census import RESERVED

if TYPE_CHECKING:
    from workbench.inventory import Inventory

SHAPES = ("special", "bytes", "blank", "number", "punctuation", "markup", "code", "phrase", "mixed")
"""``bytes`` is what is not UTF-8, and the byte entries of a fallback; ``blank`` has nothing to see; ``mixed``
is letters with digits, punctuation or symbols, and no mark of code."""

MARKUP = r"""</?[\p{L}!?]|/>|[\p{L}\p{N}"']>|<!--|-->|&#?\w+;|https?:|://|www\.|\p{L}=["'{]"""
"""Tags, comments and entities of markup, attributes, addresses."""

CODE = (
    r"""[{}\\]|\w\(|\w\[|\)[.;:{\[(]|[\])]["'`]?[;,]|;\)|\(\)|\[\]|["'`][)\]]|[(\[]["'`]"""
    r"""|[=!<>+*/%&|^:-]=|=>|->|<-|&&|\|\||::|\+\+|<<|>>|\*\*|//|/\*|\*/|\?\.|\$\w|@\w|\w_|_\w|#\w|\w;"""
)
"""Braces, calls, indices, closing runs, operators of two signs, joined identifiers, sigils."""

CAMEL = r"\p{Ll}\p{Lu}"
WORD = r"^[\p{L}\p{M}\p{Cf}'’ʼ·-]*[\p{L}\p{M}][\p{L}\p{M}\p{Cf}'’ʼ·-]*$"
"""What is looked up: letters and their marks, also without a letter, apostrophes and hyphens."""

_NUMBER = r"^[\p{N}\p{Sc}.,:;/'’%‰°+−–-]*\p{N}[\p{N}\p{Sc}.,:;/'’%‰°+−–-]*$"
_PHRASE = r"^[\p{L}\p{M}\p{Cf}'’ʼ·-]+(?:\s+[\p{L}\p{M}\p{Cf}'’ʼ·-]+)+$"
_PAIRS = ("==", "===", "&&", "||", "::", "++", "<<", ">>", "**", "{{", "}}", "{", "}", "\\", "\\\\")
"""Signs of one kind that are code, where any other run of one sign is punctuation."""


def shaped(inventory: Inventory) -> pl.DataFrame:
    """One row an entry: its text without white space around it, where it may stand, and its shape.

    Returns:
        token_id, bytes, core (null where not UTF-8), space (a space before it), place (one of
        ``substrings.PLACES``), shape (one of ``SHAPES``, or null for letters), camel.
    """
    frame = inventory.frame.select(
        pl.col("id").alias("token_id"), "bytes", "kind", "position", inventory.texts.alias("text")
    ).filter(pl.col("kind") != "gap")
    frame = frame.with_columns(core=pl.col("text").str.strip_chars())
    blank = pl.col("text").str.len_chars() > pl.col("text").str.strip_chars_start().str.len_chars()
    return frame.select(
        "token_id",
        "bytes",
        "core",
        space=(pl.col("bytes").bin.starts_with(b" ") & (pl.col("core") != "")).fill_null(value=False),
        place=_place(blank),
        shape=_shape().cast(pl.Enum(SHAPES)),
        camel=pl.col("core").str.contains(CAMEL).fill_null(value=False),
    )


def _place(blank: pl.Expr) -> pl.Expr:
    """White space before it and WordPiece's mark say that it begins a word, or does not."""
    position = pl.col("position").cast(pl.String)
    return (
        pl.when(blank | (position == "initial")).then(pl.lit("begin"))
        .when(position.is_in(["inner", "final"])).then(position)
        .otherwise(pl.lit("any"))
    )  # fmt: skip


def _shape() -> pl.Expr:
    text, core = pl.col("text"), pl.col("core")
    plain = core.str.contains(r"^[^\p{L}\p{M}\p{N}]+$")
    alike = core.str.strip_chars(core.str.head(1)) == ""
    return (
        pl.when(pl.col("kind").is_in(["special", "unused"]) | text.str.contains(RESERVED))
        .then(pl.lit("special"))
        .when(text.is_null() | (pl.col("kind") == "byte")).then(pl.lit("bytes"))
        .when(core.str.contains(r"^[\p{Z}\p{C}]*$")).then(pl.lit("blank"))
        .when(core.is_in(_PAIRS)).then(pl.lit("code"))
        .when(plain & alike).then(pl.lit("punctuation"))
        .when(core.str.contains(WORD)).then(None)
        .when(core.str.contains(MARKUP)).then(pl.lit("markup"))
        .when(core.str.contains(CODE)).then(pl.lit("code"))
        .when(plain).then(pl.lit("punctuation"))
        .when(core.str.contains(_NUMBER)).then(pl.lit("number"))
        .when(core.str.contains(_PHRASE)).then(pl.lit("phrase"))
        .otherwise(pl.lit("mixed"))
    )  # fmt: skip
