"""Rays: directions in which a set without an analytic center runs off to infinity.

Where the user's variable runs off, the set is unbounded and refused. Where only auxiliary variables do, whatever they
free along the way is removed.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.barriers import Nonnegative, Product
from dpcvx.errors import DegenerateSetError, UnboundedSetError
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.rows import describe, free_rows
from dpcvx.sets.solvers.cone_program import ConeProgram
from dpcvx.sets.sparse_rows import row_sizes

_ACCURACY = 1e-6  # to which a direction must stay in the cones, relative to what the rows move by


def refuse_rays(conic: ConicSet, variable_name: str, shape: tuple[int, ...]) -> None:
    """Raise if the set contains a ray: a random linear function sees it almost surely, in one sign or the other."""
    unit = row_sizes(conic.P)
    unit = np.where(unit > 0, unit, 1.0)  # each entry in units of its own
    g = conic.P.T @ (np.random.default_rng(0).standard_normal(len(unit)) / unit)
    program = _recession(conic)
    for sign in (1.0, -1.0):
        v = program.minimise(sign * g / np.abs(g).max()).point
        ray = conic.P @ v
        if np.abs(ray / unit).max() > 1e-6 and _recedes(conic, v):
            ray[np.abs(ray / unit) < 1e-6] = 0.0
            raise UnboundedSetError(*_ray_sentence(ray, variable_name, shape))


def without_rays(conic: ConicSet, names: Sequence[str], variable_name: str, shape: tuple[int, ...]) -> ConicSet | None:
    """Raise if the set contains a ray; if only auxiliary variables run off, remove what they free; None if none do."""
    refuse_rays(conic, variable_name, shape)
    program = _recession(conic, conic.P)
    h = np.random.default_rng(1).standard_normal(conic.columns)
    for sign in (1.0, -1.0):
        ray = program.minimise(sign * h).point
        if np.abs(ray).max() > 1e-6 and _recedes(conic, ray):
            return _project_out(conic, ray, names)
    return None


def _recession(conic: ConicSet, fixed: sparse.csr_array | None = None) -> ConeProgram:
    """The program over the recession directions in a box; `fixed` rows must vanish on them."""
    k = conic.columns
    rows = sparse.csr_array(sparse.vstack([conic.A, sparse.eye_array(k), -sparse.eye_array(k)]))
    b = np.concatenate([np.zeros(len(conic.b)), np.ones(2 * k)])
    E = conic.E if fixed is None else sparse.csr_array(sparse.vstack([conic.E, fixed]))
    return ConeProgram(rows, b, Product([*conic.cones.cones, Nonnegative(2 * k)]), E, np.zeros(E.shape[0]))


def _recedes(conic: ConicSet, ray: Array) -> bool:
    """Whether the set runs off along a direction, but for the accuracy of a solver, which may have stopped short."""
    size = float(np.abs(ray).max() * max(np.abs(rows.data).max(initial=1e-300) for rows in (conic.A, conic.E)))
    stays = np.abs(conic.E @ ray).max(initial=0.0) <= _ACCURACY * size
    return bool(stays and conic.cones.interior(_ACCURACY * size * conic.cones.identity() - conic.A @ ray))


def _project_out(conic: ConicSet, ray: Array, names: Sequence[str]) -> ConicSet:
    """Drop the rows that an auxiliary ray frees, and fix the position along it."""
    change = -(conic.A @ ray)
    change[np.abs(change) <= 1e-7 * float((abs(conic.A) @ np.abs(ray)).max(initial=0.0))] = 0.0
    moved = np.flatnonzero(change)
    left = conic.cones.run_off(moved, change[moved])
    if left.stuck is not None:
        raise DegenerateSetError(
            f"An auxiliary variable in {describe(conic.source[left.stuck], names)} runs off to infinity along "
            "the boundary of its cone; bound it."
        )
    keep = np.ones(len(conic.b), dtype=bool)
    keep[list(left.freed)] = False
    conic = free_rows(conic, keep, left.remaining)
    return replace(
        conic,
        E=sparse.csr_array(sparse.vstack([conic.E, sparse.csr_array(ray[None, :])])),
        e=np.append(conic.e, 0.0),
        equality_source=np.append(conic.equality_source, -1),
    )


def _ray_sentence(ray: Array, name: str, shape: tuple[int, ...]) -> tuple[str, Array]:
    """The sentence about a ray of the user's variable, and the ray in its shape."""
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
    largest = moving[np.argmax(np.abs(ray[moving]))]
    entry = f"{name}[{', '.join(map(str, np.unravel_index(largest, shape, order='F')))}]" if shape else name
    side = "an upper" if ray[largest] > 0 else "a lower"
    shown = np.array2string(direction, precision=3, threshold=12, separator=", ").replace("\n", "")
    return (
        f"The set is unbounded: it contains the ray {name} + s*d, s >= 0, with d = {shown}. "
        f"Add {side} bound on {entry}.",
        direction,
    )
