"""What bandit learners share: they see the number <loss, action> alone, and play with randomness of their own.

A bandit learner is not private by itself; `PrivateBandit` makes it so. It is told by `with_noise(scale, rounds)` that
its feedback carries Laplace noise of that scale, and returns a learner tuned for it; and it answers by
`rounding_cost(error)` what it costs that secure feedback is rounded to a grid.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np

from dpcvx.arguments import whole
from dpcvx.arrays import Array, reals
from dpcvx.errors import ArgumentError, HorizonError
from dpcvx.learners.player import Player
from dpcvx.learners.regret_bound import RegretBound
from dpcvx.privacy.noise import own_generator
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.sizes import sizes_of


class Progress(NamedTuple):
    """Rounds that are over, and what the learner knows after them."""

    rounds: int
    state: Any


class Bandit(Player):
    """A learner on <loss, action>.

    A subclass is a whole learner: one that leaves out something the base asks for, such as `rounding_cost`, fails where
    it is defined. A class that others are to complete says so by naming `ABC` among its bases.

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

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        missing = [] if ABC in cls.__bases__ else sorted(_abstract(cls))
        if missing:
            raise TypeError(
                f"The bandit learner {cls.__name__} does not define {', '.join(missing)}. "
                "A class that others are to complete names ABC among its bases."
            )

    @classmethod
    def refusal(cls, decision_set: DecisionSet, loss_set: LossSet) -> str | None:
        """Why these sets do not admit the learner, in a sentence; None where they do."""
        return None

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
            raise ArgumentError(f"noise_scale must be a number of at least 0, not {noise_scale}.")
        self.sizes = sizes_of(decision_set, loss_set)
        if decision_set.bandit_refusal is not None:
            raise ArgumentError(decision_set.bandit_refusal)
        self.decision_set, self.loss_set = decision_set, loss_set
        self.horizon, self.noise_scale = whole(horizon, "horizon"), float(noise_scale)
        self.leading = () if replicas is None else (whole(replicas, "replicas"),)
        self._rng = own_generator(seed, f"{type(self).__name__}: own draws")
        self._progress = Progress(0, None)
        self._measure_values()

    def _measure_values(self) -> None:
        """How large feedback can be, once a public constant is taken off where no estimate of a difference minds."""
        low, high = self._values()
        self.middle_value = (low + high) / 2 if self._may_shift() else 0.0
        self.magnitude = max(high - self.middle_value, self.middle_value - low)

    def _values(self) -> tuple[float, float]:
        """The least and the largest feedback without noise."""
        return self.sizes.values

    def _may_shift(self) -> bool:
        """Whether one constant less in every feedback changes no estimated difference of losses, in the mean."""
        return True

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def rounds(self) -> int:
        return self._progress.rounds

    @property
    def _state(self) -> Any:
        """What the last `_after` returned; before the first, what the constructor put there, or None."""
        return self._progress.state

    def _choose(self) -> Array:
        if self.rounds >= self.horizon:
            raise HorizonError(f"The horizon of {self.horizon} rounds is used up; nothing more is played.")
        return self._draw_action()

    def _learn(self, feedback: Any) -> None:
        state = self._after(read_feedback(feedback, self.leading) - self.middle_value)
        self._progress = Progress(self.rounds + 1, state)

    @abstractmethod
    def _draw_action(self) -> Array:
        """An action, drawn by the learner."""

    @abstractmethod
    def _after(self, value: Any) -> Any:
        """The state after feedback on leading axes; it is returned, and changes nothing by itself."""

    @property
    @abstractmethod
    def uncapped_bound(self) -> float:
        """The proved bound, also where it is above the largest regret there is; infinity where none is proved."""

    @abstractmethod
    def rounding_cost(self, error: float) -> float:
        """What feedback that is off by at most `error` in every round costs through the bias of the estimates.

        The proof is the learner's own; see `rounded_feedback` for what else rounding changes.
        """

    @property
    def regret_bound(self) -> RegretBound | None:
        """The proved bound of the expected regret over the horizon, against oblivious losses."""
        total = self.uncapped_bound
        if math.isinf(total):
            return None
        return RegretBound(total, 0.0, self.horizon, self._theorem, self.horizon * self.sizes.variation)

    def _says_nothing_at(self, horizon: int) -> bool:
        """Whether the bound of the same learner for another horizon says nothing."""
        other = self.simulated(None, 0).with_noise(self.noise_scale, horizon).regret_bound
        return other is None or other.says_nothing

    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """All arguments of the constructor but `seed` and `replicas`; here those of every bandit learner."""
        return {"loss_set": self.loss_set, "horizon": self.horizon, "noise_scale": self.noise_scale}

    def with_noise(self, scale: float, rounds: int) -> Self:
        """A new learner tuned for `rounds` rounds of feedback with Laplace noise of that scale."""
        replicas = self.leading[0] if self.leading else None
        settings = {**self._settings(), "noise_scale": scale, "horizon": rounds}
        return type(self)(**settings, seed=self._rng.spawn(1)[0], replicas=replicas)

    def simulated(self, replicas: int | None, seed: int | np.random.Generator) -> Self:
        """A new learner of the same settings that has seen nothing, with replicas."""
        return type(self)(**self._settings(), seed=seed, replicas=replicas)

    def summary(self) -> str:
        """What was chosen and what is proved, in a few lines."""
        bound = self.regret_bound
        bound = bound and bound.sought(self._says_nothing_at)
        lines = [f"{self.name} on {self.decision_set.name}, dimension {self.decision_set.dim}", *self._details()]
        return "\n".join([*lines, f"  regret           {'no bound is proved' if bound is None else bound}"])

    @abstractmethod
    def _details(self) -> list[str]:
        """Lines of the summary on what this learner chose."""

    def __repr__(self) -> str:
        return f"{self.name}({self.decision_set.name}, round {self.rounds} of {self.horizon})"


def _abstract(kind: type) -> set[str]:
    """The names that a class declares or inherits without a body of its own."""
    declared = {name for base in kind.__mro__ for name, value in vars(base).items() if _is_abstract(value)}
    return {name for name in declared if _is_abstract(getattr(kind, name))}


def _is_abstract(value: Any) -> bool:
    return bool(getattr(value, "__isabstractmethod__", False))


def read_feedback(feedback: Any, leading: tuple[int, ...]) -> Any:
    """Feedback as finite floating-point numbers, one for each replica.

    Raises:
        ValueError: where it is anything else, in words that show shapes and types alone: feedback is a secret.
    """
    if not leading and isinstance(feedback, float) and math.isfinite(feedback):
        return np.float64(feedback)
    value = reals(feedback, "feedback")
    if value.shape not in ((), leading):
        wanted = f"numbers of shape {leading}" if leading else "one number, the loss of the action"
        raise ArgumentError(f"The feedback must be {wanted}, not an array of shape {value.shape}.")
    if not np.isfinite(value).all():
        raise ArgumentError("The feedback holds NaN or an infinity; nothing was changed.")
    return value[()] if value.shape == leading else np.broadcast_to(value, leading)
