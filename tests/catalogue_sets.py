"""Every set of the catalogue at a small size, with its dimension and, where a formula is known, its parameter."""

from collections.abc import Callable

import networkx as nx
import numpy as np

import decision_sets as ds
from dpcvx import DecisionSet

POINTS = np.random.default_rng(1).normal(size=(9, 3))
ROWS = np.random.default_rng(2).normal(size=(6, 4))
SHAPE = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.3]])
DAG = nx.DiGraph([(0, 1), (0, 2), (1, 3), (2, 3), (1, 2), (3, 4), (2, 4), (5, 4), (3, 6)])  # the last two are dead
ROADS = nx.DiGraph()  # two-way, and no cycle is a route
ROADS.add_weighted_edges_from(
    [(*way, time) for u, v, time in [(0, 1, 2), (0, 2, 1), (1, 2, 1), (1, 3, 2), (2, 3, 4), (3, 4, 1), (2, 4, 3)]
     for way in ((u, v), (v, u))],
    weight="time",
)  # fmt: skip

# name: (how to make it, dimension, nu where a formula for it is known)
CATALOGUE: dict[str, tuple[Callable[[], DecisionSet], int, float | None]] = {
    "simplex": (lambda: ds.simplex(5), 4, 4),
    "scaled simplex": (lambda: ds.simplex(4, scale=3.0), 3, 3),
    "capped simplex": (lambda: ds.capped_simplex(7, 3), 6, 7),
    "box": (lambda: ds.box([-1.0, 0.0, 2.0], [1.0, 1.0, 5.0]), 3, 3),
    "box of matrices": (lambda: ds.box(np.zeros((2, 3)), 1.0), 6, 6),
    "cube": (lambda: ds.cube(4, 2.0), 4, 4),
    "ball, p = 1": (lambda: ds.norm_ball(4, 1, 1.5, [1, 2, 3, 4]), 4, 7),
    "ball, p = 1.5": (lambda: ds.norm_ball(4, 1.5, 1.5, [1, 2, 3, 4]), 4, None),
    "ball, p = 2": (lambda: ds.norm_ball(4, 2, 1.5, [1, 2, 3, 4]), 4, 1),
    "ball, p = 3": (lambda: ds.norm_ball(4, 3), 4, None),
    "ball, p = 10": (lambda: ds.norm_ball(3, 10.0), 3, None),
    "ball, p = infinity": (lambda: ds.norm_ball(4, np.inf, 1.5, [1, 2, 3, 4]), 4, 4),
    "ellipsoid": (lambda: ds.ellipsoid(SHAPE, [1.0, 0.0, -1.0]), 3, 1),
    "polytope": (lambda: ds.polytope(ROWS, np.ones(6), lower=-1, upper=[1, 2, 3, 4]), 4, None),
    "convex hull": (lambda: ds.convex_hull(POINTS), 3, 8),
    "permutahedron": (lambda: ds.permutahedron(5), 4, None),
    "Birkhoff polytope": (lambda: ds.birkhoff(4), 9, 12),
    "transport polytope": (lambda: ds.transport_polytope([1, 2, 3], [2, 2, 1, 1]), 6, 8),
    "portfolio": (lambda: ds.portfolio(6, 2, sector_cap=0.6), 5, None),
    "spectrahedron": (lambda: ds.spectrahedron(3), 5, 2),
    "nuclear ball": (lambda: ds.nuclear_ball(3, 2, 2.0), 6, 4),
    "spectral ball": (lambda: ds.spectral_ball(3, 2, 2.0), 6, 4),
    "entropy ball": (lambda: ds.entropy_ball(5, 1.0), 4, None),
    "KL ball": (lambda: ds.kl_ball([0.1, 0.2, 0.3, 0.4], 0.3), 3, None),
    "flow polytope": (lambda: ds.flow_polytope(DAG, 0, 4), 3, 5),
    "routes": (lambda: ds.routes(ROADS, 0, 4), 3, 5),
    "routes of few links": (lambda: ds.routes(ROADS, 0, 4, cycles="hops", hops=3), 3, None),
}
