"""What bandit learners share: they see the number <loss, action> alone, and play with randomness of their own.

A bandit learner is not private by itself; `PrivateBandit` makes it so. It is told by `with_noise(scale, rounds)` that
its feedback carries Laplace noise of that scale, and returns a learner tuned for it.
"""

import math
from abc import abstractmethod
from typing import Any, Self

import numpy as np

from dpcvx.arguments import whole
from dpcvx.arrays import Array
from dpcvx.errors import HorizonError
from dpcvx.learners.player import Player
from dpcvx.learners.regret_bound import RegretBound
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.sizes import sizes_of


class Bandit(Player):
    """A learner on <loss, action>.

    Args:
        decision_set: X.
        loss_set: Y.
        horizon: number of rounds T.
        noise_scale: scale of Laplace noise on the feedback, 0 without.
        seed: an int or a NumPy Generator for the learner's own draws.
        replicas: independent replicas on a leading axis of actions and feedback.
    """

    sees = "value"
    _theorem: str  # behind the bound

    def __init__(
        self,
        decision_set: DecisionSet,
        loss_set: LossSet,
        horizon: int,
        *,
        noise_scale: float = 0.0,
        seed: int | np.random.Generator | None = None,
        replicas: int | None = None,
    ) -> None:
        if not (np.isfinite(noise_scale) and noise_scale >= 0):
            raise ValueError(f"noise_scale must be a number of at least 0, not {noise_scale}.")
        self.sizes = sizes_of(decision_set, loss_set)
        self.decision_set, self.loss_set = decision_set, loss_set
        self.horizon, self.noise_scale = whole(horizon, "horizon"), float(noise_scale)
        self.leading = () if replicas is None else (whole(replicas, "replicas"),)
        self._rng = np.random.default_rng(seed)
        self._over: tuple[int, Any] = (0, None)  # rounds, and what the learner knows after them

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def rounds(self) -> int:
        return self._over[0]

    @property
    def _state(self) -> Any:
        """What the last `_take` returned; before the first, what the constructor put there, or None."""
        return self._over[1]

    def _decide(self) -> Array:
        if self._over[0] >= self.horizon:
            raise HorizonError(f"The horizon of {self.horizon} rounds is used up; nothing more is played.")
        return self._play()

    def _learn(self, feedback: Any) -> None:
        after = self._take(read_feedback(feedback, self.leading))
        self._over = (self._over[0] + 1, after)

    @abstractmethod
    def _play(self) -> Array:
        """An action, drawn by the learner."""

    @abstractmethod
    def _take(self, value: Any) -> Any:
        """The state after the feedback (leading axes), which changes nothing by itself."""

    @property
    @abstractmethod
    def uncapped_bound(self) -> float:
        """The proved bound, also where it is above the largest regret there is; infinity where none is proved."""

    @property
    def regret_bound(self) -> RegretBound | None:
        """The proved bound of the expected regret over the horizon, against oblivious losses."""
        total = self.uncapped_bound
        if math.isinf(total):
            return None
        return RegretBound(min(total, self.horizon * self.sizes.variation), 0.0, self.horizon, self._theorem)

    @abstractmethod
    def _own(self) -> dict[str, Any]:
        """Arguments of the constructor that only this kind of learner has."""

    @property
    def _domain(self) -> Any:
        """The first argument of the constructor."""
        return self.decision_set

    def _again(self, **changes: Any) -> Self:
        settings = {"horizon": self.horizon, "noise_scale": self.noise_scale, **self._own(), **changes}
        return type(self)(self._domain, self.loss_set, **settings)

    def with_noise(self, scale: float, rounds: int) -> Self:
        """A new learner tuned for `rounds` rounds of feedback with Laplace noise of that scale."""
        replicas = self.leading[0] if self.leading else None
        return self._again(noise_scale=scale, horizon=rounds, seed=self._rng.spawn(1)[0], replicas=replicas)

    def simulated(self, replicas: int | None, seed: int | np.random.Generator) -> Self:
        """A new learner of the same settings that has seen nothing, with replicas."""
        return self._again(seed=seed, replicas=replicas)

    def summary(self) -> str:
        """What was chosen and what is proved, in a few lines."""
        bound = self.regret_bound
        lines = [f"{self.name} on {self.decision_set.name}, dimension {self.decision_set.dim}", *self._details()]
        return "\n".join([*lines, f"  regret           {'no bound is proved' if bound is None else bound}"])

    @abstractmethod
    def _details(self) -> list[str]:
        """Lines of the summary on what this learner chose."""

    def __repr__(self) -> str:
        return f"{self.name}({self.decision_set.name}, round {self.rounds} of {self.horizon})"


def read_feedback(feedback: Any, leading: tuple[int, ...]) -> Any:
    """Feedback as finite floating-point numbers, one for each replica.

    Raises:
        ValueError: where it is anything else.
    """
    if not leading and isinstance(feedback, float) and math.isfinite(feedback):
        return np.float64(feedback)
    value = np.asarray(feedback)
    if value.shape not in ((), leading) or value.dtype.kind not in "biuf" or not np.isfinite(value).all():
        raise ValueError(f"The feedback must be finite numbers of shape {leading}, not {feedback!r}.")
    value = value.astype(float, copy=False)
    return value[()] if value.shape == leading else np.broadcast_to(value, leading)
