"""Inequalities that are equalities in truth: those that can be told by hand, and none of a set that is only thin."""

import cvxpy as cp
import pytest

from dpcvx.sets.conic.declaration import declare
from dpcvx.sets.conic.lift import lift
from dpcvx.sets.geometry.implicit_equalities import implicit_equalities

x = cp.Variable(3, name="x")


def _found(*constraints):
    """The rows in the order of the constraints, entry by entry, as they are before presolve."""
    return implicit_equalities(lift(declare(x, list(constraints)))).tolist()


@pytest.mark.parametrize("level", [1.0, 0.0, -2.0])
def test_two_sides_of_one_plane_are_found_wherever_it_is(level):
    assert _found(cp.sum(x) <= level, cp.sum(x) >= level, x >= -5) == [0, 1]
    assert _found(x >= -5, cp.sum(x) >= level, cp.sum(x) <= level) == [3, 4]


def test_rows_that_meet_in_a_corner_are_all_found():
    assert _found(x <= 2, cp.sum(x) >= 6) == [0, 1, 2, 3]
    assert _found(x[0] <= 1, x[0] + x[1] >= 3, x[1] <= 2, x[2] >= 0, x[2] <= 1) == [0, 1, 2]


def test_an_equality_may_make_others_of_inequalities():
    assert _found(x >= 0, x[0] + x[1] == 0, x[2] <= 1) == [0, 1]
    assert _found(x <= 1, x[0] + x[1] == 2, x[2] >= 0) == [0, 1]


@pytest.mark.parametrize("width", [1e-3, 1e-6, 1e-9, 1e-12])
def test_a_thin_set_has_none(width):
    assert _found(cp.sum(x) <= 1, cp.sum(x) >= 1 - width, x >= 0) == []


def test_only_the_flat_part_of_a_set_is_named():
    assert _found(x[0] <= 1, x[0] >= 1, x[1] <= 1, x[1] >= 1 - 1e-9, x[2] >= 0, x[2] <= 1) == [0, 1]


def test_cones_that_are_curved_are_left_alone():
    assert _found(cp.norm2(x) <= 1, x[0] >= 1) == []
    assert len(_found(cp.norm2(x) <= 1, x[0] <= 0.5, x[0] >= 0.5)) == 2
