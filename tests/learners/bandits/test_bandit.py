"""A bandit learner is whole where it is defined, admits sets or says why not, and answers what rounding costs it."""

import math
from abc import ABC, abstractmethod

import numpy as np
import pytest
from loss_sets import ball_losses, box_losses

import decision_sets as ds
from dpcvx import (
    DecisionSet,
    Exp2,
    HybridBandit,
    LogBarrierBandit,
    PrivateBandit,
    RegretBound,
    SCRiBLe,
    private_bandit,
)
from dpcvx.learners.bandits import BANDITS, Bandit, choice
from dpcvx.learners.bandits.action_set import ActionSet
from dpcvx.learners.bandits.rounded_feedback import rounded_bound

X, Y = ds.simplex(4), box_losses(4)


# definition


def test_a_learner_without_its_cost_of_rounding_fails_where_it_is_defined():
    with pytest.raises(TypeError, match="The bandit learner Forgetful does not define rounding_cost"):

        class Forgetful(Bandit):
            uncapped_bound = 0.0

            def _draw_action(self):
                return self.decision_set.center

            def _after(self, value):
                return None

            def _settings(self):
                return {**super()._settings(), "decision_set": self.decision_set}

            def _details(self):
                return []


def test_what_is_missing_is_listed():
    with pytest.raises(TypeError, match="Empty does not define _after, _details, _draw_action, _settings, rounding"):

        class Empty(Bandit):
            uncapped_bound = 0.0


def test_a_class_that_others_complete_may_leave_it_out_and_they_may_not():
    class Still(SCRiBLe, ABC):
        @abstractmethod
        def rounding_cost(self, error):
            """Of its own."""

    with pytest.raises(TypeError, match="Moving does not define rounding_cost"):

        class Moving(Still):
            pass

    class Whole(Still):
        def rounding_cost(self, error):
            return 3.0 * error

    assert Whole(X, Y, 10).rounding_cost(2.0) == 6.0


def test_a_subclass_inherits_the_cost():
    class Named(SCRiBLe):
        name = "another"

    assert Named(X, Y, 10).rounding_cost(0.1) == SCRiBLe(X, Y, 10).rounding_cost(0.1) > 0


@pytest.mark.parametrize("kind", [Exp2, HybridBandit, LogBarrierBandit, SCRiBLe])
def test_the_middle_of_its_range_is_taken_off_the_feedback(kind, monkeypatch):
    told, learner = [], kind(X, box_losses(4, 2.0, 5.0), 10, seed=0)
    assert (learner.middle_value, learner.magnitude) == pytest.approx((3.5, 1.5), rel=1e-6)
    monkeypatch.setattr(learner, "_after", told.append)
    learner.act()
    learner.update(4.25)
    assert told == pytest.approx([0.75], rel=1e-5) and learner.rounds == 1


# foreign learners


class Foreign:
    """Plays the center, and states a bound for any noise."""

    decision_set, loss_set, horizon = X, Y, 100
    regret_bound = RegretBound(1.0, 0.0, 100, "stated")

    def with_noise(self, scale, rounds):
        return self

    def act(self):
        return X.center

    def update(self, value):
        pass


class Answering(Foreign):
    def rounding_cost(self, error):
        return 1e6 * error


class Wrong(Foreign):
    def rounding_cost(self, error):
        return -1.0


def test_a_foreign_learner_that_does_not_say_what_rounding_costs_has_no_bound_and_says_why():
    private = PrivateBandit(Foreign(), 1.0)
    assert private.regret_bound is None and math.isinf(private.uncapped_bound)
    assert private.certificate.regret_bound is None
    said = "no bound is stated: Foreign does not say by rounding_cost(error) what rounded feedback costs it"
    assert said in private.summary()
    assert private.batch > 1  # which needs no bound


def test_a_foreign_learner_that_says_so_has_a_bound_with_that_cost():
    private = PrivateBandit(Answering(), 1.0, batch=2)
    error = private.certificate.grid / 2
    assert private.uncapped_bound == pytest.approx(2 * (1.0 + 1e6 * error), rel=1e-9)
    assert private.uncapped_bound > 2.0 + 1e6 * error
    assert private.regret_bound is not None and "no bound" not in private.summary()


