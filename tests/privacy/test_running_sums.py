"""Running sums with noise and without: epochs, horizons, clipping, what relations do to losses, how long draws take."""

import logging
import math
from types import SimpleNamespace

import numpy as np
import pytest
from loss_sets import ball_losses, box_losses

import decision_sets as ds
from dpcvx import HorizonError, LossOutOfSetError, PrivateSums
from dpcvx.privacy.clipping import Clipping, flat_losses
from dpcvx.privacy.exact_sums import ExactCounter, ExactSums
from dpcvx.privacy.feedback import SecureFeedback, SimulatedFeedback, VectorFeedback
from dpcvx.privacy.neighbours import relation_for
from dpcvx.privacy.noise import Gaussian, Laplace
from dpcvx.privacy.pace import MANY, sampler_notes, slow_round
from dpcvx.privacy.prefix_noise import PrefixNoise, gaussian_noise
from dpcvx.privacy.sensitivity import Grid
from dpcvx.sets.sizes import sizes_of

Y = box_losses(2)


# rounds


def test_epochs_double_from_sixteen_rounds_and_start_at_an_empty_sum(caplog):
    """An epoch ends with its last round but one released: rounds 16, 48 and 112 open the next ones."""
    sums, seen = ExactSums(Y, None), []
    with caplog.at_level(logging.INFO, "dpcvx.privacy"):
        for _ in range(120):
            seen.append((sums.rounds, sums.epoch, sums.epoch_horizon, sums.prefix[0]))
            sums.update([1.0, 0.5])
    starts = {0: 0, 1: 16, 2: 48, 3: 112}
    for rounds, (counted, epoch, horizon, prefix) in enumerate(seen):
        assert counted == rounds and horizon == 16 * 2**epoch
        assert epoch == max(number for number, start in starts.items() if start <= rounds)
        assert prefix == rounds - starts[epoch]
    told = [record.getMessage() for record in caplog.records]
    assert told == [f"epoch {number + 1} begins after round {start}" for number, start in starts.items() if number]
    note = "unknown horizon: epochs of doubling length, now epoch 4 of 128 rounds"
    assert sums.certificate.notes == ("epsilon=None: the learner without privacy", note)
    assert repr(sums) == f"ExactSums({Y.name}, round 120 of any number)" and "any number" in sums._repr_html_()
    known = ExactSums(Y, 7)
    known.update([1.0, 0.5])
    assert repr(known) == f"ExactSums({Y.name}, round 1 of 7)" and "round 1 of 7" in known._repr_html_()
    assert known.certificate.notes == ("epsilon=None: the learner without privacy",)


def test_exact_sums_are_the_sums_up_to_their_horizon():
    counter = ExactCounter(3, (2,))
    for k in range(3):
        assert counter.items == k and counter.prefix.tolist() == [k, -2.0 * k]
        counter.prefix[:] = 99.0  # a copy
        counter.update(np.array([1.0, -2.0]))
    assert counter.items == 3
    with pytest.raises(HorizonError, match="The horizon of 3 rounds is used up; nothing more is released"):
        _ = counter.prefix
    with pytest.raises(HorizonError, match="The horizon of 3 rounds is used up; the item was not taken"):
        counter.update(np.zeros(2))


def test_the_certificate_of_exact_sums_has_neither_noise_nor_a_grid():
    made = ExactSums(box_losses(3, -1.0, 2.0), 5, replicas=4)
    made.update(np.zeros(3))
    one = made.certificate
    assert (one.epsilon, one.delta, one.rounds_per_person, one.terms_per_prefix) == (math.inf, 0.0, 1, 0)
    assert (one.scale, one.prefix_deviation, one.grid, one.secure, one.rounds) == (0.0, 0.0, 0.0, False, 1)
    assert one.sensitivity == pytest.approx(9) and (one.sensitivity_norm, one.sensitivity_kind) == (1, "exact")
    assert made.prefix.shape == (4, 3) and made.gaussian_deviation == made.rounding == 0.0
    assert made.settings == {"epsilon": None, "delta": 0.0} and made.slow is None


def test_gaussian_noise_of_a_prefix_is_told_by_its_items():
    sums = PrivateSums(Y, 64, 1.0, 1e-6, seed=0)
    for items in range(4):
        assert sums.gaussian_deviation == pytest.approx(sums.plan.deviation(items), rel=1e-14)
        sums.update(np.zeros(2))
    assert PrivateSums(Y, 64, 1.0).gaussian_deviation == 0.0
    noise = gaussian_noise(3.0)
    assert (noise.law, noise.terms, noise.deviation, noise.constant) == (Gaussian(3.0), 1, 3.0, True)
    assert noise.log_moment(0.5) == pytest.approx(9 / 8) and noise.gaussian
    several = PrefixNoise(Laplace(2.0), 3, 7.0, False)
    assert several.log_moment(0.25) == pytest.approx(3 * Laplace(2.0).log_moment(0.25)) and not several.gaussian
    assert several.mean_absolute == pytest.approx(7.0 * Laplace(2.0).mean_absolute)
    assert several.largest_rate == Laplace(2.0).largest_rate


