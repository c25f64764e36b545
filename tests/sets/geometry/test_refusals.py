"""What geometry refuses: empty, unbounded and flat sets, points outside, methods that are none; each with its words."""

import cvxpy as cp
import numpy as np
import pytest

import decision_sets as ds
from dpcvx import DecisionSet, EmptySetError, UnboundedSetError


def declared(make, shape=2, **attributes):
    x = cp.Variable(shape, name="x", **attributes)
    return DecisionSet(x, make(x))


EMPTY = {
    "a constant": (lambda x: [0 * x[0] == 1, x >= 0, x <= 1], "can never hold"),
    "a constant inequality": (lambda x: [0 * x[0] <= -1, x >= 0, x <= 1], "can never hold"),
    "infinite": (lambda x: [x >= np.inf], "asks for an infinite value"),
    "bounds": (lambda x: [x >= 1, x <= 0.75], "contradict each other by 0.25"),
    "equalities": (lambda x: [cp.sum(x) == 1, cp.sum(x) == 3, x >= 0], "contradict each other"),
    "an equality and a bound": (lambda x: [x[0] == 2, x <= 1, x >= 0], "contradict each other"),
    "rows together": (lambda x: [x >= 0, cp.sum(x) <= -1], "cannot hold together"),
    "a ball and a half-space": (lambda x: [cp.norm2(x) <= 1, x[0] >= 1.01], "cannot hold together"),
    "a logarithm": (lambda x: [cp.log(x) >= 2, x <= 7], "cannot hold together"),
    "three equalities": (lambda x: [x[0] == 1, x[1] == 1, x[0] + x[1] == 3], ""),
}


@pytest.mark.parametrize("name", list(EMPTY))
def test_an_empty_set_is_called_empty_with_the_constraints_at_fault(name):
    make, words = EMPTY[name]
    with pytest.raises(EmptySetError, match=f"The set is empty: .*{words}"):
        declared(make)


AT_FAULT = {  # the constraints that contradict each other, all of them, among others that do not
    "an equality and bounds": (
        lambda x: [cp.sum(x) == 1, x[0] >= 0.7, x[1] >= 0.6, cp.norm2(x) <= 9],
        ["0.7 <= x[0]", "0.6 <= x[1]", "sum(x) == 1.0"],
    ),
    "an equality and a curve": (
        lambda x: [x <= 5, cp.sum(x) == 1, cp.quad_form(x, np.diag([0.1, 0.05])) <= 1e-3],
        ["quad_form(x, (matrix)) <= 0.001", "sum(x) == 1.0"],
    ),
    "two equalities": (
        lambda x: [cp.norm2(x) <= 1, x[0] + x[1] == 1.2, x[0] == 1.5 + x[1]],
        ["norm2(x) <= 1.0", "x[0] + x[1] == 1.2", "x[0] == 1.5 + x[1]"],
    ),
}


@pytest.mark.parametrize("name", list(AT_FAULT))
def test_the_sentence_on_an_empty_set_names_all_that_contradict_each_other_and_no_more(name):
    make, at_fault = AT_FAULT[name]
    with pytest.raises(EmptySetError, match="cannot hold together") as caught:
        declared(make)
    named = str(caught.value).removeprefix("The set is empty: ").removesuffix(" cannot hold together.")
    assert all(words in named for words in at_fault)
    assert len(named) == sum(map(len, at_fault)) + len(", ") * (len(at_fault) - 2) + len(" and ")


def test_one_constraint_that_nothing_satisfies_is_not_said_to_contradict_another():
    with pytest.raises(EmptySetError, match=r"^The set is empty: sum_squares\(x\) <= -1.0 cannot hold\.$"):
        declared(lambda x: [cp.sum_squares(x) <= -1])


UNBOUNDED = {
    "upward": (lambda x: [x >= 0, x[0] <= 1], (2,), r"Add an upper bound on x\[1\]", [0, 1]),
    "downward": (lambda x: [x <= 0, x[0] >= -1], (2,), r"Add a lower bound on x\[1\]", [0, -1]),
    "a scalar": (lambda x: [x >= 0], (), "Add an upper bound on x.$", 1),
    "a matrix": (lambda x: [x[:, 0] <= 1, x >= 0, x[0, 1] <= 1], (2, 2), r"upper bound on x\[1, 1\]", [[0, 0], [0, 1]]),
    "curved": (lambda x: [cp.square(x[0]) <= x[1], x[1] >= 0], (2,), r"upper bound on x\[1\]", [0, 1]),
    "logarithm": (lambda x: [cp.log(x[0]) >= x[1], x[1] >= 0, x[1] <= 1], (2,), r"upper bound on x\[0\]", [1, 0]),
    "diagonal": (lambda x: [cp.abs(x[0] - x[1]) <= 1, x[0] >= 0], (2,), "upper bound on x", [1, 1]),
    "beside auxiliaries": (
        lambda x: [cp.exp(x[0]) + cp.exp(-x[0]) <= 4, x[1] >= 0],
        (2,),
        r"Add an upper bound on x\[1\]",
        [0, 1],
    ),
}


