"""Regret of the learners on fixed games, held to goals; exits with the number of missed goals.

python benchmarks/regret.py          # about ten minutes
python benchmarks/regret.py --hard   # sequences made to fool an adaptive learner; about half an hour

Mean regret a round over at least 8 seeds, unless a line says total. Idle is what doing nothing costs.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import sys
from collections.abc import Callable

import networkx as nx
import numpy as np

import decision_sets as ds
import dpcvx
from dpcvx.studies import town

SEEDS = 8
missed = 0


def line(name: str, value: float, goal: float, beside: str = "") -> None:
    """One figure and its goal."""
    global missed
    good = value <= goal
    missed += not good
    print(f"{name:66s} {value:10.4g}   goal <= {goal:<8g} {'ok' if good else 'MISSED'}   {beside}", flush=True)


def grid_paths(n: int) -> dpcvx.DecisionSet:
    steps = ((0, 1), (1, 0))
    edges = [((i, j), (i + a, j + b)) for i in range(n) for j in range(n) for a, b in steps if i + a < n and j + b < n]
    return ds.flow_polytope(nx.DiGraph(edges), (0, 0), (n - 1, n - 1))


def bandit_regret(
    make: Callable[[int], object], losses: np.ndarray, epsilon: float | None, seeds: int = SEEDS
) -> np.ndarray:
    """Regret of replicas of a bandit, without privacy or behind it."""
    learner = make(len(losses)).simulated(seeds, 1)
    playing = learner if epsilon is None else dpcvx.PrivateBandit(learner, epsilon, seed=2)
    incurred = np.zeros(seeds)
    for loss in losses:
        values = playing.act().reshape(seeds, -1) @ loss
        incurred += values
        playing.update(values)
    return (incurred + learner.decision_set.support(-losses.sum(axis=0))) / len(losses)


def idle(X: dpcvx.DecisionSet, losses: np.ndarray, point: np.ndarray) -> float:
    total = losses.sum(axis=0)
    return float(point @ total + X.support(-total)) / len(losses)


def practice() -> None:
    """Adaptive bandits, as one would use them."""
    T = 8192
    X, Y, losses = town.routes(), town.times(), town.travel_times(T, 0)
    even = np.mean(X.vertices(), axis=0)
    for epsilon, goal in ((None, 0.03), (3, 0.06), (1, 0.17), (0.3, 0.30)):
        regret = bandit_regret(lambda T: dpcvx.AdaptiveBandit(X, Y, T), losses, epsilon)
        line(f"town, T=8192, epsilon {epsilon}", regret.mean(), goal, f"idle {idle(X, losses, even):.3f}")
    X = grid_paths(5)
    Y = ds.loss_box(X.size, 0, 1)
    rng = np.random.default_rng(0)
    losses = np.clip(rng.uniform(0.2, 0.8, X.size) + 0.2 * rng.standard_normal((T, X.size)), 0, 1)
    nothing = idle(X, losses, X.action_family().mean(np.zeros(X.size)))
    for epsilon, goal in ((None, 0.11), (3, 0.26), (1, 0.43), (0.3, 0.62)):
        regret = bandit_regret(lambda T: dpcvx.AdaptiveBandit(X, Y, T), losses, epsilon)
        line(
            f"5x5 paths, T=8192, epsilon {epsilon}, share of idle", regret.mean() / nothing, goal, f"idle {nothing:.3f}"
        )
    X, Y = ds.cube(10), ds.loss_ball(10, 1)
    losses = np.tile(np.full(10, 0.05) * np.array([1, -1] * 5), (T, 1))
    for epsilon, goal in ((None, 0.035), (3, 0.09), (1, 0.16), (0.3, 0.28)):
        regret = bandit_regret(lambda T: dpcvx.AdaptiveBandit(X, Y, T), losses, epsilon)
        line(f"cube n=10, T=8192, epsilon {epsilon}", regret.mean(), goal, "idle 0.500")
    X, Y = ds.simplex(100), ds.loss_box(100, 0, 1)
    rng = np.random.default_rng(0)
    losses = np.clip(rng.uniform(0.2, 0.8, 100) + 0.2 * rng.standard_normal((T, 100)), 0, 1)
    regret = bandit_regret(lambda T: dpcvx.AdaptiveBandit(X, Y, T), losses, 1.0)
    line("100 arms, T=8192, epsilon 1", regret.mean(), 0.23, f"idle {idle(X, losses, np.full(100, 0.01)):.3f}")


def proved() -> None:
    """What is promised, and what it costs."""
    X, Y, T = ds.cube(10), ds.loss_ball(10, 1), 10**5
    private = dpcvx.private_bandit(X, Y, T, 1.0)
    line("cube n=10, T=1e5, epsilon 1: bound", private.uncapped_bound / T, 0.105, private.name)
    losses = np.tile(np.full(10, 0.05), (T, 1))
    regret = bandit_regret(lambda T: dpcvx.HybridBandit(X, Y, T), losses, 1.0)
    line("cube n=10, T=1e5, epsilon 1: regret", regret.mean(), 0.075, "idle 0.500")
    private = dpcvx.private_bandit(ds.simplex(10), ds.loss_box(10), 2**17, 1.0)
    line("10 arms, T=2^17, epsilon 1: bound", private.uncapped_bound / 2**17, 0.054, private.name)
    private = dpcvx.private_bandit(ds.capped_simplex(10, 3), ds.loss_box(10, 0, 1), 2**16, 1.0)
    line("3-sets of 10, T=2^16, epsilon 1: bound", private.uncapped_bound / 2**16, 0.28, private.name)
    X, Y, T = ds.norm_ball(5, 2), ds.loss_ball(5), 2**16
    line(
        "ball n=5, T=2^16, epsilon 1, total: bound",
        dpcvx.PrivateBandit(dpcvx.SCRiBLe(X, Y, T), 1.0).uncapped_bound,
        1e4,
    )
    losses = np.tile(np.eye(5)[0], (T, 1))
    regret = T * bandit_regret(lambda T: dpcvx.SCRiBLe(X, Y, T), losses, 1.0)
    line("ball n=5, T=2^16, epsilon 1, total: regret", regret.mean(), 6350, f"+- {regret.std() / SEEDS**0.5:.0f}")
    N, T = 1000, 2**16
    X, Y = ds.simplex(N), ds.loss_box(N, 0, 1)
    loss = np.ones(N)
    loss[3] = 0.0
    for delta, goal in ((0.0, 3900), (1e-6, 1350)):
        learner = dpcvx.LazyWeights(X, Y, T, 1.0, delta, seed=1, replicas=60)
        total = np.zeros(60)
        for _ in range(T):
            total += learner.act() @ loss
            learner.update(loss)
        line(f"1000 experts, T=2^16, epsilon 1, delta {delta:g}, total: regret", total.mean(), goal)
        if not delta:
            line("the same: bound", learner.uncapped_bound, 4000)


def hard() -> None:
    """Sequences made to fool: never more than 5 % of the range of losses worse than doing nothing.

    The mean over 20 seeds less 5 of its deviations is compared: a false alarm has a probability below 1e-6 a line.
    """
    T, N = 8192, 10
    X, Y, rng = ds.simplex(N), ds.loss_box(N, 0, 1), np.random.default_rng(0)
    base, t = np.full((T, N), 0.5), np.arange(T)[:, None]
    games = {f"gap {gap:g}": base + gap / 2 * (1 - 2 * (np.arange(N) == 0)) for gap in (1.0, 0.5, 0.24, 0.12, 0.06)}
    games["switch at T/2"] = base - 0.3 * (np.arange(N) == np.where(t < T // 2, 0, 1))
    games["switch every T/8"] = base - 0.3 * (np.arange(N) == t // (T // 8) % N)
    games["trap"] = np.where(np.arange(N) == 0, 0.4, np.where(t < T // 2, 0.6, 0.1))
    games["alternating"] = base + 0.5 * (2 * ((t + np.arange(N)) % 2) - 1) - 0.1 * (np.arange(N) == 0)
    games["scale grows 100-fold at T/4"] = base + np.where(t < T // 4, 0.005, 0.5) * (1 - 2 * (np.arange(N) == 0))
    games["rare large losses"] = np.where(rng.random((T, N)) < 0.01 + 0.02 * (np.arange(N) > 0), 1.0, 0.0)
    games["coins"] = (rng.random((T, N)) < 0.5).astype(float)
    for name, losses in games.items():
        losses = np.clip(losses, 0, 1)
        nothing = idle(X, losses, np.full(N, 1 / N))
        for epsilon in (None, 1.0):
            regret = bandit_regret(lambda T: dpcvx.AdaptiveBandit(X, Y, T), losses, epsilon, seeds=20)
            least = regret.mean() - 5 * regret.std() / 20**0.5
            line(f"{name}, epsilon {epsilon}", least - nothing, 0.05, f"regret {regret.mean():.3f}, idle {nothing:.3f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hard", action="store_true", help="the sequences that are made to fool, instead of the games")
    if parser.parse_args().hard:
        hard()
    else:
        practice()
        proved()
    return missed


if __name__ == "__main__":
    sys.exit(main())
