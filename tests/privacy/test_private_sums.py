"""Private sums of losses: sensitivity of what is really summed, calibration, certificates, secure mode."""

import copy
import math
import multiprocessing
import pickle
from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from scipy.stats import chi2

from dpcvx import HorizonError, LossOutOfSetError, LossSet, ProtocolError
from dpcvx.privacy import PrivateSums, compose, plan
from dpcvx.privacy.certificate_words import counted
from dpcvx.privacy.gaussian_calibration import zcdp_epsilon
from dpcvx.privacy.neighbours import RELATIONS
from dpcvx.privacy.noise import KNorm, Laplace, SecureSource
from dpcvx.privacy.sensitivity import Grid, changed_units, choose_grid, sensitivity


def _loss_sets():
    l = cp.Variable(4, name="l")  # noqa: E741  (the name of a loss in the literature)
    rows = np.random.default_rng(0).standard_normal((10, 4))
    yield "unit box", LossSet(l, [l >= 0, l <= 1])
    yield "box off the grid", LossSet(l, [l >= -0.3, l <= math.pi / 5])
    yield "ball", LossSet(l, [cp.norm2(l) <= 0.7])
    yield "1-ball", LossSet(l, [cp.norm1(l) <= 1])
    yield "simplex", LossSet(l, [l >= 0, cp.sum(l) == 1])
    yield "skew polytope", LossSet(l, [rows @ l <= 1, l <= 2, l >= -2])
    yield "flat", LossSet(l, [l >= 0, l <= 1, l[0] + l[1] == 1, l[2] == 0.25])
    yield "ellipsoid", LossSet(l, [cp.norm2(cp.multiply([1, 2, 3, 4], l - 1)) <= 1])


LOSS_SETS = dict(_loss_sets())


@pytest.mark.parametrize("name", LOSS_SETS)
@pytest.mark.parametrize("neighbours", ["replace", "zero-out"])
@pytest.mark.parametrize("exponent", [-3, -6, -20])
def test_rounded_losses_never_move_further_than_the_certified_sensitivity(name, neighbours, exponent):
    Y, grid, rng = LOSS_SETS[name], Grid(exponent), np.random.default_rng(1)
    one, two = (sensitivity(Y, norm, RELATIONS[neighbours], grid) for norm in (1, 2))
    ends = [Y.argmin(rng.standard_normal(4)) for _ in range(60)]
    losses = np.array([*ends, *(Y.clip(Y.center + rng.standard_normal(4)) for _ in range(60))])
    units = grid.round(losses, one.toward_zero)
    others = units if neighbours == "replace" else np.zeros((1, 4), dtype=np.int64)
    difference = (units[:, None] - others[None]).reshape(-1, 4)
    assert np.abs(difference).sum(axis=1).max() <= one.units
    assert np.linalg.norm(difference, axis=1).max() <= two.units
    assert isinstance(one.units, int)


def test_boxes_and_centered_balls_pay_nothing_for_rounding():
    grid = Grid(-10)
    assert sensitivity(LOSS_SETS["unit box"], 1, RELATIONS["replace"], grid).value == 4.0
    assert sensitivity(LOSS_SETS["ball"], 2, RELATIONS["replace"], grid).value == pytest.approx(1.4, rel=1e-8)
    general = sensitivity(LOSS_SETS["simplex"], 1, RELATIONS["replace"], grid)
    assert general.value == pytest.approx(2 + 4 * 2**-10, abs=2**-10)


def test_the_grid_excludes_overflow():
    Y = LOSS_SETS["unit box"]
    grid = choose_grid(Y, 2**20, 100.0)
    assert 2**20 / grid.step < 2**58
    with pytest.raises(OverflowError, match="64-bit"):
        choose_grid(Y, 2**59, 1.0)


@pytest.mark.parametrize("horizon", [1, 2, 5, 8, 1000, 1024])
@pytest.mark.parametrize("name", ["unit box", "ball", "skew polytope"])
def test_the_plan_pays_for_every_release(horizon, name):
    Y = LOSS_SETS[name]
    for counter in ("tree", "smooth"):
        p = plan(Y, horizon, 0.7, counter=counter, noise="laplace")
        assert p.touches * p.sensitivity.units / p.law.scale <= 0.7
        assert p.touches * p.sensitivity.units / p.law.scale >= 0.7 * (1 - 1e-9) or horizon == 1
        g = plan(Y, horizon, 0.7, 1e-6, counter=counter)
        assert g.touches * (g.sensitivity.units / g.law.scale) ** 2 / 2 <= g.rho
    assert plan(Y, horizon, 0.7).counter.key == "smooth"
    assert plan(Y, horizon, 0.7, 1e-6).counter.key == "toeplitz"


