"""Coupling: what it prices, what it sees, and what it refuses; every hole that is made on purpose is found."""

import logging
import math
import warnings
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import ball_losses, box_losses

from dpcvx import FTRL, Certificate, Coupling, DecisionSet, LossSet, PrivateSums, couple
from dpcvx.errors import ProtocolError
from dpcvx.privacy import plan
from dpcvx.privacy.audit import worst_neighbours
from dpcvx.privacy.audit.transcript import run
from dpcvx.privacy.counters import Toeplitz
from dpcvx.privacy.noise import Gaussian, KNorm, Laplace, Price, SecureSource, own_generator, scripted
from dpcvx.privacy.noise.drawing import release, select, toss
from dpcvx.privacy.noise.release import Coin, NoisyVector, Selection
from dpcvx.studies import leaky_mechanisms as leaky
from dpcvx.studies.audit_table import coupled_rows

Y = box_losses(2)
FAR = worst_neighbours(Y, 10)
NEAR = np.tile(np.random.default_rng(0).uniform(-1, 1, (10, 2)), (2, 1, 1))
NEAR[1, 4, 0] += 2.0**-30  # one unit of the grid


def sums(**settings):
    return lambda: PrivateSums(Y, 10, 1.0, **settings)


# prices


def test_prices_are_those_of_the_laws():
    apart = [3, -4, 0]
    assert Laplace(2.0).price(apart) == Price.of_pure(3.5)
    assert Gaussian(5.0).price(apart) == Price(rho=0.5)
    assert KNorm(2.0, (1.0, 2.0, 1.0), "box").price(apart).pure == 1.5
    assert KNorm(2.0, (5.0, 5.0, 5.0), "ball").price(apart).pure == 0.5
    together = Price.of_pure(0.5) + Price.of_pure(1.0) + Price(rho=0.25)
    assert together == Price(1.5, 0.625, 0.25)
    huge = [2**63 - 1, -(2**63)]  # more than 64 bits apart
    vectors = [NoisyVector(Laplace(2.0**60), np.array([value]), np.zeros(1)) for value in huge]
    assert vectors[0].price(vectors[1]).pure == 16.0


def test_selections_and_coins_cost_the_largest_ratio_of_their_probabilities():
    def probabilities(scores, scale):
        weights = np.exp(-np.array(scores) / scale)
        return weights / weights.sum()

    a, b = (0, 3, 7), (2, 3, 1)
    ratios = np.log(probabilities(a, 2.0) / probabilities(b, 2.0))
    price = Selection(2.0, a, 0).price(Selection(2.0, b, 0)).pure
    assert price == pytest.approx(np.abs(ratios).max()) and 0 < price <= 2 * 6 / 2.0
    heads = [math.exp(-3 / 4), math.exp(-5 / 4)]
    ratios = [math.log(heads[0] / heads[1]), math.log((1 - heads[1]) / (1 - heads[0]))]
    assert Coin(4.0, 3, True).price(Coin(4.0, 5, True)).pure == pytest.approx(max(ratios))
    assert Coin(4.0, 0, True).price(Coin(4.0, 5, True)).pure == math.inf
    assert Coin(4.0, 2, True).price(Coin(4.0, 2, False)) == Price()


def test_a_transcript_numbers_its_rounds_from_1():
    """Sums show a prefix before them, and learners an action after them."""
    stream = np.zeros((3, 2))
    _, told = run(sums(), stream, 0)
    assert [step.round for step in told.steps] == [0, 1, 1, 2, 2, 3, 3]
    _, told = run(lambda: FTRL(DecisionSet(x := cp.Variable(2), [cp.norm2(x) <= 1]), Y, 10, 1.0), stream, 0)
    assert [step.round for step in told.steps] == [1, 1, 2, 2, 3, 3, 4]
    assert [step.name for step in told.steps] == ["act", "update"] * 3 + ["act"]
    _, told = run(lambda: lambda losses: losses.sum(), stream, 0)
    assert [(step.round, step.name) for step in told.steps] == [(3, "the function")]


