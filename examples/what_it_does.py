"""What a private learner does, and what it costs, in one picture.

Every day three suppliers share one day of work, within limits that are declared in cvxpy. In the evening each of 1,000
people has rated all three, and the mean cost is known. A learner shifts work to the better ones. The picture shows
where it goes, and what it loses against the best fixed split: when nothing is hidden, when one person's rating is, and
when a whole day is.

python examples/what_it_does.py                        # seconds
"""

import argparse
from pathlib import Path

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import decision_sets
import dpcvx
from dpcvx.studies.gallery import outline, to_plane

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--days", type=int, default=1000)
parser.add_argument("--people", type=int, default=1000)
parser.add_argument("--replicas", type=int, default=40)
parser.add_argument("--output", type=Path, default=Path("what_it_does.png"))
chosen = parser.parse_args()
T = chosen.days

x, cost = cp.Variable(3, nonneg=True, name="split"), cp.Variable(3, name="cost")
X = dpcvx.DecisionSet(x, [cp.sum(x) == 1, x <= 0.75, x[0] + x[1] >= 0.3], name="splits")
Y = dpcvx.LossSet(cost, [cost >= 0, cost <= 1], name="costs")
one = decision_sets.share(Y, chosen.people)  # what one person can change in a day's mean

rng = np.random.default_rng(3)
costs = np.clip([0.60, 0.42, 0.50] + 0.1 * rng.standard_normal((T, 3)), 0, 1)
best = X.argmin(costs.sum(axis=0))

PLAYERS = {  # colour, line, and what a learner is told of privacy
    "a whole day is hidden, epsilon 1": ("#d1603d", "-", {"epsilon": 1.0}),
    "one person is hidden, epsilon 1": ("#1f77b4", "-", {"epsilon": 1.0, "neighbours": one}),
    "nothing is hidden": ("#222222", "--", {"epsilon": None}),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained", width_ratios=(1, 1.2))
left.fill(*outline(X).T, facecolor="#eef2f6", edgecolor="#1f3b57", linewidth=1.5)
for name, (colour, line, options) in PLAYERS.items():
    run = dpcvx.simulate(dpcvx.FTRL(X, Y, T, regularizer="euclidean", **options), costs, chosen.replicas, seed=1)
    print(f"{name:34s} cost above the best fixed split: {run.final / T:.4f} a day")
    right.plot(run.rounds, run.mean, line, color=colour, linewidth=2, label=f"{name}: {run.final / T:.3f} a day")
    learner = dpcvx.FTRL(X, Y, T, regularizer="euclidean", seed=2, **options)
    points = []
    for today in costs:
        points.append(learner.act())
        learner.update(today)
    path = to_plane(X, np.array(points[:: max(1, T // 250)]))
    left.plot(
        *path.T, ".", color=colour, markersize=7 if line == "-" else 3, alpha=0.6, zorder=3 if line == "--" else 2
    )
there = to_plane(X, best[None])[0]
left.plot(*there, "*", color="#2a9d4a", markersize=18, zorder=4)
left.annotate("best fixed split", there, (16, -4), textcoords="offset points", color="#2a9d4a")
left.plot(*to_plane(X, X.center[None])[0], "+", color="#1f3b57", markersize=12, zorder=4)
left.annotate("start", to_plane(X, X.center[None])[0], (8, 4), textcoords="offset points", color="#1f3b57")
left.set(aspect="equal", title="The declared set, and the splits of one run each")
left.margins(0.15, 0.05)
left.set_axis_off()
right.set(
    xlabel="day",
    ylabel="cost above the best fixed split, so far",
    title=f"What privacy costs (mean of {chosen.replicas} runs)",
)
right.set(xlim=(0, T), ylim=(0, 1.35 * right.get_ylim()[1]))
right.legend(frameon=False, loc="upper left")
right.spines[["top", "right"]].set_visible(False)
figure.savefig(chosen.output, dpi=110)
print(f"picture: {chosen.output}")
