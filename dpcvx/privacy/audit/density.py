"""Certificates without sampling: what the scale of a counter really gives, from its releases and their density.

Laplace noise: the log density ratio has the supremum (1-norm of the shift of all releases)/scale, which is touches
times D1 over the scale when one item moves along a diameter; K-norm noise likewise, in the norm of K. Gaussian noise:
one Gaussian release with mu = (2-norm of the shift)/sigma, whose delta(epsilon) is exact (Balle and Wang 2018).

The shift is that of losses rounded to the grid, which is all that trees round. A factorisation also rounds its stream
C x; its plan adds what that may move to the distance that the noise is made for, and these certificates leave it out.
So they are never above the truth: they refute scales that are too small, and prove no margin for that rounding.
"""

from dataclasses import dataclass

import numpy as np

from dpcvx.privacy.audit.likelihood import evidence_of
from dpcvx.privacy.audit.outputs import Maker
from dpcvx.privacy.audit.worst_case import worst_neighbours
from dpcvx.privacy.mechanism import Mechanism

_TOLERANCE = 1e-9  # relative; scales and norms are rounded


@dataclass(frozen=True)
class DensityCertificate:
    """The epsilon that a counter really has at its delta, and for Gaussian noise its rho, beside what it claims."""

    claimed: float
    delta: float
    epsilon: float
    claimed_rho: float | None = None
    rho: float | None = None

    @property
    def exceeded(self) -> bool:
        """Whether the claim is refuted: epsilon, or the rho of the zCDP certificate on which it rests."""
        beyond = self.epsilon > self.claimed * (1 + _TOLERANCE)
        if self.rho is not None and self.claimed_rho is not None:
            beyond = beyond or self.rho > self.claimed_rho * (1 + _TOLERANCE)
        return beyond


def certify(make: Maker, *, claim: float, delta: float = 0.0, padding: bool = False) -> DensityCertificate:
    """The exact epsilon of the counter that `make` builds, at the worst item and the largest change of one loss.

    Args:
        make: builds the private sums, see `outputs`.
        claim, delta: what is claimed.
        padding: whether the padding of the binary tree is hidden, in the test for directions without noise.
    """
    mechanism = make(np.random.default_rng(0), 1).mechanism
    plan = mechanism.plan
    influence = evidence_of(make, padding=padding).influence()
    if not np.isfinite(influence):
        return DensityCertificate(claim, delta, np.inf)
    one = max(plan.law.change(plan.sensitivity.units), plan.law.length(_rounded_shift(mechanism)))
    spent = plan.law.exact(influence * (one * mechanism.rounds_per_person), delta)
    return DensityCertificate(claim, delta, spent.epsilon, plan.rho, spent.rho)


def _rounded_shift(mechanism: Mechanism) -> list[int]:
    """What the worst neighbouring losses are apart once clipped and rounded; a right plan counts no less."""
    grid, one = mechanism.plan.grid, mechanism.plan.sensitivity
    ends = worst_neighbours(mechanism.loss_set, 1, mechanism.clipping.neighbours, norm=one.norm, step=grid.step)
    first, second = (grid.round(mechanism.clipping.clipped(end[0]), one.toward_zero) for end in ends)
    return [int(entry) for entry in (first - second).ravel()]