def test_default_deviations_are_those_of_the_theory():
    Y = LOSS_SETS["unit box"]
    assert plan(Y, 2**20, 1.0, counter="tree").prefix_deviation / 4 == pytest.approx(126.5, rel=1e-3)
    assert plan(Y, 2**20, 1.0, noise="laplace").prefix_deviation / 4 == pytest.approx(44.1, rel=1e-3)
    with_k = plan(Y, 1024, 1.0, rounds_per_person=3)
    assert with_k.law.scale == pytest.approx(3 * plan(Y, 1024, 1.0).law.scale)


def test_the_paper_is_short_by_two_for_symmetric_losses_and_says_so():
    l = cp.Variable(3, name="l")  # noqa: E741
    symmetric = LossSet(l, [cp.abs(l) <= 1])
    p = plan(symmetric, 1024, 1.0, calibration="paper")
    assert p.epsilon == pytest.approx(2.0, rel=1e-9)
    assert plan(LossSet(l, [l >= 0, l <= 1]), 1024, 1.0, calibration="paper").epsilon == pytest.approx(1.0, rel=1e-9)
    assert plan(symmetric, 1000, 1.0, calibration="paper").epsilon > 2.0  # levels is an integer, log T is not
    zero_out = plan(symmetric, 1024, 1.0, calibration="paper", neighbours="zero-out")
    assert zero_out.epsilon == pytest.approx(1.0, rel=1e-9)
    gaussian = plan(symmetric, 1024, 1.0, 1e-6, counter="tree", calibration="paper")
    assert gaussian.epsilon < 1  # two to ten times too much noise there
    sums = PrivateSums(symmetric, 1024, 1.0, calibration="paper")
    assert sums.certificate.epsilon == pytest.approx(2.0, rel=1e-9) and "paper" in str(sums.certificate)


@pytest.mark.parametrize("options", [{}, {"counter": "tree"}, {"delta": 1e-6}, {"delta": 1e-6, "counter": "smooth"}])
@pytest.mark.parametrize("name", ["unit box", "ball", "flat"])
def test_seed_or_no_seed_gives_the_same_counter_law_and_scale(options, name):
    Y = LOSS_SETS[name]
    secure, simulated = PrivateSums(Y, 64, 1.0, **options), PrivateSums(Y, 64, 1.0, seed=3, **options)
    assert secure.plan == simulated.plan
    assert "not private" not in str(secure.certificate) and "not private" in str(simulated.certificate)
    for sums in (secure, simulated):
        for _ in range(5):
            assert sums.prefix.shape == (4,)
            sums.update(Y.center)
        assert sums.certificate.rounds == 5
    repeat = PrivateSums(Y, 64, 1.0, seed=3, **options)
    assert not np.array_equal(PrivateSums(Y, 64, 1.0, **options).prefix, secure.prefix) or not secure.prefix.any()
    assert np.array_equal(repeat.prefix, PrivateSums(Y, 64, 1.0, seed=3, **options).prefix)


@pytest.mark.parametrize(
    "bad", [np.full(4, np.nan), np.array([0, np.inf, 0, 0]), np.zeros(3), np.zeros((2, 4)), np.full(4, 1j)]
)
def test_bad_losses_raise_and_change_nothing(bad):
    sums = PrivateSums(LOSS_SETS["unit box"], 8, 1.0, seed=0)
    sums.update(np.ones(4))
    before, rounds = sums.prefix.copy(), sums.rounds
    with pytest.raises(ValueError, match=r"NaN|shape|axes|complex"):
        sums.update(bad)
    assert np.array_equal(sums.prefix, before) and sums.rounds == rounds


