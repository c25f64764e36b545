"""Units of columns and second-order cones: bounds passed from row to row, and what they lead to."""

import numpy as np
import pytest
from scipy import sparse

from dpcvx.barriers import Exponential, Nonnegative, Power, Product, SecondOrder
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.presolve import own_units
from dpcvx.sets.conic.presolve.own_units import in_own_units

HUGE, UNKNOWN = 2.0**200, 2.0**150


def conic_set(A, b, cones, E=None, e=None):
    A = np.atleast_2d(np.asarray(A, float))
    m, n = A.shape
    E, e = (np.zeros((0, n)), np.zeros(0)) if E is None else (np.atleast_2d(E), np.asarray(e, float))
    A, E, P = (sparse.csr_array(M) for M in (A, E, np.eye(n)))
    b, source, equality_source = np.asarray(b, float), np.zeros(m, int), np.zeros(len(e), int)
    return ConicSet(A, b, Product(cones), source, E, e, equality_source, P, np.zeros(n))


def mixed(seed, size=1.0):
    """A bounded set around a known point with cones of every kind, its rows in a few columns each; and the heads."""
    rng = np.random.default_rng(seed)
    n = 7
    cones = [SecondOrder(2, 4), Nonnegative(2 * n), SecondOrder(1, 2), Exponential(1), Power([[0.3, 0.7]])]
    cones += [SecondOrder(1, 3)]
    sizes = [cone.size for cone in cones]
    m = sum(sizes)
    A = np.where(rng.random((m, n)) < 0.4, rng.integers(-6, 7, (m, n)) / 2, 0.0)
    A[8 : 8 + 2 * n] = np.concatenate([np.eye(n), -np.eye(n)]) * rng.uniform(0.5, 2, (2 * n, 1))
    A[8 + 3] = 0  # a column that only the other rows bound from above
    E = np.where(rng.random((2, n)) < 0.5, rng.integers(1, 5, (2, n)) / 2, 0.0)
    v = size * rng.uniform(-1, 1, n)
    inside = (
        size * np.concatenate([cone.identity() for cone in cones]) * np.repeat(rng.uniform(0.1, 2, len(cones)), sizes)
    )
    heads = np.array([0, 4, m - 3])
    return conic_set(A, A @ v + inside, cones, E, E @ v), heads, v


class Plain:
    """The same bounds row by row and entry by entry."""

    def __init__(self, conic, heads, rounding):
        A, b = conic.A.toarray(), conic.b
        self.conic, self.heads, self.rounding, self.m = conic, list(heads), rounding, len(b)
        self.rows = np.concatenate([A, A[heads] + A[heads + 1], A[heads] - A[heads + 1], conic.E.toarray()])
        self.right = np.concatenate([b, b[heads] + b[heads + 1], b[heads] - b[heads + 1], conic.e])
        self.least, self.most = np.full(conic.columns, -HUGE), np.full(conic.columns, HUGE)

    def ends(self, a, j):
        one, other = a * self.least[j], a * self.most[j]
        return min(one, other), max(one, other)

    def slack(self, i):
        """Between what the slack of a row lies by the columns alone."""
        terms = [self.ends(a, j) for j, a in enumerate(self.rows[i]) if a]
        return self.right[i] - sum(high for _, high in terms), self.right[i] - sum(low for low, _ in terms)

    def light(self):
        most = [self.slack(self.m + k)[1] for k in range(2 * len(self.heads))]
        return most[: len(self.heads)], most[len(self.heads) :]

    def magnitudes(self):
        sums = [
            abs(self.right[i]) + sum(max(map(abs, self.ends(a, j))) for j, a in enumerate(self.rows[i]) if a)
            for i in range(self.m, self.m + 2 * len(self.heads))
        ]
        return np.array(sums).reshape(2, -1)

    def allowed(self):
        plus, minus = self.light()
        low, high = self.conic.cones.bounds(np.array([self.slack(i)[1] for i in range(self.m)]))
        found = []
        for cone, rows in self.conic.cones:
            for i in range(rows.start, rows.stop):
                place = (i - rows.start) % cone.block
                if place in cone.dual_rays():
                    found.append((0.0, HUGE))
                elif cone.is_ball and cone.block > 2 and place == 1:
                    found.append((-HUGE, HUGE))
                elif cone.is_ball and cone.block > 2:
                    k = self.heads.index(i - place)
                    size = min(high[i], np.sqrt(max(plus[k], 0)) * np.sqrt(max(minus[k], 0)))
                    found.append((max(-size, -HUGE), min(size, HUGE)))
                else:
                    found.append((max(low[i], -HUGE), min(high[i], HUGE)))
        return [*found, *[(0.0, HUGE)] * (2 * len(self.heads)), *[(0.0, 0.0)] * len(self.conic.e)]

    def open_ends(self):
        return sum(end < -UNKNOWN for end in self.least) + sum(end > UNKNOWN for end in self.most)

    def sweep(self):
        allowed, least, most = self.allowed(), self.least.copy(), self.most.copy()
        before, unknown = np.maximum(abs(least), abs(most)), self.open_ends()
        for i, row in enumerate(self.rows):
            terms = {j: self.ends(a, j) for j, a in enumerate(row) if a}
            for j, a in enumerate(row):
                if not a:
                    continue
                rest = []
                for side, sign in ((0, -1), (1, 1)):
                    others = [pair[side] for k, pair in terms.items() if k != j]
                    told = [pair[side] for pair in terms.values() if abs(pair[side]) <= UNKNOWN]
                    off = self.rounding * (sum(map(abs, told)) + abs(self.right[i]))
                    known = all(abs(each) <= UNKNOWN for each in others)
                    rest.append(sum(others) + sign * off if known else sign * HUGE)
                top = (self.right[i] - allowed[i][0] - rest[0]) / a
                bottom = (self.right[i] - allowed[i][1] - rest[1]) / a
                most[j] = min(most[j], top if a > 0 else bottom)
                least[j] = max(least[j], bottom if a > 0 else top)
        self.least, self.most = least, most
        return self.open_ends() < unknown or bool(np.any(np.maximum(abs(least), abs(most)) < before / 2))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("size", "rounding"), [(0.02, 1e-14), (1.0, 0.01)])
