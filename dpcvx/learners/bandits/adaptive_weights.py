"""Exponential weights over a family of actions whose temperature follows what was paid: no constant is left to tune.

With L the sum of the estimates, q(a) proportional to exp(-<L, a>/beta) and p = (1 - gamma) q + gamma mu,

    play a ~ p, see w, take off the running mean b of the feedback, estimate by Cov_p^+ (a - E_p a) (w - b),

which is unbiased for differences of losses, whatever b is that does not know w. beta grows by what a round cost, its
mixability gap delta = beta ln E_q exp(-x/beta), x the estimate less its mean over q, and by what exploring costs,
divided by the entropy of q: like the square root of time while undecided, like time once decided.

Whatever beta and gamma are, if they follow from the past, the expected regret against losses fixed in advance is at
most

    beta_1 ln|A| + E sum of (delta + (beta' - beta) H(q') + gamma <l, E_mu a - E_q a> + ov),

H(q') the entropy after the round and ov what estimates lost by being cut. For with Phi(beta) = min_q <L, q> - beta H(q)
a round has <q, f x> = delta + the growth of Phi at beta, and Phi(beta) - Phi(beta') <= (beta' - beta) H(q') as q' is
the minimiser at beta'; Phi ends at most at <L, u>. Estimates are unbiased for differences, and where they are shrunk
by f, u loses at most (1 - f) max |x|.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpcvx.actions import ActionFamily, Exploration
from dpcvx.arrays import Array
from dpcvx.sets import LossSet
from dpcvx.sets.pairing import PulledLosses

_FAR = 1e100  # of feedback: sums of estimates, which are at most this by what is explored, stay finite
_LEAST = 0.01  # of ln|A|, which the entropy counts as at least


@dataclass(frozen=True)
class Recipe:
    """The constants of a setting.

    Attributes:
        exploring: gamma is this times n sigma/beta, sigma the deviation of the feedback, plus
        floor: this times (n ln|A|/t)^(1/2).
        charged: the share of the mixability gap by which beta grows.
        cuts: whether estimates are cut so that no log-odds moves by more than 1 in a round.
    """

    exploring: float
    floor: float
    charged: float
    cuts: bool


RECIPES = {
    "recipe": Recipe(exploring=0.03, floor=0.1, charged=0.5, cuts=True),
    "middle": Recipe(exploring=1.0, floor=0.0, charged=1.0, cuts=False),
}


class Known(NamedTuple):
    """What is known after some rounds, on leading axes.

    Attributes:
        estimates: L; temperature: beta.
        baseline: the mean of the feedback; squares: the sum of its squared distances from the baseline.
        log_partition, mean: of q, from which the next action is drawn.
        paid: the sum in the bound above, with the largest cost of exploring where nothing is cut.
        tilt: by how much a bias of 1 in the feedback of every round can move the sum of the estimates' differences.
    """

    estimates: Array
    temperature: Any
    baseline: Any
    squares: Any
    log_partition: Any
    mean: Array
    paid: Any
    tilt: Any


class Drawn(NamedTuple):
    """How the action of a round was drawn: the covector that estimates, and the share of exploration."""

    measure: Array
    mixing: Any


class AdaptiveWeights:
    """The learner on a family of actions.

    Args:
        family: the actions; level, or with `centered` of its own.
        losses: Y, as covectors over the decisions.
        spread: D, the largest range of feedback.
        noise_scale: of the Laplace noise on the feedback.
        setting: a name in `RECIPES`.
    """

    def __init__(
        self, family: ActionFamily, losses: LossSet | PulledLosses, spread: float, noise_scale: float, setting: str
    ) -> None:
        self.family, self.losses, self.spread = family, losses, spread
        self.recipe = RECIPES[setting]
        self.exploration = exploration_of(family)
        self.dim = family.rank - family.level
        self.unit = (spread / 4) ** 2 + 2 * noise_scale**2  # a first guess of the mean square of what is seen
        self.first = 0.06 * self.dim * math.sqrt(self.unit)
        self.says = f"exponential weights over about e^{family.log_count:.3g} actions"

    def start(self, leading: tuple[int, ...]) -> Known:
        zero, nothing = np.zeros(leading)[()], np.zeros((*leading, self.family.size))
        log_partition, mean = self.family.partition(nothing)
        first = self.first * self.family.log_count
        return Known(nothing, zero + self.first, zero, zero, log_partition, mean, zero + first, zero)

    def draw(self, known: Known, rounds: int, rng: np.random.Generator) -> tuple[Array, Drawn]:
        """An action, and how it was drawn."""
        n, recipe = self.dim, self.recipe
        deviation = np.sqrt((n * self.unit + known.squares) / (n + rounds))
        floor = recipe.floor * math.sqrt(n * self.family.log_count / (rounds + n))
        mixing = np.minimum(0.5, recipe.exploring * n * deviation / known.temperature + floor)
        action, measure = self.family.centered(_per(known.estimates, known.temperature), mixing, self.exploration, rng)
        return action, Drawn(measure, mixing)

    def after(self, known: Known, drawn: Drawn, value: Any, rounds: int) -> Known:
        """What is known after the feedback of a round."""
        family, recipe, beta, most = self.family, self.recipe, known.temperature, self.family.log_count
        residual = np.minimum(np.maximum(value - known.baseline, -_FAR), _FAR)
        estimate = drawn.measure * residual[..., None]
        along = np.vecdot(estimate, known.mean)
        low, high = family.ends(estimate)
        reach = np.maximum(high - along, along - low)
        kept = np.minimum(1.0, beta / np.maximum(reach, 1e-300)) if recipe.cuts else 1.0 + 0.0 * reach
        along = along * kept
        L = known.estimates + estimate * kept[..., None]
        at = _per(L, beta)
        log_partition, mean = family.partition(at)
        gap = np.maximum(beta * (log_partition - known.log_partition) + along, 0.0)
        entropy = np.minimum(log_partition + np.vecdot(at, mean), most)
        explored = np.minimum(np.maximum(np.vecdot(L, self.exploration.mean - mean) / (rounds + 1), 0.0), self.spread)
        growth = (recipe.charged * gap + drawn.mixing * explored) / np.maximum(entropy, _LEAST * most)
        grown = beta + growth
        at = _per(L, grown)
        log_partition, mean = family.partition(at)
        entropy = np.minimum(np.maximum(log_partition + np.vecdot(at, mean), 0.0), most)
        return Known(
            L,
            grown,
            known.baseline + residual / (rounds + 1),
            known.squares + residual * residual,
            log_partition,
            mean,
            known.paid + gap + reach * (1 - kept) + growth * entropy + self._explored(known, drawn),
            known.tilt + self._tilted(drawn),
        )

    def _explored(self, known: Known, drawn: Drawn) -> Any:
        """What exploring costs at most, which is asked for where estimates are not cut."""
        if self.recipe.cuts:
            return 0.0
        apart = (self.exploration.mean - known.mean)[..., : self.losses.size]
        return drawn.mixing * self.losses.ranges(self.losses.unflatten(apart))[1]

    def _tilted(self, drawn: Drawn) -> Any:
        """|E r (q - u)'Cov_p^+ (a - m)| <= ((q - u)'Cov_p^+ (q - u))^(1/2) for |r| <= 1, as in `Exp2.rounding_cost`.

        With a constant more in every action Cov_p^+ is P^+ for differences, and the reach is at most 1 more.
        """
        if self.recipe.cuts:
            return 0.0
        gamma = drawn.mixing
        return 1 / np.sqrt(1 - gamma) + np.sqrt((self.exploration.reach + 1) / gamma)


def exploration_of(family: ActionFamily) -> Exploration:
    """The uniform exploration, or the design where some actions are too rare under that.

    Raises:
        ValueError: where the family admits neither.
    """
    try:
        return family.exploration("uniform")
    except ValueError:
        return family.design


def _per(vectors: Array, numbers: Any) -> Array:
    """Vectors divided by one number each."""
    return np.asarray(vectors / numbers[..., None])
