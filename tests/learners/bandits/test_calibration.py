"""How much noise a batch of feedback needs, in plain numbers: what one person moves, the grid, the scale, the batch."""

import math

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import box_losses

import decision_sets as ds
from dpcvx import Change, PrivateBandit
from dpcvx.learners.bandits.calibration import Calibration
from dpcvx.learners.bandits.rounded_feedback import rounded_bound
from dpcvx.privacy.feedback import feedback_grid
from dpcvx.privacy.neighbours import relation_for
from dpcvx.sets.sizes import sizes_of

X, Y = ds.simplex(3, 2), box_losses(3, -0.7, 1.1)  # values go from -1.4 to 2.2
OUTWARD = 1 + 1e-6


def change(size):
    d = cp.Variable(3)
    return Change(d, [cp.norm1(d) <= size])


def calibration(relation="replace", epsilon=0.5, noise="scalar", people=3, losses=Y):
    return Calibration(sizes_of(X, losses), epsilon, noise, relation_for(relation, losses), people)


@pytest.mark.parametrize(("relation", "one"), [("replace", 3.6), ("zero-out", 2.2), (change(0.1), 0.2)])
@pytest.mark.parametrize("people", [1, 3])
def test_one_person_moves_a_batch_by_what_its_rounds_move(relation, one, people):
    found = calibration(relation, people=people)
    assert found.moved >= people * one and found.moved == pytest.approx(people * one * OUTWARD, rel=1e-7)


def test_vector_noise_is_for_the_length_of_losses_in_the_sum_of_entries():
    """theory: lambda |Y - Y|_1 |x|_2; entries move by 1.8, and actions are 2 long."""
    found = calibration(noise="vector")
    assert found.moved == pytest.approx(3 * (3 * 1.8) * 2 * OUTWARD, rel=1e-7)


@pytest.mark.parametrize("relation", ["replace", change(1e-5)], ids=["replace", "change"])
@pytest.mark.parametrize(("epsilon", "batch"), [(1.0, 1), (1e-9, 1), (1e-12, 7), (1.0, 10**6), (1e-12, 10**12)])
def test_the_grid_is_fine_against_feedback_and_against_a_declared_change(relation, epsilon, batch):
    """Noise and sums make it coarser; a change of 2e-5 in a value asks for a step of at most a thousandth of that."""
    found = calibration(relation, epsilon)
    fine = math.inf if relation == "replace" else found.moved / 3 / 1024
    expected = feedback_grid(found.sizes.magnitude, batch, found.moved / epsilon, fine=fine)
    assert found.grid(batch) == expected


def test_a_change_far_below_the_grid_of_the_feedback_makes_it_finer():
    """The largest value is 2.2, and its grid has 2^40 steps for it; a change moves a value by 2e-10."""
    coarse, fine = calibration(epsilon=1.0).grid(1).step, calibration(change(1e-10), 1.0).grid(1).step
    assert coarse == 2.0 ** math.ceil(math.log2(2.2 * 2.0**-40))
    assert fine == 2.0 ** math.ceil(math.log2(2e-10 * OUTWARD / 1024)) < coarse


@pytest.mark.parametrize("epsilon", [0.5, 1e-12])
@pytest.mark.parametrize("relation", ["replace", "zero-out", change(0.1)], ids=["replace", "zero-out", "change"])
def test_the_scale_covers_what_rounding_adds_and_nothing_more(relation, epsilon):
    found = calibration(relation, epsilon)
    step, units = found.grid(5).step, found.neighbours.feedback_units(found.sizes, found.grid(5).step)
    one = found.moved / 3 + step if units is None else units * step
    assert found.scale(5) == pytest.approx(3 * one / epsilon, rel=1e-12)
    assert found.scale(5) >= (found.moved / OUTWARD) / epsilon
    made = found.certificate(5, secure=True)
    assert made.scale == found.scale(5) and made.sensitivity == pytest.approx(one, rel=1e-12)
    assert made.prefix_deviation == pytest.approx(math.sqrt(2) * made.scale, rel=1e-12)
    assert (made.releases_per_loss, made.terms_per_prefix, made.sensitivity_norm, made.rounds) == (1, 1, 1, 0)
    assert made.notes[-1].startswith("actions are held for 5 rounds")
    assert not any("held" in note for note in found.certificate(1, secure=True).notes)


