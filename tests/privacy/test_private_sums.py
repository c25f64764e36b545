"""Private sums that run: what is clipped or refused, when releases end, secure mode."""

import copy
import multiprocessing
import pickle

import cvxpy as cp
import numpy as np
import pytest
from varied_losses import LOSS_SETS

from dpcvx import HorizonError, LossOutOfSetError, LossSet, ProtocolError
from dpcvx.privacy import PrivateSums
from dpcvx.privacy.noise import Laplace, SecureSource


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


def test_zero_is_allowed_under_zero_out_even_where_the_set_excludes_it():
    l = cp.Variable(2, name="l")  # noqa: E741
    sums = PrivateSums(LossSet(l, [l >= 1, l <= 2]), 8, 1.0, neighbours="zero-out", on_violation="raise")
    sums.update(np.zeros(2))
    with pytest.raises(LossOutOfSetError):
        sums.update(np.full(2, 0.5))


@pytest.mark.filterwarnings("ignore::dpcvx.WeakPrivacyWarning")
@pytest.mark.parametrize("epsilon", [1e-6, 100.0])
def test_extreme_epsilons_work(epsilon):
    for options in ({}, {"delta": 1e-6}):
        sums = PrivateSums(LOSS_SETS["unit box"], 16, epsilon, **options)
        sums.update(np.ones(4))
        assert np.isfinite(sums.prefix).all()
        assert sums.certificate.epsilon <= epsilon * (1 + 1e-12)


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
