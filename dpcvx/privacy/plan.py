"""From a loss set and a wish (epsilon, delta) to a counter, a law and a scale: the calibration.

The plan is the same with and without a seed. Privacy of the trees: replacing one loss moves the `touches` node sums
that it enters by at most its sensitivity each, so Laplace noise of scale touches * sensitivity/epsilon on each node
suffices, and padding, summing and everything after are post-processing. Gaussian noise: touches releases of rho_0 =
(sensitivity/sigma)^2/2 add up to touches * rho_0, converted by OpenDP. The Toeplitz counter is one Gaussian release
of C x: its sensitivity is the column norm of C times that of one loss, plus the rounding of C x.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcvx.arguments import positive, share, whole
from dpcvx.privacy.counters import BinaryTree, Counter, SmoothTree, Toeplitz
from dpcvx.privacy.counters.toeplitz import stream_sensitivity
from dpcvx.privacy.factorisation import LARGEST
from dpcvx.privacy.gaussian import zcdp_epsilon, zcdp_rho
from dpcvx.privacy.noise import Gaussian, KNorm, Laplace, Law, Source
from dpcvx.privacy.sensitivity import Grid, Sensitivity, check_neighbours, choose_grid, sensitivity
from dpcvx.sets import LossSet

COUNTERS: dict[str, type[Counter]] = {"tree": BinaryTree, "smooth": SmoothTree, "toeplitz": Toeplitz}
LAWS = ("laplace", "gaussian", "knorm")
_UP = 1 + 1e-12  # scales are rounded up
_LONG = 2**24  # rounds above which rounding may cost the Toeplitz counter its advantage
_LEAST = 1e-9  # scale where nothing moves or nothing is released


@dataclass(frozen=True)
class Plan:
    """All that a private prefix sum needs to run, and what it promises."""

    counter: str
    law: Law
    grid: Grid
    sensitivity: Sensitivity
    horizon: int
    moved: float  # how far one person moves one release, in units; for the Toeplitz counter, the whole stream
    touches: int
    terms: int
    epsilon: float  # what the scale really gives
    delta: float
    rho: float | None
    prefix_deviation: float  # of one coordinate at the worst time, in the units of the loss
    notes: tuple[str, ...] = ()

    def make(self, shape: tuple[int, ...], source: Source) -> Counter:
        """The counter itself."""
        if self.counter == "smooth":
            return SmoothTree(self.horizon, shape, source, balanced=isinstance(self.law, Gaussian))
        return COUNTERS[self.counter](self.horizon, shape, source)

    @property
    def mechanism(self) -> str:
        """The counter in words."""
        return COUNTERS[self.counter].name


def plan(
    loss_set: LossSet,
    horizon: int,
    epsilon: float,
    delta: float = 0.0,
    *,
    counter: str | None = None,
    noise: str | None = None,
    neighbours: str = "replace",
    rounds_per_person: int = 1,
    calibration: str = "exact",
) -> Plan:
    """Choose and calibrate a private prefix sum.

    Args:
        loss_set: where the losses lie.
        horizon: T; the prefixes 0..T-1 are released.
        epsilon: > 0; delta: in [0, 1).
        counter: "tree", "smooth" or "toeplitz"; by default "smooth" for delta = 0 and "toeplitz" otherwise (above 2^24
            rounds whichever of the two has less noise).
        noise: "laplace", "gaussian" or "knorm" (simulation only); by default by delta.
        neighbours: "replace" or "zero-out".
        rounds_per_person: rounds in which one person's data may appear.
        calibration: "exact", or "paper" for the scale in the paper, whose plan states the epsilon that it really gives.
    """
    horizon, rounds_per_person = whole(horizon, "horizon"), whole(rounds_per_person, "rounds_per_person")
    _check(epsilon, delta, counter, noise, calibration)
    check_neighbours(neighbours)
    noise = noise or ("laplace" if delta == 0 else "gaussian")
    if counter is None and noise == "gaussian" and calibration == "exact" and horizon > _LONG:
        wish = (loss_set, horizon, epsilon, delta)
        options: dict[str, Any] = {"neighbours": neighbours, "rounds_per_person": rounds_per_person, "noise": noise}
        plans = [plan(*wish, counter=name, **options) for name in ("toeplitz", "smooth")[horizon > LARGEST :]]
        return min(plans, key=lambda p: p.prefix_deviation)
    counter = counter or ("tree" if calibration == "paper" else "smooth" if noise != "gaussian" else "toeplitz")
    _check_together(counter, noise, delta, calibration)
    gaussian = noise == "gaussian"
    touches, terms = COUNTERS[counter].counts(horizon, gaussian)
    norm = 2 if gaussian else 1
    moves = float(loss_set.diameter(norm) if neighbours == "replace" else loss_set.radius(norm))
    per_unit = np.sqrt(max(touches, 1) / (2 * zcdp_rho(epsilon, delta))) if gaussian else max(touches, 1) / epsilon
    grid = choose_grid(loss_set, horizon, moves * rounds_per_person * float(per_unit))
    one = sensitivity(loss_set, norm, neighbours, grid)
    moved: float = rounds_per_person * one.units
    if counter == "toeplitz":
        largest = float(loss_set.radius(np.inf)) / grid.step + 1
        moved = stream_sensitivity(horizon, loss_set.size, moved, largest)
    scale = float(per_unit) * moved * _UP
    rho = zcdp_rho(epsilon, delta) if gaussian else None
    if calibration == "paper":
        scale = _paper_scale(loss_set, horizon, epsilon, delta) / grid.step
        moves_anything = bool(touches and moved)
        if gaussian:
            rho = touches * (moved / scale) ** 2 / 2 if moves_anything else 0.0
            epsilon = zcdp_epsilon(rho, delta) if rho else 0.0
        else:
            epsilon = touches * moved / scale if moves_anything else 0.0  # of one person over all releases
    law: Law = Gaussian(max(scale, _LEAST)) if gaussian else Laplace(max(scale, _LEAST))
    if noise == "knorm":
        law = _knorm(loss_set, neighbours, grid, max(touches, 1) * rounds_per_person / epsilon * _UP)
    deviation = law.standard_deviation * grid.step
    deviation *= Toeplitz.row_norm(horizon) if counter == "toeplitz" else float(np.sqrt(terms))
    notes = ("the scale is the paper's; epsilon is what that scale gives",) if calibration == "paper" else ()
    return Plan(
        counter, law, grid, one, horizon, moved, touches, terms, float(epsilon), delta, rho, float(deviation), notes
    )


def _paper_scale(loss_set: LossSet, horizon: int, epsilon: float, delta: float) -> float:
    """lambda = |Y|_1 log T/epsilon (its Theorem 3.1), sigma = |Y|_2 log T log(log T/delta)/epsilon (its appendix)."""
    log = float(np.log2(horizon))
    if delta == 0:
        return float(loss_set.radius(1)) * log / epsilon
    return float(loss_set.radius(2)) * log * float(np.log(max(log, 1.0) / delta)) / epsilon


def _knorm(loss_set: LossSet, neighbours: str, grid: Grid, scale: float) -> KNorm:
    """K = Y - Y for boxes and balls ("zero-out": the smallest symmetric one around Y), in units of the grid."""
    body = loss_set.recognised.difference_body(from_zero=neighbours == "zero-out")
    if body is not None:
        kind, half = body
        return KNorm(scale, tuple(float(h) / grid.step for h in half), kind)
    raise ValueError("K-norm noise is sampled exactly for boxes and centered Euclidean balls only.")


def _check(epsilon: float, delta: float, counter: str | None, noise: str | None, calibration: str) -> None:
    positive(epsilon, "epsilon")
    share(delta, "delta")
    if counter is not None and (not isinstance(counter, str) or counter not in COUNTERS):
        raise ValueError(f"counter must be one of {', '.join(COUNTERS)}, not {counter!r}.")
    if noise is not None and (not isinstance(noise, str) or noise not in LAWS):
        raise ValueError(f"noise must be one of {', '.join(LAWS)}, not {noise!r}.")
    if calibration not in ("exact", "paper"):
        raise ValueError(f'calibration must be "exact" or "paper", not {calibration!r}.')


def _check_together(counter: str, noise: str, delta: float, calibration: str) -> None:
    if noise == "gaussian" and delta == 0:
        raise ValueError("Gaussian noise needs delta > 0.")
    if noise != "gaussian" and counter == "toeplitz":
        raise ValueError('The "toeplitz" counter is for Gaussian noise; give delta > 0, or choose "smooth" or "tree".')
    if noise != "gaussian" and delta > 0:
        raise ValueError(f"{noise.capitalize()} noise gives delta = 0; leave delta out.")
    if calibration == "paper" and (counter != "tree" or noise == "knorm"):
        raise ValueError(
            'calibration="paper" is for the binary tree of the paper: counter="tree" without K-norm noise.'
        )
