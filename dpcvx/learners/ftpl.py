"""Follow the perturbed leader on private sums (the paper's Algorithm 3, with corrected constants).

The action minimises <L + Z, x>, L + Z the released sum. A Gaussian part of deviation s in Z smooths the leader:

    regret <= E max <Z, x> + sqrt(2/pi) r |Y|_2^2 T/(2 s),    r the radius of X.

The counter's own Gaussian noise counts toward s; what it lacks is added as padding, one Gaussian vector g times what is
missing, drawn once for an epoch. Against oblivious losses only the law of the noise at each time matters, and padding
is independent of the losses, so it costs no privacy. Laplace noise counts nothing toward s: conditional on it the same
proof holds with the padding alone, and its own mean width is added. So the bound is proved for every counter.
"""

from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.learners.full_information import FullInformation
from dpcvx.learners.mean_width import mean_width
from dpcvx.learners.regret_bound import RegretBound
from dpcvx.privacy.prefix_noise import gaussian_noise

_THEOREM = "FTPL: E max <Z, x> + sqrt(2/pi) r |Y|^2 T/(2 s) for noise with a Gaussian part of deviation s"


class FTPL(FullInformation):
    """x_t = argmin <L, x> over X, L the private sum of the losses before round t, padded to one law.

    Uses the linear oracle only: the set's own where it has one (shortest paths, sorting, assignment).

    Args:
        decision_set, loss_set, horizon, epsilon, delta, seed, replicas, **privacy: see `FullInformation`.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._width = mean_width(self.sizes, gaussian_noise(1.0))
        self._open_epoch()

    @property
    def _stability(self) -> float:
        """What smoothing of deviation 1 costs in one round."""
        return float(np.sqrt(2 / np.pi)) * self.sizes.radius * self.sizes.loss_radius**2 / 2

    def _tune(self, horizon: int) -> None:
        # s* balances s width and stability T/s
        self._least = float(np.sqrt(self._stability * horizon / self._width)) if self._width > 0 else 0.0
        noise = self._sums.noise
        own = noise.deviation if noise is not None and noise.gaussian else 0.0
        self.perturbation = max(self._least, own)
        self._padding = self._rng.standard_normal((*self._sums.leading, self.decision_set.size))

    def _answer(self, prefix: Array) -> Array:
        missing = self.perturbation**2 - self._sums.gaussian_deviation**2
        pad = self.decision_set.unflatten(self._padding)
        return self.decision_set.argmin(prefix + np.sqrt(max(missing, 0.0)) * pad)

    def _epoch_bound(self) -> RegretBound | None:
        horizon, s = self._sums.epoch_horizon, self.perturbation
        if s == 0:  # nothing to be learnt
            return RegretBound(0.0, 0.0, horizon, _THEOREM)
        learning = self._width * self._least + self._stability * horizon / self._least
        total = self._width * s + self._stability * horizon / s
        noise = self._sums.noise
        if noise is not None and not noise.gaussian:
            total += mean_width(self.sizes, noise)
        return RegretBound(learning, total - learning, horizon, _THEOREM)

    def _details(self) -> list[str]:
        return [f"  perturbation     Gaussian part of deviation {self.perturbation:.6g} in each coordinate"]
