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

Bias. The estimate g w of the loss has the mean l + E[g r(x)]; `bias_cost` is T times a bound of |<E[g r], q - u>| for
the learner's mean action q and the comparator u.
"""

import math
from functools import singledispatch
from typing import Any

from dpcvx.learners.bandits.exp2 import Exp2
from dpcvx.learners.bandits.log_barrier import LogBarrierBandit
from dpcvx.learners.bandits.scrible import DECREMENT, FAR, RADIUS, SCRiBLe


def rounded_bound(learner: Any, bound: float, *, magnitude: float, step: float, noise: float) -> float:
    """A learner's proved bound for exact values and continuous noise, as a bound for values and noise on a grid.

    Args:
        learner: whose bound it is; that of a learner which is not the package's is taken without a bias.
        magnitude: M, the largest |<loss, action>|.
        step: of the grid of the values; noise: the largest scale of the noise that is added to their sum.
    """
    if math.isinf(bound) or not magnitude:
        return bound
    error = step / 2
    factor = (1 + error / magnitude) ** 4 * (1 + min(1.0, step / noise)) ** 2
    return bound * factor + bias_cost(learner, error)


@singledispatch
def bias_cost(learner: Any, error: float) -> float:
    """What values that are off by at most `error` in every round cost a learner through the bias of its estimates."""
    return 0.0


@bias_cost.register
def _(learner: LogBarrierBandit, error: float) -> float:
    """A function of the arm is linear: the bound holds for the losses l + r, whose regret differs by 2 h a round."""
    return 2 * error * learner.horizon


@bias_cost.register
def _(learner: Exp2, error: float) -> float:
    """|E r (q - u)'P^+ a| <= h ((q - u)'P^+ (q - u))^(1/2), q'P^+ q <= 1/(1 - gamma) and u'P^+ u <= reach/gamma.

    The first is Cauchy and Schwarz with E aa' = P; the others follow from P >= (1 - gamma) qq' and P >= gamma Sigma.
    """
    if not learner.mixing:
        return 0.0
    gamma, reach = learner.mixing, learner.exploration.reach
    return error * learner.horizon * (1 / math.sqrt(1 - gamma) + math.sqrt(reach / gamma))


@bias_cost.register
def _(learner: SCRiBLe, error: float) -> float:
    """|E n r <Cu, d>| <= h n^(1/2) |d|_w for d = u - w, by Cauchy and Schwarz with E uu' = I/n.

    With r = |d|_w and f(s) = R(w + sd): f'(0) >= -r/12 - <L, d>, as the decrement is at most 1/12, f'(1/2) <= 2 nu, a
    property of barriers, and f'(1/2) - f'(0) >= r^2/(2 + r) >= r - 2 by self-concordance; so 11/12 r <= 2 nu + 2 +
    <L, d>. In the norm of the center |L| is at most FAR, and the set has radius nu + 2 nu^(1/2).
    """
    n, nu = learner.decision_set.dim, learner.decision_set.nu
    along = 2 * FAR * (nu + 2 * math.sqrt(nu))
    reach = (2 * nu + 2 + along) / (1 - DECREMENT)
    return error * learner.horizon * math.sqrt(n) * reach / RADIUS