# losses


def test_losses_come_one_by_one_or_one_a_replica_and_nothing_else():
    matrix = box_losses((2, 3))
    assert flat_losses(matrix, np.arange(6.0).reshape(2, 3)).tolist() == [0, 3, 1, 4, 2, 5]
    assert flat_losses(matrix, np.zeros((4, 2, 3)), (4,)).shape == (4, 6)
    assert flat_losses(matrix, np.zeros((2, 3)), (4,)).shape == (6,)
    with pytest.raises(ValueError, match=r"shape \(4, 2, 3\); expected \(2, 3\), the loss of one round\."):
        flat_losses(matrix, np.zeros((4, 2, 3)))
    with pytest.raises(ValueError, match=r"shape \(5, 2, 3\); expected \(2, 3\) or \(4, 2, 3\), one a replica\."):
        flat_losses(matrix, np.zeros((5, 2, 3)), (4,))
    assert flat_losses(Y, np.array([1e300, -1e300])).tolist() == [1e300, -1e300]  # finite, but not their squares
    for wrong in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="holds NaN or an infinity; nothing was changed"):
            flat_losses(Y, np.array([0.0, wrong]))


def test_every_replica_is_asked_whether_its_loss_is_in_the_set():
    strict = Clipping(Y, "zero-out", "raise", (3,))
    inside = np.array([[0.5, -1.0], [0.0, 0.0], [1.0, 1.0]])
    assert strict.clipped(inside).tolist() == inside.tolist()
    for row in range(3):
        outside = inside.copy()
        outside[row] = [0.0, 1.5]
        with pytest.raises(LossOutOfSetError, match="outside its declared set; nothing was changed"):
            strict.clipped(outside)
    away = Clipping(box_losses(2, 1.0, 2.0), "zero-out", "clip", (3,))
    assert away.clipped(np.array([[0.0, 0.0], [0.0, 9.0], [1.5, 0.0]])).tolist() == [[0, 0], [1, 2], [1.5, 1]]
    with pytest.raises(ValueError, match='on_violation must be "clip" or "raise", not \'drop\''):
        Clipping(Y, "replace", "drop")


def test_relations_say_how_far_values_and_losses_move():
    replaced, zeroed = (relation_for(name, Y) for name in ("replace", "zero-out"))
    assert (replaced.width(-3, 1), zeroed.width(-3, 1), zeroed.width(1, 4), zeroed.width(-3, -2)) == (4, 3, 4, 3)
    ends = np.array([-3.0, 1.0, -5.0]), np.array([2.0, 4.0, -1.0])
    assert [end.tolist() for end in zeroed.interval(*ends)] == [[-3, 0, -5], [2, 4, 0]]
    assert replaced.interval(*ends) is not None and replaced.interval(*ends)[0] is ends[0]
    losses, clipped = np.array([[0.0, 2.0], [0.0, 0.0]]), np.ones((2, 2))
    assert zeroed.kept(losses, clipped).tolist() == [[1, 1], [0, 0]] and replaced.kept(losses, clipped) is clipped
    assert zeroed.exempt(np.zeros(2)) and not zeroed.exempt(np.array([0.0, 1e-300])) and not replaced.exempt(losses[1])
    wide = box_losses(3, -1.0, 4.0)
    assert replaced.largest(wide) == 4.0 and replaced.fine_step(wide, 1, 99) == 2.0**-28
    assert float(replaced.change(wide, 1)) == 15 and float(zeroed.change(wide, 1)) == 12
    sizes = sizes_of(ds.simplex(3), wide)
    assert replaced.feedback_change(sizes) == sizes.feedback_range and zeroed.feedback_change(sizes) == sizes.magnitude
    assert replaced.feedback_units(sizes, 0.1) is None and replaced.fingerprint == "replace"
    assert zeroed.grid_widths(wide, 0.5) == [8, 8, 8] and replaced.grid_widths(wide, 0.5) == [10, 10, 10]
    assert zeroed.difference_body(wide)[1].tolist() == [4, 4, 4]
    assert zeroed.grid_change(wide, 1, 0.5).units == 24 and replaced.grid_change(ball_losses(2), 1, 0.5).toward_zero


# feedback


