"""The negative entropy R(x) = sum x_i log x_i on sets of nonnegative points."""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.barriers import Exponential, Product
from dpcvx.errors import OracleError, UnsupportedConeError
from dpcvx.sets import DecisionSet
from dpcvx.sets.closed_forms import Knapsack
from dpcvx.sets.oracles import CentredForm
from dpcvx.sets.solver import ConeProgram


class Entropy:
    """Negative entropy over a decision set whose entries are nonnegative.

    Raises:
        UnsupportedConeError: where an entry of the set can be negative.
    """

    def __init__(self, decision_set: DecisionSet) -> None:
        self._set = decision_set
        form = decision_set.closed_form
        whole = isinstance(form, Knapsack) and form.is_simplex and len(form.lower) == decision_set.size
        self._total = form.total if isinstance(form, Knapsack) and whole else None
        if self._total is None:
            lower = np.min(decision_set.bounding_box()[0])
            if lower < -1e-7 * decision_set.norm_bound(np.inf):
                raise UnsupportedConeError(f"The entropy needs nonnegative points, but an entry can be {lower:.3g}.")

    def value(self, point: Any) -> Array:
        """R at points of the set, with 0 log 0 = 0."""
        x = self._set.flatten(point)
        return np.asarray(np.where(x > 0, x * np.log(np.where(x > 0, x, 1.0)), 0.0).sum(axis=-1))

    def argmin(self, covector: Any) -> Array:
        """argmin <covector, x> + R(x): the softmax on a simplex, a cone program elsewhere."""
        c = self._set.flatten(covector, "covector")
        if self._total is not None:
            weights = np.exp(c.min(axis=-1, keepdims=True) - c)
            return self._set.unflatten(weights * (self._total / weights.sum(axis=-1, keepdims=True)))
        batch = c.reshape(-1, self._set.size)
        return self._set.unflatten(np.array([self._solve(one) for one in batch]).reshape(c.shape))

    @cached_property
    def _form(self) -> CentredForm:
        return self._set.centred_form

    @cached_property
    def _program(self) -> ConeProgram:
        """min <q, w> + sum t_i over the set and (-t_i, x_i, 1) in the exponential cone: x_i log x_i <= t_i."""
        f, n = self._form, self._set.size
        k = f.A.shape[1]
        rows = sparse.lil_array((3 * n, k + n))
        rows[0::3, k:] = sparse.eye_array(n)  # slack -t
        rows[1::3, :k] = -f.P  # slack x
        b = np.zeros(3 * n)
        b[1::3], b[2::3] = f.x0, 1.0
        A = sparse.csr_array(sparse.block_array([[sparse.hstack([f.A, sparse.csr_array((f.A.shape[0], n))])], [rows]]))
        E = sparse.csr_array(sparse.hstack([f.E, sparse.csr_array((f.E.shape[0], n))]))
        cones = Product([*f.cones.cones, Exponential(n)])
        return ConeProgram(A, np.concatenate([f.s0, b]), cones, E, np.zeros(E.shape[0]))

    def _solve(self, c: Array) -> Array:
        f = self._form
        q = np.concatenate([f.P.T @ c, np.ones(self._set.size)])
        scale = max(1.0, float(np.abs(q).max()))
        answer = self._program.minimise(q / scale)
        if not answer.usable:
            raise OracleError(f"The solver stopped without an answer: {answer.status}.")
        return f.inside(answer.point[: f.A.shape[1]])
