"""Judges a decision set by independent solves of the constraints that it was declared with.

Nothing of the package is used here but the answers under judgement. All comparisons are made in plain units, in which
a declaration has a size of about 1; `Judge.complaints` lists what is wrong, and is empty for a set that is right.
"""

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from random_declarations import Declaration

SOLVED = ("optimal", "optimal_inaccurate")
_NEAR = 2e-5  # relative accuracy that is asked of the solver and of the package
_HELD = 1e-6  # violation of a constraint in plain units that counts as rounding
_FLAT = 1e-4  # relative width below which a direction counts as none


@dataclass(frozen=True)
class Found:
    """What the solver said about a linear function: its status, and the least value with its point."""

    status: str
    value: float
    point: np.ndarray | None

    @property
    def is_sure(self) -> bool:
        return self.status == "optimal"


@dataclass
class Judge:
    """The truth about a declaration, by cvxpy and Clarabel on its constraints in plain units."""

    declaration: Declaration
    silences: int = 0  # questions that the solver did not answer
    complaints: list[str] = field(default_factory=list)

    @property
    def _size(self) -> int:
        return int(self.declaration.anchor.size)

    # what is true

    @cached_property
    def _linear(self) -> tuple[cp.Problem, cp.Parameter]:
        c = cp.Parameter(self._size)
        z = cp.vec(self.declaration.plain, order="F")
        return cp.Problem(cp.Minimize(c @ z), self.declaration.plain_constraints), c

    @cached_property
    def _distance(self) -> tuple[cp.Problem, cp.Parameter, cp.Parameter]:
        p, weights = cp.Parameter(self._size), cp.Parameter(self._size, nonneg=True)
        z = cp.vec(self.declaration.plain, order="F")
        away = cp.norm2(cp.multiply(weights, z) - p)
        return cp.Problem(cp.Minimize(away), self.declaration.plain_constraints), p, weights

    def least(self, g: np.ndarray) -> Found:
        """min <g, z> over the declared set."""
        problem, c = self._linear
        c.value = g
        return self._solved(problem)

    def distance(self, z: np.ndarray, weights: np.ndarray | None = None) -> float | None:
        """How far z is from the declared set, each entry with its weight; None where the solver is silent."""
        problem, p, w = self._distance
        w.value = np.ones(self._size) if weights is None else weights
        p.value = w.value * z.ravel(order="F")
        found = self._solved(problem)
        return found.value if found.status in SOLVED else None

    def _solved(self, problem: cp.Problem) -> Found:
        for variable in problem.variables():
            variable.save_value(None)  # with values, cvxpy cannot read some atoms
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                value = problem.solve(solver=cp.CLARABEL)
            except (cp.SolverError, ValueError):
                self.silences += 1
                return Found("silent", np.nan, None)
        point = self.declaration.plain.value
        if problem.status not in SOLVED or point is None:
            return Found(str(problem.status), float(np.nan if value is None else value), None)
        dense = point.toarray() if hasattr(point, "toarray") else np.asarray(point)
        return Found(problem.status, float(value), dense.ravel(order="F").astype(float))

    def violation(self, z: np.ndarray) -> float:
        """By how much z violates the constraints as written, atoms outside their domains included; no auxiliaries."""
        variable = self.declaration.plain
        worst = 0.0
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            variable.save_value(z)
            for constraint in self.declaration.written:
                for each in (constraint, *(d for arg in constraint.args for d in arg.domain)):
                    found = np.max(each.violation(), initial=0.0)
                    worst = max(worst, float(found) if np.isfinite(found) else np.inf)
        return max(worst, self._attribute_violation(z))

    def _attribute_violation(self, z: np.ndarray) -> float:
        given = self.declaration.plain.attributes
        worst = 0.0
        if given["nonneg"] or given["pos"]:
            worst = max(worst, float(-z.min()))
        if given["nonpos"] or given["neg"]:
            worst = max(worst, float(z.max()))
        if given["PSD"] or given["NSD"] or given["symmetric"]:
            worst = max(worst, float(np.abs(z - z.T).max()))
        if given["PSD"] or given["NSD"]:
            worst = max(worst, -float(np.linalg.eigvalsh(z if given["PSD"] else -z).min()))
        if given["diag"]:
            worst = max(worst, float(np.abs(z - np.diag(np.diag(z))).max()))
        if given["bounds"] is not None:
            low, high = given["bounds"]
            worst = max(worst, float(np.max(low - z)), float(np.max(z - high)))
        return worst

    # judgement

    def _complain(self, said: str) -> None:
        self.complaints.append(said)

    def refused(self, error: Exception) -> list[str]:
        """Judge a refusal: empty must be empty, unbounded unbounded, and nothing else is a reason."""
        name = type(error).__name__
        seen = self.least(np.zeros(self._size)).status
        if name == "EmptySetError":
            if seen not in ("infeasible", "infeasible_inaccurate"):
                self._complain(f"called empty, but a solver says {seen}: {error}")
        elif name == "UnboundedSetError":
            rng = np.random.default_rng(0)
            ends = [self.least(s * g).status for g in rng.standard_normal((2, self._size)) for s in (1, -1)]
            if not any("unbounded" in end for end in ends):
                self._complain(f"called unbounded, but a solver says {ends}: {error}")
        elif not (name == "UnsupportedConeError" and self._cvxpy_fails_too()):
            self._complain(f"{name}: {error}")
        return self.complaints

    def _cvxpy_fails_too(self) -> bool:
        """Whether cvxpy itself has no conic form of the declaration: geometric means of several lengths break it."""
        try:
            cp.Problem(cp.Minimize(0), self.declaration.constraints).get_problem_data(cp.CLARABEL)
        except ValueError:
            return True
        return False

    def judge(self, X: Any, *, deep: bool = False) -> list[str]:
        """Judge all answers of a set.

        Args:
            X: what answers as a DecisionSet does.
            deep: whether to ask in more directions, and for everything that takes a solve of its own.
        """
        self.X = X
        d = self.declaration
        rng = np.random.default_rng(d.seed)
        center = self._plain(X.center)
        inside = self.least(np.zeros(self._size))
        if inside.status not in SOLVED:
            self._complain(f"accepted, but a solver says {inside.status}")
            return self.complaints
        if not np.isfinite(X.nu) or X.nu < (1 - 1e-9 if X.dim else 0):
            self._complain(f"nu is {X.nu}")
        self._hold("center", center[None], deep or d.has_auxiliaries)
        if not X.contains(X.center):
            self._complain("contains(center) is False")
        if self.complaints:  # nothing can be asked around such a center
            return self.complaints
        directions = rng.standard_normal((4 if deep else 1, self._size))
        ends = [end for g in directions for end in self._direction(g, center, deep)]
        self._dimension(center, directions, deep)
        self._dikin(center, ends, rng, deep)
        self._projection(rng, center, deep)
        if deep or d.seed % 16 == 0:
            self._sizes(ends, deep)
        return self.complaints

    def _plain(self, x: np.ndarray) -> np.ndarray:
        return self.declaration.to_plain(np.asarray(x, dtype=float)).ravel(order="F")

    def _users(self, z: np.ndarray) -> np.ndarray:
        return self.declaration.from_plain(z.reshape(self.declaration.anchor.shape, order="F"))

    def _covector(self, g: np.ndarray) -> np.ndarray:
        """The covector c on x with <c, x> = <g, z> up to a constant."""
        return g.reshape(self.declaration.anchor.shape, order="F") / self.declaration.units

    def _hold(self, what: str, points: np.ndarray, exactly: bool) -> None:
        """Complain where points, in plain units, are outside the declared set."""
        for z in points:
            far: float | None = 0.0
            if not self.declaration.has_auxiliaries:
                far = self.violation(z.reshape(self.declaration.anchor.shape, order="F"))
            if far > _HELD or (self.declaration.has_auxiliaries and exactly):  # cvxpy's domains say more than they mean
                far = self.distance(z)
            if far is not None and far > _HELD * max(1.0, np.abs(z).max()) * 10:
                self._complain(f"{what} is outside by {far:.1e}")

    def _direction(self, g: np.ndarray, center: np.ndarray, deep: bool) -> list[np.ndarray]:
        """Judge minimisers, support and membership along +-g; returns the set's own minimisers."""
        X = self.X
        truths = [self.least(g), self.least(-g)]
        for sign, truth in zip((1, -1), truths, strict=True):
            if "unbounded" in truth.status:
                self._complain(f"accepted, but unbounded along {np.round(-sign * g, 3)}")
        c = self._covector(g)
        own = [X.argmin(c), X.argmin(-c)]
        ends = [self._plain(end) for end in own]
        if not all(truth.is_sure for truth in truths):
            return ends
        width = -truths[1].value - truths[0].value
        for sign, truth, end, z in zip((1, -1), truths, own, ends, strict=True):
            slip = (sign * g) @ z - truth.value
            if abs(slip) > _NEAR * (width + 0.05 * abs(truth.value)) + 1e-6:
                self._complain(f"argmin has value {(sign * g) @ z:.9g} for {truth.value:.9g}, width {width:.2g}")
            if not X.contains(end, 1e-7):
                self._complain("contains(argmin, 1e-7) is False")
            bound = X.support_bound(-sign * c) - float((-sign * c * self.declaration.offset).sum())
            if bound < -truth.value - 1e-6 * (width + abs(truth.value) + 1e-2):
                self._complain(f"support_bound {bound:.9g} is below {-truth.value:.9g}")
            if bound > -truth.value + _NEAR * (width + 0.05 * abs(truth.value)) + 1e-6:
                self._complain(f"support_bound {bound:.9g} is loose for {-truth.value:.9g}")
            if width > 1e-3:
                self._membership(center, z, truth, sign * g, width)
        self._hold("argmin", np.array(ends), deep)
        return ends

    def _membership(self, center: np.ndarray, end: np.ndarray, truth: Found, g: np.ndarray, width: float) -> None:
        """Judge `contains` on the way from the center to a minimiser, and beyond, where <g, z> is below its least."""
        tol = 1e-9 if self.X.dim == self._size else 1e-7  # a minimiser is on the affine hull to the latter
        for share in (0.5, 0.97):
            if not self.X.contains(self._users(center + share * (end - center)), tol):
                self._complain(f"contains is False at {share} of the way to an end")
        for share in (1.05, 3.0, 1e6):
            beyond = center + share * (end - center)
            if g @ beyond < truth.value - 0.01 * width and self.X.contains(self._users(beyond)):
                self._complain(f"contains is True at {share} of the way to an end")

    def _dimension(self, center: np.ndarray, directions: np.ndarray, deep: bool) -> None:
        """Judge the affine hull: no width orthogonal to the basis, and width along all of it."""
        X = self.X
        basis = X.basis if isinstance(X.basis, np.ndarray) else X.basis @ np.eye(self._size)
        tangent = basis / self.declaration.units.ravel(order="F")[:, None]
        if X.dim:
            tangent = tangent / np.linalg.norm(tangent, axis=0)
        U, values, _ = np.linalg.svd(tangent, full_matrices=True)
        if len(values) != X.dim:
            self._complain(f"dim is {X.dim}, but the basis has {len(values)} columns")
            return
        normals = U[:, X.dim :]
        if normals.shape[1]:
            for g in directions[: 2 if deep else 1]:
                normal = normals @ (normals.T @ g)
                normal /= np.linalg.norm(normal)
                low, high = self.least(normal), self.least(-normal)
                if low.is_sure and high.is_sure:
                    width = -high.value - low.value
                    if width > _FLAT:
                        self._complain(f"dim is {X.dim}, but the width across it is {width:.2g}")
                    if X.contains(self._users(center + 0.3 * normal)):
                        self._complain("contains is True off the affine hull")
        if not deep and X.dim > 3:
            return
        for i in range(X.dim):
            low, high = self.least(U[:, i]), self.least(-U[:, i])
            if low.is_sure and high.is_sure and -high.value - low.value < 1e-5:
                self._complain(f"dim is {X.dim}, but one direction of it has width {-high.value - low.value:.2g}")

    def _dikin(self, center: np.ndarray, ends: list[np.ndarray], rng: np.random.Generator, deep: bool) -> None:
        """Judge Dikin ellipsoids and the barrier parameter: <R'(x), y - x> <= nu for y in the set."""
        X = self.X
        inner = [X.center, self._users(0.5 * center + 0.5 * np.mean(ends, axis=0))][: 2 if deep else 1]
        for x in inner:
            samples = X.dikin(x).sample(rng, 4)
            self._hold("a Dikin sample", np.array([self._plain(y) for y in samples]), deep)
            if not all(X.contains(y, 1e-7) for y in samples):
                self._complain("contains(Dikin sample, 1e-7) is False")
            if not X.dim:
                continue
            slope = max(float((X.barrier.gradient(x) * (self._users(z) - x)).sum()) for z in ends)
            if slope > X.nu * (1 + 1e-4) + 1e-4:
                self._complain(f"the barrier falls by {slope:.6g} toward an end, nu is {X.nu:.6g}")

    def _projection(self, rng: np.random.Generator, center: np.ndarray, deep: bool) -> None:
        X = self.X
        units = self.declaration.units.ravel(order="F")
        for far in (3.0, 0.5, 100.0)[: 3 if deep else 1]:
            p = center + far * rng.standard_normal(self._size)
            nearest = X.project(self._users(p))
            z = self._plain(nearest)
            if not X.contains(nearest, 1e-7):
                self._complain("contains(project, 1e-7) is False")
            self._hold("projection", z[None], deep)
            weights = units / units.max()
            least = self.distance(p, weights)
            here = float(np.linalg.norm(weights * (z - p)))
            if least is not None and abs(here - least) > 1e-4 * (least + 0.1):
                self._complain(f"the projection is at {here:.9g}, the set at {least:.9g}")

    def _sizes(self, ends: list[np.ndarray], deep: bool) -> None:
        """Judge bounding box, diameter and radius: each must hold the points that the solver found, and not far off."""
        X, d = self.X, self.declaration
        lower, upper = (self._plain(end) for end in X.bounding_box())
        points = [end for end in ends]
        for i in range(self._size if deep else min(1, self._size)):
            unit = np.eye(self._size)[i]
            low, high = self.least(unit), self.least(-unit)
            if not low.is_sure or not high.is_sure:
                continue
            width = -high.value - low.value
            slip = _NEAR * (width + abs(low.value) + abs(high.value)) + 1e-6
            if lower[i] > low.value + slip or upper[i] < -high.value - slip:
                self._complain(f"the box [{lower[i]:.9g}, {upper[i]:.9g}] lacks [{low.value:.9g}, {-high.value:.9g}]")
            if lower[i] < low.value - slip or upper[i] > -high.value + slip:
                self._complain(
                    f"the box [{lower[i]:.9g}, {upper[i]:.9g}] is loose for [{low.value:.9g}, {-high.value:.9g}]"
                )
            if low.point is not None and high.point is not None:
                points += [low.point, high.point]
        if any(np.any(z < lower - 1e-5) or np.any(z > upper + 1e-5) for z in points):
            self._complain("an end is outside the bounding box")
        users = np.array([self._users(z).ravel(order="F") for z in points])
        blur = 1e-5 * float(np.abs(users - users[0]).max()) + 1e-12 * float(np.abs(users).max()) + 1e-5 * d.units.max()
        for p in (1, 2, np.inf):
            spread = max(float(np.linalg.norm(a - b, p)) for a in users for b in users)
            if spread > float(X.recognised.diameter(p)) + blur:
                self._complain(f"diameter({p}) is {float(X.recognised.diameter(p)):.9g}, points are {spread:.9g} apart")
            reach = max(float(np.linalg.norm(a, p)) for a in users)
            if reach > X.norm_bound(p) + blur:
                self._complain(f"norm_bound({p}) is {X.norm_bound(p):.9g}, a point has {reach:.9g}")
        farthest = max(float(np.linalg.norm(a - X.recognised.middle)) for a in users)
        if farthest > X.recognised.reach + blur:
            self._complain(f"reach is {X.recognised.reach:.9g}, a point is {farthest:.9g} from the middle")
