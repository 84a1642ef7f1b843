"""The gradients of the oracle, by differences.

Nothing here knows how gradients are computed in blocks. The loss is Σ ⟨g_t, y_t⟩ + Σ γ_t log Z_t. A
slope of it is (ℓ(x + h) − ℓ(x − h)) / 2h with h = 2⁻⁴⁰: the oracle's numbers have 120 digits, so
that nothing is lost in the difference, and what h² leaves is far below every float's roundoff.
Inputs have to have few digits, so that x ± h is exact: see `short`.
"""

from dataclasses import replace
from typing import Any

import numpy as np

import oracle
from oracle import Floats, Numbers
from samples import Problem, normal

STEP = 2.0**-40
NAMES = ("query", "key", "value", "bias", "sink")


def short(*shape: int, seed: int = 0) -> Floats:
    """Return normal numbers that are multiples of 1/256, so that a step from them is exact."""
    return np.asarray(np.round(256 * normal(*shape, seed=seed)) / 256)


def gradients(problem: Problem, g: Floats, gamma: Floats | None) -> dict[str, Numbers]:
    """Return the slopes of the loss in each entry of each input, by name."""
    return {
        name: _slopes(problem, name, g, gamma)
        for name in NAMES
        if getattr(problem, name) is not None
    }


def _slopes(problem: Problem, name: str, g: Floats, gamma: Floats | None) -> Numbers:
    x = np.array(getattr(problem, name), "float64")
    slopes = np.empty(x.shape, dtype=object)
    for place in np.ndindex(*x.shape):
        ends = []
        for step in (STEP, -STEP):
            moved = x.copy()
            moved[place] += step
            assert moved[place] - step == x[place], "the step is not exact"
            arguments: dict[str, Any] = {name: moved}
            ends.append(loss(replace(problem, **arguments), g, gamma))
        slopes[place] = (ends[0] - ends[1]) / (2 * STEP)
    return slopes


def loss(problem: Problem, g: Floats, gamma: Floats | None) -> oracle.Number:
    """Return Σ ⟨g_t, y_t⟩ + Σ γ_t log Z_t; an empty row has no log Z to speak of."""
    truth = oracle.attention(*problem.arrays, **problem.options)
    y, log_z = truth.output.exact, truth.log_z.exact
    total = _weighted(g, y)
    return total if gamma is None else total + _weighted(gamma, log_z)


def _weighted(weights: Floats, numbers: Numbers) -> oracle.Number:
    """Return the sum of all numbers that are above −∞, each by its weight."""
    pairs: Any = zip(np.broadcast_to(weights, numbers.shape).flat, numbers.flat, strict=True)
    return sum(float(w) * x for w, x in pairs if x > -np.inf)
