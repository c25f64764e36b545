"""A counter that nobody planned for: one class in the registry, and sums, tables, audits and bounds know it.

A toy tree (every item its own node) and a toy factorisation (noise on every prefix) are registered for the test.
"""

import math

import cvxpy as cp
import numpy as np
import pytest

import decision_sets as ds
from dpcvx import FTPL, FTRL, LossSet, audit
from dpcvx.privacy import PrivateSums, plan
from dpcvx.privacy.audit import exact_view, worst_neighbours
from dpcvx.privacy.audit.density import certify
from dpcvx.privacy.counters import COUNTERS, Factors
from dpcvx.privacy.counters.counter import Structure
from dpcvx.privacy.counters.factorisation import Factorisation
from dpcvx.privacy.counters.tree import Tree
from dpcvx.studies import counter_table
from dpcvx.studies.audit_table import interval, secure, shipped_cases, simulated


class Flat(Tree):
    """Every item is a node of its own; the other nodes of a prefix are empty."""

    key, name = "flat", "flat tree"

    @classmethod
    def structure(cls, horizon, norm):
        return Structure(min(horizon - 1, 1), horizon - 1)

    def _step(self):
        return self.items - 1


class Same:
    def step(self, x):
        return x

    def steps(self, x):
        return x


class RunningSum:
    def __init__(self, shape):
        self.total = np.zeros(shape)

    def step(self, x):
        self.total = self.total + x
        return self.total


class NaiveFactors(Factors):
    """B = I, C = A."""

    def __init__(self, size):
        self.size, self.sensitivity = size, math.sqrt(size) * (1 + 1e-12)

    def row_norm(self, t):
        return np.ones(np.shape(t))

    def b_filter(self, shape=()):
        return Same()

    def c_filter(self, shape=()):
        return RunningSum(shape)

    def rounding_error(self, bound):
        return 0.0

    def matrices(self, steps):
        return np.eye(steps), np.tri(steps)


class Naive(Factorisation):
    key, name = "naive", "noise on every prefix"

    @classmethod
    def factors(cls, horizon):
        return NaiveFactors(max(horizon - 1, 1))


class Cheating(Naive):
    """Deliberately wrong: says that one item moves the stream no farther than itself."""

    key, name = "cheating", "cheating"

    @classmethod
    def moved(cls, horizon, round_units, rounds, size, largest):
        return rounds * round_units


SETTINGS = [("flat", 2.0, 0.0), ("flat", 4.0, 1e-3), ("naive", 4.0, 1e-3)]


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    for counter in (Flat, Naive, Cheating):
        monkeypatch.setitem(COUNTERS, counter.key, counter)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("key", "epsilon", "delta"), SETTINGS)
@pytest.mark.parametrize("maker", [simulated, secure])
def test_exact_audits_know_a_new_counter(key, epsilon, delta, maker):
    kind = (PrivateSums,) if maker is simulated else ()
    make = maker(*kind, interval(-1, 1), 8, epsilon, delta=delta, counter=key)
    certificate = certify(make, claim=epsilon, delta=delta)
    assert not certificate.exceeded and certificate.epsilon > 0.85 * epsilon
    view = exact_view(make, *worst_neighbours(interval(-1, 1), 8, norm=2 if delta else 1))
    result = audit(view.first, view.second, claim=epsilon, delta=delta, score=view.score, samples=8_000)
    assert not result.exceeded and result.lower_bound > 0.1 * epsilon  # secure noise: seven deviations away


def test_a_wrong_answer_of_a_new_counter_is_found_out():
    make = simulated(PrivateSums, interval(-1, 1), 8, 4.0, delta=1e-3, counter="cheating")
    assert certify(make, claim=4.0, delta=1e-3).exceeded
    view = exact_view(make, *worst_neighbours(interval(-1, 1), 8, norm=2))
    assert audit(view.first, view.second, claim=4.0, delta=1e-3, score=view.score, samples=40_000).exceeded


@pytest.mark.parametrize(("key", "epsilon", "delta"), SETTINGS)
def test_learners_play_and_prove_their_bounds_on_a_new_counter(key, epsilon, delta):
    loss = cp.Variable(3)
    Y = LossSet(loss, [loss >= 0, loss <= 1])
    for kind in (FTRL, FTPL):
        for seed in (None, 0):
            learner = kind(ds.simplex(3), Y, 16, epsilon, delta, counter=key, seed=seed)
            for _ in range(4):
                learner.act()
                learner.update(np.full(3, 0.5))
            assert learner.regret_bound.total > 0
            assert COUNTERS[key].name in str(learner.certificate)
    p = plan(Y, 16, epsilon, delta, counter=key, noise=None if delta else "laplace")
    one = p.sensitivity.value * p.law.per_unit(1, epsilon, delta)  # in units of which the table of counters speaks
    assert p.prefix_deviation == pytest.approx(COUNTERS[key].relative_deviation(16, p.law.norm) * one, rel=1e-6)


def test_a_new_counter_is_in_the_tables_and_refuses_what_it_cannot_do():
    names = [name for name, *_ in counter_table.rows(64)]
    assert names.count("flat tree") == 2 and names.count("noise on every prefix") == 1
    cases = [case.name for case in shipped_cases(10, 10)]
    assert (
        "flat, knorm, T = 8, replace, simulated" in cases
        and "naive, gaussian, T = 8, zero-out, secure, vector" in cases
    )
    with pytest.raises(ValueError, match='The "naive" counter is for Gaussian noise'):
        plan(interval(-1, 1), 8, 1.0, counter="naive")
