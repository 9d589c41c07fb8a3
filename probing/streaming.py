"""Drift over any number of tokens, from sums alone: an observer of a pass that keeps no state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import torch

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from workbench.trace import Trace

FIGURES = (
    "units", "finite", "norm", "norm2", "zero", "cosines0", "cos0", "cosines_previous", "cos_previous"
)  # fmt: skip
"""What is summed of each layer: units; those of finite norm, their norms and squared norms; rows without a
direction; units whose cosine to layer 0 is defined, and these cosines; likewise to the layer before."""


class Drift:
    """Sums of norms and of cosines to layer 0 and to the layer before, and of directions, a layer.

    Cosines are taken of 32-bit rows and summed in 64 bits. A row that is zero or not finite has no
    direction and takes no part in cosines; it is counted. The layers are those of the residual stream in
    order: ``static`` and sub-layers are passed over, and ``L.norm`` is held against ``L``.
    """

    def __init__(self) -> None:
        self._sums: dict[str, NDArray[np.float64]] = {}
        self._directions: dict[str, NDArray[np.float64]] = {}
        self._first: tuple[Tensor, Tensor] | None = None
        self._before: tuple[Tensor, Tensor] | None = None

    def __call__(self, layer: str, states: Tensor, units: pl.DataFrame) -> None:
        """Adds a batch of one layer."""
        del units
        number, _, kind = layer.partition(".")
        if not number.isdigit() or kind not in ("", "norm"):
            return
        length = torch.linalg.vector_norm(states, dim=1, keepdim=True)
        defined = torch.isfinite(length) & (length > 0)
        unit = torch.where(defined, states / length, 0.0)
        here = (unit, defined[:, 0])
        if layer == "0":
            self._first = self._before = here
        sums = self._sums.setdefault(layer, np.zeros(len(FIGURES)))
        finite = torch.where(torch.isfinite(length), length, 0.0).double()
        found = [
            len(states),
            float(torch.isfinite(length).sum()),
            float(finite.sum()),
            float((finite**2).sum()),
            float((~defined).sum()),
        ]
        for other in (self._first, self._before):
            found += _cosines(here, other)
        sums += found
        direction = unit.sum(0, dtype=torch.float64).cpu().numpy()
        self._directions[layer] = self._directions.get(layer, 0.0) + direction
        self._before = here

    def state(self) -> dict[str, NDArray[Any]]:
        """The sums, for a pass that may be stopped."""
        sums = {f"sums.{layer}": value for layer, value in self._sums.items()}
        return {**sums, **{f"directions.{layer}": value for layer, value in self._directions.items()}}

    def restore(self, kept: dict[str, NDArray[Any]]) -> None:
        """Takes up what ``state`` gave."""
        for name, value in kept.items():
            kind, _, layer = name.partition(".")
            (self._sums if kind == "sums" else self._directions)[layer] = value.copy()

    def table(self) -> pl.DataFrame:
        """One row a layer.

        ``norm`` and ``norm_sd``; ``cos0`` and ``cos_previous``, means of raw cosines; ``baseline``, the mean
        cosine of two different units within the layer: A_l = (|S_l|² − N) / (N (N − 1)) with S the sum of
        unit rows (exact: all ordered pairs); ``baseline0``, that of a unit here and another in layer 0:
        (S_l·S_0 − Σ cos) / (N (N − 1)), null where a unit lacks a direction in one of the two; ``undefined``,
        units without a direction.
        """
        rows = []
        first = self._directions.get("0")
        for layer in sorted(self._sums, key=_order):
            found = dict(zip(FIGURES, self._sums[layer].tolist(), strict=True))
            units, defined = found["units"], found["units"] - found["zero"]
            mean, square = _mean(found["norm"], found["finite"]), _mean(found["norm2"], found["finite"])
            spread = None if mean is None or square is None else max(square - mean**2, 0.0) ** 0.5
            total = self._directions[layer]
            pairs = defined * (defined - 1)
            whole = first is not None and found["cosines0"] == defined == self._defined("0")
            across = float(total @ first - found["cos0"]) if first is not None and whole else None
            rows.append(
                {
                    "layer": layer,
                    "units": int(units),
                    "undefined": int(found["zero"]),
                    "norm": mean,
                    "norm_sd": spread,
                    "cos0": _mean(found["cos0"], found["cosines0"]),
                    "cos_previous": _mean(found["cos_previous"], found["cosines_previous"]),
                    "baseline": _mean(float(total @ total) - defined, pairs),
                    "baseline0": None if across is None else _mean(across, pairs),
                }
            )
        return pl.DataFrame(rows, schema=SCHEMA)

    def _defined(self, layer: str) -> float:
        found = dict(zip(FIGURES, self._sums[layer].tolist(), strict=True))
        return float(found["units"] - found["zero"])


SCHEMA = pl.Schema(
    {
        "layer": pl.String(), "units": pl.Int64(), "undefined": pl.Int64(), "norm": pl.Float64(),
        "norm_sd": pl.Float64(), "cos0": pl.Float64(), "cos_previous": pl.Float64(),
        "baseline": pl.Float64(), "baseline0": pl.Float64(),
    }
)  # fmt: skip


def _cosines(one: tuple[Tensor, Tensor], two: tuple[Tensor, Tensor] | None) -> list[float]:
    """How many units have a direction in both, and the sum of their cosines."""
    if two is None:
        return [0.0, 0.0]
    both = one[1] & two[1]
    dots = torch.einsum("ij,ij->i", one[0], two[0]).clamp(-1.0, 1.0).double()
    return [float(both.sum()), float(dots[both].sum())]


def _mean(total: float, count: float) -> float | None:
    return total / count if count else None


def _order(layer: str) -> tuple[int, str]:
    number, _, kind = layer.partition(".")
    return int(number), kind


def of_trace(trace: Trace, most: int = 1 << 24) -> Drift:
    """The same sums from the states of a trace, a stretch of its units at a time.

    Args:
        trace: the trace.
        most: bytes of 32-bit floats of a layer at a time.
    """
    found = Drift()
    step = max(1, most // (4 * max(trace.widths.values(), default=1)))
    for start in range(0, len(trace), step):
        for layer in trace.layers:
            rows = torch.from_numpy(trace.states(layer, slice(start, start + step)))
            found(layer, rows, pl.DataFrame())
    return found