def test_bounds_of_columns_are_those_that_each_row_says_by_itself(seed, size, rounding):
    conic, heads, v = mixed(seed, size)
    assert own_units._heads(conic).tolist() == heads.tolist()
    fast, plain = own_units._Bounds(conic, heads, rounding=rounding), Plain(conic, heads, rounding)
    for _ in range(8):
        assert fast.sweep() == plain.sweep()
        assert fast._least == pytest.approx(plain.least, rel=1e-9, abs=1e-11)
        assert fast._most == pytest.approx(plain.most, rel=1e-9, abs=1e-11)
        assert np.all(fast._least <= v) and np.all(v <= fast._most) and not fast.cross()
        assert fast.reach() == pytest.approx(np.maximum(abs(plain.least), abs(plain.most)), rel=1e-9)
        for mine, theirs in zip(fast.light(), plain.light(), strict=True):
            assert mine == pytest.approx(np.array(theirs), rel=1e-9, abs=1e-11)
        assert fast.magnitudes() == pytest.approx(plain.magnitudes(), rel=1e-9)
    assert fast.reach().max() < 1e6  # all ends are found


def test_a_column_is_left_no_value_where_one_row_wants_more_than_another_allows():
    for end, crossed in ((2.0, True), (-2.0, False)):
        found = own_units._Bounds(conic_set([[1.0], [-1.0]], [1.0, -end], [Nonnegative(2)]), np.zeros(0, int))
        found.sweep()
        assert found.cross() == crossed


def _moved(conic, x):
    """The slacks and the residuals of the equalities at points x, P being invertible."""
    v = np.linalg.solve(conic.P.toarray(), (x - conic.offset).T).T
    return conic.slack(v), v @ conic.E.toarray().T - conic.e


def assert_same(one, other):
    """The same inequalities, equalities and second-order cones, up to a positive factor of each."""
    x = np.random.default_rng(0).standard_normal((20, one.P.shape[0]))
    (s, r), (t, u) = _moved(one, x), _moved(other, x)
    pairs = [(a, b) for a, b in zip(r.T, u.T, strict=True)]
    for cone, rows in one.cones:
        for k in range(cone.count):
            mine = slice(rows.start + k * cone.block, rows.start + (k + 1) * cone.block)
            a, b = s[:, mine], t[:, mine]
            pairs += [(a[:, 0] + a[:, 1], b[:, 0] + b[:, 1])] if cone.is_ball else list(zip(a.T, b.T, strict=True))
            if cone.is_ball:
                gone = [(c[:, 0] + c[:, 1]) * (c[:, 0] - c[:, 1]) - (c[:, 2:] ** 2).sum(axis=1) for c in (a, b)]
                assert (
                    np.ptp(gone[1] / gone[0]) <= 1e-6 * np.abs(gone[1] / gone[0]).max() and gone[1][0] * gone[0][0] > 0
                )
    for a, b in pairs:
        assert b / a == pytest.approx(np.full(len(a), b[0] / a[0]), rel=1e-6) and b[0] / a[0] > 0


def test_light_rows_are_multiplied_and_divided_by_the_factor_of_their_cone():
    conic, heads, _ = mixed(3)
    factor = np.array([4.0, 0.5, 1 / 64])
    found = own_units._multiplied(conic, heads, factor)
    for name in ("A", "b"):
        before, after = getattr(conic, name), getattr(found, name)
        before, after = (each if name == "b" else each.toarray() for each in (before, after))
        scale = factor if name == "b" else factor[:, None]
        plus, minus = scale * (before[heads] + before[heads + 1]), (before[heads] - before[heads + 1]) / scale
        assert after[heads] + after[heads + 1] == pytest.approx(plus, rel=1e-12, abs=1e-12)
        assert after[heads] - after[heads + 1] == pytest.approx(minus, rel=1e-12, abs=1e-12)
        others = np.delete(np.arange(len(conic.b)), np.concatenate([heads, heads + 1]))
        assert np.array_equal(after[others], before[others])
    assert np.all(found.A.data != 0)


