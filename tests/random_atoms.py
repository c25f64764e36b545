"""The convex atoms of cvxpy as random functions of a scene; concave ones with a minus sign."""

from collections.abc import Callable

import cvxpy as cp
import numpy as np
from random_scene import Scene

EXPONENTS = (-3, -2, -1.5, -1, -0.5, 0.25, 0.3, 0.5, 2 / 3, 0.9, 1.1, 1.5, 2, 2.5, 3, 3.3, 4, 6)


def _power(s: Scene) -> cp.Expression:
    p = EXPONENTS[s.rng.integers(len(EXPONENTS))]
    approx = bool(s.rng.integers(2))
    argument = s.plain() if p in (2, 4, 6) else s.positive()
    raised = cp.power(argument, p, approx=approx)
    return cp.sum(raised if p < 0 or p > 1 else -raised)


def _pnorm(s: Scene) -> cp.Expression:
    p = (1, 1.2, 1.5, 2, 2.5, 3, 3.3, 4, 8, np.inf)[s.rng.integers(10)]
    return cp.pnorm(s.plain(), p, approx=bool(s.rng.integers(2)))


def _concave_pnorm(s: Scene) -> cp.Expression:
    p = (0.5, 0.3, -1, -2)[s.rng.integers(4)]
    return -cp.pnorm(s.positive(int(s.rng.integers(2, 4))), p, approx=bool(s.rng.integers(2)))


def _geo_mean(s: Scene) -> cp.Expression:
    k = int(s.rng.integers(2, 5))
    weights = None if s.rng.random() < 0.5 else s.rng.integers(1, 6, k)
    return -cp.geo_mean(s.positive(k), weights, approx=bool(s.rng.integers(2)))


def _quad_form(s: Scene) -> cp.Expression:
    x = s.plain()
    F = s.rng.standard_normal((int(s.rng.integers(1, x.size + 1)), x.size))
    Q = F.T @ F
    return cp.quad_form(x, cp.psd_wrap(cp.Constant((Q + Q.T) / 2)))


def _dotsort(s: Scene) -> cp.Expression:
    x = s.several()
    return cp.dotsort(x, s.rng.uniform(0, 1, x.size))


def _sum_largest(s: Scene) -> cp.Expression:
    x = s.several()
    return cp.sum_largest(x, int(s.rng.integers(1, x.size + 1)))


def _mixed_norm(s: Scene) -> cp.Expression:
    return cp.mixed_norm(s.table(2, 3), (1, 2, np.inf)[s.rng.integers(3)], (1, 2, np.inf)[s.rng.integers(3)])


def _convolve(s: Scene) -> cp.Expression:
    return cp.norm_inf(cp.convolve(s.rng.standard_normal(3), s.several()))


def _suppfunc(s: Scene) -> cp.Expression:
    y = cp.Variable(2)
    x = s.affine(2)
    return cp.suppfunc(y, [cp.norm2(y - s.rng.uniform(-0.3, 0.3, 2)) <= 1, cp.sum(y) <= 0.9])(x)


def _matrix_frac(s: Scene) -> cp.Expression:
    k = int(s.rng.integers(1, 4))
    return cp.matrix_frac(s.affine(k), s.matrix(k, 0.6, 2))


def _square_table(s: Scene) -> cp.Expression:
    k = int(s.rng.integers(2, 4))
    return s.matrix(k, -1, 1) if s.rng.random() < 0.6 or s.anchor.ndim < 2 else _symmetric_part(s)


def _symmetric_part(s: Scene) -> cp.Expression:
    if s.anchor.shape[0] == s.anchor.shape[1]:
        return cp.symmetric_wrap((s.z + s.z.T) / 2)
    return s.matrix(2, -1, 1)


def _one_sided(s: Scene) -> cp.Expression:
    return cp.sum(cp.square(cp.pos(s.plain())) + cp.neg(s.affine(1)))


