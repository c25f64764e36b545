"""Small road networks, made here: with parallel links, links of no time, and zones that are not passed through."""

import numpy as np

from decision_sets.networks import Network
from decision_sets.networks.network import link_names


def network(tails, heads, times, **more):
    """A network on nodes 0, 1, ... named by these numbers."""
    size = 1 + max(*tails, *heads)
    return Network(
        tuple(range(size)),
        np.array(tails),
        np.array(heads),
        link_names(tails, heads),
        np.array(times, dtype=float),
        **more,
    )


def random_network(seed, nodes=8, links=26, zones=2):
    """Random two-way roads among nodes, some parallel and some of no time; the first nodes are zones."""
    rng = np.random.default_rng(seed)
    tails = np.concatenate([np.arange(nodes), rng.integers(nodes, size=links)])
    heads = np.concatenate([(np.arange(nodes) + 1) % nodes, rng.integers(nodes, size=links)])
    kept = tails != heads
    tails, heads = tails[kept], heads[kept]
    times = rng.uniform(1, 5, len(tails)) * (rng.random(len(tails)) > 0.15)
    closed = np.arange(nodes) < zones
    return network(tails.tolist(), heads.tolist(), times, closed=closed)


def braess():
    """Two routes of equal time with 6 trips, and a short cut between them that makes all slower: times are 3 + ...

    Links 0->1 and 2->3 take 10 v, links 0->2 and 1->3 take 50 + v, the short cut 1->2 takes 10 + v; in equilibrium 2
    of 6 trips take each of the three routes, and all take 92.
    """
    tails, heads = [0, 0, 1, 2, 1], [1, 2, 3, 3, 2]
    empty = np.array([1e-9, 50.0, 50.0, 1e-9, 10.0])
    slope = np.array([10.0, 1.0, 1.0, 10.0, 1.0])
    return network(
        tails, heads, empty, capacity=np.ones(5), b=slope / empty, power=np.ones(5), trips={(0, 3): 6.0, (1, 2): 0.0}
    )


def grid(side=4, seed=0, demand=True):
    """Two-way streets on a grid with coordinates, and demand between its corners and sides."""
    rng = np.random.default_rng(seed)
    at = [(i, j) for i in range(side) for j in range(side)]
    pairs = [(a, b) for a, p in enumerate(at) for b, q in enumerate(at) if abs(p[0] - q[0]) + abs(p[1] - q[1]) == 1]
    tails, heads = zip(*pairs, strict=True)
    last = len(at) - 1
    trips = {(0, last): 300.0, (last, 0): 200.0, (side - 1, last - side + 1): 250.0, (0, side - 1): 100.0}
    traffic = {"capacity": rng.uniform(100, 300, len(pairs)), "b": np.full(len(pairs), 0.5)}
    traffic["power"] = np.full(len(pairs), 4.0)
    more = {**traffic, "trips": trips} if demand else {}
    return network(tails, heads, rng.uniform(2, 5, len(pairs)), positions=np.array(at, dtype=float), **more)
