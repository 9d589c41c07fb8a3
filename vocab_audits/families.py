"""Word families: related forms of a word, with the places where their morphs meet where these are known."""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import SutureError
from workbench.paths import bundle
from workbench.segmentation import utf8

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS = ("inflection", "derivation", "plural", "compound", "case", "space", "spelling", "script", "number",
         "code", "unicode")  # fmt: skip
"""How the forms of a family differ; ``unicode`` is composed and decomposed characters."""

MOST = 5000
"""Forms that one file may hold; each is cut several times and shown."""

_KEYS = {"name": str, "kind": str, "language": str, "forms": list, "boundary": str, "stem": str}
_HEAD = ("family", "kind", "language", "form")


@dataclass(frozen=True)
class Family:
    """Forms of one family.

    Attributes:
        name: what it is called; unique with its kind and language.
        kind: one of ``KINDS``.
        language: a language code.
        forms: the forms, as text.
        boundaries: byte offsets in each form at which morphs meet, or None where that is not known.
        stem: a string that forms share, or None.
    """

    name: str
    kind: str
    language: str
    forms: tuple[str, ...]
    boundaries: tuple[tuple[int, ...], ...] | None = None
    stem: str | None = None


def read_families(path: str | None = None) -> list[Family]:
    """Families of a file, or Suture's own.

    Args:
        path: a TOML file as ``corpora/exemplars.toml``; or a table with tabs between the columns family,
            kind, language, form, and if wanted morphs (its parts with ``|`` between them) and stem.

    Raises:
        SutureError: it cannot be read, or a family is malformed; the message says which.
    """
    file = bundle("corpora") / "exemplars.toml" if path is None else Path(path).expanduser()
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SutureError(
            f"families must be a readable file in UTF-8; {file} is not ({error}); check it"
        ) from None
    found = _from_table(text, file) if file.suffix.lower() in (".tsv", ".txt") else _from_toml(text, file)
    if not found or sum(len(family.forms) for family in found) > MOST:
        raise SutureError(
            f"a file of families must hold 1 to {MOST:,} forms; {file} has "
            f"{sum(len(family.forms) for family in found):,}; add or divide them"
        )
    names = [(family.kind, family.language, family.name) for family in found]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice:
        raise SutureError(
            f"a family's name must be its own within a kind and language; {file} has {twice[2]!r} twice; "
            "rename one"
        )
    return found


def _from_toml(text: str, file: Path) -> list[Family]:
    try:
        rows = tomllib.loads(text).get("family", [])
    except tomllib.TOMLDecodeError as error:
        raise SutureError(
            f"families must be TOML, or a table in a .tsv file; {file} is not ({error}); correct it"
        ) from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise SutureError(f"families must be tables [[family]]; {file} has another 'family'; correct it")
    return [_family(row, f"family {number} of {file}") for number, row in enumerate(rows, 1)]


def _family(row: dict[str, Any], where: str) -> Family:
    for key, value in row.items():
        if key not in _KEYS or not isinstance(value, _KEYS[key]):
            raise SutureError(
                f"a family holds {', '.join(_KEYS)}, all text but the list forms; {where} has "
                f"{key} = {value!r:.80}; correct it"
            )
    forms = row.get("forms", [])
    if not all(isinstance(form, str) for form in forms):
        raise SutureError(f"the forms of a family must be text; {where} has others; put them in quotes")
    boundary = row.get("boundary")
    if boundary == "":
        raise SutureError(f"a boundary must be a sign; {where} has an empty one; leave it out")
    parts = [form.split(boundary) if boundary else [form] for form in forms]
    return _checked(row, parts, marked=boundary is not None, where=where)


def _from_table(text: str, file: Path) -> list[Family]:
    lines = list(csv.reader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
    head = lines[0] if lines else []
    if not set(_HEAD) <= set(head) or not set(head) <= {*_HEAD, "morphs", "stem"}:
        raise SutureError(
            f"a table of families must begin with the columns {', '.join(_HEAD)}, and if wanted morphs and "
            f"stem; {file} begins with {', '.join(head) or 'nothing'!r:.80}; add a line of names"
        )
    grouped: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for number, line in enumerate(lines[1:], 2):
        if not line:
            continue
        if len(line) != len(head):
            raise SutureError(
                f"a row of a table of families must have {len(head)} columns; line {number} of {file} has "
                f"{len(line)}; correct it"
            )
        row = dict(zip(head, line, strict=True)) | {"line": str(number)}
        grouped.setdefault((row["family"], row["kind"], row["language"]), []).append(row)
    return [_of_rows(key, rows, file) for key, rows in grouped.items()]


def _of_rows(key: tuple[str, str, str], rows: list[dict[str, str]], file: Path) -> Family:
    parts = []
    for row in rows:
        morphs = row.get("morphs", "").split("|") if row.get("morphs") else [row["form"]]
        if "".join(morphs) != row["form"]:
            raise SutureError(
                f"the morphs of a form must join to it; line {row['line']} of {file} has "
                f"{row['morphs']!r:.80} for {row['form']!r:.80}; correct it"
            )
        parts.append(morphs)
    about = {"name": key[0], "kind": key[1], "language": key[2], "stem": rows[0].get("stem") or None}
    marked = all(row.get("morphs") for row in rows)
    return _checked(about, parts, marked=marked, where=f"line {rows[0]['line']} of {file}")


def _checked(row: dict[str, Any], parts: Sequence[Sequence[str]], *, marked: bool, where: str) -> Family:
    name, kind, language = row.get("name", ""), row.get("kind", ""), row.get("language") or "und"
    if not name or kind not in KINDS:
        raise SutureError(
            f"a family must have a name and a kind, one of {', '.join(KINDS)}; {where} has "
            f"{name!r:.80} and {kind!r:.80}; correct it"
        )
    if len(parts) < 2 or not all(all(form) for form in parts):
        raise SutureError(
            f"a family must have two forms and more, and no empty part; {where} ({name!r:.80}) has not; "
            "correct it"
        )
    forms = tuple("".join(form) for form in parts)
    stem = row.get("stem")
    if len(set(forms)) < len(forms) or (stem is not None and not any(stem in form for form in forms)):
        raise SutureError(
            f"the forms of a family must differ, and one must hold its stem; those of {where} "
            f"({name!r:.80}) do not; correct it"
        )
    cuts = tuple(tuple(accumulate(len(utf8(part)) for part in form))[:-1] for form in parts)
    for text in (name, language, stem or "", *forms):
        utf8(text)
    return Family(name, kind, language, forms, cuts if marked else None, stem or None)
