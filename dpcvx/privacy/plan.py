"""From a loss set and a wish (epsilon, delta) to a counter, a law and a scale: the calibration.

The plan is the same with and without a seed. Privacy of the trees: replacing one loss moves the `touches` node sums
that it enters by at most its sensitivity each, so Laplace noise of scale touches * sensitivity/epsilon on each node
suffices, and padding, summing and everything after are post-processing. Gaussian noise: touches releases of rho_0 =
(sensitivity/sigma)^2/2 add up to touches * rho_0, converted by OpenDP. The Toeplitz counter is one Gaussian release
of C x: its sensitivity is the column norm of C times that of one loss, plus the rounding of C x.
"""

from dataclasses import dataclass

import numpy as np

from dpcvx.privacy.counters import BinaryTree, Counter, SmoothTree, codeword_shape, tree_levels
from dpcvx.privacy.counters.toeplitz import Toeplitz, stream_sensitivity
from dpcvx.privacy.noise import Gaussian, KNorm, Laplace, Law, Source
from dpcvx.privacy.sensitivity import Grid, Sensitivity, check_neighbours, choose_grid, sensitivity
from dpcvx.sets import LossSet

COUNTERS = ("tree", "smooth", "toeplitz")
LAWS = ("laplace", "gaussian", "knorm")
_UP = 1 + 1e-12  # scales are rounded up