def test_losses_outside_the_set_are_clipped_or_refused():
    Y = LOSS_SETS["unit box"]
    clipped, inside = PrivateSums(Y, 8, 1.0, seed=0), PrivateSums(Y, 8, 1.0, seed=0)
    clipped.update(np.array([1e300, -1e300, 0.5, 2.0]))
    inside.update(np.array([1.0, 0.0, 0.5, 1.0]))
    assert np.array_equal(clipped.prefix, inside.prefix)
    assert clipped.certificate == inside.certificate and "clip" not in repr(vars(clipped.certificate))
    strict = PrivateSums(Y, 8, 1.0, seed=0, on_violation="raise")
    with pytest.raises(LossOutOfSetError):
        strict.update(np.full(4, 2.0))
    assert strict.rounds == 0


@pytest.mark.parametrize("name", ["unit box", "box off the grid", "ball", "flat"])
def test_replicas_are_clipped_like_single_losses_whether_they_share_a_loss_or_not(name):
    Y, rng = LOSS_SETS[name], np.random.default_rng(6)
    together = PrivateSums(Y, 8, 1.0, seed=0, replicas=3)
    losses, shared = 2 * rng.standard_normal((3, 4)), 2 * rng.standard_normal(4)
    together.update(losses)
    together.update(shared)
    expected = [Y.clip(one) + Y.clip(shared) for one in losses]
    assert np.allclose(together._epoch.counter.total * together.plan.grid.step, expected, rtol=0, atol=1e-12)


def test_under_zero_out_a_zero_loss_stays_zero():
    l = cp.Variable(2, name="l")  # noqa: E741
    Y = LossSet(l, [l >= 1, l <= 2])
    sums = PrivateSums(Y, 8, 1.0, neighbours="zero-out", seed=0)
    start = sums._epoch.counter.total.copy()
    sums.update(np.zeros(2))
    assert np.array_equal(sums._epoch.counter.total, start)
    sums.update(np.full(2, 0.5))
    assert np.allclose(sums._epoch.counter.total * sums.plan.grid.step, 1.0)


def test_the_horizon_ends_the_releases():
    for options in ({}, {"delta": 1e-6}):
        sums = PrivateSums(LOSS_SETS["unit box"], 3, 1.0, **options)
        for _ in range(3):
            _ = sums.prefix
            sums.update(np.ones(4))
        with pytest.raises(HorizonError):
            _ = sums.prefix
        with pytest.raises(HorizonError):
            sums.update(np.ones(4))
        assert sums.rounds == 3


def test_an_unknown_horizon_is_covered_by_epochs():
    for options in ({}, {"delta": 1e-6}):
        sums = PrivateSums(LOSS_SETS["unit box"], None, 1.0, seed=1, **options)
        epochs = []
        for _ in range(1100):
            _ = sums.prefix
            sums.update(np.ones(4))
            epochs.append(sums.epoch)
        assert epochs[-1] == 6 and sums.rounds == 1100
        assert sums.certificate.epsilon == 1.0 and sums.certificate.horizon is None
        assert "epoch" in str(sums.certificate)


def test_certificates_compose_and_speak_for_groups():
    Y = LOSS_SETS["unit box"]
    pure, gauss = PrivateSums(Y, 64, 0.5).certificate, PrivateSums(Y, 64, 0.5, 1e-6).certificate
    assert pure.group(3).epsilon == 1.5 and pure.group(3).rounds_per_person == 3
    assert 1.5 <= gauss.group(3).epsilon < 3 and gauss.group(3).delta == gauss.delta
    both = compose(pure, gauss)
    assert 0.5 < both.epsilon < 1.0 and both.delta == 1e-6 and both.secure
    with pytest.raises(ValueError, match="neighbouring"):
        compose(pure, PrivateSums(Y, 64, 0.5, neighbours="zero-out").certificate)
    with pytest.raises(ValueError, match="rounds per person"):
        compose(pure, pure.group(2))
    assert pure.to_dict()["epsilon"] == 0.5 and "<table>" in pure._repr_html_()
    assert PrivateSums(Y, 64, 0.5, rounds_per_person=4).certificate.protects.endswith("4 rounds")


