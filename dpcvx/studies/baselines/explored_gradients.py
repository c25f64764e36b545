"""Bandits by gradient estimates from exploring rounds alone: the regret T^(2/3) that was known before.

With probability gamma a round explores: a point a of a fixed design mu is played, and <loss, a> = v estimates the loss
by (v/gamma) Sigma^+ a, Sigma = E_mu[aa'], which is unbiased. All other rounds play Euclidean FTRL on the sum of the
estimates and learn nothing. With V a bound of the mean square of v, W of what a round can cost, and D the range of
R(x) = |x - c|^2/2,

    regret <= D/eta + (eta/2) T V tr(Sigma^+)/gamma + gamma W T,

at the best eta and gamma 3 (D V tr(Sigma^+) W/2)^(1/3) T^(2/3). `PrivateBandit` makes it private.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcvx.actions.optimal_design import optimal_design
from dpcvx.actions.weights import drawn
from dpcvx.arguments import positive
from dpcvx.arrays import Array
from dpcvx.learners.bandits.bandit import Bandit
from dpcvx.regularizers import Euclidean
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.sizes import Sizes

_RANK = 1e-9  # singular values below this, relative to the largest, count as 0


@dataclass(frozen=True, eq=False)
class Design:
    """Points to explore, one a row.

    Attributes:
        points: (k, N); weights: their probabilities.
        measures: Sigma^+ a of each, (k, N), by which feedback becomes an estimate of the loss.
        spread: E_mu |Sigma^+ a|^2 of the part that differs over X, the trace of Sigma^+ there.
    """

    points: Array
    weights: Array
    measures: Array
    spread: float


def coordinate_design(sizes: Sizes) -> Design:
    """The points of X that are farthest along each coordinate, either way, by an optimal design.

    They are the vertices of a simplex and the poles of a ball. Where they do not span what X spans, points in random
    directions, always the same, are added.
    """
    X = sizes.decision_set
    axes = np.vstack([np.eye(X.size), -np.eye(X.size)])
    random = np.random.default_rng(0).standard_normal((4 * X.size, X.size))
    spanned = _span(X.flatten(X.argmin(X.unflatten(np.vstack([axes, random]))))).shape[1]
    points = np.unique(X.flatten(X.argmin(X.unflatten(axes))), axis=0)
    if _span(points).shape[1] < spanned:
        points = np.unique(X.flatten(X.argmin(X.unflatten(np.vstack([axes, random])))), axis=0)
    basis = _span(points)
    weights = optimal_design(points @ basis)
    sigma = basis.T @ ((points.T * weights) @ points) @ basis
    measures = points @ basis @ np.linalg.inv(sigma) @ basis.T
    tangential = np.stack([sizes.tangential(row) for row in measures])
    return Design(points, weights, measures, float(weights @ (tangential**2).sum(axis=1)))


def _span(points: Array) -> Array:
    """An orthonormal basis of the span of the rows, (N, rank)."""
    _, values, right = np.linalg.svd(points, full_matrices=False)
    basis: Array = right[values > _RANK * max(values.max(initial=0.0), 1e-300)].T
    return basis


class ExploredGradients(Bandit):
    """Euclidean FTRL on gradient estimates from exploring rounds.

    Args:
        decision_set, loss_set, horizon, noise_scale, seed, replicas: see `Bandit`. Of a simplex { x >= 0, sum x = s }
            the corners are played, as arms.
        learning_rate: eta; by default the one with the least bound.
        design: where to explore; by default `coordinate_design`.

    Attributes:
        learning_rate, mixing: eta and gamma.
    """

    _theorem = "gradient estimates: D/eta + (eta/2) T V tr(Sigma^+)/gamma + gamma W T"

    def __init__(
        self,
        decision_set: DecisionSet,
        loss_set: LossSet,
        horizon: int,
        *,
        learning_rate: float | None = None,
        design: Design | None = None,
        noise_scale: float = 0.0,
        seed: int | np.random.Generator | None = None,
        replicas: int | None = None,
    ) -> None:
        super().__init__(decision_set, loss_set, horizon, noise_scale=noise_scale, seed=seed, replicas=replicas)
        self.regularizer = Euclidean(self.sizes)
        self.design = design or coordinate_design(self.sizes)
        self._arms = decision_set.recognised.arms()
        self._given_rate = None if learning_rate is None else positive(learning_rate, "learning_rate")
        second = (self.sizes.magnitude**2 + 2 * self.noise_scale**2) * self.design.spread  # gamma E|estimate|^2
        D, W = self.regularizer.range, self.sizes.variation
        # gamma balances sqrt(2 D second T/gamma) and gamma W T
        reach = math.sqrt(D * second / (2 * horizon)) / W if W else 0.0
        self.mixing = min(1.0, reach ** (2 / 3)) or 1.0
        self._squares = second / self.mixing
        self.learning_rate = self._given_rate or (math.sqrt(2 * D / (horizon * self._squares)) if reach else 1.0)
        self._zero = np.zeros((*self.leading, decision_set.size))
        self._measure = self._zero

    @property
    def _estimates(self) -> Array:
        """The sum of the estimates."""
        return self._zero if self._state is None else self._state

    @property
    def uncapped_bound(self) -> float:
        T, eta = self.horizon, self.learning_rate
        return self.regularizer.range / eta + eta * T * self._squares / 2 + self.mixing * self.sizes.variation * T

    def rounding_cost(self, error: float) -> float:
        """|E r <Sigma^+ a, q - u>| <= h (E |Sigma^+ a|^2)^(1/2) |q - u|, by Cauchy and Schwarz."""
        return error * self.horizon * math.sqrt(self.design.spread) * 2 * self.sizes.radius

    def _draw_action(self) -> Array:
        X, design = self.decision_set, self.design
        explores = (self._rng.random(self.leading) < self.mixing)[..., None]
        index = drawn(np.broadcast_to(design.weights, (*self.leading, len(design.weights))), self._rng)
        self._measure = np.where(explores, design.measures[index] / self.mixing, 0.0)
        point = X.flatten(self.regularizer.argmin(X.unflatten(self.learning_rate * self._estimates)))
        if self._arms is not None:
            point = self._arms.actions(drawn(np.maximum(point, 0.0), self._rng))
        return X.unflatten(np.where(explores, design.points[index], point))

    def _after(self, value: Any) -> Array:
        return np.asarray(self._estimates + value[..., None] * self._measure)

    def _settings(self) -> dict[str, Any]:
        own = {"learning_rate": self._given_rate, "design": self.design}
        return {**super()._settings(), "decision_set": self.decision_set, **own}

    def _details(self) -> list[str]:
        explored = f"{self.mixing:.6g} of all rounds, {len(self.design.points)} points"
        return [
            f"  tuning           learning rate {self.learning_rate:.6g}, noise scale {self.noise_scale:.6g}",
            f"  exploration      {explored}",
        ]
