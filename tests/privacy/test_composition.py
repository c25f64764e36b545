"""What several certificates promise together: against sums in fifty digits, Monte Carlo losses and dp-accounting."""

import itertools
import math
import sys
from dataclasses import replace

import cvxpy as cp
import mpmath
import numpy as np
import pytest
from declared_changes import comes, rerouted

import dpcvx
from dpcvx.privacy import PrivateSums, compose
from dpcvx.privacy.gaussian_calibration import gaussian_epsilon, zcdp_epsilon
from dpcvx.privacy.optimal_composition import composed_epsilon, integer_slack


@pytest.fixture(scope="module")
def Y():
    l = cp.Variable(3, name="l")  # noqa: E741
    return dpcvx.LossSet(l, [l >= 0, l <= 1])


def gaussian(Y, epsilon=1.0, delta=1e-6, **options):
    return PrivateSums(Y, 64, epsilon, delta, **options).certificate


def pure(Y, epsilon, **options):
    return PrivateSums(Y, 64, epsilon, **options).certificate


def outcomes(epsilons):
    """Losses of all randomised responses together, and their probabilities."""
    for signs in itertools.product((1, -1), repeat=len(epsilons)):
        losses = [s * mpmath.mpf(e) for s, e in zip(signs, epsilons, strict=True)]
        yield mpmath.fsum(losses), mpmath.fprod(1 / (1 + mpmath.exp(-loss)) for loss in losses)


def smallest_delta(epsilons, epsilon):
    """That of randomised responses, by all their outcomes, in fifty digits (Murtagh and Vadhan 2016)."""
    with mpmath.workdps(50):
        apart = ((chance, 1 - mpmath.exp(mpmath.mpf(epsilon) - loss)) for loss, chance in outcomes(epsilons))
        return mpmath.fsum(chance * max(0, share) for chance, share in apart)


def mixed_delta(epsilons, mu, epsilon):
    """The same with a Gaussian release, in fifty digits."""
    with mpmath.workdps(50):
        total = mpmath.mpf(0)
        for loss, chance in outcomes(epsilons):
            left = mpmath.mpf(epsilon) - loss
            curve = mpmath.ncdf(mu / 2 - left / mu) - mpmath.exp(left) * mpmath.ncdf(-mu / 2 - left / mu)
            total += chance * curve
        return total


def test_eight_gaussian_certificates_cost_less_than_half_of_their_sum(Y):
    """Basic composition says 8; rho adds up to 3.09 at the same delta, and the exact curve is 2.88 there."""
    one = gaussian(Y)
    together = compose([one] * 8, delta=1e-6)
    assert together.epsilon <= 3.1 and together.delta == 1e-6
    assert zcdp_epsilon(8 * one.rho, 1e-6) == pytest.approx(3.0863, abs=1e-3)
    assert together.epsilon == pytest.approx(gaussian_epsilon(math.sqrt(16 * one.rho), 1e-6), rel=1e-9)
    assert together.epsilon == pytest.approx(2.8796, abs=1e-3)
    assert compose([one] * 8, delta=8e-6).epsilon == pytest.approx(2.5894, abs=1e-3)
    assert together.rho == pytest.approx(8 * one.rho) and compose(*[one] * 8).epsilon == together.epsilon


def test_the_exact_curve_is_taken_only_where_it_is_proved(Y):
    """Without what the noise on integers is apart from the continuous one, rho is converted."""
    one = gaussian(Y)
    assert one.gaussian_slack < 1e-9
    for unknown in (replace(one, grounds=None), PrivateSums(Y, None, 1.0, 1e-6).certificate):
        assert unknown.gaussian_slack is None
        assert compose([unknown] * 8, delta=1e-6).epsilon == zcdp_epsilon(math.fsum([unknown.rho] * 8), 1e-6)
    coarse = replace(one, grid=one.scale / 2)
    assert compose([coarse] * 8, delta=1e-6).epsilon == zcdp_epsilon(math.fsum([one.rho] * 8), 1e-6)
    assert one.group(2).gaussian_slack == 2 * one.gaussian_slack
    assert one.after_rollbacks(2).gaussian_slack == 3 * one.gaussian_slack


@pytest.mark.parametrize("sigma", [2.0, 3.3, 17.0])
def test_noise_on_integers_is_as_near_to_rounded_gaussian_noise_as_the_proof_says(sigma):
    """Both ratios of the two laws, at every integer up to 40 sigma, in fifty digits; the teeth: a thousandth of it."""
    worst = 0
    with mpmath.workdps(50):
        masses = {k: mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) for k in range(int(45 * sigma))}
        total = 2 * mpmath.fsum(masses.values()) - 1
        for k in range(int(40 * sigma) + 1):
            tail = [mpmath.erfc((k + shift) / (mpmath.mpf(sigma) * mpmath.sqrt(2))) / 2 for shift in (-0.5, 0.5)]
            worst = max(worst, abs(mpmath.log(masses[k] / total / (tail[0] - tail[1]))))
    assert integer_slack(1, sigma) / 1000 < worst <= integer_slack(1, sigma)


