"""Regret of the learners on fixed games, held to goals; exits with the number of missed goals.

python benchmarks/regret.py          # about three minutes
python benchmarks/regret.py --hard   # sequences made to fool an adaptive learner; about half an hour

Mean regret a round over at least 8 seeds, unless a line says total. Idle is what doing nothing costs.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import sys
from collections.abc import Callable

import numpy as np
from hard_sequences import even, games, grid_paths, noisy

import decision_sets as ds
import dpcvx
from dpcvx.studies import town

SEEDS = 8
missed = 0


def line(name: str, value: float, goal: float, beside: str = "", good: bool | None = None) -> None:
    """One figure and its goal."""
    global missed
    good = value <= goal if good is None else good
    missed += not good
    print(f"{name:66s} {value:10.4g}   goal <= {goal:<8g} {'ok' if good else 'MISSED'}   {beside}", flush=True)


def bandit_regret(
    make: Callable[[int], object], losses: np.ndarray, epsilon: float | None, seeds: int = SEEDS
) -> np.ndarray:
    """Regret of replicas of a bandit, without privacy or behind it, on losses (T, N), or (T, seeds, N) of their own."""
    learner = make(len(losses)).simulated(seeds, 1)
    playing = learner if epsilon is None else dpcvx.PrivateBandit(learner, epsilon, seed=2)
    incurred = np.zeros(seeds)
    for loss in losses:
        values = (playing.act().reshape(seeds, -1) * loss).sum(axis=1)
        incurred += values
        playing.update(values)
    totals = np.broadcast_to(losses.sum(axis=0), (seeds, losses.shape[-1]))
    return (incurred + [learner.decision_set.support(-total) for total in totals]) / len(losses)


def idle(X: dpcvx.DecisionSet, losses: np.ndarray, point: np.ndarray) -> float:
    total = losses.sum(axis=0)
    return float(point @ total + X.support(-total)) / len(losses)


def practice() -> None:
    """Adaptive bandits, as one would use them."""
    T = 8192
    X, Y, losses = town.routes(), town.times(), town.travel_times(T, 0)
    for epsilon, goal in ((None, 0.03), (3, 0.06), (1, 0.17), (0.3, 0.30)):
        regret = bandit_regret(lambda T: dpcvx.AdaptiveBandit(X, Y, T), losses, epsilon)
        line(f"town, T=8192, epsilon {epsilon}", regret.mean(), goal, f"idle {idle(X, losses, even(X)):.3f}")
    X = grid_paths(5)
    Y = ds.loss_box(X.size, 0, 1)
    drawn = [np.random.default_rng(seed) for seed in range(2 * SEEDS)]  # as many games as seeds: they differ a lot
    losses = np.stack([noisy(np.tile(rng.uniform(0.2, 0.8, X.size), (T, 1)), rng) for rng in drawn], axis=1)
    nothing = np.mean([idle(X, own, even(X)) for own in losses.swapaxes(0, 1)])
    for epsilon, goal in ((None, 0.11), (3, 0.26), (1, 0.43), (0.3, 0.62)):
        regret = bandit_regret(lambda T: dpcvx.AdaptiveBandit(X, Y, T), losses, epsilon, len(drawn))
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

    A line is missed where the mean over 20 seeds less 7 standard errors is above that: for a learner at the limit that
    has a probability below 1e-6, by Student's law with 19 degrees of freedom.
    """
    T, seeds = 8192, 20
    for name, X, Y, losses, nothing in games(T):
        aimless, spread = idle(X, losses, nothing), dpcvx.AdaptiveBandit(X, Y, T).sizes.feedback_range
        shown, worst, least = [], -np.inf, -np.inf
        for epsilon in (None, 3.0, 1.0, 0.3):
            regret = bandit_regret(lambda T, X=X, Y=Y: dpcvx.AdaptiveBandit(X, Y, T), losses, epsilon, seeds)
            error = regret.std(ddof=1) / seeds**0.5
            shown.append(f"{regret.mean():6.3f}+-{error:.3f}")
            worst = max(worst, (regret.mean() - aimless) / spread)
            least = max(least, (regret.mean() - 7 * error - aimless) / spread)
        line(name, worst, 0.05, f"idle {aimless:.3f} | {' '.join(shown)}", good=least <= 0.05)


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
