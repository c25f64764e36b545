"""The smallest epsilon of pure and Gaussian releases together, at a delta: by their worst cases, which compose exactly.

Whatever is eps-private costs no more than randomised response: the loss +eps with probability e^eps/(1 + e^eps), else
-eps (Kairouz, Oh and Viswanath 2015). What is mu-Gaussian private costs no more than one continuous Gaussian release of
sensitivity/deviation = mu, and several together cost sqrt(sum of mu^2) (Dong, Roth and Su 2022). Both stay true where
the mechanisms run side by side and each is fed by what the others showed (Vadhan and Zhang 2023). With L the sum of the
losses of all randomised responses,

    delta(epsilon) = E delta_mu(epsilon - L),    delta_0(x) = max(1 - e^x, 0),

where delta_mu is the curve of the Gaussian. It falls in epsilon, so that is found by bisection, and rounded up.

**Noise on integers.** The discrete Gaussian of scale sigma has mass e^(-k^2/(2 sigma^2))/C at k, C >= sigma sqrt(2 pi).
A continuous Gaussian rounded to the nearest integer has k with probability

    e^(-k^2/(2 sigma^2))/(sigma sqrt(2 pi)) E e^(-u^2/(2 sigma^2)) cosh(k u/sigma^2),    u uniform on (-1/2, 1/2).

The mean is at least e^(-1/(24 sigma^2)) (Jensen), and for |k| <= 40 sigma at most e^(200/sigma^2). So on n noisy
numbers the two laws are within a factor e^slack of each other, slack = 201 n/sigma^2, but for an event of probability
below n 1e-340 under the rounded one. Integers plus rounded Gaussian noise are the rounding of integers plus Gaussian
noise, and rounding costs no privacy. Hence (epsilon, delta) of the Gaussian becomes (epsilon + slack, e^slack delta) on
integers: for scales of 2^30 units that is nothing. The shifts of the releases may depend on what was released before:
with the predictable mu_t, sum of mu_t^2 = mu^2, the loss sum of mu_t g_t + mu_t^2/2 has the law N(mu^2/2, mu^2), since
exp(i theta sum mu_t g_t + theta^2 mu^2/2) has mean 1; a person who uses less is padded by one more release.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import expit
from scipy.stats import binom

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.privacy.gaussian_calibration import log_delta_above

_STATES = 2**16  # sums of losses that are told apart without Gaussian noise
_FEW_STATES = 2**11  # and with it
_ROUNDED_UP = 1 + 1e-10  # probabilities and sums of them, relative


def integer_slack(numbers: float, scale: float) -> float:
    """How far n numbers with discrete Gaussian noise of a scale in whole units are from rounded continuous noise."""
    return 201 * numbers / scale**2 if scale >= 2 else math.inf


def composed_epsilon(pure: Sequence[float], mu: float, delta: float) -> float:
    """The smallest epsilon at delta of pure mechanisms and a Gaussian one of sensitivity/deviation = mu, rounded up.

    Exact, up to rounding, where few values differ; otherwise each pure epsilon counts as the next multiple of a step.

    Raises:
        ArgumentError: where delta is 0 and mu is not.
    """
    pure = [epsilon for epsilon in pure if epsilon > 0]
    total = math.fsum(pure)
    if delta == 0 and mu > 0:
        raise ArgumentError("Gaussian noise has no epsilon at delta = 0; give delta > 0.")
    if delta == 0 or not math.isfinite(total):
        return total
    losses, chances = _responses(pure, _FEW_STATES if mu else _STATES)

    def spent(epsilon: float) -> float:
        return float(_ROUNDED_UP * (chances @ _curve(mu, epsilon - losses)))

    if spent(0.0) <= delta:
        return 0.0
    high = max(total, 1e-300)
    while spent(high) > delta and (mu > 0 or high <= total):
        high = 2 * high + mu
    found = _least(spent, delta, high)
    return found if mu else min(found, total)


def _least(spent: Callable[[float], float], delta: float, high: float) -> float:
    """The end above of where a falling function is at most delta, which it is at `high`."""
    low = 0.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if spent(middle) <= delta:
            high = middle
        else:
            low = middle
    return high


def _responses(pure: Sequence[float], most: int) -> tuple[Array, Array]:
    """The sums of the losses of randomised responses, and their probabilities."""
    groups = Counter(pure)
    if math.prod(count + 1 for count in groups.values()) > most:
        step = math.fsum(pure) / (most // 2 - len(pure)) if len(pure) < most // 4 else math.inf
        if math.isinf(step):  # too many for any step: all count as the largest
            groups = Counter({max(pure): len(pure)})
        else:
            return _on_a_lattice([math.ceil(epsilon / step) for epsilon in pure], step)
    losses, chances = np.zeros(1), np.ones(1)
    for epsilon, count in groups.items():
        raised = np.arange(count + 1)
        weights = binom.pmf(raised, count, expit(epsilon))
        losses = np.add.outer(losses, epsilon * (2.0 * raised - count)).ravel()
        chances = np.multiply.outer(chances, weights).ravel()
    return losses, chances


def _on_a_lattice(steps: Sequence[int], step: float) -> tuple[Array, Array]:
    """The same for multiples of a step, by convolution."""
    size = sum(steps)
    chances = np.zeros(size + 1)  # by the steps that were raised
    chances[0] = 1.0
    for count in steps:
        up = float(expit(count * step))
        down = float(expit(-count * step))
        raised = down * chances
        raised[count:] += up * chances[: size + 1 - count]
        chances = raised
    return step * (2.0 * np.arange(size + 1) - size), chances


def _curve(mu: float, epsilons: Array) -> Array:
    """delta_mu, never below the truth but for rounding; below 0 by delta(-x) = 1 - e^-x (1 - delta(x))."""
    if mu == 0:
        return np.asarray(np.maximum(-np.expm1(np.minimum(epsilons, 0.0)), 0.0))
    sizes = np.abs(epsilons)
    at = np.exp([log_delta_above(mu, float(size)) for size in sizes])
    tail = np.maximum(sizes / mu - mu / 2, 0.0)
    # Phi(-tail), where the difference has no digits, or its logarithm is beyond the range of numbers
    at = np.fmin(at, np.exp(-(np.minimum(tail, 1e100) ** 2) / 2))
    below = np.minimum(epsilons, 0.0)
    return np.asarray(np.where(epsilons >= 0, at, -np.expm1(below) + np.exp(below) * at))