def _disc_and_a_slab(width):
    """|(x0, x1)| <= 1, x0 + x2 <= 1.5, 2 x2 - x3 = 0 and 0 <= x2 <= width."""
    A = [[0, 0, 0, 0], [-1, 0, 0, 0], [0, -1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 0], [0, 0, -1, 0]]
    cones = [SecondOrder(1, 3), Nonnegative(3)]
    return conic_set(A, [1, 0, 0, 1.5, width, 0], cones, [[0, 0, 2.0, -1]], [0.0])


@pytest.mark.parametrize("power", [-30, -14, -11])
def test_columns_far_below_the_others_are_measured_in_their_own_size(power):
    conic = _disc_and_a_slab(2.0**power)
    found = in_own_units(conic)
    assert (found is conic) == (power > -12)
    if found is not conic:
        units = found.P.diagonal()
        assert units[2] / units[0] == 2.0**power and units[3] / units[0] == 2.0 ** (power + 1)
        assert units[1] == units[0]
        assert_same(conic, found)


@pytest.mark.parametrize("power", [-25, -21, -14, -11, 21])
def test_the_two_light_rows_of_a_quadratic_constraint_come_to_one_size(power):
    """(2 x)^2 <= 2 y 2 t for 0 <= y <= 1 and 0 <= t <= 2^power; a column z >= x without an end keeps its unit."""
    A = [[0, -1, -1, 0], [0, -1, 1, 0], [-2, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, -1]]
    conic = conic_set(A, [0, 0, 0, 1, 2.0**power, 0], [SecondOrder(1, 3), Nonnegative(3)])
    found = in_own_units(conic)
    assert (found is conic) == (abs(power) < 12)
    if found is not conic:
        assert_same(conic, found)
        bounds = own_units._Bounds(found, np.array([0]))
        while bounds.sweep():
            pass
        (plus,), (minus,) = bounds.light()
        assert 0.45 <= plus / minus <= 2.2
        assert np.all((bounds.reach()[:3] > 0.35) & (bounds.reach()[:3] < 2.9))


def test_units_are_not_taken_from_bounds_that_fall_without_end_or_contradict_each_other():
    """x2 <= 0.4 x3 <= 0.16 x2 is a point; x0 >= 2 leaves the disc."""
    falling = conic_set(
        [[0, 0, 0, 0], [-1, 0, 0, 0], [0, -1, 0, 0], [1, 0, 1, 0], [0, 0, 1, -0.4], [0, 0, -0.4, 1], [0, 0, -1, 0],
         [0, 0, 0, -1], [0, 0, 1, 0]],
        [1, 0, 0, 1.5, 0, 0, 0, 0, 2.0**-14], [SecondOrder(1, 3), Nonnegative(6)],
    )  # fmt: skip
    assert in_own_units(falling) is falling
    conic = _disc_and_a_slab(2.0**-14)
    empty = conic_set(
        np.vstack([conic.A.toarray(), [-1.0, 0, 0, 0]]), [*conic.b, -2.0], [SecondOrder(1, 3), Nonnegative(4)]
    )
    assert in_own_units(empty) is empty


@pytest.mark.parametrize(("width", "is_rounding"), [(1e-12, True), (1.5e-11, True), (3e-11, False), (1e-6, False)])
def test_what_is_left_of_numbers_that_cancel_is_no_unit(width, is_rounding):
    """x2 = 1 - x3 with 1 - width <= x3 <= 1: if more of the ones were rounding, x2 might be twice as large."""
    A = [[0, 0, 0, 0], [-1, 0, 0, 0], [0, -1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, -1]]
    cones = [SecondOrder(1, 3), Nonnegative(3)]
    conic = conic_set(A, [1, 0, 0, 1.5, 1, width - 1], cones, [[0, 0, 1, 1.0]], [1.0])
    assert (in_own_units(conic) is conic) == is_rounding


def test_cones_without_heads_have_none():
    exponential = conic_set(-np.eye(3), np.zeros(3), [Exponential(1)])
    assert own_units._heads(exponential).tolist() == []


def test_polyhedra_and_sets_of_one_size_stay_as_they_are():
    flat = conic_set([[1.0, 1], [-1, 0], [0, -1], [0, 2.0**20]], [1, 0, 0, 1], [Nonnegative(4)])
    assert in_own_units(flat) is flat
    even = _disc_and_a_slab(0.5)
    assert in_own_units(even) is even
