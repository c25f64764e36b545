"""A random vertex of a polytope whose mean is a given point.

Without auxiliary variables: a walk that never leaves a face it has reached. From the current point take a random
direction in the current face, go to one of the two ends of the chord, chosen so that the mean stays, and fix the
constraint that was hit. After at most dim steps no direction is left: that is a vertex.

With auxiliary variables the faces are not at hand: peel instead. Take a vertex v of the current face by linear
programming, shoot from v through the point p to the far end q of the face, so that p is a mean of v and q, and return
v or go on from q within the face that supports q.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError, OracleError, UnsupportedConeError
from dpcvx.sets.conic.canonical import DENSE_LIMIT
from dpcvx.sets.geometry.centered_form import CenteredForm
from dpcvx.sets.geometry.charts import Chart
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.layout import Layout
from dpcvx.sets.oracles.membership import Membership
from dpcvx.sets.solvers.linear_program import LinearProgram

_SHOT = 1e-9  # by which a shot may miss its ray, relative to the size of the set
_FACE = 1e-8  # by which the faces it reached are held
_SAME = 1e-5  # distance below which a point is the vertex
_PATHS = 8  # tries of peeling
_TIGHT = 1e-9  # slack, relative to the slack at the center, below which a constraint counts as reached


VertexSampler = Callable[[Array, np.random.Generator], Any]  # the user's own: (point, rng) -> vertex with mean point


class VertexSampling:
    """Random vertices of a set: by its own sampler where the user gave one, otherwise by one of the ways below."""

    def __init__(self, geometry: Geometry, layout: Layout, own: VertexSampler | None) -> None:
        self._geometry, self._layout, self._own = geometry, layout, own

    def sample(self, x: Array, rng: np.random.Generator, membership: Membership) -> Array:
        """A random vertex with mean x, as vectors.

        Whether x is in the set is not asked where there is an own sampler: it may know in far less time.

        Raises:
            UnsupportedConeError: where the set is no polytope, or too large.
            ArgumentError: where x is not one point of the set.
        """
        if x.ndim != 1:
            raise ArgumentError(f"sample_vertex takes one point of shape {self._layout.shape}.")
        if self._own is not None:
            return self._asked(x, rng)
        if not self._geometry.is_polytope:
            raise UnsupportedConeError(
                f"The {self._geometry.name} is not a polytope after presolve; it has no finite set of vertices."
            )
        if not membership.contains(x, 1e-7):
            raise ArgumentError("sample_vertex takes a point of the set; project it first.")
        return self._way.sample(x, rng)

    def _asked(self, x: Array, rng: np.random.Generator) -> Array:
        assert self._own is not None
        vertex = np.asarray(self._own(self._layout.unflatten(x), rng), dtype=float)
        if vertex.shape != self._layout.shape or not np.isfinite(vertex).all():
            raise OracleError(f"The set's own vertex sampler returned shape {vertex.shape}, not {self._layout.shape}.")
        return self._layout.flatten(vertex)

    @cached_property
    def _way(self) -> "VertexWalk | VertexPeeling":
        chart = self._geometry.chart
        if chart.width > DENSE_LIMIT:
            raise UnsupportedConeError(f"Vertices of sets of {self._layout.size} entries need an own vertex_sampler.")
        if chart.auxiliaries:
            return VertexPeeling(self._geometry.centered_form, self._geometry.dim)
        return VertexWalk(chart)


class VertexWalk:
    """The walk on { x0 + T w : G w <= s0 } for polytopes without auxiliary variables."""

    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        self._tangents = chart.tangent_basis()
        unit = chart.cones.unit_factors(chart.s0)
        self.G = -chart.slack_step(self._tangents.T).T * unit[:, None]
        self.s0 = chart.s0 * unit

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        """A random vertex with mean x."""
        w = self._tangents.T @ self._chart.coordinates(x)
        k = len(w)
        fixed = np.zeros((0, k))  # orthonormal rows: directions that are no longer free
        waiting = np.ones(len(self.G), dtype=bool)
        for _ in range(2 * k + 1):
            left = self.s0 - self.G @ w
            for i in np.flatnonzero(waiting & (left <= _TIGHT)):
                waiting[i] = False
                fixed = _extend(fixed, self.G[i])
            if len(fixed) >= k:
                return self._chart.x0 + self._chart.push(self._tangents @ w)
            d = rng.standard_normal(k)
            for _ in range(2):
                d -= fixed.T @ (fixed @ d)
            rate = self.G @ d / np.linalg.norm(d)
            d /= np.linalg.norm(d)
            ahead, behind = waiting & (rate > 1e-12), waiting & (rate < -1e-12)
            if not (ahead.any() and behind.any()):
                break
            forward, backward = (left[ahead] / rate[ahead]).min(), (left[behind] / -rate[behind]).min()
            w = w + forward * d if rng.random() * (forward + backward) < backward else w - backward * d
        raise OracleError("The walk to a vertex found no end: the polytope is too thin for it.")


def _extend(rows: Array, row: Array) -> Array:
    """The orthonormal rows with one more direction, if it is new."""
    size = np.linalg.norm(row)
    for _ in range(2):
        row = row - rows.T @ (rows @ row)
    rest = np.linalg.norm(row)
    return rows if rest <= 1e-9 * size else np.concatenate([rows, row[None, :] / rest])


class VertexPeeling:
    """Peeling by linear programs for polytopes with auxiliary variables."""

    def __init__(self, form: CenteredForm, dim: int) -> None:
        self._form, self._dim = form, dim

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        """A random vertex with mean x; a path on which rounding loses the face is tried anew."""
        for _ in range(_PATHS - 1):
            try:
                return self._peel(x, rng)
            except OracleError:
                continue
        return self._peel(x, rng)

    def _peel(self, x: Array, rng: np.random.Generator) -> Array:
        form = self._form
        P = form.P / form.size
        p = (x - form.x0) / form.size
        normals: list[Array] = []  # of the supporting hyperplanes that hold the current face
        for _ in range(self._dim + 1):
            faces = np.array(normals).reshape(len(normals), len(p))
            program = LinearProgram.over(form.A, form.s0, form.E, sparse.csr_array(faces @ P), faces @ p, slip=_FACE)
            w = program.minimise(P.T @ rng.standard_normal(len(p)))
            if w is None:
                break
            v = P @ w
            away = p - v
            if np.abs(away).max() <= _SAME:
                return form.inside(w)
            away = away - faces.T @ (faces @ away)  # exactly along the face
            far, end, normal = self._shoot(P, p, away)
            if rng.random() * (1 + far) < far:
                return form.inside(w)
            p = end
            normals = list(_extend(faces, normal))
        raise OracleError("Peeling found no vertex: the polytope is too thin for it.")

    def _shoot(self, P: sparse.csr_array, p: Array, away: Array) -> tuple[float, Array, Array]:
        """The largest t with p + t away in the set, that end, and the normal of a hyperplane that supports it."""
        form = self._form
        k, n = P.shape[1], len(p)
        idle = sparse.csr_array((form.A.shape[0], 1))
        A = sparse.csr_array(sparse.hstack([form.A, idle]))
        E = sparse.csr_array(sparse.hstack([form.E, sparse.csr_array((form.E.shape[0], 1))]))
        hit = sparse.csr_array(sparse.hstack([P, sparse.csr_array(-away[:, None])]))
        program = LinearProgram.over(A, form.s0, E, hit, p, slip=_SHOT)
        best = program.optimum(np.append(np.zeros(k), -1.0))
        if best is None:
            raise OracleError("Peeling lost the polytope: the point is outside it.")
        answer, normal = best.point, best.row_duals[-n:]
        return max(float(answer[-1]), 0.0), P @ answer[:k], normal / np.linalg.norm(normal)
