"""Learners on sets that carry a map to links: sums, noise and certificates are about links, actions about edges."""

from functools import cache

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest

import decision_sets as ds
from dpcvx import (
    FTPL,
    FTRL,
    AdaptiveBandit,
    Change,
    Exp2,
    LazyWeights,
    LossSet,
    PrivateBandit,
    PrivateSums,
    SCRiBLe,
    check_learner,
    couple,
    private_bandit,
    private_learner,
    simulate,
)
from dpcvx.errors import UnsupportedConeError
from dpcvx.experiments import losses as sequences

TOWN = nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c"), ("a", "c"), ("c", "b"), ("c", "d"), ("b", "d"), ("d", "c")])
LINKS = len(TOWN.edges)


@cache
def routes(cycles: str) -> ds.Routes:
    return ds.routes(TOWN, "a", "d", cycles=cycles, hops=4 if cycles == "hops" else None)


@cache
def times() -> LossSet:
    """Times of links, each between its own two numbers."""
    loss, ends = cp.Variable(LINKS), np.linspace(1, 2, LINKS)
    return LossSet(loss, [loss >= ends, loss <= 3 * ends])


LEARNERS = {
    "FTRL": lambda X, T, **seed: FTRL(X, times(), T, 1.0, **seed),
    "FTRL, Euclidean": lambda X, T, **seed: FTRL(X, times(), T, 1.0, regularizer="euclidean", **seed),
    "FTPL": lambda X, T, **seed: FTPL(X, times(), T, 1.0, 1e-6, **seed),
    "LazyWeights": lambda X, T, **seed: LazyWeights(X, times(), T, 1.0, **seed),
    "SCRiBLe": lambda X, T, **seed: PrivateBandit(SCRiBLe(X, times(), T, **seed), 1.0, **seed),
    "Exp2": lambda X, T, **seed: PrivateBandit(Exp2(X, times(), T, **seed), 1.0, **seed),
    "AdaptiveBandit": lambda X, T, **seed: PrivateBandit(AdaptiveBandit(X, times(), T, **seed), 1.0, **seed),
}
QUICK = ("FTRL, Euclidean", "FTPL", "AdaptiveBandit")


@pytest.mark.parametrize(
    ("name", "cycles"),
    [
        pytest.param(name, cycles, marks=() if name == "AdaptiveBandit" and cycles == "hops" else pytest.mark.slow)
        for name in LEARNERS
        for cycles in ("toward", "hops")
    ],
)
def test_learners_keep_the_protocol(name, cycles):
    X = routes(cycles)
    check_learner(lambda seed: LEARNERS[name](X, 12, **({} if seed is None else {"seed": seed})))


