"""Room that claims leave for rounding, and what certificates say of other neighbours and in words."""

import math
from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import mpmath
import numpy as np
import pytest
from loss_sets import ball_losses, box_losses

import decision_sets as ds
from dpcvx import FTRL, Change, LossSet, PrivateSums, compose
from dpcvx.privacy import certificate_words, composition
from dpcvx.privacy.audit.density import DensityCertificate
from dpcvx.privacy.audit.learned_score import learn_score
from dpcvx.privacy.exact_sums import ExactSums
from dpcvx.privacy.feedback import VectorFeedback, feedback_grid
from dpcvx.privacy.gaussian_calibration import log_delta_above
from dpcvx.privacy.grounds import box_in_words, box_length
from dpcvx.privacy.neighbours import relation_for
from dpcvx.privacy.noise.k_norm import KNorm
from dpcvx.sets.sizes import sizes_of

UNIT = 2.0**-53


def test_delta_of_a_gaussian_is_bounded_with_room_for_sixteen_units_of_what_cancels():
    """erfcx is off by up to 8, and where mu is small the digits of b^2 are lost, otherwise those of m(a) - m(b)."""
    rng = np.random.default_rng(5101)
    for mu, ratio in zip(10 ** rng.uniform(-3, 1, 60), 10 ** rng.uniform(-1, 1.2, 60), strict=True):
        epsilon = float(mu * ratio)
        with mpmath.workdps(120):
            m, e = mpmath.mpf(float(mu)), mpmath.mpf(epsilon)
            a, b = e / m - m / 2, e / m + m / 2
            exact = mpmath.log(mpmath.ncdf(-a) - mpmath.exp(e) * mpmath.ncdf(-b))
            mills = [mpmath.ncdf(-x) / mpmath.npdf(x) for x in (a, b)]
            lost = 1 + b * b if mu < 1 else mills[0] / (mills[0] - mills[1])
            room = (mpmath.mpf(log_delta_above(float(mu), epsilon)) - exact) / UNIT
            every = 4 + lost + abs(a) * (e / m + m)
            assert 16 * every < room < 64 * every


def test_optimal_composition_leaves_delta_a_margin_for_its_own_rounding(monkeypatch):
    asked = []

    def recorded(pure, mu, delta):
        asked.append(delta)
        return 1e-3

    monkeypatch.setattr(composition, "composed_epsilon", recorded)
    part = FTRL(ds.simplex(3), box_losses(3), 16, epsilon=1.0, delta=1e-6, noise="gaussian").certificate
    compose([part] * 3, delta=1e-6)
    slack = 3 * part.gaussian_slack
    assert asked and all(1e-6 * math.exp(-slack) * (1 - 2e-12) < one for one in asked)
    assert all(one < 1e-6 * math.exp(-slack) * (1 - 0.9e-12) for one in asked)


def test_without_delta_a_composition_is_said_to_be_the_sum_that_it_is():
    part = FTRL(ds.simplex(3), box_losses(3), 16, epsilon=1.0).certificate
    whole = compose([part] * 3)
    assert (whole.epsilon, whole.delta, whole.method) == (3.0, 0.0, "the sum of the epsilons")


# grids of feedback


@pytest.mark.parametrize("magnitude", [2.0**-20, 1.0, 2.0**70])
def test_no_grid_of_feedback_is_finer_than_floating_point_numbers_of_its_size(magnitude):
    assert feedback_grid(magnitude, 1, 0.0).step == magnitude * 2.0**-40
    assert feedback_grid(magnitude, 1, 0.0, fine=magnitude * 2.0**-45).step == magnitude * 2.0**-45
    assert feedback_grid(magnitude, 1, 0.0, fine=0.0).step == magnitude * 2.0**-52


