"""Sequences of losses that are made to fool an adaptive bandit, on arms, paths, cubes and balls.

Each is fixed in advance. In a trap one action is best at first and constant; then all others become better, so that
doing nothing is good and whoever stopped exploring loses.
"""

from collections.abc import Iterator

import networkx as nx
import numpy as np

import decision_sets as ds
import dpcvx

Game = tuple[str, dpcvx.DecisionSet, dpcvx.LossSet, np.ndarray, np.ndarray]  # with what doing nothing plays


def grid_paths(n: int) -> dpcvx.DecisionSet:
    """Paths down and right through an n x n grid."""
    steps = ((0, 1), (1, 0))
    edges = [((i, j), (i + a, j + b)) for i in range(n) for j in range(n) for a, b in steps if i + a < n and j + b < n]
    return ds.flow_polytope(nx.DiGraph(edges), (0, 0), (n - 1, n - 1))


def even(X: dpcvx.DecisionSet) -> np.ndarray:
    """The mean of all corners of a polytope: even draws."""
    return np.asarray(X.action_family().mean(np.zeros(X.size)))


def noisy(means: np.ndarray, rng: np.random.Generator, deviation: float = 0.2) -> np.ndarray:
    return np.clip(means + deviation * rng.standard_normal(means.shape), 0, 1)


def games(T: int) -> Iterator[Game]:
    """All of them over T rounds."""
    X, Y = ds.simplex(10), ds.loss_box(10, 0, 1)
    for name, losses in arms(T, 10).items():
        yield f"10 arms, {name}", X, Y, losses, even(X)
    X, Y = ds.simplex(100), ds.loss_box(100, 0, 1)
    yield "100 arms, trap at T/2", X, Y, trap(T, 100, T // 2), even(X)
    X = grid_paths(5)
    Y = ds.loss_box(X.size, 0, 1)
    for name, losses in paths(T, X).items():
        yield f"5x5 paths, {name}", X, Y, losses, even(X)
    for n, named in ((6, reversing(T)), (10, cubes(T, 10))):
        X, Y = ds.cube(n), ds.loss_ball(n, 1)
        for name, losses in named.items():
            yield f"cube n={n}, {name}", X, Y, losses, np.zeros(n)
    X, Y = ds.norm_ball(5, 2), ds.loss_ball(5)
    for name, losses in balls(T, 5).items():
        yield f"ball n=5, {name}", X, Y, losses, np.zeros(5)


def arms(T: int, N: int) -> dict[str, np.ndarray]:
    """Losses in [0, 1] of N arms."""
    rng, t, arm = np.random.default_rng(0), np.arange(T)[:, None], np.arange(N)
    best, level = arm == 0, np.full((T, N), 0.5)
    means, block = rng.uniform(0.2, 0.8, N), T // 8
    order = np.argsort(means)
    worst = means.copy()
    worst[order[0]], worst[order[-1]] = means[order[-1]], means[order[0]]
    phases = rng.uniform(0, 2 * np.pi, N)
    found = {f"gap {gap:g}": level + gap / 2 * (1 - 2 * best) for gap in (1.0, 0.5, 0.24, 0.12, 0.06)}
    found["switch at T/2"] = noisy(np.where(t < T // 2, means, rng.permutation(means)), rng)
    found["best becomes worst at T/2"] = noisy(np.where(t < T // 2, means, worst), rng)
    moving = (arm[1:] == t // block % (N - 1)).astype(float)
    found["switch every T/8, safe arm"] = noisy(np.hstack([np.full((T, 1), 0.4), 0.6 - 0.5 * moving]), rng, 0.1)
    found["switch every T/8"] = level - 0.3 * (arm == t // block % N)
    found["alternating"] = 0.55 + 0.4 * (2 * ((t + arm) % 2) - 1) - 0.15 * best
    found["drifting"] = noisy(0.5 + 0.3 * np.sin(2 * np.pi * t / T + phases), rng)
    found["scale grows 100-fold at T/4"] = level + np.where(t < T // 4, 0.005, 0.5) * (1 - 2 * best)
    found["rare large losses"] = (rng.random((T, N)) < 0.01 + 0.01 * (arm > 0)).astype(float)
    found["rare losses of all arms at once"] = (rng.random((T, 1)) < 0.02) * np.where(best, 0.3, 1.0)
    found["coins"] = (rng.random((T, N)) < 0.5).astype(float)
    found["coins, gap 0.05"] = (rng.random((T, N)) < 0.5 - 0.05 * best).astype(float)
    found["trap at T/2"] = trap(T, N, T // 2)
    found["trap at T/8"] = trap(T, N, T // 8)
    found["small trap at T/3"] = np.where(best, 0.45, np.where(t < T // 3, 0.55, 0.35))
    return found


def trap(T: int, N: int, until: int) -> np.ndarray:
    """Arm 0 costs 0.4, all others 0.6 until then, and 0.35 from there on."""
    late = np.arange(T)[:, None] >= until
    return np.where(np.arange(N) == 0, 0.4, np.where(late, 0.35, 0.6))


def paths(T: int, X: dpcvx.DecisionSet) -> dict[str, np.ndarray]:
    """Losses in [0, 1] of the edges."""
    rng, t = np.random.default_rng(1), np.arange(T)[:, None]
    means = rng.uniform(0.2, 0.8, X.size)
    best = X.flatten(X.argmin(means.reshape(X.shape))) > 0.5
    found = {"reversed at T/2": noisy(np.where(t < T // 2, means, 1 - means), rng)}
    found["rare losses"] = (rng.random((T, X.size)) < means / 10).astype(float)
    for name, until in (("T/2", T // 2), ("T/8", T // 8)):
        found[f"trap at {name}"] = noisy(np.where(best, 0.4, np.where(t < until, 0.6, 0.35)), rng, 0.1)
    return found


def reversing(T: int) -> dict[str, np.ndarray]:
    """Losses of a cube that turn around every T/4."""
    signs = np.where(np.arange(T)[:, None] // (T // 4) % 2 == 0, 1.0, -1.0)
    drift = np.full((T, 6), 1 / 24) * np.array([1, -1] * 3)
    return {"reversed every T/4": signs * drift * 2 + drift / 2}


def cubes(T: int, n: int) -> dict[str, np.ndarray]:
    """Losses of the 1-norm 1 at most."""
    t = np.arange(T)[:, None]
    signs = np.array([1, -1] * (n // 2)) / n
    return {
        "flipped at T/2": np.where(t < 0.45 * T, 1.0, -1.0) * signs,
        "one entry": np.tile(np.eye(n)[0], (T, 1)),
        "another entry every T/20": np.eye(n)[(np.arange(T) // (T // 20)) % n] * np.where(t // (T // 2) % 2, 1, 0.5),
    }


def balls(T: int, n: int) -> dict[str, np.ndarray]:
    """Losses of length 1 at most."""
    rng, t = np.random.default_rng(2), np.arange(T)[:, None]
    e, f = np.eye(n)[0], np.eye(n)[1]
    angle = 2 * np.pi * t / T
    spread = rng.standard_normal((T, n)) * 0.3
    return {
        "constant 0.5": np.tile(0.5 * e, (T, 1)),
        "constant 1": np.tile(e, (T, 1)),
        "noisy 0.3": _within(0.3 * e + spread),
        "flipped at T/2": np.where(t < 0.475 * T, 0.5, -0.5) * e,
        "rotating": 0.5 * (np.cos(angle) * e + np.sin(angle) * f) + 0.15 * e,
        "random": _within(spread),
        "rare": (rng.random((T, 1)) < 0.02) * e,
    }


def _within(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1.0))