def test_feedback_is_rounded_between_rounded_ends_and_moves_by_their_distance():
    made = SecureFeedback(box_losses(2, -0.3, 0.45), 1.0, Grid(-1), rounds_per_person=3)
    interval = made.interval(np.array([2.0, -1.0]))  # from -0.6 - 0.45 to 0.9 + 0.3, in halves
    assert interval == (-2, 2) and made.moved(interval) == 12
    assert [made.clipped(value, interval) for value in (-9.0, -0.8, -0.2, 0.3, 0.8, 9.0)] == [-2, -2, 0, 1, 2, 2]
    assert made.release(5, np.zeros(2), (1, 1)) == 2.5
    told = SecureFeedback(box_losses(2), 1.0, Grid(-1), "zero-out", 3, change=7)
    assert told.moved((-9, 9)) == 21
    zeroed = SimulatedFeedback(box_losses(2, 1.0, 2.0), 1.0, np.random.default_rng(0), "zero-out", 2)
    assert [float(end) for end in zeroed.interval(np.array([1.0, 1.0]))] == pytest.approx([0, 4])
    assert zeroed.moved((0.0, 4.0)) == 8 and zeroed.clipped(5.0, (0.0, 4.0)) == 4 and zeroed.clipped(-5.0, (0, 4)) == 0


def test_simulated_noise_is_added_by_the_scale_of_each_action():
    class Ones:
        def laplace(self, location=0.0, scale=1.0, size=None):
            return np.full(size, location + scale)

    made = SimulatedFeedback(Y, 0.5, Ones())
    assert made.release(np.array([1.0, 2.0]), None, (np.array([0.0, -1.0]), np.array([2.0, 5.0]))).tolist() == [5, 14]
    paper = VectorFeedback(Y, 0.5, Ones(), rounds_per_person=3)  # |Y|_1 = 4, so each entry of Z has scale 24
    assert paper.scale == 24.0
    assert paper.release(np.array([1.0, 2.0]), np.array([[1.0, 2.0], [0.5, -1.0]]), None).tolist() == [73, -10]
    assert VectorFeedback(Y, 0.5, Ones(), "zero-out").scale == 4.0


# pace


@pytest.mark.parametrize(
    ("sampler", "draws", "words"),
    [
        ("opendp", 99.9, None),
        ("opendp", 100.0, 'about 1 ms for 100 values; sampler="vector" draws them in about 0.015 ms'),
        ("opendp", 99_999.0, 'about 1e+03 ms for 99,999 values; sampler="vector" draws them in about 15 ms'),
        ("opendp", 1e5, 'about 1 s for 100,000 values; sampler="vector" draws them in about 15 ms'),
        ("opendp", 4e7, 'about 4e+02 s for 40,000,000 values; sampler="vector" draws them in about 6 s'),
        ("vector", 6666.0, None),
        ("vector", 6667.0, "about 1 ms for 6,667 values"),
    ],
)
def test_a_round_of_a_millisecond_tells_how_long_it_takes(sampler, draws, words):
    assert slow_round(sampler, draws) == words


def test_a_sampler_is_told_of_where_it_was_chosen_and_is_not_the_usual_one():
    assert sampler_notes(None, MANY) == sampler_notes("vector", 2 * MANY) == () and MANY == 10_000
    note = 'a round draws about 10,001 values of noise, so sampler="vector" was chosen'
    assert sampler_notes(None, MANY + 1) == (note,)


def test_a_copy_of_rollbacks_is_counted():
    sums = PrivateSums(Y, 8, 1.0)
    alone = sums.certificate
    sums.lineage = SimpleNamespace(rollbacks=0)
    assert sums.certificate == alone
    sums.lineage = SimpleNamespace(rollbacks=2)
    assert sums.certificate == alone.after_rollbacks(2)


def test_the_worst_epoch_so_far_is_what_private_sums_promise():
    """The paper's scale gives each epoch an epsilon of its own, which falls here from the first one on."""
    made = PrivateSums(Y, None, 1.0, 1e-6, counter="tree", calibration="paper")
    exact = PrivateSums(Y, None, 1.0, noise="laplace")
    plans = [made.planned(16 * 2**number) for number in range(3)]
    epsilons = [one.epsilon for one in plans]
    assert epsilons[0] > epsilons[1] > epsilons[2]
    opened = 1
    for rounds in range(50):
        opened += rounds in (16, 48)
        certificate = made.certificate
        assert certificate.epsilon == max(epsilons[:opened]) and len(certificate.grounds.hidden) == opened
        assert certificate.grounds.hidden[-1].step == plans[opened - 1].grid.step
        assert certificate.horizon is None and certificate.rounds == rounds
        assert exact.certificate.epsilon == 1.0 and exact.certificate.scale == pytest.approx(
            exact.planned(16 * 2 ** (opened - 1)).law.scale * exact.plan.grid.step
        )
        for sums in (made, exact):
            sums.update([0.5, 0.5])
