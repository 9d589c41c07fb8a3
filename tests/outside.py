"""What tests have of the world outside: packages that are not there, texts of their own and of others."""

from __future__ import annotations

import builtins
import os
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import builders
from tests.vocabs import ROOT
from workbench.corpora import open_corpus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.corpora import Corpus


def without(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Make every import of a package fail."""
    real = builtins.__import__

    def importer(name, *rest, **options):
        if name.partition(".")[0] == package:
            raise ImportError(f"no {name} here")
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", importer)


def corpus(folder: Path, **texts: Iterable[str]) -> Corpus:
    """Write lines into a file a language, and open the folder as a corpus."""
    for language, lines in texts.items():
        (folder / f"{language}.txt").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return open_corpus(str(folder))


def parallel_text(folder: Path) -> Corpus:
    """Return the parallel text in NFC, copied into a folder; skip the test where it is not at hand."""
    shared = Path(os.environ.get("SUTURE_SHARED") or ROOT.parent / "shared") / "data" / "parallel"
    if not shared.is_dir():
        pytest.skip(f"the parallel text is not at {shared}: set SUTURE_SHARED to the folder that has data/")
    for path in shared.glob("??.txt"):
        text = unicodedata.normalize("NFC", path.read_text(encoding="utf-8"))
        (folder / path.name).write_text(text, encoding="utf-8")
    return open_corpus(str(folder))


def listed_word(folder: Path, name: str = "one") -> Path:
    """A config that audits a tokenizer of this name whose entry `zork` a term list holds as a slur."""
    merges = [(b"z", b"o"), (b"r", b"k"), (b"zo", b"rk")]
    builders.byte_level([b"zo", b"rk", b"zork"], merges).save(str(folder / "t.json"))
    (folder / "mine.tsv").write_text("term\tcategory\tseverity\nzork\tslur\tstrong\n")
    config = folder / "audit.toml"
    config.write_text(
        f'tokenizers = ["{name}={folder / "t.json"}"]\nonly = ["unwanted"]\n'
        f'[options.unwanted]\nlists = ["{folder / "mine.tsv"}"]\n'
    )
    return config