def test_k_norm_noise_is_smaller_and_on_balls_for_simulation():
    l = cp.Variable(10, name="l")  # noqa: E741
    with pytest.raises(ValueError, match="on balls exists only in simulation"):
        PrivateSums(LossSet(l, [cp.norm2(l) <= 1]), 64, 1.0, noise="knorm")
    for Y, gain in ((LossSet(l, [cp.abs(l) <= 1]), 2.0), (LossSet(l, [cp.norm2(l) <= 1]), 1.3)):
        k_norm, laplace = (PrivateSums(Y, 64, 1.0, noise=kind, seed=0) for kind in ("knorm", "laplace"))
        assert laplace.plan.prefix_deviation / k_norm.plan.prefix_deviation > gain
        assert k_norm.certificate.scale == pytest.approx(k_norm.plan.touches) and "units of K" in str(
            k_norm.certificate
        )
    with pytest.raises(ValueError, match="boxes"):
        plan(LOSS_SETS["simplex"], 64, 1.0, noise="knorm")


def _false_alarm(moments, n, t):
    """Least Markov bound on P(|S| >= t n E Y), S the sum of n copies of Y - E Y, from the exact moments of Y >= 0.

    The moments of S come from its cumulants, n times those of Y; all fractions, so nothing cancels.
    """
    scaled = [Fraction(1), *(m / moments[0] ** (j + 1) for j, m in enumerate(moments))]  # of Y/E Y
    order = len(moments)
    central = [sum(math.comb(j, i) * scaled[i] * (-1) ** (j - i) for i in range(j + 1)) for j in range(order + 1)]
    cumulants = [Fraction(0)]
    for j in range(1, order + 1):
        mixed = sum(math.comb(j - 1, i - 1) * cumulants[i] * central[j - i] for i in range(1, j))
        cumulants.append(central[j] - mixed)
    sums = [Fraction(1)]
    for j in range(1, order + 1):
        sums.append(sum(math.comb(j - 1, i - 1) * n * cumulants[i] * sums[j - i] for i in range(1, j + 1)))
    return min(float(sums[k] / (n * t) ** k) for k in range(2, order + 1, 2))


def _squared_k_norm_moments(n, body, order):
    """E (z_1^2)^j, j = 1, ..., order, for z = r u with r ~ Gamma(n + 1, 1) and u uniform on the unit body."""
    moments = []
    for j in range(1, order + 1):
        radial = math.prod(range(n + 1, n + 1 + 2 * j))
        if body == "box":
            moments.append(Fraction(radial, 2 * j + 1))
        else:  # uniform in the ball: |u|^2j has the mean n/(n + 2j), its direction is uniform on the sphere
            sphere = Fraction(math.prod(range(1, 2 * j, 2)), math.prod(range(n, n + 2 * j, 2)))
            moments.append(radial * Fraction(n, n + 2 * j) * sphere)
    return moments


def test_k_norm_noise_has_the_law_it_claims():
    # |z|_K is Gamma(n, scale) distributed: its mean over 2e5 draws has deviation scale sqrt(n)/sqrt(2e5), 6 of them are
    # exceeded with probability below 2e-9. The mean squares of the 8 coordinates are off by more than 2.5 %, their
    # roots, the standard deviations, by more than 1.3 %, with probability below 1e-6 in all, as computed.
    rng = np.random.default_rng(0)
    n, draws, off = 4, 200_000, Fraction(1, 40)
    alarms = [n * _false_alarm(_squared_k_norm_moments(n, body, 20), draws, off) for body in ("box", "ball")]
    assert sum(alarms) <= 1e-6
    for body in ("box", "ball"):
        law = KNorm(2.0, (1.5,) * n, body, unit=2.0**-30)
        z = law.simulate(rng, (draws, n))
        size = np.abs(z).max(axis=1) / 1.5 if body == "box" else np.linalg.norm(z, axis=1) / 1.5
        assert size.mean() == pytest.approx(2.0 * n, abs=6 * 2.0 * 2 / np.sqrt(draws))
        variance = float(_squared_k_norm_moments(n, body, 1)[0]) * (2.0 * 1.5) ** 2
        assert law.standard_deviation**2 == pytest.approx(variance, rel=1e-12 if body == "ball" else 3e-5)
        assert (z**2).mean(axis=0) == pytest.approx(np.full(n, variance), rel=float(off), abs=0)


def test_the_false_alarm_bound_holds_where_the_tail_is_known():
    # squares of normal draws: their sum is chi-square distributed
    moments = [Fraction(math.prod(range(1, 2 * j, 2))) for j in range(1, 21)]
    for n, t in ((1000, 0.2), (1000, 0.3), (200_000, 0.02)):
        exact = chi2.sf(n * (1 + t), n) + chi2.cdf(n * (1 - t), n)
        bound = _false_alarm(moments, n, Fraction(str(t)))
        assert exact <= bound <= 1000 * exact + 1e-9


