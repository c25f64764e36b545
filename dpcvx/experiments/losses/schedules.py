"""Sequences of a few losses in a fixed order: constant, alternating, switching, periodic, rotating."""

from functools import partial

import numpy as np

from dpcvx.arguments import whole
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.experiments.losses.extremes import LISTED, check_shapes, ends, favouring, opposite_vertex, random_vertex
from dpcvx.experiments.losses.sequence import Listed, Losses, choices
from dpcvx.sets import DecisionSet, LossSet


def const(X: DecisionSet, Y: LossSet, horizon: int, seed: int = 0) -> Losses:
    """One loss in all rounds, under which a random vertex is best by as much as possible.

    A learner without noise soon has no more regret, so the regret of a private one is the price of its noise. On
    experts with losses in [-1, 1] the loss is (-1, 1, ..., 1) in some order.
    """
    check_shapes(X, Y)
    vertex = random_vertex(X, choices(seed, "const"))
    return Listed("const", horizon, favouring(X, Y, vertex)[None], np.zeros_like)


def altdrift(X: DecisionSet, Y: LossSet, horizon: int, seed: int = 0, *, drift: int | None = None) -> Losses:
    """Two opposite losses in turn, so that a step costs and teaches nothing; in the end one vertex wins.

    The last `drift` rounds favour a random vertex. By default they are 3 sqrt(T ln(N)/2), which is 3 ln(N)/eta for
    Hedge on N experts with losses in [-1, 1]: its regret is then close to its bound sqrt(2 T ln N).
    """
    check_shapes(X, Y)
    horizon = whole(horizon, "horizon")
    if drift is None:
        drift = min(int(np.ceil(3 * np.sqrt(horizon * np.log(max(X.size, 2)) / 2))), horizon // 2)
        drift += (horizon - drift) % 2  # the alternation ends where it began
    elif whole(drift, "drift", at_least=0) > horizon:
        raise ArgumentError(f"drift must be at most the horizon {horizon}, not {drift}.")
    rng = choices(seed, "altdrift")
    listed = np.stack([*ends(Y, rng), favouring(X, Y, random_vertex(X, rng))])
    return Listed("altdrift", horizon, listed, partial(_alternate_then, horizon - drift))


def _alternate_then(start: int, rounds: Array) -> Array:
    return np.where(rounds < start, rounds % 2, 2)


def switch(X: DecisionSet, Y: LossSet, horizon: int, seed: int = 0) -> Losses:
    """A random vertex is favoured in the first half of the rounds, the one opposite to it in the second half."""
    horizon = whole(horizon, "horizon")
    return Listed("switch", horizon, _rivals(X, Y, choices(seed, "switch")), partial(_from_round, (horizon + 1) // 2))


def _from_round(start: int, rounds: Array) -> Array:
    return np.asarray(rounds >= start, dtype=int)


def periodic(X: DecisionSet, Y: LossSet, horizon: int, seed: int = 0, *, level: int | None = None) -> Losses:
    """Two opposite vertices are favoured in turn, each for half a period of 2^level rounds.

    The periods are the nodes of a binary tree over the rounds. The default is about sqrt(T) rounds, the time in which
    a learner moves from one to the other.
    """
    horizon = whole(horizon, "horizon")
    level = max(1, horizon.bit_length() // 2) if level is None else whole(level, "level")
    rivals = _rivals(X, Y, choices(seed, "periodic"))
    return Listed(f"periodic({2**level})", horizon, rivals, partial(_half_period, level - 1))


def _half_period(bit: int, rounds: Array) -> Array:
    return np.asarray(rounds // 2**bit % 2)


def _rivals(X: DecisionSet, Y: LossSet, rng: np.random.Generator) -> Array:
    """The losses that favour a random vertex and the one opposite to it."""
    check_shapes(X, Y)
    vertex = random_vertex(X, rng)
    return np.stack([favouring(X, Y, vertex), favouring(X, Y, opposite_vertex(X, vertex))])


def rotating(X: DecisionSet, Y: LossSet, horizon: int, seed: int = 0, *, speed: float | None = None) -> Losses:
    """The extreme loss of Y in a direction that turns by `speed` a round, 1/sqrt(T) by default, in a random plane."""
    check_shapes(X, Y)
    horizon = whole(horizon, "horizon")
    if speed is None:
        speed = 1 / np.sqrt(horizon)
    elif not np.isfinite(speed):
        raise ArgumentError(f"speed must be a finite angle a round, not {speed}.")
    angles = 2 * np.pi * np.arange(LISTED) / LISTED
    plane = np.column_stack([np.cos(angles), np.sin(angles)]) @ random_plane(Y, choices(seed, "rotating"))
    return Listed("rotating", horizon, Y.argmin(Y.unflatten(plane)), partial(_turned, speed / (2 * np.pi)))


def _turned(turns: float, rounds: Array) -> Array:
    return np.asarray(np.floor(turns * rounds % 1.0 * LISTED), dtype=int) % LISTED


def random_plane(Y: LossSet, rng: np.random.Generator) -> Array:
    """Two orthonormal vectors in the space of losses, one a row; where it is a line, the second is zero."""
    basis = np.linalg.qr(rng.standard_normal((Y.size, min(2, Y.size))))[0].T
    return basis if Y.size > 1 else np.concatenate([basis, np.zeros((1, 1))])


def round_robin(X: DecisionSet, Y: LossSet, horizon: int, seed: int = 0) -> Losses:
    """Each entry in its turn has a large loss and the others a small one.

    On the 1-norm ball that is e_1, ..., e_N, e_1, ...; of more than 128 entries a random choice of 128 take turns.
    """
    check_shapes(X, Y)
    turns = np.sort(choices(seed, "round_robin").permutation(Y.size)[:LISTED])
    covectors = np.full((len(turns), Y.size), 1 / (2 * Y.size))
    covectors[np.arange(len(turns)), turns] -= 1.0
    return Listed("round_robin", horizon, Y.argmin(Y.unflatten(covectors)), partial(_in_turn, len(turns)))


def _in_turn(count: int, rounds: Array) -> Array:
    return np.asarray(rounds % count)