@pytest.mark.parametrize("magnitude", [2.0**-20, 1.0, 2.0**70])
def test_a_grid_of_feedback_holds_256_steps_of_it_at_least(magnitude):
    assert feedback_grid(magnitude, 2**50, 0.0).step == magnitude * 2.0**-8
    assert feedback_grid(magnitude, 1, magnitude * 2.0**44).step == magnitude * 2.0**-8
    for batch, noise in ((2**50 + 1, 0.0), (1, magnitude * 2.0**44 * (1 + 1e-12))):
        with pytest.raises(OverflowError, match="do not fit into 64-bit integers on any useful grid"):
            feedback_grid(magnitude, batch, noise)


def test_vector_noise_is_centered_and_vanishes_where_epsilon_grows():
    Y, action = box_losses(3), np.array([0.2, 0.3, 0.5])
    made = VectorFeedback(Y, 1e200, np.random.default_rng(0))
    assert made.release(1.5, action, (-1.0, 1.0)) == pytest.approx(1.5, abs=1e-100 + 1e-15)
    wide = VectorFeedback(Y, 2.0, np.random.default_rng(0), rounds_per_person=3)
    assert wide.scale == pytest.approx(3 * 6 / 2.0)


def test_the_units_of_a_declared_change_cover_that_values_come_as_floating_point_numbers():
    d = cp.Variable(4)
    tiny = 2.0**-50
    change = Change(d, [cp.norm(d, "inf") <= tiny])
    sizes = sizes_of(ds.simplex(4), box_losses(4))
    blur = 4 * 4 * 2.0**-52  # N times <|x|, |l|> over both boxes
    moved = change.feedback_change(sizes)
    assert moved == pytest.approx(tiny, rel=1e-5)
    step = 2.0**-56
    assert change.feedback_units(sizes, step) == pytest.approx((moved + blur) / step + 2, abs=1.1)


# other neighbours


@pytest.mark.parametrize(("losses", "seed"), [(box_losses(3), None), (ball_losses(3), 0)], ids=["box", "ball"])
def test_zeroing_out_costs_half_of_replacing_under_noise_of_the_shape_of_the_losses(losses, seed):
    certificate = PrivateSums(losses, 8, 1.0, noise="knorm", seed=seed).certificate
    assert certificate.noise == "K-norm"
    assert certificate.epsilon_for("zero-out") == pytest.approx(0.5, rel=1e-3)
    assert certificate.epsilon_for("replace") == 1.0


def test_noise_of_the_shape_of_a_box_is_taken_where_it_is_narrower_than_laplace_noise():
    """Its variance along the widest entry is (n + 1)(n + 2)/3 w^2/epsilon^2, that of Laplace noise 2 |w|_1^2/eps^2."""
    for widths in ((1, 0.35, 0.35), (1, 0.4, 0.4), (1, 0.42, 0.42), (1, 1, 1), (1, 0.9)):
        w = np.array(widths, dtype=float)
        y = cp.Variable(w.size)
        losses = LossSet(y, [y >= 0, y <= w])
        n = int((w > 0).sum())
        narrower = (n + 1) * (n + 2) / 3 * w.max() ** 2 < 2 * w.sum() ** 2
        assert KNorm.suits(relation_for("replace", losses), losses) == (n >= 3 and narrower)


def test_exact_sums_release_every_loss_as_often_as_there_are_rounds():
    assert ExactSums(box_losses(2), 7).certificate.releases_per_loss == 7
    unlimited = ExactSums(box_losses(2), None).certificate
    assert unlimited.releases_per_loss == 0 and unlimited.epsilon == math.inf


# words


def test_a_certificate_says_of_how_many_rounds():
    for horizon, said in ((16, "0 of 16"), (None, "0 of any number")):
        learner = FTRL(ds.simplex(3), box_losses(3), horizon, epsilon=1.0)
        assert dict(learner.certificate.rows())["rounds"] == said