def test_worst_neighbours_cost_all_that_is_claimed_and_no_more():
    for delta, counter in ((0.0, "tree"), (0.0, "smooth"), (1e-6, "tree"), (1e-6, "smooth"), (1e-6, "toeplitz")):
        streams = worst_neighbours(Y, 10, norm=2 if delta else 1)
        found = couple(sums(delta=delta, counter=counter), *streams)
        assert found.holds and 0.999 < found.price.epsilon <= 1 + 1e-11, (counter, str(found))
        assert (found.price.rho is None) == (delta == 0) and found.claimed.delta == delta
        assert isinstance(found, Coupling) and "holds its claim" in str(found)


@pytest.mark.slow
def test_both_relations_several_rounds_and_losses_outside_the_set_hold():
    for neighbours in ("replace", "zero-out"):
        for loss_set in (Y, ball_losses(2), ball_losses(2, 1)):
            for delta, horizon in ((0.0, None), (1e-6, None)):
                rng = np.random.default_rng(0)
                first = 30 * rng.standard_normal((40, 2))
                second = first.copy()
                second[[0, 17, 30]] = 0.0 if neighbours == "zero-out" else -first[[0, 17, 30]]
                people = {"neighbours": neighbours, "rounds_per_person": 3}
                found = couple(lambda: PrivateSums(loss_set, horizon, 1.0, delta, **people), first, second)  # noqa: B023 called at once
                assert found.holds and found.price.epsilon > 0.05, str(found)


# the slip of a factorisation

UNIT = 2.0**-29
LOSS = cp.Variable(1)
TINY = LossSet(LOSS, [LOSS >= 1, LOSS <= 1 + UNIT])  # 1 + 2 * 2^-30: one unit of its grid
EPOCHS = [16 * 2**number for number in range(10)]


def test_rounding_of_a_factorisation_is_paid_for_every_round_of_a_person():
    """The slip of the rounded stream was charged once, and paid in as many epochs as rounds."""
    for horizon in (64, 8192):
        one, eight = (plan(TINY, horizon, 1.0, 1e-6, rounds_per_person=k).moved for k in (1, 8))
        assert eight == 8 * one


