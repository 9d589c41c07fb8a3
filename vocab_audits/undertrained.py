"""Entries whose rows training left alone, seen in the weights and beside what no text reaches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from vocab_audits.indicators import INDICATORS, mean_rank, measured
from vocab_audits.principal import principal
from vocab_audits.reachability import classify
from vocab_audits.references import SOURCES, blind, known, sources
from vocab_audits.rows import scan
from vocab_audits.rowtables import figures, ranked
from workbench.audit import Outcome, audit
from workbench.errors import SutureError
from workbench.findings import Finding
from workbench.weights import open_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vocab_audits.principal import Principal
    from vocab_audits.references import Reference
    from vocab_audits.rows import Matrix
    from workbench.tokenizer import Tokenizer
    from workbench.weights import Weights

REFERENCES = ("auto", "rows", "none")
HOW_TO_NAME = 'name them in audit.toml: [options.undertrained] weights = "FOLDER", or "NAME=FOLDER,…"'


class Measured(NamedTuple):
    """What the weights say of a tokenizer's entries.

    Attributes:
        weights: the checkpoint.
        last: the matrix that the indicators are taken on: the output matrix, or the only one.
        first: the input matrix where it is another, else None.
        found: ids of rows known to be unused, by source.
        reference: the mean row that the others are measured by.
        component: first principal component of ``last``.
        lists: indicators by name, each with a value a row of the table (height,), low for untrained.
        classes: reachability class of each entry.
        known: whether the reference is of rows known to be unused, rather than found from the rows alone.
    """

    weights: Weights
    last: Matrix
    first: Matrix | None
    found: dict[str, NDArray[np.intp]]
    reference: Reference
    component: Principal
    lists: dict[str, NDArray[np.float64]]
    classes: pl.Series
    known: bool


@audit("Rows that training left alone")
def undertrained(
    tokenizer: Tokenizer,
    *,
    weights: str = "",
    references: str = "auto",
    share: float = 0.02,
    listed: int = 50,
    verify: int = 0,
) -> Outcome:
    """Entries whose embedding rows look untrained, ranked by indicators of the weights and by reachability.

    The matrices are read from their files a few rows at a time; no model is built, but for ``verify``.

    Args:
        tokenizer: the tokenizer.
        weights: folder or file of the checkpoint, or NAME=PLACE for a tokenizer of that name, several with
            commas between; without it, the safetensors beside the tokenizer's own files.
        references: ``auto`` measures rows by those that are known to be unused, or, where none is, by a
            cluster found from the rows; ``rows`` by such a cluster in any case; ``none`` by neither.
        share: part of the ranked rows that counts as candidates.
        listed: candidates to list as findings.
        verify: candidates that are put to the repeat test, which builds the model; 0 for none.

    Returns:
        Figures on the matrices and the first candidates as findings; table ``undertrained``, one row an id.

    Raises:
        SutureError: an option is out of range, or the weights that were named are broken.
    """
    if references not in REFERENCES or not 0 < share <= 1 or listed < 0 or verify < 0:
        raise SutureError(
            "options of undertrained must be references of auto, rows or none, share in (0, 1], listed and "
            f"verify of 0 or more; got {references!r}, {share}, {listed}, {verify}; correct them"
        )
    opened, why = opened_weights(tokenizer, weights)
    if opened is None:
        note = f"not measured: {why}; {HOW_TO_NAME}"
        return Outcome(
            [Finding(tokenizer.name, "undertrained", "candidates", None, unit="entries", note=note)]
        )
    seen = measure(tokenizer, opened, references)
    table = ranked(tokenizer, seen, scores(seen), share)
    findings = figures(tokenizer.name, seen, table, share, listed)
    if verify:
        from vocab_audits.repeating import verified

        table, more = verified(tokenizer, opened, table, verify)
        findings = findings.vstack(more)
    return Outcome(findings, {"undertrained": table})


def opened_weights(tokenizer: Tokenizer, given: str) -> tuple[Weights | None, str]:
    """The checkpoint of a tokenizer, or why there is none.

    Raises:
        SutureError: weights were named and cannot be read, or have no embedding that can be told.
    """
    place = _named_place(tokenizer.name, given)
    if place is None and tokenizer.folder is None:
        return None, "the tokenizer comes without a folder in which weights could lie"
    try:
        return with_embedding(place or tokenizer.folder or Path()), ""
    except SutureError as error:
        if place is not None:
            raise
        return None, str(error)


def with_embedding(place: Path) -> Weights:
    """A checkpoint in which the embedding can be told.

    Raises:
        SutureError: it cannot be read, or has none.
    """
    weights = open_weights(place)
    if weights.embedding() is None:
        raise SutureError(
            f"a checkpoint must hold an embedding under a known name; {weights.place} has "
            f"{', '.join(weights.names[:4]) or 'no tensor'}; name the folder of the whole model"
        )
    return weights


def _named_place(name: str, given: str) -> Path | None:
    """The place in the option that is for this tokenizer: one for all, or that of its own name."""
    for part in filter(None, (each.strip() for each in given.split(","))):
        head, equals, tail = part.partition("=")
        if not equals or "/" in head:
            return Path(part)
        if head == name:
            return Path(tail)
    return None


def measure(tokenizer: Tokenizer, weights: Weights, references: str) -> Measured:
    """Passes over the matrices: three and as many as the first component takes.

    Args:
        tokenizer: the tokenizer.
        weights: its checkpoint.
        references: one of ``REFERENCES``.
    """
    name, output = str(weights.embedding()), weights.unembedding()
    untied = not weights.tied and output is not None
    last = scan(weights, str(output) if untied else name)
    first = scan(weights, name) if untied else None
    classes = classify(tokenizer)["class"]
    found = sources(tokenizer.inventory, last.rows, classes)
    reference = _reference(last, found, references)
    component = principal(last)
    height = max(tokenizer.inventory.rows_needed, last.rows, first.rows if first else 0)
    lists = dict.fromkeys(INDICATORS, np.full(height, np.nan))
    if reference.centre is not None:
        lists = {
            key: _padded(values, height)
            for key, values in measured(last, reference.centre, component).items()
        }
    if first is not None:
        lists["norm_input"] = _padded(np.where(first.finite, first.norms, np.nan), height)
    aware = references == "auto" and bool(sum(len(ids) for ids in found.values()))
    return Measured(weights, last, first, found, reference, component, lists, classes, aware)


def _reference(matrix: Matrix, found: dict[str, NDArray[np.intp]], references: str) -> Reference:
    if references == "none":
        return known(matrix, {name: np.empty(0, np.intp) for name in SOURCES})
    reference = known(matrix, found) if references == "auto" else None
    if reference is None or reference.centre is None:
        return blind(matrix)
    return reference


def _padded(values: NDArray[np.float64], height: int) -> NDArray[np.float64]:
    return np.concatenate([values, np.full(height - len(values), np.nan)])


def scores(seen: Measured) -> dict[str, NDArray[np.float64]]:
    """Mean rank of every row (height,): ``rows`` by the indicators alone, ``all`` with reachability too.

    Reachability is one more list with two values: 0 for an entry that no text tried leads to or a row
    without entry, 1 for any other.
    """
    height = len(next(iter(seen.lists.values())))
    among = ~np.all([np.isnan(values) for values in seen.lists.values()], axis=0)
    reached = np.zeros(height)
    dead = (seen.classes == "gap") | seen.classes.cast(pl.String).str.ends_with("_blocked")
    reached[: len(dead)] = ~dead.to_numpy()
    return {
        "rows": mean_rank(seen.lists, among),
        "all": mean_rank({**seen.lists, "reached": reached}, among),
    }
