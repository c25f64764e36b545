"""Say what one person can change, and pay only for that: a year of 5,000 drivers in a town.

Every day the loss is the share of all drivers on each road, and the learner looks for the emptiest way to work. Nobody
who sees its choices shall learn where anyone drove. Without a word about people, a learner hides the whole day.

python examples/one_person_changes.py                      # half a minute
"""

import argparse
from pathlib import Path

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import dpcvx
from dpcvx.experiments.losses import from_array
from dpcvx.studies.town import ROADS, routes, times, travel_times

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--days", type=int, default=365)
parser.add_argument("--drivers", type=int, default=5000)
parser.add_argument("--replicas", type=int, default=4)
parser.add_argument("--output", type=Path, default=Path("one_person_changes.png"))
chosen = parser.parse_args()
T, n = chosen.days, chosen.drivers

# X where decisions lie, Y what a loss may be
X, Y = routes(), times()

# D what one person can change: one driver's route, counted as 1/n on each of its roads, becomes another one
c = cp.Variable(len(ROADS), nonneg=True, name="driver")
places = sorted({place for road in ROADS for place in road} - {"work"})
leaving = {place: sum(c[k] for k, (start, _) in enumerate(ROADS) if start == place) for place in places}
arriving = {place: sum(c[k] for k, (_, end) in enumerate(ROADS) if end == place) for place in places}
route = [leaving[place] == (1 / n if place == "home" else arriving[place]) for place in places]
D = dpcvx.Change(c, route, replace=True, name=f"one of {n} drivers")
print(D.summary())

# the data: every day each driver takes a route, rather a fast one
paths = X.vertices()
rng = np.random.default_rng(0)
costs = travel_times(T) @ paths.T
odds = np.exp(-4 * costs)
drivers = np.array([rng.multinomial(n, share) for share in odds / odds.sum(axis=1, keepdims=True)])
loads = drivers @ paths / n
losses = from_array(loads, Y)

# two possible days that differ in one driver are neighbours; the whole day is none
moved = loads[0] + (paths[1] - paths[0]) / n
print(f"\none driver takes another route: {D.contains(moved - loads[0])}; everybody does: {D.contains(loads[0])}")

free = dpcvx.FTRL(X, Y, T)
unsaid = dpcvx.FTRL(X, Y, T, 1.0)
said = dpcvx.FTRL(X, Y, T, 1.0, neighbours=D)
print(f"\n{said.certificate}\n")

EPSILONS = (0.01, 0.1, 1.0, 10.0, 100.0)
best = (loads @ paths.T).sum(axis=0).min() / T
idle = (loads @ X.center).sum() / T - best
alone = dpcvx.simulate(free, losses, 1, checkpoints=60)
HIDDEN = {
    "everybody's day hidden": {},
    "one driver's day hidden": {"neighbours": D},
    "one driver's year hidden": {"neighbours": D, "rounds_per_person": T},
}
regrets: dict[str, list[float]] = {name: [] for name in HIDDEN}
curves = {}
print(f"{T} days, {n} drivers; regret a day, of a way whose roads carry {best:.2f} of all drivers together")
print(f"  {'without privacy':24s} {alone.final / T:.4f}    staying at the center {idle:.4f}")
for name, options in HIDDEN.items():
    for epsilon in EPSILONS:
        learner = dpcvx.FTRL(X, Y, T, epsilon, regularizer=free.regularizer, seed=0, **options)
        run = dpcvx.simulate(learner, losses, chosen.replicas, checkpoints=60)
        regrets[name].append(run.final / T)
        if epsilon == 1.0:
            curves[name] = run
    cells = "  ".join(f"{value:.4f}" for value in regrets[name])
    print(f"  {name:24s} {cells}    at epsilon {', '.join(f'{e:g}' for e in EPSILONS)}")
scales = unsaid.certificate.prefix_deviation / said.certificate.prefix_deviation
print(f"the noise that hides one driver's day is {scales:.0f} times smaller than the noise that hides everybody's")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
left.plot(alone.rounds, alone.mean, color="black", linestyle="--", zorder=3, label="without privacy")
for (name, run), colour in zip(curves.items(), ("C3", "C0", "C2"), strict=True):
    left.plot(run.rounds, run.mean, color=colour, label=f"{name}, epsilon = 1")
left.set(xlabel="day", ylabel="regret so far", title=f"{n:,} drivers, the emptiest way to work")
left.legend(frameon=False, fontsize="small")
right.axhline(alone.final / T, color="black", linestyle="--", zorder=3)
right.axhline(idle, color="grey", linestyle=":")
right.annotate("staying at the center", (EPSILONS[-1], idle), (0, -12), textcoords="offset points", ha="right")
for values, colour in zip(regrets.values(), ("C3", "C0", "C2"), strict=True):
    right.plot(EPSILONS, values, "o-", color=colour, markersize=4)
right.set(xscale="log", xlabel="epsilon", ylabel="regret a day", title="The price, with and without saying so")
figure.savefig(chosen.output, dpi=110)
print(f"picture: {chosen.output}")
