"""Small exact steps that shrink the conic form: each takes a set and returns the same set of points x in fewer rows.

The map back to the user's variable is part of the conic form (`P`, `offset`), so every step carries its own inverse.
Scale factors are powers of two, so that scaling rounds nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.linalg import null_space
from scipy.sparse.csgraph import connected_components

from dpcvx.arrays import Array, Bools
from dpcvx.barriers import Nonnegative, Product
from dpcvx.barriers.cone import Cone
from dpcvx.errors import EmptySetError
from dpcvx.sets.conic.canonical import DENSE_LIMIT, ConicSet

_RANK = 1e-11  # relative size below which a direction counts as zero
_EXACT = 1e-12  # relative difference below which two numbers of the declaration are the same


def presolve(conic: ConicSet, names: Sequence[str]) -> ConicSet:
    """All steps that need no solver, repeated until nothing changes."""
    while True:
        before = (conic.A.shape, conic.E.shape)
        conic = drop_constant_rows(conic, names)
        conic = scale(conic)
        conic = fold_parallel_rows(conic, names)
        conic = substitute_equalities(conic)
        conic = eliminate_heads(conic)
        conic = drop_idle_columns(conic)
        if (conic.A.shape, conic.E.shape) == before:
            return conic


def keep_rows(conic: ConicSet, keep: Bools) -> ConicSet:
    """The set without the inequality rows that are not marked."""
    if keep.all():
        return conic
    return replace(conic, A=conic.A[keep], b=conic.b[keep], cones=conic.cones.take(keep), source=conic.source[keep])


def free_rows(conic: ConicSet, keep: Bools, remaining: list[int]) -> ConicSet:
    """The set without the unmarked rows, except that the `remaining` ones among them stay as plain inequalities."""
    kept = keep_rows(conic, keep)
    if not remaining:
        return kept
    return replace(
        kept,
        A=sparse.csr_array(sparse.vstack([kept.A, conic.A[remaining]])),
        b=np.concatenate([kept.b, conic.b[remaining]]),
        cones=Product([*kept.cones.cones, Nonnegative(len(remaining))]),
        source=np.concatenate([kept.source, conic.source[remaining]]),
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


def drop_constant_rows(conic: ConicSet, names: Sequence[str]) -> ConicSet:
    """Remove rows and whole cones without a variable, infinite bounds among them; raise where one cannot hold."""
    empty = np.diff(conic.A.indptr) == 0
    infinite = ~np.isfinite(conic.b) & conic.polyhedral
    if np.any(conic.b[infinite] < 0):
        row = int(np.flatnonzero(infinite & (conic.b < 0))[0])
        raise EmptySetError(f"The set is empty: {describe(conic.source[[row]], names)} asks for an infinite value.")
    keep = ~infinite
    plain = empty & conic.polyhedral & keep
    if np.any(conic.b[plain] < -_EXACT):
        row = int(np.flatnonzero(plain & (conic.b < -_EXACT))[0])
        raise EmptySetError(f"The set is empty: {describe(conic.source[[row]], names)} can never hold.")
    keep &= ~plain
    for cone, k, rows in conic.cones.each_block():
        if cone.block > 1 and empty[rows].all():
            stretched = conic.b[rows] + 1e-9 * np.abs(conic.b[rows]).max() * cone.take([k]).identity()
            if conic.b[rows].any() and not cone.take([k]).interior(stretched):
                raise EmptySetError(f"The set is empty: {describe(conic.source[rows], names)} can never hold.")
            keep[rows] = False
    idle = np.diff(conic.E.indptr) == 0
    if np.any(np.abs(conic.e[idle]) > _EXACT):
        row = int(np.flatnonzero(idle & (np.abs(conic.e) > _EXACT))[0])
        raise EmptySetError(f"The set is empty: {describe(conic.equality_source[[row]], names)} can never hold.")
    if idle.any():
        conic = replace(conic, E=conic.E[~idle], e=conic.e[~idle], equality_source=conic.equality_source[~idle])
    return keep_rows(conic, keep)


def scale(conic: ConicSet) -> ConicSet:
    """Rows of unit size cone by cone, columns of unit size, and the whole set to the size of its right-hand side."""
    A, b, E, e, P = conic.A, conic.b, conic.E, conic.e, conic.P
    block = conic.cones.block_of_row()
    for _ in range(3):
        row = np.zeros(block[-1] + 1 if len(block) else 0)
        np.maximum.at(row, block, _largest(A, 1))
        factor = _power_of_two(row)[block]
        A, b = sparse.diags_array(factor) @ A, factor * b
        factor = _power_of_two(_largest(E, 1))
        E, e = sparse.diags_array(factor) @ E, factor * e
        column = sparse.diags_array(_power_of_two(np.maximum(_largest(A, 0), _largest(E, 0))))
        A, E, P = A @ column, E @ column, P @ column
    size = np.abs(np.concatenate([b, e, [0.0]])).max()
    unit = float(_power_of_two(np.array([size]))[0])
    return replace(
        conic,
        A=sparse.csr_array(A),
        b=b * unit,
        E=sparse.csr_array(E),
        e=e * unit,
        P=sparse.csr_array(P / unit),
    )


def _largest(M: sparse.csr_array, axis: int) -> Array:
    if 0 in M.shape:
        return np.zeros(M.shape[1 - axis])
    return np.asarray(abs(M).max(axis=axis).todense()).ravel()


def _power_of_two(size: Array) -> Array:
    """The power of two nearest to 1/size, 1 where the size is 0."""
    return np.exp2(-np.round(np.log2(np.where(size > 0, size, 1.0))))


def fold_parallel_rows(conic: ConicSet, names: Sequence[str]) -> ConicSet:
    """Of parallel inequalities keep the tightest on each side; a pair that leaves no room becomes an equality.

    Inequalities parallel to an equality, and repeated equalities, are constant: they hold and go, or the set is empty.
    """
    rows = np.flatnonzero(conic.polyhedral)
    if len(rows) + conic.E.shape[0] < 2:
        return conic
    stacked = sparse.csr_array(sparse.vstack([conic.A[rows], conic.E]))
    norm = np.sqrt(np.asarray(stacked.power(2).sum(axis=1)).ravel())
    group, sign = parallel_groups(sparse.csr_array(sparse.diags_array(1 / norm) @ stacked))
    value = np.concatenate([conic.b[rows], conic.e]) / norm
    m = len(rows)

    # equalities: the first of each group stays and fixes its value
    equal = np.arange(m, len(value))
    first = np.full(group.max() + 1, -1)
    first[group[equal[::-1]]] = equal[::-1]
    fixed = np.where(first >= 0, (sign * value)[first], np.nan)  # of the group's direction
    source = np.concatenate([conic.source[rows], conic.equality_source])
    gap = np.where(np.arange(len(value)) < m, value - sign * fixed[group], -np.abs(value - sign * fixed[group]))
    blur = _EXACT * np.maximum(np.abs(value), np.abs(fixed[group]))
    if np.any(gap < -blur):
        worst = int(np.flatnonzero(gap < -blur)[0])
        pair = source[[worst, first[group[worst]]]]
        raise EmptySetError(f"The set is empty: {describe(pair, names)} contradict each other by {-gap[worst]:.3g}.")
    kept_equalities = first[group[equal]] == equal
    free = np.flatnonzero(first[group[:m]] < 0)

    tightest = np.full((2, len(first)), -1)
    for side, direction in enumerate((1.0, -1.0)):
        mine = free[sign[free] == direction]
        mine = mine[np.lexsort((-mine, -value[mine]))]  # the tightest, and of equals the first, last
        tightest[side, group[mine]] = mine
    keep = np.ones(len(conic.b), dtype=bool)
    keep[rows] = False
    keep[rows[tightest[tightest >= 0]]] = True

    both = np.flatnonzero((tightest >= 0).all(axis=0))
    upper, lower = tightest[0, both], tightest[1, both]
    room = value[upper] + value[lower]
    blur = _EXACT * np.maximum(np.abs(value[upper]), np.abs(value[lower]))
    if np.any(room < -blur):
        worst = int(np.argmin(room + blur))
        pair = source[[upper[worst], lower[worst]]]
        raise EmptySetError(f"The set is empty: {describe(pair, names)} contradict each other by {-room[worst]:.3g}.")
    flat = room <= blur
    keep[rows[lower[flat]]] = False
    position = np.cumsum(keep) - 1
    if not kept_equalities.all():
        conic = replace(
            conic,
            E=conic.E[kept_equalities],
            e=conic.e[kept_equalities],
            equality_source=conic.equality_source[kept_equalities],
        )
    kept = keep_rows(conic, keep)
    return tighten_rows(kept, position[rows[upper[flat]]]) if flat.any() else kept


def fold_on_hull(conic: ConicSet, v: Array) -> ConicSet:
    """Drop inequalities that another one implies on the affine hull because both have the same normal there.

    Args:
        conic: the set.
        v: a strictly feasible lifted point.
    """
    rows = np.flatnonzero(conic.polyhedral)
    if not len(rows) or not conic.E.shape[0] or conic.columns > DENSE_LIMIT:
        return conic
    reduced = conic.A[rows] @ null_space(conic.E.toarray(), rcond=_RANK)
    norm = np.linalg.norm(reduced, axis=1)
    constant = norm <= _RANK
    group, sign = parallel_groups(sparse.csr_array(reduced / np.where(constant, 1.0, norm)[:, None]))
    room = conic.slack(v)[rows] / np.where(constant, np.inf, norm)
    side = 2 * group + (sign > 0)
    least = np.full(side.max() + 1, np.inf)
    np.minimum.at(least, side, room)
    tight = np.flatnonzero(~constant & (room <= least[side] * (1 + _EXACT)))
    _, first = np.unique(side[tight], return_index=True)  # of equals the first, whatever rounding says
    keep = np.ones(len(conic.b), dtype=bool)
    keep[rows] = False
    keep[rows[tight[first]]] = True
    return keep_rows(conic, keep)


def parallel_groups(unit: sparse.csr_array) -> tuple[Array, Array]:
    """For each unit row the number of its direction, and the sign with which it points along it.

    Rows are sorted by one random projection, and neighbours compared in full.
    """
    key = unit @ np.random.default_rng(0).standard_normal(unit.shape[1])
    sign = np.where(key < 0, -1.0, 1.0)
    order = np.argsort(np.abs(key), kind="stable")
    turned = sparse.csr_array(sparse.diags_array(sign) @ unit)[order]
    change = _largest(sparse.csr_array(turned[1:] - turned[:-1]), 1)
    group = np.empty(len(key), dtype=int)
    group[order] = np.concatenate([[0], np.cumsum(change > _EXACT)])
    return group, sign


@dataclass(frozen=True)
class _Head:
    """An auxiliary column that only one row holds back, or none (`row` is -1)."""

    column: int
    row: int
    freed: tuple[int, ...]  # rows that hold by themselves once the column runs off
    remaining: tuple[int, ...] = ()  # rows of freed cones that must still be nonnegative


def eliminate_heads(conic: ConicSet) -> ConicSet:
    """Remove auxiliary columns that every cone but one inequality would push to infinity.

    If all cones allow v_j to grow and one row a'v <= b stops it, then the largest value that row allows is as good as
    any: put it in, and drop the row (`norm(x) <= t, t <= 1` becomes `norm(x) <= 1`). If no row stops it, the rows
    that it helps hold by themselves.
    """
    while True:
        heads = _independent_heads(conic)
        if not heads:
            return conic
        bounded = [h for h in heads if h.row >= 0]
        columns, rows = [h.column for h in bounded], [h.row for h in bounded]
        keep = np.ones(len(conic.b), dtype=bool)
        keep[rows] = False
        for head in heads:
            keep[list(head.freed)] = False
        remaining = [row for head in heads for row in head.remaining]
        if bounded:
            pivot = np.asarray(conic.A[rows, columns]).ravel()
            solved = sparse.csr_array(conic.A[:, columns] @ sparse.diags_array(1 / pivot))
            conic = replace(
                conic, A=sparse.csr_array(conic.A - solved @ conic.A[rows]), b=conic.b - solved @ conic.b[rows]
            )
        conic = _drop_columns(free_rows(conic, keep, remaining), np.array([h.column for h in heads]))


def _independent_heads(conic: ConicSet) -> list[_Head]:
    """Heads that can be eliminated at once: no chosen column appears in another one's row."""
    A = sparse.csc_array(conic.A)
    equalities = _largest(conic.E, 0)
    block = conic.cones.block_of_row()
    blocks = [(cone, rows) for cone, _, rows in conic.cones.each_block()]
    chosen: list[_Head] = []
    taken: set[int] = set()  # columns in the row of a chosen head
    columns: set[int] = set()
    rows_used: set[int] = set()
    for j in np.flatnonzero(conic.auxiliary & (equalities == 0)):
        at = slice(A.indptr[j], A.indptr[j + 1])
        if at.start == at.stop or int(j) in taken:
            continue
        head = _head(int(j), A.indices[at], A.data[at], conic.polyhedral, block, blocks)
        if head is None or rows_used & ({head.row} | set(head.freed)):
            continue
        reach = set() if head.row < 0 else set(map(int, conic.A[[head.row]].indices))
        touched = {int(c) for r in head.freed for c in conic.A[[r]].indices}
        if (reach | touched) & columns:
            continue
        chosen.append(head)
        columns.add(int(j))
        taken |= reach | touched
        rows_used |= {head.row} - {-1} | set(head.freed)
    return chosen


