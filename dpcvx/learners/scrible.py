"""SCRiBLe (Abernethy, Hazan, Rakhlin): barrier FTRL that plays in the Dikin ellipsoid, on any convex body.

With H = C C' the Hessian of the barrier at the point w, on the n-dimensional affine hull, and a unit vector u,

    play w + C'^-1 u, see v, estimate the loss by n v C u,

which is unbiased on the tangent space, since E[u u'] = I/n and E u = 0. The estimate has dual local norm n |v|. The
next point is the argmin of eta <sum of estimates, w> + R(w), by at least one Newton step in every round and more while
the decrement exceeds 1/12; rounds with eta n |v| >= 1/8 go on to 1e-6. One factorisation serves the sample at a point
and the step from it.
"""

from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.learners.bandit import Bandit
from dpcvx.learners.regret_bound import RegretBound
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.charts import Factor

RADIUS = 1 - 1e-9  # of the ellipsoid that is played on, against rounding
DECREMENT = 1 / 12  # above which another Newton step follows
_EXACT = 1e-6  # the same after a large step
_LARGE = 1 / 8  # eta n |v| from which on a step counts as large
_NEWTON = 200
_THEOREM = "SCRiBLe with one Newton step: nu log T/eta + 1.21 eta n^2 T V + 3.75 M eta^2 n^2 T V + 4 M"
SAMPLING = ("direction", "cholesky", "eigen")
PLAYS = ("points", "vertices")


