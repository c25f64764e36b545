"""Follow the regularised leader on private sums.

This is Algorithm 1 of Agarwal and Singh, The Price of Differential Privacy for Online Learning (ICML 2017), with
corrected constants.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple, Unpack

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError, OracleError, UnsupportedConeError
from dpcvx.learners.full_information.learner import FullInformation, PrivacyOptions
from dpcvx.learners.full_information.mean_width import mean_width
from dpcvx.learners.full_information.shared_sums import Horizon
from dpcvx.learners.regret_bound import RegretBound
from dpcvx.privacy.prefix_noise import PrefixNoise
from dpcvx.privacy.running_sums import RunningSums
from dpcvx.regularizers import REGULARIZERS, HasArgmin, OwnRegularizer, Regularizer
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.sizes import Sizes

_RATES = (1e-100, 1e100)  # of learning rates that may be given
_TYPICAL = 2**14  # rounds for which regularisers are compared where the horizon is not known


class Trail(NamedTuple):
    """From where the minimiser of the last action was sought, and from where the next one is.

    Attributes:
        round: of that action.
        start, end: in the numbers of the regulariser; see `Regularizer.follow`.
    """

    round: int
    start: Array | None
    end: Array | None


class FTRL(FullInformation):
    """x_t = argmin eta <L, x> + R(x) over X, L the private sum of the losses before round t.

    Where the regulariser expects a public loss, such as the middle of a box away from 0, L has it once more: what is
    expected costs nothing, and the bound is that of the differences from it.

    Args:
        decision_set, loss_set, horizon, epsilon, delta, sums, seed, replicas, **privacy: see `FullInformation`.
        regularizer: "euclidean", "entropy" (nonnegative sets), "barrier", an own object with `argmin(covector)` (see
            `OwnRegularizer`), or "auto": the smallest proved bound, which `summary` shows beside the others.
        learning_rate: eta; by default the one with the least bound.
        tune_for: "oblivious" losses, fixed in advance; or "reacting" ones, such as gradients of convex functions at the
            actions: which of `regret_bound` and `reacting_bound` the learning rate makes least.

    Raises:
        UnsupportedConeError: where the set does not admit the regulariser.

    Example:
        >>> import decision_sets, dpcvx
        >>> X, Y = decision_sets.simplex(3), decision_sets.loss_box(3)
        >>> learner = dpcvx.FTRL(X, Y, horizon=100, epsilon=1.0)
        >>> for loss in ([0.0, 1.0, 1.0], [0.2, 0.9, 0.4]):
        ...     action = learner.act()
        ...     learner.update(loss)
        >>> X.contains(action), learner.certificate.epsilon
        (True, 1.0)
    """

    def __init__(
        self,
        decision_set: DecisionSet,
        loss_set: LossSet | None = None,
        horizon: Horizon = ...,
        epsilon: float | None = None,
        delta: float = 0.0,
        *,
        regularizer: str | Regularizer | HasArgmin = "auto",
        learning_rate: float | None = None,
        tune_for: str = "oblivious",
        sums: RunningSums | None = None,
        seed: int | np.random.Generator | None = None,
        replicas: int | None = None,
        **privacy: Unpack[PrivacyOptions],
    ) -> None:
        if learning_rate is not None and not (
            isinstance(learning_rate, Real) and _RATES[0] <= learning_rate <= _RATES[1]
        ):
            raise ArgumentError(
                f"learning_rate must be a number between {_RATES[0]} and {_RATES[1]}, not {learning_rate!r}."
            )
        if tune_for not in ("oblivious", "reacting"):
            raise ArgumentError(f'tune_for must be "oblivious" or "reacting", not {tune_for!r}.')
        super().__init__(
            decision_set, loss_set, horizon, epsilon, delta, sums=sums, seed=seed, replicas=replicas, **privacy
        )
        self._given_rate, self.tune_for = learning_rate, tune_for
        self.comparison: tuple[Candidate, ...] = ()
        self.regularizer = self._named(regularizer)
        self._trail = Trail(-1, None, None)
        _ = self._tuned

    def _named(self, regularizer: Any) -> Regularizer:
        if isinstance(regularizer, Regularizer):
            if regularizer.decision_set is not self.decision_set or regularizer.loss_set is not self.loss_set:
                raise ArgumentError("The regularizer was made for another decision set or loss set.")
            return regularizer
        if not isinstance(regularizer, str):
            return OwnRegularizer(self.sizes, regularizer)
        if regularizer == "auto":
            self.comparison = compare(self.sizes, self.horizon or _TYPICAL, self.noise)
            best = self.comparison[0].regularizer
            if best is None:
                raise OracleError("No regulariser is admissible here: " + "; ".join(c.reason for c in self.comparison))
            return best
        if regularizer not in REGULARIZERS:
            raise ArgumentError(
                f"regularizer must be auto, {', '.join(REGULARIZERS)} or an object, not {regularizer!r}."
            )
        return REGULARIZERS[regularizer](self.sizes)

    @property
    def deterministic(self) -> bool:
        """Whether its actions follow from the losses alone: where there is no privacy."""
        return self._privacy["epsilon"] is None

    def _tune(self, horizon: int) -> float:
        if self._given_rate or self.tune_for == "oblivious":
            return self._given_rate or self.regularizer.learning_rate(horizon)
        parts = self._reacting
        if parts is None:
            raise ArgumentError(f'tune_for="reacting": {self._unsteady}')
        c, G, zeta = parts
        price = c * horizon * (G**2 / 2 + G * zeta)
        return float(np.sqrt(self.regularizer.range / price)) if self.regularizer.range and price else 1.0

    @property
    def _reacting(self) -> tuple[float, float, float] | None:
        """c, G and E |Z|*; see `reacting_bound`."""
        steadiness, noise = self.regularizer.steadiness, self.noise
        if steadiness is None:
            return None
        zeta = 0.0 if noise is None else self.regularizer.noise_size(noise, mean_width(self.sizes, noise))
        return (*steadiness, zeta) if np.isfinite(zeta) else None

    @property
    def _unsteady(self) -> str:
        return f"the regularizer {self.regularizer.name} is not known to be strongly convex in one norm on this set."

    @property
    def reacting_bound(self) -> RegretBound | None:
        """A bound of the expected regret against losses that react to the actions; None where none is known.

        For convex functions `update` takes the gradient at the action, and the regret of the functions is at most that
        of the gradients. With y_t the leader of the same losses without noise, R 1/c strongly convex in a norm,

            sum <l_t, x_t - u> = sum <l_t, y_t - u> + sum <l_t, x_t - y_t>
                              <= D/eta + (c eta/2) sum |l_t|*^2 + c eta sum |l_t|* |Z_(t-1)|*,

        (less where a loss is expected), since the first sum is FTRL on the very sequence of losses, and a minimiser
        moves by at most c eta |Z|* when its linear part moves by eta Z. Of Z nothing but E |Z|* is used, so it does not
        matter what the losses know. It is stated for a known horizon.
        """
        parts = self._reacting
        if parts is None or self.horizon is None or self.missed:
            return None
        (c, G, zeta), eta, T = parts, self.learning_rate, self.horizon
        theorem = "FTRL against losses that react: D/eta + c eta T (G^2/2 + G E|Z|*)"
        return self._proved(self.regularizer.range / eta + c * eta * T * G**2 / 2, c * eta * T * G * zeta, theorem)

    @property
    def learning_rate(self) -> float:
        """eta of the present epoch."""
        return float(self._tuned.constants)

    def _best_action(self, noisy_sum: Array, constants: float) -> Array:
        trail, rounds = self._trail, self.rounds
        start = trail.start if trail.round == rounds else trail.end  # an action that is asked again starts as before
        action, end = self._followed(self._covector(noisy_sum, constants), start)
        self._trail = Trail(rounds, start, end)
        return action

    def answers(self, prefixes: Array, deviations: Array) -> Array:
        return self.regularizer.follow(self._covector(prefixes, self.learning_rate), None)[0]

    def _covector(self, sums: Array, learning_rate: float) -> Array:
        """eta (L + m) for sums L, on leading axes."""
        covector, expected = self.sizes.pairing.covector(sums), self.regularizer.expected
        return learning_rate * (covector if expected is None else covector + expected)

    def _followed(self, covector: Array, start: Array | None) -> tuple[Array, Array | None]:
        """The minimiser, and from where the next may begin; replicas that see and know the same are computed once."""
        if len(covector) < 2 or not self._sums.leading or np.any(covector != covector[0]):
            return self.regularizer.follow(covector, start)
        if start is not None and np.any((start != start[0]) & ~np.isnan(start)):
            return self.regularizer.follow(covector, start)
        action, end = self.regularizer.follow(covector[:1], None if start is None else start[:1])
        return np.repeat(action, len(covector), axis=0), None if end is None else np.repeat(end, len(covector), axis=0)

    def _epoch_bound(self, constants: float) -> RegretBound | None:
        parts = bound(self.sizes, self.regularizer, self._sums.epoch_horizon, self.noise, constants)
        return None if parts is None else self._proved(*parts, f"FTRL: {self.regularizer.theorem} + E max <Z, x>")

    def _settings(self) -> dict[str, Any]:
        own = {"regularizer": self.regularizer, "learning_rate": self._given_rate, "tune_for": self.tune_for}
        return {**super()._settings(), **own}

    def _details(self) -> list[str]:
        lines = [f"  regularizer      {self.regularizer.name}, learning rate {self.learning_rate:.6g}"]
        reacting = self.reacting_bound
        if self.horizon is not None:
            lines.append(f"  if losses react  {self._told_reacting(reacting)}")
        return lines + [f"  compared         {candidate}" for candidate in self.comparison]

    def _told_reacting(self, bound: RegretBound | None) -> str:
        if bound is None:
            return f"no bound: {self._unsteady}"
        if bound.says_nothing:
            return f"the proved bound, {bound.proved:.6g}, is above the largest possible regret"
        return str(bound)

    def _further_notes(self) -> tuple[str, ...]:
        bound = self.reacting_bound
        if bound is None or bound.says_nothing:
            return ()
        return (f"against losses that react to the actions the expected regret is at most {bound.total:.6g}",)

    def _unproved(self) -> str:
        return self.regularizer.unproved


def bound(
    sizes: Sizes, regularizer: Regularizer, horizon: int, noise: PrefixNoise | None, learning_rate: float
) -> tuple[float, float] | None:
    """What learning and noise cost in one epoch of FTRL; None where the regulariser proves nothing."""
    learning = regularizer.learning_bound(horizon, learning_rate)
    if not np.isfinite(learning):
        return None
    price = 0.0
    if noise is not None:
        price = mean_width(sizes, noise)
        # The refined form needs one law at every time, or Z_t = s_t g with a Gaussian g and s_t growing to s: the noise
        # then costs the integral of -E <g, x(L + s g)> ds, where Stein's lemma gives -E <g, x> = -s E div x(L), at most
        # eta s times the trace of the inverse of R'': the same numbers as for one law.
        if noise.constant or noise.gaussian:
            price = min(price, regularizer.noise_bound(noise, learning_rate))
    return learning, price


@dataclass(frozen=True)
class Candidate:
    """A regulariser with its bound at the best step size, or the reason why it is out."""

    name: str
    regularizer: Regularizer | None
    learning: float = float("inf")
    privacy: float = 0.0
    reason: str = ""

    @property
    def total(self) -> float:
        return self.learning + self.privacy

    def __str__(self) -> str:
        parts = f"{self.total:.6g} = {self.learning:.6g} (learning) + {self.privacy:.6g} (privacy)"
        return f"{self.name}: {self.reason or parts}"


def compare(sizes: Sizes, horizon: int, noise: PrefixNoise | None) -> tuple[Candidate, ...]:
    """All regularisers that the set admits, by their proved bounds, the smallest first."""
    found = []
    for name, kind in REGULARIZERS.items():
        reason = kind.refusal(sizes)
        if reason is None:
            found.append(_measured(name, kind(sizes), horizon, noise))
        else:
            found.append(Candidate(name, None, reason=reason))
    return tuple(sorted(found, key=lambda candidate: candidate.total))


def _measured(name: str, regularizer: Regularizer, horizon: int, noise: PrefixNoise | None) -> Candidate:
    """The bound of a regulariser, or why the sizes behind it could not be computed."""
    try:
        parts = bound(regularizer.sizes, regularizer, horizon, noise, regularizer.learning_rate(horizon))
    except (UnsupportedConeError, OracleError) as error:
        return Candidate(name, None, reason=str(error))
    return Candidate(name, regularizer, *(parts or ()))
