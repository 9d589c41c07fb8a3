"""The verb ``distil``: a worked distillation at CPU size, in one command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.commands.printing import console, put_json, table
from workbench.errors import MissingExtra, SutureError

if TYPE_CHECKING:
    from workbench.runs import Run


def distil(
    corpus: Annotated[str, typer.Option(help="Corpus: manual, a file, folder or glob.")] = "manual",
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the run.")] = Path("runs/distil"),
    arms: Annotated[str | None, typer.Option(help="Students, parted by commas; all by default.")] = None,
    steps: Annotated[
        int, typer.Option(help="Steps of each student; the teacher takes twice as many.", min=1)
    ] = 128,
    limit: Annotated[int | None, typer.Option(help="Passages taken at most.", min=32)] = None,
    seed: Annotated[int, typer.Option(help="Of weights and orders.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Train a small teacher and students over its tokens, bytes and another vocabulary, and compare them.

    A run that was stopped goes on where it was when the same command is given again.

    Example: `suture distil --arms bytes-ce,bytes-mi,bytes-eot -o runs/bytes`
    """
    try:
        from probing.bridge.arms import ARMS
        from probing.bridge.distil import Design
        from probing.bridge.distil import distil as run
    except ImportError as error:
        raise MissingExtra(
            f"torch and transformers must be installed to distil; they are not ({error}); "
            "run pip install 'suture[probing]'"
        ) from None
    from workbench.corpora import open_corpus

    known = {arm.name: arm for arm in ARMS}
    names = [name.strip() for name in arms.split(",") if name.strip()] if arms else list(known)
    for name in names:
        if name not in known:
            raise SutureError(
                f"a student must be one of {', '.join(known)}; got {name!r}; pick some of these"
            )
    design = Design(steps=steps, teacher_steps=2 * steps, seed=seed, limit=limit)
    read = open_corpus(corpus)
    read.check()
    try:
        made = run(read, design, output, [known[name] for name in names], ["suture", *sys.argv[1:]], _tell())
    except KeyboardInterrupt:
        raise SutureError(
            "the distillation was stopped before it was whole; what is done is kept; "
            "give the same command to go on"
        ) from None
    _print(made, as_json=as_json)


def _tell() -> Any:
    """Says on standard error what begins, and each hundredth step."""

    def tell(label: str, done: int, total: int) -> None:
        if "step" not in label or done % 100 == 0 or done == total:
            typer.echo(f"{label} ({done}/{total})", err=True)

    return tell


def _print(made: Run, *, as_json: bool) -> None:
    curves, fitted, kept = (made.table(name) for name in ("distil", "distil_fits", "distil_storage"))
    if as_json:
        put_json({"run": str(made.folder), "curves": curves.to_dicts(), "fits": fitted.to_dicts(),
                  "storage": kept.to_dicts()})  # fmt: skip
        return
    out = console()
    last = curves.group_by("arm", maintain_order=True).last()
    rows = [
        (
            row["arm"],
            f"{row['step']:,}",
            f"{row['positions']:,}",
            f"{row['flops']:.2e}",
            f"{row['bits_per_byte']:.3f}",
        )
        for row in last.iter_rows(named=True)
    ]
    head = ("name", "#steps", "#positions", "#FLOP", "#bits per byte")
    out.print(table("Held-out text, at the last step", head, rows))
    lines = [
        (row["arm"], *(_between(row, name) for name in "ac"), row["note"])
        for row in fitted.iter_rows(named=True)
    ]
    out.print(table("Bits per byte = b·C^a + c", ("name", "#a", "#c", "note"), lines))
    forms = [(form, f"{cost:,.0f}") for form, cost in kept.iter_rows()]
    out.print(table("To keep the teacher's predictions", ("form", "#bytes a byte of text"), forms))
    out.print(
        "One seed, a few hundred thousand parameters: it shows how the methods work, not which is better."
    )
    out.print(f"run: {made.folder}")


def _between(row: dict[str, Any], name: str) -> str:
    if row[name] is None:
        return "–"
    return f"{row[name]:.3f} ({row[f'{name}_low']:.3f} to {row[f'{name}_high']:.3f})"
