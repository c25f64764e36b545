"""Laws of noise: what they cost, their moments and likelihoods against densities; releases, sources and scripts."""

import math
import secrets
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad

from dpcvx.errors import ProtocolError
from dpcvx.privacy.gaussian_calibration import gaussian_epsilon, zcdp_epsilon, zcdp_rho
from dpcvx.privacy.noise import (
    Gaussian,
    Laplace,
    Price,
    ScriptedSource,
    SecureSource,
    SimulatedSource,
    Spent,
    VectorSource,
    check_sampler,
    noise_source,
    own_generator,
    scripted,
    sources,
)
from dpcvx.privacy.noise.drawing import release, select, toss
from dpcvx.privacy.noise.law import rounded_up
from dpcvx.privacy.noise.release import Coin, NoisyVector, Selection
from dpcvx.privacy.noise.script import Script
from dpcvx.privacy.noise.sources import StreamSource, secure_source
from dpcvx.privacy.samplers import LaplaceStream

# what laws cost


def test_prices_start_from_nothing_and_add_up():
    assert Price() == Price(0.0, 0.0, 0.0) and Price.of_pure(3.0) == Price(3.0, 4.5, 0.0)
    assert Price(1.0, 2.0, 4.0) + Price(0.5, 0.25, 8.0) == Price(1.5, 2.25, 12.0)


@pytest.mark.parametrize("scale", [0.7, 20.0])
def test_laws_cost_what_their_formula_says(scale):
    pure, gauss, delta = Laplace(scale), Gaussian(scale), 1e-5
    assert pure.claimed(3, 5.0, 0.0) == Spent(3 * 5.0 / scale, None)
    assert pure.claimed(0, 5.0, 0.0) == pure.claimed(3, 0.0, 0.0) == Spent(0.0, None)
    assert pure.exact(5.0, 0.0) == Spent(5.0 / scale, None) and pure.together(4) == 4
    rho = 3 * (5.0 / scale) ** 2 / 2
    assert gauss.claimed(3, 5.0, delta) == pytest.approx((zcdp_epsilon(rho, delta), rho), rel=1e-12)
    assert gauss.claimed(0, 5.0, delta) == gauss.claimed(3, 0.0, delta) == Spent(0.0, 0.0)
    assert gauss.exact(5.0, delta) == Spent(gaussian_epsilon(5.0 / scale, delta), (5.0 / scale) ** 2 / 2)
    assert gauss.together(4) == 2.0 and gauss.together(3) == pytest.approx(math.sqrt(3))
    assert pure.length([3, -4, 0]) == 7 and gauss.length([3, -4, 0]) == 5.0
    assert pure.price([3, -4]) == Price.of_pure(7 / scale)
    assert gauss.price([3, -4]).rho == pytest.approx(25 / (2 * scale**2), rel=1e-14)
    assert gauss.price([3, -4]).pure == gauss.price([3, -4]).pure_rho == 0
    assert pure.scaled(3.0) == Laplace(3 * scale) and pure.change(9.0) == 9.0 == pure.distance(9.0, 2.0)


@pytest.mark.parametrize("scale", [0.1, 3.0, 1e9 / 7])
@pytest.mark.parametrize("distance", [1, 7, 2**60 + 1, 0.3])
def test_costs_are_the_least_numbers_that_are_not_too_small(scale, distance):
    share = Fraction(distance) / Fraction(scale)
    for found, exact in ((Laplace(scale).cost(distance), share), (Gaussian(scale).cost(distance), share**2 / 2)):
        assert Fraction(math.nextafter(found, 0.0)) < exact <= Fraction(found)
    assert rounded_up(Fraction(3, 4)) == 0.75 and rounded_up(Fraction(1, 3)) >= Fraction(1, 3)


