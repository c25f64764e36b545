"""SCRiBLe (Abernethy, Hazan, Rakhlin): barrier FTRL that plays in the Dikin ellipsoid, on any convex body.

With H = C C' the Hessian of the barrier at the point w, on the n-dimensional affine hull, and a unit vector u,

    play w + rho C'^-1 u, see v, estimate the loss by (n v/rho) C u,

rho >= 1 the largest step with both ends in the set. That is unbiased on the tangent space, since E[u u'] = I/n, E u = 0
and rho(u) = rho(-u). The estimate has dual local norm n |v|/rho. The next point is the argmin of eta <sum of estimates,
w> + R(w), by at least one Newton step in every round and more while the decrement exceeds 1/100; rounds with
eta n |v|/rho >= 1/8 go on to 1e-6. One factorisation serves the sample at a point
and the step from it, and since H^-1 C u = C'^-1 u is the displacement that was played, so does one solution.

The bound, with omega(d) = -ln(1 - d) - d <= d^2/2 + d^3/3 + d^4/2 for d = eta n |v|/rho <= 1/2, k >= E 1/rho^2, moments
C_3 >= E |v|^3 and C_4 >= E v^4 of values up to M with noise, the comparator moved inward by s, for s D a round, and J
epochs in the mean, see below:

    J nu ln(1/s)/eta + 1.021 T (k eta n^2/2)(V + (2/3) eta n C_3 + eta^2 n^2 C_4) + 3.75 M k eta^2 n^2 T V + sDT + 2 M,

1.021 being what a decrement of 1/100 does to local norms, and 3.75 M ... what single Newton steps leave.

Who chooses losses after seeing the action can drive w to the boundary exponentially fast, where arithmetic ends. So
where an estimate takes eta L, L the sum of the estimates, beyond FAR in the norm of the center c, a new epoch begins:
at c, with L = 0. FTRL's inequality holds in each epoch, so that the bound pays nu ln(1/s)/eta for each of them, and
everything else once. How many there are follows from the same inequality. For w the exact argmins it says

    eta <L, c - u> <= R(u) - R(c) + sum of (omega(d) - eta <g, w - c>),    g the estimates of the epoch,

for every u at once. Take u = c - h with |h|_c <= 1/2: it is at least half inside, so R(u) - R(c) <= nu ln 2, and the
largest left side is eta |L|_c/2, which is more than FAR/2 where an epoch ends this way. Sum over the epochs and take
the mean: E[g] is the loss given the past, and w costs at most D less than c in a round. So

    J <= 1 + (E sum of omega(d) + eta D T)/(FAR/2 - nu ln 2),

hardly more than 1 where T is a million.
"""

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas
from scipy.optimize import minimize_scalar

from dpcvx.arguments import positive
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.learners.bandits.bandit import Bandit, Progress
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.geometry.batch_newton import minimise_all
from dpcvx.sets.geometry.charts import Chart, Factor
from dpcvx.sets.geometry.dikin import SHRINK, DikinEllipsoid
from dpcvx.sets.geometry.newton import minimise

DECREMENT = 1 / 100  # above which another Newton step follows
EXACT = 1e-6  # the same after a large step
LARGE = 1 / 8  # eta n |v| from which on a step counts as large
FULL = 1 / 4  # decrement below which a Newton step is not damped
FAR = 1e6  # eta times the sum of estimates, in the norm of the center, beyond which play begins anew
_NEWTON = 100
_HUGE = 1e100
_INWARD = 1 / math.e  # how far the comparator moves inward at most
SAMPLING = ("direction", "cholesky", "eigen")  # methods of `DikinEllipsoid.directions`
PLAYS = ("points", "vertices")


class Iterate(NamedTuple):
    """A point of barrier FTRL on joint coordinates, factorised, and the way on from it.

    Attributes:
        linear: eta times the sum of the estimates.
        step: what a Newton step on <linear, z> + F subtracts from z.
        left: the Newton decrement, or an upper bound of it.
        mean: of the past feedback.
    """

    z: Array
    factor: Factor
    linear: Array
    step: Array
    left: Any
    mean: Any


Pushed = tuple[Array, Array, Array, Any]  # z, linear, step and left of an iterate whose sum has just grown


