"""Private routes on a road network from a file: many trips, one private sum, one epsilon.

A navigation service sees every evening how long each road took, and sends the next day's drivers by it. Whoever watches
all routes that it ever chose shall not find out any day's times. All trips see the same roads, so one private sum of
the roads' times serves them all, and epsilon is paid once.

python examples/private_routing.py                      # a minute
"""

import argparse
from pathlib import Path

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

import dpcvx
from decision_sets import read_network, routes
from dpcvx.studies.routing.days import travel_days

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--days", type=int, default=10_000)
parser.add_argument("--output", type=Path, default=Path("private_routing.png"))
chosen = parser.parse_args()
T = chosen.days
TRIPS = (("1", "30"), ("25", "6"), ("13", "18"))

# the network, two-way streets included, and 100 days on it by its own demand; the first ten lines are all one needs
network = read_network(Path(__file__).parent / "small_town")  # link.csv, node.csv, demand.csv
days = travel_days(network, 100)
sets = [routes(network, origin, destination, times=days.usual) for origin, destination in TRIPS]
time = cp.Variable(len(network.links), name="time")
Y = dpcvx.LossSet(time, [time >= network.times, time <= 4 * network.times])
sums = dpcvx.PrivateSums(Y, T, epsilon=1.0, delta=1e-6)
learners = [dpcvx.FTRL(X, sums=sums, regularizer="euclidean") for X in sets]
for X in sets:
    print(f"{X.origin} to {X.destination}: {X.size} links; {X.excluded}")
print(f"\n{learners[0].certificate}\n")

# the same in simulation, with seeded noise, over T days
sums = dpcvx.PrivateSums(Y, T, epsilon=1.0, delta=1e-6, seed=0)
learners = [dpcvx.FTRL(X, sums=sums, regularizer="euclidean") for X in sets]
losses = Y.clip(days.times)[np.random.default_rng(0).integers(len(days.times), size=T)]
paid, ends = np.zeros((len(sets), T)), [np.zeros(X.size) for X in sets]
for t, loss in enumerate(losses):
    for k, (X, learner) in enumerate(zip(sets, learners, strict=True)):
        flow = learner.act()
        paid[k, t] = loss[X.links] @ flow
        if t >= T - T // 10:
            ends[k] += flow / (T // 10)
    sums.update(loss)

figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
at, ends_of = network.positions, np.column_stack([network.tails, network.heads])
for ax, title in zip(axes[:2], ("before: doing nothing", "after: private, epsilon 1"), strict=True):
    ax.add_collection(LineCollection(at[ends_of], colors="0.8", linewidths=1))
    for k, X in enumerate(sets):
        flow = X.center if title.startswith("before") else ends[k]
        lines = at[ends_of[X.links]] + 0.05 * (k - 1)
        ax.add_collection(LineCollection(lines, colors=f"C{k}", linewidths=6 * flow, capstyle="round"))
        for node, mark in ((X.origin, "o"), (X.destination, "s")):
            ax.plot(*at[network.number_of(node)], mark, color=f"C{k}", markersize=10)
    ax.set(title=title, aspect="equal")
    ax.set_axis_off()
rounds, window = np.arange(1, T + 1), 1 + T // 200
print("regret a trip, as a share of what doing nothing costs:")
for k, X in enumerate(sets):
    costs = losses[:, X.links]
    best, idle = costs.sum(axis=0) @ X.argmin(costs.sum(axis=0)) / T, float(costs.mean(axis=0) @ X.center)
    regret = np.cumsum(paid[k] - costs @ X.argmin(costs.sum(axis=0))) / rounds
    share = regret / (idle - best)
    axes[2].plot(rounds[window:], share[window:], color=f"C{k}", label=f"{X.origin} to {X.destination}")
    print(f"  {X.origin:>2s} to {X.destination:>2s}: {share[-1]:6.1%}")
axes[2].axhline(1, color="0.5", linestyle=":", label="doing nothing")
axes[2].set(xscale="log", yscale="log", xlabel="days", ylabel="regret, as a share of doing nothing")
axes[2].set_title("three trips, one sum, one epsilon (simulation)")
axes[2].legend(frameon=False)
figure.savefig(chosen.output, dpi=110)
print(f"\nPicture: {chosen.output}")
