"""Each presolve step by itself: it leaves the set as it is, and shrinks it where there is something to do."""

import cvxpy as cp
import numpy as np
import pytest
from declared_sets import DECLARED

from dpcvx import EmptySetError
from dpcvx.sets.conic.declaration import declare
from dpcvx.sets.conic.factors import factors
from dpcvx.sets.conic.lift import lift
from dpcvx.sets.conic.presolve import presolve
from dpcvx.sets.conic.presolve.constant_rows import drop_constant_rows
from dpcvx.sets.conic.presolve.equalities import substitute_equalities
from dpcvx.sets.conic.presolve.heads import eliminate_heads
from dpcvx.sets.conic.presolve.hull_rows import fold_on_hull
from dpcvx.sets.conic.presolve.idle_columns import drop_idle_columns
from dpcvx.sets.conic.presolve.parallel_rows import fold_parallel_rows
from dpcvx.sets.conic.presolve.scaling import scale
from dpcvx.sets.conic.presolve.vanishing import reduce_vanishing
from dpcvx.sets.conic.pruning import prune_rows
from dpcvx.sets.solvers.cone_program import ConeProgram

NAMES = [f"constraint {k}" for k in range(20)]


def lifted(variable, constraints):
    return lift(declare(variable, constraints))


def support(conic, c):
    """max <c, x> over the set by Clarabel, equalities and all, whatever form the set has."""
    program = ConeProgram(conic.A, conic.b, conic.cones, conic.E, conic.e, tolerance=1e-8)
    answer = program.minimise(-(conic.P.T @ c))
    assert answer.status in ("Solved", "AlmostSolved")
    return float(c @ conic.point(answer.point))


@pytest.mark.parametrize("name", DECLARED)
def test_every_step_leaves_the_set_as_it_is(name):
    conic = drop_constant_rows(lifted(*DECLARED[name]()), NAMES)
    directions = np.random.default_rng(0).standard_normal((2, conic.P.shape[0]))
    wanted = [support(conic, c) for c in directions]
    for step in (
        scale,
        reduce_vanishing,
        lambda conic: fold_parallel_rows(conic, NAMES),
        substitute_equalities,
        eliminate_heads,
        drop_idle_columns,
        lambda conic: presolve(conic, NAMES),
        prune_rows,
    ):
        conic = step(conic)
        assert [support(conic, c) for c in directions] == pytest.approx(wanted, abs=1e-6)


def _x():
    return cp.Variable(3, name="x")


def test_rows_without_a_variable_go_or_make_the_set_empty():
    x = _x()
    conic = lifted(x, [x >= -1, x <= 1, 0 * x <= 3, x <= np.inf])
    assert drop_constant_rows(conic, NAMES).A.shape == (6, 3)
    for constraint, words in (
        (0 * x <= -1, "constraint 1 can never hold"),
        (0 * x[0] == 1, "constraint 1 can never hold"),
        (cp.SOC(0 * x[0] + 1, 0 * x + 1), "constraint 1 can never hold"),
        (x >= np.inf, "constraint 1 asks for an infinite value"),
    ):
        with pytest.raises(EmptySetError, match=words):
            drop_constant_rows(lifted(x, [x >= -1, constraint]), NAMES)
    held = lifted(x, [x >= -1, cp.SOC(0 * x[0] + 2, 0 * x + 1)])
    assert drop_constant_rows(held, NAMES).cones.size == 3


def test_scaling_brings_rows_columns_and_the_set_to_size_1_by_powers_of_two():
    x = _x()
    conic = scale(lifted(x, [1e6 * x[0] <= 3, 1e-5 * x <= 1, x >= -7, cp.sum(x) == 1e3]))
    for M in (abs(conic.A).toarray(), abs(conic.E).toarray()):
        assert np.all((M.max(axis=1) <= 2) & (M.max(axis=1) >= 0.5))
    assert 0.5 <= np.abs(np.concatenate([conic.b, conic.e])).max() <= 2
    assert np.all(np.frexp(conic.P.data)[0] == 0.5)