def test_secure_noise_has_no_seed_and_is_never_shared():
    sums = PrivateSums(LOSS_SETS["unit box"], 8, 1.0)
    for duplicate in (copy.deepcopy, copy.copy, pickle.dumps):
        with pytest.raises(copy.Error, match="cannot be"):
            duplicate(sums._epoch.counter.source)
    for whole in (sums, sums._epoch.counter):
        for duplicate in (copy.deepcopy, copy.copy):
            with pytest.raises(copy.Error, match="copied"):
                duplicate(whole)
    with pytest.raises(copy.Error, match="pickled"):
        pickle.dumps(sums)
    np.random.seed(0)  # noqa: NPY002  (a global seed must not reach the noise)
    first = SecureSource(Laplace(1e6), 4).draw(np.zeros((1, 4), dtype=np.int64))
    np.random.seed(0)  # noqa: NPY002
    assert not np.array_equal(first, SecureSource(Laplace(1e6), 4).draw(np.zeros((1, 4), dtype=np.int64)))


@pytest.mark.parametrize("options", [{"counter": "tree"}, {"counter": "smooth"}, {"delta": 1e-6}])
def test_an_interrupted_update_ends_the_releases(options):
    # the new sum with the old noise would differ from the last release by exactly the loss
    sums = PrivateSums(LOSS_SETS["unit box"], 64, 0.01, **options)
    sums.update(np.zeros(4))

    def interrupted(values):
        raise KeyboardInterrupt

    sums._epoch.counter.source.draw = interrupted
    with pytest.raises(KeyboardInterrupt):
        sums.update(np.full(4, 0.625))
    with pytest.raises(ProtocolError, match="interrupted"):
        _ = sums.prefix
    with pytest.raises(ProtocolError, match="interrupted"):
        sums.update(np.zeros(4))


@pytest.mark.parametrize("count", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_any_finite_loss_can_be_clipped_to_any_set(count):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 6))
        z = cp.Variable(n, name="z")
        rows = rng.normal(size=(12, n))
        rows /= np.linalg.norm(rows, axis=1)[:, None]
        Y = LossSet(z, [rows @ z <= rng.uniform(0.3, 1, 12), cp.norm(z, 2) <= 3])
        for size in (1.0, 1e3, 1e9, 1e300):
            for _ in range(2):
                assert Y.contains(Y.clip(size * rng.normal(size=n)))


def _draw_in_child(source, results):
    try:
        results.put(source.draw(np.zeros((1, 4), dtype=np.int64)).tolist())
    except RuntimeError as error:
        results.put(str(error))


def test_a_forked_process_cannot_draw_from_its_parents_source():
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=_draw_in_child, args=(SecureSource(Laplace(1e6), 4), results))
    child.start()
    assert "fork" in results.get(timeout=30)
    child.join()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": np.nan}, "epsilon"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta"),
        ({"epsilon": 1.0, "counter": "abacus"}, "abacus"),
        ({"epsilon": 1.0, "noise": "cauchy"}, "cauchy"),
        ({"epsilon": 1.0, "noise": "gaussian"}, "delta > 0"),
        ({"epsilon": 1.0, "counter": "toeplitz"}, "Gaussian"),
        ({"epsilon": 1.0, "neighbours": "cousins"}, "cousins"),
        ({"epsilon": 1.0, "rounds_per_person": 0}, "rounds_per_person"),
        ({"epsilon": 1.0, "calibration": "wishful"}, "wishful"),
        ({"epsilon": 1.0, "on_violation": "ignore"}, "on_violation"),
        ({"epsilon": 1.0, "replicas": 3}, "seed"),
        ({"epsilon": 1.0, "horizon": 0}, "horizon"),
    ],
)
def test_wrong_arguments_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        PrivateSums(LOSS_SETS["unit box"], **{"horizon": 8, **arguments})


def test_a_loss_that_can_only_be_one_point_costs_nothing():
    l = cp.Variable(2, name="l")  # noqa: E741
    for value in (0.0, 1.5):
        Y = LossSet(l, [l == value])
        for options in ({}, {"delta": 1e-6}):
            sums = PrivateSums(Y, 8, 1.0, **options)
            sums.update(np.full(2, value))
            assert np.allclose(sums.prefix, value, atol=1e-3)
            assert sums.certificate.sensitivity <= 1e-6
        assert PrivateSums(Y, 8, 1.0, calibration="paper").certificate.epsilon == 0


