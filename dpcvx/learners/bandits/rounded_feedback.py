"""What it adds to a regret bound that secure feedback stands on a grid: values are rounded, and noise is discrete.

A value v = <l, x> of its interval is read as v + r, |r| <= h, half a step of the grid: between the rounded ends it is
rounded, beyond them it goes to an end that is as near; so is the mean of a batch. Three things change in a proof.

Size. Feedback reaches M + h. Bounds are of degree 4 in M at most, and their conditions |x| <= 1/2 have the room that is
needed (e^x <= 1 + x + x^2, omega(d) <= d^2, x - ln(1 + x) <= x^2/2 - x^3/3 + x^4/2): a factor (1 + h/M)^4.

Noise. Discrete Laplace noise of b units is symmetric, and E exp(sz) = (cosh 1/b - 1)/(cosh 1/b - cosh s) is at most
1/(1 - (sb)^2), since (cosh s - 1)/s^2 increases; so its variance is at most 2 b^2. With S = sinh 1/(2b) its fourth
moment is 1/(2 S^2) + 3/(2 S^4) <= 24 b^4, since S^2 = (1 + a)/(4 b^2) with a >= 1/(12 b^2). It exceeds c on one side
with probability at most e^(-c/b)/(1 + e^(-1/b)): what a bound contains for rare noise grows by a factor of at most
1 + min(1, 1/b) for that, and as much again since values reach M + h.

Bias. The estimate g w of the loss has the mean l + E[g r(x)]. A learner's method `rounding_cost` is T times a bound of
|<E[g r], q - u>| for its mean action q and the comparator u; the proof stands with it.
"""

import math
from typing import Any

from dpcvx.errors import ArgumentError


def rounded_bound(learner: Any, bound: float, *, magnitude: float, step: float, noise: float) -> float:
    """A learner's proved bound for exact values and continuous noise, as a bound for values and noise on a grid.

    Args:
        learner: whose bound it is. One without a method `rounding_cost(error)` has no bound on a grid: infinity.
        bound: the proved one; infinity where there is none.
        magnitude: M, the largest |<loss, action>|.
        step: of the grid of the values; noise: the largest scale of the noise that is added to their sum.
    """
    if math.isinf(bound) or not magnitude:
        return bound
    if not hasattr(learner, "rounding_cost"):
        return math.inf
    error = step / 2
    cost = float(learner.rounding_cost(error))
    if not cost >= 0:
        raise ArgumentError(f"rounding_cost of {type(learner).__name__} must be at least 0, not {cost}.")
    discrete = min(1.0, step / noise) if noise else 0.0
    factor = (1 + error / magnitude) ** 4 * (1 + discrete) ** 2
    return bound * factor + cost
