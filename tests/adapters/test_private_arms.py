"""Arms in one line: what is played, what the policy sees, and that nothing but the noisy releases reaches it."""

import numpy as np
import pytest

import dpcvx
from dpcvx.adapters import ArmPolicy, PrivateArms
from dpcvx.privacy.feedback import SecureFeedback


class Counting:
    """Pulls the arm with the best mean so far, and remembers what it was told."""

    def __init__(self):
        self.told = []

    def pull(self, arms):
        means = {arm: [r for a, r in self.told if a == arm] for arm in arms}
        return max(arms, key=lambda arm: np.mean(means[arm]) if means[arm] else np.inf)

    def update(self, arm, reward):
        self.told.append((arm, reward))


def play(arms, rewards):
    chosen = []
    for row in rewards:
        arm = arms.act()
        chosen.append(arm)
        arms.update(row[arms.arms.index(arm)])
    return chosen


def streams(rounds=12, apart=3):
    """Two streams of losses of 3 arms that differ in one round, by all they can."""
    first = np.random.default_rng(5).uniform(0, 1, (rounds, 3))
    second = first.copy()
    first[apart], second[apart] = 0.0, 1.0
    return first, second


def test_arms_are_named_as_the_user_names_them_and_numbered_otherwise():
    assert set(play(PrivateArms(Counting(), 3, 1.0), np.ones((9, 3)))) == {0, 1, 2}
    assert set(play(PrivateArms(Counting(), ["a", "b"], 1.0), np.ones((9, 2)))) == {"a", "b"}


@pytest.mark.parametrize("rewards", [(0.0, 1.0), (-3.0, 5.0)])
def test_a_policy_is_told_rewards_in_the_declared_range_up_to_noise(rewards):
    """At an epsilon of a million the noise is below 1e-4 with probability 1 - 1e-6."""
    low, high = rewards
    arms = PrivateArms(Counting(), 2, 1e6, rewards=rewards, seed=1)
    given = low + (high - low) * np.random.default_rng(0).random((8, 2))
    chosen = play(arms, given)
    told = arms.policy.policy.told
    assert [arm for arm, _ in told] == chosen
    expected = [row[arm] for row, arm in zip(given, chosen, strict=True)]
    assert np.allclose([reward for _, reward in told], expected, atol=1e-4 * (high - low))


def test_losses_are_mirrored_and_clipped_to_their_range():
    arms = PrivateArms(Counting(), 2, 1e6, losses=(0, 10), seed=1)
    for loss in (2.0, 10_000.0, -5):
        arms.act()
        arms.update(loss)
    assert np.allclose([reward for _, reward in arms.policy.policy.told], [8.0, 0.0, 10.0], atol=1e-3)


def test_the_noise_that_a_policy_sees_is_that_of_the_certificate():
    """Mean of 4,000 |noise| of Laplace law of scale 1/epsilon: within 8 standard errors, false alarm below 1e-14."""
    arms = PrivateArms(Counting(), 2, 0.5, seed=3, batch=1)
    for _ in range(400):
        arms.act()
        arms.update(0.25)
    sizes = np.abs([reward - 0.25 for _, reward in arms.policy.policy.told])
    assert arms.certificate.scale == pytest.approx(2.0, rel=1e-5)
    assert abs(sizes.mean() - 2.0) < 8 * 2.0 / np.sqrt(400)


@pytest.mark.parametrize("policy", [Counting(), "practice", pytest.param("bound", marks=pytest.mark.slow)])
def test_two_neighbouring_streams_show_the_same_but_for_the_noise(policy):
    found = dpcvx.couple(lambda: PrivateArms(policy, 3, 1.0, horizon=12, batch=1).bandit, *streams())
    assert found.holds, str(found)
    assert found.price.epsilon > 0.999


class Peeking(ArmPolicy):
    """Hears of the true rewards by another way than its own."""

    name, ear = "peeking", ()

    def choose(self):
        return int(np.sum(Peeking.ear) > 2.0)

    def learn(self, arm, reward):
        """Nothing by the honest way."""


def test_a_policy_that_hears_of_rewards_by_another_way_is_caught(monkeypatch):
    clipped = SecureFeedback.clipped

    def overheard(self, value, interval):
        Peeking.ear = (*Peeking.ear, float(value))
        return clipped(self, value, interval)

    def make():
        Peeking.ear = ()
        return PrivateArms(Peeking(), 3, 1.0, batch=1).bandit

    assert dpcvx.couple(make, *streams()).holds
    monkeypatch.setattr(SecureFeedback, "clipped", overheard)
    assert any("act differs" in words for words in dpcvx.couple(make, *streams(apart=0)).differences)


