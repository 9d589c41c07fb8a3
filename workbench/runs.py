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
from workbench.errors import SutureError, UnreadableFile
from workbench.findings import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.audit import Outcome

FORMAT = 1
VOLATILE = ("environment", "seconds")
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
    stopped goes on where it was when it is started again with the same output folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.partial = folder.with_name(f".{folder.name}.partial")

    def begin(self) -> None:
        """Makes the working folder.

        Raises:
            SutureError: the place is not writable, or holds something that is not a run.
        """
        if self.folder.exists() and not (self.folder / "run.json").is_file():
            empty = self.folder.is_dir() and not any(self.folder.iterdir())
            if not empty:
                raise SutureError(
                    f"an output folder must be new, empty or a former run; {self.folder} holds something "
                    "else; choose another with -o"
                )
        try:
            (self.partial / "pieces").mkdir(parents=True, exist_ok=True)
            probe = self.partial / ".writable"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise SutureError(
                f"the output folder must be writable; {self.folder.parent} is not ({error.strerror}); "
                "choose another with -o"
            ) from None

    def done(self, key: str) -> bool:
        """Whether a piece of work is already there."""
        return (self.partial / "pieces" / key).is_dir()

    def keep(self, key: str, outcome: Outcome) -> None:
        """Stores a finished piece of work."""
        final = self.partial / "pieces" / key
        writing = final.with_name(f"{key}.writing")
        shutil.rmtree(writing, ignore_errors=True)
        (writing / "tables").mkdir(parents=True)
        outcome.table().write_parquet(writing / "findings.parquet")
        for name, table in outcome.tables.items():
            table.write_parquet(writing / "tables" / f"{name}.parquet")
        writing.replace(final)

    def finish(self, keys: list[str], manifest: Mapping[str, Any]) -> Run:
        """Assembles the kept pieces in this order, writes ``run.json``, and renames the folder.

        Tables of one name from several pieces are put under one another.
        """
        whole = self.partial / "whole"
        shutil.rmtree(whole, ignore_errors=True)
        (whole / "tables").mkdir(parents=True)
        pieces = [self.partial / "pieces" / key for key in keys]
        found = [pl.read_parquet(piece / "findings.parquet") for piece in pieces]
        pl.concat([SCHEMA.to_frame(), *found]).write_parquet(whole / "findings.parquet")
        names = sorted({path.stem for piece in pieces for path in (piece / "tables").glob("*.parquet")})
        for name in names:
            paths = [path for piece in pieces if (path := piece / "tables" / f"{name}.parquet").exists()]
            parts = [pl.read_parquet(path) for path in paths]
            pl.concat(parts, how="diagonal_relaxed").write_parquet(whole / "tables" / f"{name}.parquet")
        text = json.dumps({"format": FORMAT, **manifest}, ensure_ascii=False, indent=1, sort_keys=True)
        (whole / "run.json").write_text(text + "\n", encoding="utf-8")
        return Run.open(whole)

    def leave(self) -> None:
        """Drops the working folder if nothing in it is worth going on from."""
        pieces = self.partial / "pieces"
        if pieces.is_dir() and not any(path for path in pieces.iterdir() if path.suffix != ".writing"):
            shutil.rmtree(self.partial, ignore_errors=True)

    def publish(self) -> Run:
        """Puts the assembled run in its place, in the stead of a former one, and drops the pieces."""
        former = self.partial / "former"
        if self.folder.exists():
            self.folder.replace(former)
        (self.partial / "whole").replace(self.folder)
        shutil.rmtree(self.partial)
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
