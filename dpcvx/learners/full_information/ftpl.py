"""Follow the perturbed leader on private sums.

This is Algorithm 3 of Agarwal and Singh, The Price of Differential Privacy for Online Learning (ICML 2017), with
corrected constants.

The action minimises <L + Z, x>, L + Z the released sum. A Gaussian part of deviation s in Z smooths the leader:

    regret <= E max <Z, x> + sqrt(2/pi) r |Y|_2^2 T/(2 s),    r the radius of X.

The counter's own Gaussian noise counts toward s; what it lacks is added as padding, one Gaussian vector g times what is
missing, drawn once for an epoch. Against oblivious losses only the law of the noise at each time matters, and padding
is independent of the losses, so it costs no privacy. Laplace and K-norm noise count nothing toward s: conditional on it
the same proof holds with the padding alone, and its own mean width is added. So the bound is proved for every counter.
"""

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from dpcvx.arrays import Array
from dpcvx.learners.full_information.learner import FullInformation, PrivacyOptions
from dpcvx.learners.full_information.mean_width import mean_width
from dpcvx.learners.full_information.shared_sums import Horizon
from dpcvx.learners.regret_bound import RegretBound
from dpcvx.privacy.prefix_noise import gaussian_noise
from dpcvx.privacy.running_sums import RunningSums
from dpcvx.sets import DecisionSet, LossSet

_THEOREM = "FTPL: E max <Z, x> + sqrt(2/pi) r |Y|^2 T/(2 s) for noise with a Gaussian part of deviation s"


@dataclass(frozen=True)
class Perturbation:
    """How much Gaussian noise there must be, and the direction of what is added to the counter's.

    Attributes:
        least: the deviation with the least bound.
        deviation: the larger one of that and the counter's own.
        direction: one draw of unit deviation in the shape of losses.
    """

    least: float
    deviation: float
    direction: Array


class FTPL(FullInformation):
    """x_t = argmin <L, x> over X, L the private sum of the losses before round t, padded to one law.

    Uses the linear oracle only: the set's own where it has one (shortest paths, sorting, assignment).

    Args:
        decision_set, loss_set, horizon, epsilon, delta, sums, seed, replicas, **privacy: see `FullInformation`.

    Example:
        >>> import decision_sets, dpcvx
        >>> X, Y = decision_sets.simplex(3), decision_sets.loss_box(3)
        >>> learner = dpcvx.FTPL(X, Y, horizon=100, epsilon=1.0, delta=1e-6)
        >>> action = learner.act()  # a vertex of X
        >>> sorted(abs(action).tolist())
        [0.0, 0.0, 1.0]
        >>> learner.update([0.3, -0.2, 0.5])
    """

    def __init__(
        self,
        decision_set: DecisionSet,
        loss_set: LossSet | None = None,
        horizon: Horizon = ...,
        epsilon: float | None = None,
        delta: float = 0.0,
        *,
        sums: RunningSums | None = None,
        seed: int | np.random.Generator | None = None,
        replicas: int | None = None,
        **privacy: Unpack[PrivacyOptions],
    ) -> None:
        super().__init__(
            decision_set, loss_set, horizon, epsilon, delta, sums=sums, seed=seed, replicas=replicas, **privacy
        )
        self._width = mean_width(self.sizes, gaussian_noise(1.0))
        _ = self._tuned

    @property
    def _stability(self) -> float:
        """What smoothing of deviation 1 costs in one round."""
        return float(np.sqrt(2 / np.pi)) * self.sizes.used_reach * self.sizes.used_loss_radius**2 / 2

    @property
    def perturbation(self) -> float:
        """The deviation of the Gaussian part of the noise in each coordinate."""
        return float(self._tuned.constants.deviation)

    def _tune(self, horizon: int) -> "Perturbation":
        # s* balances s width and stability T/s
        least = float(np.sqrt(self._stability * horizon / self._width)) if self._width > 0 else 0.0
        noise = self.noise
        own = noise.deviation if noise is not None and noise.gaussian else 0.0
        padding = self._rng.standard_normal((*self._sums.leading, self.loss_set.size))
        return Perturbation(least, max(least, own), self.loss_set.unflatten(padding))

    def _best_action(self, noisy_sum: Array, constants: "Perturbation") -> Array:
        return self._leader(noisy_sum, self._sums.gaussian_deviation, constants)

    def answers(self, prefixes: Array, deviations: Array) -> Array:
        own = np.reshape(deviations, (-1, *(1,) * (np.ndim(prefixes) - 1)))
        return self._leader(prefixes, own, self._tuned.constants)

    def _leader(self, noisy_sums: Array, deviations: Any, constants: "Perturbation") -> Array:
        """The minimisers after sums that carry Gaussian noise of these deviations, which is padded to the whole one."""
        missing = np.maximum(constants.deviation**2 - deviations**2, 0.0)
        return self.decision_set.argmin(
            self.sizes.pairing.covector(noisy_sums + np.sqrt(missing) * constants.direction)
        )

    def _epoch_bound(self, constants: "Perturbation") -> RegretBound | None:
        horizon, s = self._sums.epoch_horizon, constants.deviation
        if not constants.least:  # nothing to be learnt
            return self._proved(0.0, 0.0, _THEOREM)
        learning = self._width * constants.least + self._stability * horizon / constants.least
        total = self._width * s + self._stability * horizon / s
        noise = self.noise
        if noise is not None and not noise.gaussian:
            total += mean_width(self.sizes, noise)
        return self._proved(learning, total - learning, _THEOREM)

    def _details(self) -> list[str]:
        return [f"  perturbation     Gaussian part of deviation {self.perturbation:.6g} in each coordinate"]
