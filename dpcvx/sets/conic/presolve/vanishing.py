"""What must be zero because of signs alone, and the faces of the cones in which that leaves a set.

cvxpy writes sum(huber(y)) <= 0 or norm(y) <= 0 with auxiliary variables of one sign whose sum is not above zero. Signs
pass from row to row without any rounding:

    0 - sum_j a_j v_j >= 0 with a_j v_j >= 0 for all j leaves a_j v_j = 0; for all but one, it says the sign of that.

A row that vanishes is a normal of its cone, which exposes a face: where h - r = 0 in |(r, w)| <= h, w is zero too. So
flat constraints become the equalities that they mean, in their own coefficients, whatever their units are; a normal
that a solver finds is known to fewer digits.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array, Bools
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.presolve.scaling import scale
from dpcvx.sets.conic.rows import drop_columns, in_faces
from dpcvx.sets.sparse_rows import EXACT, parallel_groups, row_norms

_SIMILAR = 8  # rows of equal magnitudes up to which all pairs of them are added
_EXPOSED = 1e-6  # what counts as zero in a normal whose entries are whole numbers
_FREE = -2  # in place of the source of a column that is not zero


def reduce_vanishing(conic: ConicSet) -> ConicSet:
    """The set in the faces that signs expose, without the auxiliaries that are zero.

    Polyhedral sets stay as they are, and so do those of which signs prove that they are empty: which constraints cannot
    hold together is found out later, where all of them are still there.
    """
    while not conic.is_polyhedral:
        scaled = scale(conic)
        functions = _Functions(scaled)
        if functions.contradict():
            break
        sinking = functions.sinking()
        zero = functions.at_zero(sinking)
        faces = scaled.cones.exposed(functions.normal(sinking), _EXPOSED)
        idle = scaled.auxiliary & (zero > _FREE)
        fixed = ~scaled.auxiliary & (zero > _FREE) & ~_fixed(scaled)
        if not (faces or fixed.any() or idle.any()):
            break
        conic = drop_columns(_at_zero(in_faces(scaled, faces), np.flatnonzero(fixed), zero), np.flatnonzero(idle))
    return conic


def _fixed(conic: ConicSet) -> Bools:
    """The columns of which an equality says that they are zero."""
    fixed = np.zeros(conic.columns, dtype=bool)
    fixed[conic.E[(np.diff(conic.E.indptr) == 1) & (conic.e == 0)].indices] = True
    return fixed


def _at_zero(conic: ConicSet, columns: Array, source: Array) -> ConicSet:
    """The set with equalities that fix these columns at zero; `source` has for each the constraint that says so."""
    return replace(
        conic,
        E=sparse.csr_array(sparse.vstack([conic.E, sparse.eye_array(conic.columns, format="csr")[columns]])),
        e=np.concatenate([conic.e, np.zeros(len(columns))]),
        equality_source=np.concatenate([conic.equality_source, source[columns]]),
    )


class _Functions:
    """Affine functions b - A v that are nonnegative all over a set, and what follows from that.

    These are the rows of which the cones say so; h + r and h - r for the head h of each second-order cone and its first
    other row r; and equalities in both directions.
    """

    def __init__(self, conic: ConicSet) -> None:
        heads, signed = _heads(conic), np.flatnonzero(conic.cones.dual_rays())
        unit = sparse.eye_array(len(conic.b), format="csr")
        self._normals = sparse.csr_array(
            sparse.vstack([unit[signed], unit[heads] + unit[heads + 1], unit[heads] - unit[heads + 1]])
        )
        self._A = sparse.csr_array(sparse.vstack([self._normals @ conic.A, conic.E, -conic.E]))
        self._A.eliminate_zeros()
        self._A.sort_indices()
        self._b = np.concatenate([self._normals @ conic.b, conic.e, -conic.e])
        of_row = conic.source[np.concatenate([signed, heads, heads])]
        self._source = np.concatenate([of_row, conic.equality_source, conic.equality_source])
        self._row = np.repeat(np.arange(len(self._b)), np.diff(self._A.indptr))
        self._signs = self._known_signs()

    def contradict(self) -> bool:
        """Whether signs keep a function below zero."""
        return bool(np.any((self._b < 0) & (self._unknown(self._signs) == 0)))

    def sinking(self) -> Bools:
        """Functions that signs keep from being above zero: they vanish, and so does every term of them."""
        return np.asarray((self._b == 0) & (self._unknown(self._signs) == 0))

    def at_zero(self, sinking: Bools) -> Array:
        """For each column the source of a sinking function in which it occurs, so that it is zero; or `_FREE`."""
        source = np.full(self._A.shape[1], _FREE)
        entries = sinking[self._row]
        np.maximum.at(source, self._A.indices[entries], self._source[self._row[entries]])
        return source

    def normal(self, sinking: Bools) -> Array:
        """The sum of the normals, vectors of the dual cone, of the rows that vanish: they sink, or one is opposite."""
        vanish = sinking | self._opposite()
        return np.asarray(self._normals.T @ vanish[: self._normals.shape[0]].astype(float))

    def _known_signs(self) -> tuple[Bools, Bools]:
        """The columns that are known to be at least zero, and those that are at most zero."""
        least, most = np.zeros(self._A.shape[1], dtype=bool), np.zeros(self._A.shape[1], dtype=bool)
        for column, sign in self._signs_of_sums():
            (least if sign > 0 else most)[column] = True
        count = -1
        while count < (count := int(least.sum() + most.sum())):
            below, unknown = self._terms_below((least, most)), self._unknown((least, most))
            says = (self._b[self._row] <= 0) & (unknown[self._row] == np.where(below, 0, 1))  # the others are below 0
            up = self._A.data < 0  # the term -a v_j grows with v_j
            least[self._A.indices[says & up]] = True
            most[self._A.indices[says & ~up]] = True
        return least, most

    def _terms_below(self, signs: tuple[Bools, Bools]) -> Bools:
        """Which terms -a v_j of all functions are known to be at most zero."""
        least, most = (known[self._A.indices] for known in signs)
        return np.asarray(np.where(self._A.data > 0, least, most))

    def _unknown(self, signs: tuple[Bools, Bools]) -> Array:
        """For each function how many of its terms may be above zero."""
        return np.bincount(self._row[~self._terms_below(signs)], minlength=len(self._b))

    def _signs_of_sums(self) -> Iterator[tuple[int, float]]:
        """Signs of single columns from sums of two functions: t - y and t + y say that t is nonnegative."""
        alike: dict[tuple[bytes, bytes], list[int]] = defaultdict(list)
        ends = self._A.indptr
        for row in map(int, np.flatnonzero(np.diff(ends) > 1)):
            at = slice(ends[row], ends[row + 1])
            alike[self._A.indices[at].tobytes(), np.abs(self._A.data[at]).tobytes()].append(row)
        for rows in alike.values():
            for first, second in combinations(rows[:_SIMILAR], 2):
                one, other = (self._A.data[ends[row] : ends[row + 1]] for row in (first, second))
                left = np.flatnonzero(one == other)
                if len(left) == 1 and self._b[first] + self._b[second] <= 0:
                    yield int(self._A.indices[ends[first] + left[0]]), -float(np.sign(one[left[0]]))

    def _opposite(self) -> Bools:
        """Functions whose negative is nonnegative too, up to the last digits of the numbers in them."""
        found = np.zeros(len(self._b), dtype=bool)
        rows = np.flatnonzero(np.diff(self._A.indptr))
        if len(rows) < 2:
            return found
        norm = row_norms(self._A[rows])
        group, sign = parallel_groups(sparse.csr_array(sparse.diags_array(1 / norm) @ self._A[rows]))
        value = self._b[rows] / norm
        least = np.full((2, int(group.max()) + 1), np.inf)
        side = (sign > 0).astype(int)
        np.minimum.at(least, (side, group), value)
        room = value + least[1 - side, group]
        blur = EXACT * np.maximum(np.abs(value), np.where(np.isfinite(room), np.abs(least[1 - side, group]), 0.0))
        found[rows] = np.abs(room) <= blur
        return found


def _heads(conic: ConicSet) -> Array:
    """The head rows of the second-order cones."""
    found = [rows.start + cone.block * np.arange(cone.count) for cone, rows in conic.cones if cone.is_ball]
    return np.concatenate(found) if found else np.zeros(0, dtype=int)
