"""Diagnosis: is the set empty, flat, thin or unbounded? If none of these, its analytic center.

A point is found by maximising the least slack; the center by Newton's method. That center is its own certificate:
along a recession direction d any barrier falls at least as fast as its local norm, <F', d> <= -|d|_F'', so a Newton
decrement below 1 leaves no room for a ray.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from dpcvx.arrays import Array
from dpcvx.barriers import Nonnegative, Product
from dpcvx.errors import DegenerateSetError, EmptySetError, OracleError, ThinSetWarning, UnboundedSetError
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.presolve import describe, fold_on_hull, free_rows, presolve, tighten_rows
from dpcvx.sets.geometry.charts import Chart, Charts
from dpcvx.sets.geometry.newton import minimise
from dpcvx.sets.solvers.solver import Answer, ConeProgram, LinearProgram

_ROOM = 1e-6  # least slack above which an interior point needs no second look
_FLAT = 1e-8  # relative width below which a set counts as flat
_THIN = 1e-6  # relative width below which a set is called thin


@dataclass(frozen=True)
class Centered:
    """A diagnosed set: its conic form after all reductions, and the chart at its analytic center."""

    conic: ConicSet
    chart: Chart


def find_center(conic: ConicSet, names: Sequence[str], variable_name: str, shape: tuple[int, ...]) -> Centered:
    """Find the analytic center, or raise the sentence that says why there is none."""
    for _ in range(20):
        conic, v = strict_point(conic, names)
        conic = fold_on_hull(conic, v)
        chart = _analytic_center(Charts(conic), v)
        if chart is not None:
            _check_width(chart, conic, names, variable_name, shape)
            return Centered(conic, chart)
        conic = _without_rays(conic, names, variable_name, shape)
    raise DegenerateSetError("The auxiliary variables run off to infinity in more than 20 ways; bound them.")


def strict_point(conic: ConicSet, names: Sequence[str]) -> tuple[ConicSet, Array]:
    """A strictly feasible lifted point of the set, its implicit equalities made explicit.

    A small least slack has three explanations, tried in turn: a flat polyhedral part (find its implicit equalities),
    units (look again in the units of the bounding box), or a set that is thin or flat by its curved constraints.
    """
    while True:
        answer, room = phase_one(conic)
        v = _on_equalities(conic, answer.point[:-1])
        decided = answer.status in ("Solved", "AlmostSolved")
        if "PrimalInfeasible" in answer.status or (decided and room < -_ROOM) or _residual(conic, v) > _FLAT:
            raise EmptySetError(f"The set is empty: {_blame(conic, answer, names)} cannot hold together.")
        strict = bool(conic.cones.interior(conic.slack(v)))
        if strict and room > _ROOM:
            return conic, v
        rows = implicit_equalities(conic)
        if len(rows):
            conic = presolve(tighten_rows(conic, rows), names)
            continue
        zoomed = _zoomed(conic, v)
        answer_zoomed, room_zoomed = phase_one(zoomed)
        w = _on_equalities(zoomed, answer_zoomed.point[:-1])
        if room_zoomed > 1e-3 and zoomed.cones.interior(zoomed.slack(w)):
            return zoomed, w
        if strict and room > _FLAT / 10:
            return conic, v
        raise DegenerateSetError(
            f"The set is flat: {_blame(conic, answer, names)} leave a slack of {max(room, 0.0):.1e} of the set's size, "
            "which is no interior within rounding. State the equality that they imply, or widen them."
        )


def phase_one(conic: ConicSet) -> tuple[Answer, float]:
    """Maximise t with b - A v - t e in K, t <= 1; the answer's last coordinate is t."""
    if not len(conic.b):
        v = np.zeros(conic.columns)
        return Answer("Solved", np.append(v, 1.0), np.zeros(0)), 1.0
    e = conic.cones.identity()[:, None]
    A = sparse.csr_array(sparse.block_array([[None, sparse.csr_array([[1.0]])], [conic.A, sparse.csr_array(e)]]))
    cones = Product([Nonnegative(1), *conic.cones.cones])
    E = sparse.csr_array(sparse.hstack([conic.E, sparse.csr_array((conic.E.shape[0], 1))]))
    program = ConeProgram(A, np.append(1.0, conic.b), cones, E, conic.e)
    answer = program.minimise(np.append(np.zeros(conic.columns), -1.0))
    if not answer.usable and "PrimalInfeasible" not in answer.status:
        raise OracleError(f"The search for an interior point stopped without an answer: {answer.status}.")
    inequalities = np.delete(answer.dual, len(conic.e))  # without the row t <= 1
    return Answer(answer.status, answer.point, inequalities), float(answer.point[-1])


def _on_equalities(conic: ConicSet, v: Array) -> Array:
    if not conic.E.shape[0]:
        return v
    residual = conic.E @ v - conic.e
    if conic.E.shape[0] * conic.columns <= 4_000_000:
        return np.asarray(v - np.linalg.lstsq(conic.E.toarray(), residual, rcond=1e-11)[0])
    return np.asarray(v - sparse.linalg.lsqr(conic.E, residual, atol=1e-14, btol=1e-14)[0])