def test_scales_are_those_that_releases_need_rounded_up():
    moved = SimpleNamespace(count=3, moved=5.0)
    for law, exact in ((Laplace, 3 * 5.0 / 0.7), (Gaussian, 5.0 * math.sqrt(3 / (2 * zcdp_rho(0.7, 1e-6))))):
        delta = 0.0 if law is Laplace else 1e-6
        found = law.calibrated(moved, 0.7, delta).scale
        assert exact < found < exact * (1 + 1.1e-12)
        assert law.per_unit(0, 0.7, delta) == law.per_unit(1, 0.7, delta)
    assert Laplace.of_scale(0.0).scale == 1e-9 and Laplace.of_scale(5.0).scale == 5.0
    assert Laplace.accepts(0.0) and not Laplace.accepts(1e-9) and Gaussian.accepts(1e-9) and not Gaussian.accepts(0.0)
    Laplace.check_delta(0.0), Gaussian.check_delta(1e-9)
    with pytest.raises(ValueError, match="Laplace noise gives delta = 0; leave delta out"):
        Laplace.check_delta(1e-9)
    with pytest.raises(ValueError, match="Gaussian noise needs delta > 0"):
        Gaussian.check_delta(0.0)
    assert (Laplace.norm, Gaussian.norm) == (1, 2) and Laplace.rho(1.0, 0.0) is None
    assert Gaussian.rho(1.0, 1e-6) == zcdp_rho(1.0, 1e-6)


# moments and likelihoods


def density(law):
    if isinstance(law, Laplace):
        return lambda z: math.exp(-abs(z) / law.scale) / (2 * law.scale)
    return lambda z: math.exp(-(z**2) / (2 * law.scale**2)) / math.sqrt(2 * math.pi * law.scale**2)


@pytest.mark.parametrize("law", [Laplace(0.6), Laplace(2.5), Gaussian(0.6), Gaussian(2.5)])
def test_moments_are_those_of_the_density(law):
    p, far = density(law), 60 * law.scale

    def mean(f):
        return sum(quad(lambda z: f(z) * p(z), a, b, epsabs=0, epsrel=1e-10)[0] for a, b in ((-far, 0), (0, far)))

    assert law.standard_deviation == pytest.approx(math.sqrt(mean(lambda z: z * z)), rel=1e-8)
    assert law.mean_absolute * law.standard_deviation >= mean(abs) * (1 - 1e-8)
    for s in (0.3 / law.scale, -0.5 / law.scale):
        assert law.log_moment(s) == pytest.approx(math.log(mean(lambda z, s=s: math.exp(s * z))), rel=1e-7)
    if isinstance(law, Laplace):
        assert law.largest_rate == 1 / law.scale and law.log_moment(1 / law.scale) == math.inf
        assert math.isfinite(law.log_moment((1 - 1e-9) / law.scale)) and law.log_moment(2 / law.scale) == math.inf
        assert law.mean_absolute == 1.0 and law.summands(5, 9.0) == (law, 5)
    else:
        assert law.largest_rate == math.inf and law.mean_absolute == pytest.approx(math.sqrt(2 / math.pi), rel=1e-12)
        assert law.summands(5, 9.0) == (Gaussian(9.0), 1)
    rng = np.random.default_rng(0)
    noisy, first, second = rng.normal(size=(2, 5, 3)), rng.normal(size=3), rng.normal(size=3)
    exact = [
        [sum(math.log(p(y - a) / p(y - b)) for y, a, b in zip(row, first, second, strict=True)) for row in block]
        for block in noisy
    ]
    np.testing.assert_allclose(law.log_ratio(noisy, first, second), exact, rtol=1e-9, atol=1e-12)
    draws = law.simulate(np.random.default_rng(1), (50_000, 2))
    # a fourth moment of at most 6 squared variances: the mean square is off by 6 % with probability below 1e-6
    assert (draws**2).mean() == pytest.approx(law.standard_deviation**2, rel=0.06)
    assert abs(draws.mean()) < 0.03 * law.scale


# releases


def test_noisy_vectors_are_told_apart_by_law_and_shape():
    one = NoisyVector(Laplace(2.0), np.array([[1, 5]]), np.zeros((1, 2)))
    assert one.told_apart(NoisyVector(Laplace(2.0), np.array([[9, 2]]), np.ones((1, 2)))) is None
    assert one.price(NoisyVector(Laplace(2.0), np.array([[9, 2]]), one.output)) == Price.of_pure(5.5)
    assert one.told_apart(NoisyVector(Laplace(3.0), one.inputs, one.output)).startswith("the noise, Laplace(scale=2.0)")
    other = NoisyVector(Laplace(2.0), np.array([1, 5]), one.output)
    assert one.told_apart(other) == "the shape, (1, 2) and (2,)" and one.flaw is None
    assert "values of type float64" in NoisyVector(Laplace(2.0), np.ones((1, 2)), one.output).flaw
    assert Coin(1.0, 0, True).flaw is None
    zero_and_one = Coin(2.0, 0, True, Fraction(1, 2)), Coin(2.0, 3, True, Fraction(1, 2))
    heads = 0.5, 0.5 * math.exp(-1.5)
    cost = max(math.log(heads[0] / heads[1]), math.log((1 - heads[1]) / (1 - heads[0])))
    assert zero_and_one[0].price(zero_and_one[1]).pure == pytest.approx(cost, rel=1e-12)


