"""Sweep a private learner over epsilon and the number of rounds: what does privacy cost, and when is it free?

    python examples/sweep_settings.py

runs the grid on all cores in a temporary folder. The same file on the command line, resumable, here or on a cluster:

    dpcvx sweep examples/sweep_settings.py --output results
    dpcvx sweep examples/sweep_settings.py --output results --scheduler tcp://host:8786
"""

import tempfile
from functools import cache

import cvxpy as cp

import dpcvx
from dpcvx.experiments.losses import altdrift


@cache  # a worker derives the geometry once
def declared():
    x, loss = cp.Variable(5, nonneg=True), cp.Variable(5)
    X = dpcvx.DecisionSet(x, [cp.sum(x) == 1, x[0] <= 0.4])
    return X, dpcvx.LossSet(loss, [loss >= 0, loss <= 1])


def regret(seed, horizon, epsilon):
    """Regret of one run; epsilon=None is the learner without privacy."""
    X, Y = declared()
    learner = dpcvx.FTRL(X, Y, horizon=horizon, epsilon=epsilon)
    return {"regret": dpcvx.simulate(learner, altdrift(X, Y, horizon), seed=seed, progress=False).final}


sweep = dpcvx.Sweep(regret, {"horizon": [64, 256, 1024], "epsilon": [None, 4.0, 1.0, 0.25]}, seeds=5)

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        result = sweep.run(folder)
    means = {(row["horizon"], row["epsilon"]): row["regret"] for row in result.means()}
    print("Mean regret per round of FTRL, five experts, the first with weight at most 0.4:")
    print("  rounds  not private" + "".join(f"{f'epsilon={epsilon:g}':>15s}" for epsilon in (4.0, 1.0, 0.25)))
    for horizon in (64, 256, 1024):
        private = "".join(f"{means[horizon, epsilon] / horizon:15.4f}" for epsilon in (4.0, 1.0, 0.25))
        print(f"{horizon:8d}{means[horizon, None] / horizon:13.4f}{private}")
    print("Down a column the regret per round shrinks; the price of privacy is what the columns differ by.")
