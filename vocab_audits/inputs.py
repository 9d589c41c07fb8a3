"""What determines the result of a piece of work besides its inventory and options."""

from __future__ import annotations

import hashlib
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.runs import environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def makers() -> dict[str, Any]:
    """The code that does the work: our version and commit, those of libraries, and the version of Unicode."""
    made = environment()
    return {key: made[key] for key in ("suture", "commit", "versions")} | {
        "unicode": unicodedata.unidata_version
    }


def named_files(options: Mapping[str, Any]) -> dict[str, Any]:
    """Digests of the files and folders that options name, so that a changed one is another input.

    A text names one as it is, after ``NAME=``, or before ``#``; lists of texts are looked through.
    """
    found: dict[str, Any] = {}
    for text in _texts(options):
        for spec in dict.fromkeys((text, text.partition("=")[2], text.partition("#")[0])):
            try:
                path = Path(spec)
                if spec and path.exists():
                    found[text] = _digest(path)
            except (OSError, ValueError):  # too long for a name, or with a zero byte: no path
                continue
    return found


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
    elif hasattr(value, "values"):
        yield from _texts(list(value.values()))


def _digest(path: Path) -> str:
    """SHA-256 of a file; of a folder, that of the names and digests of the files in it."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    whole = hashlib.sha256()
    for each in sorted(path.rglob("*")):
        if each.is_file() and not any(part.startswith(".") for part in each.relative_to(path).parts):
            whole.update(f"{each.relative_to(path)}\0{_digest(each)}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()