def streams(rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Two streams of times that differ in all links of one day, by as much as they can."""
    low, high = times().bounding_box()
    first = np.random.default_rng(0).uniform(low, high, (rounds, LINKS))
    second = first.copy()
    first[3], second[3] = low, high
    return first, second


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in LEARNERS]
)
def test_learners_show_nothing_but_their_releases(name):
    found = couple(lambda: LEARNERS[name](routes("hops"), 9), *streams(9))
    assert found.holds and found.releases, str(found)


class Leaking(FTRL):
    """Reads the last loss itself, beside the noisy sum."""

    _seen: np.ndarray | None = None

    def _learn(self, feedback):
        super()._learn(feedback)
        self._seen = np.asarray(feedback)

    def _best_action(self, noisy_sum, constants):
        return super()._best_action(noisy_sum if self._seen is None else noisy_sum + self._seen, constants)


def test_a_learner_that_reads_a_loss_beside_the_sums_is_found_out():
    assert not couple(lambda: Leaking(routes("hops"), times(), 9, 1.0), *streams(9)).holds


@pytest.mark.parametrize("cycles", ["toward", "hops"])
def test_sensitivity_is_that_of_the_sums_of_links(cycles):
    own = FTRL(routes(cycles), times(), 64, 1.0).certificate
    sums = PrivateSums(times(), 64, 1.0).certificate
    assert (own.sensitivity, own.scale, own.releases_per_loss) == (sums.sensitivity, sums.scale, sums.releases_per_loss)


def test_sums_of_links_pulled_back_play_as_sums_of_edges():
    X = routes("hops")
    lower, upper = (X.links_map.T @ end for end in times().bounding_box())
    loss = cp.Variable(X.size)
    edges = LossSet(loss, [loss >= lower, loss <= upper])
    ours, theirs = (FTRL(X, Y, 20, regularizer="euclidean", learning_rate=0.1) for Y in (times(), edges))
    for day in streams(20)[0]:
        assert ours.act() == pytest.approx(theirs.act(), abs=1e-9)
        ours.update(day)
        theirs.update(day[X.links])


def test_feedback_lies_in_the_interval_of_what_the_route_uses():
    X, Y = routes("hops"), times()
    bandit = PrivateBandit(AdaptiveBandit(X, Y, 40, seed=1), 1.0, batch=1, seed=1)
    widths = []
    for day in streams(40)[0]:
        action = bandit.act()
        low, high = Y.range(X.links_map @ action)
        assert bandit._turn.interval == pytest.approx((low, high))
        assert bandit.sizes.values[0] <= low and high <= bandit.sizes.values[1]
        widths.append(high - low)
        bandit.update(float(day @ (X.links_map @ action)))
    assert max(widths) <= bandit.certificate.sensitivity


def test_a_declared_change_of_links_is_priced_through_the_routes():
    X, Y = routes("hops"), times()
    d = cp.Variable(LINKS)
    change = Change(d, [cp.norm_inf(d) <= 0.01])
    certificate = PrivateBandit(AdaptiveBandit(X, Y, 40, seed=1), 1.0, neighbours=change, batch=1, seed=1).certificate
    longest = max(np.abs(X.links_map @ vertex).sum() for vertex in X.vertices())
    assert longest * 0.01 <= certificate.sensitivity <= longest * 0.01 * 1.02
    assert certificate.epsilon_for("replace") > 50


@pytest.mark.parametrize("cycles", ["toward", "hops"])
def test_regret_is_against_the_best_fixed_route(cycles):
    X, days = routes(cycles), streams(30)[0]
    result = simulate(FTRL(X, times(), 30, seed=0), days, replicas=1, checkpoints=[30])
    learner, cost = FTRL(X, times(), 30, seed=0), 0.0
    for day in days:
        cost += float(day @ (X.links_map @ learner.act()))
        learner.update(day)
    best = min(float(days.sum(axis=0) @ (X.links_map @ vertex)) for vertex in X.vertices())
    assert result.regret[0, -1] == pytest.approx(cost - best)


@pytest.mark.parametrize("name", ["coins", "const", "switch", "gap", "late_riser"])
def test_losses_are_made_for_links(name):
    made = getattr(sequences, name)(routes("hops"), times(), 16, seed=1)
    assert made.shape == (LINKS,) and all(times().contains(loss, 1e-6) for loss in made.block(0, 16))


def test_a_loss_that_favours_a_route_does():
    X = routes("hops")
    loss = sequences.const(X, times(), 4, seed=1).block(0, 1)[0]
    values = [float(loss @ (X.links_map @ vertex)) for vertex in X.vertices()]
    assert min(values) < float(loss @ (X.links_map @ X.center)) - 1


@pytest.mark.slow
def test_the_choice_of_learners_takes_links():
    X = routes("hops")
    assert X.contains(private_learner(X, times(), 64, 1.0, 1e-6).act(), 1e-8)
    assert X.contains(private_bandit(X, times(), 64, 1.0).act(), 1e-8)


class Own:
    """A learner that always drives the same way."""

    def __init__(self, action):
        self.action = action

    def act(self):
        return self.action

    def update(self, value):
        pass


BANDITS = {
    "SCRiBLe": lambda X: SCRiBLe(X, times(), 8),
    "Exp2": lambda X: Exp2(X, times(), 8),
    "AdaptiveBandit": lambda X: AdaptiveBandit(X, times(), 8),
    "private_bandit": lambda X: private_bandit(X, times(), 8, 1.0),
    "private_bandit, practice": lambda X: private_bandit(X, times(), 8, 1.0, choose="practice"),
    "an own learner": lambda X: PrivateBandit(Own(X.center), 1.0, decision_set=X, loss_set=times(), horizon=8),
    "action_family": lambda X: X.action_family(),
}


@pytest.mark.parametrize("name", BANDITS)
def test_capped_flows_are_refused_for_bandits_with_the_reason(name):
    with pytest.raises((ValueError, UnsupportedConeError), match="full information only: a bandit sees what one route"):
        BANDITS[name](routes("capped"))


def test_capped_flows_are_learnt_with_full_information():
    X = routes("capped")
    learner = FTRL(X, times(), 16, 1.0, seed=1)
    for day in streams(16)[0]:
        assert X.contains(learner.act(), 1e-8)
        learner.update(day)
