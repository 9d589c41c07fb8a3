"""What ``suture bridge`` says of a pair of tokenizers, and of a model over the first of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import torch

from probing.bridge.bpm import Bridge
from probing.bridge.bytes import end_of_token
from probing.bridge.chunks import pair_texts
from probing.bridge.dumps import TOP, stored_bytes
from probing.bridge.mass import Masses
from probing.bridge.rows import Rows
from workbench.errors import SutureError, UnreadableFile, upstream
from workbench.prefixes import Prefixes
from workbench.prefixmass import END

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from probing.bridge.chunks import Pairing
    from workbench.tokenizer import Tokenizer

CONTEXT = 512
"""Tokens that the model reads at most before it starts anew."""

POSITIONS = pl.Schema(
    dict.fromkeys(("sample", "token", "depth", "byte"), pl.Int64())
    | dict.fromkeys(("ending", "bound", "byteless", "spannable", "residual"), pl.Float64())
)


def vocabularies(teacher: Tokenizer, student: Tokenizer) -> dict[str, float | int]:
    """Shares of the teacher's entries that have a twin, a home, or a longer entry in the student."""
    bridge = Bridge(teacher.inventory, student.inventory)
    spelled = np.ones(bridge.size[0], bool)
    spelled[bridge.above.byteless] = False
    return {
        "teacher entries that spell bytes": int(spelled.sum()),
        "share with a twin of the same bytes": float((bridge.twins >= 0)[spelled].mean()),
        "share with a home": float((bridge.homes >= 0)[spelled].mean()),
        "share that a student entry goes on beyond": float(bridge.spannable[spelled].mean()),
    }


def storage(teacher: Tokenizer, pairing: Pairing) -> list[dict[str, Any]]:
    """Bytes to keep a teacher's predictions for a byte of this text, by form; all in 16-bit floats."""
    ids = teacher.inventory.rows_needed
    stored = stored_bytes(ids, len(pairing.teacher.ids), int(pairing.teacher.ends[-1]))
    forms = {
        f"every id, {ids:,} numbers a token": stored.every,
        f"the {TOP} likeliest ids of a token": stored.top,
        "256 bytes and an end, a row a byte and one a token": stored.ends,
        "256 bytes, a row a byte": stored.bytes,
    }
    return [{"what": what, "bytes_per_text_byte": cost} for what, cost in forms.items()]


def positions(
    model: Path,
    teacher: Tokenizer,
    student: Tokenizer,
    texts: Sequence[str],
    tokens: int,
    progress: Callable[[str], None] = lambda _: None,
) -> pl.DataFrame:
    """What the approximations leave open where a model predicts these texts, position by position.

    Args:
        model: folder of a causal language model.
        teacher: the model's tokenizer.
        student: the tokenizer that its probabilities are carried to.
        texts: texts; as many are taken as give about that many tokens.
        tokens: teacher tokens predicted.
        progress: told what begins.

    Returns:
        A row before each byte of each predicted token, and one after it: sample, token (from 0 in the
        sample), depth (bytes of the token read), byte (the one that follows, null at the token's end),
        ending (e = P(the token ends | the bytes read)), bound (on the total variation between
        Marginalize-It and the exact next byte), and at depth 0 byteless, spannable (bound on that of a
        Byte-Prefix target) and residual.

    Raises:
        SutureError: the model cannot be read, or is not over the teacher's ids, or there is too little text.
    """
    progress(f"reading {model}")
    network, width = _model(model), teacher.inventory.rows_needed
    rows = int(network.get_input_embeddings().num_embeddings)  # type: ignore[operator]
    if rows < width:
        raise SutureError(
            f"a model must have a row for each of the teacher's {width:,} ids; {model} has {rows:,}; give "
            "the tokenizer that it was trained with"
        )
    pairing = pair_texts(teacher, student, _some(teacher, texts, tokens))
    bridge, masses = Bridge(teacher.inventory, student.inventory), Masses(Prefixes.of(teacher.inventory))
    found = [POSITIONS.to_frame()]
    for sample in range(int(pairing.teacher.samples[-1]) + 1):
        ids = pairing.teacher.ids[pairing.teacher.samples == sample]
        if len(ids) < 2:
            continue  # nothing comes before its one token
        if sample % 50 == 0:
            progress(f"predicting text {sample + 1}")
        logits, at = _predicted(network, ids, width)
        found.append(_rows(bridge, masses, logits, ids, at).with_columns(sample=pl.lit(sample, pl.Int64)))
    made = pl.concat([each.select(POSITIONS.names()) for each in found])
    if made.is_empty():
        raise SutureError("a model needs texts of two tokens or more; got none; give longer text")
    return made


