"""Whether the time of clipping shows a loss outside its set: far outside over inside, for every set of the catalogue.

python benchmarks/clipping.py [name ...]

Inside are points between the center and random extreme points; outside are points 2, 1e3, 1e9 and 1e300 times as far
from the center as the set is large, in random directions and along the axes. Their times are taken in turn, point by
point, and the median of each point counts: the ratio is that of the slowest point outside to the middle one inside.
Exits with the number of sets whose ratio is 5 or more.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time

import networkx as nx
import numpy as np

import decision_sets as ds
from dpcvx import LossSet

GOAL = 5.0
FACTORS = (2.0, 1e3, 1e9, 1e300)
POINTS = 6  # of each kind
REPEATS = 15

rng = np.random.default_rng(0)
DAG = nx.DiGraph([(0, 1), (0, 2), (1, 3), (2, 3), (1, 2), (3, 4), (2, 4)])
GRID = nx.DiGraph([(u, v) for u, v in nx.grid_2d_graph(5, 5).edges])
SHAPE = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.3]])

SETS = {
    "simplex(5)": lambda: ds.simplex(5),
    "simplex(200)": lambda: ds.simplex(200),
    "simplex(4, scale=3)": lambda: ds.simplex(4, scale=3.0),
    "capped_simplex(7, 3)": lambda: ds.capped_simplex(7, 3),
    "box, 3 entries": lambda: ds.box([-1.0, 0.0, 2.0], [1.0, 1.0, 5.0]),
    "box, 2 x 3 matrices": lambda: ds.box(np.zeros((2, 3)), 1.0),
    "cube(4)": lambda: ds.cube(4, 2.0),
    "norm_ball(4, 1)": lambda: ds.norm_ball(4, 1, 1.5, [1, 2, 3, 4]),
    "norm_ball(50, 1)": lambda: ds.norm_ball(50, 1),
    "norm_ball(4, 1.5)": lambda: ds.norm_ball(4, 1.5, 1.5, [1, 2, 3, 4]),
    "norm_ball(4, 2)": lambda: ds.norm_ball(4, 2, 1.5, [1, 2, 3, 4]),
    "norm_ball(4, 3)": lambda: ds.norm_ball(4, 3),
    "norm_ball(30, 3)": lambda: ds.norm_ball(30, 3),
    "norm_ball(3, 10)": lambda: ds.norm_ball(3, 10.0),
    "norm_ball(4, inf)": lambda: ds.norm_ball(4, np.inf, 1.5, [1, 2, 3, 4]),
    "ellipsoid(3)": lambda: ds.ellipsoid(SHAPE, [1.0, 0.0, -1.0]),
    "polytope(4)": lambda: ds.polytope(rng.normal(size=(6, 4)), np.ones(6), lower=-1, upper=[1, 2, 3, 4]),
    "polytope(30)": lambda: ds.polytope(rng.normal(size=(60, 30)), np.ones(60), lower=-1, upper=1),
    "convex_hull(9 points)": lambda: ds.convex_hull(rng.normal(size=(9, 3))),
    "permutahedron(5)": lambda: ds.permutahedron(5),
    "permutahedron(10)": lambda: ds.permutahedron(10),
    "birkhoff(4)": lambda: ds.birkhoff(4),
    "birkhoff(8)": lambda: ds.birkhoff(8),
    "transport_polytope(3, 4)": lambda: ds.transport_polytope([1, 2, 3], [2, 2, 1, 1]),
    "spectrahedron(3)": lambda: ds.spectrahedron(3),
    "spectrahedron(8)": lambda: ds.spectrahedron(8),
    "nuclear_ball(3, 2)": lambda: ds.nuclear_ball(3, 2, 2.0),
    "nuclear_ball(6, 5)": lambda: ds.nuclear_ball(6, 5),
    "spectral_ball(3, 2)": lambda: ds.spectral_ball(3, 2, 2.0),
    "spectral_ball(6, 5)": lambda: ds.spectral_ball(6, 5),
    "entropy_ball(5)": lambda: ds.entropy_ball(5, 1.0),
    "kl_ball(4)": lambda: ds.kl_ball([0.1, 0.2, 0.3, 0.4], 0.3),
    "flow_polytope(7 edges)": lambda: ds.flow_polytope(DAG, 0, 4),
    "flow_polytope(40 edges)": lambda: ds.flow_polytope(GRID, (0, 0), (4, 4)),
}


def inside(losses):
    """Points of the set, from near its center to near its border."""
    center = losses.center
    shares = np.linspace(0.1, 0.95, POINTS)
    ends = [losses.argmin(rng.standard_normal(losses.shape)) for _ in shares]
    return [center + share * (end - center) for share, end in zip(shares, ends, strict=True)]


def outside(losses, factor):
    """Points so many times as far from the center as the set is large."""
    size = max(float(losses.radius(np.inf)), float(losses.diameter(np.inf)))
    points = []
    for k in range(POINTS):
        direction = rng.standard_normal(losses.shape)
        if k >= POINTS // 2:
            direction = np.zeros(losses.size)
            direction[rng.integers(losses.size)] = rng.choice([-1.0, 1.0])
            direction = direction.reshape(losses.shape)
        points.append(losses.center + factor * size * (direction / np.abs(direction).max()))
    return points


def medians(losses, groups):
    """The median time of clipping each point, taken in turn."""
    points = [point for group in groups for point in group]
    clip, flat = losses.clipper(), [losses.flatten(point) for point in points]
    for one in flat:
        clip(one)
    times = np.empty((REPEATS, len(flat)))
    for repeat in range(REPEATS):
        for i, one in enumerate(flat):
            begun = time.perf_counter()
            clip(one)
            times[repeat, i] = time.perf_counter() - begun
    return np.split(np.median(times, axis=0), np.cumsum([len(group) for group in groups])[:-1])


def main(names):
    """A line for every set."""
    missed, worst = 0, 0.0
    print(f"{'microseconds':26s} {'inside':>9s} " + " ".join(f"{factor:>9.0e}" for factor in FACTORS) + "     ratio")
    for name in names or SETS:
        declared = SETS[name]()
        losses = LossSet(declared.variable, declared.constraints)
        near, *far = medians(losses, [inside(losses), *(outside(losses, factor) for factor in FACTORS)])
        slowest = [float(times.max()) for times in far]
        ratio = max(slowest) / float(np.median(near))
        worst, missed = max(worst, ratio), missed + (ratio >= GOAL)
        shown = " ".join(f"{1e6 * seconds:9.0f}" for seconds in (np.median(near), *slowest))
        print(f"{name:26s} {shown} {ratio:9.2f} {'MISSED' if ratio >= GOAL else ''}", flush=True)
    print(f"{'worst ratio':76s} {worst:9.2f}   goal < {GOAL:g}")
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