def _residual(conic: ConicSet, v: Array) -> float:
    return float(np.abs(conic.E @ v - conic.e).max(initial=0.0)) / max(1.0, float(np.abs(v).max(initial=0.0)))


def _blame(conic: ConicSet, answer: Answer, names: Sequence[str]) -> str:
    """The constraints that the dual of phase one puts weight on."""
    weight = np.abs(answer.dual)
    sources = np.concatenate([conic.equality_source, conic.source])
    if not np.isfinite(weight).all() or not len(weight):
        return describe(sources, names)
    return describe(sources[weight > 1e-4 * weight.max()], names)


def implicit_equalities(conic: ConicSet) -> Array:
    """Inequality rows that hold with equality on the whole polyhedral part, by one homogenised linear program.

    max 1's with 0 <= s <= 1, s <= b tau - A v, E v = e tau, tau >= 1: every s comes out 0 or 1.
    """
    rows = np.flatnonzero(conic.polyhedral)
    m, k, equalities = len(rows), conic.columns, conic.E.shape[0]
    if not m:
        return rows
    inequalities = sparse.hstack([sparse.eye_array(m), conic.A[rows], sparse.csr_array(-conic.b[rows][:, None])])
    flat = sparse.hstack([sparse.csr_array((equalities, m)), conic.E, sparse.csr_array(-conic.e[:, None])])
    answer = linprog(
        np.concatenate([-np.ones(m), np.zeros(k + 1)]),
        A_ub=sparse.csr_array(inequalities),
        b_ub=np.zeros(m),
        A_eq=sparse.csr_array(flat) if equalities else None,
        b_eq=np.zeros(equalities) if equalities else None,
        bounds=[(0, 1)] * m + [(None, None)] * k + [(1, 1e8)],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    )
    if answer.status != 0:
        return rows[:0]
    flat_rows = rows[answer.x[:m] < 1e-7]
    if not len(flat_rows):
        return np.asarray(flat_rows)
    # a very thin set looks the same to that program: at a vertex, the slacks of these rows must not leave zero
    program = LinearProgram(
        sparse.csr_array(sparse.vstack([conic.A[rows], conic.E])),
        np.concatenate([np.full(m, -np.inf), conic.e]),
        np.concatenate([conic.b[rows], conic.e]),
    )
    while len(flat_rows):
        widest = program.minimise(np.asarray(conic.A[flat_rows].sum(axis=0)).ravel())
        if widest is None:
            return rows[:0]
        stays = conic.b[flat_rows] - conic.A[flat_rows] @ widest <= 1e-13
        if stays.all():
            break
        flat_rows = flat_rows[stays]
    return np.asarray(flat_rows)


def _zoomed(conic: ConicSet, v: Array) -> ConicSet:
    """The same set in coordinates shifted to v and scaled to the bounding box of the lifted set."""
    program = ConeProgram(conic.A, conic.slack(v), conic.cones, conic.E, conic.e - conic.E @ v)
    width = np.ones(conic.columns)
    for j in range(conic.columns):
        ends = []
        for sign in (1.0, -1.0):
            q = np.zeros(conic.columns)
            q[j] = sign
            answer = program.minimise(q)
            ends.append(float(answer.point[j]) if answer.status in ("Solved", "AlmostSolved") else np.nan)
        extent = abs(ends[1] - ends[0])
        width[j] = extent if np.isfinite(extent) and extent > 1e-12 else 1.0
    column = sparse.diags_array(np.exp2(np.round(np.log2(width))))
    A = sparse.csr_array(conic.A @ column)
    row = conic.cones.unit_factors(np.asarray(abs(A).max(axis=1).todense()).ravel())
    return replace(
        conic,
        A=sparse.csr_array(sparse.diags_array(row) @ A),
        b=row * conic.slack(v),
        E=sparse.csr_array(conic.E @ column),
        e=conic.e - conic.E @ v,
        P=sparse.csr_array(conic.P @ column),
        offset=conic.point(v),
    )


def _analytic_center(charts: Charts, v: Array) -> Chart | None:
    """Newton's method from v, the chart renewed where it stops; None where the decrement never falls below 1."""
    for _ in range(8):
        try:
            with np.errstate(all="ignore"):  # a set without a center drives the iterates to infinity
                chart = charts.at(v)
                found = minimise(chart, np.zeros(chart.width), start=np.zeros(chart.size))
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(found.z).all():
            return None
        if found.decrement < 1e-6 and np.abs(found.z).max(initial=0.0) < 1e-6:
            return chart
        if np.abs(found.z).max(initial=0.0) > 1e9:
            return None
        v = chart.lifted(found.z)
    return None


