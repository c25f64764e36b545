"""From cvxpy constraints to the conic form, by cvxpy's own canonicalisation for Clarabel.

A fresh variable z without attributes, tied to the user's by z == vec(x), carries it through: the rows of that
equality are the affine map from canonical columns to x, whatever attributes did to the variable on the way. They are
read off and removed.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.barriers import KINDS, Product
from dpcvx.errors import DeclarationError, UnsupportedConeError
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.declaration import Declaration
from dpcvx.sets.sparse_rows import block_sums


def lift(declaration: Declaration) -> ConicSet:
    """The conic form of a declaration, as cvxpy makes it."""
    x = declaration.variable
    z = cp.Variable(x.size)
    tie = z == cp.vec(x, order="F")
    problem = cp.Problem(cp.Minimize(0), [*declaration.constraints, tie])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(Reading from|Writing to) a sparse CVXPY expression")
        warnings.filterwarnings("ignore", message=".*SCIPY backend")  # arrays of three and more axes
        try:
            with _without_values(problem.variables()):
                data, _, inverse = problem.get_problem_data(cp.CLARABEL)
        except cp.SolverError as error:
            raise UnsupportedConeError(f"cvxpy found no conic form of these constraints: {error}") from error
        except ValueError as error:
            raise UnsupportedConeError(
                f"cvxpy fails to bring these constraints into cones: {error}. It does so where geometric means of "
                "several lengths are declared with approx=False; leave that out."
            ) from error
    program = data["param_prob"]
    owner, block = _owners([*declaration.constraints, tie], program, inverse)
    tied = owner == len(declaration.constraints)
    A, b = sparse.csr_array(data["A"]), np.asarray(data["b"], dtype=float)
    A.eliminate_zeros()
    copied = np.zeros(A.shape[1], dtype=bool)
    first = program.var_id_to_col[z.id]
    copied[first : first + z.size] = True
    # the tie reads D z + R v = r with D = +-identity, so x = z = D (r - R v)
    sign = A[tied][:, copied].diagonal()
    P = sparse.csr_array(sparse.diags_array(-sign) @ A[tied][:, ~copied])
    offset = sign * b[tied]
    A, b = sparse.csr_array(A[~tied][:, ~copied]), b[~tied]
    dims = data["dims"]
    zero = int(dims.zero) - x.size
    _check_numbers(declaration, A, b, owner[~tied], zero)
    source = _spread_owners(owner[~tied], block[~tied], A, P)
    cones = Product([cone for kind in KINDS for cone in kind.from_cvxpy(dims)])
    if cones.size != len(b) - zero:
        raise UnsupportedConeError(
            f"cvxpy's form of these constraints has {len(b) - zero} rows of cones, and the cones that are known here "
            f"claim {cones.size} of them: a kind of cone is unknown, or claimed twice."
        )
    return ConicSet(
        A=A[zero:],
        b=b[zero:],
        cones=cones,
        source=source[zero:],
        E=A[:zero],
        e=b[:zero],
        equality_source=source[:zero],
        P=P,
        offset=offset,
    )


@contextmanager
def _without_values(variables: list[cp.Variable]) -> Iterator[None]:
    """Variables without their values for a while: cvxpy starts its own variables from them, and fails on some atoms."""
    kept = [(variable, variable.value) for variable in variables]
    for variable in variables:
        variable.save_value(None)
    try:
        yield
    finally:
        for variable, value in kept:
            variable.save_value(value)


def _check_numbers(declaration: Declaration, A: sparse.csr_array, b: Array, owner: Array, equalities: int) -> None:
    """Refuse NaN anywhere, and infinities anywhere but as the bound of an inequality."""
    bad = np.isnan(b) | (np.isinf(b) & (np.arange(len(b)) < equalities))
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    bad[rows[~np.isfinite(A.data)]] = True
    if bad.any():
        source = int(owner[np.flatnonzero(bad)[0]])
        name = declaration.names[source] if 0 <= source < len(declaration.names) else declaration.attribute_name
        raise DeclarationError(f"{name} holds NaN or an infinite number.")


def _owners(constraints: list[cp.Constraint], program: Any, inverse: Any) -> tuple[Array, Array]:
    """For each row the constraint behind it where cvxpy knows it, otherwise -1; and its canonical constraint."""
    place = {c.id: k for k, c in enumerate(constraints)}
    for step in inverse:
        mapped = getattr(step, "cons_id_map", None)
        if mapped:
            place = {mapped.get(key, key): k for key, k in place.items()}
    sizes = np.array([int(c.size) for c in program.constraints])
    owner = np.array([place.get(c.id, -1) for c in program.constraints])
    return np.repeat(owner, sizes), np.repeat(np.arange(len(sizes)), sizes)


def _spread_owners(owner: Array, block: Array, A: sparse.csr_array, P: sparse.csr_array) -> Array:
    """Name an atom's blocks after the constraint with which they share an auxiliary column; the rest are attributes."""
    gather = block_sums(block)
    blocks = gather.shape[0]
    named = np.full(blocks, -1)
    np.maximum.at(named, block, owner)
    auxiliary = np.asarray(abs(P).sum(axis=0)).ravel() == 0
    shared = sparse.csr_array(gather @ abs(A[:, auxiliary]))
    rows = np.repeat(np.arange(blocks), np.diff(shared.indptr))
    while True:
        column = np.full(shared.shape[1], -1)
        np.maximum.at(column, shared.indices, named[rows])
        reached = np.full(blocks, -1)
        np.maximum.at(reached, rows, column[shared.indices])
        new = (named < 0) & (reached >= 0)
        if not new.any():
            return named[block]
        named[new] = reached[new]
