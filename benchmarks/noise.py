"""Speed of exact noise as ratios in the same run; exits with the number of missed goals.

python benchmarks/noise.py            # a few minutes
python benchmarks/noise.py --quick    # fewer turns

First one draw of the package's own samplers against OpenDP's, and of K-norm noise against Laplace noise; then whole
rounds of secure learners against the same rounds in simulation. Times are those of the processor, taken in turn.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import sys

import goals
import numpy as np
from goals import in_turn, report

import decision_sets as ds
from dpcvx import FTRL, LogBarrierBandit, PrivateBandit
from dpcvx.privacy.noise import Gaussian, KNorm, Laplace, SecureSource, VectorSource

SCALE = 6e10  # of ten experts over 2^14 rounds, in units of the grid
HORIZON = 2**14
DELTA = 1e-6
BLOCKS = (10, 1000, 100_000)
EXPERTS = (10, 100, 1000)


def per_value(turns):
    """OpenDP over our own, for draws of so many values."""
    for law, goal in ((Laplace(SCALE), 40), (Gaussian(SCALE), 20)):
        for size in BLOCKS:
            zeros = np.zeros((1, size), dtype=np.int64)
            theirs, ours = SecureSource(law, size), VectorSource(law, size)
            # ours so often that blocks are filled many times, theirs so often that it takes a tenth of a second
            times = max(1, 10_000 // size), max(2, 200_000 // size)
            ratio = in_turn(
                lambda source=theirs, z=zeros: source.draw(z),
                lambda source=ours, n=size: source.fresh(1, (n,)),
                times,
                max(1, turns // 3) if size > 10_000 else turns,
            )
            report(f"{law.name} noise on {size} values, OpenDP / vector", ratio, goal, False)


def boxes(turns):
    """K-norm noise on a box over Laplace noise of the same size, both by our own samplers."""
    for n in EXPERTS:
        sources = [VectorSource(law, n) for law in (KNorm(4.0, (2.0**31,) * n), Laplace(4.0 * n * 2.0**31))]
        k_norm, laplace = (lambda source=one, n=n: source.fresh(1, (n,)) for one in sources)
        times = max(20, 200_000 // n)
        report(f"noise on {n} values, K-norm / Laplace", in_turn(k_norm, laplace, (times, times), turns), 3, True)


def rounds_of(learner, losses):
    index = 0

    def step():
        nonlocal index
        learner.act()
        learner.update(losses[index % len(losses)])
        index += 1

    return step


def full_information(turns):
    """A secure round of FTRL on experts over the same round in simulation."""
    for n in EXPERTS:
        losses = np.random.default_rng(0).uniform(-1, 1, (64, n))
        for delta in (0.0, DELTA):
            settings = {"horizon": 2**20, "epsilon": 1.0, "delta": delta, "noise": "gaussian" if delta else "laplace"}
            X, Y = ds.simplex(n), ds.loss_box(n)
            secure = rounds_of(FTRL(X, Y, **settings, sampler="vector"), losses)
            simulated = rounds_of(FTRL(X, Y, **settings, seed=0), losses)
            times = max(50, 20_000 // n)
            name = f"FTRL on {n} experts, {'delta = 1e-6' if delta else 'pure'}, secure / simulated round"
            report(name, in_turn(secure, simulated, (times, times), turns), 5, True)


def arms(turns):
    """A secure round of private arms over the same round in simulation, every round with a release."""
    n = 10
    values = np.random.default_rng(0).uniform(-1, 1, 64)
    made = [
        PrivateBandit(LogBarrierBandit(n, ds.loss_box(n), 2**17, seed=0), 1.0, batch=1, **options)
        for options in ({"sampler": "vector"}, {"seed": 1})
    ]
    secure, simulated = (rounds_of(one, values) for one in made)
    report(
        f"private arms, {n} of them, secure / simulated round", in_turn(secure, simulated, (500, 500), turns), 3, True
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    turns = 3 if parser.parse_args().quick else 9
    per_value(turns)
    boxes(turns)
    full_information(turns)
    arms(turns)
    print(f"{goals.missed} goals missed")
    return goals.missed


if __name__ == "__main__":
    sys.exit(main())