def test_a_bound_says_nothing_where_its_parts_together_reach_the_largest_regret():
    bound = {"rounds": 9, "learning": 3.0, "privacy": 2.0, "total": 5.0, "largest": 5.0, "theorem": "T"}
    assert [row[0] for row in certificate_words.regret(bound)] == ["regret", "bound", "theorem"]
    assert "the proved bound, 5, is above" in dict(certificate_words.regret(bound))["bound"]
    useful = dict(certificate_words.regret({**bound, "largest": 5.1}))
    assert "bound" not in useful and "each epoch" not in useful["regret"]
    assert "each epoch at most" in dict(certificate_words.regret({**bound, "total": 4.0, "largest": 6.0}))["regret"]


# audits


def test_products_of_up_to_eight_outputs_are_looked_at():
    """Two outputs that agree in sign on one stream and not on the other: no single one of them tells."""
    rng = np.random.default_rng(1)

    def told(size):
        first, second = rng.standard_normal((2, 1500, size))
        first[:, 1] = np.sign(first[:, 0]) * np.abs(first[:, 1])
        second[:, 1] = -np.sign(second[:, 0]) * np.abs(second[:, 1])
        score = learn_score(first, second)
        return (np.mean(score(first) > 0) + np.mean(score(second) < 0)) / 2

    assert told(8) > 0.95 > 0.7 > told(9)


def test_a_claim_is_refuted_by_more_than_rounding_alone():
    assert not DensityCertificate(0.0, 0.0, 0.0).exceeded and not DensityCertificate(1.0, 0.0, 1 + 9e-10).exceeded
    assert DensityCertificate(1.0, 0.0, 1 + 2e-9).exceeded and DensityCertificate(0.0, 0.0, 1e-300).exceeded
    assert not DensityCertificate(1.0, 1e-6, 0.5, 0.0, 0.0).exceeded
    assert not DensityCertificate(1.0, 1e-6, 0.5, 0.2, 0.2 * (1 + 9e-10)).exceeded
    assert DensityCertificate(1.0, 1e-6, 0.5, 0.2, 0.2 * (1 + 2e-9)).exceeded


# boxes


def test_a_box_is_written_out_up_to_four_sides():
    assert box_in_words((0.0,), (1.0,)) == "[0, 1]" and box_in_words((0.0,) * 9, (1.0,) * 9) == "[0, 1]^9"
    four = "[0, 1] x [0, 2] x [0, 3] x [0, 4]"
    assert box_in_words((0.0,) * 4, (1.0, 2.0, 3.0, 4.0)) == four
    assert box_in_words((0.0,) * 5, (1.0, 2.0, 3.0, 4.0, 5.0)) == "[0, 1] x [0, 2] x [0, 3] x ... x [0, 5]"


def test_the_norm_of_a_box_counts_steps_of_its_noise_rounded_up_entry_by_entry():
    half = np.array([10.0, 4.0, 0.0])
    r = 4  # twice the entries that move
    for units in ((10, 0, 0), (3, 1, 0), (1, 1, 0), (11, 4, 0), (0, 0, 0)):
        exact = max(Fraction(math.ceil(Fraction(r * w, int(h)))) / r for w, h in zip(units, half, strict=True) if h)
        assert box_length(np.array(units), half) == float(exact)
    assert box_length(np.array([0, 0, 1]), half) == math.inf and box_length(np.zeros(1), np.zeros(1)) == 0


def test_other_neighbours_cost_what_they_do_in_the_epoch_that_hides_them_worst():
    grounds = PrivateSums(box_losses(3), 8, 1.0, noise="laplace").certificate.grounds
    (one,) = grounds.hidden
    worse = replace(one, replace=3 * one.replace, zero_out=2 * one.zero_out)
    for hidden in ((one, worse), (worse, one)):
        both = replace(grounds, hidden=hidden)
        for to, field in (("replace", worse.replace), ("zero-out", worse.zero_out)):
            assert both.ratio(to) == worse.ratio(field) > grounds.ratio(to)
