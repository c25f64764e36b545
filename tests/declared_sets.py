"""The sets that every geometric test runs on: a name, and a function that makes variable and constraints."""

import cvxpy as cp
import numpy as np


def _vector(n, make, **attributes):
    def declare():
        x = cp.Variable(n, name="x", **attributes)
        return x, make(x)

    return declare


def _matrix(shape, make, **attributes):
    return _vector(shape, make, **attributes)


def _hull():
    x, weights = cp.Variable(2, name="x"), cp.Variable(7, nonneg=True, name="w")
    points = np.random.default_rng(7).standard_normal((2, 7))
    return x, [x == points @ weights, cp.sum(weights) == 1]


def _flow_with_dead_edges():
    # edges: s-a, s-b, a-b, a-t, b-t, and two that reach nothing: s-d, e-t
    x = cp.Variable(7, nonneg=True, name="flow")
    return x, [
        x[0] + x[1] + x[5] == 1,
        x[0] == x[2] + x[3],
        x[1] + x[2] == x[4],
        x[3] + x[4] + x[6] == 1,
        x[5] == 0,
        x[6] <= 0,
    ]


def _simplex_by_parameter():
    x, total = cp.Variable(5, name="x"), cp.Parameter(nonneg=True, value=2.0)
    return x, [x >= 0, cp.sum(x) == total]


_Q = np.array([[2.0, 0.5, 0.0, 0.1], [0.5, 1.0, 0.2, 0.0], [0.0, 0.2, 3.0, 0.4], [0.1, 0.0, 0.4, 1.5]])
_P = np.array([0.1, 0.2, 0.3, 0.4])
_ROWS = np.random.default_rng(3).standard_normal((14, 4))

DECLARED = {
    "norm1": _vector(4, lambda x: [cp.norm1(x) <= 1]),
    "norm2": _vector(4, lambda x: [cp.norm2(x) <= 1]),
    "SOC": _vector(4, lambda x: [cp.SOC(cp.Constant(1.0), x)]),
    "sum_squares": _vector(4, lambda x: [cp.sum_squares(x) <= 1]),
    "norm_inf": _vector(4, lambda x: [cp.norm_inf(x) <= 1]),
    "pnorm3 tower": _vector(4, lambda x: [cp.pnorm(x, 3) <= 1]),
    "pnorm3 power": _vector(4, lambda x: [cp.pnorm(x, 3, approx=False) <= 1]),
    "quad_form": _vector(4, lambda x: [cp.quad_form(x, _Q) <= 1]),
    "geo_mean tower": _vector(3, lambda x: [cp.geo_mean(x) >= 0.4, cp.sum(x) <= 3]),
    "geo_mean power": _vector(3, lambda x: [cp.geo_mean(x, approx=False) >= 0.4, cp.sum(x) <= 3]),
    "log_sum_exp": _vector(4, lambda x: [cp.log_sum_exp(x) <= 1, x >= -2, x <= 2]),
    "entropy": _vector(4, lambda x: [cp.sum(cp.entr(x)) >= 0.8, cp.sum(x) == 1]),
    "kl_div": _vector(4, lambda x: [cp.sum(cp.kl_div(x, _P)) <= 0.2]),
    "rel_entr": _vector(4, lambda x: [cp.sum(cp.rel_entr(x, _P)) <= 0.2, cp.sum(x) == 1]),
    "huber": _vector(4, lambda x: [cp.sum(cp.huber(x, 0.5)) <= 2]),
    "sum_largest": _vector(4, lambda x: [cp.sum_largest(x, 2) <= 1, x >= -1]),
    "normNuc": _matrix((2, 3), lambda X: [cp.normNuc(X) <= 1]),
    "sigma_max": _matrix((2, 3), lambda X: [cp.sigma_max(X) <= 1]),
    "eigenvalues": _matrix((3, 3), lambda X: [cp.lambda_max(X) <= 1, cp.lambda_min(X) >= -0.5], symmetric=True),
    "log_det": _matrix((3, 3), lambda X: [cp.log_det(X) >= -2, cp.trace(X) <= 3], symmetric=True),
    "polytope and ball": _vector(4, lambda x: [_ROWS @ x <= 1, cp.norm2(x) <= 1]),
    "polytope": _vector(4, lambda x: [_ROWS @ x <= 1, x >= -2, x <= 2]),
    "spectrahedron symmetric": _matrix((3, 3), lambda X: [X >> 0, cp.trace(X) == 1], symmetric=True),
    "spectrahedron PSD": _matrix((3, 3), lambda X: [cp.trace(X) == 1], PSD=True),
    "hull of points": _hull,
    "flow with dead edges": _flow_with_dead_edges,
    "interval": _vector((), lambda x: [x >= -1, x <= 3]),
    "bounds attribute": _vector(3, lambda x: [cp.sum(x) <= 2], bounds=[0, 1]),
    "diagonal matrix": _matrix((3, 3), lambda X: [cp.trace(X) <= 1, X >= -1], diag=True),
    "simplex by parameter": _simplex_by_parameter,
    "power cone n-d": _vector(
        4, lambda x: [cp.PowConeND(x[:3], x[3], np.array([0.2, 0.3, 0.5])), cp.sum(x[:3]) <= 2, x[3] >= -1]
    ),
}
