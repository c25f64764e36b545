"""Capped flows on networks of thousands of links: no matrix of all links by all links, and bounds that hold."""

import tracemalloc

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest

import decision_sets as ds
from dpcvx import FTRL, LossSet
from dpcvx.regularizers import entropy
from dpcvx.regularizers.entropy import Entropy
from dpcvx.sets.geometry import bounds
from dpcvx.sets.sizes import sizes_of


def streets(side):
    graph = nx.DiGraph(nx.grid_2d_graph(side, side))
    rng = np.random.default_rng(0)
    for _, _, data in graph.edges(data=True):
        data["time"] = rng.uniform(1, 3)
    return ds.as_network(graph)


def losses(size):
    y = cp.Variable(size)
    return LossSet(y, [y >= 0.1, y <= 0.4])


def test_a_learner_on_three_thousand_links_needs_no_dense_matrix():
    network = streets(28)
    size = len(network.links)
    tracemalloc.start()
    X = ds.routes(network, (0, 0), (27, 27), cycles="capped", capacity=0.9)
    learner = FTRL(X, losses(size), 100, 1.0)
    learner.act()
    learner.update(np.full(size, 0.2))
    action = learner.act()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert X.size > 2900 and X.contains(action)
    assert peak < 8 * X.size**2 / 2  # bytes: half of one dense matrix; there used to be three


@pytest.mark.parametrize("capacity", [1.0, 0.6])
def test_the_range_of_the_entropy_by_the_center_is_above_that_by_the_minimiser(monkeypatch, capacity):
    network = streets(4)
    X = ds.routes(network, (0, 0), (3, 3), cycles="capped", capacity=capacity)
    Y = losses(len(network.links))
    known = Entropy(sizes_of(X, Y)).range
    monkeypatch.setattr(entropy, "DENSE_LIMIT", 1)
    cheap = Entropy(sizes_of(X, Y)).range
    assert known * (1 - 1e-6) <= cheap <= 2 * known
    rng = np.random.default_rng(1)
    values = [float(Entropy(sizes_of(X, Y)).value(X.argmin(rng.normal(size=X.size)))) for _ in range(20)]
    values.append(float(Entropy(sizes_of(X, Y)).value(X.center)))
    assert max(values) - min(values) <= cheap


def test_the_loose_box_of_a_large_set_holds_the_exact_one():
    network = streets(4)
    X = ds.routes(network, (0, 0), (3, 3), cycles="capped", capacity=0.7)
    lower, upper = bounds.loose_box(X.geometry.conic, X.geometry.chart, X.nu)
    exact = X.bounding_box()
    assert np.all(lower <= exact[0] + 1e-8) and np.all(upper >= exact[1] - 1e-8) and upper.max() <= 0.7 + 1e-8