ATOMS: dict[str, Callable[[Scene], cp.Expression]] = {
    "affine": lambda s: s.affine(int(s.rng.integers(1, 5))),
    "abs": lambda s: cp.abs(s.plain()),
    "norm1": lambda s: cp.norm1(s.plain()),
    "norm2": lambda s: cp.norm2(s.plain()),
    "norm_inf": lambda s: cp.norm_inf(s.plain()),
    "norms of rows": lambda s: cp.sum(cp.norm(s.table(2, 3), 2, axis=int(s.rng.integers(2)))),
    "frobenius": lambda s: cp.norm(s.table(2, 2), "fro"),
    "mixed_norm": _mixed_norm,
    "pnorm": _pnorm,
    "concave pnorm": _concave_pnorm,
    "sum_squares": lambda s: cp.sum_squares(s.plain()),
    "square": lambda s: cp.square(s.plain()),
    "quad_form": _quad_form,
    "quad_over_lin": lambda s: cp.quad_over_lin(s.affine(2), s.positive(1)[0]),
    "huber": lambda s: cp.sum(cp.huber(s.plain(), float(s.rng.uniform(0.2, 2)))),
    "power": _power,
    "inv_pos": lambda s: cp.sum(cp.inv_pos(s.positive())),
    "inv_prod": lambda s: cp.inv_prod(s.positive(int(s.rng.integers(2, 4)))),
    "sqrt": lambda s: -cp.sqrt(s.positive()),
    "geo_mean": _geo_mean,
    "harmonic_mean": lambda s: -cp.harmonic_mean(s.positive(int(s.rng.integers(2, 4)))),
    "exp": lambda s: cp.sum(cp.exp(s.plain())),
    "log": lambda s: -cp.log(s.positive()),
    "log1p": lambda s: -cp.sum(cp.log1p(s.positive())),
    "xexp": lambda s: cp.sum(cp.xexp(cp.pos(s.affine(2)))),
    "entr": lambda s: -cp.sum(cp.entr(s.positive())),
    "kl_div": lambda s: cp.sum(cp.kl_div(s.positive(2), s.positive(2))),
    "rel_entr": lambda s: cp.sum(cp.rel_entr(s.positive(2), s.positive(2))),
    "kl_div to a point": lambda s: cp.sum(cp.kl_div(s.positive(2), s.rng.uniform(0.5, 2, 2))),
    "logistic": lambda s: cp.sum(cp.logistic(s.plain())),
    "log_sum_exp": lambda s: cp.log_sum_exp(s.several()),
    "log_normcdf": lambda s: -cp.sum(cp.log_normcdf(s.affine(2))),
    "max": lambda s: cp.max(s.several()),
    "min": lambda s: -cp.min(s.several()),
    "maximum": lambda s: cp.maximum(cp.norm2(s.affine(2)), cp.sum(s.affine(2)), s.affine(1)[0]),
    "minimum": lambda s: -cp.minimum(s.affine(2), -cp.abs(s.affine(2))),
    "cummax": lambda s: cp.sum(cp.cummax(s.several())),
    "ptp": lambda s: cp.ptp(s.several()),
    "pos": lambda s: cp.sum(cp.pos(s.plain())),
    "neg": lambda s: cp.sum(cp.neg(s.plain())),
    "scalene": lambda s: cp.sum(cp.scalene(s.plain(), 0.5, 2.0)),
    "sum_largest": _sum_largest,
    "sum_smallest": lambda s: -cp.sum_smallest(s.several(), 2),
    "dotsort": _dotsort,
    "cvar": lambda s: cp.cvar(s.several(), float(s.rng.uniform(0.1, 0.9))),
    "var": lambda s: cp.var(s.several()),
    "std": lambda s: cp.std(s.several()),
    "tv": lambda s: cp.tv(s.several()),
    "tv of a table": lambda s: cp.tv(s.table(2, 3)),
    "cumsum": lambda s: cp.norm_inf(cp.cumsum(s.several())),
    "diff": lambda s: cp.norm1(cp.diff(s.several())),
    "convolve": _convolve,
    "kron": lambda s: cp.norm2(cp.vec(cp.kron(s.rng.standard_normal((2, 1)), s.table(2, 2)), order="F")),
    "suppfunc": _suppfunc,
    "matrix_frac": _matrix_frac,
    "lambda_max": lambda s: cp.lambda_max(_square_table(s)),
    "lambda_min": lambda s: -cp.lambda_min(_square_table(s)),
    "lambda_sum_largest": lambda s: cp.lambda_sum_largest(_square_table(s), 2),
    "sigma_max": lambda s: cp.sigma_max(s.table(2, 3)),
    "normNuc": lambda s: cp.normNuc(s.table(2, 2)),
    "log_det": lambda s: -cp.log_det(s.matrix(int(s.rng.integers(1, 4)), 0.6, 2)),
    "tr_inv": lambda s: cp.tr_inv(s.matrix(int(s.rng.integers(1, 3)), 0.6, 2)),
    "trace": lambda s: cp.abs(cp.trace(s.table(2, 2) if s.anchor.ndim < 2 else s.matrix(2, -1, 1))),
    "one sided": _one_sided,
}
