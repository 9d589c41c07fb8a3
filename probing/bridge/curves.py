"""Bits per byte against compute: b·C^a + c, with intervals where the points allow any."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy import optimize, stats

if TYPE_CHECKING:
    from numpy.typing import NDArray

BOUNDS = ((-2.0, 0.0, 0.0), (-0.01, np.inf, np.inf))
"""Least and greatest a, b (of compute in units of the first point) and c."""

EDGE = 1e-4
LEAST = 5
"""Points that a curve of three unknowns needs before it is fitted."""

SCHEMA = pl.Schema(
    {"arm": pl.String(), "points": pl.Int64()}
    | {f"{name}{side}": pl.Float64() for name in "abc" for side in ("", "_low", "_high")}
    | {"note": pl.String()}
)


def fits(table: pl.DataFrame) -> pl.DataFrame:
    """A curve for each arm, fitted by least squares in bits per byte.

    The intervals are of 95 %, from the curvature at the optimum with Student's t; a curve whose optimum lies
    on the edge of what is sensible (a between −2 and −0.01, b and c above 0) has none. Points of one training
    are not independent, so the intervals are too narrow; they say what these few points leave open and no
    more.

    Args:
        table: columns arm, flops and bits_per_byte.
    """
    rows = []
    for (arm,), part in table.group_by("arm", maintain_order=True):
        rows.append({"arm": arm, "points": part.height, **_fit(part)})
    return pl.DataFrame(rows, SCHEMA)


def _fit(part: pl.DataFrame) -> dict[str, object]:
    compute, value = part["flops"].to_numpy(), part["bits_per_byte"].to_numpy()
    if len(compute) < LEAST:
        return {"note": f"not fitted: {len(compute)} points, and a curve needs {LEAST}"}
    scale = compute.min()

    def curve(x: NDArray[np.float64], a: float, b: float, c: float) -> NDArray[np.float64]:
        found: NDArray[np.float64] = b * (x / scale) ** a + c
        return found

    start = (-0.3, max(value[0] - value.min() * 0.8, 0.01), value.min() * 0.8)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", optimize.OptimizeWarning)
            found, covariance = optimize.curve_fit(curve, compute, value, start, bounds=BOUNDS, maxfev=20_000)
    except (RuntimeError, optimize.OptimizeWarning) as error:
        return {"note": f"not fitted: {str(error).splitlines()[0]}"}
    width = np.sqrt(np.diag(covariance)) * stats.t.ppf(0.975, len(compute) - 3)
    a, b, c = found
    low, high = (np.array(side) for side in BOUNDS)
    if (
        not np.isfinite(width).all()
        or (np.abs(found - low) < EDGE).any()
        or (np.abs(found - high) < EDGE).any()
    ):
        return {"note": "not fitted: these points fix no floor"}
    # b is given for compute in FLOP, as the curve is written.
    back = scale**-a
    return {
        "a": a, "a_low": a - width[0], "a_high": a + width[0],
        "b": b * back, "b_low": (b - width[1]) * back, "b_high": (b + width[1]) * back,
        "c": c, "c_low": c - width[2], "c_high": c + width[2],
        "note": "small scale; points of one training",
    }  # fmt: skip
