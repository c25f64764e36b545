"""The slacks of a set on its equalities: directions of length 1, and gaps that do not depend on units of rows."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from dpcvx.sets.conic.declaration import declare
from dpcvx.sets.conic.lift import lift
from dpcvx.sets.geometry.hull import Hull
from dpcvx.sets.geometry.phase_one import TOUCHING

V = np.array([0.5, 0.3, 0.2])


def _conic(unit=1.0):
    """Rows of sizes far apart, on the plane sum x = 1; the third coordinate in another unit."""
    x = cp.Variable(3, name="x")
    conic = lift(declare(x, [x[0] <= 1, 100 * x[1] <= 100, x[2] >= 0, x[0] - x[1] >= -7, cp.sum(x) == 1]))
    columns = sparse.diags_array([1.0, 1.0, unit])
    return replace(conic, A=sparse.csr_array(conic.A @ columns), E=sparse.csr_array(conic.E @ columns))


@pytest.mark.parametrize("unit", [1.0, 1e-5, 1e5])
def test_directions_have_length_one_and_span_what_the_equalities_leave(unit):
    conic = _conic(unit)
    hull = Hull(conic, V / [1, 1, unit])
    assert np.linalg.norm(hull.units, axis=0) == pytest.approx(np.ones(hull.units.shape[1]), rel=1e-12)
    assert np.linalg.matrix_rank(hull.units) == 2
    assert hull.s0 == pytest.approx([0.5, 70, 0.2, 7.2], rel=1e-12)


def test_what_changes_along_the_hull_is_the_largest_product_with_a_direction():
    hull = Hull(_conic(), V)
    for z in np.random.default_rng(0).standard_normal((5, 4)):
        G = hull.G / np.linalg.norm(hull.G, axis=0)
        assert hull.residual(z) == pytest.approx(np.abs(G.T @ z).max(), rel=1e-12)
        flat = hull.projected(z)
        assert hull.residual(flat) <= 1e-13 and (z - flat) @ flat == pytest.approx(0, abs=1e-12)
    assert hull.residual(hull.units[:, 0]) >= 1 - 1e-12


def test_a_gap_and_what_may_be_touching_follow_from_the_sizes_of_the_rows():
    hull = Hull(_conic(), V)
    sizes = np.array([1, 100, 1, 7])  # the larger of the right-hand side, what is taken from it, and an entry
    rounding = 16 * np.finfo(float).eps * np.array([1.5, 130, 0.2, 7.8])
    for z in np.random.default_rng(1).standard_normal((5, 4)):
        gap, touching = hull.gap(z)
        assert gap == pytest.approx(z @ [0.5, 70, 0.2, 7.2], rel=1e-12, abs=1e-12)
        assert touching == pytest.approx(TOUCHING * (np.abs(z) * sizes).max() + np.abs(z) @ rounding, rel=1e-9)


def test_rows_in_other_units_give_the_same_gap():
    conic, factors = _conic(), np.array([10.0, 0.1, 4.0, 2.0])
    other = replace(conic, A=sparse.csr_array(sparse.diags_array(factors) @ conic.A), b=factors * conic.b)
    z = np.array([1.0, 0.02, 3.0, 0.5])
    assert Hull(other, V).gap(z / factors) == pytest.approx(Hull(conic, V).gap(z), rel=1e-9)