def test_whole_numbers_may_be_numpy_integers():
    p = plan(LOSS_SETS["unit box"], np.int64(100), 1.0, counter="tree", rounds_per_person=np.int32(2))
    assert p.horizon == 100 and p.touches == 7
    with pytest.raises(ValueError, match="horizon"):
        plan(LOSS_SETS["unit box"], 1e2, 1.0)


def test_zero_is_allowed_under_zero_out_even_where_the_set_excludes_it():
    l = cp.Variable(2, name="l")  # noqa: E741
    sums = PrivateSums(LossSet(l, [l >= 1, l <= 2]), 8, 1.0, neighbours="zero-out", on_violation="raise")
    sums.update(np.zeros(2))
    with pytest.raises(LossOutOfSetError):
        sums.update(np.full(2, 0.5))


def test_long_horizons_are_planned_at_once():
    p = plan(LOSS_SETS["unit box"], 2**36, 1.0)
    assert math.comb(p.touches + p.terms, p.terms) >= 2**36


@pytest.mark.filterwarnings("ignore::dpcvx.WeakPrivacyWarning")
@pytest.mark.parametrize("epsilon", [1e-6, 100.0])
def test_extreme_epsilons_work(epsilon):
    for options in ({}, {"delta": 1e-6}):
        sums = PrivateSums(LOSS_SETS["unit box"], 16, epsilon, **options)
        sums.update(np.ones(4))
        assert np.isfinite(sums.prefix).all()
        assert sums.certificate.epsilon <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize("exponent", [20, 25, 28, 36, 45])
def test_the_default_gaussian_counter_has_the_least_noise_at_every_horizon(exponent):
    loss = cp.Variable(2, name="loss")
    Y = LossSet(loss, [cp.abs(loss) <= 1])
    default = plan(Y, 2**exponent, 1.0, 1e-6)
    assert default.prefix_deviation <= plan(Y, 2**exponent, 1.0, 1e-6, counter="smooth").prefix_deviation
    if exponent <= 25:
        assert default.counter.key == "toeplitz"


@pytest.mark.parametrize("k", [1, 3])
def test_a_group_is_a_person_in_as_many_times_the_rounds(k):
    """A certificate that keeps the rounds of one person claims the same privacy for more rounds than it holds for."""
    Y = LOSS_SETS["unit box"]
    pure, gauss = (PrivateSums(Y, 64, 0.5, delta, rounds_per_person=2).certificate for delta in (0.0, 1e-6))
    unstated = replace(gauss, rho=None)
    assert [one.group(k).rounds_per_person for one in (pure, gauss, unstated)] == [2 * k] * 3
    assert pure.group(k).epsilon == k * pure.epsilon
    assert gauss.group(k).rho == k * k * gauss.rho
    assert unstated.group(k).epsilon == k * gauss.epsilon
    assert unstated.group(k).delta == pytest.approx(k * np.exp((k - 1) * gauss.epsilon) * 1e-6, rel=1e-12)
    assert f"{2 * k} rounds" in gauss.group(k).protects


def test_euclidean_lengths_of_units_are_rounded_up():
    for units in np.random.default_rng(0).integers(0, 2**20, (200, 5)):
        found = changed_units(units.astype(float), 1e9, -np.ones(5), np.ones(5), 1.0, 2)
        true = sum(int(w) ** 2 for w in units)
        assert true <= Fraction(found) ** 2 <= true * (1 + Fraction(1, 10**14))
    assert changed_units(np.zeros(5), 1e9, -np.ones(5), np.ones(5), 1.0, 2) == 0


def test_a_group_so_large_that_nothing_is_promised_has_a_delta_of_1():
    unstated = replace(PrivateSums(LOSS_SETS["unit box"], 64, 10.0, 1e-6).certificate, rho=None)
    assert unstated.group(2).delta == pytest.approx(2 * math.exp(10) * 1e-6, rel=1e-12)
    assert (unstated.group(500).epsilon, unstated.group(500).delta) == (5000.0, 1.0)  # e^4990 is no number
    for wrong in (0, 1.5):
        with pytest.raises(ValueError, match=f"k must be a whole number of at least 1, not {wrong}"):
            unstated.group(wrong)