def shaken(horizon, width=1_000):
    """Losses of one epoch, in units above 1, of which replacing the first moves many rounded entries.

    By a beam search: of a change of one unit, entry i of C x moves by C_i < 1, and its rounding by 0 or 1.
    """
    rng, f = np.random.default_rng(horizon), Toeplitz.factors(horizon)
    column = (f.gains * f.poles ** np.arange(horizon)[:, None]).sum(axis=1)
    states, scores, steps = np.full((1, f.poles.size), 1 / UNIT), np.ones(1), []
    for t in range(1, horizon - 1):
        states = np.concatenate([states * f.poles + (1 / UNIT + unit) for unit in (0, 1)])
        entries = states @ f.gains
        scores = np.tile(scores, 2) + (np.rint(entries + column[t]) - np.rint(entries))
        kept = np.argsort(-(scores + rng.random(scores.size) / 2), kind="stable")[:width]
        steps.append(divmod(kept, scores.size // 2))
        states, scores = states[kept], scores[kept]
    at, units = int(scores.argmax()), [0]
    for bits, parents in reversed(steps):
        units.append(int(bits[at]))
        at = int(parents[at])
    return [0, *units[:0:-1], 0]  # the last item of an epoch is released nowhere


def released(stream):
    """All releases of Toeplitz sums over epochs, for a person in eight rounds."""
    with scripted(0) as script:
        made = PrivateSums(TINY, None, 1.0, 1e-6, rounds_per_person=8)
        for loss in stream:
            made.update(loss)
    return script.releases, made.certificate.rho


@pytest.mark.slow
def test_eight_epochs_of_one_person_cost_no_more_than_claimed(monkeypatch):
    """A stream found by search: rho 0.028 against 0.02436 claimed, where the slip is charged once."""
    units = np.concatenate([np.zeros(48), *(shaken(horizon) for horizon in EPOCHS[2:])])
    first, second = 1 + UNIT * units[:, None], 1 + UNIT * units[:, None]
    second[np.cumsum(EPOCHS)[1:-1]] += UNIT  # the first loss of each epoch of 64 to 8192 rounds
    assert (first != second).sum() == 8

    def cost():
        (left, claimed), (right, _) = released(first), released(second)
        return sum(a.price(b).rho for a, b in zip(left, right, strict=True)) / claimed

    assert cost() <= 1
    f = Toeplitz.factors
    once = staticmethod(
        lambda horizon, units, rounds, size, largest: (
            rounds * units * f(horizon).sensitivity + math.sqrt(f(horizon).size)
        )
    )
    monkeypatch.setattr(Toeplitz, "moved", once)
    assert cost() > 1.1


# teeth


@pytest.mark.parametrize(
    ("kind", "streams", "words"),
    [
        (leaky.ShortSensitivity, FAR, "epsilon = 1.001"),
        (leaky.LowBitShown, NEAR, "prefix differs"),
        (leaky.SumInTheCertificate, FAR, "certificate differs"),
        (leaky.LossInTheException, FAR, "update differs: ValueError: The loss is large. and None"),
    ],
)
def test_leaky_sums_are_caught_and_sound_ones_are_not(kind, streams, words):
    for delta in (0.0, 1e-6):
        found = couple(lambda: kind(Y, 10, 1.0, delta), *streams)  # noqa: B023 called at once
        assert not found.holds and "BREAKS its claim" in str(found)
        assert words in str(found) or (
            delta and found.price.rho == pytest.approx(found.claimed.rho / 0.999**2, rel=1e-3)
        )
        assert couple(sums(delta=delta), *streams).holds


@pytest.mark.slow
def test_every_row_of_the_table_is_as_it_must_be():
    rows = list(coupled_rows(0))
    assert all(row.as_expected for row in rows) and {row.shipped for row in rows} == {True, False}


class Leak(PrivateSums):
    """Secure sums that show something by a way of its own, said by `channel`."""

    channel = ""

    def __repr__(self):
        return f"sums, {self.total}" if self.channel == "repr" else "sums"

    def summary(self):
        return f"the sum is {self.total}" if self.channel == "summary" else "a summary"

    @property
    def total(self):
        return float(self._epoch.counter.total.sum()) if self.channel in ("repr", "summary", "total") else 0.0

    def update(self, loss):
        large = float(np.sum(loss)) > 1
        if self.channel == "warnings" and large:
            warnings.warn("a large loss", UserWarning, stacklevel=2)
        if self.channel == "printed text" and large:
            print("a large loss")
        if self.channel == "log" and large:
            logging.getLogger("dpcvx.test").error("a large loss")
        if self.channel == "releases" and large:
            release(Laplace(1e6), [0])
        super().update(loss)
        if self.channel == "number of":
            self.seen = np.zeros(3 if large else 2)


@pytest.mark.parametrize(
    ("channel", "words"),
    [
        ("repr", "repr differs"),
        ("summary", "summary differs"),
        ("total", "total differs"),
        ("warnings", "update (warnings) is there in one run only"),
        ("printed text", "update (printed text) is there in one run only"),
        ("log", "update (log) is there in one run only"),
        ("releases", "update has made 3 releases in one run and 2 in the other"),
        ("number of", "seen differs"),
    ],
)
def test_everything_that_can_be_seen_is_compared(channel, words):
    kind = type("Leak", (Leak,), {"channel": channel})
    found = couple(lambda: kind(Y, 10, 1.0), *FAR)
    assert any(words in sentence for sentence in found.differences), str(found)
    assert couple(lambda: Leak(Y, 10, 1.0), *FAR).holds


# mechanisms of one's own


def mean(losses):
    """A mechanism of one's own: a noisy sum of whole numbers."""
    return release(Laplace(20.0), np.rint(losses.sum(axis=0) * 10).astype(np.int64)) / 10


def test_a_function_of_the_stream_is_coupled_by_the_releases_that_it_declares():
    first, second = np.ones((4, 2)), np.ones((4, 2))
    second[1] = -1
    found = couple(lambda: mean, first, second, claim=2.0)
    assert found.holds and found.price.epsilon == pytest.approx(2.0)
    assert not couple(lambda: mean, first, second, claim=1.9).holds

    def chosen(losses):
        return select(np.rint(losses.sum(axis=0)).astype(int).tolist(), 4.0), toss(int(losses.sum() + 20), 4.0)

    second[1] = [-1, 1]
    found = couple(lambda: chosen, first, second, claim=2.0)
    assert found.holds and found.releases == 2 and 0.5 < found.price.epsilon < 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda losses: release(Laplace(20.0), losses.sum(axis=0)), "64-bit integers only"),
        (lambda losses: release(Laplace(20.0 + losses.sum()), [0]), "more than its values: the noise"),
        (lambda losses: release(Laplace(20.0), [0] * int(losses.sum())), "more than its values: the shape"),
        (lambda losses: select([0] * int(losses.sum()), 1.0), "more than its values: the selection"),
        (lambda losses: toss(1, float(losses.sum())), "more than its values: the coin"),
        (lambda losses: release(Laplace(2.0), [0]) if losses[1, 0] > 0 else toss(1, 1.0), "its kind"),
        (lambda losses: losses.sum(), "differs"),
    ],
)
def test_what_is_public_about_a_release_must_not_depend_on_the_losses(wrong, words):
    first, second = np.ones((4, 2)), np.ones((4, 2))
    second[1] = 0
    found = couple(lambda: wrong, first, second, claim=1e9)
    assert any(words in sentence for sentence in found.differences), str(found)


