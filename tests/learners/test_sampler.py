"""Who draws secure noise: named by the user or chosen by the number of draws, and said by the certificate."""

from functools import partial

import numpy as np
import pytest
from loss_sets import box_losses

import decision_sets as ds
from dpcvx import FTPL, FTRL, Exp2, PrivateBandit, PrivateSums, couple, private_bandit
from dpcvx.privacy.audit import worst_neighbours
from dpcvx.privacy.counters import COUNTERS
from dpcvx.privacy.noise import Gaussian, Laplace, SecureSource, SimulatedSource, VectorSource
from dpcvx.privacy.pace import MANY, chosen_sampler, slow_round

N = 3


def _full(kind, **options):
    return kind(ds.simplex(N), box_losses(N), 32, 1.0, **options)


MAKERS = {
    "FTRL": partial(_full, FTRL),
    "FTRL, delta": partial(_full, FTRL, delta=1e-6),
    "FTPL": partial(_full, FTPL),
    "PrivateSums": lambda **options: PrivateSums(box_losses(N), 32, 1.0, **options),
    "PrivateBandit": lambda **options: PrivateBandit(Exp2(ds.simplex(N), box_losses(N), 32), 1.0, **options),
    "private_bandit": lambda **options: private_bandit(ds.simplex(N), box_losses(N), 32, 1.0, **options),
}


@pytest.mark.parametrize("name", MAKERS)
def test_certificates_say_who_draws(name):
    make = MAKERS[name]
    for options, sampler in (({}, "opendp"), ({"sampler": "vector"}, "vector"), ({"seed": 0}, "numpy")):
        certificate = make(**options).certificate
        assert certificate.sampler == certificate.to_dict()["sampler"] == sampler
        assert f"{sampler}: " in str(certificate)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("sampler", ["numpy", "", 3, True])
def test_unknown_samplers_are_refused(name, sampler):
    with pytest.raises(ValueError, match="sampler must be one of opendp, vector, not"):
        MAKERS[name](sampler=sampler)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["FTRL", "FTRL, delta", "FTPL", "PrivateBandit", "PrivateSums"])
def test_claims_and_prices_are_the_same_with_both(name):
    streams = worst_neighbours(box_losses(N), 32, norm=2 if "delta" in name else 1)
    found = [couple(partial(MAKERS[name], sampler=sampler), *streams, seed=1) for sampler in ("opendp", "vector")]
    assert all(one.holds for one in found)
    assert found[0].price == found[1].price and found[0].price.epsilon > 0


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_choice_is_by_the_number_of_draws_and_said(delta):
    noise = "gaussian" if delta else "laplace"
    few, many = (PrivateSums(box_losses(n), 64, 1.0, delta, noise=noise) for n in (100, 12_000))
    assert few.certificate.sampler == "opendp" and not few.certificate.notes
    assert isinstance(few._epoch.counter.source, SecureSource)
    assert many.certificate.sampler == "vector" and 'sampler="vector" was chosen' in " ".join(many.certificate.notes)
    assert isinstance(many._epoch.counter.source, VectorSource)
    named = PrivateSums(box_losses(12_000), 2, 1.0, noise="laplace", sampler="opendp")
    assert named.certificate.sampler == "opendp" and not any("chosen" in note for note in named.certificate.notes)
    simulated = PrivateSums(box_losses(12_000), 64, 1.0, delta, noise=noise, seed=0)
    assert not any("chosen" in note for note in simulated.certificate.notes)
    assert chosen_sampler(None, MANY) == "opendp" and chosen_sampler(None, MANY + 1) == "vector"


def test_a_slow_learner_says_how_long_and_how_to_change_it():
    n = 1000
    slow = FTRL(ds.simplex(n), box_losses(n), 64, 1.0, noise="laplace", sampler="opendp")
    line = next(line for line in slow.summary().splitlines() if "noise of a round" in line)
    assert " ms for " in line and 'sampler="vector"' in line
    for quick in (_full(FTRL), _full(FTRL, sampler="vector"), FTRL(ds.simplex(n), box_losses(n), 64, 1.0, seed=0)):
        assert "noise of a round" not in quick.summary()
    assert "1 s for 100,000 values" in slow_round("opendp", 1e5)
    assert slow_round("vector", 1e5) == "about 15 ms for 100,000 values"


TOGETHER = [
    (one, law) for one in COUNTERS.values() for law in (Laplace(1.0), Gaussian(1.0)) if one.refusal(type(law)) is None
]


@pytest.mark.parametrize(("counter", "law"), TOGETHER)
def test_the_number_of_draws_is_that_of_the_counter(counter, law):
    class Counting(SimulatedSource):
        count = 0

        def fresh(self, count, shape):
            Counting.count += count
            return super().fresh(count, shape)

    horizon = 462  # binom(11, 5): codewords of the smooth tree that are all used, for one of the laws
    running = counter(horizon, (1,), Counting(law, np.random.default_rng(0)), norm=law.norm)
    for _ in range(horizon):
        running.update(np.zeros(1))
    assert Counting.count / horizon == pytest.approx(counter.noises_per_round(horizon, law.norm), rel=0.25)


def test_sums_by_vector_noise_have_the_deviation_of_the_plan():
    """Of 2,000 coordinates after some rounds: 1/2 is 10 deviations of their mean square, so 1e-6 is never reached."""
    for options in ({"noise": "laplace"}, {"delta": 1e-6}, {"delta": 1e-6, "counter": "tree"}):
        sums = PrivateSums(box_losses(2000), 64, 1.0, sampler="vector", **options)
        for _ in range(40):
            sums.update(np.zeros(2000))
        expected = sums.plan.deviation(40)
        assert np.mean(sums.prefix**2) == pytest.approx(expected**2, rel=0.5)
