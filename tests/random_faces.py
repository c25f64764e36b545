"""Random constraints that make a set flat by their curvature, and such with auxiliary variables.

Each is given with constraints in the words of linear algebra that have the same solutions: a solver sees an interior
in these, and so judges them to its full accuracy.
"""

from collections.abc import Callable

import cvxpy as cp
import numpy as np
from random_scene import Scene

Constraints = list[cp.Constraint]
Pair = tuple[Constraints, Constraints]  # as the user writes it, and as it is judged


def _fixed(s: Scene, m: int) -> tuple[cp.Expression, Constraints]:
    """m rows A (z - anchor), and the equalities that they vanish."""
    A = s.rows(m)
    return A @ (s.flat - s.at), [A @ (s.flat - s.at) == 0]


def _vanishing(function: Callable[[cp.Expression], cp.Expression]) -> Callable[[Scene], Pair]:
    """f(A (z - anchor)) <= 0 for a function that is zero at 0 alone."""

    def made(s: Scene) -> Pair:
        rows, same = _fixed(s, int(s.rng.integers(1, max(2, s.size))))
        return [function(rows) <= 0], same

    return made


def _touched_ball(s: Scene) -> Pair:
    """A half-space that touches a ball, of all entries or of some: one point of these is left."""
    k = int(s.rng.integers(1, s.size + 1))
    a = s.rng.integers(-4, 5, k).astype(float)
    a[0] = a[0] or 3.0
    r = float(s.rng.choice([0.5, 1.0, 2.0]))
    part, middle = s.flat[:k], s.at[:k] - r * a / np.linalg.norm(a)
    touching = a @ (part - s.at[:k]) >= 0
    return [cp.norm2(part - middle) <= r, touching], [part == s.at[:k]]


def _touched_squares(s: Scene) -> Pair:
    k = int(s.rng.integers(1, s.size + 1))
    part = s.flat[:k] - s.at[:k]
    return [cp.sum_squares(part + 1) <= k, cp.sum(part) >= 0], [part == 0]


def _touched_exponential(s: Scene) -> Pair:
    a = s.rows(1)[0]
    u = a @ (s.flat - s.at)
    return [cp.exp(u) <= 1, u >= 0], [u == 0]


def _tangent_exponential(s: Scene) -> Pair:
    """exp(u) <= 1 + w and w <= u: the tangent touches the curve in one point."""
    A = s.rows(2)
    u, w = (A[i] @ (s.flat - s.at) for i in range(2))
    return [cp.exp(u) <= 1 + w, w <= u], [u == 0, w == 0]


def _tangent_logarithm(s: Scene) -> Pair:
    A = s.rows(2)
    u, w = (A[i] @ (s.flat - s.at) for i in range(2))
    return [cp.log(1 + u) >= w, w >= u], [u == 0, w == 0]


def _tangent_power(s: Scene) -> Pair:
    p = float(s.rng.choice([1.5, 2.0, 3.0, 4.0]))
    A = s.rows(2)
    u, w = (A[i] @ (s.flat - s.at) for i in range(2))
    return [cp.power(1 + u, p, approx=bool(s.rng.integers(2))) <= 1 + p * w, w <= u, u >= -0.9], [u == 0, w == 0]


def _divergence(s: Scene) -> Pair:
    """kl_div(u, w) <= 0: u = w."""
    A = s.rows(2)
    u, w = (1 + A[i] @ (s.flat - s.at) for i in range(2))
    return [cp.kl_div(u, w) <= 0], [u == w, u >= 0]


def _power_face(s: Scene) -> Pair:
    """A geometric mean with a factor that is zero: no less than zero is left of it."""
    A = s.rows(2)
    u, w = A[0] @ (s.flat - s.at), 1 + A[1] @ (s.flat - s.at)
    mean = cp.geo_mean(cp.hstack([u, w]), approx=bool(s.rng.integers(2)))
    return [u <= 0, mean >= 0], [u == 0, w >= 0]


def _exponential_face(s: Scene) -> Pair:
    """sum of entropies of something that is zero."""
    u = s.rows(1)[0] @ (s.flat - s.at)
    return [cp.entr(u) >= 0, u <= 0], [u == 0]


def _kernel(s: Scene) -> Pair:
    """A semidefinite matrix with a vector in its kernel: S v = 0, or v' S v = 0, or a zero on its diagonal."""
    k = s.anchor.shape[0]
    how = s.rng.integers(3)
    v = np.eye(k)[0] if how == 2 else s.rng.integers(-2, 3, k).astype(float)
    v[0] = v[0] or 1.0
    zero = [s.z[0, 0] == 0] if how == 2 else [s.z @ v == 0] if how else [cp.quad_form(cp.Constant(v), s.z) == 0]
    if how == 0:
        zero = [v @ s.z @ v <= 0]
    Q = np.linalg.svd(v[:, None])[0][:, 1:]
    W = cp.Variable((k - 1, k - 1), PSD=True)
    return zero, [s.z == Q @ W @ Q.T]


def _least_eigenvalue(s: Scene) -> Pair:
    """lambda_min(M) >= its value, and trace of M at most k times it: M is a multiple of the identity."""
    k = s.anchor.shape[0]
    top = s.rng.uniform(0.5, 1.0)
    return [cp.lambda_max(s.z) <= top, cp.trace(s.z) >= k * top], [s.z == top * np.eye(k)]