@pytest.mark.parametrize("people", [1, 3])
@pytest.mark.parametrize("counter", ["smooth", "tree"])
def test_the_certified_scale_is_that_of_the_formula(counter, people):
    """k D_1/epsilon, and D_2 sqrt(k/(2 rho)): of k releases that a person moves by D in each of the rounds."""
    Y = LOSS_SETS["unit box"]
    pure = PrivateSums(Y, 64, 0.5, counter=counter, noise="laplace", rounds_per_person=people).certificate
    assert pure.scale == pytest.approx(pure.releases_per_loss * people * 4 / 0.5, rel=1e-5)
    assert [Laplace.per_unit(count, 0.5, 0.0) for count in (0, 1, 3)] == [2.0, 2.0, 6.0]  # of none the scale of one
    gauss = PrivateSums(Y, 64, 0.5, 1e-6, counter=counter, rounds_per_person=people).certificate
    assert gauss.scale == pytest.approx(people * 2 * math.sqrt(gauss.releases_per_loss / (2 * gauss.rho)), rel=1e-5)


@pytest.mark.parametrize("count", [1, 3])
def test_a_learner_continued_from_older_checkpoints_pays_for_every_continuation(count):
    """Pure epsilon, and delta without rho, add up; with rho that adds up, and delta stays what it was."""
    Y, times = LOSS_SETS["unit box"], count + 1
    pure, gauss = (PrivateSums(Y, 64, 0.5, delta).certificate for delta in (0.0, 1e-6))
    paid = pure.after_rollbacks(count)
    assert (paid.epsilon, paid.delta, paid.rho) == (times * 0.5, 0.0, None)
    paid = gauss.after_rollbacks(count)
    assert paid.rho == times * gauss.rho and paid.delta == 1e-6
    assert paid.epsilon == zcdp_epsilon(times * gauss.rho, 1e-6) > gauss.epsilon
    paid = replace(gauss, rho=None).after_rollbacks(count)
    assert (paid.epsilon, paid.delta, paid.rho) == (times * gauss.epsilon, times * 1e-6, None)
    assert replace(gauss, rho=None, delta=0.9).after_rollbacks(count).delta == 1.0
    assert f"continued {count} times" in str(paid)


@pytest.mark.parametrize("name", ["unit box", "1-ball", "ball"])
@pytest.mark.parametrize("neighbours", ["replace", "zero-out"])
def test_the_loss_that_is_summed_is_as_near_as_the_bound_is_told(name, neighbours):
    """Regret bounds add `rounding` a round; 4,000 entries come within a tenth of the worst, and none is beyond."""
    Y = LOSS_SETS[name]
    sums = PrivateSums(Y, 64, 0.5, neighbours=neighbours)
    inside = Y.clip(np.random.default_rng(0).uniform(-0.9, 0.9, (1000, 4)))
    units = sums.mechanism.rounded(inside)
    worst = np.abs(units * sums.plan.grid.step - inside).max()
    assert 0.9 * sums.rounding < worst <= sums.rounding * (1 + 1e-9)


def test_a_certificate_counts_in_words():
    assert [counted(number, "round") for number in (0, 1, 2)] == ["0 rounds", "1 round", "2 rounds"]


@pytest.mark.filterwarnings("ignore::dpcvx.WeakPrivacyWarning")
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.5])
# OpenDP's conversion takes seconds for a tiny epsilon
@pytest.mark.parametrize(
    "epsilon",
    [pytest.param(10.0**k, marks=pytest.mark.slow) for k in (-12, -9, -6)] + [10.0**k for k in (-3, 0, 3, 5, 6, 9, 12)],
)
def test_any_epsilon_runs_or_is_refused_in_a_sentence(epsilon, delta):
    """epsilon of 1e6 with delta > 0 ended in an exception of OpenDP."""
    refused = []
    for calibration in ("exact", "paper"):
        try:
            sums = PrivateSums(LOSS_SETS["unit box"], 16, epsilon, delta, calibration=calibration)
        except (ValueError, OverflowError) as refusal:
            refused.append(str(refusal))
            continue
        sums.update(np.ones(4))
        assert np.isfinite(sums.prefix).all()
        assert calibration == "paper" or sums.certificate.epsilon == epsilon
    assert all("epsilon" in refusal for refusal in refused)