class SCRiBLe(Bandit):
    """Barrier FTRL with Dikin-ellipsoid sampling.

    Args:
        decision_set, loss_set, horizon, noise_scale, seed, replicas: see `Bandit`.
        sampling: "direction" (uniform on the ellipsoid), "cholesky" or "eigen" (one of its 2 n poles).
        baseline: whether to subtract the mean of the past feedback from it: unbiased, and less variance in practice;
            the bound then has 2 M for M.
        play: "points", or "vertices": a random vertex whose mean is the point (polytopes, and sets with a sampler).
        learning_rate: eta; by default the one of the theorem.

    Example:
        >>> import decision_sets, dpcvx
        >>> X, Y = decision_sets.norm_ball(4), decision_sets.loss_ball(4)
        >>> bandit = dpcvx.SCRiBLe(X, Y, horizon=1000, seed=0)
        >>> action = bandit.act()  # inside the ball, on an ellipsoid around the learner's point
        >>> X.contains(action)
        True
        >>> bandit.update(action @ [0.5, 0.1, 0.0, 0.3])
    """

    _theorem = "SCRiBLe: J nu ln(1/s)/eta + 1.021 k eta n^2 T (V/2 + ...) + 3.75 M k eta^2 n^2 T V + s D T + 2 M"

    def __init__(
        self,
        decision_set: DecisionSet,
        loss_set: LossSet,
        horizon: int,
        *,
        sampling: str = "direction",
        baseline: bool = False,
        play: str = "points",
        learning_rate: float | None = None,
        noise_scale: float = 0.0,
        seed: int | np.random.Generator | None = None,
        replicas: int | None = None,
    ) -> None:
        super().__init__(decision_set, loss_set, horizon, noise_scale=noise_scale, seed=seed, replicas=replicas)
        if sampling not in SAMPLING:
            raise ArgumentError(f"sampling must be one of {', '.join(SAMPLING)}, not {sampling!r}.")
        if play not in PLAYS:
            raise ArgumentError(f'play must be "points" or "vertices", not {play!r}.')
        self.sampling, self.baseline, self.play = sampling, bool(baseline), play
        self._given_rate = None if learning_rate is None else positive(learning_rate, "learning_rate")
        self.learning_rate = self._given_rate or self._tuned_rate()
        self._chart = chart = decision_set.geometry.chart
        self._gain = self.learning_rate * chart.dim / SHRINK**2  # eta times the estimate of feedback 1, over C u
        if chart.dim:
            z = linear = np.zeros((*self.leading, chart.size))
            self._progress = Progress(0, _iterate(chart, z, linear, 0.0 * z[..., 0]))
        self._drawn: tuple[Array, Array, Any] | None = None  # C'^-1 u, C u and rho of the last action, |u| = SHRINK

    @property
    def _magnitude(self) -> float:
        """M: the largest feedback, less the baseline."""
        return self.magnitude * (2 if self.baseline else 1)

    @property
    def _noise_reach(self) -> float:
        """b: what the noise exceeds in one round with probability T^-2."""
        return 2 * self.noise_scale * math.log(max(self.horizon, 2))

    def _tuned_rate(self) -> float:
        """The rate with the least bound."""
        n, largest = self.decision_set.dim, self._magnitude + self._noise_reach
        if not n or not largest:
            return 1.0
        top = 1 / (2 * n * largest)
        found = minimize_scalar(
            lambda log: self._bound_at(math.exp(log)), bounds=(math.log(top * 1e-8), math.log(top)), method="bounded"
        )
        return min(math.exp(float(found.x)), top)

    def _bound_at(self, eta: float) -> float:
        """The bound for the learning rate eta; infinity where it does not hold."""
        n, nu, T, D = self.decision_set.dim, self.decision_set.nu, self.horizon, self.sizes.variation
        M, lam, k = self._magnitude, self.noise_scale, self.decision_set.recognised.stretch_moment
        if eta * n * (M + self._noise_reach) > 0.5 * (1 + 1e-12):
            return math.inf
        s = min(_INWARD, nu / (eta * T * D)) if D else _INWARD
        V = M**2 + 2 * lam**2
        cube = M**3 + 6 * M * lam**2 + (6 * lam**3 * math.exp(-M / lam) if lam else 0.0)
        fourth = M**4 + 12 * (M * lam) ** 2 + 24 * lam**4
        second = k * eta * n * n * T
        stability = 1.021 * second / 2 * (V + 2 / 3 * eta * n * cube + (eta * n) ** 2 * fourth)
        rare = 2 * self.magnitude if lam else 0.0  # noise beyond its reach
        start = self._epochs(eta * (stability + D * T)) * nu * math.log(1 / s) / eta
        return start + stability + 3.75 * self.magnitude * eta * second * V + s * D * T + rare

    def _epochs(self, spent: float) -> float:
        """The mean number of epochs at most, where E sum of omega(d) + eta D T is spent."""
        within = FAR / 2 - self.decision_set.nu * math.log(2)
        return 1 + spent / within if within > 0 else math.inf

    @property
    def uncapped_bound(self) -> float:
        return self._bound_at(self.learning_rate) if self.decision_set.dim and self._magnitude else 0.0

    def rounding_cost(self, error: float) -> float:
        """|E n r <Cu, d>| <= h n^(1/2) |d|_w for d = u - w, by Cauchy and Schwarz with E uu' = I/n.

        With r = |d|_w and f(s) = R(w + sd): f'(0) >= -r/100 - <L, d>, as the decrement is at most 1/100, f'(1/2) <= 2
        nu, a property of barriers, and f'(1/2) - f'(0) >= r^2/(2 + r) >= r - 2 by self-concordance; so 99/100 r <= 2
        nu + 2 + <L, d>. In the norm of the center |L| is at most FAR, and the set has radius nu + 2 nu^(1/2).
        """
        n, nu = self.decision_set.dim, self.decision_set.nu
        along = 2 * FAR * (nu + 2 * math.sqrt(nu))
        reach = (2 * nu + 2 + along) / (1 - DECREMENT)
        return error * self.horizon * math.sqrt(n) * reach / SHRINK

    @property
    def ellipsoid(self) -> DikinEllipsoid:
        """The Dikin ellipsoid from which the next action is drawn; `poles` lists the choices of "cholesky", "eigen"."""
        X = self.decision_set
        return DikinEllipsoid(self._chart, self._state.factor, X.layout)

    def _draw_action(self) -> Array:
        X, chart = self.decision_set, self._chart
        if not chart.dim:
            return X.unflatten(np.broadcast_to(chart.x0, (*self.leading, X.size)).copy())
        at: Iterate = self._state
        if self.sampling == "direction":
            displacement, measure = at.factor.sample(self._rng, SHRINK)
        else:
            u = self.ellipsoid.directions(self._rng, method=self.sampling)
            u *= SHRINK
            displacement, measure = at.factor.half_solve(u), at.factor.half_apply(u)
        stretch = chart.stretch_at(at.factor, displacement)
        if chart.auxiliaries:
            self._drawn = displacement, chart.joint(measure), stretch
            point = X.unflatten(chart.point(at.z) + chart.push(displacement))
        else:
            self._drawn = displacement, measure, stretch
            point = X.unflatten(chart.point(at.z + displacement * (stretch[:, None] if self.leading else stretch)))
        if self.play == "points":
            return point
        if not self.leading:
            return X.sample_vertex(point, self._rng)
        return np.stack([X.sample_vertex(one, self._rng) for one in point])

    def _after(self, value: Any) -> Iterate | None:
        at = self._state
        if at is None:
            return None
        mean = at.mean
        if self.baseline:
            M = self.magnitude
            value, mean = value - mean, np.clip(mean + (value - mean) / (self.rounds + 1), -M, M)
        if self.leading:  # NumPy warns where numbers overflow, BLAS does not; far smaller ones are dropped already
            value = np.minimum(np.maximum(value, -_HUGE), _HUGE)
        assert self._drawn is not None
        along = self._gain * value / self._drawn[2]
        large = abs(along) >= LARGE
        if self.leading:
            return _settle_all(self._chart, self._pushed(at, along[:, None]), np.where(large, EXACT, DECREMENT), mean)
        return _settle(self._chart, self._pushed(at, float(along)), EXACT if large else DECREMENT, mean)

    def _pushed(self, at: Iterate, along: Any) -> Pushed:
        """The iterate with eta times the estimate, which is `along` times C u, added to the sum, at the same point."""
        assert self._drawn is not None
        displacement, measure, _ = self._drawn
        linear = _moved(at.linear, along, measure)
        near = ((linear * linear).sum(axis=-1) if self.leading else blas.ddot(linear, linear)) <= FAR**2
        is_near = near.all() if self.leading else near
        if not is_near:  # the norm of the center is no longer than this one
            linear, near = self._brought_near(linear)
            is_near = near.all()
        solution = at.factor.solve(measure) if self._chart.auxiliaries else displacement
        step = _moved(at.step, along, solution)
        left = at.left + abs(along[:, 0] if self.leading else along)  # whose local norm is |along| |u|
        if is_near:
            return at.z, linear, step, left
        stays = np.asarray(near)[..., None]
        z, linear, step = (np.where(stays, part, 0.0) for part in (at.z, linear, step))
        return z, linear, step, np.where(near, left, 0.0)[()]

    @cached_property
    def _center(self) -> Factor:
        """The factor at the center."""
        return self._chart.factor(np.zeros(self._chart.size))

    def _brought_near(self, linear: Array) -> tuple[Array, Any]:
        """The same covectors on the tangent space without what is normal to it, and which of them are not too long."""
        with np.errstate(over="ignore", invalid="ignore"):
            tangential = self._chart.tangential(linear)
            square = (tangential * self._center.solve(tangential)).sum(axis=-1)
        return tangential, square <= FAR**2

    def _settings(self) -> dict[str, Any]:
        return {
            **super()._settings(),
            "decision_set": self.decision_set,
            "sampling": self.sampling,
            "baseline": self.baseline,
            "play": self.play,
            "learning_rate": self._given_rate,
        }

    def _details(self) -> list[str]:
        return [f"  plays            {self.play} by {self.sampling}, learning rate {self.learning_rate:.6g}"]


