"""What promises, coins and audits say at the edges: no share at all, a paper's scale, inputs off the grid, records."""

import logging
from fractions import Fraction

import numpy as np
import pytest

from dpcvx.privacy.audit.bits import on_grid
from dpcvx.privacy.audit.shown import looks
from dpcvx.privacy.gaussian_calibration import zcdp_epsilon
from dpcvx.privacy.noise import Gaussian
from dpcvx.privacy.noise.drawing import toss
from dpcvx.privacy.noise.script import Script


@pytest.mark.parametrize(("scale", "count", "moved"), [(3.0, 1, 1.0), (0.5, 7, 2.0), (40.0, 1000, 3.0)])
def test_gaussian_noise_of_a_given_scale_costs_half_the_squares_of_what_moves(scale, count, moved):
    rho = count * moved**2 / (2 * scale**2)
    spent = Gaussian(scale).claimed(count, moved, 1e-6)
    assert spent.rho == pytest.approx(rho, rel=1e-14)
    assert spent.epsilon == zcdp_epsilon(spent.rho, 1e-6)
    for nothing in (Gaussian(scale).claimed(0, moved, 1e-6), Gaussian(scale).claimed(count, 0.0, 1e-6)):
        assert (nothing.epsilon, nothing.rho) == (0.0, 0.0)


def test_a_coin_without_a_share_never_shows_and_one_that_costs_nothing_always_does():
    assert not any(toss(0, 1.0, Fraction(0)) for _ in range(50))
    assert all(toss(0, 1.0) for _ in range(50))
    for share in (Fraction(-1, 10**9), 1 + Fraction(1, 10**9)):
        with pytest.raises(ValueError, match="share of a coin must be between 0 and 1"):
            toss(0, 1.0, share)


def test_outputs_on_a_grid_around_an_input_off_it_are_told_from_those_of_another():
    outputs = np.array([0.3125, 1.3125, -0.6875, 0.6875, 1.0, -0.3125])
    assert on_grid(outputs, 0.3125, 1.0).tolist() == [True, True, True, False, False, False]
    assert on_grid(outputs, 0.3125, 0.5).tolist() == [True, True, True, False, False, False]
    assert on_grid(outputs, 0.3125, 0.125).tolist() == [True, True, True, True, False, True]


def test_what_an_object_writes_into_the_log_while_it_is_looked_at_is_seen():
    class Telling:
        """Tells its secret to the log where its attribute is read."""

        @property
        def mean(self):
            logging.getLogger("dpcvx").warning("the mean is %d", 17)
            return 1.0

        def __repr__(self):
            logging.getLogger("dpcvx").info("asked for a text")
            return "Telling()"

    seen = repr(looks(Telling()))
    assert "the mean is 17" in seen and "asked for a text" in seen


def test_scripted_noise_lies_around_0():
    # the mean of 4,000 values of deviation s is off by s/10 with probability below 1e-9
    noise = Script(0).vector(Gaussian(50.0), np.full(4_000, 10**6))
    assert abs(noise.mean()) < 5
    tight = Script(0).vector(Gaussian(0.05), np.zeros(200, dtype=np.int64))
    assert np.abs(tight).max() == 0  # not one unit off where noise is below half of one
