"""Rows of conic sets: whose they are, how they are told in words, and what is left when some are taken away."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from dpcvx.barriers import Nonnegative
from dpcvx.barriers.cone import Face
from dpcvx.sets.conic.declaration import declare
from dpcvx.sets.conic.lift import lift
from dpcvx.sets.conic.presolve.vanishing import reduce_vanishing
from dpcvx.sets.conic.rows import describe, drop_columns, free_rows, in_faces, keep_equalities, keep_rows, tighten_rows


def _constraints(x):
    return [
        cp.norm1(x) <= 2,
        x >= -1,
        cp.log_sum_exp(2 * x) <= 3,
        cp.sum(x) == 0.5,
        cp.norm2(x - 1) + cp.max(x) <= 4,
        cp.pnorm(x, 3, approx=False) <= 3,
        cp.sum_squares(x) <= 5,
    ]


def test_all_rows_of_an_atom_belong_to_the_constraint_that_has_it():
    """Each constraint has as many rows of each kind among others as it has alone."""
    x = cp.Variable(3, name="x", nonneg=True)
    constraints = _constraints(x)
    whole = lift(declare(x, constraints))
    attribute = lift(declare(x, []))
    for k, constraint in enumerate(constraints):
        alone = lift(declare(x, [constraint]))
        assert np.sum(whole.source == k) == len(alone.b) - len(attribute.b) == np.sum(alone.source == 0)
        assert np.sum(whole.equality_source == k) == len(alone.e) == np.sum(alone.equality_source == 0)
    assert np.sum(whole.source == -1) == len(attribute.b) == 3


@pytest.mark.parametrize(
    ("sources", "words"),
    [
        ([2], "c"),
        ([2, 2, 0], "c and a"),
        ([0, 1, -1], "a, b and the attributes"),
        ([3, 2, 1, 0], "d, c, b and a"),
        ([0, 1, 2, 3, 4], "a, b, c and 2 more"),
        ([4, 0, 0, 1, 2, 3, -1], "e, a, b and 3 more"),
    ],
)
def test_up_to_four_constraints_are_named_in_their_order(sources, words):
    assert describe(np.array(sources), ["a", "b", "c", "d", "e", "the attributes"]) == words


@pytest.fixture
def conic():
    x = cp.Variable(3, name="x")
    return lift(
        declare(x, [x[0] <= 1, cp.SOC(cp.Constant(2.0), x), x[1] - x[2] <= 3, x >= -5, x[0] == x[1], x[2] == 1])
    )


def _rows(found):
    return np.column_stack([found.b, found.A.toarray()]).tolist()


def test_rows_that_are_kept_tightened_or_freed_keep_their_numbers_and_their_constraints(conic):
    rows, equal = _rows(conic), np.column_stack([conic.e, conic.E.toarray()]).tolist()
    ball = np.flatnonzero(~conic.polyhedral)
    keep = np.ones(len(rows), dtype=bool)
    assert keep_rows(conic, keep) is conic and keep_equalities(conic, np.ones(2, bool)) is conic
    keep[ball] = keep[1] = False
    kept = keep_rows(conic, keep)
    assert (
        _rows(kept) == [rows[k] for k in np.flatnonzero(keep)] and kept.is_polyhedral and kept.cones.size == len(kept.b)
    )
    assert kept.source.tolist() == conic.source[keep].tolist()
    freed = free_rows(conic, keep, [int(ball[0])])
    assert _rows(freed) == [*_rows(kept), rows[ball[0]]] and freed.cones.size == len(freed.b)
    assert freed.source.tolist() == [*kept.source, 1]
    assert _rows(free_rows(conic, keep, [])) == _rows(kept)
    tight = tighten_rows(conic, np.array([0, 2]))
    assert np.column_stack([tight.e, tight.E.toarray()]).tolist() == [*equal, rows[0], rows[2]]
    assert tight.equality_source.tolist() == [*conic.equality_source, *conic.source[[0, 2]]]
    assert _rows(tight) == [row for k, row in enumerate(rows) if k not in (0, 2)]
    one = keep_equalities(conic, np.array([False, True]))
    assert (one.e.tolist(), one.E.shape, one.equality_source.tolist()) == (
        [conic.e[1]],
        (1, 3),
        [conic.equality_source[1]],
    )


def test_a_block_in_a_face_is_equalities_and_rows_of_its_smaller_cone(conic):
    """Of |x| <= 2 the ray along (1, 1, 0, 0): t - x0 = 0 there, x1 = x2 = 0, and t + x0 is at least 0."""
    ball = np.flatnonzero(~conic.polyhedral)
    rows = slice(int(ball[0]), int(ball[-1]) + 1)
    zero = np.array([[1.0, -1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    onto = np.array([[0.5, 0.5, 0, 0]])
    face = Face(normal=np.array([1.0, -1, 0, 0]), zero=zero, onto=onto, cone=None, least=1.0)
    assert in_faces(conic, []) is conic
    found = in_faces(conic, [(rows, face)])
    slack = lambda v: conic.b[rows] - conic.A[rows] @ v  # noqa: E731  # of the block
    for v in np.random.default_rng(0).standard_normal((3, 3)):
        assert found.e[-3:] - found.E[-3:] @ v == pytest.approx(zero @ slack(v))
        assert found.b[-1:] - found.A[[-1]] @ v == pytest.approx(onto @ slack(v))
    assert found.equality_source[-3:].tolist() == [1, 1, 1] and found.source[-1] == 1
    assert found.is_polyhedral and isinstance(found.cones.cones[-1], Nonnegative) and found.cones.size == len(found.b)
    assert len(found.b) == len(conic.b) - 3 and len(found.e) == len(conic.e) + 3


def test_dropped_columns_leave_the_others(conic):
    found = drop_columns(conic, np.array([1]))
    for name in ("A", "E", "P"):
        kept = getattr(conic, name).toarray()[:, [0, 2]]
        assert np.array_equal(getattr(found, name).toarray(), kept)
    assert isinstance(found.A, sparse.csr_array) and np.all(found.A.data != 0)


FIXED = {
    "one norm": (lambda x: [cp.norm1(x[:2]) <= 0], {0, 1}),
    "a sum from below": (lambda x: [x[:2] >= 0, x[0] + 2 * x[1] <= 0], {0, 1}),
    "a sum from above": (lambda x: [x[:2] <= 0, x[0] + 2 * x[1] >= 0], {0, 1}),
    "signs from row to row": (lambda x: [x[0] >= 0, x[1] >= 2 * x[0], x[1] + x[2] <= 0, x[2] >= 0], {0, 1, 2}),
    "mixed signs": (lambda x: [x[0] >= 0, x[1] <= 0, x[0] - 3 * x[1] <= 0], {0, 1}),
    "an equality": (lambda x: [x[:2] >= 0, x[0] + x[1] == 0], {0, 1}),
    "an equality of mixed signs": (lambda x: [x[0] >= 0, x[1] <= 0, x[0] == x[1]], {0, 1}),
    "order alone": (lambda x: [x[0] >= 0, x[0] <= x[1]], set()),
    "room": (lambda x: [x[:2] >= 0, x[0] + x[1] <= 1e-9], set()),
    "one free": (lambda x: [x[0] >= 0, x[0] + x[1] <= 0], set()),
    "a contradiction": (lambda x: [x[:2] >= 0, x[0] + x[1] <= -1], set()),
}


@pytest.mark.parametrize("name", FIXED)
def test_entries_are_zero_where_signs_leave_them_nothing_else(name):
    make, wanted = FIXED[name]
    x = cp.Variable(3, name="x")
    conic = lift(declare(x, [cp.norm2(x) <= 1, *make(x)]))
    found = reduce_vanishing(conic)
    assert (found is conic) == (not wanted)
    E = found.E.toarray()
    rank = np.linalg.matrix_rank(E) if E.size else 0
    implied = {
        i
        for i, row in enumerate(found.P.toarray())
        if E.size and np.linalg.matrix_rank(np.vstack([E, row / np.abs(row).max()])) == rank
    }
    assert implied == wanted and not found.e.any()