@pytest.mark.parametrize(
    ("epsilon", "horizon", "batch"), [(0.5, 10**6, 14), (0.5, 9, 9), (50.0, 10**6, 1), (0.02, 500, 347)]
)
def test_the_balanced_batch_makes_noise_as_large_as_values(epsilon, horizon, batch):
    """sqrt(2) D/(M epsilon), with three rounds of 3.6 for D and 2.2 for M, or the whole horizon."""
    found = calibration(epsilon=epsilon)
    expected = math.sqrt(2) * 3 * 3.6 / (2.2 * epsilon)
    assert found.balanced_batch(horizon) == max(1, min(round(expected), horizon)) == batch
    assert calibration(epsilon=epsilon, losses=box_losses(3, 0.0, 0.0)).balanced_batch(horizon) == 1


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_balanced_batch_does_not_know_the_unit_of_losses(unit):
    assert calibration(losses=box_losses(3, -0.7 * unit, 1.1 * unit)).balanced_batch(10**6) == 14


class Stated:
    """A learner whose bound for batches of B rounds is B times what is stated for B."""

    decision_set, loss_set = X, Y

    def __init__(self, stated, horizon, rounds=None):
        self.stated, self.horizon, self.rounds = stated, horizon, rounds

    def with_noise(self, scale, rounds):
        return Stated(self.stated, self.horizon, rounds)

    def act(self):
        return X.center

    def update(self, value):
        pass

    @property
    def uncapped_bound(self):
        return 1.0 if self.rounds is None else float(self.stated(self.horizon / self.rounds))

    def rounding_cost(self, error):
        return 0.0


BALANCED = math.sqrt(2) * 3.6 / 2.2  # for epsilon 1 and one round of a person


@pytest.mark.parametrize(
    ("stated", "epsilon", "horizon", "batch"),
    [
        (lambda B: 1 / B**2, 0.1, 10**9, 23 * 2**5),  # the largest that is tried
        (lambda B: 1 / B**2, 0.1, 100, 100),
        (lambda B: (1 + abs(math.log(B / 4))) / B, 0.1, 10**9, 6),  # a quarter of the balanced one, the next to 4
        (lambda B: 1.0 + B, 0.1, 10**9, 1),
        (lambda B: abs(math.log(B / 33)) / B + 1e-9, 0.1, 10**9, 33),  # 2^(1/2) times the balanced one
    ],
)
def test_the_automatic_batch_is_the_best_one_around_the_balanced_one(stated, epsilon, horizon, batch):
    """Steps of 2^(1/2), from a quarter to 32 times; and 1."""
    assert round(BALANCED / epsilon) == 23
    private = PrivateBandit(Stated(stated, horizon), epsilon, seed=0)
    assert private.batch == batch
    assert PrivateBandit(Stated(stated, horizon), epsilon, seed=0, batch=7).batch == 7
    assert PrivateBandit(Stated(stated, 5), epsilon, seed=0, batch=7).batch == 5


def test_a_grid_without_noise_costs_the_size_of_feedback_alone():
    learner = Stated(lambda B: 1.0, 10, 10)
    assert rounded_bound(learner, 10.0, magnitude=1.0, step=0.5, noise=0.0) == pytest.approx(10 * 1.25**4)
    assert rounded_bound(learner, 10.0, magnitude=1.0, step=0.5, noise=0.1) == pytest.approx(10 * 1.25**4 * 4)
    assert rounded_bound(learner, 10.0, magnitude=4.0, step=0.5, noise=1.0) == pytest.approx(
        10 * (1 + 1 / 16) ** 4 * 1.5**2
    )


@pytest.mark.parametrize("relation", ["replace", "zero-out"])
def test_grounds_hold_the_most_units_that_a_value_moves(relation):
    found = calibration(relation)._grounds(5)
    assert found.replace * found.step >= 3.6 and found.zero_out * found.step >= 2.2
    assert found.replace * found.step == pytest.approx(3.6 * OUTWARD, rel=1e-7)
    assert found.zero_out * found.step == pytest.approx(2.2 * OUTWARD, rel=1e-7)
    assert found.lower == pytest.approx((-0.7,) * 3) and found.upper == pytest.approx((1.1,) * 3)
    assert found.actions_lower == pytest.approx((0,) * 3, abs=1e-6) and found.actions_upper == pytest.approx((2,) * 3)
    above = calibration(relation, losses=box_losses(3, 0.0, 1.0))._grounds(1)
    assert all(math.copysign(1, low) == 1 for low in above.lower) and np.allclose(above.lower, 0)
