"""How far one person moves costs, against all corners of boxes of losses and all pairs of actions."""

import itertools

import cvxpy as cp
import numpy as np
import pytest

import decision_sets as ds
from dpcvx import Change, LossSet
from dpcvx.learners.full_information.lazy_reach import (
    clipped_values,
    cost_grid,
    named_distances,
    own_distances,
)
from dpcvx.privacy.clipping import Clipping
from dpcvx.sets.sizes import sizes_of

BOXES = {
    "around 0": ([-1.0, -0.2], [0.5, 2.0]),
    "from 0 on": ([0.0, 0.0], [1.0, 3.0]),
    "above 0": ([0.1, 0.2], [1.1, 0.21]),
    "below 0": ([-1.1, -0.21], [-0.1, -0.2]),
    "one below": ([-2.0, 0.1], [-0.5, 0.3]),
}


@pytest.mark.parametrize("name", BOXES)
@pytest.mark.parametrize("neighbours", ["replace", "zero-out"])
def test_on_two_arms_costs_move_just_as_far_as_is_said(name, neighbours):
    """The largest differences over all corners; a loss of 0 is another one of the set where clipping moves it."""
    lower, upper = (np.array(end) for end in BOXES[name])
    y = cp.Variable(2)
    losses = LossSet(y, [y >= lower, y <= upper])
    sizes, clipping = sizes_of(ds.simplex(2), losses), Clipping(losses, neighbours, "clip")
    low, high = clipped_values(sizes, clipping)
    zero = (0.0, 0.0) if neighbours == "zero-out" else (lower.min(), upper.max())
    assert (low, high) == pytest.approx((min(lower.min(), zero[0]), max(upper.max(), zero[1])), abs=1e-6)
    corners = [np.array(one) for one in itertools.product(*zip(lower, upper, strict=True))]

    def farthest(moves):
        return max(np.abs(one).max() for one in moves), max(abs(one[0] - one[1]) for one in moves)

    replaced = farthest([a - b for a in corners for b in corners])
    zeroed = farthest(corners)
    if neighbours == "zero-out":
        replaced = tuple(map(max, replaced, zeroed))
    elif name in ("around 0", "from 0 on"):
        zeroed = tuple(map(min, replaced, zeroed))
    else:
        zeroed = replaced
    found = named_distances(sizes, clipping, high - low)
    assert found[0] == pytest.approx(replaced, rel=1e-5) and found[1] == pytest.approx(zeroed, rel=1e-5)
    own = own_distances(sizes, clipping, high - low)
    assert own == pytest.approx(replaced if neighbours == "replace" else zeroed, rel=1e-5)


DECISIONS = {"cube": ds.cube(3), "cross": ds.norm_ball(3, 1), "ball": ds.norm_ball(3, 2)}


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("name", DECISIONS)
def test_a_change_in_a_norm_moves_costs_by_the_dual_norm_of_the_decisions(name, p):
    """max <d, x> over |d|_p <= 0.1 and x of the set, and twice that for x - x'."""
    X, d, losses = DECISIONS[name], cp.Variable(3), ds.loss_box(3, -1, 1)
    clipping = Clipping(losses, Change(d, [cp.pnorm(d, p) <= 0.1]), "clip")
    dual = {("cube", 1): 1, ("cube", 2): 3**0.5, ("cross", 1): 1, ("cross", 2): 1, ("ball", 1): 1, ("ball", 2): 1}
    found = own_distances(sizes_of(X, losses), clipping, 100.0)
    assert found == pytest.approx((0.1 * dual[name, p], 0.2 * dual[name, p]), rel=1e-5)
    assert own_distances(sizes_of(X, losses), clipping, 0.01)[0] == 0.01  # costs differ by no more than their width


def test_any_other_loss_moves_costs_of_a_ball_by_the_length_of_a_diagonal():
    X, losses = ds.norm_ball(3, 2), ds.loss_box(3, -1, 1)
    replaced, zeroed = named_distances(sizes_of(X, losses), Clipping(losses, "replace", "clip"), 100.0)
    assert replaced == pytest.approx((12**0.5, 2 * 12**0.5), rel=1e-5)
    assert zeroed == pytest.approx((3**0.5, 2 * 3**0.5), rel=1e-5)


@pytest.mark.parametrize("name", BOXES)
@pytest.mark.parametrize("neighbours", ["replace", "zero-out"])
def test_no_loss_that_becomes_another_or_nothing_moves_costs_farther_than_is_said(name, neighbours):
    lower, upper = (np.array(end) for end in BOXES[name])
    y = cp.Variable(2)
    losses = LossSet(y, [y >= lower, y <= upper])
    sizes, clipping = sizes_of(ds.simplex(2), losses), Clipping(losses, neighbours, "clip")
    low, high = clipped_values(sizes, clipping)
    corners = [np.array(one) for one in itertools.product(*zip(lower, upper, strict=True))]
    nothing = clipping.clipped(np.zeros(2))
    assert np.array_equal(nothing, np.zeros(2)) or neighbours == "replace"
    costs = [c for one in (*corners, nothing) for c in one]
    assert low <= min(costs) + 1e-9 and high >= max(costs) - 1e-9
    pairs = {"replace": list(itertools.product(corners, repeat=2)), "zero-out": [(one, nothing) for one in corners]}
    replaced, zeroed = named_distances(sizes, clipping, high - low)
    own = own_distances(sizes, clipping, high - low)
    for relation, said in (("replace", replaced), ("zero-out", zeroed), (neighbours, own)):
        moves = [a - b for a, b in pairs[relation]]
        assert said[0] >= max(np.abs(one).max() for one in moves) - 1e-9
        assert said[1] >= max(abs(one[0] - one[1]) for one in moves) - 1e-9
    assert zeroed[0] <= replaced[0] + 1e-9 and zeroed[1] <= replaced[1] + 1e-9


def test_the_grid_of_costs_is_fine_against_what_one_person_moves_and_holds_all_sums():
    assert cost_grid(1.0, 1.0, 100).step == 2.0**-24 and cost_grid(4.0, 0.5, 100).step == 2.0**-25
    assert cost_grid(4.0, 0.0, 100).step == 2.0**-22 and cost_grid(0.0, 0.0, 100).step == 2.0**-24
    assert cost_grid(1.0, 1.0, 2**40).step == 2.0**-18 and cost_grid(1.0, 1.0, 2**55).step == 2.0**-3
    with pytest.raises(OverflowError, match="do not fit into 64-bit integers on any useful grid"):
        cost_grid(1.0, 1.0, 2**55 + 2**10)