def _moved(vector: Array, along: Any, direction: Array) -> Array:
    """vector + along direction, for each replica."""
    if vector.ndim == 1:
        return blas.daxpy(direction, vector.copy(), a=along)  # type: ignore[no-any-return]  # BLAS is untyped
    return np.asarray(vector + along * direction)


def _norm(covector: Array, vector: Array) -> Any:
    """<covector, vector>^(1/2), for each replica."""
    if covector.ndim == 1:
        square = blas.ddot(covector, vector)
        return math.sqrt(square) if square > 0 else 0.0
    return np.sqrt(np.maximum((covector * vector).sum(axis=-1), 0.0))


def _settle(chart: Chart, pushed: Pushed, threshold: float, mean: Any) -> Iterate:
    """Newton steps toward the argmin: one, and more until the decrement is below the threshold."""
    z, linear, step, left = pushed
    for _ in range(_NEWTON):
        z = z - step if left < FULL else z - step / (1 + left)
        at = _iterate(chart, z, linear, mean)
        step, left = at.step, at.left
        if left <= threshold:
            return at
    return _iterate(chart, minimise(chart, linear[chart.auxiliaries :]).z, linear, mean)


def _settle_all(chart: Chart, pushed: Pushed, threshold: Array, mean: Any) -> Iterate:
    """The same for replicas, each by itself."""
    z, linear, step, left = pushed
    going = np.ones(len(z), dtype=bool)
    for _ in range(_NEWTON):
        damping = np.where(left < FULL, 1.0, 1 + left)
        z = z - step * (going / damping)[:, None]
        at = _iterate(chart, z, linear, mean)
        step, left = at.step, at.left
        going = ~(left <= threshold)
        if not going.any():
            return at
    z[going] = minimise_all(chart, linear[going, chart.auxiliaries :])
    return _iterate(chart, z, linear, mean)


def _iterate(chart: Chart, z: Array, linear: Array, mean: Any) -> Iterate:
    """The point z, factorised, with the Newton step from there."""
    factor = chart.factor(z)
    gradient = linear + factor.gradient
    step = factor.newton_step(gradient)
    return Iterate(z, factor, linear, step, _norm(factor.tangential(gradient, step), step), mean)
