"""The barrier parameter: the smallest value that is proved.

The barrier is a sum over cones with parameters nu_b, restricted to the slice s = b - A v, E v = e. If multipliers
c_1, ..., c_m in the dual cone use disjoint cones and each <c_k, s> is constant and positive on the slice, the parameter
on the slice is

    nu = sum of nu_b - m.

Proof. Let G be the cones of c = c_k. Restricted to directions d with <c, d> = 0, sup <g, d>^2/<d, H d> is the squared
H-norm of the projection of H^-1 g = -s onto them, nu_G - <c, s>^2/<c, H^-1 c>. The Dikin ellipsoid lies in the cone, so
<c, s> >= sup <c, d> over <d, H d> <= 1, which is <c, H^-1 c>^(1/2): what is subtracted is at least 1. Sums over
disjoint groups add.

Where a variable-disjoint factor of a compact set is untouched, one such multiplier exists by compactness alone. More
are found on the rows whose unit vectors lie in the dual cone: rows that are constant (the head of a ball), pairs of
opposite rows (intervals), and then by linear programs, one multiplier after the other.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array, Bools
from dpcvx.errors import OracleError
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.factors import factors
from dpcvx.sets.conic.rows import keep_rows
from dpcvx.sets.geometry.charts import Chart
from dpcvx.sets.geometry.charts.sparse.coinciding import sides
from dpcvx.sets.solvers.linear_program import LinearProgram
from dpcvx.sets.sparse_rows import parallel_groups, row_norms

_ROWS = 1500  # rows up to which linear programs look for multipliers
_MULTIPLIERS = 200


@dataclass(frozen=True)
class BarrierParameter:
    """nu with its derivation."""

    nu: float
    cones: float
    constants: int
    pairs: int
    programs: int
    compact: int
    factors: int

    def __str__(self) -> str:
        parts = [
            (self.constants, "cone with a constant head", "cones with a constant head"),
            (self.pairs, "pair of opposite rows", "pairs of opposite rows"),
            (self.programs, "multiplier found by linear programming", "multipliers found by linear programming"),
            (self.compact, "compact factor", "compact factors"),
        ]
        saved = ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in parts if n)
        return f"{self.nu:g} = {self.cones:g} (sum over the cones)" + (
            f" - {self.cones - self.nu:g} ({saved})" if saved else ""
        )


def barrier_parameter(conic: ConicSet, chart: Chart) -> BarrierParameter:
    """Prove the smallest nu that this file knows how to prove."""
    if not chart.dim:
        return BarrierParameter(0.0, 0.0, 0, 0, 0, 0, 0)
    total, rows = conic.cones.nu, chart.slack_rows()
    conic, rows = _once(conic, rows)
    block = conic.cones.block_of_row()
    blocks = int(block[-1]) + 1 if len(block) else 0
    rays = conic.cones.dual_rays()
    spent = np.zeros(blocks, dtype=bool)

    constants = _spend_constants(rows, rays, block, spent)
    pairs = _spend_pairs(rows, conic.polyhedral, block, spent)
    programs = _spend_programs(conic, chart, rays, block, spent) if len(block) <= _ROWS else 0
    count, row_factor = factors(conic)
    used = np.zeros(count, dtype=bool)
    np.logical_or.at(used, row_factor, spent[block])
    present = np.zeros(count, dtype=bool)
    present[row_factor] = True
    compact = int((present & ~used).sum())
    nu = total - constants - pairs - programs - compact
    return BarrierParameter(nu, total, constants, pairs, programs, compact, count)


def _once(conic: ConicSet, G: sparse.csr_array) -> tuple[ConicSet, sparse.csr_array]:
    """The set and its rows G with one of all inequalities that share a weight of 1 because they coincide on the slice.

    Their sum is the barrier of the one, so that the parameter is that of the set without the others.
    """
    if not conic.cones.is_weighted:
        return conic, G
    _, side = sides(G.toarray())
    keep = np.zeros(len(conic.b), dtype=bool)
    keep[np.unique(side, return_index=True)[1]] = True
    return keep_rows(conic, keep), G[keep]


def _spend_constants(G: sparse.csr_array, rays: Bools, block: Array, spent: Bools) -> int:
    """Cones with a dual ray row that is constant on the slice."""
    constant = np.unique(block[rays & (row_norms(G) <= 1e-13)])
    spent[constant] = True
    return len(constant)


def _spend_pairs(G: sparse.csr_array, polyhedral: Bools, block: Array, spent: Bools) -> int:
    """Pairs of parallel inequality rows of opposite direction; presolve left at most one row on each side."""
    norms = row_norms(G)
    rows = np.flatnonzero(polyhedral & ~spent[block] & (norms > 1e-13))
    if len(rows) < 2:
        return 0
    group, sign = parallel_groups(sparse.csr_array(sparse.diags_array(1 / norms[rows]) @ G[rows]))
    sides = np.full((2, group.max() + 1), -1)
    sides[0, group[sign > 0]] = rows[sign > 0]
    sides[1, group[sign < 0]] = rows[sign < 0]
    pairs = sides[:, (sides >= 0).all(axis=0)]
    spent[block[pairs.ravel()]] = True
    return int(pairs.shape[1])


def _spend_programs(conic: ConicSet, chart: Chart, rays: Bools, block: Array, spent: Bools) -> int:
    """Multipliers c >= 0 on the rays that are left, A'c + E'y = 0 and <c, s> = 1, as vertices of linear programs."""
    found = 0
    A = conic.A
    slack = conic.slack(chart.v0)
    scaled = sparse.csr_array(sparse.diags_array(1 / np.where(rays, slack, 1.0)) @ A)  # c in units of 1/slack
    while found < _MULTIPLIERS:
        rows = np.flatnonzero(rays & ~spent[block])
        if not len(rows):
            break
        balance = sparse.hstack([scaled[rows].T, conic.E.T])
        total = np.concatenate([np.ones(len(rows)), np.zeros(conic.E.shape[0])])
        signs = sparse.hstack([sparse.eye_array(len(rows)), sparse.csr_array((len(rows), conic.E.shape[0]))])
        program = LinearProgram(
            sparse.csr_array(sparse.vstack([balance, sparse.csr_array(total[None, :]), signs])),
            np.concatenate([np.zeros(conic.columns), [1.0], np.zeros(len(rows))]),
            np.concatenate([np.zeros(conic.columns), [1.0], np.full(len(rows), np.inf)]),
        )
        costs = np.concatenate([np.random.default_rng(found).uniform(1, 2, len(rows)), np.zeros(len(conic.e))])
        try:
            answer = program.minimise(costs)
        except OracleError:
            break  # slacks too far apart for the simplex method; what is proved stays proved
        if answer is None:
            break
        c = np.where(answer[: len(rows)] > 1e-9, answer[: len(rows)], 0.0)
        change = scaled[rows].T @ c + conic.E.T @ answer[len(rows) :]
        if np.abs(change).max(initial=0.0) > 1e-9:
            break
        spent[block[rows[c > 0]]] = True
        found += 1
    return found
