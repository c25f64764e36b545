"""Rounds of SCRiBLe on flows of 100 to 100,000 edges against solvers in the same run; exits with the missed goals.

python benchmarks/routing.py          # grid, layered and road-like planar graphs of 1e2, 1e3, 1e4 and 1e5 edges
python benchmarks/routing.py --quick  # up to 1e4 edges
python benchmarks/routing.py --large  # also a planar graph of 600,000 edges, once

Each graph is measured in a process of its own, in CPU time on one thread. A round is an action and its update. The
peers find one minimiser of <c, x> - sum log x over the same flows: Clarabel, set up once and given another c, and a
parametrised cvxpy problem solved by it. "bare" is what no round can do without, by NumPy and what factorises (QDLDL,
or LAPACK in a band) alone: the matrix of a round and its numeric factorisation, a vector of normal numbers, two
solutions, and the products with the equalities before and after them. Where a peer takes less than that many times as
long as a goal asks, the goal is out of reach for whatever is done around it; it is then called so, and not counted
among the missed.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import json
import resource
import subprocess
import sys
import time
from itertools import pairwise

import clarabel
import cvxpy as cp
import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra, minimum_spanning_tree
from scipy.spatial import Delaunay

import decision_sets
from dpcvx import FTPL, FTRL, DecisionSet, LossSet, SCRiBLe
from dpcvx.actions.dag import between
from dpcvx.sets.solvers.normal_equations import NormalEquations

HORIZON = 10**5
SMALL = 1 / 16  # eta n M of small steps: below 1/8 one Newton step is enough in every round
SIZES = (100, 1000, 10_000, 100_000)
RATIOS = {100: (9, 20), 1000: (55, 120), 10_000: (65, 150)}  # at the rate of the theorem, and with small steps
SECONDS = 0.35  # of a round on 1e5 edges, grid and planar
HOPS, HOP_SECONDS = 44, 0.15  # links of a walk at most, and seconds of a round on them
BUILD = 15.0  # seconds to declare and build on 1e5 edges
CONSERVED = 1e-9
STRETCH = 0.01  # seconds over which a mean is taken
LINEAR = 2.0  # memory for each edge at 1e5 over that at 1e4, planar
MOST_CVXPY = 1500  # edges up to which cvxpy is asked
MOST_CLARABEL = 15_000
missed = beyond = 0


def grid(edges):
    """Streets of a square, all one-way toward the opposite corner."""
    side = round((1 + np.sqrt(1 + 2 * edges)) / 2)
    node = np.arange(side * side).reshape(side, side)
    tails = np.concatenate([node[:-1].ravel(), node[:, :-1].ravel()])
    heads = np.concatenate([node[1:].ravel(), node[:, 1:].ravel()])
    return tails, heads, 0, side * side - 1


def layered(edges):
    """Layers as wide as there are many; from every node two to four random edges to the next layer."""
    rng = np.random.default_rng(1)
    width = max(round(np.sqrt(edges / 3)), 3)
    node = 1 + np.arange(width * width).reshape(width, width)
    tails, heads = [np.zeros(width, dtype=int)], [node[0]]
    for here, ahead in pairwise(node):
        degree = rng.integers(2, 5, width)
        tails.append(np.repeat(here, degree))
        heads.append(np.concatenate([rng.choice(ahead, min(k, width), replace=False) for k in degree]))
    last = width * width + 1
    return alive(np.concatenate([*tails, node[-1]]), np.concatenate([*heads, np.full(width, last)]), 0, last)


def roads(nodes, share, rng):
    """Random places, and the shortest tree between them with a share of the other edges of Delaunay's triangles."""
    places = rng.random((nodes, 2))
    corners = Delaunay(places).simplices
    pairs = np.unique(
        np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]), axis=1), axis=0
    )
    length = np.linalg.norm(places[pairs[:, 0]] - places[pairs[:, 1]], axis=1)
    tree = minimum_spanning_tree(sparse.csr_array((length, pairs.T), shape=(nodes, nodes))).tocoo()
    chosen = rng.random(len(pairs)) < share
    ends = np.concatenate([pairs[chosen], np.stack([tree.row, tree.col], axis=1)])
    ends = np.unique(np.sort(ends, axis=1), axis=0)
    return places, ends, np.linalg.norm(places[ends[:, 0]] - places[ends[:, 1]], axis=1)