def test_a_negative_cost_is_refused():
    with pytest.raises(ValueError, match="rounding_cost of Wrong must be at least 0"):
        PrivateBandit(Wrong(), 1.0)


def test_without_a_bound_no_cost_is_asked_for():
    assert rounded_bound(object(), math.inf, magnitude=1.0, step=0.1, noise=1.0) == math.inf
    assert rounded_bound(object(), 5.0, magnitude=0.0, step=0.1, noise=1.0) == 5.0
    assert rounded_bound(object(), 5.0, magnitude=1.0, step=0.1, noise=1.0) == math.inf


# sets


def test_learners_say_which_sets_they_admit_in_the_words_of_their_errors():
    ball, losses = ds.norm_ball(3, 2), ball_losses(3)
    assert [kind.refusal(X, Y) for kind in (Exp2, LogBarrierBandit, HybridBandit, SCRiBLe)] == [None] * 4
    assert SCRiBLe.refusal(ball, losses) is None
    for kind in (Exp2, LogBarrierBandit):
        reason = kind.refusal(ball, losses)
        with pytest.raises(ValueError, match="not a ") as caught:
            kind(ball, losses, 10)
        assert str(caught.value) == reason
        assert f"{kind.__name__:16s} not here: {reason}" in private_bandit(ball, losses, 100, 1.0).summary()


class Eager(SCRiBLe):
    """Deliberately boastful."""

    uncapped_bound = 0.5

    def rounding_cost(self, error):
        return 0.0

    @classmethod
    def refusal(cls, decision_set, loss_set):
        return None if decision_set.dim == 3 else "Not three dimensions."


def test_a_learner_in_the_registry_is_chosen_or_its_refusal_shown(monkeypatch):
    monkeypatch.setattr(choice, "BANDITS", (*BANDITS, Eager))
    assert private_bandit(X, Y, 100, 1.0).name == "private Eager"
    other = private_bandit(ds.simplex(5), box_losses(5), 100, 1.0)
    assert other.name != "private Eager" and "not here: Not three dimensions." in other.summary()


def test_the_corners_of_a_set_are_looked_for_once(monkeypatch):
    asked, action_family = [], DecisionSet.action_family

    def counted(decision_set):
        asked.append(decision_set)
        return action_family(decision_set)

    monkeypatch.setattr(DecisionSet, "action_family", counted)
    cube, losses = ds.cube(5), ball_losses(5, 1)
    for _ in range(2):
        private_bandit(cube, losses, 100, 1.0)
    Exp2(cube, losses, 50)
    assert asked == [cube]


def test_actions_are_measured_once_for_each_set_of_losses(monkeypatch):
    asked, measure = [], ActionSet._values
    monkeypatch.setattr(ActionSet, "_values", lambda self, sizes: asked.append(self) or measure(self, sizes))
    decisions, some, others = ds.simplex(5), box_losses(5), box_losses(5, 0.0, 1.0)
    for losses, times in ((some, 1), (some, 1), (others, 2), (others, 2)):
        Exp2(decisions, losses, 50)
        assert len(asked) == times


def test_what_was_found_for_the_admission_is_what_is_played():
    polytope = ds.permutahedron(4)
    assert Exp2.refusal(polytope, box_losses(4)) is None
    first, second = (Exp2(polytope, box_losses(4), 50, seed=0) for _ in range(2))
    assert first.family is second.family and first.exploration is second.exploration
    assert np.array_equal(first.act(), second.act())


def test_a_bound_that_is_not_there_says_nothing_at_any_horizon_and_one_that_is_says_something_at_a_long_one():
    arms, losses = ds.simplex(5), box_losses(5)
    without, bounded = Exp2(arms, losses, 50, tuning="paper"), Exp2(arms, losses, 50)
    assert without.regret_bound is None and without._says_nothing_at(10**9)
    assert bounded._says_nothing_at(2) and not bounded._says_nothing_at(10**9)
