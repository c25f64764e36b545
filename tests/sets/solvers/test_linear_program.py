"""Linear programs where HiGHS gives up: asked once more with presolve, and then a sentence."""

import highspy
import numpy as np
import pytest
from scipy import sparse

from dpcvx.errors import OracleError
from dpcvx.sets.solvers.linear_program import LinearProgram


def _triangle():
    rows = sparse.csr_array(np.array([[-1.0, 0.0], [0.0, -1.0], [0.6, 0.8]]))
    return LinearProgram.over(rows, np.array([0.0, 0.0, 1.2]), sparse.csr_array((0, 2)))


def _giving_up(monkeypatch, times):
    """Let the first solves end without an answer; returns the list of what presolve was set to in each."""
    presolves = []
    right = LinearProgram._run

    def run(self, model, q, read):
        presolves.append(model.getOptionValue("presolve")[1])
        if len(presolves) <= times:
            return highspy.HighsModelStatus.kSolveError, None
        return right(self, model, q, read)

    monkeypatch.setattr(LinearProgram, "_run", run)
    return presolves


def test_a_solve_that_gives_up_is_tried_again_with_presolve(monkeypatch):
    presolves = _giving_up(monkeypatch, 1)
    assert _triangle().minimise(np.array([-1.0, -1.0])) == pytest.approx([2.0, 0.0])
    assert presolves == ["off", "on"]


def test_what_gives_up_twice_is_a_sentence(monkeypatch):
    _giving_up(monkeypatch, 2)
    with pytest.raises(OracleError, match="without an answer: Solve error"):
        _triangle().minimise(np.array([-1.0, -1.0]))


def test_an_unbounded_program_is_not_tried_again(monkeypatch):
    presolves = _giving_up(monkeypatch, 0)
    half_plane = LinearProgram.over(sparse.csr_array(np.array([[0.6, 0.8]])), np.ones(1), sparse.csr_array((0, 2)))
    assert half_plane.minimise(np.array([1.0, 0.0])) is None
    assert len(presolves) == 1
