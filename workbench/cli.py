"""The ``suture`` command: verbs are entry points, ours and plugins' alike."""

from __future__ import annotations

import io
import os
import sys
import warnings
from typing import TYPE_CHECKING, Annotated

import typer

from workbench import __version__
from workbench.errors import SutureError
from workbench.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

VERBS = Registry("suture.commands", "verb")


def _version(value: bool) -> None:
    if value:
        typer.echo(f"suture {__version__}")
        raise typer.Exit


def build() -> typer.Typer:
    """The command line with every installed verb; one that fails to import is warned of by name."""
    app = typer.Typer(
        name="suture",
        help="Where a tokenizer cuts words, what its vocabulary keeps whole, and what is odd in it.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,  # plain help, for loading Rich doubles the time that --help takes
    )

    @app.callback()
    def root(
        version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False,
    ) -> None:
        pass

    for name, verb in VERBS.load_all().items():
        _add(app, name, verb)
    return app


def _add(app: typer.Typer, name: str, verb: Callable[..., Any]) -> None:
    if isinstance(verb, typer.Typer):
        app.add_typer(verb, name=name)
    else:
        app.command(name)(verb)


def main() -> None:
    """Runs the command line; an expected error prints one sentence and exits with status 2."""
    warnings.showwarning = _short_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Unicode must not stop an answer
            stream.reconfigure(errors="backslashreplace")
    try:
        build()()
    except SutureError as error:
        typer.echo(f"suture: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(2)
    except MemoryError:
        typer.echo(
            "suture: the work must fit into memory; it does not; use --limit or a smaller input", err=True
        )
        sys.exit(2)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:  # a defect of ours, or a panic in a library, lies outside Exception
        if os.environ.get("SUTURE_TRACEBACK"):
            raise
        reason = (str(error).splitlines() or [""])[0][:200]
        typer.echo(
            f"suture: this input should have got a better answer ({type(error).__name__}: {reason}); "
            "please report it with what SUTURE_TRACEBACK=1 shows",
            err=True,
        )
        sys.exit(2)


def _short_warning(message: Warning | str, *_: object, **__: object) -> None:
    typer.echo(f"suture: note: {message}", err=True)


if __name__ == "__main__":
    main()
