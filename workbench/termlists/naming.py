"""What the columns, labels and file names of term lists are called, in the layouts that people share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from workbench.errors import SutureError
from workbench.languages import CODES, UNKNOWN, language_of
from workbench.termlists.terms import CATEGORIES, SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS = {
    "term": ("term", "word", "text", "lemma", "phrase", "payload", "slur"),
    "category": ("category", "category_1", "label", "type"),
    "group": ("group", "target", "target_group", "targets"),
    "language": ("language", "lang", "locale"),
    "severity": ("severity", "severity_rating", "level", "strength"),
    "twin": ("twin", "neutral", "neutral_twin", "counterpart"),
}
"""Names that each column may have in a header, in lower case."""

_LABELS = {
    "slurs": "slur", "hate": "slur", "racial / ethnic slurs": "slur/ethnicity",
    "raceethnic": "slur/ethnicity",
    "sexual orientation / gender": "slur/gender or orientation", "sexgender": "slur/gender or orientation",
    "mental disability": "slur/disability", "mentalhealth": "slur/disability",
    "physical disability": "slur/disability", "physical attributes": "slur/appearance",
    "discriminatory": "slur", "religious offense": "religion", "sexual anatomy / sexual acts": "sexual",
    "bodily fluids / excrement": "profanity", "other / general insult": "profanity", "general": "profanity",
    "animal references": "profanity", "insult": "profanity", "swear": "profanity", "porn": "sexual",
    "spam": "gambling_spam", "gambling": "gambling_spam", "name": "person_name", "person": "person_name",
    "location": "place", "username": "user_name", "url": "url_code", "code": "url_code",
    "politics": "political", "self-harm": "self_harm",
}  # fmt: skip
"""Labels of known lists, each with our category and, after a slash, the group."""

HURTLEX = {
    "ps": "slur/ethnicity", "om": "slur/gender or orientation", "ddf": "slur/disability",
    "ddp": "slur/disability", "is": "slur/social standing", "pa": "slur/occupation", "rci": "place",
    "asm": "sexual", "asf": "sexual", "pr": "sexual", "or": "profanity", "an": "profanity",
    "dmc": "profanity", "qas": "profanity", "cds": "profanity", "re": "profanity", "svp": "profanity",
}  # fmt: skip
"""Category codes of HurtLex (Bassignana, Basile and Patti 2018, table 1)."""

HURTLEX_HEADER = ("id", "pos", "category", "stereotype", "lemma", "level")

LABELS = {**{name: name for name in CATEGORIES}, **_LABELS}

LEVELS = {
    **{name: name for name in SEVERITIES}, "low": "mild", "medium": "moderate", "high": "strong",
    "severe": "strong", "inclusive": "mild", "conservative": "moderate",
}  # fmt: skip
"""Severities by name; HurtLex's conservative level holds words that hurt in any context."""

OPTIONS = ("category", "group", "language", "severity", "licence", "name")


class Named(NamedTuple):
    """A path with what its spec says: ``PATH#category=slur&language=de&licence=CC0&name=x``."""

    path: Path
    said: Mapping[str, str]


def named(spec: str) -> Named:
    """The parts of a spec.

    Raises:
        SutureError: an option, category, severity or language is not known.
    """
    path, mark, rest = spec.rpartition("#")
    if Path(spec).expanduser().exists() or not mark or "=" not in rest:
        return Named(Path(spec).expanduser(), {})
    said = dict(part.partition("=")[::2] for part in rest.split("&"))
    known = {"category": CATEGORIES, "severity": SEVERITIES, "language": CODES}
    for key, value in said.items():
        if key not in OPTIONS:
            raise SutureError(
                f"after # a term list's spec may say {', '.join(OPTIONS)}; got {key!r}; "
                "write PATH#category=slur&language=de"
            )
        if key in known and value not in known[key]:
            names = "an ISO 639 code" if key == "language" else f"one of {', '.join(known[key])}"
            raise SutureError(f"a term list's {key} must be {names}; got {value!r}; correct it")
    return Named(Path(path).expanduser(), said)


def language_named(path: Path) -> str:
    """The language that a file's name says (``de``, ``hurtlex_DE.tsv``, ``ldnoobw-en.txt``), or ``und``."""
    for part in (path.stem, *reversed(path.stem.replace("-", "_").split("_"))):
        found = language_of(part.lower())
        if found:
            return found
    return UNKNOWN