def planar(edges):
    """Of roads both ways those along which the distance to the target less that from the source falls."""
    places, ends, length = roads(round(0.52 * edges) + 8, 0.5, np.random.default_rng(2))
    matrix = sparse.csr_array((length, ends.T), shape=(len(places), len(places)))
    source, target = int(places.sum(axis=1).argmin()), int(places.sum(axis=1).argmax())
    height = np.subtract(*dijkstra(matrix, directed=False, indices=[target, source]))
    rising = height[ends[:, 0]] < height[ends[:, 1]]
    tails, heads = np.where(rising, ends[:, 1], ends[:, 0]), np.where(rising, ends[:, 0], ends[:, 1])
    uneven = height[tails] != height[heads]
    return alive(tails[uneven], heads[uneven], source, target)


def alive(tails, heads, source, target):
    """The edges on a way from the source to the target, and their nodes numbered anew."""
    live = between(tails, heads, source, target)
    nodes, numbers = np.unique(np.concatenate([tails[live], heads[live]]), return_inverse=True)
    ends = np.searchsorted(nodes, [source, target])
    return numbers[: live.sum()], numbers[live.sum() :], int(ends[0]), int(ends[1])


GRAPHS = {"grid": grid, "layered": layered, "planar": planar}


def divergence(tails, heads, source, target):
    """Outflow less inflow of every node, and what it is for a unit flow."""
    nodes, count = int(max(tails.max(), heads.max())) + 1, len(tails)
    ones, edge = np.ones(count), np.arange(count)
    rows = np.concatenate([tails, heads]), np.concatenate([edge, edge])
    E = sparse.csr_array((np.concatenate([ones, -ones]), rows), shape=(nodes, count))
    demand = np.zeros(nodes)
    demand[source], demand[target] = 1.0, -1.0
    return E, demand


def counted(factorise):
    """The method `factorise` of normal equations, its calls counted."""

    def call(system, weights):
        counted.calls += 1
        return factorise(system, weights)

    return call


counted.calls = 0
NormalEquations.factorise = counted(NormalEquations.factorise)


def clarabel_argmin(E, demand):
    """argmin <c, x> - sum u over exp(u) <= x and the flows, as a function of c."""
    nodes, n = E.shape
    cones = sparse.csc_matrix(
        (
            -np.ones(2 * n),
            (
                np.concatenate([3 * np.arange(n), 3 * np.arange(n) + 2]),
                np.concatenate([n + np.arange(n), np.arange(n)]),
            ),
        ),
        shape=(3 * n, 2 * n),
    )
    rows = sparse.csc_matrix(sparse.vstack([sparse.hstack([E, sparse.csr_array((nodes, n))]), cones]))
    settings = clarabel.DefaultSettings()
    settings.verbose = settings.presolve_enable = settings.chordal_decomposition_enable = False
    settings.max_threads = 1
    quadratic, linear = sparse.csc_matrix((2 * n, 2 * n)), np.append(np.zeros(n), -np.ones(n))
    right = np.concatenate([demand, np.tile([0.0, 1.0, 0.0], n)])
    kinds = [clarabel.ZeroConeT(nodes), *([clarabel.ExponentialConeT()] * n)]
    solver = clarabel.DefaultSolver(quadratic, linear, rows, right, kinds, settings)

    def run(c):
        solver.update(q=np.append(c, -np.ones(n)))
        return np.array(solver.solve().x)[:n]

    return run


def cvxpy_argmin(E, demand):
    x, c = cp.Variable(E.shape[1]), cp.Parameter(E.shape[1])
    problem = cp.Problem(cp.Minimize(c @ x - cp.sum(cp.log(x))), [E @ x == demand])

    def run(value):
        c.value = value
        problem.solve(solver=cp.CLARABEL)
        return x.value

    return run


def least(job, seconds):
    """CPU seconds of a job: the least mean of several stretches, since other work on the machine only adds to it."""
    job()
    means, begun = [], time.process_time()
    while len(means) < 5 or time.process_time() - begun < seconds:
        calls, start = 0, time.process_time()
        while not calls or time.process_time() - start < STRETCH:
            job()
            calls += 1
        means.append((time.process_time() - start) / calls)
    return min(means)