def test_shares_of_coins_go_from_never_to_always():
    assert not any(toss(0, 1.0, Fraction(0)) for _ in range(40)) and all(toss(0, 1.0, Fraction(1)) for _ in range(40))
    assert not any(toss(10**6, 1.0) for _ in range(10))
    for share in (Fraction(-1, 9), Fraction(10, 9)):
        with pytest.raises(ValueError, match="The share of a coin must be between 0 and 1, not"):
            toss(0, 1.0, share)
    with pytest.raises(ValueError, match="The cost of a coin must be at least 0"):
        toss(-1, 1.0)
    assert toss(0, 2.0) is True


def test_a_coin_with_a_share_is_heads_for_the_first_of_its_numbers(monkeypatch):
    """Of 0, ..., 4 the first two for a share of 2/5, whatever the cost shows."""
    asked, heads = [], []
    monkeypatch.setattr(secrets, "randbelow", lambda bound: asked.append(bound) or len(asked) - 1)
    for _ in range(5):
        heads.append(toss(0, 1.0, Fraction(2, 5)))
    assert asked == [5] * 5 and heads == [True, True, False, False, False]


def test_a_release_has_the_shape_of_its_values_and_a_selection_its_scores(monkeypatch):
    for shape in ((), (3,), (2, 3), (2, 1, 3)):
        values = np.full(shape, 10**12)
        found = release(Laplace(3.0), values, sampler="vector")
        assert found.shape == shape and np.abs(found - values).max() < 1000  # beyond with probability e^-333
    assert select([5, 10**9], 1.0) == 0 and select([10**9, 5], 1.0) == 1
    with scripted(0) as script:
        assert select([1, 2, 3], 1.0) in (0, 1, 2) and toss(1, 2.0, Fraction(1, 3)) in (True, False)
    assert script.releases[0].scores == (1, 2, 3) and script.releases[1].share == Fraction(1, 3)


# scripts


def test_outputs_of_a_script_have_the_size_of_the_noise_and_stay_within_64_bits():
    script = Script(0)
    values = np.zeros((2_000, 3), dtype=np.int64)
    for law in (Laplace(50.0), Gaussian(7.0), Laplace(0.01)):
        output = script.vector(law, values)
        # of 6,000 draws of deviation sqrt(2) times that of the noise
        assert output.std() == pytest.approx(math.sqrt(2) * law.standard_deviation, rel=0.2, abs=0.2)
        assert abs(output.mean()) < 0.2 * max(law.standard_deviation, 1)
    huge = script.vector(Laplace(1e25), values)
    assert set(np.abs(huge).ravel().tolist()) == {2**60} and (huge > 0).any() and (huge < 0).any()
    coins = [script.coin(1.0, 0) for _ in range(60)]
    assert set(coins) == {False, True} and {script.selection(1.0, [5, 9, 7]) for _ in range(80)} == {0, 1, 2}
    assert isinstance(script.releases[-1], Selection) and len(script.releases) == 4 + 60 + 80


def test_own_draws_follow_a_seed_before_a_script():
    plain = own_generator(5).random()
    with scripted(3):
        assert own_generator(5).random() == plain and (first := own_generator().random()) != own_generator().random()
    with scripted(3):
        assert own_generator().random() == first
    with scripted(4):
        assert own_generator().random() != first
    assert own_generator().random() != own_generator().random()


# sources


class Counted(SimulatedSource):
    """Its noise is 0, 1, 2, ...; it keeps the shapes that were asked for."""

    def __init__(self):
        super().__init__(Laplace(1.0), np.random.default_rng(0))
        self.shapes, self.next = [], 0

    def _drawn(self, shape):
        self.shapes.append(shape)
        start, self.next = self.next, self.next + math.prod(shape)
        return np.arange(start, self.next, dtype=float).reshape(shape)


