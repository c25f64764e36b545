"""The noisy stream C x + z behind the prefixes of a factorisation: B of it, so it is recovered from them."""

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from dpcvx.arrays import Array
from dpcvx.privacy.audit.evidence import Evidence, View
from dpcvx.privacy.audit.outputs import Maker, prefix_outputs
from dpcvx.privacy.counters import Factors


class StreamEvidence(Evidence):
    """What the stream of a factorisation tells.

    Args:
        make: builds the private sums, see `outputs`.
        factors: B and C.
    """

    def __init__(self, make: Maker, factors: Factors) -> None:
        self.make, self.factors = make, factors

    def influence(self) -> float:
        return self.factors.sensitivity

    def view(self, first: Any, second: Any) -> View:
        mechanism = self.make(np.random.default_rng(0), 1).mechanism
        size, law = mechanism.loss_set.size, mechanism.plan.law
        steps = min(len(first), mechanism.plan.horizon - 1)
        B, C = self.factors.matrices(steps)
        streams = [np.array([mechanism.units(loss) for loss in stream[:steps]]) for stream in (first, second)]
        means = [(C @ x.astype(float)).ravel() for x in streams]

        def score(prefixes: Array) -> Array:
            tail = prefixes.reshape(len(prefixes), -1, size)[:, 1:]  # the empty prefix carries no noise
            stacked = np.moveaxis(tail, 1, 0).reshape(steps, -1)
            y = solve_triangular(B, stacked, lower=True).reshape(steps, len(prefixes), size)
            return law.log_ratio(np.moveaxis(y, 0, 1).reshape(len(prefixes), -1), *means)

        return View(prefix_outputs(self.make, first), prefix_outputs(self.make, second), score)
