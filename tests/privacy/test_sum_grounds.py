"""What the grounds of sums hold: distances under the named relations, and how releases move with them."""

import math
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import ball_losses, box_losses

from dpcvx import Change, LossSet
from dpcvx.privacy import PrivateSums
from dpcvx.privacy.counters import Toeplitz
from dpcvx.privacy.sum_grounds import _length, _named

BIT = 1e-12


def box(lower, upper):
    loss = cp.Variable(len(lower))
    return LossSet(loss, [loss >= np.array(lower), loss <= np.array(upper)])


def small(size):
    d = cp.Variable(size)
    return Change(d, [cp.norm1(d) <= 0.01])


def hidden(loss_set, *arguments, **options):
    return PrivateSums(loss_set, *arguments, **options).certificate.grounds.hidden


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("own", ["replace", "zero-out", "change"])
def test_boxes_move_by_their_widths_and_by_the_distance_from_zero_of_what_is_in_them(own, delta):
    """[-1, 2] x [0, 4] x [3, 4]: a loss of 0 is clipped to 3 there, and stays 0 where it was asked to."""
    Y = box([-1.0, 0.0, 3.0], [2.0, 4.0, 4.0])
    relation = small(3) if own == "change" else own
    options = {"noise": "gaussian" if delta else "laplace", "counter": "smooth", "neighbours": relation}
    (one,) = hidden(Y, 8, 1.0, delta, **options)
    replaced, zeroed = ([3, 4, 4], [2, 4, 4]) if own == "zero-out" else ([3, 4, 1], [2, 4, 1])
    norm = 2 if delta else 1
    assert one.replace * one.step == pytest.approx(np.linalg.norm(replaced, norm), rel=BIT)
    assert one.zero_out * one.step == pytest.approx(np.linalg.norm(zeroed, norm), rel=BIT)
    assert (one.gain, one.slip, one.half) == (1.0, 0.0, ())
    named = {"replace": one.replace, "zero-out": one.zero_out}
    assert one.own == pytest.approx(named[own], rel=1e-14) if own in named else one.own < 0.1 * one.zero_out


@pytest.mark.parametrize("own", ["replace", "zero-out"])
def test_k_norm_noise_counts_in_widths_of_its_own_box(own):
    """Of [-1, 2] x [0, 4] x [-3, 4] the largest width is one length of K; 0 is in it."""
    Y = box([-1.0, 0.0, -3.0], [2.0, 4.0, 4.0])
    (one,) = hidden(Y, 8, 1.0, noise="knorm", neighbours=own)
    half = [2, 4, 4] if own == "zero-out" else [3, 4, 7]
    assert np.array(one.half) * one.step == pytest.approx(half)
    replaced, zeroed = (max(w / h for w, h in zip(moved, half, strict=True)) for moved in ([3, 4, 7], [2, 4, 4]))
    assert one.own == 1.0 and one.zero_out == pytest.approx(math.ceil(6 * zeroed) / 6, rel=1e-12)
    assert one.replace == pytest.approx(math.ceil(6 * replaced) / 6, rel=1e-12)  # in sixths, for three entries


@pytest.mark.parametrize("own", ["replace", "zero-out"])
def test_k_norm_noise_of_a_ball_counts_in_its_radius(own):
    (one,) = hidden(ball_losses(3, radius=0.7), 8, 1.0, noise="knorm", neighbours=own, seed=0)
    radius = 0.7 if own == "zero-out" else 1.4
    assert np.array(one.half) * one.step == pytest.approx([radius] * 3, rel=1e-6)
    assert (one.own, one.replace, one.zero_out) == pytest.approx((1.0, 1.4 / radius, 0.7 / radius), rel=1e-6)


@pytest.mark.parametrize("own", ["replace", "zero-out"])
def test_projected_losses_move_to_zero_by_no_more_than_to_any_loss_where_zero_is_one(own):
    loss = cp.Variable(3, nonneg=True)
    ball, away = ball_losses(3, radius=0.7), LossSet(loss, [cp.sum(loss) == 2])
    (one,) = hidden(ball, 8, 1.0, 1e-6, counter="smooth", neighbours=own)
    assert (one.replace * one.step, one.zero_out * one.step) == pytest.approx((1.4, 0.7), rel=1e-6)
    (one,) = hidden(away, 8, 1.0, 1e-6, counter="smooth", neighbours=own)
    assert one.replace * one.step == pytest.approx(math.sqrt(8), rel=1e-6)
    # where 0 is not in the set it becomes a point of it, unless it was promised to stay
    assert one.zero_out * one.step == pytest.approx(2.0 if own == "zero-out" else math.sqrt(8), rel=1e-6)