@pytest.mark.parametrize("epsilons", [[0.1] * 9, [0.3, 0.7, 1.1, 0.05, 2.0], [1.0], [1e-3, 3.0, 3.0], [5.0] * 4])
@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.2])
def test_pure_certificates_cost_what_the_optimal_composition_says(epsilons, delta):
    found = composed_epsilon(epsilons, 0.0, delta)
    assert smallest_delta(epsilons, found) <= delta
    assert found == 0 or smallest_delta(epsilons, found * (1 - 1e-6)) > delta  # the teeth: no smaller one holds
    assert found <= math.fsum(epsilons)


@pytest.mark.parametrize("mu", [0.05, 0.4, 3.0])
@pytest.mark.parametrize("epsilons", [[0.2, 0.2, 0.5], [2.0], [1e-4]])
def test_pure_and_gaussian_certificates_compose_by_their_exact_curves(epsilons, mu):
    found = composed_epsilon(epsilons, mu, 1e-6)
    assert mixed_delta(epsilons, mu, found) <= 1e-6 < mixed_delta(epsilons, mu, found * (1 - 1e-6))


def test_many_different_epsilons_are_rounded_up_and_by_little(Y):
    """200 epsilons near 0.05 lie between 200 times the least and the largest of them."""
    many = [0.05 * (1 + k / 1e5) for k in range(200)]
    low, found, high = (composed_epsilon(some, 0.0, 1e-6) for some in ([0.05] * 200, many, [max(many)] * 200))
    assert low < found < 1.02 * high and found < math.fsum(many) / 2


def test_without_delta_pure_certificates_add_up_and_with_it_the_smaller_is_taken(Y):
    parts = [pure(Y, 0.1) for _ in range(100)]
    assert compose(parts).epsilon == pytest.approx(10) and compose(*parts).delta == 0
    with_delta = compose(*parts, delta=1e-6)
    assert with_delta.epsilon == pytest.approx(4.7746, abs=1e-3) and with_delta.delta == 1e-6
    assert compose(parts[:2], delta=1e-12).epsilon == pytest.approx(0.2, rel=1e-6)


def test_pure_and_gaussian_certificates_together_cost_less_than_either_way_by_itself(Y):
    parts = [pure(Y, 0.2)] * 10 + [gaussian(Y)]
    rho = parts[-1].rho
    together = compose(parts)
    assert together.epsilon < 2 + 1 and together.epsilon < zcdp_epsilon(rho + 10 * 0.2**2 / 2, 1e-6)
    assert together.rho == pytest.approx(rho + 0.2)
    assert compose(parts, delta=1e-3).epsilon < together.epsilon


def test_certificates_without_rho_keep_their_delta(Y):
    """Each loses its delta; what is left of it serves the others."""
    loose = replace(gaussian(Y), rho=None)
    both = compose(loose, loose)
    assert both.delta == pytest.approx(2e-6, rel=1e-5) and both.epsilon == pytest.approx(2.0, rel=1e-9)
    assert compose(loose, loose, delta=1e-3).epsilon < 2.0
    with pytest.raises(ValueError, match="is below"):
        compose(loose, loose, delta=1e-6)
    with pytest.raises(ValueError, match="spent by other parts"):
        compose(loose, gaussian(Y), delta=1e-6)


def test_what_certificates_without_rho_leave_of_delta_serves_the_others(Y):
    """Two of delta = 0.3 spend D = 0.51, and (delta - D)/(1 - D) is left; where all is spent, nothing is promised."""
    loose = replace(gaussian(Y), rho=None, delta=0.3)
    together = compose(loose, loose, pure(Y, 0.4), delta=0.6)
    assert together.epsilon == pytest.approx(composed_epsilon([1.0, 1.0, 0.4], 0.0, 0.09 / 0.49), rel=1e-9)
    assert compose(loose, loose).delta == pytest.approx(0.51, rel=1e-12)
    spent = compose(replace(loose, delta=1.0), loose)
    assert (spent.epsilon, spent.delta, spent.method) == (2.0, 1.0, "sum; delta = 1 promises nothing")


def test_pure_parts_keep_their_exact_composition_beside_noise_of_which_only_rho_is_known(Y):
    """Each has half of delta."""
    unknown = replace(gaussian(Y, 0.1), grounds=None)
    together = compose([pure(Y, 0.1)] * 50, unknown, delta=1e-6)
    halves = composed_epsilon([0.1] * 50, 0.0, 5e-7), zcdp_epsilon(unknown.rho, 5e-7)
    assert together.epsilon == sum(halves) and "optimal composition of pure parts" in together.method


