"""Parts of oracles by themselves: how far membership reaches, points that are pulled in, shots and faces of peeling."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet, OracleError, UnsupportedConeError
from dpcvx.sets.geometry.nearest import nearest
from dpcvx.sets.oracles.conic_oracles import ConicOracles
from dpcvx.sets.oracles.polyhedral_oracles import PolyhedralOracles
from dpcvx.sets.oracles.vertex_sampling import VertexPeeling, VertexWalk, _extend


def _declared(n, make, **options):
    x = cp.Variable(n)
    return DecisionSet(x, make(x), **options)


def test_the_length_that_a_tolerance_is_a_share_of_is_the_width_or_the_position():
    """At the center of an interval of half-width h the barrier -ln(h - t) - ln(h + t) has the width h/sqrt 2."""
    X = _declared(4, lambda x: [x[0] >= 0, x[0] <= 1e6, x[1] == 50, cp.abs(x[2]) <= 1, x[3] == 0])
    assert X._membership._reach == pytest.approx(np.array([5e5, 50 * 2**0.5, 1, 1]) / 2**0.5)
    off = np.array([5e5, 50, 0, 0])
    for entry, length in ((1, 50.0), (3, 2**-0.5)):
        for share, held in ((0.99, True), (1.01, False)):
            for sign in (1, -1):
                assert X.contains(off + sign * share * 1e-3 * length * np.eye(4)[entry], 1e-3) == held
    point = _declared(3, lambda x: [x == np.array([3.0, 0, -2])])
    assert point._membership._reach.tolist() == [3, 2, 2] or point._membership._reach.tolist() == [3, 3, 2]
    assert _declared(2, lambda x: [x == 0])._membership._reach.tolist() == [1, 1]


@pytest.mark.parametrize("tol", [1e-9, 1e-3, 0.5])
@pytest.mark.parametrize("auxiliary", [False, True])
def test_a_set_is_enlarged_by_the_tolerance_about_its_center(tol, auxiliary):
    X = _declared(3, lambda x: [cp.norm1(x - 1) <= 2, x[0] <= 9] if auxiliary else [cp.abs(x - 1) <= 2])
    assert bool(X.geometry.chart.auxiliaries) == auxiliary
    tol = max(tol, 1e-7) if auxiliary else tol  # whose fibres are judged with an error of their own
    end = np.array([1.0, 0, 0]) if auxiliary else np.array([1.0, -1.0, 1.0])
    for held in (True, False):
        share = 1 + tol * (0.98 if held else 1.02)
        assert X.contains(1 + 2 * share * end, tol) == held and X.contains(1 - 2 * share * end, tol) == held


def test_rounding_of_the_position_counts_far_from_the_origin_and_little_more():
    for far in (0.0, 1e3, 1e6):
        X = _declared(2, lambda x, f=far: [x >= f, x <= f + 1])
        blur = X._membership._blur * X.geometry.extent
        assert np.spacing(far) <= blur <= 10 * np.spacing(far + 1) + 1e-12


@pytest.mark.parametrize("far", [0.0, 1e3, 1e6])
def test_without_a_tolerance_a_set_holds_its_corners_and_what_rounding_moves_off_its_plane(far):
    X = _declared(3, lambda x: [x >= far, x <= far + 1])
    for corner in (np.full(3, far), np.full(3, far + 1), far + np.array([0.0, 1.0, 0.0])):
        assert X.contains(corner, 0.0)
        assert not X.contains(corner + (corner - far - 0.5) * (1e-9 + 1e-13 * far), 0.0)
    flat = _declared(3, lambda x: [x >= far, x <= far + 1, x[0] + 0.3 * x[1] + 0.7 * x[2] == 2 * far + 0.9])
    point = X.project(flat.center)
    for sign in (1, -1):
        assert flat.contains(point + sign * np.spacing(far + 1) * np.array([1.0, 0, 0]), 0.0)
        assert not flat.contains(point + sign * (1e-9 + 1e-13 * far) * np.array([1.0, 0, 0]), 0.0)


@pytest.mark.parametrize("beyond", [1e-9, 1e-6, 1e-2, 1.0, 30.0])
def test_points_are_pulled_toward_the_center_until_they_are_inside_and_hardly_farther(beyond):
    X = _declared(3, lambda x: [cp.abs(x - 1) <= 2, x[2] == 1])
    x = np.array([1 + 2 * (1 + beyond), 0.5, 1 + 1e-3])
    found = X._membership.pulled(x)
    assert X.contains(found, 1e-13) and found[2] == pytest.approx(1, abs=1e-15)
    along = (found[:2] - 1) / (x[:2] - 1)
    assert along[0] == pytest.approx(along[1], rel=1e-12)
    needed = beyond / (1 + beyond)
    assert needed * (1 - 1e-6) - 1e-12 <= 1 - along[0] <= 1.8 * needed + 1e-11
    inside = np.array([0.3, 2.9, 1.0])
    assert X._membership.pulled(inside) == pytest.approx(inside, abs=1e-15)


def test_a_gap_on_a_plane_is_above_the_excess_and_small_where_a_solver_is_done():
    X = _declared(4, lambda x: [cp.pnorm(x, 2.5, approx=False) <= 1, x[0] <= 0.7, cp.sum(x) == 0.3])
    oracles, form = ConicOracles(X.geometry), X.geometry.centered_form
    assert form.E.shape[0]
    for p in 2 * np.random.default_rng(4).standard_normal((1, 4)):
        q = oracles._toward(p)
        answer = oracles._quadratic.minimise(q)
        x, _ = oracles._judged(answer)
        own = X.geometry.chart.point(nearest(X.geometry.chart, p, 1e-14 * form.size**2))
        excess = (np.linalg.norm(x - p) ** 2 - np.linalg.norm(own - p) ** 2) / (2 * form.size**2)
        far = max(1.0, np.linalg.norm(own - p) / form.size) ** 2
        assert excess - 1e-9 * far <= oracles._gap(answer, q) <= 1e-6 * far


def test_a_direction_is_added_to_a_face_if_it_is_new():
    rng = np.random.default_rng(0)
    rows = np.zeros((0, 5))
    for count in range(1, 6):
        rows = _extend(rows, 10.0 ** rng.uniform(-5, 5) * rng.standard_normal(5))
        assert rows.shape == (count, 5) and rows @ rows.T == pytest.approx(np.eye(count), abs=1e-15 * 8)
    assert _extend(rows, rng.standard_normal(5)) is rows
    few = rows[:2]
    inside, across = few.T @ [3.0, -4.0], rows[4]
    assert _extend(few, inside + 4e-9 * across) is few
    more = _extend(few, inside + 6e-9 * across)
    assert (
        len(more) == 3
        and abs(more[2] @ across) == pytest.approx(1)
        and more @ more.T == pytest.approx(np.eye(3), abs=1e-6)
    )


def _l1(n=3):
    return _declared(n, lambda x: [cp.norm1(x - 1) <= 2, x[0] <= 9])


def test_a_shot_ends_on_the_boundary_and_a_plane_through_its_end_supports_the_set():
    X = _l1()
    assert X.geometry.chart.auxiliaries
    form = X.geometry.centered_form
    peeling, P = VertexPeeling(form, 3), form.P / form.size
    corners = np.concatenate([1 + 2 * np.eye(3), 1 - 2 * np.eye(3)])
    rng = np.random.default_rng(1)
    for _ in range(6):
        x = 1 + 0.5 * rng.uniform(-1, 1, 3)
        away = rng.standard_normal(3)
        far, end, normal = peeling._shoot(P, (x - form.x0) / form.size, away)
        hit = form.x0 + form.size * end
        assert hit == pytest.approx(x + far * form.size * away, abs=1e-8)
        assert np.abs(hit - 1).sum() == pytest.approx(2, abs=1e-8)
        heights = (corners - hit) @ normal
        assert np.linalg.norm(normal) == pytest.approx(1) and min(heights.max(), -heights.min()) <= 1e-7
    with pytest.raises(OracleError, match="outside it"):
        peeling._shoot(P, (np.full(3, 9.0) - form.x0) / form.size, np.array([1.0, 0, 0]))


class _Chance:
    """Directions as usual, and one number for every choice."""

    def __init__(self, seed, number):
        self.standard_normal, self._number = np.random.default_rng(seed).standard_normal, number

    def random(self):
        return self._number


@pytest.mark.parametrize(("chance", "both"), [(0.24, True), (0.26, False), (0.74, False), (0.76, True)])
def test_of_two_ends_of_an_edge_the_first_is_taken_with_the_share_that_the_point_has_of_it(chance, both):
    """(0.25, 0.75) is a quarter of (1, 0): which is then left below 0.25 alone, and (0, 1) left from 0.75 on."""
    form = _declared(2, lambda x: [cp.norm1(x) <= 1, x[0] <= 9]).geometry.centered_form
    drawn = [VertexPeeling(form, 2)._peel(np.array([0.25, 0.75]), _Chance(seed, chance)) for seed in range(8)]
    assert {tuple(v) for v in np.round(drawn, 6) + 0.0} == ({(1.0, 0.0), (0.0, 1.0)} if both else {(0.0, 1.0)})


@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_path_that_always_goes_on_ends_at_a_vertex_after_one_step_for_each_dimension(n):
    form = _l1(n + 1).geometry.centered_form
    for seed in range(3):
        vertex = VertexPeeling(form, n + 1)._peel(np.full(n + 1, 1.1), _Chance(seed, 1.0))
        assert np.sort(np.abs(vertex - 1)) == pytest.approx(np.append(np.zeros(n), 2), abs=1e-6)
    with pytest.raises(OracleError, match="no vertex"):
        VertexPeeling(form, n)._peel(np.full(n + 1, 1.1), _Chance(0, 1.0))


@pytest.mark.parametrize("auxiliary", [False, True])
def test_multipliers_of_inequalities_make_up_a_covector_and_prove_its_maximum(auxiliary):
    """Along every direction of the chart, auxiliary ones included, where they cancel; in the slacks of the chart."""
    X = _l1() if auxiliary else _declared(3, lambda x: [x >= 1, x <= [2, 5, 1.5], cp.sum(x) <= 6, x[0] - x[1] == 0.1])
    oracles, chart = PolyhedralOracles(X.geometry), X.geometry.chart
    k, tangents = chart.auxiliaries, chart.tangent_basis().T
    joint = np.zeros((k + chart.dim, chart.size))
    joint[:k, :k], joint[k:, k:] = np.eye(k), tangents
    assert bool(k) == auxiliary
    for scale in (1e-3, 1.0, 700.0):
        c = scale * np.random.default_rng(6).standard_normal(3)
        multipliers = oracles._multipliers(c)
        along = np.append(np.zeros(k), chart.push(tangents) @ c)
        assert multipliers.min() >= 0
        assert -chart.slack_step(joint) @ multipliers == pytest.approx(along, abs=1e-8 * scale)
        assert c @ chart.x0 + multipliers @ chart.s0 == pytest.approx(c @ X.argmin(-c), abs=1e-8 * scale)
        assert oracles._multipliers(0 * c) == pytest.approx(0 * multipliers, abs=1e-12)


def test_a_walk_takes_each_end_of_a_chord_as_often_as_the_point_says():
    """1,000 draws of an interval: off by 0.1 with probability at most 5e-9 (Hoeffding)."""
    X = _declared(1, lambda x: [x >= -2, x <= 6])
    walk, rng = VertexWalk(X.geometry.chart), np.random.default_rng(3)
    drawn = np.array([walk.sample(np.array([-0.4]), rng)[0] for _ in range(1000)])
    assert np.minimum(np.abs(drawn + 2), np.abs(drawn - 6)).max() <= 1e-8
    assert abs((drawn > 0).mean() - 0.2) <= 0.1


def test_own_samplers_and_wrong_points_are_answered_in_a_sentence():
    X = _declared(3, lambda x: [x >= 0, x <= 1], vertex_sampler=lambda p, rng: np.zeros(2))
    with pytest.raises(OracleError, match=r"vertex sampler returned shape \(2,\), not \(3,\)"):
        X.sample_vertex(np.full(3, 0.5), np.random.default_rng(0))
    X = _declared(3, lambda x: [x >= 0, x <= 1], vertex_sampler=lambda p, rng: np.full(3, np.nan))
    with pytest.raises(OracleError, match="vertex sampler"):
        X.sample_vertex(np.full(3, 0.5), np.random.default_rng(0))
    X = _declared(3, lambda x: [x >= 0, x <= 1])
    with pytest.raises(ValueError, match=r"takes one point of shape \(3,\)"):
        X.sample_vertex(np.full((2, 3), 0.5), np.random.default_rng(0))
    for outside, refused in ((1 + 1e-9, False), (1 + 1e-6, True)):
        if refused:
            with pytest.raises(ValueError, match="project it first"):
                X.sample_vertex(np.full(3, outside), np.random.default_rng(0))
        else:
            assert X.sample_vertex(np.full(3, outside), np.random.default_rng(0)) == pytest.approx(np.ones(3), abs=1e-7)
    with pytest.raises(UnsupportedConeError, match="own vertex_sampler"):
        _declared(2001, lambda x: [x >= 0, x <= 1]).sample_vertex(np.full(2001, 0.5), np.random.default_rng(0))
