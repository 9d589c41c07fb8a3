"""What a person sees while audits run: a bar on a terminal, a line a step elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self


class Progress:
    """A progress bar on standard error, or plain silence."""

    def __init__(self, quiet: bool) -> None:
        from rich import progress
        from rich.console import Console

        console = Console(stderr=True)
        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(bar_width=24),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            console=console,
            disable=quiet or not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=None)
        self._plain: Callable[[str], None] = lambda text: None if quiet else typer.echo(text, err=True)
        self._terminal = console.is_terminal

    def tell(self, label: str, done: int, total: int) -> None:
        """Shows what begins now."""
        self._bar.update(self._task, description=label[:44].ljust(44), completed=done, total=total)
        if not self._terminal:
            self._plain(label)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
