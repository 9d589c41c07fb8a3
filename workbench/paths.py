"""Where data and caches lie."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGE = Path(__file__).resolve().parent


def bundle(name: str) -> Path:
    """The folder of data that ships with Suture: ``corpora`` or ``app``.

    An installed wheel carries it inside the package; a checkout has it beside the package.

    Raises:
        SutureError: the installation has no such folder.
    """
    inside = _PACKAGE / "_bundle" / name
    if inside.is_dir():
        return inside
    checkout = _PACKAGE.parent
    # Without this file the parent is site-packages, where a folder of that name is somebody else's.
    if (checkout / "pyproject.toml").is_file() and (checkout / name).is_dir():
        return checkout / name
    raise SutureError(
        f"an installation of Suture must hold the data folder {name!r}; neither {inside} nor "
        f"{checkout / name} does; install the wheel again, or run from a full checkout"
    )


def cache_dir() -> Path:
    """The folder for what can be fetched or computed again; it may not exist yet.

    ``SUTURE_CACHE`` if set, else ``suture`` under ``XDG_CACHE_HOME``, else under ``~/.cache``.
    """
    own = os.environ.get("SUTURE_CACHE")
    if own:
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "suture"


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A place to write a file to, which takes its name when the block ends and goes when it fails.

    Raises:
        OSError: the place is not writable.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
