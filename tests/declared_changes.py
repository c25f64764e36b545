"""Changes as users declare them, for the tests of everything that takes one."""

from collections.abc import Callable

import cvxpy as cp
import networkx as nx
import numpy as np

import dpcvx
from decision_sets.flows import PathPolytope
from dpcvx.arrays import Array


def grid_graph(side: int) -> nx.DiGraph:
    """A grid of streets that lead right or up; its paths join opposite corners."""
    graph = nx.grid_2d_graph(side, side, create_using=nx.DiGraph)
    return nx.DiGraph([(u, v) for u, v in graph.edges if v > u])


def small_sum(size: int) -> dpcvx.Change:
    """Bounded entries and a bounded sum of them: symmetric."""
    d = cp.Variable(size)
    return dpcvx.Change(d, [cp.norm1(d) <= 0.01, cp.norm_inf(d) <= 0.004])


def comes(size: int) -> dpcvx.Change:
    """A person adds a share of 1/50 to some entries: all nonnegative, flat, and 0 is not among the changes."""
    d = cp.Variable(size, nonneg=True)
    return dpcvx.Change(d, [cp.sum(d) == 0.02])


def rerouted(size: int) -> dpcvx.Change:
    """A contribution of 1/100 in all becomes another one: flat, replaced, asymmetric as declared."""
    c = cp.Variable(size)
    return dpcvx.Change(c, [c >= 0, cp.sum(c) == 0.01], replace=True)


def ellipsoid(size: int) -> dpcvx.Change:
    """An ellipsoid away from 0."""
    d = cp.Variable(size)
    return dpcvx.Change(d, [cp.norm(cp.multiply(np.arange(1, size + 1), d - 0.003)) <= 0.01])


KINDS: dict[str, Callable[[int], dpcvx.Change]] = {
    "small sum": small_sum,
    "comes": comes,
    "rerouted": rerouted,
    "ellipsoid": ellipsoid,
}


def one_path(side: int, people: int, *, replace: bool = True) -> dpcvx.Change:
    """One of so many people takes another path through a grid; or comes, or goes."""
    paths = PathPolytope(grid_graph(side), (0, 0), (side - 1, side - 1))
    c = cp.Variable(len(paths.edges))
    return dpcvx.Change(c, [c >= 0, paths.divergence @ c == paths.demand / people], replace=replace)


def draw(change: dpcvx.Change, rng: np.random.Generator) -> Array:
    """A random change, mostly an extreme one, as a vector."""
    direction, other = rng.standard_normal((2, *change.shape))
    far = change.set.flatten(change.set.argmin(direction))
    if change.replace:
        return far - change.set.flatten(change.set.argmin(-direction))
    share = rng.choice([0.0, rng.random()])
    return (1 - share) * far + share * change.set.flatten(change.set.argmin(other))
