"""Curved functions held to their extreme values leave a point, a line or a smaller matrix, whatever the units are."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet

# constraints on a number u that hold for u = 0 alone
TOUCHED = {
    "log at its tangent": lambda u: [cp.log(1 + u) >= u],
    "log at its tangent in 2": lambda u: [cp.log(2 + u) >= np.log(2) + u / 2],
    "exp at its tangent": lambda u: [cp.exp(u) <= 1 + u],
    "two exponentials": lambda u: [cp.exp(u) + cp.exp(-u) <= 2],
    "inverse at its tangent": lambda u: [cp.inv_pos(1 + u) <= 1 - u],
    "geometric mean": lambda u: [cp.geo_mean(cp.hstack([1 + u, 1 - u])) >= 1],
    "harmonic mean": lambda u: [cp.harmonic_mean(cp.hstack([1 + u, 1 - u])) >= 1],
    "product of inverses": lambda u: [cp.inv_prod(cp.hstack([1 + u, 1 - u])) <= 1],
    "root at its tangent": lambda u: [cp.sqrt(1 + u) >= 1 + u / 2],
    "power 1.5 at its tangent": lambda u: [cp.power(1 + u, 1.5) <= 1 + 1.5 * u],
    "power 0.3 at its tangent": lambda u: [cp.power(1 + u, 0.3, approx=False) >= 1 + 0.3 * u],
    "entropy at its tangent": lambda u: [cp.entr(1 + u) >= -u],
    "two logistic functions": lambda u: [cp.logistic(u) + cp.logistic(-u) <= 2 * np.log(2)],
    "logistic at its tangent": lambda u: [cp.logistic(u) <= np.log(2) + u / 2],
    "determinant": lambda u: [cp.log_det(cp.bmat([[1.0, u], [u, 1.0]])) >= 0],
    "eigenvalues": lambda u: [cp.lambda_max(cp.bmat([[1 + u, 0.0], [0.0, 1 - u]])) <= 1],
    "singular values": lambda u: [cp.sigma_max(cp.bmat([[1.0, u], [0.0, 0.5]])) <= 1],
    "quadratic over linear": lambda u: [cp.quad_over_lin(u, 1 + u) <= 0],
}
UNITS = {"plain": np.ones(3), "apart": np.array([3e-4, 7.0, 2e3])}
A, B = np.array([1.0, -2.0, 0.5]), np.array([0.3, 1.0, 1.0])


def _declared(make, units):
    x = cp.Variable(3, name="x")
    z = cp.multiply(1 / units, x)
    return DecisionSet(x, [cp.norm2(z) <= 1, *make(z)])


@pytest.mark.parametrize("units", list(UNITS))
@pytest.mark.parametrize("name", list(TOUCHED))
def test_a_function_held_to_its_extreme_value_leaves_a_plane(name, units):
    X = _declared(lambda z: TOUCHED[name](A @ z), UNITS[units])
    assert X.dim == 2
    assert np.abs(A @ (X.center / UNITS[units])) < 1e-6
    assert np.abs((A / UNITS[units]) @ X.basis / np.linalg.norm(A / UNITS[units])).max() < 1e-6


@pytest.mark.parametrize("units", [(2e-6, 1.0, 1e4), (1e-6, 1.0, 1.0), (7e5, 7e3, 2e-6)], ids=str)
@pytest.mark.parametrize("size", [cp.norm2, cp.norm_inf], ids=["ball", "box"])
@pytest.mark.parametrize("power", [2, 4, 8])
def test_powers_that_vanish_leave_a_line_however_many_faces_are_inside_of_each_other(power, size, units):
    # x^8 <= 0 is x^2 <= u, u^2 <= w, w^2 <= 0: a face in a face in a face, and a solver's dual has a share of all
    x, units = cp.Variable(3, name="x"), np.array(units)
    z = cp.multiply(1 / units, x)
    rows = np.stack([A, B])
    X = DecisionSet(x, [size(z) <= 1, cp.sum(cp.power(rows @ z, power)) <= 0])
    assert X.dim == 1
    assert np.abs(rows @ (X.center / units)).max() < 1e-6
    along = X.basis[:, 0] / units
    assert np.abs(rows @ along).max() < 1e-6 * np.abs(along).max()


@pytest.mark.parametrize("units", list(UNITS))
@pytest.mark.parametrize(
    "names",
    [
        ("determinant", "two logistic functions"),
        ("exp at its tangent", "geometric mean"),
        ("power 1.5 at its tangent", "eigenvalues"),
        ("entropy at its tangent", "inverse at its tangent"),
    ],
    ids=" and ".join,
)
def test_two_at_once_leave_a_line(names, units):
    X = _declared(lambda z: [*TOUCHED[names[0]](A @ z), *TOUCHED[names[1]](B @ z)], UNITS[units])
    assert X.dim == 1
    assert np.abs(np.array([A, B]) @ (X.center / UNITS[units])).max() < 1e-6


# all of a vector at once
@pytest.mark.parametrize("units", list(UNITS))
@pytest.mark.parametrize(
    "make",
    [
        lambda z: [cp.sum(z) == 0, cp.sum(cp.entr(z + 1 / 3)) >= np.log(3)],
        lambda z: [cp.log_sum_exp(z) <= np.log(3), cp.sum(z) >= 0],
        lambda z: [cp.sum(cp.kl_div(z + 0.7, np.full(3, 0.7))) <= 0],
        lambda z: [cp.pnorm(z + np.eye(3)[0], 1.5) <= 1, z[0] >= 0],
        lambda z: [cp.pnorm(z + np.eye(3)[0], 4) <= 1, z[0] >= 0],
        lambda z: [cp.geo_mean(1 + z) >= 1, cp.sum(z) <= 0],
    ],
    ids=["entropy", "log_sum_exp", "kl_div", "pnorm 1.5", "pnorm 4", "geo_mean"],
)
def test_the_most_even_vector_is_a_point(make, units):
    X = _declared(make, UNITS[units])
    assert X.dim == 0
    assert np.abs(X.center / UNITS[units]).max() < 1e-6


# correlation matrices, and matrices between trace and determinant
MATRICES = {
    "log_det and trace": (lambda S: [cp.log_det(S) >= 0, cp.trace(S) <= 3], 0),
    "tr_inv and trace": (lambda S: [cp.tr_inv(S) <= 3, cp.trace(S) <= 3], 0),
    "lambda_max and trace": (lambda S: [cp.lambda_max(S) <= 1, cp.trace(S) >= 3], 0),
    "correlations": (lambda S: [cp.diag(S) == 1], 3),
    "two equal coordinates": (lambda S: [cp.diag(S) == 1, S[0, 1] == 1], 1),
    "a pure state": (lambda S: [cp.trace(S) == 1, S[0, 0] == 1], 0),
}


UNITS_OF_MATRICES = {
    "1": [1.0, 1.0, 1.0],
    "apart": [3e-3, 1.0, 20.0],
    "large": [300.0, 700.0, 200.0],
    "far apart": [12.0, 440.0, 2.2e-3],
}


@pytest.mark.parametrize("size", list(UNITS_OF_MATRICES))
@pytest.mark.parametrize("name", list(MATRICES))
def test_matrices_have_their_dimension_and_their_minimisers_in_any_units(name, size):
    make, dim = MATRICES[name]
    units = np.outer(UNITS_OF_MATRICES[size], UNITS_OF_MATRICES[size])
    S = cp.Variable((3, 3), PSD=True, name="S")
    X = DecisionSet(S, make(cp.symmetric_wrap(cp.multiply(1 / units, S))))
    assert X.dim == dim
    rng = np.random.default_rng(0)
    for _ in range(3):
        F = rng.standard_normal((3, 3))
        C = (F + F.T) / units
        least = -X.support_bound(-C)  # proved
        width = X.support_bound(C) - least
        assert float((C * X.argmin(C)).sum()) - least <= 1e-6 * width + 1e-9 * abs(least)
