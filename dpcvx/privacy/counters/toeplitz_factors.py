"""The Toeplitz square-root factorisation A = B C of prefix sums, by short sums of exponentials.

The square root of the matrix of ones, B = C = the Toeplitz matrix of f_i = binom(2i, i)/4^i, is close to the best such
pair. f is a mixture of powers theta^i, and a few of them approximate it well:

    B(z) = sum_k omega_k/(1 - theta_k z),  omega_k > 0,  B_0 = 1;   C(z) = 1/((1-z) B(z)).

B C = A then holds whatever the quality of the approximation. With p = 1/z, B = p h(p) and C = 1/((p-1) h(p)), where
h(p) = sum_k omega_k/(p - theta_k). Between two neighbouring thetas h falls from +infinity to -infinity and so has
exactly one zero p_j. C_i = sum_j gamma_j p_j^i over these poles, the pole 1, and the pole 0 where no theta is 0:

    gamma_j = 1/(p_j (1-p_j) sum_k omega_k/(p_j - theta_k)^2),
    gamma at 1: 1/h(1),  gamma at 0: 1/sum_k (omega_k/theta_k).

All gains are positive: no sum here cancels. Poles and gains are rounded to floating-point numbers; the sensitivity is
that of the matrix with the rounded ones, which is the one that runs, and its product with B is A up to a relative
size times 2^-53.
"""

import math
import operator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import toeplitz
from scipy.optimize import brentq, nnls
from scipy.special import gammaln

from dpcvx.arrays import Array
from dpcvx.privacy.counters.factors import Factors

_TERMS = 12  # more terms gain less than 5e-4 in the error up to size 2^20
_SLOWEST = 0.7  # the smallest 1 - theta is this over the size; the error is flat between 0.4 and 1
_SAMPLES = 300
LARGEST = 2**40  # beyond it, rounding would be visible in the sensitivity
_UNIT = 2.0**-53  # largest relative error of one operation
_CHUNK = 2**20
_CACHE = 2**16
_ROWS = 2**12  # row norms that are found together


@dataclass(frozen=True, eq=False)
class ToeplitzFactors(Factors):
    """B and C of one size: B_i = sum omega theta^i, C_i = sum gains poles^i, and what they cost.

    `sensitivity` is the norm of the longest column of C, the first: an upper bound that is tight up to a relative
    (4 size + 1000) 2^-53.
    """

    size: int
    theta: Array
    omega: Array
    poles: Array
    gains: Array
    sensitivity: float

    @property
    def second_entry(self) -> float:
        """B_1: how much of the first noise is in the second prefix."""
        return float(self.omega @ self.theta)

    def row_norm(self, t: int | Array) -> Array:
        rows = np.asarray(t)
        if not np.issubdtype(rows.dtype, np.integer) or np.any(rows < 1) or np.any(rows > self.size):
            raise ValueError(f"The rows of B are numbered by the integers from 1 to {self.size}, but {t!r} came.")
        return np.sqrt(_squares(self.theta, self.omega, rows))

    def b_filter(self, shape: tuple[int, ...] = ()) -> "ExponentialFilter":
        return ExponentialFilter(self.theta, self.omega, shape)

    def c_filter(self, shape: tuple[int, ...] = ()) -> "ExponentialFilter":
        return ExponentialFilter(self.poles, self.gains, shape)

    def matrices(self, steps: int) -> tuple[Array, Array]:
        powers = np.arange(steps)[:, None]
        b, c = (self.omega * self.theta**powers).sum(axis=1), (self.gains * self.poles**powers).sum(axis=1)
        return toeplitz(b, np.zeros(steps)), toeplitz(c, np.zeros(steps))

    def rounding_error(self, bound: float) -> float:
        """How far the outputs of `c_filter` may be from C x.

        In the state of pole p the input of i steps ago has met 2 i + 1 roundings, so with u = 2^-53 the state is off
        by at most bound u/(1 - 2 size u) times the sum of (2i+1) p^i over i < size, which is at most
        (2 size - 1) G, G the sum of p^i, and at most (1+p)/(1-p)^2. The sum over the d poles, in any order, adds
        d roundings. Underflow adds less than 1e-300; the factor 1.001 is for the rounding of this bound itself.
        """
        if not (math.isfinite(bound) and bound >= 0):
            raise ValueError(f"The bound on the inputs must be a finite number that is not negative, but {bound} came.")
        p, m = self.poles, self.size
        total = _geometric(p, m)
        # where 1 - p is below 1/(2 size) the first bound is the smaller one, and stays so
        paths = np.minimum((2 * m - 1) * total, (1 + p) / np.maximum(1 - p, 0.5 / m) ** 2)
        state = paths * _UNIT / (1 - 2 * m * _UNIT)
        output = state + (p.size + 1) * _UNIT * (total + state)
        return 1.001 * bound * float(self.gains @ output) + 1e-300


