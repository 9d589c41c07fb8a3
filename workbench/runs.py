"""A run is a folder: what was asked, what was found, and all that a colleague needs to repeat it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from workbench import __version__
from workbench.assembling import assemble
from workbench.errors import SutureError, UnreadableFile
from workbench.findings import SCHEMA
from workbench.locking import Lock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.assembling import Former
    from workbench.audit import Outcome

FORMAT = 1
VOLATILE = ("environment", "seconds", "since")
"""Keys of ``run.json`` that may differ between two runs of the same thing."""


@dataclass(frozen=True)
class Run:
    """A finished run, opened for reading.

    Attributes:
        folder: where it lies.
        manifest: the content of ``run.json``.
    """

    folder: Path
    manifest: dict[str, Any]

    @classmethod
    def open(cls, folder: Path) -> Run:
        """Opens a run.

        Raises:
            UnreadableFile: the folder is no finished run, or one of another format.
        """
        try:
            manifest = json.loads((folder / "run.json").read_bytes())
        except (OSError, ValueError):
            raise UnreadableFile(
                f"a run must be a folder with run.json; {folder} is none; make one with suture audit SPEC -o "
                f"{folder.name}"
            ) from None
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise UnreadableFile(
                f"a run must be of format {FORMAT}; {folder} is of another; "
                "repeat the audit with this version"
            )
        return cls(folder, manifest)

    def findings(self) -> pl.DataFrame:
        """All findings, in the findings schema.

        Raises:
            UnreadableFile: the table is missing or damaged.
        """
        return self._read(self.folder / "findings.parquet").select(
            [pl.col(key).cast(kind) for key, kind in SCHEMA.items()]
        )

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Audits whose tokens and evidence are masked wherever they are shown."""
        return tuple(each["name"] for each in self.manifest.get("audits", []) if each.get("sensitive"))

    @property
    def hidden(self) -> tuple[str, ...]:
        """Audits that this view of the run masks: none, for these are the run's exact contents."""
        return ()

    @property
    def exact(self) -> Run:
        """The run with nothing masked."""
        return self

    def writer(self, table: str) -> str | None:
        """The audit that a table is of: the longest name that the table's is or begins with."""
        names = [each["name"] for each in self.manifest.get("audits", [])]
        own = [name for name in names if table == name or table.startswith(f"{name}_")]
        return max(own, key=len, default=None)

    def since(self) -> pl.DataFrame | None:
        """Findings that are new or gone beside a former run, or None where it was compared with none."""
        path = self.folder / "since.parquet"
        return self._read(path) if path.exists() else None

    def tables(self) -> list[str]:
        """Names of the larger tables."""
        return sorted(path.stem for path in (self.folder / "tables").glob("*.parquet"))

    def table(self, name: str) -> pl.DataFrame:
        """One of the larger tables."""
        return self._read(self.folder / "tables" / f"{name}.parquet")

    def _read(self, path: Path) -> pl.DataFrame:
        try:
            return pl.read_parquet(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise UnreadableFile(
                f"a run's tables must be complete; {path} is not ({str(error)[:100]}); repeat the audit"
            ) from None


class RunWriter:
    """Writes a run under a temporary name and renames it when it is whole.

    Each finished piece of work is kept under a key of all that determines it, so a run that was
    stopped goes on where it was when it is started again with the same output folder, and a run that
    was finished lends its pieces to the next one. One process at a time writes to a folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.partial = folder.with_name(f".{folder.name}.partial")
        self._done = folder.with_name(f".{folder.name}.done")
        busy = (
            f"one run at a time must write to a folder; another process writes to {folder} now; "
            "wait for it, or choose another with -o"
        )
        self._lock = Lock(self.partial / "lock", busy)

    def begin(self, *, fresh: bool = False) -> None:
        """Makes the working folder.

        Args:
            fresh: drop the pieces that a stopped run left.

        Raises:
            SutureError: the place is not writable, holds something that is not a run, or is written to by
                another process.
        """
        if self.folder.exists() and not (self.folder / "run.json").is_file():
            empty = self.folder.is_dir() and not any(self.folder.iterdir())
            if not empty:
                raise SutureError(
                    f"an output folder must be new, empty or a former run; {self.folder} holds something "
                    "else; choose another with -o"
                )
        try:
            self._lock.take()
            self._mend(fresh=fresh)
        except OSError as error:
            raise SutureError(
                f"the output folder must be writable; {self.folder.parent} is not ({error.strerror}); "
                "choose another with -o"
            ) from None

    def _mend(self, *, fresh: bool) -> None:
        """Puts right what a process that was killed left half done."""
        former = self.partial / "former"
        if former.exists() and not self.folder.exists():
            former.replace(self.folder)
        shutil.rmtree(self._done, ignore_errors=True)
        if fresh:
            shutil.rmtree(self.partial / "pieces", ignore_errors=True)
        (self.partial / "pieces").mkdir(exist_ok=True)

    def done(self, key: str) -> bool:
        """Whether a piece of work is already there."""
        return (self.partial / "pieces" / key).is_dir()

    def reuse(self, key: str, former: Former) -> bool:
        """Takes a piece over from a finished run, and says whether it could be had."""
        writing = self._writing(key)
        if not former.take(key, writing):
            return False
        writing.replace(self.partial / "pieces" / key)
        return True

    def keep(self, key: str, outcome: Outcome) -> None:
        """Stores a finished piece of work."""
        writing = self._writing(key)
        (writing / "tables").mkdir(parents=True)
        outcome.table().write_parquet(writing / "findings.parquet")
        for name, table in outcome.tables.items():
            table.write_parquet(writing / "tables" / f"{name}.parquet")
        writing.replace(self.partial / "pieces" / key)

    def _writing(self, key: str) -> Path:
        """Where a piece is written before it is whole; nothing lies there."""
        place = self.partial / "pieces" / f"{key}.writing"
        shutil.rmtree(place, ignore_errors=True)
        return place

    def findings(self, keys: Sequence[str]) -> pl.DataFrame:
        """The findings of kept pieces, in this order."""
        places = [self.partial / "pieces" / key / "findings.parquet" for key in keys]
        return pl.concat([SCHEMA.to_frame(), *map(pl.read_parquet, places)])

    def finish(self, keys: list[str], manifest: Mapping[str, Any]) -> Run:
        """Assembles the kept pieces in this order, writes ``run.json``, and renames the folder.

        Tables of one name from several pieces are put under one another.
        """
        whole = self.partial / "whole"
        shutil.rmtree(whole, ignore_errors=True)
        assemble([self.partial / "pieces" / key for key in keys], whole)
        text = json.dumps({"format": FORMAT, **manifest}, ensure_ascii=False, indent=1, sort_keys=True)
        (whole / "run.json").write_text(text + "\n", encoding="utf-8")
        return Run.open(whole)

    def leave(self) -> None:
        """Drops the working folder if nothing in it is worth going on from."""
        pieces = self.partial / "pieces"
        if pieces.is_dir() and not any(path for path in pieces.iterdir() if path.suffix != ".writing"):
            shutil.rmtree(self.partial, ignore_errors=True)
        self._lock.release()

    def publish(self) -> Run:
        """Puts the assembled run in its place, in the stead of a former one, and drops the pieces.

        What is dropped is renamed first: a process killed meanwhile leaves no piece of which a part is gone.
        """
        former = self.partial / "former"
        shutil.rmtree(former, ignore_errors=True)
        if self.folder.exists():
            self.folder.replace(former)
        (self.partial / "whole").replace(self.folder)
        self.partial.replace(self._done)
        self._lock.release()
        shutil.rmtree(self._done, ignore_errors=True)
        return Run.open(self.folder)


def piece_key(**parts: Any) -> str:
    """A folder name that is equal for equal parts: the first 20 digits of their SHA-256."""
    text = json.dumps(parts, sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def environment() -> dict[str, Any]:
    """Versions, platform and commit, as far as they can be told."""
    names = ("polars", "numpy", "tokenizers", "tiktoken", "sentencepiece", "regex", "spacy", "transformers")
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "suture": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.machine()}",
        "device": "cpu",
        "cores": os.cpu_count(),
        "versions": versions,
    }


def _commit() -> str | None:
    here = Path(__file__).resolve().parent.parent
    if not (here / ".git").exists():
        return None
    command = ["git", "-C", str(here), "rev-parse", "--short", "HEAD"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 fixed words
    except OSError:
        return None
    return answer.stdout.strip() or None