def _head(
    column: int, rows: Array, values: Array, polyhedral: Bools, block: Array, blocks: list[tuple[Cone, slice]]
) -> _Head | None:
    plain = polyhedral[rows]
    for sign in (1.0, -1.0):
        stops = [int(r) for r, value in zip(rows[plain], values[plain], strict=True) if sign * value > 0]
        if len(stops) > 1:
            continue
        helps = [int(r) for r, value in zip(rows[plain], values[plain], strict=True) if sign * value < 0]
        remaining: list[int] | None = []
        for k in np.unique(block[rows[~plain]]):
            cone, span = blocks[k]
            d = np.zeros(cone.block)
            mine = (rows >= span.start) & (rows < span.stop)
            d[rows[mine] - span.start] = -sign * values[mine]
            if not cone.recedes(d):
                break
            left = cone.remainder(d)
            remaining = None if left is None or remaining is None else remaining + [span.start + i for i in left]
            helps.extend(range(span.start, span.stop))
        else:
            if stops:
                return _Head(column, stops[0], ())
            if remaining is not None:
                return _Head(column, -1, tuple(helps), tuple(remaining))
    return None


def substitute_equalities(conic: ConicSet) -> ConicSet:
    """Solve equalities among auxiliary columns alone for one of them: heads behind them come to light."""
    while True:
        found = _solvable(conic)
        if found is None:
            return conic
        row, j, pivot = found
        used = sparse.csr_array(conic.A[:, [j]]) / pivot
        others = np.arange(conic.E.shape[0]) != row
        conic = replace(
            conic,
            A=sparse.csr_array(conic.A - used @ conic.E[[row]]),
            b=conic.b - used @ conic.e[[row]],
            E=sparse.csr_array(conic.E[others]),
            e=conic.e[others],
            equality_source=conic.equality_source[others],
        )
        conic = _drop_columns(conic, np.array([j]))