class ExponentialFilter:
    """Multiplies a stream by the Toeplitz matrix with entries sum_k gains_k rates_k^i, in memory independent of time.

    Every element of the stream is an array of shape `shape`; `state`, of shape (number of rates, *shape), is all that
    the filter remembers.
    """

    def __init__(self, rates: Array, gains: Array, shape: tuple[int, ...] = ()) -> None:
        self.shape = tuple(shape)
        self.gains = np.array(gains, dtype=float)
        self.rates = np.array(rates, dtype=float)
        if self.rates.ndim != 1 or self.rates.shape != self.gains.shape:
            raise ValueError(
                f"A filter needs as many rates as gains, but the shapes {self.rates.shape} and {self.gains.shape} came."
            )
        self.state = np.zeros((self.rates.size, *self.shape))
        decay = self.rates.reshape(-1, *(1 for _ in self.shape))
        self._kept: tuple[Array, Array, Array, Array] | None = None
        # small states are multiplied faster by an array of their own shape
        self._decay = decay if self.state.size > _CACHE else np.broadcast_to(decay, self.state.shape).copy()

    def step(self, x: Array) -> Array:
        """Take the next element of the stream and return the next element of the product."""
        if np.shape(x) != self.shape:
            raise ValueError(f"The filter takes arrays of shape {self.shape}, but one of shape {np.shape(x)} came.")
        self.state *= self._decay
        self.state += x
        return np.asarray(np.dot(self.gains, self.state.reshape(self.gains.size, -1))).reshape(self.shape)

    def steps(self, x: Array) -> Array:
        """`step` on the next k elements at once, (k, *shape), by products of matrices: faster, the same up to rounding.

        With s the state before, y_i = sum_k gains_k rates_k^(i+1) s_k + sum_(j <= i) entry_(i-j) x_j, i = 0, ..., k-1.
        """
        if np.ndim(x) == 0 or np.shape(x)[1:] != self.shape:
            raise ValueError(f"The filter takes rows of shape {self.shape}, but an array of shape {np.shape(x)} came.")
        old, new = self.state.reshape(self.rates.size, -1), x.reshape(len(x), -1)
        from_old, from_new, decay, entering = self._powers(len(x))
        self.state = (decay[:, None] * old + entering @ new).reshape(self.state.shape)
        return np.asarray(from_old @ old + from_new @ new).reshape(x.shape)

    def _powers(self, k: int) -> tuple[Array, Array, Array, Array]:
        """The matrices of k steps, kept for the last k."""
        if self._kept is None or len(self._kept[1]) != k:
            powers = self.rates ** np.arange(k + 1)[:, None]
            entries = powers[:k] @ self.gains
            self._kept = (
                self.gains * powers[1:],
                toeplitz(entries, np.zeros(k)),
                powers[k],
                powers[:k][::-1].T.copy(),
            )
        return self._kept


def toeplitz_factors(size: int) -> ToeplitzFactors:
    """The factors for streams of up to `size` elements."""
    m = _checked(size)
    theta, omega = _mixture(m)
    poles, gains = _inverse(theta, omega)
    # All terms are positive, each within 20 roundings and their sum within 200; an impulse that runs through the filter
    # meets 2 size + d roundings, its squares and their sum another size + 1. The margin covers either.
    margin = 1 + (4 * m + 1000) * _UNIT
    sensitivity = math.sqrt(float(_squares(poles, gains, np.asarray(m)))) * margin
    for array in (theta, omega, poles, gains):
        array.flags.writeable = False
    return ToeplitzFactors(m, theta, omega, poles, gains, sensitivity)


