"""Privacy for free: private and non-private regret of ten experts over epsilon, for three counters and their noise.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.

python examples/privacy_for_free.py                        # 2^14 rounds, seconds
python examples/privacy_for_free.py --horizon 1048576      # 2^20 rounds, a quarter of an hour
"""

import argparse
from functools import partial
from pathlib import Path

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import decision_sets as ds
import dpcvx
from dpcvx.experiments.losses import altdrift, const
from dpcvx.studies.thresholds import free_epsilon, mean_maximum

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--horizon", type=int, default=2**14)
parser.add_argument("--replicas", type=int, default=8)
parser.add_argument("--output", type=Path, default=Path("privacy_for_free.png"))
chosen = parser.parse_args()
T = chosen.horizon

X = ds.simplex(10)
loss = cp.Variable(10)
Y = dpcvx.LossSet(loss, [loss >= -1, loss <= 1])
EPSILONS = (0.1, 0.3, 1.0, 3.0)
COUNTERS = {
    "binary tree of the paper": {"counter": "tree"},
    "smooth tree, Laplace": {"noise": "laplace"},
    "smooth tree, K-norm (default)": {},
    "Toeplitz, delta = 1e-6": {"delta": 1e-6},
}

# constant losses make a learner pay for its noise in full; altdrift makes it pay for learning in full
free = dpcvx.FTRL(X, Y, T)
learning = dpcvx.simulate(free, altdrift(X, Y, T)).final
print(f"{T} rounds, 10 experts, losses in [-1, 1]")
print(f"without privacy: regret {learning:.0f} on altdrift, bound {free.regret_bound.total:.0f}")
print(f"{'counter':30s} {'free from':>10s} " + " ".join(f"{f'eps {e:g}':>16s}" for e in EPSILONS))

figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
grid = np.geomspace(EPSILONS[0], EPSILONS[-1], 30)
for name, options in COUNTERS.items():
    private = partial(dpcvx.FTRL, X, Y, T, regularizer=free.regularizer, seed=0, **options)  # to be given an epsilon
    threshold = free_epsilon(private)
    runs = [dpcvx.simulate(private(e), const(X, Y, T), chosen.replicas) for e in EPSILONS]
    predicted = [mean_maximum(X, private(e).noise) for e in grid]
    cells = " ".join(f"{run.final:8.0f} +- {run.standard_error[-1]:<4.0f}" for run in runs)
    print(f"{name:30s} {threshold:10.3g} {cells}", flush=True)
    errors = [3 * run.standard_error[-1] for run in runs]
    (line,) = axes.plot(grid, predicted, label=f"{name}: free from epsilon {threshold:.2g} on")
    axes.errorbar(EPSILONS, [run.final for run in runs], errors, fmt="o", color=line.get_color(), capsize=3)
    axes.axvline(threshold, color=line.get_color(), linestyle=":")
axes.axhline(
    free.regret_bound.total, color="black", linestyle="--", label="what learning costs without privacy (bound)"
)
axes.axhline(2 * T, color="grey", linewidth=1, label="largest possible regret")
axes.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="regret after all rounds")
axes.set_title(f"Ten experts, {T} rounds: measured (points), predicted by the noise alone (lines)", fontsize="medium")
figure.legend(fontsize="small", loc="outside lower center", ncols=2)
figure.savefig(chosen.output, dpi=120)
print(f"picture: {chosen.output}")