def _check_width(
    chart: Chart, conic: ConicSet, names: Sequence[str], variable_name: str, shape: tuple[int, ...]
) -> None:
    """Refuse flat sets and warn of thin ones, by the least width of the Dikin ellipsoid at the center."""
    if chart.dim < 2:
        return
    width = chart.least_width()
    if width < _THIN:
        tight = np.argsort(np.abs(conic.slack(chart.v0)))[:2]
        blamed = describe(conic.source[tight], names)
        if width < _FLAT:
            _refuse_rays(conic, variable_name, shape)
            raise DegenerateSetError(
                f"The set is flat within rounding: its least width is {width:.1e} of its extent, between {blamed}. "
                "State the equality, or widen the constraints."
            )
        warnings.warn(
            f"The set is thin: its least width is {width:.1e} of its extent, between {blamed}.",
            ThinSetWarning,
            stacklevel=4,
        )


def _recession(conic: ConicSet, fixed: sparse.csr_array | None = None) -> ConeProgram:
    """The program over the recession directions in a box; `fixed` rows must vanish on them."""
    k = conic.columns
    rows = sparse.csr_array(sparse.vstack([conic.A, sparse.eye_array(k), -sparse.eye_array(k)]))
    b = np.concatenate([np.zeros(len(conic.b)), np.ones(2 * k)])
    E = conic.E if fixed is None else sparse.csr_array(sparse.vstack([conic.E, fixed]))
    return ConeProgram(rows, b, Product([*conic.cones.cones, Nonnegative(2 * k)]), E, np.zeros(E.shape[0]))


def _refuse_rays(conic: ConicSet, variable_name: str, shape: tuple[int, ...]) -> None:
    """Raise if the set contains a ray: a random linear function sees it almost surely, in one sign or the other."""
    g = conic.P.T @ np.random.default_rng(0).standard_normal(conic.P.shape[0])
    program = _recession(conic)
    for sign in (1.0, -1.0):
        ray = conic.P @ program.minimise(sign * g / np.abs(g).max()).point
        if np.abs(ray).max() > 1e-6 * np.abs(conic.P).max():
            raise UnboundedSetError(*_ray_sentence(ray, variable_name, shape))


def _without_rays(conic: ConicSet, names: Sequence[str], variable_name: str, shape: tuple[int, ...]) -> ConicSet:
    """Raise if the set contains a ray; if only auxiliary variables run off, remove what they free."""
    _refuse_rays(conic, variable_name, shape)
    program = _recession(conic, conic.P)
    h = np.random.default_rng(1).standard_normal(conic.columns)
    for sign in (1.0, -1.0):
        ray = program.minimise(sign * h).point
        if np.abs(ray).max() > 1e-6:
            return _project_out(conic, ray, names)
    raise DegenerateSetError(
        "The set is flat within rounding, or its constraints are too badly scaled: its analytic center was not found."
    )


def _ray_sentence(ray: Array, name: str, shape: tuple[int, ...]) -> tuple[str, Array]:
    ray = ray / np.abs(ray).max()
    ray[np.abs(ray) < 1e-6] = 0.0
    direction = ray.reshape(shape, order="F")
    if len(shape) == 2 and shape[0] == shape[1] and np.allclose(direction, -direction.T, atol=1e-5):
        return (
            f"The set is unbounded: the skew-symmetric part of {name} is free, because a semidefinite constraint sees "
            "only the symmetric part. Declare the variable with symmetric=True.",
            direction,
        )
    moving = np.flatnonzero(ray)
    first = np.unravel_index(moving[np.argmax(np.abs(ray[moving]))], shape, order="F") if shape else ()
    entry = f"{name}[{', '.join(map(str, first))}]" if shape else name
    side = "an upper" if ray[moving][np.argmax(np.abs(ray[moving]))] > 0 else "a lower"
    shown = np.array2string(direction, precision=3, threshold=12, separator=", ").replace("\n", "")
    return (
        f"The set is unbounded: it contains the ray {name} + s*d, s >= 0, with d = {shown}. "
        f"Add {side} bound on {entry}.",
        direction,
    )


def _project_out(conic: ConicSet, ray: Array, names: Sequence[str]) -> ConicSet:
    """Drop the rows that an auxiliary ray frees, and fix the position along it."""
    change = -(conic.A @ ray)
    change[np.abs(change) <= 1e-7 * np.abs(change).max(initial=0.0)] = 0.0
    keep = np.ones(len(conic.b), dtype=bool)
    remaining: list[int] = []
    for cone, _, rows in conic.cones.each_block():
        if not change[rows].any():
            continue
        left = cone.remainder(change[rows])
        if left is None:
            raise DegenerateSetError(
                f"An auxiliary variable in {describe(conic.source[rows], names)} runs off to infinity along "
                "the boundary of its cone; bound it."
            )
        keep[rows] = False
        remaining += [rows.start + i for i in left]
    conic = free_rows(conic, keep, remaining)
    return replace(
        conic,
        E=sparse.csr_array(sparse.vstack([conic.E, sparse.csr_array(ray[None, :])])),
        e=np.append(conic.e, 0.0),
        equality_source=np.append(conic.equality_source, -1),
    )
