"""The negative entropy R(x) = sum x_i log x_i on sets of nonnegative points.

R''(x) = diag(1/x), so |l|*_x^2 = sum x_i l_i^2. Where the sum of the entries is constant, a constant may be taken off
the loss: on the simplex that leaves the variance of l, at most a quarter of its range squared.
"""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.barriers import Exponential, Product
from dpcvx.errors import OracleError
from dpcvx.regularizers.entropy_newton import EntropyNewton
from dpcvx.regularizers.regularizer import Noise, Regularizer
from dpcvx.sets.geometry.centered_form import CenteredForm
from dpcvx.sets.geometry.charts import DENSE_LIMIT
from dpcvx.sets.sizes import Sizes
from dpcvx.sets.solvers.cone_program import ConeProgram


class Entropy(Regularizer):
    """Negative entropy over a decision set whose entries are nonnegative."""

    name = "entropy"

    @classmethod
    def refusal(cls, sizes: Sizes) -> str | None:
        X = sizes.decision_set
        lower = float(np.min(X.bounding_box()[0]))
        if lower < -1e-7 * X.norm_bound(np.inf):
            return f"The entropy needs nonnegative points, but an entry can be {lower:.3g}."
        return None

    def value(self, point: Any) -> Array:
        """R at points of the set, with 0 log 0 = 0."""
        return np.asarray(_entries(self.decision_set.flatten(point)).sum(axis=-1))

    def argmin(self, covector: Any, start: Array | None = None) -> Array:
        """argmin <covector, x> + R(x): softmax on a simplex, its clipped form on boxes, programs elsewhere."""
        return self.follow(covector)[0]

    def follow(self, covector: Any, last: Array | None = None) -> tuple[Array, Array | None]:
        X = self.decision_set
        c = X.flatten(covector, "covector")
        known = X.recognised.entropy_argmin(c)
        if known is not None:
            return X.unflatten(known), None
        batch = c.reshape(-1, X.size)
        if self._newton is None:
            return X.unflatten(np.array([self._solve(one) for one in batch]).reshape(c.shape)), None
        starts = np.full((len(batch), self._newton.size), np.nan) if last is None else last
        points, ends, found = np.empty(batch.shape), np.empty(starts.shape), np.zeros(len(batch), dtype=bool)
        if last is not None and len(batch) > 1:
            points, ends, found = self._newton.minimise_together(batch, starts)
        for i in np.flatnonzero(~found):
            points[i], ends[i] = self._followed(self._newton, batch[i], starts[i])
        return X.unflatten(points.reshape(c.shape)), ends

    def _followed(self, newton: EntropyNewton, c: Array, start: Array) -> tuple[Array, Array]:
        """One minimiser and where the next may begin, in numbers; NaN where that is the center."""
        found = newton.minimise(c, None if np.isnan(start[0]) else start)
        return (self._solve(c), np.full(newton.size, np.nan)) if found is None else found

    @cached_property
    def _newton(self) -> EntropyNewton | None:
        return EntropyNewton.over(self.decision_set.geometry)

    @cached_property
    def range(self) -> float:
        X = self.decision_set
        most = X.recognised.chord_bound(lambda x: _entries(np.maximum(x, 0.0)))
        # x log x >= x (log t + 1) - t for every t > 0: linear, least over X by the oracle; t near the minimiser, or of
        # sets so large that a cone program takes as long as all else the center, which needs none
        large = X.size > DENSE_LIMIT and X.recognised.entropy_argmin(np.zeros(X.size)) is None
        least = X.flatten(X.center if large else self.argmin(np.zeros(X.shape)))
        t = np.maximum(least, 1e-12 * float(least.max(initial=0.0)) + 1e-300)
        return most + X.support_bound(X.unflatten(-(np.log(t) + 1))) + float(t.sum())

    @cached_property
    def dual_norm(self) -> float:
        X, sizes = self.decision_set, self.sizes
        shifts = [0.0] if sizes.total is None else [0.0, sum(sizes.loss_ends) / 2]
        squares = [X.support_bound(X.unflatten(sizes.largest_squares(shift))) for shift in shifts]
        return float(np.sqrt(max(min(squares), 0.0)))

    @property
    def steadiness(self) -> tuple[float, float] | None:
        """On a simplex of total S: 1/S in the 1-norm, by Pinsker, whose dual on the tangent space is half the range."""
        total, (low, high) = self.decision_set.recognised.softmax_total, self.sizes.loss_ends
        return None if total is None else (total, (high - low) / 2)

    def noise_size(self, noise: Noise, width: float) -> float:
        total = self.decision_set.recognised.softmax_total
        return float("inf") if total is None else width / total  # E (max Z - min Z)/2 = E max Z, Z symmetric

    def noise_bound(self, noise: Noise, learning_rate: float) -> float:
        total = self.decision_set.recognised.softmax_total
        if total is None or not self.sizes.pairing.selects:
            return float("inf")
        # E (S/eta) log mean exp(-eta Z_i) <= (S/eta) max log E exp(-eta Z_i), by Jensen's inequality; given a level of
        # the noise where its coordinates depend on each other by that alone, and then the mean over levels is taken
        return total / learning_rate * noise.log_moment(learning_rate)

    @cached_property
    def _form(self) -> CenteredForm:
        return self.decision_set.geometry.centered_form

    @cached_property
    def _program(self) -> ConeProgram:
        """min <q, w> + sum t_i over the set and (-t_i, x_i, 1) in the exponential cone: x_i log x_i <= t_i."""
        f, n = self._form, self.decision_set.size
        k = f.A.shape[1]
        P = sparse.coo_array(-f.P)
        first = 3 * np.arange(n)
        places = np.concatenate([first, 3 * P.row + 1]), np.concatenate([k + np.arange(n), P.col])
        rows = sparse.csr_array((np.concatenate([np.ones(n), P.data]), places), shape=(3 * n, k + n))  # slacks -t, x, 1
        b = np.zeros(3 * n)
        b[1::3], b[2::3] = f.x0, 1.0
        A = sparse.csr_array(sparse.block_array([[sparse.hstack([f.A, sparse.csr_array((f.A.shape[0], n))])], [rows]]))
        E = sparse.csr_array(sparse.hstack([f.E, sparse.csr_array((f.E.shape[0], n))]))
        cones = Product([*f.cones.cones, Exponential(n)])
        return ConeProgram(A, np.concatenate([f.s0, b]), cones, E, np.zeros(E.shape[0]))

    def _solve(self, c: Array) -> Array:
        f = self._form
        q = np.concatenate([f.P.T @ c, np.ones(self.decision_set.size)])
        scale = max(1.0, float(np.abs(q).max()))
        answer = self._program.minimise(q / scale)
        if not answer.usable:
            raise OracleError(f"The solver stopped without an answer: {answer.status}.")
        return f.inside(answer.point[: f.A.shape[1]])

    def __getstate__(self) -> dict[str, Any]:
        """Without the solvers, which are set up again where they are needed."""
        return {key: value for key, value in self.__dict__.items() if key not in ("_program", "_form", "_newton")}


def _entries(x: Array) -> Array:
    return np.where(x > 0, x * np.log(np.where(x > 0, x, 1.0)), 0.0)
