"""Declarations: each refusal with its words, and what is read off one that is accepted."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet, DeclarationError, UnsupportedConeError
from dpcvx.barriers import KINDS
from dpcvx.sets.conic.declaration import declare
from dpcvx.sets.conic.lift import lift


def _x(**attributes):
    return cp.Variable(2, name="x", **attributes)


REFUSED = {
    "no variable": (lambda: (cp.Parameter(2), []), "must be a cvxpy Variable, not a Parameter"),
    "no entries": (lambda: (cp.Variable(0, name="x"), [cp.Variable() >= 0]), r"x has no entries: its shape is \(0,\)"),
    "integer": (lambda: (_x(integer=True), []), "x is declared with integer=True: an integer variable"),
    "boolean": (lambda: (_x(boolean=True), []), r"bounds=\[0, 1\] for its convex hull"),
    "complex": (lambda: (_x(complex=True), []), "its real and imaginary parts"),
    "imaginary": (lambda: (_x(imag=True), []), "its imaginary part as a real variable"),
    "Hermitian": (lambda: (cp.Variable((2, 2), hermitian=True), []), "a real symmetric one"),
    "one constraint": (lambda: ((x := _x()), x >= 0), "put the one constraint in brackets"),
    "no list": (lambda: (_x(), 3), "must be a list"),
    "no constraints": (lambda: (_x(), []), "There are no constraints: x may be anything"),
    "not a constraint": (lambda: ((x := _x()), [x >= 0, x]), "number 1 is .* of type Variable"),
    "no variable in it": (lambda: ((x := _x()), [x >= 0, cp.Constant(0) <= 1]), "mentions no variable; remove it"),
    "no value": (
        lambda: ((x := _x()), [x >= cp.Parameter(name="p")]),
        r"The parameter p in the constraint p <= x has no value; set p\.value",
    ),
    "integer auxiliary": (
        lambda: ((x := _x()), [x <= cp.Variable(name="k", integer=True)]),
        "The variable k in the constraint .* is declared with integer=True",
    ),
    "complex constraint": (lambda: ((x := _x()), [x == 1j * cp.Constant([1, 2])]), "is complex; only real sets"),
    "finitely many": (lambda: ((x := _x()), [cp.constraints.FiniteSet(x, [1, 2])]), "finitely many points"),
    "not convex": (lambda: ((x := _x()), [cp.norm2(x) >= 1]), "is not convex by cvxpy's rules. .*DCP"),
    "not tied": (
        lambda: ((x := _x()), [x >= 0, cp.Variable(name="u") <= cp.Variable(name="w")]),
        "u <= w does not mention the variable x, nor any variable tied to it",
    ),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_a_wrong_declaration_is_refused_with_its_words(name):
    make, words = REFUSED[name]
    with pytest.raises(DeclarationError, match=f"(?s){words}"):
        declare(*make())


def test_a_variable_tied_through_others_is_no_reason_to_refuse():
    x, u, w = _x(), cp.Variable(), cp.Variable()
    assert declare(x, [u <= w, x <= u, w <= 1]).has_user_auxiliaries


def test_attributes_alone_declare_a_set():
    declaration = declare(_x(bounds=[0, 1]), [])
    assert not declaration.has_user_auxiliaries and declaration.constraints == ()
    assert declaration.attribute_name == "the attribute bounds of x"


@pytest.mark.parametrize(
    ("attributes", "inside", "outside"),
    [
        ({"nonneg": True}, [0, 1], [-1e-3, 1]),
        ({"pos": True}, [0, 1], [-1e-3, 1]),
        ({"nonpos": True}, [0, -1], [1e-3, -1]),
        ({"neg": True}, [0, -1], [1e-3, -1]),
        ({"bounds": [0, 1]}, [0, 1], [0, 1.001]),
        ({"bounds": [0, 1]}, [0, 1], [-0.001, 1]),
    ],
)
def test_attributes_are_inequalities(attributes, inside, outside):
    declaration = declare(_x(**attributes), [])
    variable = declaration.variable
    for values, holds in ((inside, True), (outside, False)):
        variable.save_value(np.array(values, dtype=float))
        assert all(np.all(c.violation() <= 1e-9) for c in declaration.attribute_constraints) is holds


@pytest.mark.parametrize(("attribute", "sign"), [("PSD", 1.0), ("NSD", -1.0)])
def test_definite_attributes_are_matrix_inequalities(attribute, sign):
    X = cp.Variable((2, 2), **{attribute: True})
    (constraint,) = declare(X, []).attribute_constraints
    X.save_value(sign * np.eye(2))
    assert constraint.violation() <= 1e-9
    X.save_value(-sign * np.eye(2))
    assert constraint.violation() > 0.5


def test_long_constraints_are_cut_to_one_line_of_120_characters():
    x = cp.Variable(40, name="x")
    (name,) = declare(x, [np.arange(40.0) @ x + sum(x[i] for i in range(40)) <= 1]).names
    assert len(name) == 120 and name.endswith("...") and "\n" not in name
    (short,) = declare(x, [x <= 1]).names
    assert short == "x <= 1.0"


@pytest.mark.parametrize(
    "constraint",
    [
        lambda x: x[0] <= np.nan,
        lambda x: x[0] == np.inf,
        lambda x: np.array([np.inf, 1.0]) @ x <= 1,
        lambda x: np.array([np.nan, 1.0]) @ x == 1,
    ],
)
def test_numbers_that_are_none_are_refused_with_the_constraint_that_holds_them(constraint):
    x = _x()
    made = constraint(x)
    with pytest.raises(DeclarationError, match="holds NaN or an infinite number") as caught:
        lift(declare(x, [x >= 0, x <= 1, made]))
    assert str(caught.value).startswith(" ".join(str(made).split()))


def test_a_bound_may_be_infinite():
    x = _x()
    assert lift(declare(x, [x >= 0, x <= [1, np.inf]])).A.shape[1] == 2


def test_constraints_without_a_conic_form_are_refused():
    x = _x()
    with pytest.raises((UnsupportedConeError, DeclarationError)):
        lift(declare(x, [cp.length(x) <= 1, x >= 0]))


def test_a_lifted_set_is_the_declared_one_whatever_the_attributes_do():
    """Points of the conic form are mapped back to the user's variable: an inner point of each."""
    for attributes, point in (
        ({"symmetric": True}, np.array([[1.0, 2.0], [2.0, 3.0]])),
        ({"diag": True}, np.diag([1.0, 2.0])),
        ({"PSD": True}, np.array([[2.0, 1.0], [1.0, 2.0]])),
        ({}, np.array([[1.0, 2.0], [3.0, 4.0]])),
    ):
        X = cp.Variable((2, 2), **attributes)
        conic = lift(declare(X, [X <= 10, X >= -10]))
        v = np.linalg.lstsq(conic.P.toarray(), point.ravel(order="F") - conic.offset, rcond=None)[0]
        assert conic.point(v) == pytest.approx(point.ravel(order="F"))
        assert set(conic.source) <= {-1, 0, 1}