def _solvable(conic: ConicSet) -> tuple[int, int, float] | None:
    """An equality among auxiliary columns, one of them that occurs in no other equality, and its coefficient."""
    E = conic.E
    if not E.shape[0]:
        return None
    reaching = E[:, ~conic.auxiliary]
    occurrences = np.diff(sparse.csc_array(E).indptr)
    for row in np.flatnonzero((np.diff(reaching.indptr) == 0) & (np.diff(E.indptr) > 0)):
        at = slice(E.indptr[row], E.indptr[row + 1])
        columns, values = E.indices[at], E.data[at]
        good = (occurrences[columns] == 1) & (np.abs(values) >= 0.1 * np.abs(values).max())
        if good.any():
            return int(row), int(columns[good][0]), float(values[good][0])
    return None


def drop_idle_columns(conic: ConicSet) -> ConicSet:
    """Remove columns that occur nowhere."""
    idle = (_largest(conic.A, 0) == 0) & (_largest(conic.E, 0) == 0) & conic.auxiliary
    return _drop_columns(conic, np.flatnonzero(idle)) if idle.any() else conic


def _drop_columns(conic: ConicSet, columns: Array) -> ConicSet:
    keep = np.ones(conic.columns, dtype=bool)
    keep[columns] = False
    A = sparse.csr_array(conic.A[:, keep])
    A.eliminate_zeros()
    return replace(conic, A=A, E=sparse.csr_array(conic.E[:, keep]), P=sparse.csr_array(conic.P[:, keep]))


def factors(conic: ConicSet) -> tuple[int, Array, Array]:
    """The independent factors: their number, and the factor of each column and of each inequality row."""
    block = conic.cones.block_of_row()
    blocks = int(block[-1]) + 1 if len(block) else 0
    gather = sparse.csr_array((np.ones(len(block)), (block, np.arange(len(block)))), shape=(blocks, len(block)))
    rows = sparse.vstack([gather @ abs(conic.A), abs(conic.E), abs(conic.P)])
    graph = sparse.block_array([[None, rows], [rows.T, None]])
    _, label = connected_components(graph, directed=False)
    columns = label[rows.shape[0] :]
    present, columns = np.unique(columns, return_inverse=True)
    row_label = label[:blocks][block]
    return len(present), columns, np.searchsorted(present, row_label)


def describe(sources: Array, names: Sequence[str]) -> str:
    """The constraints behind the given rows, as the user wrote them; names[-1] speaks of the attributes."""
    unique = list(dict.fromkeys(int(k) for k in sources))
    words = [names[k] if k >= 0 else names[-1] for k in unique]
    shown = words if len(words) <= 4 else [*words[:3], f"{len(words) - 3} more"]
    if len(shown) == 1:
        return shown[0]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
