"""The verb ``review``: what a run flags and warns of, one line a finding, and what people decide on it."""

from __future__ import annotations

import getpass
from pathlib import Path  # noqa: TC003 a verb's types are read when it is called
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from workbench.runs import Run


def review(
    folder: Annotated[Path, typer.Argument(help="Folder of a run.", metavar="RUN")],
    keys: Annotated[
        list[str] | None,
        typer.Argument(help="Keys to decide on; a beginning is enough.", metavar="KEY…", show_default=False),
    ] = None,
    accept: Annotated[bool, typer.Option("--accept", help="They may stay, and fail no job.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="They must go.")] = False,
    unsure: Annotated[bool, typer.Option("--unsure", help="Somebody has looked and cannot tell.")] = False,
    reopen: Annotated[bool, typer.Option("--reopen", help="Take a decision back.")] = False,
    why: Annotated[str, typer.Option(help="The reason of a decision.")] = "",
    by: Annotated[str, typer.Option(help="Who decides; by default your name on this machine.")] = "",
    state: Annotated[
        str, typer.Option(help="List what is: open, accepted, rejected, unsure, or all.")
    ] = "open",
    top: Annotated[int, typer.Option(help="Lines at most.", min=0)] = 50,
    reveal: Annotated[bool, typer.Option("--reveal", help="Show masked entries in clear.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List what a run flags and warns of and nobody has decided on, or decide on some of it.

    Decisions lie beside the run in RUN.review.json and hold for its successors.

    Example: `suture review runs/mine --accept 1f3a9c0b2d4e --why "a place name"`
    """
    from workbench.runs import Run

    run = Run.open(folder)
    flags = {"accepted": accept, "rejected": reject, "unsure": unsure, "open": reopen}
    wanted = [name for name, given in flags.items() if given]
    if len(wanted) > 1 or bool(wanted) != bool(keys):
        raise SutureError(
            "a decision must be one of --accept, --reject, --unsure and --reopen, on one KEY or more; got "
            f"{len(wanted)} of them and {len(keys or [])} keys; correct the command"
        )
    if wanted and keys:
        _decide(run, keys, wanted[0], by or _me(), why)
    else:
        _list(run, state, top, reveal=reveal, as_json=as_json)


def _me() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def _decide(run: Run, keys: list[str], state: str, by: str, why: str) -> None:
    from workbench.findings import IS_GRAVE
    from workbench.review import Review, chosen

    decided = Review.open(run)
    for finding in chosen(run.findings().filter(IS_GRAVE), keys):
        typer.echo(f"{decided.set(finding, state, by=by, why=why)} {state}")
    decided.save()


def _list(run: Run, state: str, top: int, *, reveal: bool, as_json: bool) -> None:
    from rich.text import Text

    from workbench.commands.printing import console, put_json, table, tell
    from workbench.report.masking import masked_run
    from workbench.review import OPEN, STATES

    if state not in (*STATES, OPEN, "all"):
        raise SutureError(f"--state must be {', '.join((*STATES, OPEN))} or all; got {state!r}; pick one")
    shown = masked_run(run, reveal=reveal)
    rows = _rows(shown, state)
    few = [_line(row, shown) for row in rows.head(top).iter_rows(named=True)]
    masked = [name for name in shown.hidden if name in rows["audit"]]
    said = f"{', '.join(masked)}: each word keeps its first letter alone; --reveal shows it" if masked else ""
    if as_json:
        masking = {"masking": said} if said else {}
        put_json({"run": str(run.folder), "state": state, "total": rows.height, **masking, "findings": few})
        return
    names = ("key", "severity", "what", "entry", "in", "evidence", "state")
    if few:
        cells = (
            [Text(line.get(name, "")) if name == "entry" else line[name] for name in names] for line in few
        )
        console().print(table(None, ("#key", *names[1:]), cells))
    if rows.height > top:
        tell(f"{rows.height - top:,} more; give --top {rows.height}")
    tell(f"{rows.height:,} findings are {state}" if state != "all" else f"{rows.height:,} findings")
    if said and few:
        tell(said)


def _rows(run: Run, state: str) -> pl.DataFrame:
    """One row a key, the gravest first, with the inventories that have it."""
    import polars as pl

    from workbench.gate import judge

    found = judge(run).findings
    if state != "all":
        found = found.filter(state=state)
    first = (
        "audit",
        "measure",
        "variant",
        "token",
        "token_id",
        "note",
        "evidence",
        "state",
        "by",
        "why",
        "new",
    )
    parts = found.group_by("key", maintain_order=True).agg(
        pl.col("severity").max(),
        pl.col(first).first(),
        pl.col("subject").unique(maintain_order=True).alias("subjects"),
    )
    return parts.sort("severity", descending=True, maintain_order=True)


def _line(row: Mapping[str, Any], run: Run) -> dict[str, Any]:
    """A finding for people and programs; a masked token has no bytes."""
    from workbench.display import faithful
    from workbench.report.cells import label

    what = f"{row['audit']}: {label(row['measure'])}" + (f" ({row['variant']})" if row["variant"] else "")
    said = ": ".join(text for text in (row["by"], row["why"]) if text)
    line = {
        "key": row["key"],
        "severity": row["severity"],
        "what": what,
        "in": ", ".join(row["subjects"]),
        "evidence": row["evidence"] or row["note"] or "",
        "state": f"{row['state']} ({said})" if said else row["state"],
    }
    if row["token"] is not None:
        line["entry"] = faithful(row["token"])
        if row["audit"] not in run.hidden:
            line["token_hex"] = row["token"].hex()
    return line