def test_rows_are_named_after_the_constraint_or_the_attribute_behind_them():
    x = _x(nonneg=True)
    conic = lift(declare(x, [cp.norm1(x) <= 1, cp.exp(x[0]) <= 2]))
    assert set(conic.source) == {-1, 0, 1}
    assert (conic.source == -1).sum() == 2


@pytest.mark.parametrize("attributes", [{}, {"nonneg": True}])
def test_a_variable_may_have_a_value_and_keeps_it(attributes):
    """cvxpy starts its own variables from that value, and fails there on a sum of a fractional number of entries."""
    x = cp.Variable(4, **attributes)
    x.value = np.arange(4.0)
    for atom in (cp.cvar(x, 0.3), cp.sum_largest(x, 4)):
        conic = lift(declare(x, [cp.norm2(x) <= 1, atom <= 1]))
        assert conic.P.shape[0] == 4 and x.value.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("known", "claimed"), [(lambda kinds: kinds[:1], 3), (lambda kinds: (*kinds, kinds[0]), 9)])
def test_rows_that_no_cone_claims_or_two_do_are_refused(monkeypatch, known, claimed):
    x = _x()
    monkeypatch.setattr("dpcvx.sets.conic.lift.KINDS", known(KINDS))
    with pytest.raises(UnsupportedConeError, match=f"has 6 rows of cones, .* claim {claimed} of them"):
        lift(declare(x, [x >= 0, cp.norm2(x) <= 1, x[0] == x[1]]))


def test_geometric_means_of_several_lengths_that_break_cvxpy_are_a_sentence():
    x = cp.Variable(4)
    means = [cp.geo_mean(part, approx=False) >= 0.1 for part in (x, x[:2])]
    with pytest.raises(UnsupportedConeError, match="geometric means of several lengths"):
        DecisionSet(x, [*means, cp.sum(x) <= 2])
