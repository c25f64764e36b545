"""Random losses, independent from round to round, alone or with an advantage for one vertex."""

from collections.abc import Callable
from functools import partial

import numpy as np

from dpcvx.arguments import whole
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.experiments.losses.extremes import check_shapes, extreme_losses, favouring, known_extremes, random_vertex
from dpcvx.experiments.losses.sequence import Drawn, Losses, choices
from dpcvx.sets import DecisionSet, LossSet

Sampler = Callable[[np.random.Generator, int], Array]


def coins(X: DecisionSet, Y: LossSet, horizon: int, seed: int = 0) -> Losses:
    """Independent random extreme losses of Y: fair coins on a box, where every algorithm has the same expected loss."""
    check_shapes(X, Y)
    return Drawn("coins", horizon, Y.shape, seed, partial(_toss, extreme_losses(Y, choices(seed, "coins"))))


def _toss(sample: Sampler, rng: np.random.Generator, rounds: Array) -> Array:
    return sample(rng, len(rounds))


def gap(X: DecisionSet, Y: LossSet, horizon: int, seed: int = 0, *, g: float | None = None) -> Losses:
    """Coins with weight 1 - g and, with weight g, the loss that favours a random vertex.

    The default g = sqrt(ln(N)/T) is the size of gap that is hardest to find in T rounds.
    """
    check_shapes(X, Y)
    horizon = whole(horizon, "horizon")
    if g is None:
        g = min(1.0, float(np.sqrt(np.log(max(X.size, 2)) / horizon)))
    elif not 0 <= g <= 1:
        raise ArgumentError(f"g must be between 0 and 1, not {g}.")
    rng = choices(seed, "gap")
    advantage = favouring(X, Y, random_vertex(X, rng))
    draw = partial(_biased, extreme_losses(Y, rng), advantage, g)
    return Drawn("gap", horizon, Y.shape, seed, draw, name=f"gap({g:.3g})")


def _biased(sample: Sampler, advantage: Array, g: float, rng: np.random.Generator, rounds: Array) -> Array:
    return (1 - g) * sample(rng, len(rounds)) + g * advantage


def late_riser(X: DecisionSet, Y: LossSet, horizon: int, seed: int = 0) -> Losses:
    """Coins for two thirds of the rounds; then a random vertex is favoured as much as possible."""
    check_shapes(X, Y)
    horizon = whole(horizon, "horizon")
    rng = choices(seed, "late_riser")
    advantage = favouring(X, Y, random_vertex(X, rng))
    draw = partial(_coins_until, 2 * horizon // 3, extreme_losses(Y, rng), advantage)
    return Drawn("late_riser", horizon, Y.shape, seed, draw)


def _coins_until(rise: int, sample: Sampler, advantage: Array, rng: np.random.Generator, rounds: Array) -> Array:
    losses = np.array(sample(rng, len(rounds)))
    losses[rounds >= rise] = advantage
    return losses


def axes(X: DecisionSet, Y: LossSet, horizon: int, seed: int = 0) -> Losses:
    """+-r e_i, i uniform, for the ball Y = {|l|_1 <= r}; on the cube [-1, 1]^N the regret is about r sqrt(2 N T/pi).

    Raises:
        ValueError: where Y is not a ball of the 1-norm around the origin.
    """
    check_shapes(X, Y)
    if Y.recognised.centered_radius(1) is None:
        raise ArgumentError(f"axes needs losses in a 1-norm ball around the origin, but the {Y.name} is not one.")
    return Drawn("axes", horizon, Y.shape, seed, partial(_toss, partial(known_extremes, Y)))