@pytest.mark.parametrize(("to_zero", "holds_zero"), [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("units", [(10.0, 4.0), (10.0, 30.0)])
@pytest.mark.parametrize("roundings", [(True, True), (True, False), (False, True)])
def test_named_distances_hold_whatever_way_the_own_relation_rounds(to_zero, holds_zero, units, roundings):
    """In the 2-norm of 9 entries another way of rounding moves by 3 at most."""
    answers = [SimpleNamespace(units=u, toward_zero=r) for u, r in zip(units, roundings, strict=True)]
    losses = SimpleNamespace(
        size=9,
        shape=(9,),
        grid_change=lambda norm, step, from_zero: answers[int(from_zero)],
        contains=lambda point: holds_zero and not point.any(),
    )
    clipping = SimpleNamespace(by_entry=False, loss_set=losses, neighbours=SimpleNamespace(to_zero=to_zero))
    plan = SimpleNamespace(grid=SimpleNamespace(step=1.0), sensitivity=SimpleNamespace(toward_zero=True))
    replaced, zeroed = (u if r else u + 3 for u, r in zip(units, roundings, strict=True))
    if to_zero:
        assert _named(plan, clipping, 2) == (max(replaced, zeroed), zeroed)
    else:
        assert _named(plan, clipping, 2) == (replaced, min(replaced, zeroed) if holds_zero else replaced)
    assert _named(plan, clipping, 1)[0] in {u if r else u + 9 for u, r in zip(units, roundings, strict=True)}


def test_the_stream_of_a_factorisation_moves_by_its_gain_and_the_slip_of_its_rounding():
    sums = PrivateSums(box([-1.0, 0.0, 3.0], [2.0, 4.0, 4.0]), 64, 1.0, 1e-6)
    (one,), step = sums.certificate.grounds.hidden, sums.plan.grid.step
    factors = Toeplitz.factors(64)
    assert one.gain == pytest.approx(factors.sensitivity, rel=1e-14)
    slip = (1 + 2 * factors.rounding_error(4 / step + 1)) * math.sqrt(factors.size * 3)
    assert one.slip == pytest.approx(slip, rel=1e-15)
    assert (one.gain * one.own + one.slip) == pytest.approx(sums.plan.moved, rel=1e-12)


def test_grounds_tell_the_box_and_how_many_noisy_numbers_a_loss_enters():
    Y = box([-1.0, -0.0, 3.0], [2.0, 4.0, 4.0])
    tree = PrivateSums(Y, 64, 1.0, 1e-6, counter="smooth").certificate
    assert tree.grounds.numbers == 3 * tree.releases_per_loss
    assert PrivateSums(Y, 64, 1.0, 1e-6).certificate.grounds.numbers == 3 * 64
    endless = PrivateSums(Y, None, 1.0, 1e-6, neighbours=small(3), counter="smooth").certificate.grounds
    assert endless.numbers is None and endless.own == "change" and endless.by_entry
    assert endless.lower == (-1.0, 0.0, 3.0) and math.copysign(1, endless.lower[1]) == 1
    assert endless.upper == (2.0, 4.0, 4.0) and endless.shape == (3,) and endless.norm == 2
    assert not PrivateSums(ball_losses(3), 8, 1.0).certificate.grounds.by_entry
    assert PrivateSums(box_losses(3), 8, 1.0, noise="laplace").certificate.grounds.norm == 1


def test_lengths_of_whole_numbers_are_rounded_up():
    widths = np.array([2.0**53 - 1, 3.0, 0.0])
    assert _length(widths, 1) == 2.0**53 + 2
    found = _length(np.array([3.0, 4.0, 12.0]), 2)
    assert 13 < found <= 13 * (1 + 2e-15)