def test_gaussian_and_pure_releases_add_up_at_the_delta_of_the_claim():
    def both(losses):
        total = np.rint(losses.sum(axis=0)).astype(np.int64)
        return release(Gaussian(40.0), total), release(Laplace(100.0), total)

    first, second = np.full((4, 2), 5.0), np.full((4, 2), 5.0)
    second[1] = -5
    found = couple(lambda: both, first, second, claim=3.0, delta=1e-6)
    assert found.holds and found.price.rho == pytest.approx(200 / 3200 + 0.02) and 0.2 < found.price.epsilon < 3
    assert couple(lambda: both, first, second, claim=3.0).price.epsilon == math.inf  # Gaussian noise without delta
    assert not couple(lambda: both, first, second, claim=3.0, delta=1e-6, rho=0.08).holds
    assert couple(lambda: both, first, second, claim=3.0, delta=1e-6, rho=0.083).holds


def test_outside_of_a_coupling_releases_carry_real_noise():
    # 2,000 draws, of which a fair part is wrong with probability below 1e-9: ten standard deviations
    noise = release(Laplace(3.0), np.full((1_000, 2), 10)) - 10
    assert noise.std() == pytest.approx(math.sqrt(18), rel=0.5) and abs(noise.mean()) < 10 * math.sqrt(18 / 2_000)
    assert release(Gaussian(2.0), 5).shape == ()
    heads = np.mean([toss(1, 2.0) for _ in range(2_000)])
    assert abs(heads - math.exp(-0.5)) < 10 * 0.5 / math.sqrt(2_000)
    drawn = np.bincount([select([5, 6, 8], 1.0) for _ in range(2_000)], minlength=3) / 2_000
    weights = np.exp([0.0, -1.0, -3.0])
    assert np.abs(drawn - weights / weights.sum()).max() < 10 * 0.5 / math.sqrt(2_000)
    for wrong in (lambda: select([0.5], 1.0), lambda: select([], 1.0), lambda: toss(-1, 1.0), lambda: toss(1, 0.0)):
        with pytest.raises(ValueError, match=r"whole numbers|at least 0|scale"):
            wrong()


