"""What verbs print with: data on standard output, talk on standard error."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Self

import typer

from workbench.errors import SutureError
from workbench.paths import written_whole

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import polars as pl
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text


def tell(message: str) -> None:
    """One line to the person who waits; never data."""
    typer.echo(f"suture: note: {message}", err=True)


def put_json(value: Any) -> None:
    """Data as one JSON document, in ASCII, so that no character of a token acts on a terminal.

    It is indented for a terminal and compact for a pipe.
    """
    typer.echo(json.dumps(value, ensure_ascii=True, indent=2 if sys.stdout.isatty() else None))


def put_parquet(frame: pl.DataFrame, path: Path, what: str) -> None:
    """Data as a Parquet file, which appears whole or not at all.

    Args:
        frame: the table.
        path: where to.
        what: what it is, for the message.

    Raises:
        SutureError: the place is not writable.
    """
    try:
        with written_whole(path) as partial:
            frame.write_parquet(partial)
    except OSError as error:
        raise SutureError(
            f"the {what} must be written to a place that is writable; {path} is not ({error.strerror}); "
            "choose another with -o"
        ) from None


class Bar:
    """Progress in bytes on standard error, where that is a terminal."""

    def __init__(self, size: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

        talk = Console(stderr=True)
        columns = (BarColumn(bar_width=24), DownloadColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=talk, transient=True, disable=not talk.is_terminal)
        self._task = self._progress.add_task("", total=size)

    def advance(self, read: int) -> None:
        """So many bytes more are done."""
        self._progress.advance(self._task, read)

    def reach(self, done: int, size: int) -> None:
        """So many bytes are done, of so many in all."""
        self._progress.update(self._task, completed=done, total=size)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


def console() -> Console:
    """Standard output, for tables; text is never read as markup. ``NO_COLOR`` is respected by Rich."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False)


def safe(text: object) -> Text:
    """Text from a file, a name or a path with nothing in it that acts on a terminal."""
    from rich.text import Text

    from workbench.display import readable

    return Text(readable(str(text).encode("utf-8", "surrogateescape")))


def table(title: str | None, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Table:
    """A plain table; a column whose name starts with ``#`` is of numbers, and set to the right.

    Cells fold where they must, so that nothing is cut off; the names and specs in a column ``name`` stay
    whole, to be copied. A cell that is Rich text already is kept.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    made = Table(
        title=title, box=SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False, expand=False
    )
    for name in columns:
        numeric = name.startswith("#")
        made.add_column(
            safe(name.removeprefix("#")),
            justify="right" if numeric else "left",
            no_wrap=numeric or name == "name",
            overflow="fold",
        )
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else safe(cell) for cell in row))
    return made


def fields(pairs: Iterable[tuple[str, object]]) -> Table:
    """Names with their values, two columns without a frame; a value of None is left out."""
    from rich.table import Table
    from rich.text import Text

    made = Table.grid(padding=(0, 2))
    made.add_column(no_wrap=True, style="bold")
    made.add_column(overflow="fold")
    for name, value in pairs:
        if value is not None:
            made.add_row(Text(name), value if isinstance(value, Text) else safe(value))
    return made
