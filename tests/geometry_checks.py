"""One function that checks the geometry derived for any declared set, by identities that need no reference values."""

import numpy as np
from cvxpy.constraints import PowConeND

from dpcvx.sets.conic.declaration import declare


class Judge:
    """Whether points satisfy the user's own constraints and the variable's attributes, as cvxpy evaluates them."""

    def __init__(self, variable, constraints):
        declared = declare(variable, constraints)
        self.variable = variable
        self.user_auxiliaries = declared.has_user_auxiliaries
        self.constraints = [*constraints, *declared.attribute_constraints]

    def violation(self, point):
        """The largest violation at one point; auxiliary variables of the user are not supported here."""
        self.variable.save_value(np.asarray(point, dtype=float))
        with np.errstate(all="ignore"):  # outside its domain an atom is NaN, and the point outside the set
            worst = float(np.max([_violation(constraint) for constraint in self.constraints]))
        attributes = self.variable.attributes
        if attributes["symmetric"] or attributes["PSD"]:
            worst = max(worst, float(np.abs(point - point.T).max()))
        if attributes["diag"]:
            worst = max(worst, float(np.abs(point - np.diag(np.diag(point))).max()))
        return worst

    def leaves(self, points, tolerance=1e-9):
        """How many of the points violate something by more than the tolerance."""
        return sum(not self.violation(p) <= tolerance for p in points)


def interior_points(X, rng, strengths):
    """The center and barrier argmins for covectors of the given sizes: the larger, the closer to the boundary."""
    points = [X.center]
    for strength in strengths:
        direction = rng.standard_normal(X.shape)
        points.append(X.barrier.argmin(strength * direction / np.linalg.norm(direction)))
    return points


def check_derivatives(X, point, rng, directions=3):
    """Finite differences of value and gradient, self-concordance, the parameter nu; local norms throughout."""
    ellipsoid = X.dikin(point)
    gradient = X.barrier.gradient(point)
    check_parameter(X, point)
    for w in ellipsoid.directions(rng, directions):
        d = ellipsoid.half_solve(w)
        assert np.isclose(float(ellipsoid.norm(d)), 1, atol=1e-7)
        h = 1e-4
        ahead, behind = point + h * d, point - h * d
        slope = (X.barrier.value(ahead) - X.barrier.value(behind)) / (2 * h)
        assert abs(slope - (gradient * d).sum()) < 1e-6
        change = (X.barrier.gradient(ahead) - X.barrier.gradient(behind)) / (2 * h)
        error = change - ellipsoid.apply(d)
        assert np.sqrt(max((error * ellipsoid.solve(error)).sum(), 0)) < 1e-6
        curvature = [float(X.dikin(p).norm(d)) ** 2 for p in (ahead, behind)]
        third = abs(curvature[0] - curvature[1]) / (2 * h) / 2
        assert third <= 1 + 1e-5, f"the third derivative is {third} times what self-concordance allows"


def check_parameter(X, point):
    """g'H^-1 g <= nu."""
    gradient = X.barrier.gradient(point)
    squared = float((gradient * X.dikin(point).solve(gradient)).sum())
    assert squared <= X.nu * (1 + 1e-8), f"g'H^-1 g = {squared} exceeds nu = {X.nu}"


def check_square_roots(X, point, rng):
    """H^-1 H = I, C C' = H, <C w, C'^-1 w> = |w|^2 and unbiased poles, in the tangent space."""
    ellipsoid = X.dikin(point)
    w, other = ellipsoid.directions(rng, 2)
    d = ellipsoid.half_solve(w)
    scale = max(1.0, float(np.abs(d).max()))
    assert np.allclose(ellipsoid.solve(ellipsoid.apply(d)), d, atol=1e-6 * scale)
    assert np.isclose((ellipsoid.half_apply(other) * d).sum(), other @ w, atol=1e-7)
    for method in ("cholesky", "eigen"):
        poles = ellipsoid.poles(method)
        assert poles.shape == (2 * X.dim, X.dim)
        assert np.allclose(poles.T @ poles / 2, np.eye(X.dim), atol=1e-8)
    if X.dim:
        axes = ellipsoid.half_solve(ellipsoid.poles("eigen")[: X.dim]).reshape(X.dim, -1)
        gram = axes @ axes.T
        assert np.abs(gram - np.diag(np.diag(gram))).max() <= 1e-7 * np.abs(gram).max()


def check_inclusion(X, judge, points, rng, count):
    """No point of the Dikin ellipsoid leaves the set; with a radius of 4 some do (the teeth of the same test)."""
    escaped = 0
    for point in points:
        check_parameter(X, point)
        ellipsoid = X.dikin(point)
        for method, share in (("direction", 2), ("cholesky", 4), ("eigen", 4)):
            sample = ellipsoid.sample(rng, max(count // share, 1), method)
            assert judge.leaves(sample) == 0, f"{judge.leaves(sample)} of {len(sample)} points left the set"
        escaped += judge.leaves(ellipsoid.sample(rng, 20, "eigen", radius=4.0))
        escaped += judge.leaves(ellipsoid.sample(rng, 20, "direction", radius=4.0))
    assert escaped > 0, "no point left the set at four times the radius: the test has no teeth"


def _violation(constraint):
    if isinstance(constraint, PowConeND):  # cvxpy's own answer is a projection by a first-order solver
        factors, z = (argument.value for argument in constraint.args)
        exponents = np.ravel(constraint.alpha.value)
        return max(float(-factors.min()), float(np.max(np.abs(z)) - np.prod(np.maximum(factors, 0) ** exponents)))
    return float(np.max(constraint.violation()))