def test_a_range_that_is_wider_than_the_noise_was_made_for_is_caught(monkeypatch):
    monkeypatch.setattr(
        SecureFeedback, "clipped", lambda self, value, interval: round(2 * float(value) / self.grid.step)
    )
    found = dpcvx.couple(lambda: PrivateArms(Counting(), 3, 1.0, batch=1).bandit, *streams())
    assert not found.holds and found.price.epsilon > 1.9


def test_without_a_horizon_it_plays_on_and_says_so():
    arms = PrivateArms(Counting(), 2, 1.0)
    play(arms, np.ones((50, 2)))
    assert arms.rounds == 50 and arms.certificate.horizon is None
    assert "50 of any number" in str(arms.certificate)
    short = PrivateArms(Counting(), 2, 1.0, horizon=2)
    play(short, np.ones((2, 2)))
    with pytest.raises(dpcvx.HorizonError):
        short.act()


def test_a_saved_wrapper_goes_on_and_its_old_checkpoint_does_not(tmp_path):
    arms = PrivateArms(Counting(), ["a", "b"], 1.0)
    play(arms, np.ones((5, 2)))
    dpcvx.save(arms, tmp_path / "arms")
    again = dpcvx.load(tmp_path / "arms")
    assert again.rounds == 5 and len(again.policy.policy.told) == len(arms.policy.policy.told) > 0
    play(again, np.ones((3, 2)))
    with pytest.raises(dpcvx.CheckpointError):
        dpcvx.load(tmp_path / "arms")


def test_the_policy_that_was_given_is_left_alone():
    policy = Counting()
    play(PrivateArms(policy, 2, 1.0), np.ones((4, 2)))
    assert policy.told == []


def test_rewards_of_all_kinds_of_numbers_are_taken_and_nothing_else():
    arms = PrivateArms(Counting(), 2, 1.0)
    for reward in (1, 0.5, True, np.float32(0.25), np.int8(1), np.array(0.5)):
        arms.act()
        arms.update(reward)
    arms.act()
    for wrong, words in ((None, "not None"), ([0.5, 0.5], "one number"), ("1", "real numbers"), (np.nan, "NaN")):
        with pytest.raises(dpcvx.DpcvxError, match=words):
            arms.update(wrong)
    assert arms.rounds == 6


WRONG = {
    "policy": (lambda: PrivateArms(3, 2, 1.0), "policy must be a policy of river"),
    "word": (lambda: PrivateArms("best", 2, 1.0), '"bound", "practice" or an object'),
    "horizon of a word": (lambda: PrivateArms("bound", 2, 1.0), "give horizon"),
    "one arm": (lambda: PrivateArms(Counting(), 1, 1.0), "at least 2 arms"),
    "twice an arm": (lambda: PrivateArms(Counting(), ["a", "a"], 1.0), "different names"),
    "no arms": (lambda: PrivateArms(Counting(), 2.5, 1.0), "whole number or a list"),
    "both ranges": (lambda: PrivateArms(Counting(), 2, 1.0, rewards=(0, 1), losses=(0, 1)), "not both"),
    "empty range": (lambda: PrivateArms(Counting(), 2, 1.0, rewards=(1, 1)), "low below high"),
    "no range": (lambda: PrivateArms(Counting(), 2, 1.0, losses=5), "two numbers"),
    "zero-out": (lambda: PrivateArms(Counting(), 2, 1.0, neighbours="zero-out"), "about losses"),
    "epsilon": (lambda: PrivateArms(Counting(), 2, -1.0), "epsilon must be a positive number"),
}


@pytest.mark.parametrize(("make", "words"), WRONG.values(), ids=WRONG)
def test_a_wrong_argument_is_refused_in_a_sentence(make, words):
    with pytest.raises(dpcvx.DpcvxError, match=words):
        make()


def test_an_arm_that_does_not_exist_is_named():
    class Lost(Counting):
        def pull(self, arms):
            return "z"

    with pytest.raises(dpcvx.OracleError, match="pulled 'z'"):
        PrivateArms(Lost(), 2, 1.0).act()


def test_a_summary_says_what_is_seen_and_that_there_are_no_contexts():
    told = PrivateArms(Counting(), 2, 1.0, losses=(0, 2)).summary()
    assert "without contexts" in told and "losses           in [0, 2]; the policy sees them with noise" in told
    assert "PrivateArms(private Counting, 2 arms" in repr(PrivateArms(Counting(), 2, 1.0))