def test_of_parallel_rows_the_tightest_stay_and_a_pair_without_room_is_an_equality():
    x = _x()
    conic = lifted(x, [x <= 1, 2 * x <= 3, x >= -1, x[0] + x[1] <= 0.5, x[0] + x[1] >= 0.5, x[0] + x[1] == 0.5])
    folded = fold_parallel_rows(conic, NAMES)
    assert folded.A.shape[0] == 6 and folded.E.shape[0] == 1
    assert set(folded.source) == {0, 2} and set(folded.equality_source) == {5}
    pair = fold_parallel_rows(lifted(x, [x <= 1, x >= 1]), NAMES)
    assert pair.A.shape[0] == 0 and pair.E.shape[0] == 3
    with pytest.raises(EmptySetError, match="constraint 0 and constraint 1 contradict each other by 1"):
        fold_parallel_rows(lifted(x, [x <= 1, x >= 2]), NAMES)
    with pytest.raises(EmptySetError, match="contradict each other by 1"):
        fold_parallel_rows(lifted(x, [x[0] <= 1, x[0] == 2]), NAMES)


def test_heads_are_put_in_or_run_off():
    x, t, free = _x(), cp.Variable(name="t"), cp.Variable(name="free")
    held = eliminate_heads(lifted(x, [cp.SOC(t, x), t <= 2, x >= -1]))
    assert held.columns == 3 and held.cones.size == 7 and 2.0 in held.b
    gone = eliminate_heads(lifted(x, [cp.SOC(free, x), x[0] <= free, x >= -1, x <= 1]))
    assert gone.columns == 3 and gone.is_polyhedral and gone.A.shape[0] == 6
    left = eliminate_heads(lifted(x, [cp.ExpCone(x[0], x[1], free), x >= -1, x <= 1]))
    assert left.columns == 3 and left.is_polyhedral and left.A.shape[0] == 7  # x[1] >= 0 remains
    stopped_twice = lifted(x, [cp.SOC(t, x), t <= 2, t + x[0] <= 2])
    assert eliminate_heads(stopped_twice).columns == 4


HEADS = {
    "upward": lambda x, t: [cp.SOC(t, x), 3 * t + 2 * x[0] <= 4, x >= -1],
    "downward": lambda x, t: [cp.SOC(-2 * t, x), -3 * t + 2 * x[0] - x[1] <= 4, x >= -1],
    "a logarithm": lambda x, t: [cp.ExpCone(x[0], 1 + 0 * x[1], t), 2 * t + x[1] <= 3, x >= -1, x[2] <= 2],
    "freed": lambda x, t: [cp.SOC(t, x), x[0] - 3 * t <= -1, x >= -1, x <= 2],
}


@pytest.mark.parametrize("name", HEADS)
def test_heads_with_coefficients_of_their_own_leave_the_same_points(name):
    x, t = _x(), cp.Variable(name="t")
    conic = lifted(x, HEADS[name](x, t))
    solved = eliminate_heads(conic)
    assert solved.columns == 3 and solved.is_polyhedral == (name == "freed")
    for c in np.random.default_rng(1).standard_normal((3, 3)):
        assert support(solved, c) == pytest.approx(support(conic, c), abs=1e-6)


