"""What a product of cones answers block by block, against the cones themselves, and the registry of cones."""

from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest

from dpcvx.barriers import KINDS, Exponential, Nonnegative, Power, Product, SecondOrder, Semidefinite
from dpcvx.sets.conic.declaration import declare
from dpcvx.sets.conic.lift import lift

# rows 0-1 plain, 2-4 and 5-7 second-order, 8-10 semidefinite, 11-13 and 14-16 exponential, 17-19 and 20-22 power
MIXED = Product(
    [Nonnegative(2), SecondOrder(2, 3), Semidefinite(1, 2), Exponential(2), Power(np.array([[0.5, 0.5], [0.9, 0.1]]))]
)


def test_masks_name_the_rows_of_each_cone():
    assert np.array_equal(np.flatnonzero(MIXED.polyhedral_rows()), [0, 1])
    rays = [0, 1, 2, 5, 8, 10, 12, 13, 15, 16, 17, 18, 20, 21]
    assert np.array_equal(np.flatnonzero(MIXED.dual_rays()), rays)


def test_unit_factors_bring_every_block_to_size_1():
    s = np.random.default_rng(0).standard_normal(MIXED.size)
    s[2:5] = 0.0
    scaled = s * MIXED.unit_factors(s)
    block = MIXED.block_of_row()
    sizes = [np.abs(scaled[block == k]).max() for k in range(block[-1] + 1)]
    assert sizes == pytest.approx([1, 1, 0, *[1] * 6])
    assert np.array_equal(MIXED.largest(s)[block == 3], np.full(3, np.abs(s[5:8]).max()))


def test_whole_blocks_are_those_of_which_every_row_is_marked():
    marked = np.zeros(MIXED.size, dtype=bool)
    marked[[0, 2, 3, 4, 5, 7, 14, 15, 16]] = True
    assert np.array_equal(np.flatnonzero(MIXED.whole_blocks(marked)), [0, 2, 3, 4, 14, 15, 16])


def test_the_first_block_outside_is_found_among_the_marked_ones():
    s = MIXED.identity()
    everything = np.ones(MIXED.size, dtype=bool)
    assert MIXED.first_outside(s, everything) is None
    s[5:8] = [1.0, 1.0, 0.0]  # on the boundary of the closed cone
    assert MIXED.first_outside(s, everything) is None
    s[14:17], s[20:23] = [1.0, 1.0, 1.0], [1.0, 1.0, 2.0]  # exp(1) > 1, and a product of 1 below 2
    assert MIXED.first_outside(s, everything) == slice(14, 17)
    everything[14:17] = False
    assert MIXED.first_outside(s, everything) == slice(20, 23)
    assert MIXED.first_outside(s, np.zeros(MIXED.size, dtype=bool)) is None


@pytest.mark.parametrize(
    ("direction", "freed", "remaining"),
    [
        ({}, [], []),
        ({1: 2.0}, [1], []),
        ({5: 2.0, 6: 1.0}, [5, 6, 7], []),  # inside the second cone of a stack
        ({16: 1.0, 0: 1.0}, [0, 14, 15, 16], [15]),  # z grows: y exp(x/y) <= z holds in the end, and y >= 0 is left
        ({14: -1.0}, [14, 15, 16], [15, 16]),
        ({17: 1.0}, [17, 18, 19], [18]),
        ({8: 1.0, 10: 1.0, 20: 3.0, 21: 1.0}, [8, 9, 10, 20, 21, 22], []),
    ],
)
def test_a_direction_frees_the_blocks_it_touches(direction, freed, remaining):
    rows, values = np.array(list(direction), dtype=int), np.array(list(direction.values()))
    left = MIXED.run_off(rows, values)
    assert MIXED.recedes(rows, values)
    assert (left.stuck, list(left.freed), list(left.remaining)) == (None, freed, remaining)


def test_a_direction_along_the_boundary_or_outside_is_stuck():
    boundary = np.array([2, 3]), np.array([1.0, 1.0])
    assert MIXED.recedes(*boundary)
    assert MIXED.run_off(*boundary).stuck == slice(2, 5)
    outside = np.array([0, 8]), np.array([1.0, -1.0])
    assert not MIXED.recedes(*outside)
    assert MIXED.run_off(*outside).stuck == slice(8, 11)


def test_every_block_of_a_stack_answers_with_its_own_exponents():
    # 4^0.9 > 3 is inside the second cone; with the exponents of the first, 4^0.5 < 3 would not be
    d = np.array([4.0, 1.0, 3.0])
    assert MIXED.run_off(np.array([20, 21, 22]), d).stuck is None
    assert MIXED.run_off(np.array([17, 18, 19]), d).stuck == slice(17, 20)


def test_balls_are_listed_where_every_curved_block_is_one():
    balls = Product([SecondOrder(1, 4), Nonnegative(3), SecondOrder(2, 3)])
    assert balls.balls(most=3) == [slice(0, 4), slice(7, 10), slice(10, 13)]
    assert balls.balls(most=2) is None
    assert MIXED.balls(most=8) is None
    assert Product([Nonnegative(5)]).balls(most=0) == []


def test_equal_neighbours_are_stacked_and_cones_of_one_row_are_plain():
    dims = SimpleNamespace(
        nonneg=2, soc=[3, 3, 1, 1, 3, 4], psd=[2, 1, 2], exp=2, p3d=[0.2, 0.5], pnd=[[0.1, 0.2, 0.7]]
    )
    stacks = [repr(cone) for kind in KINDS for cone in kind.from_cvxpy(dims)]
    assert stacks == [
        "2 x nonnegative(1)",
        "2 x second-order(3)",
        "1 x nonnegative(1)",
        "1 x nonnegative(1)",
        "1 x second-order(3)",
        "1 x second-order(4)",
        "1 x semidefinite(3)",
        "1 x nonnegative(1)",
        "1 x semidefinite(3)",
        "2 x exponential(3)",
        "2 x power(3)",
        "1 x power(4)",
    ]


def test_the_registry_holds_every_cone_in_the_order_of_the_rows_of_cvxpy():
    x = cp.Variable(3, name="x")
    S = cp.bmat([[x[0] + 2, x[1]], [x[1], x[2] + 2]])
    constraints = [
        cp.PowConeND(x + 3, x[0], [0.2, 0.3, 0.5]),
        cp.PowCone3D(x[0] + 2, x[1] + 2, x[2], 0.3),
        cp.ExpCone(x[0], x[1] + 2, x[2] + 3),
        S >> 0,
        cp.SOC(x[0] + 2, x[1:]),
        x <= 1,
        x[0] == x[1],
    ]
    conic = lift(declare(x, constraints))
    assert [type(cone) for cone in conic.cones.cones] == [*KINDS, Power]  # power cones of two kinds come last
    assert conic.cones.size == conic.A.shape[0]
    v = np.zeros(conic.columns)  # every constraint holds strictly at x = 0, and at 2 the first does not
    assert conic.cones.interior(conic.slack(v)) and np.array_equal(conic.point(v), np.zeros(3))
    assert not conic.cones.interior(conic.slack(v + 2))
