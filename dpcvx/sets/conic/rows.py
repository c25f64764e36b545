"""Operations on the rows and columns of a conic set; each returns a new set."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array, Bools
from dpcvx.barriers import Nonnegative, Product
from dpcvx.barriers.cone import Face
from dpcvx.sets.conic.canonical import ConicSet


def keep_rows(conic: ConicSet, keep: Bools) -> ConicSet:
    """The set without the inequality rows that are not marked."""
    if keep.all():
        return conic
    return replace(conic, A=conic.A[keep], b=conic.b[keep], cones=conic.cones.take(keep), source=conic.source[keep])


def unweighted(conic: ConicSet) -> ConicSet:
    """A polyhedral set with every inequality of weight 1 in the barrier; other sets as they are."""
    return replace(conic, cones=Product([Nonnegative(len(conic.b))])) if conic.is_polyhedral else conic


def free_rows(conic: ConicSet, keep: Bools, remaining: Sequence[int]) -> ConicSet:
    """The set without the unmarked rows, except that the `remaining` ones among them stay as plain inequalities."""
    kept = keep_rows(conic, keep)
    if not remaining:
        return kept
    rows = list(remaining)
    return replace(
        kept,
        A=sparse.csr_array(sparse.vstack([kept.A, conic.A[rows]])),
        b=np.concatenate([kept.b, conic.b[rows]]),
        cones=Product([*kept.cones.cones, Nonnegative(len(rows))]),
        source=np.concatenate([kept.source, conic.source[rows]]),
    )


def tighten_rows(conic: ConicSet, rows: Array) -> ConicSet:
    """The set with the given inequality rows turned into equalities."""
    keep = np.ones(len(conic.b), dtype=bool)
    keep[rows] = False
    return replace(
        keep_rows(conic, keep),
        E=sparse.csr_array(sparse.vstack([conic.E, conic.A[rows]])),
        e=np.concatenate([conic.e, conic.b[rows]]),
        equality_source=np.concatenate([conic.equality_source, conic.source[rows]]),
    )


def in_faces(conic: ConicSet, faces: Sequence[tuple[slice, Face]]) -> ConicSet:
    """The set with some blocks of its rows in faces of their cones: equalities, and the rows of smaller cones."""
    if not faces:
        return conic
    keep = np.ones(len(conic.b), dtype=bool)
    for rows, _ in faces:
        keep[rows] = False
    kept = keep_rows(conic, keep)
    first = [conic.source[rows.start] for rows, _ in faces]
    return replace(
        kept,
        A=_stacked(kept.A, [sparse.csr_array(face.onto) @ conic.A[rows] for rows, face in faces]),
        b=np.concatenate([kept.b, *(face.onto @ conic.b[rows] for rows, face in faces)]),
        cones=Product([*kept.cones.cones, *(face.cone or Nonnegative(len(face.onto)) for _, face in faces)]),
        source=np.concatenate([kept.source, np.repeat(first, [len(face.onto) for _, face in faces])]),
        E=_stacked(conic.E, [sparse.csr_array(face.zero) @ conic.A[rows] for rows, face in faces]),
        e=np.concatenate([conic.e, *(face.zero @ conic.b[rows] for rows, face in faces)]),
        equality_source=np.concatenate(
            [conic.equality_source, np.repeat(first, [len(face.zero) for _, face in faces])]
        ),
    )


def _stacked(above: sparse.csr_array, below: Sequence[sparse.csr_array]) -> sparse.csr_array:
    stacked = sparse.csr_array(sparse.vstack([above, *below]))
    stacked.eliminate_zeros()
    return stacked


def keep_equalities(conic: ConicSet, keep: Bools) -> ConicSet:
    """The set without the equalities that are not marked."""
    if keep.all():
        return conic
    return replace(
        conic, E=sparse.csr_array(conic.E[keep]), e=conic.e[keep], equality_source=conic.equality_source[keep]
    )


def drop_columns(conic: ConicSet, columns: Array) -> ConicSet:
    """The set without the given lifted coordinates, on which nothing depends any more but by rounding."""
    keep = np.ones(conic.columns, dtype=bool)
    keep[columns] = False
    A = sparse.csr_array(conic.A[:, keep])
    A.eliminate_zeros()
    return replace(conic, A=A, E=sparse.csr_array(conic.E[:, keep]), P=sparse.csr_array(conic.P[:, keep]))


def single_point(conic: ConicSet, x: Array) -> ConicSet:
    """The set of the one point x: one coordinate, which is 0, in place of all auxiliary variables."""
    return replace(
        conic,
        A=sparse.csr_array((0, 1)),
        b=np.zeros(0),
        cones=Product([]),
        source=conic.source[:0],
        E=sparse.csr_array([[1.0]]),
        e=np.zeros(1),
        equality_source=np.array([-1]),
        P=sparse.csr_array((len(x), 1)),
        offset=x,
    )


def describe(sources: Array, names: Sequence[str]) -> str:
    """The constraints behind the given rows, as the user wrote them; names[-1] speaks of the attributes."""
    unique = list(dict.fromkeys(int(k) for k in sources))
    words = [names[k] if k >= 0 else names[-1] for k in unique]
    shown = words if len(words) <= 4 else [*words[:3], f"{len(words) - 3} more"]
    if len(shown) == 1:
        return shown[0]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
