"""What a call of ``suture audit`` asks for, from its options and from an ``audit.toml``."""

from __future__ import annotations

import difflib
import glob
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocab_audits.run import Plan
from workbench import gate
from workbench.errors import SutureError

OUTPUT = "runs/audit"

KEYS: dict[str, type] = {
    "tokenizers": list, "only": list, "lexicon": list, "corpus": str, "text_column": str, "errors": str,
    "limit": int, "options": dict, "output": str, "baseline": str, "fail_on": str, "csv": bool, "sarif": str,
    "junit": str,
}  # fmt: skip
"""Keys of an ``audit.toml`` with their types."""

PLACES = ("output", "baseline", "sarif", "junit")
"""Keys that are paths whatever they say."""


@dataclass(frozen=True)
class Request:
    """A batch of audits and what is to be done with what they find.

    Attributes:
        plan: what to audit.
        output: the run's folder.
        baseline: a former run whose findings do not count.
        fail_on: the severity at which the exit status is 1.
        csv: whether every table is written as CSV too.
        sarif: where to write findings as SARIF, if at all.
        junit: where to write findings as JUnit's XML, if at all.
        replace: whether a run of other things at ``output`` may be replaced.
        fresh: whether all work is done anew.
    """

    plan: Plan
    output: Path = Path(OUTPUT)
    baseline: Path | None = None
    fail_on: str = "never"
    csv: bool = False
    sarif: Path | None = None
    junit: Path | None = None
    replace: bool = False
    fresh: bool = False

    @classmethod
    def of(cls, config: Path | None, given: dict[str, Any]) -> Request:
        """From a config and from options, which come first.

        Args:
            config: an ``audit.toml``.
            given: options by the config's keys, and ``replace`` and ``fresh``; what is None, empty or
                False was not given.

        Raises:
            SutureError: the config is damaged, or a key means nothing.
        """
        said = (read_config(config) if config else {}) | {key: value for key, value in given.items() if value}
        plan = Plan(
            tuple(said.get("tokenizers", ())),
            tuple(name for text in said.get("only", ()) for name in text.split(",")),
            said.get("corpus", Plan.corpus),
            said.get("limit"),
            said.get("options", {}),
            said.get("text_column", Plan.text_column),
            said.get("errors", Plan.errors),
            tuple(said.get("lexicon", Plan.lexicon)),
        )
        rest: dict[str, Any] = {key: Path(said[key]) for key in PLACES if key in said}
        rest |= {key: said[key] for key in ("csv", "replace", "fresh") if key in said}
        return cls(plan, **rest, fail_on=gate.level(said.get("fail_on", "never")))


def read_config(path: Path) -> dict[str, Any]:
    """Reads an ``audit.toml``; its relative paths are taken from the folder that it lies in.

    ``output``, ``baseline``, ``sarif`` and ``junit`` are paths; of the other texts, those that name a file
    or folder there (also after ``NAME=``, before ``#``, or as a pattern of ``*``) are.

    Raises:
        SutureError: not TOML, or with a key that means nothing.
    """
    try:
        config = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SutureError(f"a config must be TOML in UTF-8; {path} is not ({error}); correct it") from None
    for key, value in config.items():
        if not _fits(key, value):
            near = "" if key in KEYS else "".join(difflib.get_close_matches(key, KEYS, 1))
            raise SutureError(
                "a config holds tokenizers, only, lexicon (lists of texts), corpus, text_column, errors, "
                "output, baseline, fail_on, sarif, junit (texts), limit (number), csv (true or false) and "
                f"[options.AUDIT]; {path} has {key} = {value!r}; "
                + (f"did you mean {near!r}?" if near else "correct it")
            )
    folder = path.parent
    if folder == Path():
        return config
    return {
        key: str(folder / Path(value).expanduser()) if key in PLACES else _beside(folder, value)
        for key, value in config.items()
    }


def _fits(key: str, value: Any) -> bool:
    kind = KEYS.get(key)
    if kind is None or not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return False
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return not isinstance(value, dict) or all(isinstance(item, dict) for item in value.values())


def _beside(folder: Path, value: Any) -> Any:
    """A value of a config with the paths in it that lie beside the config."""
    if isinstance(value, dict):
        return {key: _beside(folder, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_beside(folder, item) for item in value]
    if not isinstance(value, str) or not value:
        return value
    name, equals, spec = value.partition("=")
    named = equals and not set("/:#") & set(name)
    for before, text in ((f"{name}=", spec),) * bool(named) + (("", value),):
        plain = text.partition("#")[0]
        if plain and not Path(plain).is_absolute() and _there(folder, plain):
            return f"{before}{folder / text}"
    return value


def _there(folder: Path, plain: str) -> bool:
    try:
        if (folder / plain).exists():
            return True
    except (OSError, ValueError):  # too long for a name, or with a zero byte
        return False
    return "*" in plain and any(glob.iglob(plain, root_dir=folder, recursive=True))  # noqa: PTH207 a pattern of the user's
