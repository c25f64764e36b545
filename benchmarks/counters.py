"""Speed of the private counters as ratios to the noise that they draw; exits with the number of missed goals.

python benchmarks/counters.py
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time
import tracemalloc
from functools import partial

import cvxpy as cp
import numpy as np

from dpcvx import LossSet
from dpcvx.privacy import PrivateSums
from dpcvx.privacy.counters import BinaryTree, SmoothTree, Toeplitz, codeword_shape
from dpcvx.privacy.noise import Gaussian, Laplace, SimulatedSource, Source

HORIZON, SIZE = 100_000, 100
missed = 0


class Counting(Source):
    """Counts the draws."""

    secure = False

    def __init__(self):
        self.draws = 0

    def draw(self, values):
        self.draws += len(values)
        return np.zeros(values.shape)


def report(what, ratio, goal):
    global missed
    good = goal is None or ratio <= goal
    missed += not good
    verdict = "" if goal is None else f"goal <= {goal:<5g} {'ok' if good else 'MISSED'}"
    print(f"{what:90s} {ratio:7.2f}   {verdict}", flush=True)


def run(counter, item, steps):
    begun = time.perf_counter()
    for _ in range(steps):
        counter.update(item)
        _ = counter.prefix
    return (time.perf_counter() - begun) / steps


def draw_counts(make, item, steps):
    """How many noises each step draws."""
    counting = Counting()
    counter = make(counting)
    counts = []
    for _ in range(steps):
        before = counting.draws
        counter.update(item)
        counts.append(counting.draws - before)
    return counts


def bare(law, rng, counts, shape):
    """Seconds for the noise of some steps, one call for each: NumPy's own law or ours, whichever is faster."""
    numpys = rng.laplace if isinstance(law, Laplace) else rng.normal
    times = []
    for draw in (lambda size: numpys(0.0, law.scale, size), lambda size: law.simulate(rng, size)):
        begun = time.perf_counter()
        for count in counts:
            draw((count, *shape))
        times.append(time.perf_counter() - begun)
    return min(times)


def over_draws(law, shape, counts, step, slices):
    """Median of the time of `step` over that of its draws, measured in turn over short stretches of the same steps."""
    rng = np.random.default_rng(1)
    ratios = []
    for stretch in np.array_split(counts, slices):
        begun = time.perf_counter()
        for _ in stretch:
            step()
        ours = time.perf_counter() - begun
        ratios.append(ours / bare(law, rng, stretch.tolist(), shape))
    return ratios


KINDS = (
    (BinaryTree, Laplace(1.0), {}, 2),
    (SmoothTree, Laplace(1.0), {}, 2),
    (SmoothTree, Gaussian(1.0), {"norm": 2}, 2),
    (Toeplitz, Gaussian(1.0), {}, 6),
)


def simulated():
    for shape, steps, slices in (((SIZE,), 4000, 40), ((100, 10), 400, 20), ((100, 20), 400, 20)):
        item = np.ones(shape[-1])
        for kind, law, options, goal in KINDS:
            counts = draw_counts(partial(kind, HORIZON, shape, **options), item, steps)
            ratios = []
            for seed in range(5):
                counter = kind(HORIZON, shape, SimulatedSource(law, np.random.default_rng(seed)), **options)

                def step(counter=counter, item=item):
                    counter.update(item)
                    return counter.prefix

                ratios += over_draws(law, shape, counts, step, slices)
            name = f"{kind.name} {law.name}{' balanced' if options else ''}, {shape}"
            words = f"{name}: step / its draws  [{np.mean(counts):.1f} a step, worst {max(counts)}]"
            report(words, float(np.median(ratios)), goal if len(shape) == 1 else min(goal, 2))


def softmax(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def unit_box(size):
    loss = cp.Variable(size)
    return LossSet(loss, [loss >= 0, loss <= 1])


def rounds():
    """Whole rounds on the simplex: private sums, then the softmax of the release."""
    for size in (10, 20):
        losses = unit_box(size)
        values = np.random.default_rng(0).uniform(0, 1, (100, size))
        # the Toeplitz counter draws one number for each coordinate and round, of which the exponential costs half
        for options, goal in (
            ({"noise": "laplace"}, 2),
            ({"delta": 1e-6, "counter": "smooth"}, None),
            ({"delta": 1e-6}, None),
        ):
            sums = PrivateSums(losses, HORIZON, 1.0, seed=0, replicas=100, **options)
            plan = sums.plan
            counts = draw_counts(partial(plan.make, (100, size)), values, 400)

            def step(sums=sums, values=values):
                sums.update(values)
                return softmax(sums.prefix * -0.01)

            ratios = over_draws(plan.law, (100, size), counts, step, 40)
            name = f"{plan.counter.name} {plan.law.name}, 100 replicas, N={size}: round / its draws"
            report(name, float(np.median(ratios)), goal)


def by_hand(size, scale):
    """A round as one would write it for one experiment: the smooth tree and the softmax, nothing checked or clipped."""
    _, ones = codeword_shape(HORIZON, False)
    rng = np.random.default_rng(0)
    total, carried, word = np.zeros(size), np.zeros((ones + 1, size)), (1 << ones) - 1

    def step(loss):
        nonlocal word
        total[:] += loss
        lowest = word & -word
        raised = word + lowest
        count = ((word ^ raised) // lowest).bit_length() - 1
        word = raised | ((1 << (count - 1)) - 1)
        top = ones - count
        carried[top + 1 :] = carried[top] + np.cumsum(rng.laplace(0.0, scale, (count, size)), axis=0)
        return softmax((total + carried[ones]) * -0.01)

    return step


def one_round():
    size = 20
    losses = unit_box(size)
    values = np.random.default_rng(0).uniform(0, 1, size)
    ratios = []
    for _ in range(5):
        sums = PrivateSums(losses, HORIZON, 1.0, noise="laplace", seed=0)
        hand = by_hand(size, sums.plan.law.scale * sums.plan.grid.step)
        for _ in range(40):
            begun = time.perf_counter()
            for _ in range(50):
                sums.update(values)
                softmax(sums.prefix * -0.01)
            middle = time.perf_counter()
            for _ in range(50):
                hand(values)
            ratios.append((middle - begun) / (time.perf_counter() - middle))
    report("smooth tree Laplace, N=20: round / the same round by hand", float(np.median(ratios)), 3)


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
        losses = unit_box(size)
        for options in ({"noise": "laplace"}, {"delta": 1e-6}):
            sums = PrivateSums(losses, 1000, 1.0, **options)
            source = sums._epoch.counter.source
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
            name = "Toeplitz" if "delta" in options else "smooth tree"
            report(f"secure round, {name}, N={size} / the OpenDP calls it needs", float(np.median(ratios)), 1.5)


if __name__ == "__main__":
    simulated()
    rounds()
    one_round()
    memory()
    secure()
    sys.exit(missed)