FACES: dict[str, Callable[[Scene], Pair]] = {
    "norm2": _vanishing(cp.norm2),
    "norm1": _vanishing(cp.norm1),
    "sum_squares": _vanishing(cp.sum_squares),
    "square": _vanishing(cp.square),
    "huber": _vanishing(lambda x: cp.sum(cp.huber(x))),
    "pnorm": _vanishing(lambda x: cp.pnorm(x, 3)),
    "power cone pnorm": _vanishing(lambda x: cp.pnorm(x, 2.5, approx=False)),
    "power": _vanishing(lambda x: cp.sum(cp.power(x, 4))),
    "quad_form": _vanishing(lambda x: cp.quad_form(x, np.eye(x.size) + np.ones((x.size, x.size)))),
    "frobenius": _vanishing(lambda x: cp.norm(cp.reshape(x, (x.size, 1), order="F"), "fro")),
    "quad_over_lin": _vanishing(lambda x: cp.quad_over_lin(x, 2.0)),
    "touched ball": _touched_ball,
    "touched squares": _touched_squares,
    "touched exponential": _touched_exponential,
    "tangent of exp": _tangent_exponential,
    "tangent of log": _tangent_logarithm,
    "tangent of power": _tangent_power,
    "kl_div": _divergence,
    "geo_mean": _power_face,
    "entr": _exponential_face,
}
MATRIX_FACES: dict[str, Callable[[Scene], Pair]] = {"kernel": _kernel, "eigenvalues": _least_eigenvalue}


def _same(constraints: Constraints) -> Pair:
    return constraints, constraints


def _hull(s: Scene) -> Pair:
    k = int(s.rng.integers(2, s.size + 4))
    points = s.at[:, None] + s.rng.standard_normal((s.size, k))
    points -= points.mean(axis=1, keepdims=True) - s.at[:, None]
    w = s.auxiliary(np.full(k, 1 / k), nonneg=True)
    return _same([s.flat == points @ w, cp.sum(w) == 1])


def _sum_of_sets(s: Scene) -> Pair:
    u = s.auxiliary(s.at)
    w = s.auxiliary(np.zeros(s.size))
    ball = cp.norm2(w) if s.rng.random() < 0.5 else cp.norm1(w)
    return _same([s.flat == u + w, cp.norm_inf(u - s.at) <= 0.5, ball <= float(s.rng.uniform(0.2, 1))])


def _epigraph(s: Scene) -> Pair:
    t = s.auxiliary(np.array(float(s.rng.uniform(2, 2.4))))
    return _same([cp.norm2(s.flat - s.at) <= t, cp.sum_squares(s.flat - s.at) <= t, t <= 2.5])


def _image(s: Scene) -> Pair:
    k = s.size + int(s.rng.integers(-1, 3))
    k = max(k, 1)
    M = s.rng.standard_normal((s.size, k))
    u = s.auxiliary(np.zeros(k))
    return _same([s.flat - s.at == M @ u, cp.norm2(u) <= 1])


def _slack(s: Scene) -> Pair:
    u = s.auxiliary(np.zeros(2), nonneg=True)
    A = s.rows(2)
    return _same([A @ (s.flat - s.at) <= u, cp.sum(u) <= float(s.rng.uniform(0.3, 1)), cp.norm2(s.flat - s.at) <= 3])


def _perspective(s: Scene) -> Pair:
    """t f(u/t) <= top with u and t tied to z."""
    A = s.rows(2)
    u, t = s.auxiliary(np.array(0.0)), s.auxiliary(np.array(1.0), nonneg=True)
    f = (cp.square(u), cp.exp(u), cp.square(u) + cp.abs(u))[s.rng.integers(3)]
    tied = [u == A[0] @ (s.flat - s.at), t == 1 + A[1] @ (s.flat - s.at)]
    return _same([cp.perspective(f, t) <= 3, *tied, cp.norm2(s.flat - s.at) <= 3])


def _fixed_auxiliary(s: Scene) -> Pair:
    """A point, with auxiliaries that are not."""
    t = s.auxiliary(np.ones(2), nonneg=True)
    A = s.rows(2)
    return _same([s.flat == s.at, cp.square(A @ (s.flat - s.at) + 0.5) <= t, cp.sum(t) <= 3])


def _free_auxiliary(s: Scene) -> Pair:
    """An auxiliary that may run off to infinity."""
    t = s.auxiliary(np.array(5.0))
    extra = [cp.exp(s.affine(1)[0]) <= t] if s.rng.random() < 0.5 else [cp.norm2(s.affine(2)) <= t]
    return _same([*extra, cp.norm2(s.flat - s.at) <= 1.5])


def _lifted_matrix(s: Scene) -> Pair:
    """A semidefinite matrix with z in its first row."""
    k = min(s.size, 3)
    Z = s.auxiliary(2 * np.eye(k + 1), PSD=True)
    row = Z[0, 1 : k + 1] == s.flat[:k] - s.at[:k]
    return _same([row, cp.trace(Z) <= 4 + 2 * k, cp.norm2(s.flat - s.at) <= 2])


AUXILIARIES: dict[str, Callable[[Scene], Pair]] = {
    "hull": _hull,
    "sum": _sum_of_sets,
    "epigraph": _epigraph,
    "image": _image,
    "slack": _slack,
    "perspective": _perspective,
    "point": _fixed_auxiliary,
    "free": _free_auxiliary,
    "lifted matrix": _lifted_matrix,
}
