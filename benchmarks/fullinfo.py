"""Speed of private rounds with full information as ratios to peers; exits with the number of missed goals.

python benchmarks/fullinfo.py            # a few minutes
python benchmarks/fullinfo.py --million  # also a million rounds of 100 replicas
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import statistics
import sys
import time
from functools import partial

import cvxpy as cp
import goals
import numpy as np
from goals import in_turn, report, seconds

import decision_sets as ds
from dpcvx import FTRL, simulate
from dpcvx.experiments.losses import const
from dpcvx.privacy.counters import codeword_shape


def next_word(word):
    """The next codeword of the smooth tree, and how many noises its step draws."""
    low = word & -word
    up = word + low
    changed = (word ^ up) // low
    return up | (changed >> 2), changed.bit_length() - 1


class HandWritten:
    """What one would write for experts: the smooth tree with Laplace noise, and softmax."""

    def __init__(self, n, horizon, epsilon, rng):
        self.z, self.a = codeword_shape(horizon, False)
        self.scale = 2 * n * self.z / epsilon
        self.eta = np.sqrt(2 * np.log(n) / horizon)
        self.rng, self.n = rng, n
        self.word = (1 << self.a) - 1
        self.noise = rng.laplace(0, self.scale, (self.a, n))
        self.total = np.zeros(n)

    def act(self):
        scores = -self.eta * (self.total + self.noise.sum(axis=0))
        weights = np.exp(scores - scores.max())
        return weights / weights.sum()

    def update(self, loss):
        self.total += np.clip(loss, -1, 1)
        self.word, m = next_word(self.word)
        self.noise[self.a - m :] = self.rng.laplace(0, self.scale, (m, self.n))


def rounds_of(learner, loss):
    def step():
        learner.act()
        learner.update(loss)

    return step


def single():
    n, T = 20, 2**20
    loss = np.random.default_rng(0).uniform(-1, 1, n)
    ours = FTRL(ds.simplex(n), ds.loss_box(n), T, epsilon=1.0, noise="laplace", seed=0)
    hand = HandWritten(n, T, 1.0, np.random.default_rng(0))
    ratio = in_turn(rounds_of(ours, loss), rounds_of(hand, loss), (2000, 2000), 9)
    report("simplex N=20, one private round / the same written by hand", ratio, 3, True)


def replicas():
    for n in (10, 20):
        T, R = 2**20, 100
        loss = np.random.default_rng(0).uniform(-1, 1, n)
        learner = FTRL(ds.simplex(n), ds.loss_box(n), T, epsilon=1.0, noise="laplace", seed=0, replicas=R)
        step = rounds_of(learner, loss)
        rng = np.random.default_rng(1)
        ratios = []
        for _ in range(15):
            before = learner.rounds
            ours = seconds(step, 300)
            drawn = draws(T, before, before + 300)
            begun = time.perf_counter()
            for m in drawn:
                rng.laplace(0.0, 3.0, (m, R, n))
            ratios.append(ours / ((time.perf_counter() - begun) / 300))
        report(f"simplex N={n}, 100 replicas, a private round / its noise by NumPy", statistics.median(ratios), 2, True)


def draws(horizon, start, stop):
    """Noises that the smooth tree draws at each of some steps."""
    _, a = codeword_shape(horizon, False)
    word, counts = (1 << a) - 1, []
    for t in range(stop):
        word, drawn = next_word(word)
        if t >= start:
            counts.append(drawn)
    return counts


def today():
    """Against solving the argmin with cvxpy in every round."""
    n, T = 20, 2**16
    rng = np.random.default_rng(0)
    X = ds.simplex(n)
    loss = rng.uniform(-1, 1, n)
    step = rounds_of(FTRL(X, ds.loss_box(n), T, epsilon=1.0, regularizer="entropy", seed=0), loss)
    target, x = cp.Parameter(n), cp.Variable(n, nonneg=True)
    compiled = cp.Problem(cp.Minimize(target @ x - cp.sum(cp.entr(x))), [cp.sum(x) == 1])

    def rebuilt():
        y = cp.Variable(n, nonneg=True)
        cost = rng.standard_normal(n)
        cp.Problem(cp.Minimize(cost @ y - cp.sum(cp.entr(y))), [cp.sum(y) == 1]).solve(solver=cp.CLARABEL)

    def resolved(problem):
        target.value = rng.standard_normal(n)
        problem.solve(solver=cp.CLARABEL)

    again = partial(resolved, compiled)
    again()
    ours = statistics.median(seconds(step, 500) for _ in range(7))
    report("simplex N=20 with entropy: cvxpy rebuilt each round / ours", _median(rebuilt, 5, 7) / ours, 80, False)
    report("simplex N=20 with entropy: cvxpy DPP re-solve / ours", _median(again, 10, 7) / ours, 25, False)

    A = rng.standard_normal((80, n))
    P = ds.polytope(A, np.ones(80), lower=-2, upper=2)
    step = rounds_of(FTRL(P, ds.loss_box(n), T, epsilon=1.0, regularizer="euclidean", seed=0), loss)
    z = cp.Variable(n)
    quadratic = cp.Problem(cp.Minimize(cp.sum_squares(z - target)), [A @ z <= 1, z >= -2, z <= 2])

    projected = partial(resolved, quadratic)
    projected()
    ours = statistics.median(seconds(step, 200) for _ in range(7))
    report("polytope 80 x 20, Euclidean: cvxpy DPP re-solve / ours", _median(projected, 10, 7) / ours, 5, False)


def _median(step, times, turns):
    return statistics.median(seconds(step, times) for _ in range(turns))


def growth():
    """Time of a round at horizon 2^20 over that at 2^10; log T grows by 2."""
    n = 20
    loss = np.random.default_rng(0).uniform(-1, 1, n)
    Y, X = ds.loss_box(n), ds.simplex(n)
    for options in ({}, {"counter": "tree"}, {"delta": 1e-6}):
        short, long = (FTRL(X, Y, T, epsilon=1.0, seed=0, **options) for T in (2**10, 2**20))
        turns = []
        for k in range(9):
            short = FTRL(X, Y, 2**10, epsilon=1.0, seed=k, **options, regularizer=short.regularizer)
            turns.append(seconds(rounds_of(long, loss), 1000) / seconds(rounds_of(short, loss), 1000))
        name = options.get("counter", "toeplitz" if options else "smooth")
        report(f"simplex N=20, {name} counter: round at T = 2^20 / at 2^10", statistics.median(turns), 2, True)


def million():
    n, T, R = 10, 10**6, 100
    X, Y = ds.simplex(n), ds.loss_box(n)
    result = simulate(FTRL(X, Y, T, epsilon=1.0), const(X, Y, T), R, seed=0)
    print(result)
    report("minutes for 10^6 rounds of 100 replicas, N=10", result.seconds / 60, 6, True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--million", action="store_true", help="also the run of a million rounds")
    chosen = parser.parse_args()
    single()
    replicas()
    today()
    growth()
    if chosen.million:
        million()
    sys.exit(goals.missed)