@pytest.mark.parametrize("name", list(UNBOUNDED))
def test_an_unbounded_set_is_refused_with_its_ray(name):
    make, shape, words, ray = UNBOUNDED[name]
    with pytest.raises(UnboundedSetError, match=words) as caught:
        declared(make, shape)
    assert "The set is unbounded: it contains the ray x + s*d, s >= 0" in str(caught.value)
    assert np.shape(caught.value.ray) == shape
    assert np.asarray(caught.value.ray) == pytest.approx(np.array(ray), abs=1e-4)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_the_ray_of_an_unbounded_set_in_units_apart_has_all_its_entries(unit):
    """x0 and x1 grow together, x0 by `unit` for each one of x1, up or down."""
    for sign in (1, -1):
        with pytest.raises(UnboundedSetError) as caught:
            declared(lambda x, sign=sign: [cp.abs(x[0] - unit * x[1]) <= 1, sign * x[0] >= -2])
        wanted = sign * np.array([unit, 1.0]) / max(unit, 1.0)
        assert np.asarray(caught.value.ray) == pytest.approx(wanted, rel=1e-3)
        assert (
            f"Add {'an upper' if sign > 0 else 'a lower'} bound on x[{int(unit < 1)}]" in str(caught.value) or unit == 1
        )


def test_a_free_skew_part_is_explained():
    with pytest.raises(UnboundedSetError, match=r"skew-symmetric part of x is free.*symmetric=True"):
        declared(lambda X: [X + X.T >> 0, cp.trace(X) <= 1], (2, 2))


def test_auxiliary_variables_may_run_off():
    u = cp.Variable()
    X = declared(lambda x: [cp.norm2(x) <= 1, cp.exp(x[0]) <= u, x[1] <= u])
    assert X.dim == 2 and X.support([1.0, 0.0]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("point", [[2.0, 0.0], [1.0, 0.0], [np.cos(1), np.sin(1)]])
def test_points_that_are_not_interior_have_no_dikin_ellipsoid(point):
    X = ds.norm_ball(2)
    with pytest.raises(ValueError, match=r"not in the interior of the .*; the barrier is infinite there"):
        X.dikin(point)


def test_points_off_the_affine_hull_have_no_dikin_ellipsoid():
    with pytest.raises(ValueError, match=r"not on the affine hull of the .*: it is off by 0\.\d"):
        ds.simplex(3).dikin([0.5, 0.5, 0.5])


def test_points_outside_a_set_with_auxiliaries_have_no_dikin_ellipsoid():
    X = declared(lambda x: [cp.norm1(x - cp.Variable(2, nonneg=True)) <= 1, x <= 1, x >= -1])
    with pytest.raises(ValueError, match="not in the interior"):
        X.dikin([-0.7, -0.7])
    assert X.dikin([-0.4, -0.4]).dim == 2


def test_methods_of_sampling_are_named():
    ellipsoid, rng = ds.norm_ball(2).dikin([0.0, 0.0]), np.random.default_rng(0)
    with pytest.raises(ValueError, match='"direction", "cholesky" or "eigen", not \'sphere\''):
        ellipsoid.directions(rng, 2, "sphere")
    with pytest.raises(ValueError, match='"cholesky" or "eigen", not \'direction\''):
        ellipsoid.poles("direction")


def test_arguments_of_a_set_are_checked():
    X = ds.norm_ball(2)
    with pytest.raises(ValueError, match="contains takes one point of shape"):
        X.contains(np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"p must be a number of at least 1, or np.inf, not 0\.5"):
        X.norm_bound(0.5)
    with pytest.raises(ValueError, match="NaN or an infinity"):
        X.argmin([np.nan, 1.0])
    with pytest.raises(ValueError, match="shape"):
        X.argmin([1.0, 2.0, 3.0])
    assert not X.contains([np.nan, 0.0]) and not X.contains([np.inf, 0.0])


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_parameters_of_one_entry_are_named_by_their_value(shape):
    x, level = cp.Variable(2), cp.Parameter(shape, value=np.full(shape, 3.0))
    with pytest.raises(EmptySetError, match=r"3 <="):
        DecisionSet(x, [x >= level, x <= 1])