def prefix_lower_bound(size: int) -> float:
    """|A|_*/size, the nuclear norm over the size: no factorisation has a smaller |C| times largest row norm of B.

    The singular values of the prefix matrix are 1/(2 sin((2j-1) pi/(4 size + 2))), j = 1, ..., size.
    """
    m = _checked(size)
    total = 0.0
    for start in range(1, m + 1, _CHUNK):
        j = np.arange(start, min(start + _CHUNK, m + 1), dtype=float)
        total += float(np.sum(0.5 / np.sin((2 * j - 1) * (math.pi / (4 * m + 2)))))
    return total / m


def _checked(size: int) -> int:
    try:
        m = operator.index(size)
    except TypeError:
        raise ValueError(f"The size of a factorisation must be an integer, but {size!r} came.") from None
    if not 1 <= m <= LARGEST:
        raise ValueError(f"The size of a factorisation must be between 1 and 2^40, but {m} came.")
    return m


def _mixture(m: int) -> tuple[Array, Array]:
    """Rising theta in [0, 1) and omega with sum omega theta^i close to binom(2i, i)/4^i, relatively, for i < m.

    Non-negative least squares on log-spaced 1 - theta at log-spaced i; terms far below their natural weight,
    sqrt(1 - theta), are left out.
    """
    i = np.unique(np.rint(np.geomspace(1, m, _SAMPLES))) - 1
    f = np.exp(gammaln(i + 0.5) - gammaln(i + 1)) / math.sqrt(math.pi)
    theta = np.unique(1 - np.geomspace(1, min(1.0, _SLOWEST / m), _TERMS))
    omega, _ = nnls(theta ** i[:, None] / f[:, None], np.ones(i.size))
    kept = omega > 1e-6 * np.sqrt(1 - theta)
    theta, omega = theta[kept], omega[kept]
    return theta, omega / omega.sum()


def _inverse(theta: Array, omega: Array) -> tuple[Array, Array]:
    """Falling poles, from 1, and gains of 1/((1-z) B(z)), in the variables s = 1 - theta and q = 1 - p."""
    s, w = (1 - theta)[::-1], omega[::-1]
    q = np.array([_zero_between(s, w, k) for k in range(s.size - 1)])
    slopes = np.sum(w / (s - q[:, None]) ** 2, axis=1)
    poles = [np.ones(1), 1 - q]
    gains = [1 / np.sum(w / s, keepdims=True), 1 / ((1 - q) * q * slopes)]
    if theta[0] > 0:
        poles.append(np.zeros(1))
        gains.append(1 / np.sum(omega / theta, keepdims=True))
    return np.concatenate(poles), np.concatenate(gains)


def _zero_between(s: Array, w: Array, k: int) -> float:
    """The zero of sum w/(s - q) for q between s_k and s_(k+1), of the function times (q - s_k)(s_(k+1) - q)."""
    low, high = s[k], s[k + 1]
    others = np.delete(np.arange(s.size), [k, k + 1])

    def scaled(q: float) -> float:
        left, right = q - low, high - q
        return float(w[k + 1] * left - w[k] * right + left * right * np.sum(w[others] / (s[others] - q)))

    return float(brentq(scaled, low, high, xtol=1e-300, rtol=1e-15))


def _geometric(ratio: Array, terms: Array | int) -> Array:
    """The sum of ratio^i over i < terms, for ratios in [0, 1], with full relative accuracy also near 1."""
    with np.errstate(divide="ignore"):
        return _geometric_log(np.log(ratio), terms)


def _geometric_log(exponent: Array, terms: Array | int) -> Array:
    """The sum of exp(exponent i) over i < terms, for exponents <= 0; both differences from 1 keep their digits."""
    flat = exponent == 0
    safe = np.where(flat, -1.0, exponent)
    return np.asarray(np.where(flat, terms, np.expm1(terms * safe) / np.expm1(safe)))


def _squares(rates: Array, gains: Array, terms: Array) -> Array:
    """The sum over i < terms of (sum_k gains_k rates_k^i)^2: geometric sums over pairs of rates, all positive."""
    with np.errstate(divide="ignore"):
        logs = np.log(rates)
    j, k = np.tril_indices(rates.size)
    shares, exponents = gains[j] * gains[k] * np.where(j == k, 1.0, 2.0), logs[j] + logs[k]
    every = terms.ravel()
    total = np.empty(every.size)
    for start in range(0, every.size, _ROWS):
        some = every[start : start + _ROWS, None]
        total[start : start + _ROWS] = (shares * _geometric_log(exponents, some)).sum(axis=1)
    return total.reshape(terms.shape)
