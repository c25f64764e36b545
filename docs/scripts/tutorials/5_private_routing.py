"""
Private routing
===============

Every day somebody drives from A to B through a road network. Afterwards the times of all links are known, measured
from the trips of many drivers. Which route to take tomorrow? The learner comes close to the best fixed route, and
nobody who sees its routes can tell what any one driver did.
"""

from pathlib import Path

import cvxpy as cp
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import decision_sets
import dpcvx

# %%
# A network
# ---------
#
# ``read_network`` reads TNTP files, GMNS folders and GraphML. Here a small town is written to a file first: a grid of
# two-way streets with a fast ring road.

positions = {f"{row}{column}": (column, "abcde".index(row)) for row in "abcde" for column in range(1, 6)}
town = nx.DiGraph()
for here, (x, y) in positions.items():
    for there, (u, v) in positions.items():
        if abs(x - u) + abs(y - v) == 1:
            on_the_ring = (x == u and x in (1, 5)) or (y == v and y in (0, 4))
            town.add_edge(here, there, time=1.0 if on_the_ring else 1.2)
nx.write_graphml(town, "town.graphml")

network = decision_sets.read_network("town.graphml")
print(len(network.nodes), "nodes,", len(network.links), "links")

# %%
# Routes as a decision set
# ------------------------
#
# A network of two-way streets has cycles, and the hull of its routes has no short description. ``routes`` keeps the
# links along which one comes nearer to the destination (other ways: ``cycles="hops"`` and ``"capped"``), and says
# what that leaves out.

X = decision_sets.routes(network, "a1", "e5")
print(X)
print(X.excluded)

# %%
# It is a decision set like any other: one coordinate a link, flow conservation at every node. Times are between 0 and
# 4 times those of empty roads, and *one driver among 1,000* is what is to be hidden: the measured times are means
# over drivers.

free = X.times[X.links]
time = cp.Variable(X.size, name="time")
Y = dpcvx.LossSet(time, [time >= 0, time <= 4 * free], name="times")
D = decision_sets.share(Y, people=1000)

# %%
# A season of days
# ----------------
#
# Traffic is heavy in the middle of the town, and from day 150 on a link of the ring is closed by works.

rng = np.random.default_rng(0)
days, works = 400, X.edges.index(("a2", "a3"))
middles = np.array([np.mean([positions[a], positions[b]], axis=0) for a, b in X.edges])
busy = 1 + 1.2 * np.exp(-np.sum((middles - [3, 2]) ** 2, axis=1))
times = free * busy * np.exp(0.15 * rng.standard_normal((days, X.size)))
times[150:, works] = 4 * free[works]
times = np.clip(times, 0, 4 * free)

# %%
# Learn
# -----
#
# With full information the learner sees the times of all links. It plays a flow, from which a route is drawn whose
# mean is that flow.

learner = dpcvx.FTPL(X, Y, days, epsilon=1.0, delta=1e-6, neighbours=D)
paid = 0.0
for today in times:
    route = learner.act()  # a vertex of the set: one route
    paid += today @ route
    learner.update(today)
best = times.sum(axis=0) @ X.argmin(times.sum(axis=0)) / days
print(f"{paid / days:.3f} a trip; the best fixed route takes {best:.3f}")
print("the last route:", " ".join([X.edges[k][0] for k in np.flatnonzero(route > 0.5)] + ["e5"]))
print(learner.certificate)

# %%
# Where the map goes
# ------------------

shares = np.zeros(X.size)
again = dpcvx.FTPL(X, Y, days, epsilon=1.0, delta=1e-6, neighbours=D, seed=0)
for day, today in enumerate(times):
    route = again.act()
    shares += route / 100 if day >= days - 100 else 0
    again.update(today)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
usual = times.mean(axis=0)
for (here, there), slowness, share in zip(X.edges, usual / usual.max(), shares, strict=True):
    ends = np.transpose([positions[here], positions[there]])
    left.plot(*ends, color=plt.cm.viridis_r(slowness), linewidth=4)
    right.plot(*ends, color="#dddddd", linewidth=2, zorder=1)
    if share > 0.01:
        right.plot(*ends, color="C3", linewidth=8 * share, zorder=2, solid_capstyle="round")
left.plot(*middles[works], "kx", markersize=10)
left.set_title("mean times (dark is slow), and the works", fontsize=10)
right.set_title("where the trips of the last 100 days went", fontsize=10)
for panel in (left, right):
    panel.set(aspect="equal", xlim=(0.6, 5.4), ylim=(-0.4, 4.4))
    panel.set_axis_off()
    panel.annotate("A", positions["a1"], (-14, -4), textcoords="offset points", fontsize=13)
    panel.annotate("B", positions["e5"], (6, -4), textcoords="offset points", fontsize=13)
plt.show()

# %%
# Only the own trip is seen
# -------------------------
#
# A driver who knows nothing but the time of each trip is a bandit. Several learners fit; on routes the one of
# practice learns much sooner.

bandit = dpcvx.private_bandit(X, Y, days, epsilon=1.0, neighbours=D, choose="practice", seed=0)
paid = 0.0
for today in times:
    route = bandit.act()
    paid += today @ route
    bandit.update(float(today @ route))
print(f"as a bandit {paid / days:.3f} a trip")

# %%
# From the command line
# ---------------------
#
# ``dpcvx route NETWORK --from A --to B`` does all this for a network file, with traffic that follows from demand
# where a file of trips is given, and writes a report with a map (``--output FOLDER``); ``--pairs`` plays a whole
# city.

Path("town.graphml").unlink()
