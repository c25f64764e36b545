"""Policies of mabwiser, made private: the real ones."""

import numpy as np
import pytest
from playing import mean_reward

import dpcvx
from dpcvx.adapters import PrivateArms, from_mabwiser

mab = pytest.importorskip("mabwiser.mab", reason="mabwiser is not installed: pip install 'dpcvx[adapters]'")
KINDS = mab.LearningPolicy

POLICIES = {
    "EpsilonGreedy": KINDS.EpsilonGreedy(0.1),
    "UCB1": KINDS.UCB1(0.5),
    "Softmax": KINDS.Softmax(0.2),
    "ThompsonSampling": KINDS.ThompsonSampling(),
    "Popularity": KINDS.Popularity(),
}
ARMS = ["left", "middle", "right"]
MEANS = {"left": 0.1, "middle": 0.9, "right": 0.2}


def made(name):
    return mab.MAB(ARMS, POLICIES[name], seed=3)


@pytest.mark.parametrize("name", POLICIES)
def test_a_private_policy_learns(name):
    """In simulation with a fixed seed, so nothing is left to chance; the mean of all arms is 0.4."""
    assert mean_reward(from_mabwiser(made(name), 2.0, seed=0), MEANS, 300) > 0.45


@pytest.mark.parametrize("name", POLICIES)
def test_neighbouring_streams_show_the_same_and_cost_no_more_than_is_claimed(name):
    first = np.random.default_rng(2).uniform(0, 1, (9, 3))
    second = first.copy()
    first[2], second[2] = 0.0, 1.0
    found = dpcvx.couple(lambda: from_mabwiser(made(name), 1.0, batch=1).bandit, first, second)
    assert found.holds, str(found)
    assert found.price.epsilon > 0.999


def test_each_arm_is_played_once_before_the_policy_is_asked():
    arms = from_mabwiser(made("UCB1"), 1.0, batch=1)
    first = []
    for _ in range(3):
        first.append(arms.act())
        arms.update(0.5)
    assert first == ARMS


def test_a_policy_with_contexts_or_a_past_is_refused():
    with pytest.raises(dpcvx.DpcvxError, match="with contexts"):
        from_mabwiser(mab.MAB([0, 1], KINDS.LinUCB()), 1.0)
    used = made("UCB1")
    used.fit(ARMS, [1, 0, 1])
    with pytest.raises(dpcvx.DpcvxError, match="fitted already"):
        from_mabwiser(used, 1.0)
    with pytest.raises(dpcvx.DpcvxError, match=r"mabwiser\.mab\.MAB"):
        from_mabwiser(object(), 1.0)


def test_the_number_of_arms_is_that_of_the_policy():
    assert PrivateArms(made("UCB1"), 3, 1.0).act() in ARMS
    with pytest.raises(dpcvx.DpcvxError, match="n_arms must be 3"):
        PrivateArms(made("UCB1"), 4, 1.0)


def test_a_private_policy_is_saved_and_goes_on(tmp_path):
    arms = from_mabwiser(made("EpsilonGreedy"), 1.0)
    mean_reward(arms, MEANS, 20)
    dpcvx.save(arms, tmp_path / "arms")
    again = dpcvx.load(tmp_path / "arms")
    mean_reward(again, MEANS, 5)
    assert again.rounds == 25
