"""The repeat test: can a model say an entry again that it has just read?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from workbench.errors import MissingExtra, SutureError
from workbench.findings import Finding, frame

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from workbench.tokenizer import Tokenizer
    from workbench.weights import Weights

    Forward = Callable[[NDArray[np.int64]], NDArray[np.float32]]

AUDIT = "undertrained"
SHOTS = 4
"""Entries that are repeated in the prompt to show what is asked."""

BATCH = 16
CAUSAL = ("ForCausalLM", "LMHeadModel")
SEED = 20_240_503


class Repeated(NamedTuple):
    """What the model made of entries (entries,).

    Attributes:
        probability: probability of the entry where it should come again.
        first: whether it is the likeliest of all there, so what greedy decoding gives.
    """

    probability: NDArray[np.float64]
    first: NDArray[np.bool_]


def verified(
    tokenizer: Tokenizer, weights: Weights, table: pl.DataFrame, number: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Puts the first candidates to the test, and beside them as many entries of the best trained half.

    Args:
        tokenizer: the tokenizer.
        weights: its checkpoint, with a config from which the model can be built.
        table: as ``rowtables.ranked`` gives it.
        number: candidates to test.

    Returns:
        The table with ``repeat_probability`` and ``repeated`` where tested, and findings. Where the model
        cannot be run, the reason as a finding.

    Raises:
        MissingExtra: torch or transformers is not installed.
        SutureError: the library cannot build the model.
    """
    why = unfit(weights)
    if why is None:
        chosen = table.filter("candidate")["token_id"].head(number).to_numpy()
        control = controls(table, number + SHOTS)
        why = None if len(control) > SHOTS else "it has too few ordinary entries to set beside"
    if why is not None:
        note = f"cannot be run: {why}"
        return table, frame([Finding(tokenizer.name, AUDIT, "repeated", None, unit="share", note=note)])
    forward = causal(weights.place)
    marks = [tokenizer.encode(text) for text in (" =", "\n")]
    shown, beside = control[:SHOTS], control[SHOTS:]
    found = repeat(forward, shown, np.concatenate([chosen, beside]), marks)
    tested = pl.DataFrame(
        {
            "token_id": pl.Series([*chosen, *beside], dtype=pl.Int32),
            "repeat_probability": found.probability,
            "repeated": found.first,
        }
    )
    size = len(chosen)
    groups = {"candidates": found.first[:size], "entries of the better half, beside them": found.first[size:]}
    findings = [
        Finding(
            tokenizer.name,
            AUDIT,
            "repeated",
            float(values.mean()) if len(values) else None,
            group,
            "share of entries",
            note=f"{int(values.sum())} of {len(values)}; one greedy trial each after {SHOTS} examples",
        )
        for group, values in groups.items()
    ]
    joined = table.join(tested, on="token_id", how="left", maintain_order="left")
    return joined, frame(findings)


def unfit(weights: Weights) -> str | None:
    """Why the model of a checkpoint cannot be put to the test; None where it can."""
    names = weights.config.get("architectures")
    if not isinstance(names, list) or not names:
        return "no config.json beside the weights says what model they are of"
    name = str(names[0])
    if name.endswith(CAUSAL):
        return None
    if name.endswith("ForMaskedLM"):
        return f"{name} fills gaps and does not continue a text"
    if name.endswith("ForConditionalGeneration"):
        return f"{name} is no plain language model"
    return f"{name} has no language-model head"


def controls(table: pl.DataFrame, number: int) -> NDArray[np.int64]:
    """Entries reached by their own text in the better half of the ranked list, drawn at random (number,)."""
    half = table["place"].count() // 2
    fit = (pl.col("class") == "ok") & (pl.col("place") > half) & (pl.col("kind") == "piece")
    ids = table.filter(fit)["token_id"].sort().to_numpy().astype(np.int64)
    chance = np.random.default_rng(SEED)
    return chance.choice(ids, min(number, len(ids)), replace=False)


def repeat(
    forward: Forward,
    shown: NDArray[np.int64],
    asked: NDArray[np.int64],
    marks: Sequence[Sequence[int]],
) -> Repeated:
    """Asks for each entry once.

    The prompt is written in ids, so that no entry is cut anew: ``x = x`` on a line for each example, then the
    entry and the sign alone.

    Args:
        forward: logits (batch, vocabulary) of what follows ids (batch, length).
        shown: ids of the examples.
        asked: ids to test.
        marks: ids of the sign between, and of the end of a line.
    """
    between, end = marks
    start = [token for each in shown.tolist() for token in (each, *between, each, *end)]
    probability, first = np.empty(len(asked)), np.empty(len(asked), np.bool_)
    for low in range(0, len(asked), BATCH):
        ids = asked[low : low + BATCH]
        prompts = np.array([[*start, token, *between] for token in ids.tolist()], np.int64)
        logits = forward(prompts).astype(np.float64)
        logits -= logits.max(1, keepdims=True)
        shares = np.exp(logits)
        rows = np.arange(len(ids))
        probability[low : low + len(ids)] = shares[rows, ids] / shares.sum(1)
        first[low : low + len(ids)] = logits.argmax(1) == ids
    return Repeated(probability, first)


def causal(place: Path) -> Forward:
    """The causal language model of a folder, on the processor, in 32-bit floats.

    Raises:
        MissingExtra: torch or transformers is not installed.
        SutureError: the library cannot build it.
    """
    try:
        import torch
        from transformers import AutoModelForCausalLM
    except ImportError:
        raise MissingExtra(
            "the repeat test must have torch and transformers; they are not installed; "
            "pip install 'suture[probing]', or set verify to 0"
        ) from None
    folder = place if place.is_dir() else place.parent
    try:
        model: Any = AutoModelForCausalLM.from_pretrained(
            str(folder),
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=torch.float32,
        )
        model.eval()
    except Exception as error:  # noqa: BLE001 whatever the library raises of a user's files
        reason = (str(error).splitlines() or [type(error).__name__])[0][:160]
        raise SutureError(
            f"the repeat test must have a model that transformers can build; that of {folder} it cannot "
            f"({reason}); set verify to 0"
        ) from None

    def forward(ids: NDArray[np.int64]) -> NDArray[np.float32]:
        with torch.inference_mode():
            out: NDArray[np.float32] = model(torch.from_numpy(ids)).logits[:, -1].float().numpy()
        return out

    return forward