@pytest.mark.parametrize("unit", [1.0, 64.0])
def test_rows_count_as_parallel_and_without_room_up_to_their_last_digits(unit):
    x = _x()
    for room, equalities in ((-5e-13, 1), (5e-13, 1), (4e-12, 0)):
        folded = fold_parallel_rows(lifted(x, [unit * x[0] <= unit * (1 + room), x >= 1, x <= 2]), NAMES)
        assert (folded.E.shape[0], folded.A.shape[0]) == (equalities, 6 - 2 * equalities)
    with pytest.raises(EmptySetError, match="constraint 0 and constraint 1 contradict each other by 4e-12"):
        fold_parallel_rows(lifted(x, [unit * x[0] <= unit * (1 - 4e-12), x >= 1, x <= 2]), NAMES)
    worst = [x[0] <= 1, x[0] >= 1.5, unit * x[1] <= unit, x[1] >= 3]
    with pytest.raises(EmptySetError, match=r"constraint [23] and constraint [23] contradict each other by 2\.$"):
        fold_parallel_rows(lifted(x, worst), NAMES)
    twice = fold_parallel_rows(lifted(x, [x[0] + x[1] == 1, x >= 0, 2 * x[0] + 2 * x[1] == 2 + 1e-12]), NAMES)
    assert twice.E.shape[0] == 1 and twice.equality_source.tolist() == [0]
    with pytest.raises(EmptySetError, match="constraint 2 and constraint 0 contradict each other by"):
        fold_parallel_rows(lifted(x, [x[0] + x[1] == 1, x >= 0, 2 * x[0] + 2 * x[1] == 2 + 1e-11]), NAMES)
    both = fold_parallel_rows(lifted(x, [x <= 1, x <= 1, -x <= 3, unit * x <= 2 * unit]), NAMES)
    assert both.source.tolist() == [0] * 3 + [2] * 3


def test_constants_hold_up_to_a_trillionth():
    x = _x()
    held = drop_constant_rows(lifted(x, [x >= -1, 0 * x[0] <= -5e-13, 0 * x[1] == 5e-13, 0 * x[2] == -5e-13]), NAMES)
    assert held.A.shape[0] == 3 and held.E.shape[0] == 0
    for broken in (0 * x[0] <= -4e-12, 0 * x[0] == 4e-12, 0 * x[0] == -4e-12):
        with pytest.raises(EmptySetError, match="constraint 1 can never hold"):
            drop_constant_rows(lifted(x, [x >= -1, broken]), NAMES)


def test_on_the_plane_the_tightest_of_parallel_rows_stays_and_constants_go():
    """With x0 + x1 = 1 and x2 free of it: x1 >= 0.2 says x0 <= 0.8, and so does what comes later."""
    x = _x()
    rows = [x[0] >= 0, x[1] >= 0.2, x[0] <= 0.8, x[0] <= 0.9, x[0] + x[1] <= 5, x[2] >= 0, x[2] + x[0] + x[1] <= 3]
    rows += [x[2] <= 7]
    for order in (np.arange(8), np.arange(8)[::-1]):
        conic = lifted(x, [*(rows[k] for k in order), x[0] + x[1] == 1])
        folded = fold_on_hull(conic, np.array([0.5, 0.5, 1.0]))
        kept = {int(order[k]) for k in folded.source}
        assert kept in ({0, 1, 5, 6}, {0, 2, 5, 6}) and len(folded.b) == 4
        assert (1 in kept) == (order[0] == 0)  # of equals the first


def test_equalities_among_auxiliaries_are_solved_and_idle_columns_go():
    x, u = _x(), cp.Variable(4, name="u")
    conic = lifted(x, [x >= -1, x <= u[0], u[0] == 2 * u[1] + 1, u[1] <= 1, u[2] == u[3], x[0] == u[2]])
    solved = substitute_equalities(conic)
    assert solved.E.shape[0] == 1 and solved.columns == conic.columns - 2
    idle = lifted(x, [x >= -1, x <= 1, 0 * cp.Variable() + x[0] <= 1])
    assert drop_idle_columns(idle).columns == 3


def test_a_solved_equality_leaves_what_it_says_of_the_others():
    """x <= u = (6 w + 5)/2 and -1 <= w <= 1."""
    x, u, w = _x(), cp.Variable(name="u"), cp.Variable(name="w")
    conic = lifted(x, [x >= -4, x <= u, 2 * u == 6 * w + 5, w <= 1, w >= -1])
    solved = substitute_equalities(conic)
    assert solved.E.shape[0] == 0 and solved.columns == 4
    for c, most in (([1.0, 1, 1], 3 * 5.5), ([-1.0, -2, 0], 12), ([1.0, -1, 0], 9.5)):
        assert support(solved, np.array(c)) == pytest.approx(most, abs=1e-6)


