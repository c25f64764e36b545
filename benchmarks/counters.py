"""Speed of the private counters as ratios to the noise that they draw; exits with the number of missed goals.

python benchmarks/counters.py
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time
import tracemalloc

import cvxpy as cp
import numpy as np

from dpcvx import LossSet
from dpcvx.privacy import PrivateSums
from dpcvx.privacy.counters import BinaryTree, SmoothTree, Toeplitz
from dpcvx.privacy.noise import Gaussian, Laplace, SimulatedSource, Source

HORIZON, SIZE = 100_000, 100
missed = 0


class Counting(Source):
    """Counts the draws of each step."""

    secure = False

    def __init__(self, law):
        self.law, self.rng, self.draws = law, np.random.default_rng(0), []

    def draw(self, values):
        self.draws.append(len(values))
        return np.zeros(values.shape)


def report(what, ratio, goal):
    global missed
    good = ratio <= goal
    missed += not good
    print(f"{what:78s} {ratio:7.2f}   goal <= {goal:<5g} {'ok' if good else 'MISSED'}", flush=True)


def run(counter, item, steps):
    begun = time.perf_counter()
    for _ in range(steps):
        counter.update(item)
        _ = counter.prefix
    return (time.perf_counter() - begun) / steps


def simulated():
    item = np.ones(SIZE)
    for kind, law, options, goal in (
        (BinaryTree, Laplace(1.0), {}, 2),
        (SmoothTree, Laplace(1.0), {}, 2),
        (SmoothTree, Gaussian(1.0), {"balanced": True}, 2),
        (Toeplitz, Gaussian(1.0), {}, 6),
    ):
        counting = Counting(law)
        counter = kind(HORIZON, (SIZE,), counting, **options)
        draws = []
        for _ in range(20_000):
            counting.draws.clear()
            counter.update(item)
            draws.append(tuple(counting.draws))
        per_step = [sum(d) for d in draws]
        ratios = []
        for repeat in range(7):
            source = SimulatedSource(law, np.random.default_rng(repeat))
            ours = run(kind(HORIZON, (SIZE,), source, **options), item, 4000)
            rng = np.random.default_rng(repeat)
            begun = time.perf_counter()
            for calls in draws[:4000]:
                for count in calls:
                    law.simulate(rng, (count, SIZE))
            bare = (time.perf_counter() - begun) / 4000
            ratios.append(ours / bare)
        name = f"{kind.name} {law.name}{' balanced' if options else ''}"
        words = f"{name}: step / its NumPy draws  [{np.mean(per_step):.1f} draws a step, worst {max(per_step)}]"
        report(words, float(np.median(ratios)), goal)


def memory():
    for kind, law in ((BinaryTree, Laplace(1.0)), (SmoothTree, Laplace(1.0)), (Toeplitz, Gaussian(1.0))):
        counter = kind(HORIZON, (SIZE,), SimulatedSource(law, np.random.default_rng(0)))
        item = np.ones(SIZE)
        run(counter, item, 2000)
        tracemalloc.start()
        run(counter, item, 2000)
        early = tracemalloc.get_traced_memory()[0]
        run(counter, item, 10_000)
        late = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        report(f"{kind.name}: kilobytes gained over 10,000 further steps", max(late - early, 0) / 1000, 50)


def secure():
    for size in (1, 20, 100):
        loss = cp.Variable(size)
        losses = LossSet(loss, [loss >= 0, loss <= 1])
        for options in ({}, {"delta": 1e-6}):
            sums = PrivateSums(losses, 1000, 1.0, **options)
            source = sums._counter.source
            calls = []
            original = source.draw

            def watched(values, original=original, calls=calls):
                calls.append(values.copy())
                return original(values)

            source.draw = watched
            value = np.full(size, 0.5)
            ratios = []
            for _ in range(40):
                calls.clear()
                begun = time.perf_counter()
                sums.update(value)
                _ = sums.prefix
                ours = time.perf_counter() - begun
                begun = time.perf_counter()
                for values in calls:
                    for row in values:
                        source._release(row.tolist())
                ratios.append(ours / (time.perf_counter() - begun))
            name = "Toeplitz" if options else "smooth tree"
            report(f"secure round, {name}, N={size} / the OpenDP calls it needs", float(np.median(ratios)), 1.5)


if __name__ == "__main__":
    simulated()
    memory()
    secure()
    sys.exit(missed)
