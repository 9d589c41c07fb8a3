"""The lexicon that needs no download: frequent words, cut by lemma and affixes.

Words are those of wordfreq from the most frequent on; where it has no list of a language, forms of
simplemma's dictionary at even distances. A word is taken where the dictionary gives its lemma, or where its
stem makes a lemma there, or its parts are lemmas. A form to which no known affixes lead from its lemma (went)
is counted as not concatenative, a word without a lemma as unanalysed, and neither is guessed. Function words
are kept: most are words of one morph.
"""

from __future__ import annotations

import hashlib
import tomllib
from functools import cache
from importlib import metadata
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import regex

from workbench.affixes import affixes
from workbench.affixes import languages as with_affixes
from workbench.errors import SutureError, UnknownName
from workbench.inflection import Analyser
from workbench.lexicon import SCHEMA, MorphLexicon, ledger
from workbench.paths import bundle
from workbench.tagging import tagged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.inflection import Analysis

    _Left = tuple[str, str, int, int | None, str | None]

SURE = frozenset({"lemma", "affixes", "stem", "parts"})
"""How a word must have been read to be an entry, of ``inflection.KNOWN``."""

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]+")
"""Two letters or more, and nothing else."""

_REACH = 4
"""How many times ``most`` the words are that are looked at."""


class _Made(NamedTuple):
    """Entries of one language, what was left out, and a note on them."""

    frame: pl.DataFrame
    left: list[_Left]
    note: str


def embedded(languages: tuple[str, ...] | None = None, most: int = 2000) -> MorphLexicon:
    """A lexicon of frequent words, made anew each time, always the same for the same installed versions.

    ``frequency`` is wordfreq's share of all words. ``pos`` and ``features`` are there where a spaCy pipeline
    of the language is installed; it sees each word alone.

    Args:
        languages: codes of languages with an affix inventory; all by default.
        most: entries a language at most.

    Raises:
        MissingExtra: simplemma or wordfreq is not installed.
        UnknownName: a language has no affix inventory.
    """
    if most < 1:
        raise SutureError(f"a lexicon must have at least 1 entry a language; got most={most}; give more")
    chosen = tuple(dict.fromkeys(languages or with_affixes()))
    unknown = [code for code in chosen if code not in with_affixes()]
    if unknown:
        raise UnknownName(
            f"the embedded lexicon must be asked for languages of {', '.join(with_affixes())}; got "
            f"{', '.join(unknown)}; read a file for the others"
        )
    made = [_language(code, most) for code in chosen]
    frame = pl.concat([each.frame for each in made])
    versions = [f"{name} {metadata.version(name)}" for name in ("simplemma", "wordfreq")]
    return MorphLexicon(
        "embedded",
        f"embedded:{','.join(chosen)}" if languages else "embedded",
        frame,
        ledger([row for each in made for row in each.left]),
        _digest(frame, [*versions, *(affixes(code).digest for code in chosen)]),
        f"affix inventories of Suture: Apache-2.0; {versions[0]}: MIT, its lists drawn from others, some "
        f"ODbL and CC BY 4.0; {versions[1]}: Apache-2.0, its data CC BY-SA 4.0",
        (f"made by rule with {' and '.join(versions)}, not annotated by hand", *(each.note for each in made)),
    )


@cache
def _language(code: str, most: int) -> _Made:
    """Analyses the words of a language until there are enough entries."""
    analyser = Analyser.of(code)
    rows: list[dict[str, Any]] = []
    missed: dict[str, list[tuple[int, str]]] = {}
    seen: set[str] = set()
    for rank, listed in enumerate(_words(analyser, most), start=1):
        if len(rows) == most:
            break
        word = analyser.spelled(listed) or listed
        if not _WORD.fullmatch(word):
            missed.setdefault("noise", []).append((rank, listed))
        elif word not in seen:
            seen.add(word)
            found = analyser.analyse(word)
            if found.known in SURE:
                rows.append(_row(code, word, found, analyser.frequencies.get(listed)))
            else:
                reason = "not_concatenative" if found.known == "irregular" else "unanalysed"
                missed.setdefault(reason, []).append((rank, word))
    frame, tagger = tagged(code, pl.DataFrame(rows, schema=SCHEMA))
    left: list[_Left] = [(code, reason, len(some), *some[0]) for reason, some in sorted(missed.items())]
    notes = [quality_note(code)]
    notes += (
        [] if analyser.frequencies else ["forms of simplemma's dictionary at even distances, no frequencies"]
    )
    notes += [f"pos and features by {tagger}"] if tagger else []
    return _Made(frame, left, "; ".join(notes))


def _words(analyser: Analyser, most: int) -> Iterator[str]:
    """Words to look at, in order."""
    if analyser.frequencies:
        import wordfreq  # noqa: PLC0415 an extra

        return islice(wordfreq.iter_wordlist(analyser.affixes.language, "best"), most * _REACH)
    return islice(analyser.dictionary, 0, None, max(1, len(analyser.dictionary) // most))


def _row(code: str, word: str, found: Analysis, share: float | None) -> dict[str, Any]:
    return {
        "language": code,
        "word": word,
        "morphs": list(found.morphs),
        "roles": list(found.roles),
        "how": "concatenative",
        "process": found.process,
        "lemma": found.lemma,
        "features": None,
        "pos": None,
        "frequency": share,
    }


def _digest(frame: pl.DataFrame, made_with: list[str]) -> str:
    """SHA-256 of the entries and of what they were made with; ``pos`` and ``features`` are not in it."""
    lines = frame.select(
        pl.concat_str(
            "language",
            pl.col("morphs").list.join("|"),
            pl.col("roles").cast(pl.List(pl.String)).list.join("|"),
            pl.col("lemma").fill_null(""),
            pl.col("process").fill_null(""),
            separator="\t",
        )
    ).to_series()
    return hashlib.sha256("\n".join([*made_with, *lines.to_list()]).encode()).hexdigest()


def quality_note(code: str) -> str:
    """What was measured of the analyses of a language, in one clause."""
    measured = quality().get(code)
    if measured is None:
        return f"{code}: quality not measured, no gold at hand"
    found = measured["joined"] if measured["joined"]["scored"] >= _FEW else measured["placed"]
    return (
        f"{code}: precision {found['precision'][0]:.2f}, recall {found['recall'][0]:.2f}, F1 "
        f"{found['f1'][0]:.2f} against SIGMORPHON 2022 gold, {found['about']}, n = {found['scored']}"
    )


_FEW = 50
"""Below this many words a figure is not shown while there is another."""


def quality() -> dict[str, Any]:
    """The measured quality by language, as ``python -m tests.benchmarks --only affixes`` wrote it."""
    path = bundle("corpora") / "affixes" / "quality.toml"
    found: dict[str, Any] = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    return {code: row for code, row in found.items() if isinstance(row, dict)}