def bare(learner):
    """CPU seconds of the arithmetic of the learner's round alone."""
    system, root = learner.decision_set.geometry.chart._system, learner._state.factor._root
    rng, weights = np.random.default_rng(5), root * root
    solver = system.factorise(weights)._matrix.factorised

    def run():
        solver.refactor(system.upper(weights))
        u = rng.standard_normal(len(root))
        u -= root * system.columns(solver.solve(system.rows(root * u)))
        return u, u - weights * system.columns(solver.solve(system.rows(u)))

    return least(run, 0.25)


def per_round(learner, loss, seconds):
    """CPU seconds and factorisations of a round, and the last action."""
    action, rounds, before = None, learner.rounds, counted.calls

    def play():
        nonlocal action
        action = learner.act()
        learner.update(float(loss @ action))

    found = least(play, seconds)
    return found, (counted.calls - before) / (learner.rounds - rounds), action


def megabytes():
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * resource.getpagesize() / 2**20


def measure(name, edges, large=False):
    """All figures of one graph."""
    graph = GRAPHS[name](edges)
    E, demand = divergence(*graph)
    n = E.shape[1]
    loss = np.random.default_rng(3).uniform(0, 1, n)
    before = megabytes()
    begun = time.process_time()
    x, y = cp.Variable(n, nonneg=True), cp.Variable(n)
    X = DecisionSet(x, [E @ x == demand])
    Y = LossSet(y, [y >= 0, y <= 1])
    theorem = SCRiBLe(X, Y, HORIZON, seed=0)
    found = {"graph": name, "edges": n, "dim": X.dim, "build": time.process_time() - begun}
    begun = time.process_time()
    full = FTRL(X, Y, HORIZON, regularizer="barrier", seed=0), FTPL(X, Y, HORIZON, epsilon=1.0, delta=1e-6, seed=0)
    found["others"] = time.process_time() - begun
    rate = theorem.learning_rate * X.dim * theorem.magnitude
    small = SCRiBLe(X, Y, HORIZON, seed=0, learning_rate=theorem.learning_rate * min(1.0, SMALL / rate))
    found["rate"] = rate
    off = []
    for key, learner in (("theorem", theorem), ("small", small)):
        found[key], found[key + "_factors"], action = per_round(learner, loss, 0.5)
        off.append(float(np.abs(E @ action - demand).max()))
        assert action.min() >= 0
    found["memory"] = megabytes() - before
    found["bare"] = bare(small)
    for learner in full if not large else ():
        begun = time.process_time()
        for _ in range(2):
            off.append(float(np.abs(E @ learner.act() - demand).max()))
            learner.update(loss)
        found[type(learner).__name__] = (time.process_time() - begun) / 2
    found["conserved"] = max(off)
    rng = np.random.default_rng(4)

    def covector():
        return 0.1 * rng.standard_normal(n) / X.center

    if n <= MOST_CLARABEL:
        peer = clarabel_argmin(E, demand)
        found["clarabel"] = least(lambda: peer(covector()), 0.5)
        for key, learner in (("theorem", theorem), ("small", small)):  # before and after the peer
            found[key] = min(found[key], per_round(learner, loss, 0.5)[0])
        found["bare"] = min(found["bare"], bare(small))
        found["clarabel"] = min(found["clarabel"], least(lambda: peer(covector()), 0.5))
    if n <= MOST_CVXPY:
        other = cvxpy_argmin(E, demand)
        found["cvxpy"] = least(lambda: other(covector()), 0.5)
    return found


def hop_limited():
    """A round on all walks of at most HOPS links between two zones of a small city, and paths through other zones."""
    places, ends, length = roads(416, 0.35, np.random.default_rng(6))
    tails, heads = np.concatenate([ends, ends[:, ::-1]]).T
    times, far = np.tile(length, 2), places.sum(axis=1)
    closed = np.bincount(tails) == 1  # dead ends, which no route passes
    closed[[far.argmin(), far.argmax()]] = True
    network = decision_sets.as_network({"tails": tails, "heads": heads, "times": times, "closed": closed})
    begun = time.process_time()
    X = decision_sets.routes(network, int(far.argmin()), int(far.argmax()), times=times, cycles="hops", hops=HOPS)
    y = cp.Variable(len(times))
    learner = SCRiBLe(X, LossSet(y, [y >= times, y <= 4 * times]), HORIZON, seed=0)
    build = time.process_time() - begun
    lifted, rng = 2 * times @ X.links_map, np.random.default_rng(0)
    seconds, _, action = per_round(learner, lifted, 1.0)
    drawn = [X.draw_path(action, rng) for _ in range(1000)]
    forbidden = sum(bool(closed[head]) for path in drawn for _, head in path[:-1])
    print(f"walks of at most {HOPS} of {len(times)} links: {X.size} edges, dimension {X.dim}, built in {build:.2f} s")
    report("seconds of a round on a hop-limited network", seconds, HOP_SECONDS, True)
    report("forbidden zones passed by 1,000 random paths", forbidden, 0, True)


