"""Audit private sums as they are shipped, and with half of their noise: the second claim is refuted, twice."""

import cvxpy as cp
import numpy as np

from dpcvx import LossSet
from dpcvx.privacy import PrivateSums
from dpcvx.privacy.audit import audit, couple, exact_view, worst_neighbours
from dpcvx.studies.broken_mechanisms import HalfTheNoise

loss = cp.Variable(2)
loss_set = LossSet(loss, [loss >= -1, loss <= 1])
first, second = worst_neighbours(loss_set, horizon=8)  # round 1 at opposite corners, all else 0

for kind in (PrivateSums, HalfTheNoise):

    def make(rng: np.random.Generator, n: int, kind: type[PrivateSums] = kind) -> PrivateSums:
        return kind(loss_set, 8, epsilon=2.0, seed=rng, replicas=n)

    view = exact_view(make, first, second)
    result = audit(view.first, view.second, claim=2.0, score=view.score, samples=200_000)
    print(f"{kind.__name__}: {result}")
    print(couple(lambda kind=kind: kind(loss_set, 8, epsilon=2.0), first, second))  # exact, and without sampling
