"""Speed of bandit rounds as ratios to peers in the same run; exits with the number of missed goals.

python benchmarks/bandits.py            # about three minutes
python benchmarks/bandits.py --million  # also the run that is extrapolated otherwise
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import statistics
import sys
import time
import tracemalloc

import clarabel
import cvxpy as cp
import goals
import numpy as np
from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import dims_to_solver_cones
from goals import in_turn, report, seconds
from hard_sequences import grid_paths
from scipy import sparse

import decision_sets as ds
from dpcvx import AdaptiveBandit, Exp2, HybridBandit, LazyWeights, LogBarrierBandit, PrivateBandit, SCRiBLe, simulate
from dpcvx.actions.listed import Listed
from dpcvx.experiments.losses import const

LONG = 10**6


def rounds_of(learner, loss):
    def step():
        learner.update(learner.act() @ loss)

    return step


class Resolved:
    """The barrier argmin of { x : A x <= b, E x = e } solved anew in every round, as a program with exponential cones.

    The problem is built once and its factorisation analysed once; a round moves the linear cost.
    """

    def __init__(self, A, b, E=None, e=None):
        n = A.shape[1]
        self.x, self.cost = cp.Variable(n), cp.Parameter(n, value=np.zeros(n))
        equalities = [] if E is None else [E @ self.x == e]
        self.problem = cp.Problem(cp.Minimize(self.cost @ self.x - cp.sum(cp.log(b - A @ self.x))), equalities)
        data = self.problem.get_problem_data(cp.CLARABEL)[0]
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.presolve_enable = False, False
        self.q = data["c"].copy()
        (self.where,) = np.nonzero(self._probe() != self.q)
        none = sparse.csc_matrix((len(self.q), len(self.q)))
        cones = dims_to_solver_cones(data["dims"])
        self.solver = clarabel.DefaultSolver(none, self.q, data["A"], data["b"], cones, settings)
        self.rng = np.random.default_rng(0)
        self._check()

    def _probe(self):
        """The cost vector of the cone program for costs 1, 2, ...; its differing entries are x."""
        self.cost.value = np.arange(1.0, len(self.cost.value) + 1)
        return self.problem.get_problem_data(cp.CLARABEL)[0]["c"]

    def _check(self):
        """Both ways give the same point."""
        self.cost.value = self.rng.standard_normal(len(self.where))
        self.q[self.where] = self.cost.value
        self.solver.update(q=self.q)
        direct = np.array(self.solver.solve().x)[self.where]
        self.problem.solve(solver=cp.CLARABEL)
        assert np.abs(direct - self.x.value).max() < 1e-3

    def directly(self):
        self.q[self.where] = 5 * self.rng.standard_normal(len(self.where))
        self.solver.update(q=self.q)
        self.solver.solve()

    def by_cvxpy(self):
        self.cost.value = 5 * self.rng.standard_normal(len(self.where))
        self.problem.solve(solver=cp.CLARABEL)


def today():
    """Against solving the argmin anew in every round."""
    n = 20
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, n))
    cases = {
        "polytope n=20, 60 rows": (ds.polytope(A, np.ones(60)), Resolved(A, np.ones(60))),
        "simplex N=20": (ds.simplex(n), Resolved(-np.eye(n), np.zeros(n), np.ones((1, n)), 1.0)),
    }
    for name, (X, peer) in cases.items():
        loss = rng.standard_normal(n)
        loss /= np.linalg.norm(loss)
        step = rounds_of(SCRiBLe(X, ds.loss_ball(n, 2), LONG, seed=0), loss)
        seconds(step, 200)
        report(f"{name}: Clarabel re-solve / a round of SCRiBLe", in_turn(peer.directly, step, (20, 300), 9), 10, False)
        report(f"{name}: cvxpy DPP re-solve / a round of SCRiBLe", in_turn(peer.by_cvxpy, step, (5, 300), 9), 40, False)


def replicas():
    """One replica against a hundred, for each replica and round."""
    n, R = 10, 100
    rng = np.random.default_rng(0)
    P = ds.polytope(rng.standard_normal((30, n)), np.ones(30))
    for X, p, goal in ((ds.cube(n), 1, 15), (P, 2, 5)):
        loss = np.eye(n)[0]
        one, many = (
            rounds_of(SCRiBLe(X, ds.loss_ball(n, p), LONG, seed=0, replicas=replicas), loss) for replicas in (None, R)
        )
        seconds(many, 100)
        ratio = R * in_turn(one, many, (300, 100), 9)
        report(f"{X.name}: a round of one replica / of one of {R} replicas", ratio, goal, False)


def samplers():
    """A round, which samples the Dikin ellipsoid and moves its center, against one step of a Dikin walk."""
    try:
        import polytopewalk
    except ImportError:
        report("polytopewalk is not installed (pip install '.[bench]'): Dikin steps over rounds", 0.0, 1, False)
        return
    n, steps = 100, 200
    dense, thin = polytopewalk.dense.DikinWalk(), polytopewalk.sparse.SparseDikinWalk()
    whole, unit = np.eye(n), np.eye(n - 1)
    cases = {  # with the polytope in the two forms that the package knows: A x <= b, and A x = b with x >= 0
        "cube": (
            ds.cube(n),
            1,
            lambda: dense.generateCompleteWalk(steps, np.zeros(n), np.vstack([whole, -whole]), np.ones(2 * n)),
            lambda: thin.generateCompleteWalk(
                steps, np.ones(2 * n), sparse.csc_matrix(np.hstack([whole, whole])), 2 * np.ones(n), 2 * n
            ),
        ),
        "simplex": (
            ds.simplex(n),
            2,
            lambda: dense.generateCompleteWalk(
                steps, np.full(n - 1, 1 / n), np.vstack([-unit, np.ones(n - 1)]), np.eye(n)[-1]
            ),
            lambda: thin.generateCompleteWalk(
                steps, np.full(n, 1 / n), sparse.csc_matrix(np.ones((1, n))), np.ones(1), n
            ),
        ),
    }
    loss = np.eye(n)[0]
    for name, (X, p, *walks) in cases.items():
        step = rounds_of(SCRiBLe(X, ds.loss_ball(n, p), LONG, seed=0), loss)
        seconds(step, 200)
        best = min(walks, key=lambda walk: seconds(walk, 1))
        ratio = in_turn(best, step, (1, 300), 9) / steps
        report(f"{name} N={n}: a Dikin step of polytopewalk, dense or sparse / a round of SCRiBLe", ratio, 1, False)


def arms():
    """Microseconds for each replica and round of private arms, beyond those for drawing its noise."""
    n, R = 10, 100
    Y = ds.loss_box(n, 0, 1)
    losses = np.linspace(0, 1, n)
    rng = np.random.default_rng(0)
    for learner in (Exp2(np.eye(n), Y, LONG), LogBarrierBandit(n, Y, LONG)):
        step = rounds_of(PrivateBandit(learner, 1.0, batch=1).simulated(R, 0), losses)
        seconds(step, 200)
        beyond = [seconds(step, 300) - seconds(lambda: rng.laplace(size=R), 300) for _ in range(9)]
        micros = 1e6 * statistics.median(beyond) / R
        report(f"microseconds beyond the noise for one of {R} replicas, {learner.name}, arms N={n}", micros, 2, True)


def learners():
    """A round of the learners that explore little, against one of EXP2 on the same actions."""
    grid, large = grid_paths(5), grid_paths(8)
    games = {
        "arms N=10": (ds.simplex(10), ds.loss_box(10, 0, 1)),
        "arms N=100": (ds.simplex(100), ds.loss_box(100, 0, 1)),
        "cube n=10": (ds.cube(10), ds.loss_ball(10, 1)),
        "3-sets of 10": (ds.capped_simplex(10, 3), ds.loss_box(10, 0, 1)),
        "5-sets of 20": (ds.capped_simplex(20, 5), ds.loss_box(20, 0, 1)),
        "5x5 paths": (grid, ds.loss_box(grid.size, 0, 1)),
        "8x8 paths": (large, ds.loss_box(large.size, 0, 1)),
    }
    for name, (X, Y) in games.items():
        loss = np.linspace(0, 1, X.size) / X.size
        peer = rounds_of(Exp2(X, Y, LONG, seed=0), loss)
        for kind in (HybridBandit, AdaptiveBandit):
            if kind is AdaptiveBandit or kind.refusal(X, Y) is None:
                step = rounds_of(kind(X, Y, LONG, seed=0), loss)
                seconds(step, 50)
                ratio = in_turn(step, peer, (100, 100), 9)
                report(f"{name}: a round of {kind.__name__} / of EXP2", ratio, 3, True)
        if isinstance(X.action_family(), Listed):
            lazy = LazyWeights(X, Y, LONG, 1.0, seed=0)
            ratio = in_turn(lambda lazy=lazy, loss=loss: (lazy.act(), lazy.update(loss)), peer, (100, 100), 9)
            report(f"{name}: a round of LazyWeights / of EXP2", ratio, 3, True)


def long_runs():
    """Absolute figures, in CPU time: long runs of many experts, paths through a large graph, very many arms."""
    N, T = 1000, 2**16
    learner = LazyWeights(ds.simplex(N), ds.loss_box(N, 0, 1), T, 1.0, seed=1, replicas=60)
    loss = np.linspace(0, 1, N)
    begun = time.process_time()
    for _ in range(T):
        learner.act()
        learner.update(loss)
    report("seconds for 2^16 rounds of 60 replicas of LazyWeights, N=1000", time.process_time() - begun, 30, True)
    X = grid_paths(8)
    step = rounds_of(AdaptiveBandit(X, ds.loss_box(X.size, 0, 1), LONG, seed=0), np.linspace(0, 1, X.size) / X.size)
    step()
    begun = time.process_time()
    for _ in range(200):
        step()
    report(
        f"milliseconds a round of AdaptiveBandit, paths of {X.size} edges", 5 * (time.process_time() - begun), 6, True
    )
    N = 10**5
    for kind in (AdaptiveBandit, HybridBandit):
        learner = kind(ds.simplex(N), ds.loss_box(N, 0, 1), LONG, seed=0)
        tracemalloc.start()
        for _ in range(3):
            learner.update(float(learner.act()[0]))
        report(f"megabytes of {kind.__name__} on 1e5 arms", tracemalloc.get_traced_memory()[1] / 2**20, 100, True)
        tracemalloc.stop()


def million(rounds):
    """A million rounds of 32 replicas of private SCRiBLe on the cube, or the time of fewer extrapolated to it."""
    n, R = 10, 32
    X, Y = ds.cube(n), ds.loss_ball(n, 1)
    for private in (PrivateBandit(SCRiBLe(X, Y, LONG), 1.0), PrivateBandit(SCRiBLe(X, Y, LONG), 1.0, batch=1)):
        minutes = simulate(private, const(X, Y, rounds), R, seed=0).seconds / 60 * LONG / rounds
        report(f"minutes for 10^6 rounds of 32 private replicas, cube n=10, batch={private.batch}", minutes, 6, True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--million", action="store_true", help="the whole run of a million rounds")
    chosen = parser.parse_args()
    today()
    samplers()
    replicas()
    arms()
    learners()
    long_runs()
    million(LONG if chosen.million else 20_000)
    sys.exit(goals.missed)
