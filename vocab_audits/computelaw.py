"""The compute-optimal compression of a tokenizer, by the published fit and what follows from it.

Limisiewicz et al. 2026, "Compute Optimal Tokenization", https://arxiv.org/abs/2605.01188: their fits on their
models. Figures made with them say what these fits give, not what another model will need.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from workbench.errors import SutureError

FIT = "fit of arXiv 2605.01188 on its models"
"""Said beside each figure that rests on the fit."""

T0, DELTA = 18.2, 0.035
"""T*(C) = T0 / C^δ, bytes per token, C in FLOP; as published, rounded."""

ROUNDING = (0.05, 0.0005)
"""Half a unit of the last digit published of T0 and of δ."""

BYTES_PER_PARAMETER = 60.0
"""Bytes of training text for a parameter at the optimum, for English; nearly the same over T and C."""

COMPUTES = (5e18, 2e21)
"""Training budgets of the fit, in FLOP."""

RATES = (1.0, 12.0)
"""Bytes per token of the models of the fit."""


class Optimum(NamedTuple):
    """A compute-optimal model: parameters N*, training text B* in bytes and D* in tokens."""

    parameters: float
    bytes: float
    tokens: float


def recommended(compute: float) -> float:
    """Bytes per token that the fit recommends for a budget: T0 / C^δ.

    Raises:
        SutureError: the budget is no positive number.
    """
    if not 0 < compute < math.inf:
        raise SutureError(f"a compute budget must be a positive number of FLOP; got {compute}; 1e20 is usual")
    return float(T0 / compute**DELTA)


def rounding(compute: float) -> tuple[float, float]:
    """Least and greatest recommendation that constants rounding to the published ones give."""
    ends = [
        (T0 + a) / compute ** (DELTA + b)
        for a in (-ROUNDING[0], ROUNDING[0])
        for b in (-ROUNDING[1], ROUNDING[1])
    ]
    return min(ends), max(ends)


def allocation(compute: float, rate: float, per_parameter: float) -> Optimum:
    """Model and text that use up a budget at a constant ratio of bytes to parameters.

    C = 6 N B / T and B = ρ N give N* = √(C T / (6 ρ)) and B* = ρ N*; only the parameters that each token
    passes through are counted.

    Args:
        compute: C in FLOP.
        rate: T, bytes per token.
        per_parameter: ρ, bytes per parameter.
    """
    parameters = math.sqrt(compute * rate / (6 * per_parameter))
    text = per_parameter * parameters
    return Optimum(parameters, text, text / rate)


def outside(compute: float, rate: float | None) -> str | None:
    """Says where a figure lies outside of what was fitted, or nothing."""
    said = []
    if not COMPUTES[0] <= compute <= COMPUTES[1]:
        said.append(f"the fit is of {COMPUTES[0]:g} to {COMPUTES[1]:g} FLOP")
    if rate is not None and not RATES[0] <= rate <= RATES[1]:
        said.append(f"of {RATES[0]:g} to {RATES[1]:g} bytes per token")
    return f"extrapolated: {' and '.join(said)}" if said else None
