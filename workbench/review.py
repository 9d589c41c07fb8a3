"""What people decided about findings, kept beside a run in a file of its own, so that it outlives the run.

A finding about a token is known by audit, measure, variant and the token's bytes, whatever inventory has it;
one without a token by its inventory, language and place besides. ``runs/mine`` has its review in
``runs/mine.review.json``; a run that replaces another in the same place finds the review there.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from workbench.errors import SutureError, UnknownName, UnreadableFile
from workbench.findings import IS_GRAVE
from workbench.locking import Lock
from workbench.paths import written_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from workbench.runs import Run

STATES = ("accepted", "rejected", "unsure")
"""``accepted``: it may stay, and fails no job; ``rejected``: it must go; ``unsure``: somebody has looked."""

OPEN = "open"
"""What a finding is that nobody has decided on."""

FORMAT = 1
WAIT = 10.0
"""Seconds to wait for another process that writes the same review."""

_SHARED = ("audit", "measure", "variant")
_PLACED = ("subject", "token_id", "language", "layer", "position", "step")
_WORDS = ("state", "by", "why", "when")


@dataclass
class Review:
    """The decisions on a run's findings.

    Attributes:
        path: the file.
        states: by key, ``state``, ``by``, ``why``, ``when`` and what the finding is.
    """

    path: Path
    states: dict[str, dict[str, Any]]
    _set: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, run: Run | Path) -> Review:
        """The review beside a run; an empty one where there is none yet.

        Raises:
            UnreadableFile: the file is damaged, or of another format.
        """
        path = beside(run if not hasattr(run, "folder") else run.folder)
        return cls(path, _read(path))

    def state(self, key: str) -> dict[str, Any]:
        """What was decided on a finding: ``state``, and ``by``, ``why`` and ``when`` unless it is open."""
        return self.states.get(key, {"state": OPEN})

    def set(
        self, finding: Mapping[str, Any], state: str, *, by: str, why: str, when: datetime | None = None
    ) -> str:
        """Decides on a finding; nothing is written before ``save``.

        Args:
            finding: a row of a run's findings, not masked.
            state: one of ``STATES``, or ``open`` to take a decision back.
            by: who decides.
            why: the reason.
            when: the time, now by default.

        Returns:
            The finding's key.

        Raises:
            SutureError: the state is none of these, or who or why is empty.
        """
        if state not in (*STATES, OPEN):
            raise SutureError(f"a state must be one of {', '.join((*STATES, OPEN))}; got {state!r}; pick one")
        if not (by.strip() and why.strip()):
            raise SutureError("a decision must say who takes it and why; got none; give --by and --why")
        key = key_of(finding)
        at = (when or datetime.now(UTC)).isoformat(timespec="seconds")
        said = {"state": state, "by": by.strip(), "why": why.strip(), "when": at, **_about(finding)}
        self.states[key] = self._set[key] = said
        return key

    def merge(self, other: Review) -> None:
        """Takes over what another review has decided and this one has not, or decided later."""
        for key, said in other.states.items():
            mine = self.states.get(key)
            if mine is None or str(mine["when"]) < str(said["when"]):
                self.states[key] = self._set[key] = said

    def save(self) -> None:
        """Writes what was set since the review was opened, beside what others have written meanwhile.

        Raises:
            SutureError: the place is not writable, or another process holds the file.
        """
        if not self._set:
            return
        busy = f"one process at a time must write a review; another writes {self.path} now; try again"
        with _writable(self.path), Lock(self.path.with_name(f".{self.path.name}.lock"), busy, WAIT):
            states = {**_read(self.path), **self._set}
            self.states = {key: states[key] for key in sorted(states)}
            content = {"format": FORMAT, "states": self.states}
            with written_whole(self.path) as partial:
                partial.write_text(json.dumps(content, ensure_ascii=True, indent=1) + "\n", encoding="utf-8")
        self._set.clear()

    def apply(self, findings: pl.DataFrame) -> pl.DataFrame:
        """Findings with the columns ``key``, ``state``, ``by`` and ``why``.

        Args:
            findings: findings of a run, not masked, for a key is of a token's bytes.
        """
        marked = findings.with_columns(keys(findings))
        rows = [(key, said["state"], said["by"], said["why"]) for key, said in self.states.items()]
        schema = {"key": pl.String, "state": pl.String, "by": pl.String, "why": pl.String}
        said = pl.DataFrame(rows, schema, orient="row")
        joined = marked.join(said, on="key", how="left", maintain_order="left")
        return joined.with_columns(pl.col("state").fill_null(OPEN))

    def counts(self, findings: pl.DataFrame) -> dict[str, int]:
        """How many findings flagged and warned of are in each state."""
        found = dict(self.apply(findings.filter(IS_GRAVE))["state"].value_counts().iter_rows())
        return {state: int(found.get(state, 0)) for state in (*STATES, OPEN)}


def beside(folder: Path) -> Path:
    """The place of a run's review."""
    return folder.with_name(f"{folder.name}.review.json")