# scripts


def test_a_script_ignores_values_and_ends_with_its_coupling():
    law, values = Laplace(100.0), np.array([[1, 2], [3, 4]])
    outputs = []
    for shift in (0, 1_000):
        with scripted(3) as script:
            outputs.append(release(law, values + shift))
            assert script.releases[0].inputs.tolist() == (values + shift)[None].tolist()
            own = own_generator().random(), own_generator().random()
    assert np.array_equal(*outputs) and own[0] != own[1]
    with scripted(3):
        assert own_generator().random() == own[0]
        one, other = PrivateSums(Y, 10, 1.0), PrivateSums(Y, 10, 1.0)
    with pytest.raises(ProtocolError, match="outside of it"):
        one.update([0.0, 0.0])
    with scripted(3), pytest.raises(ProtocolError, match="outside of it"):
        other.update([0.0, 0.0])
    assert own_generator(5).random() == own_generator(5).random() != own_generator(5, "another purpose").random()


def test_sources_outside_of_a_coupling_are_the_secure_ones():
    before = PrivateSums(Y, 10, 1.0)
    couple(sums(), *FAR)
    after = PrivateSums(Y, 10, 1.0)
    for each in (before, after):
        assert isinstance(each._epoch.counter.source, SecureSource)
        each.update([0.0, 0.0])
    assert not np.array_equal(before.prefix, after.prefix)  # equal with probability below 1e-15


def test_outputs_follow_the_seed():
    shown = []

    class Watched(PrivateSums):
        @property
        def prefix(self):
            shown.append(super().prefix)
            return shown[-1]

    for seed in (0, 0, 1):
        couple(lambda: Watched(Y, 10, 1.0), *FAR, seed=seed, rounds=1)
    third = len(shown) // 3
    runs = [np.array(shown[i * third : (i + 1) * third]) for i in range(3)]
    assert np.array_equal(runs[0], runs[1]) and not np.array_equal(runs[0], runs[2])


# refusals


def test_streams_that_are_no_neighbours_and_simulations_are_refused():
    two = FAR[1].copy()
    two[5] = 0.5
    with pytest.raises(ValueError, match="differ in 2 rounds; the certificate is for 1"):
        couple(sums(), FAR[0], two)
    assert couple(sums(rounds_per_person=2), FAR[0], two).holds
    with pytest.raises(ValueError, match="must be 0 wherever"):
        couple(sums(neighbours="zero-out"), *FAR)
    with pytest.raises(ValueError, match="the same; there is nothing"):
        couple(sums(), FAR[0], FAR[0])
    with pytest.raises(ValueError, match="without a seed"):
        couple(sums(seed=0), *FAR)
    with pytest.raises(ValueError, match="one shape"):
        couple(sums(), FAR[0], FAR[1][:5])
    with pytest.raises(ValueError, match="no certificate"):
        couple(lambda: mean, *FAR)
    with pytest.raises(TypeError, match="a learner"):
        couple(lambda: 3, *FAR)
    with scripted(0):
        one = PrivateSums(Y, 10, 1.0)
    with pytest.raises(ValueError, match="same mechanism twice"):
        couple(lambda: one, *FAR)


def test_the_price_is_held_against_the_certificate_of_each_round():
    """A certificate that admits the price only at the end is too late."""

    class Late(PrivateSums):
        @property
        def certificate(self) -> Certificate:
            right = super().certificate
            return replace(right, epsilon=right.epsilon * min(1.0, right.rounds / 8))

    found = couple(lambda: Late(Y, 10, 1.0), *FAR)
    assert found.price.epsilon <= found.claimed.epsilon * (1 + 1e-11)
    assert not found.holds and "After round" in found.overspent
