"""Linear programs: optima and multipliers by their conditions; where HiGHS gives up, once more, and then a sentence."""

import highspy
import numpy as np
import pytest
from scipy import sparse

from dpcvx.errors import OracleError
from dpcvx.sets.solvers.linear_program import LinearProgram, inequality_duals


def _triangle():
    rows = sparse.csr_array(np.array([[-1.0, 0.0], [0.0, -1.0], [0.6, 0.8]]))
    return LinearProgram.over(rows, np.array([0.0, 0.0, 1.2]), sparse.csr_array((0, 2)))


def _giving_up(monkeypatch, times):
    """Let the first solves end without an answer; returns the list of presolve and method in each."""
    ways = []
    right = LinearProgram._run

    def run(self, model, q, read):
        ways.append((model.getOptionValue("presolve")[1], model.getOptionValue("simplex_strategy")[1]))
        if len(ways) <= times:
            return highspy.HighsModelStatus.kSolveError, None
        return right(self, model, q, read)

    monkeypatch.setattr(LinearProgram, "_run", run)
    return ways


@pytest.mark.parametrize("times", [0, 1, 2])
def test_a_solve_that_gives_up_is_tried_again_with_presolve_and_then_by_the_other_method(times, monkeypatch):
    ways = _giving_up(monkeypatch, times)
    assert _triangle().minimise(np.array([-1.0, -1.0])) == pytest.approx([2.0, 0.0])
    assert ways == [("off", 4), ("on", 4), ("off", 1)][: times + 1]


def test_what_gives_up_on_every_way_is_a_sentence(monkeypatch):
    _giving_up(monkeypatch, 3)
    with pytest.raises(OracleError, match="without an answer: Solve error"):
        _triangle().minimise(np.array([-1.0, -1.0]))


def test_programs_with_equalities_are_tried_by_the_primal_method_at_last(monkeypatch):
    ways = _giving_up(monkeypatch, 2)
    line = LinearProgram.over(-sparse.eye_array(2, format="csr"), np.zeros(2), sparse.csr_array([[1.0, -1.0]]))
    assert line.minimise(np.array([1.0, 0.0])) == pytest.approx([0, 0])
    assert [method for _, method in ways] == [1, 1, 4]


def test_an_unbounded_program_is_not_tried_again(monkeypatch):
    ways = _giving_up(monkeypatch, 0)
    half_plane = LinearProgram.over(sparse.csr_array(np.array([[0.6, 0.8]])), np.ones(1), sparse.csr_array((0, 2)))
    assert half_plane.minimise(np.array([1.0, 0.0])) is None
    assert len(ways) == 1


@pytest.mark.parametrize("equalities", [0, 1])
@pytest.mark.parametrize("seed", range(3))
def test_a_vertex_and_its_multipliers_satisfy_the_conditions_of_an_optimum(seed, equalities):
    rng = np.random.default_rng(seed)
    slanted = rng.standard_normal((6, 4))
    ends = rng.uniform(0.5, 2, (8, 1)) * np.concatenate([np.eye(4), -np.eye(4)])
    A = sparse.csr_array(np.concatenate([slanted[:3], ends, slanted[3:]]))
    b, E = rng.uniform(0.1, 1, 14), sparse.csr_array(rng.standard_normal((equalities, 4)))
    program = LinearProgram.over(A, b, E)
    assert program._primal == (not equalities)
    for q in rng.standard_normal((5, 4)):
        found = program.optimum(q)
        duals, slack = inequality_duals(found, A), b - A @ found.point
        assert slack.min() >= -1e-9 and np.abs(E @ found.point).max(initial=0.0) <= 1e-9
        assert duals.min() >= 0 and np.abs(duals * slack).max() <= 1e-9
        rest = q + A.T @ duals
        across = np.linalg.lstsq(E.toarray().T, rest, rcond=None)[0] if equalities else np.zeros(0)
        assert rest == pytest.approx(E.T @ across, abs=1e-9)
        assert np.array_equal(program.minimise(q), found.point)


def test_more_rows_hold_up_to_the_slip():
    """|x + y - 0.5| <= 0.1 and x = 2 z in the cube."""
    A, ones = sparse.csr_array(np.concatenate([np.eye(3), -np.eye(3)])), np.ones(6)
    E, more = (sparse.csr_array(np.array([row])) for row in ([1.0, 0, -2], [1.0, 1, 0]))
    for slip in (0.0, 0.1):
        program = LinearProgram.over(A, ones, E, more, np.array([0.5]), slip)
        for sign in (1.0, -1.0):
            point = program.minimise(sign * np.array([1.0, 1.0, 0.0]))
            assert point[0] + point[1] == pytest.approx(0.5 - sign * slip, abs=1e-9)
            assert point[0] == pytest.approx(2 * point[2], abs=1e-9)


def test_an_end_that_was_moved_holds_for_solvers_that_are_set_up_later():
    rows = sparse.csr_array(np.array([[1.0, 2.0], [-1.0, 0.0], [0.0, -1.0]]))
    program = LinearProgram(rows, np.full(3, -np.inf), np.array([2.0, 0.0, 0.0]))
    assert program.minimise(np.array([-1.0, 0.0])) == pytest.approx([2, 0])
    program.set_upper(0, 3.0)
    assert program.minimise(np.array([-1.0, 0.0])) == pytest.approx([3, 0])
    held = program._models.take(program._set_up)
    assert program.minimise(np.array([-1.0, 0.0])) == pytest.approx([3, 0])
    program._models.put_back(held)
    program.set_upper(0, np.inf)
    assert program.minimise(np.array([-1.0, 0.0])) is None
