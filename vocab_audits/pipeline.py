"""Pipeline: what happens to a text on its way to ids, and what that does to users' data."""

from __future__ import annotations

import importlib.util
import os
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from workbench.audit import Outcome, audit
from workbench.findings import Finding

if TYPE_CHECKING:
    from workbench.tokenizer import Tokenizer

AUDIT = "pipeline"

CANONICAL = (
    "\u00e9",
    "\u00fc",
    "\u00f1",
    "\u1ebf",
    "\ud574",
    "\u304c",
    "\u0439",
    "\u0622",
    "\u0958",
    "\u00e5",
)
"""Characters with a decomposed spelling, in several scripts; each is compared with that spelling."""

DISTINCT = (
    ("\u30d1\u30d1", "\u30cf\u30cf"),
    ("\u3079\u3093\u304d", "\u3078\u3093\u304d"),
    ("Polish", "polish"),
    ("r\u00e9sum\u00e9", "resume"),
    ("\u00fcber", "uber"),
    ("2\u00b2", "22"),
    ("\ufb01", "fi"),
    ("\uff21", "A"),
    ("a b", "a  b"),
    ("\u0438", "\u0439"),
)
"""Pairs of texts that differ for a reader of the language; a lossy normaliser makes them one."""

STEPWISE = (
    ("http:", "http://"),
    ("un", "unable"),
    ("New", "New York"),
    ("20", "2026"),
    ("\u4e2d", "\u4e2d\u56fd"),
)
"""Prefixes and their continuations, to see whether the ids of a prefix stay."""

PROBES = (
    "2023 ab", "don't 12345", "  two  spaces", "caf\u00e9 na\u00efve", "\u4e2d\u6587 text",
    "x = y[0];\n\treturn",
    "\u0939\u093f\u0928\u094d\u0926\u0940", "\U0001f642\U0001f3fd", "A B C", "\u0645\u0631\u062d\u0628\u0627",
)  # fmt: skip
"""Texts on which two ways of loading a tokenizer are compared."""


class Divergence(NamedTuple):
    """How many probes two loaders encode differently, and the first of them."""

    probes: int | None
    evidence: str | None
    note: str | None


@audit("Pipeline and special tokens")
def pipeline(tokenizer: Tokenizer, *, auto: bool = True, listed: int = 20) -> Outcome:
    """The stages of a tokenizer, and what becomes of special-token text, accents and spellings.

    Args:
        tokenizer: the tokenizer.
        auto: also load a model directory by its class name, through transformers where that is
            installed, and compare.
        listed: how many entries to list for one finding.

    Returns:
        Findings; table ``pipeline`` with one row a stage; table ``special_text`` with one row a special
        or added token and what its text becomes.
    """
    name = tokenizer.name
    special = special_text(tokenizer)
    found = [
        *_described(tokenizer),
        *_injection(name, special, listed),
        *_literal(tokenizer, special, listed),
        *_spelling(tokenizer),
    ]
    if auto:
        differs = against_class(tokenizer)
        found.append(
            Finding(
                name,
                AUDIT,
                "class_differs",
                None if differs.probes is None else float(differs.probes),
                variant=f"of {len(PROBES)} probes, loaded by class name against the file itself",
                unit="probes",
                severity="flag" if differs.probes else "info",
                note=differs.note,
                evidence=differs.evidence,
            )
        )
    return Outcome(found, {"pipeline": steps(tokenizer), "special_text": special})


