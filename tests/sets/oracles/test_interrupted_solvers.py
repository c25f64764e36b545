"""A solver that is interrupted: later questions are answered, from any thread, as if nothing had happened.

An interruption between the last line of a solve and the release of its lock left the lock held, and every later
projection waited for it forever.
"""

import threading

import numpy as np
import pytest
from catalogue_sets import CATALOGUE
from cutting import cut
from scipy import sparse

from dpcvx.barriers import Power, Product
from dpcvx.errors import OracleError
from dpcvx.sets.solvers.cone_program import ConeProgram

QUESTIONS = {  # of a set, about a vector
    "project": lambda S, x: S.project(x),
    "argmin": lambda S, x: S.argmin(x),
    "contains": lambda S, x: S.contains(S.center + 0.1 * x),
}
SETS = ["ball, p = 3", "spectrahedron", "polytope", "convex hull"]  # Clarabel; HiGHS and DAQP; auxiliary weights


def answer(call, seconds=10.0):
    """What another thread is told; None where it waits in vain."""
    said = []
    thread = threading.Thread(target=lambda: said.append(call()), daemon=True)
    thread.start()
    thread.join(seconds)
    return said[0] if said else None


def interrupt(name, question, stride):
    """Interrupt a question at its first steps, then at ever fewer: after n of them, n/stride are left out."""
    S = CATALOGUE[name][0]()
    x = np.random.default_rng(0).standard_normal(S.shape)

    def ask():
        return QUESTIONS[question](S, x)

    expected, step = ask(), 0
    while cut(ask, step):
        said = answer(ask)
        assert said is not None and np.allclose(said, expected, atol=1e-6), step
        step += 1 + int(step / stride)
    assert step > 5


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", SETS)
def test_an_oracle_may_be_interrupted(name, question):
    interrupt(name, question, stride=10)


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", SETS)
def test_every_step_of_an_oracle_may_be_interrupted(name, question):
    interrupt(name, question, stride=np.inf)


class Locked:
    """A solver behind a lock, as it was."""

    def __init__(self):
        self._lock = threading.Lock()

    def solve(self):
        with self._lock:
            return 1


def test_a_lock_would_be_left_behind():
    """The teeth: some step of such a solver leaves it locked."""
    waits = []
    for step in range(6):
        solver = Locked()
        cut(solver.solve, step, __name__)
        waits.append(answer(solver.solve, 0.2) is None)
    assert any(waits)


def test_a_solver_that_was_interrupted_is_not_asked_again(monkeypatch):
    """Nor is one that failed: whatever state it is in, the next question goes to a new one."""
    S = CATALOGUE["KL ball"][0]()
    x = np.random.default_rng(0).standard_normal(S.shape)
    expected = S.project(x)
    program = S.recognised._solvers._quadratic
    (old,) = program._solvers

    class Broken:
        def update(self, q):
            raise KeyboardInterrupt

    program._solvers._idle[:] = [Broken()]
    with pytest.raises(KeyboardInterrupt):
        S.project(x)
    assert not list(program._solvers)
    assert np.allclose(S.project(x), expected, atol=1e-9)
    (new,) = program._solvers
    assert new is not old


def test_a_panic_of_the_solver_is_an_answer_that_is_not_used():
    """Clarabel breaks assertions on points far away; its exception is no Exception and would pass every handler."""

    class PanicException(BaseException):
        pass

    class Panicking:
        def update(self, q):
            raise PanicException("assertion failed")

    S = CATALOGUE["ball, p = 1.5"][0]()
    x = np.asarray(S.center) + 3.0
    expected = S.project(x)
    program = S.recognised._solvers._quadratic
    assert isinstance(program, ConeProgram)
    program._solvers._idle[:] = [Panicking()]
    assert np.allclose(S.project(x), expected, atol=1e-5)  # by the central path


def test_a_panic_while_the_solver_is_set_up_is_a_sentence():
    """Where exponents are off by an ulp, Clarabel breaks an assertion before it is asked anything."""
    cone = Power(np.array([[0.3, 0.7]]))
    cone.exponents = np.array([[0.3, 0.7 + 4e-16]])
    A = sparse.csr_array(-np.eye(3))
    with pytest.raises(OracleError, match=r"could not set up a cone program of 3 rows over 1 x power\(3\)"):
        ConeProgram(A, np.zeros(3), Product([cone]), sparse.csr_array((0, 3)), np.zeros(0))