class SCRiBLe(Bandit):
    """Barrier FTRL with Dikin-ellipsoid sampling.

    Args:
        decision_set, loss_set, horizon, noise_scale, seed, replicas: see `Bandit`.
        sampling: "direction" (uniform on the ellipsoid), "cholesky" or "eigen" (one of its 2 n poles).
        baseline: whether to subtract the mean of the past feedback from it: unbiased, and less variance in practice;
            the bound then has 2 M for M.
        play: "points", or "vertices": a random vertex whose mean is the point (polytopes, and sets with a sampler).
        learning_rate: eta; by default the one of the theorem.
    """

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
            raise ValueError(f"sampling must be one of {', '.join(SAMPLING)}, not {sampling!r}.")
        if play not in PLAYS:
            raise ValueError(f'play must be "points" or "vertices", not {play!r}.')
        if learning_rate is not None and not (np.isfinite(learning_rate) and learning_rate > 0):
            raise ValueError(f"learning_rate must be a positive number, not {learning_rate}.")
        self.sampling, self.baseline, self.play = sampling, bool(baseline), play
        self._given_rate = learning_rate
        self.learning_rate = learning_rate or self._tuned_rate()
        chart = decision_set.chart
        self._z = np.zeros((*self.leading, chart.size))
        self._estimates = np.zeros((*self.leading, chart.width))  # the sum of estimates
        self._factor: Factor | None = None
        self._measure = np.zeros((*self.leading, chart.width))  # n C u of the last action
        self._mean = np.zeros(self.leading)

    @property
    def _magnitude(self) -> float:
        """M: the largest feedback, less the baseline."""
        return self.sizes.magnitude * (2 if self.baseline else 1)

    @property
    def _noise_reach(self) -> float:
        """b: what the noise exceeds in one round with probability T^-2."""
        return 2 * self.noise_scale * float(np.log(max(self.horizon, 2)))

    @property
    def _second_moment(self) -> float:
        """V: an upper bound of the mean square of the feedback."""
        return self._magnitude**2 + 2 * self.noise_scale**2

    @property
    def _range(self) -> float:
        return self.decision_set.nu * float(np.log(max(self.horizon, 2)))

    def _tuned_rate(self) -> float:
        n, M = self.decision_set.dim, self._magnitude
        if not n or not M + self._noise_reach:
            return 1.0
        best = float(np.sqrt(self._range / (n * n * self.horizon * self._second_moment)))
        return min(best, 1 / (2 * n * (M + self._noise_reach)))

    @property
    def regret_bound(self) -> RegretBound | None:
        n, M, T, eta = self.decision_set.dim, self._magnitude, self.horizon, self.learning_rate
        largest = T * self.sizes.variation
        if not n:
            return RegretBound(0.0, 0.0, T, _THEOREM)
        if eta * n * (M + self._noise_reach) > 0.5 * (1 + 1e-12):
            return None
        second = eta * n * n * T * self._second_moment
        ends = 2 * self.sizes.magnitude * (2 if self.noise_scale else 1)  # moving the comparator inward; rare noise
        total = self._range / eta + 1.21 * second + 3.75 * self.sizes.magnitude * eta * second + ends
        return RegretBound(min(total, largest), 0.0, T, _THEOREM)

    def _factored(self) -> Factor:
        if self._factor is None:
            self._factor = self.decision_set.chart.factor(self._z)
        return self._factor

    def _directions(self, factor: Factor) -> tuple[Array, Array]:
        """A random C'^-1 u and the matching C u, for one unit vector u for each replica."""
        n = self.decision_set.dim
        if self.sampling == "eigen":
            return self._eigenpole(factor)
        if self.sampling == "direction":
            u = self._rng.standard_normal((*self.leading, n))
            u /= np.sqrt((u * u).sum(axis=-1, keepdims=True))
        else:
            u = np.zeros((*self.leading, n))
            pole = self._rng.integers(n, size=self.leading)
            sign = self._rng.choice([-1.0, 1.0], size=self.leading)
            np.put_along_axis(u, np.asarray(pole)[..., None], np.asarray(sign)[..., None], axis=-1)
        return factor.half_solve(u), factor.half_apply(u)

    def _eigenpole(self, factor: Factor) -> tuple[Array, Array]:
        """lambda^-1/2 q and lambda^1/2 q for a random eigenpair of the Hessian on the tangent space."""
        chart = self.decision_set.chart
        basis = np.linalg.qr(chart.tangent_basis())[0]
        units = np.broadcast_to(
            basis.T.reshape(-1, *(1,) * len(self.leading), chart.width), (basis.shape[1], *self.leading, chart.width)
        )
        S = np.moveaxis(factor.apply(units), 0, -1)
        values, vectors = np.linalg.eigh(np.swapaxes(basis, -1, -2) @ S)
        pole = np.asarray(self._rng.integers(self.decision_set.dim, size=self.leading))
        sign = np.asarray(self._rng.choice([-1.0, 1.0], size=self.leading))
        q = np.take_along_axis(vectors, pole[..., None, None], axis=-1)[..., 0] @ basis.T * sign[..., None]
        root = np.sqrt(np.take_along_axis(values, pole[..., None], axis=-1))
        return q / root, q * root

    def _play(self) -> Array:
        X, chart = self.decision_set, self.decision_set.chart
        if not X.dim:
            return X.unflatten(np.broadcast_to(chart.x0, (*self.leading, X.size)).copy())
        step, measure = self._directions(self._factored())
        self._measure = measure * (X.dim / RADIUS)
        point = X.unflatten(chart.point(self._z) + RADIUS * chart.push(step))
        if self.play == "points":
            return point
        if not self.leading:
            return X.sample_vertex(point, self._rng)
        return np.stack([X.sample_vertex(one, self._rng) for one in point])

    def _take(self, value: Array) -> None:
        if not self.decision_set.dim:
            return
        centred = value - self._mean if self.baseline else value
        estimates = self._estimates + np.asarray(centred)[..., None] * self._measure
        exact = bool(np.max(np.abs(centred)) * self.learning_rate * self.decision_set.dim >= _LARGE)
        z, factor = self._moved(estimates, _EXACT if exact else DECREMENT)
        if self.baseline:
            M = self.sizes.magnitude
            self._mean = np.clip(self._mean + (value - self._mean) / (self._rounds + 1), -M, M)
        self._estimates, self._z, self._factor = estimates, z, factor

    def _moved(self, estimates: Array, threshold: float) -> tuple[Array, Factor]:
        """Newton steps from the present point toward the argmin for new estimates: one, and more where needed."""
        chart = self.decision_set.chart
        linear = self.learning_rate * chart.joint(estimates)
        z, factor = self._z, self._factored()
        step, left = _newton(factor, linear)
        going = np.ones(self.leading, dtype=bool)
        for _ in range(_NEWTON):
            length = np.where(left < 0.25, 1.0, 1 / (1 + left)) * going
            z = z + length[..., None] * step
            factor = chart.factor(z)
            step, left = _newton(factor, linear)
            going = left > threshold
            if not going.any():
                break
        return z, factor

    def _own(self) -> dict[str, Any]:
        return {
            "sampling": self.sampling,
            "baseline": self.baseline,
            "play": self.play,
            "learning_rate": self._given_rate,
        }

    def _details(self) -> list[str]:
        return [f"  plays            {self.play} by {self.sampling}, learning rate {self.learning_rate:.6g}"]


def _newton(factor: Factor, linear: Array) -> tuple[Array, Array]:
    """The Newton step of <linear, z> + F at factored points, and the decrements."""
    gradient = linear + factor.gradient
    step = -factor.solve(gradient)
    return step, np.sqrt(np.maximum(-(gradient * step).sum(axis=-1), 0.0))
