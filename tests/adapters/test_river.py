"""Policies of river, made private: the real ones."""

import numpy as np
import pytest
from playing import mean_reward

import dpcvx
from dpcvx.adapters import PrivateArms, from_river

bandit = pytest.importorskip("river.bandit", reason="river is not installed: pip install 'dpcvx[adapters]'")
proba = pytest.importorskip("river.proba", reason="river is not installed: pip install 'dpcvx[adapters]'")

POLICIES = {
    "UCB": lambda: bandit.UCB(delta=1, seed=1),
    "EpsilonGreedy": lambda: bandit.EpsilonGreedy(epsilon=0.1, seed=1),
    "ThompsonSampling": lambda: bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=1),
    "Exp3": lambda: bandit.Exp3(gamma=0.2, seed=1),
    "BayesUCB": lambda: bandit.BayesUCB(seed=1),
}
MEANS = np.array([0.1, 0.9, 0.2])


@pytest.mark.parametrize("name", POLICIES)
def test_a_private_policy_learns(name):
    """In simulation with a fixed seed, so nothing is left to chance; the mean of all arms is 0.4."""
    assert mean_reward(from_river(POLICIES[name](), 3, 2.0, seed=0), MEANS, 800) > 0.6


@pytest.mark.parametrize("name", POLICIES)
def test_neighbouring_streams_show_the_same_and_cost_no_more_than_is_claimed(name):
    first = np.random.default_rng(2).uniform(0, 1, (9, 3))
    second = first.copy()
    first[2], second[2] = 0.0, 1.0
    found = dpcvx.couple(lambda: PrivateArms(POLICIES[name](), 3, 1.0, batch=1).bandit, first, second)
    assert found.holds, str(found)
    assert found.price.epsilon > 0.999


def test_what_a_policy_cannot_bear_is_brought_into_its_range():
    told = {name: from_river(make(), 3, 1.0).policy.told for name, make in POLICIES.items()}
    assert (told["ThompsonSampling"], told["Exp3"], told["UCB"]) == ("coin", "unit", "noisy")
    arms = from_river(POLICIES["ThompsonSampling"](), 3, 0.5, seed=0, batch=1)
    mean_reward(arms, MEANS, 60)
    counts = arms.policy.policy._rewards
    assert sum(one.n_samples for one in counts.values()) == 60


def test_a_policy_with_contexts_or_a_past_is_refused():
    with pytest.raises(dpcvx.DpcvxError, match="needs contexts"):
        from_river(bandit.LinUCBDisjoint(alpha=0.1), 3, 1.0)
    used = bandit.UCB(delta=1)
    used.update(0, 1.0)
    with pytest.raises(dpcvx.DpcvxError, match="updated 1 times already"):
        PrivateArms(used, 3, 1.0)
    with pytest.raises(dpcvx.DpcvxError, match=r"one of river\.bandit"):
        from_river(object(), 3, 1.0)


def test_a_policy_that_pulls_no_arm_as_it_was_made_is_refused_with_what_it_needs():
    """The usual reward_obj of river's ThompsonSampling is a mean, which it cannot draw from."""
    with pytest.raises(dpcvx.ArgumentError, match=r"ThompsonSampling of river pulls no arm .* another reward_obj"):
        PrivateArms(bandit.ThompsonSampling(seed=1), 3, 1.0)


def test_a_private_policy_is_saved_and_goes_on(tmp_path):
    arms = from_river(POLICIES["UCB"](), 3, 1.0)
    mean_reward(arms, MEANS, 20)
    dpcvx.save(arms, tmp_path / "arms")
    again = dpcvx.load(tmp_path / "arms")
    mean_reward(again, MEANS, 5)
    assert again.rounds == 25
