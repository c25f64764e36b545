"""Certificates of faces and of emptiness: exact sums, and what they claim about all points of a set."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet
from dpcvx.errors import DegenerateSetError, EmptySetError
from dpcvx.sets.conic.declaration import declare
from dpcvx.sets.conic.lift import lift
from dpcvx.sets.geometry import faces
from dpcvx.sets.geometry.certificates import Certificate, certify, exact_dot


def _conic(make, n=2):
    x = cp.Variable(n, name="x")
    return lift(declare(x, make(x)))


@pytest.mark.parametrize("seed", range(5))
def test_dots_are_those_of_fractions_rounded_once(seed):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(40) * 10.0 ** rng.integers(-12, 12, 40)
    b = rng.standard_normal(40) * 10.0 ** rng.integers(-12, 12, 40)
    a[20:], b[20:] = -a[:20], b[:20] * (1 + 2.0**-50)  # almost all of it cancels
    exact = sum((Fraction(float(p)) * Fraction(float(q)) for p, q in zip(a, b, strict=True)), Fraction(0))
    assert exact_dot(a, b) == float(exact)
    assert float(a @ b) != float(exact)  # teeth: an ordinary sum is off


def test_a_contradiction_is_proved_as_far_as_it_reaches():
    conic = _conic(lambda x: [x[0] + x[1] >= 1, x[0] + x[1] <= 0.5])
    proof = certify(conic, np.ones(2), 1e6)
    assert proof.level == -0.5 and proof.proves_empty
    assert not certify(conic, np.array([1.0, 1.0 + 1e-6]), 1e6).proves_empty  # it changes along the set
    assert certify(conic, np.array([1.0, 1.0 + 1e-6]), 1e3).proves_empty


def test_a_vector_outside_the_dual_cone_proves_nothing():
    conic = _conic(lambda x: [cp.norm2(x) <= 1, x[0] >= 1])
    assert certify(conic, -np.ones(len(conic.b)), 1.0).slip == np.inf


def test_all_slacks_are_within_the_level_and_the_slip():
    conic = _conic(lambda x: [cp.norm2(x) <= 1, x[0] + 0.3 * x[1] >= 0.2, x[1] == 0.1])
    rng = np.random.default_rng(0)
    z = conic.cones.identity()
    proof = certify(conic, z, 3.0)
    seen = 0
    for _ in range(200):
        v = rng.uniform(-3, 3, conic.columns)
        v = v - np.linalg.lstsq(conic.E.toarray(), conic.E @ v - conic.e, rcond=None)[0]
        if np.abs(v).max() <= 3:
            seen += 1
            assert abs(z @ conic.slack(v) - proof.level) <= proof.slip
    assert seen > 50


def test_without_a_certificate_no_set_is_called_empty(monkeypatch):
    """Teeth: the refusal of a set that is empty by its curvature rests on the proof."""
    x = cp.Variable(2, name="x")
    constraints = [cp.norm2(x) <= 1, x[0] + x[1] >= 2]
    with pytest.raises(EmptySetError):
        DecisionSet(x, constraints)
    monkeypatch.setattr(faces, "certify", lambda *_: Certificate(0.0, np.inf))
    with pytest.raises(DegenerateSetError, match="no proof"):
        DecisionSet(x, constraints)


def test_without_a_certificate_no_set_is_called_flat(monkeypatch):
    x = cp.Variable(2, name="x")
    constraints = [cp.norm2(x) <= 1, x[0] >= 1]
    assert DecisionSet(x, constraints).dim == 0
    monkeypatch.setattr(faces, "certify", lambda *_: Certificate(0.0, np.inf))
    with pytest.raises(DegenerateSetError, match="no proof"):
        DecisionSet(x, constraints)