def _rows(
    bridge: Bridge, masses: Masses, logits: Tensor, ids: NDArray[np.int32], at: NDArray[np.int64]
) -> pl.DataFrame:
    """The rows of one text, of which the tokens ``at`` are predicted."""
    targets = end_of_token(masses, logits, torch.from_numpy(ids[at].astype(np.int64)))
    predicted = Rows.from_logits(logits, len(bridge.homes))
    spans = predicted.weighed(bridge.on("spannable", logits.device).to(predicted.values.dtype))
    per_token = {"spannable": spans.numpy(), "residual": bridge.boundary(predicted)[:, -2].numpy()}
    position, depth = targets.position.numpy(), targets.depth.numpy()
    table = pl.DataFrame(
        {
            "token": at[position],
            "depth": depth,
            "byte": pl.Series(targets.realised.numpy()).replace(END, None),
            "ending": targets.ending.numpy(),
            "bound": targets.bound.numpy(),
            "byteless": targets.byteless.numpy(),
            **{name: values[position] for name, values in per_token.items()},
        }
    )
    first = [pl.when(pl.col("depth") == 0).then(name).alias(name) for name in ("byteless", *per_token)]
    return table.with_columns(first).with_columns(sample=pl.lit(0, pl.Int64)).cast(POSITIONS)


def lies(table: pl.DataFrame) -> dict[str, Any]:
    """Mean, median, quantiles and most of what ``positions`` gives, and the number of tokens predicted."""
    unfinished = table.filter((pl.col("depth") > 0) & pl.col("byte").is_not_null())
    named = {
        "e = P(the token ends | its first bytes), where the text goes on": unfinished["ending"],
        "mass of ids that spell nothing, at token boundaries": table["byteless"].drop_nulls(),
        "spannable mass: most that a Byte-Prefix target can be off": table["spannable"].drop_nulls(),
        "residual: mass of teacher tokens without a home": table["residual"].drop_nulls(),
    }
    return {
        "positions": table["spannable"].count(),
        "figures": [{"what": what, **_summary(values.to_numpy())} for what, values in named.items()],
    }


def _summary(values: NDArray[np.floating]) -> dict[str, float | None]:
    if not len(values):
        return dict.fromkeys(("mean", "median", "q90", "q99", "max"))
    found = np.quantile(values, [0.5, 0.9, 0.99, 1])
    return {
        "mean": float(values.mean()),
        **dict(zip(("median", "q90", "q99", "max"), found.tolist(), strict=True)),
    }


def _some(teacher: Tokenizer, texts: Sequence[str], tokens: int) -> list[str]:
    """Texts from the first on that hold about so many tokens."""
    sizes = np.diff(teacher.encode_batch(texts).offsets)
    count = int(np.searchsorted(np.cumsum(sizes), tokens)) + 1
    return list(texts[:count])


def _model(folder: Path) -> nn.Module:
    if not (folder / "config.json").is_file() or not any(folder.glob("*.safetensors")):
        raise UnreadableFile(
            f"a model must be a folder with config.json and safetensors; {folder} is none; give the folder "
            "of a causal language model"
        )
    from transformers import AutoModelForCausalLM

    with upstream(f"{folder} must be a causal language model that transformers can read"):
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder,
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    if missing := sorted(loaded[1]["missing_keys"]):
        raise UnreadableFile(
            f"a checkpoint must hold every weight of its model; {folder} lacks {len(missing)}, such as "
            f"{missing[0]}; fetch it again"
        )
    network: nn.Module = loaded[0].eval()
    return network


@torch.no_grad()
def _predicted(network: nn.Module, ids: NDArray[np.int32], width: int) -> tuple[Tensor, NDArray[np.int64]]:
    """Logits of each token but the first of each stretch (tokens, ids), and the places of those tokens."""
    rows, at = [], []
    for start in range(0, len(ids), CONTEXT):
        part = ids[start : start + CONTEXT]
        logits = network(input_ids=torch.from_numpy(part.astype(np.int64))[None]).logits[0]
        # Rows beyond the tokenizer's ids are padding of the matrix, and no outcome.
        rows.append(logits[:-1, :width].float())
        at.append(np.arange(start + 1, start + len(part)))
    return torch.cat(rows), np.concatenate(at)
