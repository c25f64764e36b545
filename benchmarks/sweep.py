"""Parallel efficiency of a sweep on two cores with tasks of one second; exits with the number of missed goals.

The time of one task alone is taken in the same run; on a machine that is busy otherwise the ratio says nothing.

python benchmarks/sweep.py [number of tasks, 20 by default]
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import tempfile
import time

import dpcvx

WORKERS, GOAL = 2, 0.8


def work(seed, steps):
    """A fixed number of steps, so that workers in each other's way take longer."""
    total = seed
    for k in range(steps):
        total = (total * 1103515245 + k) % 2147483648
    return {"total": total}


def seconds(call):
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def several(tasks, steps):
    for seed in range(tasks):
        work(seed, steps)


def report(what, ratio, goal):
    good = goal is None or ratio >= goal
    verdict = "" if goal is None else f"goal >= {goal:g} {'ok' if good else 'MISSED'}"
    print(f"{what:90s} {ratio:7.2f}   {verdict}", flush=True)
    return not good


def main(tasks):
    begun = time.process_time()
    work(0, 1_000_000)
    steps = int(1_000_000 / (time.process_time() - begun))  # of one second
    with tempfile.TemporaryDirectory() as folder:

        def run(place):
            dpcvx.sweep(work, {"steps": [steps]}, tasks, folder=f"{folder}/{place}", workers=WORKERS)

        cold = seconds(lambda: run("cold"))  # workers start, and import the package
        alone = seconds(lambda: several(tasks // WORKERS, steps)) * WORKERS
        warm = seconds(lambda: run("warm"))
    what = f"{tasks} tasks of {alone / tasks:.2f} s on {WORKERS} workers"
    report(f"{what}, which start first: efficiency", alone / (WORKERS * cold), None)
    return report(f"{what}: efficiency", alone / (WORKERS * warm), GOAL)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20))
