"""Heads: auxiliary columns that every cone but one inequality would push to infinity, such as t in norm(x) <= t <= 1.

If all cones allow v_j to grow and one row a'v <= b stops it, then the largest value that row allows is as good as any:
put it in, and drop the row (`norm(x) <= t, t <= 1` becomes `norm(x) <= 1`). If no row stops it, the rows that it helps
hold by themselves.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.rows import drop_columns, free_rows
from dpcvx.sets.sparse_rows import column_sizes


@dataclass(frozen=True)
class _Head:
    """An auxiliary column that only one row holds back, or none (`row` is -1)."""

    column: int
    row: int
    freed: tuple[int, ...] = ()  # rows that hold by themselves once the column runs off
    remaining: tuple[int, ...] = ()  # rows of freed cones that must still be nonnegative


def eliminate_heads(conic: ConicSet) -> ConicSet:
    """Remove auxiliary columns that every cone but one inequality would push to infinity."""
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
        conic = drop_columns(free_rows(conic, keep, remaining), np.array([h.column for h in heads]))


def _independent_heads(conic: ConicSet) -> list[_Head]:
    """Heads that can be eliminated at once: no chosen column appears in another one's row."""
    A = sparse.csc_array(conic.A)
    chosen: list[_Head] = []
    taken: set[int] = set()  # columns in the row of a chosen head
    columns: set[int] = set()
    rows_used: set[int] = set()
    for j in map(int, np.flatnonzero(conic.auxiliary & (column_sizes(conic.E) == 0))):
        at = slice(A.indptr[j], A.indptr[j + 1])
        if at.start == at.stop or j in taken:
            continue
        head = _head(conic, j, A.indices[at], A.data[at])
        if head is None or rows_used & {head.row, *head.freed}:
            continue
        held = (*head.freed, *([head.row] if head.row >= 0 else []))
        touched = {int(c) for row in held for c in conic.A[[row]].indices}
        if touched & columns:
            continue
        chosen.append(head)
        columns.add(j)
        taken |= touched
        rows_used |= set(held)
    return chosen


def _head(conic: ConicSet, column: int, rows: Array, values: Array) -> _Head | None:
    """The column as a head, upward or downward, from its entries in the inequality rows; None where it is none."""
    plain = conic.polyhedral[rows]
    for sign in (1.0, -1.0):
        stops = rows[plain & (sign * values > 0)]
        if len(stops) > 1:
            continue
        curved, change = rows[~plain], -sign * values[~plain]  # of the slack when the column grows
        if not conic.cones.recedes(curved, change):
            continue
        if len(stops):
            return _Head(column, int(stops[0]))
        left = conic.cones.run_off(curved, change)
        if left.stuck is None:
            helped = rows[plain & (sign * values < 0)]
            return _Head(column, -1, (*map(int, helped), *left.freed), left.remaining)
    return None
