"""What the name and the neighbours of a lexicon file say: its language and its licence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from workbench.errors import SutureError
from workbench.languages import UNKNOWN, language_of

if TYPE_CHECKING:
    from pathlib import Path

_PAIRS = """
afrikaans afr albanian als arabic arb armenian hye azerbaijani azj basque eus belarusian bel bengali ben
bulgarian bul catalan cat cebuano ceb czech ces danish dan dutch nld english eng estonian ekk finnish fin
french fra galician glg georgian kat german deu greek ell gujarati guj hebrew heb hindi hin hungarian hun
icelandic isl indonesian ind irish gle italian ita japanese jpn korean kor kurdish kmr latvian lvs
macedonian mkd malayalam mal mandarin cmn marathi mar norwegian nob persian pes polish pol portuguese por
romanian ron russian rus serbian srp slovak slk slovenian slv spanish spa swedish swe tagalog fil tamil tam
thai tha turkish tur ukrainian ukr urdu urd uzbek uzn vietnamese vie welsh cym zulu zul
"""
ENGLISH_NAMES = dict(zip(_PAIRS.split()[::2], _PAIRS.split()[1::2], strict=True))
"""Languages as MorphScore names its files (``english_morph_data.csv``), with their ISO 639-3 codes."""

OPTIONS = ("format", "language")
_LICENCE = re.compile(
    r"\bCC[ -]BY(?P<terms>(?:[ -](?:NC|ND|SA))*)[ -]?v?(?P<version>\d\.\d)"
    r"|creativecommons\.org/licenses/by(?P<path>(?:-(?:nc|nd|sa))*)/(?P<number>\d\.\d)"
    r"|Creative Commons Attribution(?P<long>(?:[- ](?:NonCommercial|NoDerivatives|NoDerivs|ShareAlike))*)"
    r" (?P<last>\d\.\d)|(?P<zero>\bCC0\b)",
    re.IGNORECASE,
)
_SHORT = {"noncommercial": "NC", "noderivatives": "ND", "noderivs": "ND", "sharealike": "SA"}
_HEAD = 1 << 20


class Named(NamedTuple):
    """A path with what its spec says of it: ``PATH#format=NAME&language=de``."""

    path: str
    format: str | None = None
    language: str | None = None


def named(spec: str) -> Named:
    """The parts of a spec.

    Raises:
        SutureError: an option is not known, or the language is no language code.
    """
    path, mark, rest = spec.rpartition("#")
    if not mark or "=" not in rest:
        return Named(spec)
    said = dict(part.partition("=")[::2] for part in rest.split("&"))
    if not set(said) <= set(OPTIONS):
        raise SutureError(
            f"after # a lexicon's spec may say {' and '.join(OPTIONS)}; got {rest!r}; "
            "write PATH#format=NAME&language=de"
        )
    if "language" in said and language_of(said["language"]) is None:
        raise SutureError(
            f"a lexicon's language must be a code such as de or deu; got {said['language']!r}; correct it"
        )
    return Named(path, said.get("format"), said.get("language"))


def language_named(path: Path) -> str:
    """The language that a file's name gives, else its folder's name; ``und`` where neither does.

    Tried are the first part of the name, before ``.``, ``_`` or ``-``, as a code or an English name, and its
    last part as a code (``goldstd_trainset.segmentation.fin``).
    """
    stem = path.name.partition(".")[0]
    first = re.split(r"[_-]", stem)[0]
    last = path.suffix.removeprefix(".")
    tried = (stem, first, ENGLISH_NAMES.get(first.lower(), ""), last, path.parent.name)
    return next((found for each in tried if (found := language_of(each))), UNKNOWN)


def licence_beside(path: Path) -> str | None:
    """The one Creative Commons licence that the LICENSE, COPYING or README files beside a lexicon name.

    Where they name several, which of them holds is for a person to read, and nothing is said.
    """
    folder = path if path.is_dir() else path.parent
    found: dict[str, str] = {}
    for file in sorted(folder.iterdir()):
        if file.is_file() and file.name.upper().startswith(("LICENSE", "LICENCE", "COPYING", "README")):
            with file.open("rb") as raw:
                text = raw.read(_HEAD).decode(errors="replace")
            for match in _LICENCE.finditer(text):
                found.setdefault(_written(match), file.name)
    return next((f"{name} ({file})" for name, file in found.items()), None) if len(found) == 1 else None


def _written(match: re.Match[str]) -> str:
    if match["zero"]:
        return "CC0"
    words = re.split(r"[- ]", match["terms"] or match["path"] or match["long"] or "")
    terms = "".join(f"-{_SHORT.get(word.lower(), word.upper())}" for word in words if word)
    return f"CC BY{terms} {match['version'] or match['number'] or match['last']}"