@pytest.mark.parametrize(("power", "is_far"), [(11, False), (12, False), (13, True)])
def test_bounds_of_single_entries_measure_columns_of_polyhedra_unless_others_see_sizes_far_apart(power, is_far):
    """x0 + 2^-power x1 <= 1 and 0 <= x <= 1, x0 = x2: without x <= 1, columns are such that all entries are 1."""
    x = _x()
    small = 2.0**-power
    rows = [x >= 0, x <= 1, x[0] + small * x[1] <= 1, x[0] == x[2]]
    found = scale(lifted(x, rows))
    slanted = np.abs(found.A[np.diff(found.A.indptr) == 2].toarray()[0])
    assert slanted[1] / slanted[0] == pytest.approx(1.0 if is_far else small)
    curved = scale(lifted(x, [*rows, cp.norm2(x) <= 1]))
    slanted = np.abs(curved.A[(np.diff(curved.A.indptr) == 2) & curved.polyhedral].toarray()[0])
    assert slanted[1] / slanted[0] == pytest.approx(small)  # a ball around 1 tells the size
    head = scale(lifted(x, [*rows, cp.norm2(x[::2]) <= 1]))
    slanted = np.abs(head.A[(np.diff(head.A.indptr) == 2) & head.polyhedral].toarray()[0])
    assert slanted[1] / slanted[0] == pytest.approx(1.0)  # what holds for x1 holds in any unit


def test_factors_are_the_parts_in_disjoint_coordinates():
    x = _x()
    count, of_row = factors(lifted(x, [x[:2] >= 0, x[0] + x[1] == 1, x[2] >= 0, x[2] <= 1]))
    assert count == 2
    assert len(set(of_row[:2])) == len(set(of_row[2:])) == 1 and of_row[0] != of_row[2]


VANISHING = {
    "norm2": cp.norm2,
    "sum_squares": cp.sum_squares,
    "huber": lambda y: cp.sum(cp.huber(y)),
    "fourth power": lambda y: cp.sum(cp.power(y, 4)),
    "power cones": lambda y: cp.pnorm(y, 2.5, approx=False),
}


@pytest.mark.parametrize("name", VANISHING)
def test_a_vanishing_function_becomes_the_equalities_that_it_means_in_their_own_coefficients(name):
    x = _x()
    rows = np.array([[1e-6, 3.0, 0.0], [0.0, 7.0, 1e6]])
    conic = reduce_vanishing(lifted(x, [cp.norm2(x) <= 1, VANISHING[name](rows @ x - [1.0, 2.0]) <= 0]))
    scaled = conic.E.toarray() @ np.linalg.pinv(conic.P.toarray())
    scaled, level = scaled[np.abs(scaled).max(axis=1) > 0], conic.e[np.abs(scaled).max(axis=1) > 0]
    for row, value in zip(rows, (1.0, 2.0), strict=True):
        assert any(
            np.allclose(mine * value, row * right, rtol=1e-15, atol=0)
            for mine, right in zip(scaled, level, strict=True)
        )


def test_a_zero_on_the_diagonal_of_a_semidefinite_matrix_leaves_a_smaller_one():
    X = cp.Variable((3, 3), PSD=True)
    conic = reduce_vanishing(lifted(X, [X[1, 1] == 0, cp.trace(X) <= 1]))
    assert [cone.block for cone in conic.cones.cones if not cone.is_polyhedral] == [3]


def test_signs_that_leave_room_and_signs_that_contradict_reduce_nothing():
    x = _x()
    for constraints in ([cp.norm2(x) <= 1e-14], [cp.sum_squares(x) <= -1], [cp.geo_mean(x) >= 0, cp.sum(x) <= 1]):
        conic = lifted(x, constraints)
        assert reduce_vanishing(conic) is conic