def test_compositions_that_say_nothing_are_refused_or_say_so(Y):
    with pytest.raises(ValueError, match="at least one"):
        compose()
    with pytest.raises(ValueError, match="at least one"):
        compose([])
    with pytest.raises(TypeError, match="takes certificates, not a str"):
        compose("ab")
    with pytest.raises(ValueError, match="no epsilon at delta = 0"):
        compose(gaussian(Y), delta=0.0)
    with pytest.raises(ValueError, match="delta must be in"):
        compose(pure(Y, 1.0), delta=1.0)
    with pytest.raises(ValueError, match=r"neighbouring relations.*replace and zero-out"):
        compose(pure(Y, 1.0), pure(Y, 1.0, neighbours="zero-out"))
    with pytest.raises(ValueError, match=r"do not add up: declared changes that are not the same\."):
        compose(*(pure(Y, 1.0, neighbours=kind(3)) for kind in (comes, rerouted)))
    x = cp.Variable(3, nonneg=True)
    open_sums = dpcvx.FTRL(dpcvx.DecisionSet(x, [cp.sum(x) == 1]), Y, 8).certificate
    nothing = compose(open_sums, pure(Y, 1.0), delta=1e-6)
    assert math.isinf(nothing.epsilon) and nothing.to_dict()["epsilon"] is None and "not private" in str(nothing)


def test_a_composition_tells_of_itself(Y):
    together = compose(pure(Y, 0.5), gaussian(Y))
    for words in ("claim", "one round", "smooth tree", "optimal composition"):
        assert words in together._repr_html_()
    assert [dpcvx.Certificate.from_dict(part) for part in together.to_dict()["parts"]] == list(together.parts)
    epsilon = f"{together.epsilon:.6g}"
    assert repr(together) == f"Composition(epsilon={epsilon}, delta=1e-06, of 2 certificates)"
    simulated = compose(pure(Y, 0.5, seed=0))
    assert repr(simulated) == "Composition(epsilon=0.5, delta=0, not private, of 1 certificate)"
    for told in (simulated.title, str(simulated)):
        assert told.startswith("Composition of 1 certificate") and told.endswith("(simulation: not private)")
    assert simulated.rows()[0] == ("claim", "none; secure runs with these settings: epsilon = 0.5, delta = 0")
    assert together.title == "Composition of 2 certificates" and str(together).endswith("by optimal composition")


def test_dp_accounting_finds_the_same(Y):
    """Its accountant, whose losses are rounded up to 1/500, on the events; the teeth: the relation is not another."""
    reason = "dp-accounting is an extra: pip install 'dpcvx[accounting]'"
    accounting = pytest.importorskip("dp_accounting", reason=reason)
    pld = pytest.importorskip("dp_accounting.pld", reason=reason)

    def epsilon(together, relation="REPLACE_ONE", of=None):
        accountant = pld.PLDAccountant(getattr(accounting.NeighboringRelation, relation), 2e-3)
        accountant.compose(together.to_dp_accounting(of or relation))
        return accountant.get_epsilon(1e-6)

    eight = compose([gaussian(Y)] * 8, delta=1e-6)
    for together in (eight, compose([pure(Y, 0.1)] * 30, delta=1e-6), compose(gaussian(Y), [pure(Y, 0.1)] * 5)):
        found = epsilon(together)
        assert together.epsilon * (1 - 1e-4) <= found <= 1.05 * together.epsilon
    for relation in ("ADD_OR_REMOVE_ONE", "REPLACE_SPECIAL"):
        assert epsilon(eight, relation) == pytest.approx(eight.epsilon, rel=1e-2)
        assert epsilon(eight, relation, of="REPLACE_ONE") < 0.6 * eight.epsilon
        with pytest.raises(ValueError, match="under REPLACE_ONE only"):
            pure(Y, 0.1).to_dp_accounting(relation)
    assert isinstance(replace(gaussian(Y), grounds=None).to_dp_accounting(), accounting.ZCDpEvent)
    with pytest.raises(ValueError, match="no event"):
        replace(gaussian(Y), rho=None).to_dp_accounting()
    with pytest.raises(ValueError, match="relation must be one of"):
        pure(Y, 0.1).to_dp_accounting("replace")


def test_without_dp_accounting_a_sentence_says_how_to_get_it(Y, monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(ImportError, match=r"dp-accounting is not installed; pip install 'dpcvx\[accounting\]'"):
        pure(Y, 0.1).to_dp_accounting()


def test_losses_that_are_drawn_agree_with_the_composition():
    """The hockey-stick of a million drawn losses; each mean is off by more than 6 deviations with chance 2e-9."""
    rng, epsilons, mu = np.random.default_rng(5), np.array([0.3, 0.3, 0.9]), 0.7
    raised = rng.random((10**6, 3)) < 1 / (1 + np.exp(-epsilons))
    losses = np.where(raised, epsilons, -epsilons).sum(axis=1) + mu**2 / 2 + mu * rng.standard_normal(10**6)
    found = composed_epsilon(list(epsilons), mu, 0.05)
    spent = np.maximum(-np.expm1(found - losses), 0.0)
    assert abs(spent.mean() - 0.05) < 6 * spent.std() / 1000
    spent = np.maximum(-np.expm1(found * 0.97 - losses), 0.0)  # the teeth
    assert spent.mean() - 0.05 > 6 * spent.std() / 1000
