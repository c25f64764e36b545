"""Euclidean regularisation on losses that each carry noise of their own: privacy without a counter.

Every loss is released once, with Laplace noise for its whole diameter, and the learner adds up what was released. One
loss enters one release: epsilon. But the noise of a sum grows like sqrt(t), and the stability of every single step
pays for it. Since the noise z_t has mean 0 and is independent of the action before it,

    regret <= D/eta + (eta/2) T (|Y|_2^2 + E|z|_2^2)

for R(x) = |x - c|^2/2 of range D: privacy multiplies the root of T, where sums of a tree add a term beside it.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dpcvx.arguments import positive, whole
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError, HorizonError
from dpcvx.learners.player import Player
from dpcvx.learners.regret_bound import RegretBound
from dpcvx.privacy.certificate import Certificate
from dpcvx.privacy.clipping import flat_losses
from dpcvx.privacy.plan import plan
from dpcvx.regularizers import Euclidean
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.sizes import sizes_of
from dpcvx.streams import stream

_THEOREM = "Euclidean FTRL on noisy losses: D/eta + (eta/2) T (|Y|^2 + E|z|^2)"


@dataclass(frozen=True)
class Released:
    """The sum of the noisy losses so far, of `rounds` of them."""

    total: Array
    rounds: int = 0


class PerStepNoise(Player):
    """x_t = argmin eta <l~_1 + ... + l~_{t-1}, x> + |x - c|^2/2 over X, l~_s = l_s + noise.

    Args:
        decision_set, loss_set, horizon: X, Y and the number of rounds.
        epsilon: the privacy of the whole sequence of actions, for neighbours by "replace".
        learning_rate: eta; by default the one with the least bound.
        seed: an int or a NumPy Generator makes it a simulation.
        replicas: in simulation, independent replicas on a leading axis of actions.
    """

    name = "per-step noise"

    def __init__(
        self,
        decision_set: DecisionSet,
        loss_set: LossSet,
        horizon: int,
        epsilon: float,
        *,
        learning_rate: float | None = None,
        seed: int | np.random.Generator | None = None,
        replicas: int | None = None,
    ) -> None:
        if replicas is not None and seed is None:
            raise ArgumentError("replicas are for simulation; give a seed.")
        self.sizes = sizes_of(decision_set, loss_set)
        self.decision_set, self.loss_set = decision_set, loss_set
        self.horizon = whole(horizon, "horizon")
        self.regularizer = Euclidean(self.sizes)
        # two rounds of a tree: their one prefix is the first loss with its noise
        self._plan = plan(loss_set, 2, positive(epsilon, "epsilon"), counter="tree")
        self._given_rate = None if learning_rate is None else positive(learning_rate, "learning_rate")
        self.learning_rate = self._given_rate or self._tuned_rate()
        self._source = self._plan.source(loss_set.size, None if seed is None else stream(seed, "PerStepNoise: noise"))
        leading = () if replicas is None else (whole(replicas, "replicas"),)
        self._released = Released(np.zeros((*leading, loss_set.size)))

    @property
    def _deviation(self) -> float:
        """Of one coordinate of the noise on one loss."""
        return self._plan.law.standard_deviation * self._plan.grid.step

    @property
    def _second_moment(self) -> float:
        """|Y|^2 + E|z|^2, z the part of the noise that differs over X; rounding lengthens losses by a little."""
        rounded = self.regularizer.dual_norm + math.sqrt(self.loss_set.size) * self._plan.grid.step
        return rounded**2 + self.decision_set.dim * self._deviation**2

    def _tuned_rate(self) -> float:
        D, second = self.regularizer.range, self._second_moment
        return math.sqrt(2 * D / (self.horizon * second)) if D and second else 1.0

    @property
    def rounds(self) -> int:
        return self._released.rounds

    def _choose(self) -> Array:
        if self.rounds >= self.horizon:
            raise HorizonError(f"The horizon of {self.horizon} rounds is used up; nothing more is played.")
        return self.regularizer.argmin(self.loss_set.unflatten(self.learning_rate * self._released.total))

    def _learn(self, feedback: Any) -> None:
        total = self._released.total
        loss = self.loss_set.recognised.clip(flat_losses(self.loss_set, feedback, total.shape[:-1]))
        units = self._plan.grid.round(loss, self._plan.sensitivity.toward_zero)
        values = np.broadcast_to(units, (1, *total.shape))
        noisy = (values[0] + self._source.draw(values)[0]) * self._plan.grid.step
        self._released = Released(total + noisy, self.rounds + 1)

    @property
    def regret_bound(self) -> RegretBound:
        """The proved bound, and the largest regret there is; learning is what the same method pays without noise."""
        D, eta, largest = self.regularizer.range, self.learning_rate, self.horizon * self.sizes.variation
        rounding = self.horizon * self._plan.grid.step * self.sizes.one_norm_diameter
        total = D / eta + eta * self.horizon * self._second_moment / 2 + rounding
        learning = min(math.sqrt(2 * D * self.horizon) * self.regularizer.dual_norm, total)
        return RegretBound(learning, total - learning, self.horizon, _THEOREM, largest)

    @property
    def certificate(self) -> Certificate:
        """What is promised about the losses, and the regret bound."""
        p = self._plan
        return Certificate(
            epsilon=p.epsilon,
            delta=0.0,
            neighbours="replace",
            rounds_per_person=1,
            mechanism="noise on every single loss",
            releases_per_loss=p.touches,
            terms_per_prefix=max(self.horizon - 1, 1),
            noise=p.law.name,
            scale=p.law.scale * p.grid.step,
            prefix_deviation=self._deviation * math.sqrt(max(self.horizon - 1, 1)),
            sensitivity=p.sensitivity.value,
            sensitivity_norm=p.sensitivity.norm,
            sensitivity_kind=p.sensitivity.kind,
            grid=p.grid.step,
            secure=self._source.secure,
            horizon=self.horizon,
            rounds=self.rounds,
            regret_bound=self.regret_bound.to_dict(),
        )

    def simulated(self, replicas: int, seed: int | np.random.Generator) -> Self:
        """A new learner of the same settings that has seen nothing: a simulation with replicas."""
        return type(self)(
            self.decision_set,
            self.loss_set,
            self.horizon,
            self._plan.epsilon,
            learning_rate=self._given_rate,
            seed=seed,
            replicas=replicas,
        )

    def summary(self) -> str:
        """What was chosen and what is promised, in a few lines."""
        lines = [
            f"{self.name} on {self.decision_set.name}, dimension {self.decision_set.dim}",
            f"  regularizer      {self.regularizer.name}, learning rate {self.learning_rate:.6g}",
            f"  regret           {self.regret_bound}",
        ]
        return "\n".join([*lines, str(self.certificate)])
