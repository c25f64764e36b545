"""Bounds that are above the largest possible regret say so, keep their parts, and name a horizon at which they help."""

import math

import numpy as np
import pytest
from loss_sets import box_losses

import decision_sets as ds
import dpcvx
from dpcvx.learners.regret_bound import RegretBound, useful_horizon


def short_learners(T):
    X, Y = ds.simplex(5), box_losses(5)
    return {
        "FTRL": dpcvx.FTRL(X, Y, T, 0.5),
        "FTRL Gaussian": dpcvx.FTRL(X, Y, T, 0.05, 1e-6),
        "FTPL": dpcvx.FTPL(X, Y, T, 0.5),
        "bandit": dpcvx.PrivateBandit(dpcvx.LogBarrierBandit(5, Y, T), 0.5),
        "SCRiBLe": dpcvx.PrivateBandit(dpcvx.SCRiBLe(X, Y, T), 0.5),
        "Exp2 zero-out": dpcvx.PrivateBandit(dpcvx.Exp2(np.eye(5), Y, T), 0.5, neighbours="zero-out"),
    }


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", short_learners(64))
def test_a_bound_above_the_largest_regret_keeps_its_parts_and_says_from_when_it_helps(name):
    learner = short_learners(64)[name]
    bound, told = learner.regret_bound, learner.certificate.regret_bound
    assert bound.says_nothing and bound.total == bound.largest == 64 * learner.sizes.variation < bound.proved
    assert bound.privacy > 0 and told["privacy"] == bound.privacy and told["total"] == bound.total
    text = str(learner.certificate)
    assert f"the proved bound, {bound.proved:.6g}, is above the largest possible regret, 128: it says nothing" in text
    assert f"useful from T = {told['useful_from']}" in text and f"T = {told['useful_from']}" in learner.summary()
    assert "0 for privacy" not in text.replace(f"{bound.privacy:.6g} for privacy", "")
    # the horizon that is named helps, and a third of it does not
    useful = short_learners(told["useful_from"])[name].regret_bound
    assert not useful.says_nothing and useful.total == useful.proved
    assert short_learners(told["useful_from"] // 3)[name].regret_bound.says_nothing
    assert "says nothing" not in str(useful)
    assert dpcvx.Certificate.from_json(learner.certificate.to_json()) == learner.certificate


def test_a_bound_below_the_largest_regret_is_as_it_was():
    learner = dpcvx.FTRL(ds.simplex(5), box_losses(5), 2**14, 1.0)
    bound = learner.regret_bound
    assert not bound.says_nothing and bound.total == bound.learning + bound.privacy < bound.largest
    assert "says nothing" not in learner.summary() and learner.certificate.regret_bound["useful_from"] is None


def test_epochs_add_up_each_with_its_own_limit():
    first, second = RegretBound(10, 100, 16, "a", 32), RegretBound(10, 5, 32, "a", 64)
    both = first + second
    assert both.total == 32 + 15 and (both.learning, both.privacy, both.rounds) == (20, 105, 48)
    assert (both + second).total == 32 + 15 + 15
    assert RegretBound(1, 2, 3, "a").total == 3 and not RegretBound(1, 2, 3, "a").says_nothing
    assert RegretBound(1, 2, 3, "a").to_dict()["largest"] is None


def test_the_learner_without_a_horizon_keeps_the_limits_of_its_epochs():
    learner = dpcvx.FTRL(ds.simplex(5), box_losses(5), None, 1.0, seed=0)
    for _ in range(100):
        learner.act()
        learner.update(np.zeros(5))
    assert learner.regret_bound.total <= learner.regret_bound.largest
    assert "says nothing" in str(learner.certificate) or learner.regret_bound.total < learner.regret_bound.largest


@pytest.mark.parametrize("true", [65, 100, 101, 12345, 10**6, 2**33 + 1])
def test_the_horizon_that_is_found_is_near_the_least_one(true):
    found = useful_horizon(lambda T: true > T, 64)
    unit = 10 ** max(len(str(found)) - 2, 0)
    assert true <= found <= math.ceil(1.011 * true + 1) + unit and found % unit == 0


def test_a_horizon_is_not_rounded_to_one_at_which_the_bound_says_nothing():
    found = useful_horizon(lambda T: T < 1000 or T % 100 == 0, 64)
    assert 1000 <= found <= 1020 and found % 100


def test_horizons_are_sought_up_to_2_to_the_40_rounds():
    assert 2**40 <= useful_horizon(lambda T: T < 2**40, 64) <= 1.2e12
    assert useful_horizon(lambda T: T <= 2**40, 64) is None


def test_a_bound_that_is_just_the_largest_regret_says_nothing():
    assert RegretBound(1.0, 2.0, 5, "a", 3.0).says_nothing and not RegretBound(1.0, 2.0, 5, "a", 3.0000001).says_nothing
    assert RegretBound(0.0, 0.2, 5, "a", 0.1).says_nothing  # in any unit
    assert str(RegretBound(1.0, 2.0, 5, "a", 4.0)) == "3 over 5 rounds = 1 (learning) + 2 (privacy)"
    both = RegretBound(1.0, 2.0, 5, "a", 2.0) + RegretBound(1.0, 2.0, 5, "a", 9.0)
    assert str(both) == "5 over 10 rounds: 2 (learning) + 4 (privacy), each epoch at most its largest regret"


def test_a_horizon_is_sought_once_and_only_where_the_bound_says_nothing():
    asked = []
    empty, useful = RegretBound(1.0, 2.0, 50, "a", 2.0), RegretBound(1.0, 2.0, 50, "a", 4.0)
    found = empty.sought(lambda T: asked.append(T) or T < 90)
    assert found.useful_from in range(90, 93) and asked[0] == 100 and useful.sought(None) is useful
    assert found.sought(None) is found


def test_no_horizon_is_named_where_none_helps_or_numbers_end():
    def overflowing(T):
        if T > 1000:
            raise OverflowError("too far")
        return True

    assert useful_horizon(lambda T: True, 64) is None and useful_horizon(overflowing, 64) is None


def test_a_set_without_variation_has_a_bound_of_zero_that_is_not_called_empty():
    bound = RegretBound(0.0, 0.0, 10, "a", 0.0)
    assert bound.total == 0 and not bound.says_nothing and math.isfinite(float(bound))