def keys(findings: pl.DataFrame) -> pl.Series:
    """The key of each finding, the first 12 digits of a SHA-256."""
    columns = findings.select(*_SHARED, "token", *_PLACED).iter_rows()
    return pl.Series("key", [_key(*row) for row in columns], pl.String)


def key_of(finding: Mapping[str, Any]) -> str:
    """The key of one finding."""
    return _key(*(finding.get(name) for name in (*_SHARED, "token", *_PLACED)))


def _key(audit: Any, measure: Any, variant: Any, token: bytes | None, *placed: Any) -> str:
    what = [audit, measure, variant, *(placed if token is None else [token.hex()])]
    return hashlib.sha256(json.dumps(what, ensure_ascii=True).encode()).hexdigest()[:12]


def _about(finding: Mapping[str, Any]) -> dict[str, Any]:
    """What a decision is on, for one who reads the file; a token's bytes in hexadecimal."""
    token = finding.get("token")
    names = _SHARED if token is not None else (*_SHARED, *_PLACED)
    about = {name: finding[name] for name in names if finding.get(name) is not None}
    return about if token is None else {**about, "token_hex": token.hex()}


def chosen(findings: pl.DataFrame, wanted: Iterable[str]) -> list[dict[str, Any]]:
    """One finding for each key, of which the beginning is enough where it is the only one of its kind.

    Args:
        findings: findings of a run, not masked.
        wanted: keys.

    Raises:
        UnknownName: no finding, or several, have such a key.
    """
    rows = findings.with_columns(keys(findings)).unique("key", maintain_order=True)
    found = []
    for text in wanted:
        match = rows.filter(pl.col("key").str.starts_with(text)) if text else rows.clear()
        if match.height != 1:
            what = "none" if match.is_empty() else f"{match.height} of them"
            raise UnknownName(
                f"a key must be that of one finding; {text!r} is of {what}; take it from `suture review RUN`"
            )
        found.append(match.row(0, named=True))
    return found


def _read(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    try:
        whole = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UnreadableFile(
            f"a review must be a JSON file; {path} is not ({str(error)[:100]}); correct it or move it away"
        ) from None
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise UnreadableFile(f"a review must be of format {FORMAT}; {path} is of another; move it away")
    states: Any = whole.get("states")
    if not isinstance(states, dict):
        raise UnreadableFile(f"a review must hold states by key; {path} does not; correct it or move it away")
    if odd := [key for key, said in states.items() if not _sound(said)]:
        raise UnreadableFile(
            f"a decision must have a state of {', '.join((*STATES, OPEN))}, and by, why and when as text; in "
            f"{path} {odd[0]!r} has not; correct it"
        )
    return states


def _sound(said: Any) -> bool:
    texts = isinstance(said, dict) and all(isinstance(said.get(name), str) for name in _WORDS)
    return bool(texts and said["state"] in (*STATES, OPEN))


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SutureError(
            f"a review must be written beside its run; {path.parent} is not writable ({error.strerror}); "
            "copy the run elsewhere first"
        ) from None