def asked(name, edges, large=False):
    """`measure` in a process of its own."""
    command = [sys.executable, __file__, "--one", name, str(edges), *(["--large"] if large else [])]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(answer.stdout.splitlines()[-1])


def report(what, value, goal, at_most, ceiling=None):
    """Print a figure and its goal; the ceiling is what the figure could be at most."""
    global missed, beyond
    good = value <= goal if at_most else value >= goal
    proved = not good and ceiling is not None and ceiling < goal
    missed += not good and not proved
    beyond += proved
    word = "ok" if good else "OUT OF REACH" if proved else "MISSED"
    print(f"    {what:64s} {value:10.3g}   goal {'<=' if at_most else '>='} {goal:<6g} {word}", flush=True)
    if not good and ceiling is not None:
        print(f"        the bare arithmetic allows {ceiling:.3g}", flush=True)


COLUMNS = (
    "graph",
    "edges",
    "dim",
    "build s",
    "MB",
    "eta n M",
    "round",
    "factors",
    "small",
    "factors",
    "bare",
    "Clarabel",
    "cvxpy",
)
HEAD = " ".join(f"{name:>8s}" for name in (*COLUMNS, "FTRL", "FTPL"))


def table_row(found):
    """One line of the table; times in milliseconds."""
    times = {
        key: f"{1e3 * found[key]:.4g}"
        for key in ("theorem", "small", "bare", "clarabel", "cvxpy", "FTRL", "FTPL")
        if key in found
    }
    numbers = (
        found["graph"], found["edges"], found["dim"],
        f"{found['build']:.2f}", f"{found['memory']:.0f}", f"{found['rate']:.3f}",
        times["theorem"], f"{found['theorem_factors']:.2f}", times["small"], f"{found['small_factors']:.2f}",
        *(times.get(key, "-") for key in ("bare", "clarabel", "cvxpy", "FTRL", "FTPL")),
    )  # fmt: skip
    print(" ".join(f"{number!s:>8s}" for number in numbers), flush=True)


def judge(found, size):
    for peer in ("clarabel", "cvxpy"):
        if size in RATIOS and peer in found:
            for key, goal, words in zip(
                ("theorem", "small"), RATIOS[size], ("the theorem's rate", "small steps"), strict=True
            ):
                what, ceiling = f"{peer} over a round at {words}, {found['graph']}", found[peer] / found["bare"]
                report(what, found[peer] / found[key], goal, False, ceiling)
    if size == SIZES[-1]:
        if found["graph"] != "layered":
            report(f"seconds of a round at the theorem's rate, {found['graph']}", found["theorem"], SECONDS, True)
        report(f"CPU seconds to declare and build SCRiBLe, {found['graph']}", found["build"], BUILD, True)
    report(f"what flows miss at a node, {found['graph']}", found["conserved"], CONSERVED, True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out 1e5 edges")
    parser.add_argument("--large", action="store_true", help="a planar graph of 600,000 edges as well")
    parser.add_argument("--one", nargs=2, metavar=("GRAPH", "EDGES"), help="one graph alone, as JSON")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one[0], int(options.one[1]), options.large)))
        return 0
    print(f"steps at the rate of SCRiBLe's theorem for T = {HORIZON}; CPU times on one thread, ms unless said")
    print(HEAD)
    memory = {}
    for size in SIZES[:-1] if options.quick else SIZES:
        for name in GRAPHS:
            found = asked(name, size)
            table_row(found)
            judge(found, size)
            memory[name, size] = found["memory"] / found["edges"]
    hop_limited()
    if not options.quick:
        growth = memory["planar", SIZES[-1]] / memory["planar", SIZES[-2]]
        report("memory for each edge, 1e5 over 1e4, planar", growth, LINEAR, True)
    if options.large:
        found = asked("planar", 600_000, large=True)
        table_row(found)
        judge(found, 600_000)
    print(f"{missed} goals missed, and {beyond} out of reach of the bare arithmetic")
    return missed


if __name__ == "__main__":
    sys.exit(main())