def steps(tokenizer: Tokenizer) -> pl.DataFrame:
    """One row a stage: subject, order, stage, name, detail."""
    rows = [(tokenizer.name, order, *step) for order, step in enumerate(tokenizer.pipeline.steps)]
    schema = {
        "subject": pl.String,
        "order": pl.Int32,
        "stage": pl.String,
        "name": pl.String,
        "detail": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def special_text(tokenizer: Tokenizer) -> pl.DataFrame:
    """What the text of each special or added token becomes, as data and as a trusted prompt.

    Columns: subject, token_id, bytes, kind, ``as_data`` (number of ids of the text as data), ``in_data``
    (whether the token itself is among them), ``as_prompt`` (whether the control id appears),
    ``decoder_breaks`` (whether the library's own decoder gives other text than the entry holds).
    """
    frame = tokenizer.inventory.frame.filter(pl.col("kind").is_in(["special", "added"]))
    frame = frame.filter(pl.col("bytes").bin.size() > 0)
    ids = frame["id"].to_list()
    spelled = [tokenizer.literals.get(k, piece) for k, piece in frame.select("id", "bytes").iter_rows()]
    texts = [piece.decode(errors="replace") for piece in spelled]
    data = tokenizer.encode_batch(texts)
    prompts = [tokenizer.encode_control(f"x{text}y") for text in texts]
    decoded = tokenizer.engine.decode_each(ids)
    return frame.select(
        pl.lit(tokenizer.name).alias("subject"), pl.col("id").alias("token_id"), "bytes", "kind"
    ).with_columns(
        pl.Series("as_data", np.diff(data.offsets), pl.Int32),
        pl.Series(
            "in_data",
            [
                token in data.row(k)
                and token not in tokenizer.unknown  # an unknown token stands for any text
                for k, token in enumerate(ids)
            ],
            pl.Boolean,
        ),
        pl.Series(
            "as_prompt", [token in prompt for token, prompt in zip(ids, prompts, strict=True)], pl.Boolean
        ),
        pl.Series(
            "decoder_breaks",
            [_broken(shown, text) for shown, text in zip(decoded, texts, strict=True)],
            pl.Boolean,
        ),
    )


def _broken(shown: str | None, text: str) -> bool:
    return shown is not None and shown.strip() not in ("", text.strip())


def _described(tokenizer: Tokenizer) -> list[Finding]:
    made, name = tokenizer.pipeline, tokenizer.name
    flags = {
        "byte_level": made.byte_level,
        "prefix_space": made.prefix_space,
        "ignore_merges": made.ignore_merges,
    }
    found = [
        Finding(name, AUDIT, "model", None, note=made.model),
        Finding(name, AUDIT, "pattern", None, note=made.pattern_digest, evidence=made.pattern),
    ]
    found += [Finding(name, AUDIT, key, float(value), unit="yes 1, no 0") for key, value in flags.items()]
    notes = dict.fromkeys((*tokenizer.inventory.notes, *made.notes))
    return found + [Finding(name, AUDIT, "reading", None, severity="warn", note=note) for note in notes]


def _injection(name: str, special: pl.DataFrame, listed: int) -> list[Finding]:
    """Special tokens whose text, typed by a user, becomes a control id."""
    all_special = special.filter(pl.col("kind") == "special")
    control, total = all_special.filter("as_prompt"), all_special.height
    leaking = all_special.filter("in_data")
    return [
        Finding(
            name,
            AUDIT,
            "data_makes_control",
            float(leaking.height),
            variant="special tokens, encoded as data",
            unit="tokens",
            severity="flag" if leaking.height else "info",
            note=f"of {total}; user text that spells them becomes control even as data; filter it before"
            if leaking.height
            else f"of {total}",
            evidence=_names(leaking, listed),
        ),
        Finding(
            name,
            AUDIT,
            "special_text_is_control",
            float(control.height),
            variant="special tokens, encoded as a trusted prompt",
            unit="tokens",
            note=f"of {total}; encode user text as data, as this workbench does"
            if control.height
            else f"of {total}",
            evidence=_names(control, listed),
        ),
    ]


def _literal(tokenizer: Tokenizer, special: pl.DataFrame, listed: int) -> list[Finding]:
    """Added tokens that match anywhere, and those that the library's decoder misspells."""
    name = tokenizer.name
    flags = {step.name: step.detail for step in tokenizer.pipeline.steps if step.stage == "added token"}
    whole = [text for text, detail in flags.items() if "single_word" in detail]
    inside = special.filter(
        (pl.col("kind") == "added")
        & (pl.col("as_data") == 1)
        & ~pl.col("bytes").is_in([text.encode() for text in whole])
    )
    lettered = inside.filter(pl.col("bytes").map_elements(_is_letters, return_dtype=pl.Boolean))
    unknown = pl.col("token_id").is_in(list(tokenizer.unknown))
    broken = special.filter(pl.col("decoder_breaks") & ~unknown)
    return [
        Finding(
            name,
            AUDIT,
            "added_matches_in_words",
            float(lettered.height),
            variant="added tokens of letters without single_word",
            unit="tokens",
            severity="warn" if lettered.height else "info",
            note="they change how longer words that hold them are cut" if lettered.height else None,
            evidence=_names(lettered, listed),
        ),
        Finding(
            name,
            AUDIT,
            "decoder_breaks",
            float(broken.height),
            unit="tokens",
            severity="warn" if broken.height else "info",
            note="the library's decoder gives other text than the token holds" if broken.height else None,
            evidence=_names(broken, listed),
        ),
    ]


def _is_letters(piece: bytes) -> bool:
    return piece.decode(errors="replace").strip().isalpha()


def _names(table: pl.DataFrame, listed: int) -> str | None:
    if table.is_empty():
        return None
    shown = [f"{token} {piece.decode(errors='replace')!r}" for token, piece in _pairs(table.head(listed))]
    more = f" and {table.height - listed} more" if table.height > listed else ""
    return ", ".join(shown) + more


def _pairs(table: pl.DataFrame) -> list[tuple[int, bytes]]:
    return list(table.select("token_id", "bytes").iter_rows())


def _spelling(tokenizer: Tokenizer) -> list[Finding]:
    """Equivalent spellings told apart, different words made one, prefixes that do not stay."""
    name = tokenizer.name
    pairs = [(text, unicodedata.normalize("NFD", text)) for text in CANONICAL]
    apart = [pair for pair in pairs if tokenizer.encode(pair[0]) != tokenizer.encode(pair[1])]
    merged = [
        (left, right)
        for left, right in DISTINCT
        if tokenizer.encode(left) == tokenizer.encode(right)
        and not tokenizer.unknown.intersection(tokenizer.encode(left))
    ]
    moved = [(short, long) for short, long in STEPWISE if not _stays(tokenizer, short, long)]
    return [
        Finding(
            name,
            AUDIT,
            "canonical_spellings_differ",
            float(len(apart)),
            variant=f"of {len(pairs)} characters, composed against decomposed",
            unit="characters",
            note="normalise text to NFC before, or equal words get other ids" if apart else None,
            evidence=" ".join(pair[0] for pair in apart) or None,
        ),
        Finding(
            name,
            AUDIT,
            "distinct_texts_merged",
            float(len(merged)),
            variant=f"of {len(DISTINCT)} pairs of different texts",
            unit="pairs",
            severity="warn" if merged else "info",
            note="the pipeline is lossy: these cannot be told apart by their ids" if merged else None,
            evidence="; ".join(f"{left} = {right}" for left, right in merged) or None,
        ),
        Finding(
            name,
            AUDIT,
            "prefix_unstable",
            float(len(moved)),
            variant=f"of {len(STEPWISE)} prefixes and their continuations",
            unit="pairs",
            note="continuation probabilities must be computed over bytes" if moved else None,
            evidence="; ".join(f"{short!r} in {long!r}" for short, long in moved) or None,
        ),
    ]


def _stays(tokenizer: Tokenizer, short: str, long: str) -> bool:
    first, second = tokenizer.encode(short), tokenizer.encode(long)
    return first == second[: len(first)]


def against_class(tokenizer: Tokenizer) -> Divergence:
    """Loads the model directory through ``AutoTokenizer`` and compares its ids with the file's own.

    A class may rebuild the pre-tokenizer from its name and pass over what the file says.
    """
    folder = tokenizer.folder
    if folder is None or not (folder / "tokenizer_config.json").exists():
        return Divergence(None, None, "not applicable: no model directory with a tokenizer_config.json")
    if importlib.util.find_spec("transformers") is None:
        return Divergence(None, None, 'not compared: run pip install "suture[probing]" to compare with it')
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # its advice about models is not ours to print
    from transformers import AutoTokenizer

    try:
        other = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False, local_files_only=True)
        rows = [list(other.encode(text, add_special_tokens=False)) for text in PROBES]
    except Exception as error:  # noqa: BLE001 whatever a foreign class raises is a result here
        return Divergence(None, None, f"transformers cannot load it ({type(error).__name__})")
    own = [tokenizer.encode(text) for text in PROBES]
    different = [k for k in range(len(PROBES)) if rows[k] != own[k]]
    if not different:
        return Divergence(0, None, None)
    first = different[0]
    place = next(
        (k for k, pair in enumerate(zip(own[first], rows[first], strict=False)) if pair[0] != pair[1]),
        min(len(own[first]), len(rows[first])),
    )
    evidence = (
        f"{PROBES[first]!r}: the file gives {own[first]}, {type(other).__name__} gives {rows[first]}; "
        f"they part at token {place}"
    )
    return Divergence(len(different), evidence, "load the file itself, or correct its tokenizer_class")
