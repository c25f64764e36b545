"""Every learner under every kind of declared change: coupled exactly and sampled; what takes it for less is caught."""

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import box_losses

import decision_sets as ds
import dpcvx
from dpcvx import FTPL, FTRL, Exp2, LogBarrierBandit, PrivateBandit, SCRiBLe, audit, couple
from dpcvx.privacy.audit import worst_neighbours
from dpcvx.studies.coupled_mechanisms import changed_mechanisms

COUPLED = list(changed_mechanisms())
QUICK = ("; entries move", "nearest", "hundredth short", "unit forgotten")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=() if any(word in case.name for word in QUICK) else pytest.mark.slow)
        for case in COUPLED
    ],
)
def test_declared_changes_are_hidden_and_what_takes_them_for_less_is_caught(case):
    found = [couple(case.make, *streams, seed=0) for streams in case.streams]
    assert all(one.holds for one in found) == case.shipped, [str(one) for one in found]
    assert not any(one.differences for one in found)  # whatever is wrong is the price, to the bit
    if case.shipped and "FTRL" in case.name:
        assert max(one.price.epsilon for one in found) > 0.999  # and nothing is wasted


def test_streams_that_differ_by_more_than_was_declared_are_no_neighbours():
    Y, d, larger = box_losses(3), cp.Variable(3), cp.Variable(3)
    change = dpcvx.Change(d, [cp.norm1(d) <= 0.01])
    more = dpcvx.Change(larger, [cp.norm1(larger) <= 0.0101])
    make = lambda: dpcvx.PrivateSums(Y, 8, 1.0, neighbours=change)  # noqa: E731
    assert couple(make, *worst_neighbours(Y, 8, change)).holds
    with pytest.raises(ValueError, match="more than the declared change"):
        couple(make, *worst_neighbours(Y, 8, more))
    found = couple(make, *worst_neighbours(Y, 8, more), neighbours=more)  # a change understated by 1 %
    assert not found.holds and found.price.epsilon == pytest.approx(1.01, rel=2e-3)


def test_longest_changes_are_found_and_start_inside_the_losses():
    Y = box_losses(4)
    for change, p, size in (
        (ds.few_entries(4, 2, 0.1), 1, 0.2),
        (ds.few_entries(4, 2, 0.1), 2, 0.1 * 2**0.5),
        (ds.share(Y, 10), 1, 0.8),
    ):
        first, second = worst_neighbours(Y, 3, change, norm=p)
        assert (first[1:] == second[1:]).all() and np.abs(first).max() <= 1 + 1e-12
        assert np.linalg.norm(first[0] - second[0], p) == pytest.approx(size, rel=1e-6)
        assert change.contains(first[0] - second[0], 1e-12)


# sampling: actions of two rounds and more, at confidence 1 - 1e-6


def _kinds(size):
    d, comes, c = cp.Variable(2), cp.Variable(2), cp.Variable(2)
    return {
        "entries": dpcvx.Change(d, [cp.norm_inf(d) <= size]),
        "comes": dpcvx.Change(comes, [comes >= size / 4, comes <= size]),
        "replaced": dpcvx.Change(c, [c >= -size / 2, c <= size / 2], replace=True),
    }


def _odds(stream, make):
    """A sampler of the log-odds of all actions, which tell as much as the actions."""

    def sample(rng, n):
        learner, seen = make(rng, n), []
        for loss in stream:
            action = np.clip(learner.act(), 1e-300, 1.0)
            seen.append(np.log(action[:, 0] / action[:, 1]))
            learner.update(loss)
        return np.stack(seen[1:], axis=1)

    return sample


@pytest.mark.slow
@pytest.mark.parametrize("kind", _kinds(0.1))
@pytest.mark.parametrize("learner", ["ftrl", "ftpl"])
def test_sampled_actions_keep_the_claim_and_a_change_taken_for_a_third_is_caught(learner, kind):
    X, Y, claim = ds.simplex(2), box_losses(2), 2.0
    streams = np.zeros((2, 3, 2))
    streams[:, 0] = [[0.05, -0.05], [-0.05, 0.05]] if kind != "comes" else [[0.1, 0.1], [0.0, 0.0]]

    def run(size):
        change = _kinds(size)[kind]

        def make(rng, n):
            if learner == "ftpl":
                return FTPL(X, Y, 3, claim, neighbours=change, seed=rng, replicas=n)
            options = {"regularizer": "entropy", "learning_rate": 1e-2, "neighbours": change}
            return FTRL(X, Y, 3, claim, seed=rng, replicas=n, **options)

        samplers = [_odds(stream, make) for stream in streams]
        return audit(*samplers, claim=claim, bits=False, samples=200_000, seed=1)

    assert not run(0.1).exceeded
    if learner == "ftrl" and kind != "comes":  # FTPL shows a vertex a round; what comes to both moves no odds
        assert run(0.1 / 3).exceeded


@pytest.mark.slow
@pytest.mark.parametrize("kind", _kinds(0.1))
@pytest.mark.parametrize("name", ["Exp2", "LogBarrierBandit", "SCRiBLe"])
def test_sampled_bandits_keep_the_claim_and_feedback_without_noise_is_caught(name, kind):
    Y = box_losses(2)
    learner = {
        "Exp2": lambda: Exp2(np.eye(2), Y, 3, learning_rate=1e3),
        "LogBarrierBandit": lambda: LogBarrierBandit(2, Y, 3, learning_rate=1e3),
        "SCRiBLe": lambda: SCRiBLe(ds.simplex(2), Y, 3, play="vertices", learning_rate=10.0),
    }[name]()
    values = (0.05, -0.05) if kind != "comes" else (0.1, 0.0)

    def run(change):
        def sequences(first):
            def sample(rng, n):
                own, noise = rng.spawn(2)
                private = PrivateBandit(learner.simulated(n, own), 1.0, batch=1, neighbours=change, seed=noise)
                code = np.zeros(n)
                for t in range(learner.horizon):
                    code = 2 * code + private.act()[:, 0].round()
                    private.update(np.full(n, first if t == 0 else 0.0))
                return code[:, None]

            return sample

        first, second = sequences(values[0]), sequences(values[1])
        counts = [
            np.bincount(one(np.random.default_rng(9), 3000)[:, 0].astype(int), minlength=8) for one in (first, second)
        ]
        ratios = np.log((counts[0] + 1.0) / (counts[1] + 1.0))
        return audit(first, second, claim=1.0, score=lambda out: ratios[out[:, 0].astype(int)], samples=16_000, seed=3)

    assert not run(_kinds(0.1)[kind]).exceeded
    if name != "SCRiBLe" and kind != "comes":
        assert run(_kinds(1e-6)[kind]).exceeded
