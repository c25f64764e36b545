"""Wrong, flat, thin, empty and unbounded declarations: handled with the right dimension or refused in a sentence."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import (
    DecisionSet,
    DeclarationError,
    DegenerateSetError,
    EmptySetError,
    ThinSetWarning,
    UnboundedSetError,
    UnsupportedConeError,
)

SCALES = (1.0, 1e-9, 1e9)


def _x(n=3, **attributes):
    return cp.Variable(n, name="x", **attributes)


def _case(make, verdict, words=""):
    return pytest.param(make, verdict, words, id=make.__name__.strip("_"))


def pairs(s):
    x = _x()
    return x, [x <= s * np.array([0, 1, 1]), x >= s * np.array([0, -1, -1])]


def a_point_by_pairs(s):
    x = _x()
    return x, [x <= 0, x >= 0]


def a_point_by_sum(s):
    x = _x()
    return x, [cp.sum(x) <= 0, x >= 0]


def a_face_by_sum(s):
    x = _x()
    return x, [x[0] + x[1] <= 0, x >= 0, x[2] <= s]


def a_zero_on_the_diagonal(s):
    X = cp.Variable((3, 3), symmetric=True, name="X")
    return X, [X >> 0, cp.trace(X) == s, X[0, 0] == 0]


def a_ball_touching_a_plane(s):
    x = _x()
    return x, [cp.norm2(x) <= s, x[0] >= s]


def two_balls_apart(s):
    x = _x()
    return x, [cp.norm2(x) <= s, cp.norm2(x - s * np.array([3, 0, 0])) <= s]


def slab_1e_6(s):
    x = _x(2)
    return x, [x >= 0, x <= s, x[0] - x[1] <= 5e-7 * s, x[1] - x[0] <= 5e-7 * s]


def slab_1e_9(s):
    x = _x(2)
    return x, [x >= 0, x <= s, x[0] - x[1] <= 5e-10 * s, x[1] - x[0] <= 5e-10 * s]


def slab_1e_12(s):
    x = _x(2)
    return x, [x >= 0, x <= s, x[0] - x[1] <= 1e-12 * s, x[1] - x[0] <= 5e-13 * s]


def cut_ball_1e_9(s):
    x = _x(2)
    return x, [cp.norm2(x) <= s, cp.abs(x[0] - x[1]) <= 1e-9 * s]


def long_box_1e_9(s):
    x = _x(2)
    return x, [x >= 0, x[0] <= s, x[1] <= 1e-9 * s, x[0] + x[1] <= 0.9 * s]


def small_ball_far_out(s):
    x = _x(2)
    return x, [cp.norm2(x - s) <= 1e-6 * s]


def long_ellipse(s):
    x = _x(2)
    return x, [cp.norm2(cp.multiply(x, [1 / s, 1e9 / s])) <= 1]


def badly_scaled_rows(s):
    x = _x()
    rows = np.random.default_rng(0).standard_normal((12, 3))
    weight = 10.0 ** np.linspace(-8, 8, 12)
    return x, [cp.multiply(weight, rows @ x) <= weight * s, x <= s, x >= -s]


def a_free_auxiliary(s):
    x, y = _x(), cp.Variable(3, name="y")
    return x, [cp.norm2(x) <= s, y >= x]


def a_free_epigraph(s):
    x, y = _x(2), cp.Variable(name="y")
    return x, [cp.exp(x[0] / s) <= y, cp.norm2(x) <= y, x <= s, x >= -s]


def free_differences(s):
    x, y = _x(2), cp.Variable(2, name="y")
    return x, [y[0] - y[1] >= x[0], x <= s, x >= -s]


def a_parabola(s):
    x = _x(2)
    return x, [x[0] ** 2 <= x[1]]


def an_orthant(s):
    x = _x(2)
    return x, [x >= 0]


def a_free_entry(s):
    x = _x()
    return x, [cp.norm2(x[:2]) <= s]


def a_skew_part(s):
    X = cp.Variable((2, 2), name="X")
    return X, [X >> 0, cp.trace(X) <= s]


def contradicting_sums(s):
    x = _x()
    return x, [x >= s, cp.sum(x) <= s]


def contradicting_equalities(s):
    x = _x()
    return x, [cp.sum(x) == 0, cp.sum(x) == s, x >= -s, x <= s]


def contradicting_bounds(s):
    x = _x(2)
    return x, [x >= s, x <= 0.5 * s]


def a_single_point(s):
    x = _x(2)
    return x, [x == s]


def a_segment(s):
    x = _x(2)
    return x, [x[0] == x[1], x <= s, x >= 0]


def a_flat_exponential(s):
    x = _x(2)
    return x, [cp.exp(x[0]) <= 1, x[0] >= 0, x[1] >= 0, x[1] <= s]


CASES = [
    _case(pairs, 2),
    _case(a_point_by_pairs, 0),
    _case(a_point_by_sum, 0),
    _case(a_face_by_sum, 1),
    _case(a_zero_on_the_diagonal, 2),
    _case(a_ball_touching_a_plane, 0),
    _case(two_balls_apart, EmptySetError, "cannot hold together"),
    _case(slab_1e_6, 2),
    _case(slab_1e_9, DegenerateSetError, r"x\[0\]"),
    _case(slab_1e_12, DegenerateSetError, r"x\[0\]"),
    _case(cut_ball_1e_9, DegenerateSetError, "flat"),
    _case(long_box_1e_9, 2),
    _case(small_ball_far_out, 2),
    _case(long_ellipse, 2),
    _case(badly_scaled_rows, 3),
    _case(a_free_auxiliary, 3),
    _case(a_free_epigraph, 2),
    _case(free_differences, 2),
    _case(a_parabola, UnboundedSetError, r"x\[1\]"),
    _case(an_orthant, UnboundedSetError, "upper bound"),
    _case(a_free_entry, UnboundedSetError, r"x\[2\]"),
    _case(a_skew_part, UnboundedSetError, "symmetric=True"),
    _case(contradicting_sums, EmptySetError, "sum"),
    _case(contradicting_equalities, EmptySetError, "sum"),
    _case(contradicting_bounds, EmptySetError, "contradict each other"),
    _case(a_single_point, 0),
    _case(a_segment, 1),
    _case(a_flat_exponential, 1),
]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("make", "verdict", "words"), CASES)
def test_degenerate_sets_get_the_right_dimension_or_the_right_error_at_every_scale(make, verdict, words, scale):
    variable, constraints = make(scale)
    if not isinstance(verdict, int):
        with pytest.raises(verdict, match=words):
            DecisionSet(variable, constraints)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ThinSetWarning)
        X = DecisionSet(variable, constraints)
    rng = np.random.default_rng(0)
    assert X.dim == verdict
    assert np.isfinite(X.nu)
    assert X.contains(X.center)
    c = rng.standard_normal(X.shape)
    x, y = X.argmin(c), X.project(scale * c)
    assert X.contains(x) and X.contains(y)
    assert np.isfinite(X.support(c))
    assert all(X.contains(p) for p in X.dikin(X.center).sample(rng, 5))
    assert not X.contains(X.center + 10 * scale)


def test_thin_sets_warn_with_the_width_and_the_constraints():
    x = _x(2)
    with pytest.warns(ThinSetWarning, match=r"1\.0e-07.*x\[0\]"):
        DecisionSet(x, [x >= 0, x <= 1, x[0] - x[1] <= 5e-8, x[1] - x[0] <= 5e-8])


def test_the_ray_of_an_unbounded_set_is_a_ray():
    x = _x(2)
    with pytest.raises(UnboundedSetError) as caught:
        DecisionSet(x, [x[0] >= 0, x[0] <= 1, x[1] >= x[0]])
    assert np.allclose(caught.value.ray, [0, 1], atol=1e-6)


def _declarations():
    x = _x()
    yield "integer", cp.Variable(2, integer=True), lambda v: [v >= 0, v <= 1], "integer"
    yield "boolean", cp.Variable(2, boolean=True), lambda v: [v >= 0, v <= 1], "convex hull"
    yield "complex", cp.Variable(2, complex=True), lambda v: [cp.abs(v) <= 1], "complex"
    yield "hermitian", cp.Variable((2, 2), hermitian=True), lambda v: [v << np.eye(2)], "Hermitian"
    yield "not DCP", x, lambda v: [cp.norm2(v) >= 1], "DCP"
    yield "no value", x, lambda v: [v <= cp.Parameter(name="bound"), v >= 0], "bound.value"
    yield "no constraints", x, lambda v: [], "no constraints"
    yield "another variable", x, lambda v: [v >= 0, v <= 1, cp.Variable(name="other") >= 0], "does not mention"
    yield "integer auxiliary", x, lambda v: [cp.norm2(v) <= cp.Variable(integer=True, name="k")], "integer"
    yield "a constant", x, lambda v: [v >= 0, v <= 1, cp.Constant(1) <= 2], "mentions no variable"
    yield "not a constraint", x, lambda v: [v >= 0, True], "number 1"
    yield "NaN", x, lambda v: [v >= 0, v <= 1, v[0] + v[1] <= np.nan], "NaN"
    yield "equal to infinity", x, lambda v: [v == np.inf], "infinite"
    yield "finite set", x, lambda v: [cp.constraints.FiniteSet(v, [1, 2, 5]), v >= 0], "finitely many"
    yield "no list", x, lambda v: None, "list"
    yield "one constraint, no list", x, lambda v: v >= 0, "list"
    yield "not a variable", 2 * x, lambda v: [v >= 0], "cvxpy Variable"


@pytest.mark.parametrize(
    ("name", "variable", "make", "words"), list(_declarations()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_wrong_declarations_are_refused_in_a_sentence(name, variable, make, words):
    with pytest.raises(DeclarationError, match=words) as caught:
        DecisionSet(variable, make(variable))
    assert str(caught.value).rstrip().endswith((".", ")", "]")) or "\n" in str(caught.value)


def test_parameters_are_frozen_at_declaration():
    x, bound = _x(), cp.Parameter(value=2.0)
    X = DecisionSet(x, [x >= 0, x <= bound])
    bound.value = 5.0
    assert np.allclose(X.argmin(-np.ones(3)), 2)
    assert not X.contains(np.full(3, 3.0))
    assert np.allclose(DecisionSet(x, [x >= 0, x <= bound]).argmin(-np.ones(3)), 5)


def test_nonlinear_use_of_parameters_is_allowed():
    x = _x()
    p, q = cp.Parameter(value=2.0), cp.Parameter(3, value=[1.0, 2.0, 3.0])
    X = DecisionSet(x, [p * p * (q @ x) <= 4, x >= 0])
    assert X.support(np.array([1.0, 0, 0])) == pytest.approx(1)


def test_the_variable_keeps_its_value():
    x = _x()
    x.value = np.array([1.0, 2.0, 3.0])
    X = DecisionSet(x, [cp.norm1(x) <= 1])
    X.contains(np.zeros(3)), X.argmin(np.ones(3)), X.project(np.ones(3))
    assert np.array_equal(x.value, [1, 2, 3])


def test_large_general_sets_are_refused_before_memory_is_filled():
    x = cp.Variable(3000, name="x")
    with pytest.raises(UnsupportedConeError, match="lifted coordinates"):
        DecisionSet(x, [cp.norm1(x) <= 1])