def test_small_draws_come_from_a_block_and_large_ones_by_themselves(monkeypatch):
    monkeypatch.setattr(sources, "_BLOCK", 64)
    source = Counted()
    assert source.fresh(5, (2,)).ravel().tolist() == list(range(10))  # more than an eighth of 32 rows: drawn by itself
    assert source.fresh(4, (2,)).ravel().tolist() == list(range(66, 74))  # the end of a block comes first
    for _ in range(6):
        source.fresh(4, (2,))
    assert source.fresh(5, (2,)).shape == (5, 2) and source._left == 4  # too many for what is left, which stays
    assert source.fresh(4, (2,)).ravel().tolist() == list(range(10, 18))
    assert source.shapes == [(5, 2), (32, 2), (5, 2)]
    assert source.fresh(1, (2,)).shape == (1, 2) and source.shapes[3:] == [(32, 2)]
    assert source.fresh(1, (3,)).shape == (1, 3) and source.shapes[4:] == [(21, 3)]  # another shape, another block
    assert source.fresh(5, (0,)).shape == (5, 0) and source.fresh(1, (100,)).shape == (1, 100)
    whole = Counted()
    rows = [whole.fresh(1, ()) for _ in range(64)]
    assert whole.shapes == [(64,)] and sorted(np.concatenate(rows).tolist()) == list(range(64))
    assert whole.draw(np.zeros((3, 2))).shape == (3, 2)


@pytest.mark.parametrize("kind", [SecureSource, VectorSource])
def test_secure_draws_are_the_noise_alone(kind):
    values = np.full((2, 3, 4), 2**40, dtype=np.int64)
    for source in (kind(Laplace(2.0), 4), StreamSource(Laplace(2.0), LaplaceStream())):
        some = values if source.__class__ is kind else values[..., :1]
        noise = source.draw(some)
        assert noise.shape == some.shape and noise.dtype == np.int64 and np.abs(noise).max() < 300  # but for e^-140
        assert source.cost(6) == pytest.approx(3.0, rel=1e-12) and source.fresh(5, some.shape[1:]).shape[0] == 5
    with pytest.raises(ValueError, match="A release of 3 entries from a source for 4"):
        kind(Laplace(2.0), 4).draw(values[..., :3])


@pytest.mark.parametrize("law", [Laplace(8.0), Gaussian(8.0)])
def test_releases_may_cost_what_is_allowed_but_for_the_rounding_of_scales(law):
    price = 3 * VectorSource(law, 2).cost(5)
    settings = {"count": 3, "moved": 5, "sampler": "vector"}
    for factor in (1.0, 1 - 0.9e-11):
        assert isinstance(noise_source(law, 2, allowed=price * factor, **settings), VectorSource)
    with pytest.raises(AssertionError, match=r"The releases cost .*, more than the .* that the certificate claims"):
        noise_source(law, 2, allowed=price * (1 - 1.2e-11), **settings)
    simulated = noise_source(law, 2, np.random.default_rng(0), allowed=0.0, **settings)
    assert isinstance(simulated, SimulatedSource) and not simulated.secure


def test_streams_are_taken_by_the_vector_sampler_and_scripts_inside_couplings():
    law, stream, settings = Laplace(8.0), LaplaceStream(), {"count": 1, "moved": 1, "allowed": 1.0}
    assert isinstance(noise_source(law, 1, sampler="vector", stream=stream, **settings), StreamSource)
    assert isinstance(noise_source(law, 1, sampler="opendp", stream=stream, **settings), SecureSource)
    assert isinstance(noise_source(law, 1, sampler="vector", **settings), VectorSource)
    with scripted(0) as script:
        source = noise_source(law, 2, sampler="vector", stream=stream, **(settings | {"allowed": 0.0}))
        assert isinstance(source, ScriptedSource) and source.saved() == (secure_source, (law, 2, "vector"))
        values = np.array([[2**40, -7]])
        noise = source.draw(values)
        assert (values + noise).tolist() == script.releases[0].output.tolist()
        assert script.releases[0].inputs.tolist() == values.tolist()
    with pytest.raises(ProtocolError, match="of no use outside of it"):
        source.draw(values)
    for name in (None, "opendp", "vector"):
        check_sampler(name)
    for wrong in ("numpy", 3, ["vector"]):
        with pytest.raises(ValueError, match="sampler must be one of opendp, vector, not"):
            check_sampler(wrong)