@dataclass(frozen=True)
class Plan:
    """All that a private prefix sum needs to run, and what it promises."""

    counter: str
    law: Law
    grid: Grid
    sensitivity: Sensitivity
    horizon: int
    size: int
    touches: int
    terms: int
    epsilon: float  # what the scale really gives
    delta: float
    rho: float | None
    prefix_deviation: float  # of one coordinate at the worst time, in the units of the loss
    notes: tuple[str, ...] = ()

    def make(self, shape: tuple[int, ...], source: Source) -> Counter:
        """The counter itself."""
        if self.counter == "tree":
            return BinaryTree(self.horizon, shape, source)
        if self.counter == "smooth":
            return SmoothTree(self.horizon, shape, source, balanced=isinstance(self.law, Gaussian))
        return Toeplitz(self.horizon, shape, source)


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
        counter: "tree", "smooth" or "toeplitz"; by default "smooth" for delta = 0 and "toeplitz" otherwise.
        noise: "laplace", "gaussian" or "knorm" (simulation only); by default by delta.
        neighbours: "replace" or "zero-out".
        rounds_per_person: rounds in which one person's data may appear.
        calibration: "exact", or "paper" for the scale in the paper, whose plan states the epsilon that it really gives.
    """
    _check(horizon, epsilon, delta, counter, noise, rounds_per_person, calibration)
    check_neighbours(neighbours)
    noise = noise or ("laplace" if delta == 0 else "gaussian")
    counter = counter or ("tree" if calibration == "paper" else "smooth" if noise != "gaussian" else "toeplitz")
    if noise == "gaussian" and delta == 0:
        raise ValueError("Gaussian noise needs delta > 0.")
    if noise != "gaussian" and counter == "toeplitz":
        raise ValueError('The "toeplitz" counter is for Gaussian noise; give delta > 0, or choose "smooth" or "tree".')
    if noise != "gaussian" and delta > 0:
        raise ValueError(f"{noise.capitalize()} noise gives delta = 0; leave delta out.")
    if calibration == "paper" and counter != "tree":
        raise ValueError('calibration="paper" is for the binary tree of the paper: counter="tree".')
    touches, terms = _counts(counter, horizon, noise == "gaussian")
    norm = 2 if noise == "gaussian" else 1
    diameter = float(loss_set.diameter(norm) if neighbours == "replace" else loss_set.radius(norm))
    guess = max(diameter * rounds_per_person * max(touches, 1) / epsilon, float(np.finfo(float).tiny))
    if noise == "gaussian":
        guess = diameter * rounds_per_person * np.sqrt(max(touches, 1) / (2 * _rho(epsilon, delta)))
    grid = choose_grid(loss_set, horizon, guess)
    moved = sensitivity(loss_set, norm, neighbours, grid)
    units = rounds_per_person * moved.units
    if noise == "laplace":
        scale = max(touches, 1) * units / epsilon * _UP
        if calibration == "paper":
            scale = float(loss_set.radius(1)) * np.log2(horizon) / epsilon / grid.step  # log T, the radius
            epsilon = touches * units / scale if touches else 0.0
        law: Law = Laplace(max(scale, 1e-9))
        return _plan(counter, law, grid, moved, horizon, loss_set.size, touches, terms, epsilon, 0.0, None, calibration)
    if noise == "knorm":
        law = _knorm(loss_set, neighbours, grid, max(touches, 1) * rounds_per_person / epsilon * _UP)
        return _plan(counter, law, grid, moved, horizon, loss_set.size, touches, terms, epsilon, 0.0, None, calibration)
    rho = _rho(epsilon, delta)
    if counter == "toeplitz":
        largest = float(loss_set.radius(np.inf)) / grid.step + 1
        total = stream_sensitivity(horizon, loss_set.size, units, largest)
        sigma = total / np.sqrt(2 * rho) * _UP
    else:
        sigma = units * np.sqrt(max(touches, 1) / (2 * rho)) * _UP
    if calibration == "paper":
        from dpcvx.privacy.gaussian import zcdp_epsilon

        log = np.log2(horizon)
        sigma = float(loss_set.radius(2)) * log * np.log(max(log, 1.0) / delta) / epsilon / grid.step
        rho = touches * (units / sigma) ** 2 / 2 if touches else 0.0
        epsilon = zcdp_epsilon(rho, delta) if rho else 0.0
    law = Gaussian(max(float(sigma), 1e-9))
    return _plan(counter, law, grid, moved, horizon, loss_set.size, touches, terms, epsilon, delta, rho, calibration)


def _plan(
    counter: str,
    law: Law,
    grid: Grid,
    moved: Sensitivity,
    horizon: int,
    size: int,
    touches: int,
    terms: int,
    epsilon: float,
    delta: float,
    rho: float | None,
    calibration: str,
) -> Plan:
    deviation = law.standard_deviation * grid.step
    deviation *= Toeplitz.row_norm(horizon) if counter == "toeplitz" else float(np.sqrt(terms))
    notes = ("the scale is the paper's; epsilon is what that scale gives",) if calibration == "paper" else ()
    return Plan(counter, law, grid, moved, horizon, size, touches, terms, float(epsilon), delta, rho, deviation, notes)


def _counts(counter: str, horizon: int, gaussian: bool) -> tuple[int, int]:
    if counter == "tree":
        return tree_levels(horizon), horizon.bit_length() - 1
    if counter == "smooth":
        return codeword_shape(horizon, gaussian)
    return min(horizon - 1, 1), min(horizon - 1, 1)


def _rho(epsilon: float, delta: float) -> float:
    from dpcvx.privacy.gaussian import zcdp_rho

    return float(zcdp_rho(epsilon, delta))


def _knorm(loss_set: LossSet, neighbours: str, grid: Grid, scale: float) -> KNorm:
    """K = Y - Y for boxes and balls ("zero-out": the hull of Y and -Y), in units of the grid."""
    if loss_set.box is not None:
        lower, upper = loss_set.box
        half = upper - lower if neighbours == "replace" else np.maximum(np.abs(lower), np.abs(upper))
        return KNorm(scale, tuple(float(h) / grid.step for h in half), "box")
    ball = loss_set.centred_ball
    if ball is not None and ball[1] == 2:
        reach = (2 if neighbours == "replace" else 1) * ball[0] / grid.step
        return KNorm(scale, (reach,) * loss_set.size, "ball")
    raise ValueError("K-norm noise is sampled exactly for boxes and centred Euclidean balls only.")


def _check(
    horizon: int,
    epsilon: float,
    delta: float,
    counter: str | None,
    noise: str | None,
    rounds_per_person: int,
    calibration: str,
) -> None:
    if int(horizon) != horizon or horizon < 1:
        raise ValueError(f"horizon must be a whole number of at least 1, not {horizon}.")
    if not (np.isfinite(epsilon) and epsilon > 0):
        raise ValueError(f"epsilon must be a positive number, not {epsilon}.")
    if not 0 <= delta < 1:
        raise ValueError(f"delta must be in [0, 1), not {delta}.")
    if counter is not None and counter not in COUNTERS:
        raise ValueError(f"counter must be one of {', '.join(COUNTERS)}, not {counter!r}.")
    if noise is not None and noise not in LAWS:
        raise ValueError(f"noise must be one of {', '.join(LAWS)}, not {noise!r}.")
    if int(rounds_per_person) != rounds_per_person or rounds_per_person < 1:
        raise ValueError(f"rounds_per_person must be a whole number of at least 1, not {rounds_per_person}.")
    if calibration not in ("exact", "paper"):
        raise ValueError(f'calibration must be "exact" or "paper", not {calibration!r}.')
