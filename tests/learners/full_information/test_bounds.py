"""The additive price of privacy against Monte Carlo, the choice of a regulariser, unknown horizons."""

import cvxpy as cp
import numpy as np
import pytest
from catalogue_sets import CATALOGUE
from loss_sets import ball_losses, box_losses

import decision_sets as ds
from dpcvx import FTPL, FTRL, DecisionSet, LossSet, OracleError
from dpcvx.learners.full_information.mean_width import mean_width
from dpcvx.privacy.noise import Laplace
from dpcvx.privacy.prefix_noise import PrefixNoise, gaussian_noise
from dpcvx.regularizers import Euclidean
from dpcvx.sets.sizes import Sizes, sizes_of


def laplace_noise(scale, terms):
    return PrefixNoise(Laplace(scale), terms, scale * np.sqrt(2 * terms), True)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", list(CATALOGUE))
@pytest.mark.parametrize("law", ["Laplace", "Gaussian"])
def test_the_mean_width_is_never_below_its_monte_carlo_value(name, law):
    """Mean of 80 draws minus 5 standard errors: a true bound fails with probability below 1e-6."""
    X = CATALOGUE[name][0]()
    rng = np.random.default_rng(0)
    shape = (80, *X.shape)
    if law == "Gaussian":
        noise, Z = gaussian_noise(2.0), 2 * rng.standard_normal(shape)
    else:
        noise, Z = laplace_noise(0.5, 6), rng.laplace(0, 0.5, (6, *shape)).sum(axis=0)
    widths = np.array([np.sum(z * X.argmin(-z)) - np.sum(z * X.center) for z in Z])
    bound = mean_width(Sizes(X, box_losses(X.shape)), noise)
    assert widths.mean() - 5 * widths.std() / np.sqrt(80) <= bound
    assert bound <= 12 * widths.mean()  # and it is not vacuous


def test_the_mean_width_of_the_simplex_is_that_of_the_theory():
    """theory: lambda inf (ln N - p ln(1 - s^2))/s, 11.8 lambda at N = 10, p = 14."""
    bound = mean_width(Sizes(ds.simplex(10), box_losses(10)), laplace_noise(1.0, 14))
    grid = np.linspace(0.01, 0.99, 2000)
    assert bound == pytest.approx(((np.log(10) - 14 * np.log1p(-(grid**2))) / grid).min(), rel=1e-4)


def test_auto_takes_the_smallest_bound_and_shows_all():
    for X, Y, expected in (
        (ds.simplex(100), box_losses(100), {"entropy"}),
        (ds.norm_ball(5, 2), ball_losses(5), {"Euclidean"}),
        (ds.cube(5), ball_losses(5, 1), {"Euclidean", "barrier"}),
    ):
        learner = FTRL(X, Y, 4096, epsilon=1.0)
        assert learner.regularizer.name in expected
        totals = [candidate.total for candidate in learner.comparison]
        largest = 4096 * learner.sizes.variation
        assert totals == sorted(totals) and learner.regret_bound.total == pytest.approx(min(totals[0], largest))
        assert all(candidate.name in learner.summary() for candidate in learner.comparison)


def regret_of(learner, stream, X):
    incurred = 0.0
    for loss in stream:
        incurred = incurred + np.sum(learner.act() * loss, axis=-1)
        learner.update(loss)
    total = stream.sum(axis=0)
    return incurred - np.sum(total * X.argmin(total))


def test_auto_beats_the_worst_candidate_by_two_on_a_hundred_experts():
    X, Y = ds.simplex(100), box_losses(100)
    T = 2048
    rng = np.random.default_rng(1)
    stream = rng.choice([-1.0, 1.0], (T, 100))
    stream[:, 7] = np.where(rng.random(T) < 0.8, -1.0, 1.0)
    auto = FTRL(X, Y, T)
    worst = auto.comparison[-1].regularizer
    assert regret_of(auto, stream, X) * 2 <= regret_of(FTRL(X, Y, T, regularizer=worst), stream, X)


@pytest.mark.parametrize("counter", ["tree", "smooth"])
def test_constant_losses_pay_the_expected_maximum_of_the_noise(counter):
    """N = 10, T = 2^12, epsilon = 1: the regret of 100 replicas within 15 % of E max Z by Monte Carlo."""
    X, Y, T = ds.simplex(10), box_losses(10), 2**12
    loss = np.ones(10)
    loss[3] = -1
    learner = FTRL(X, Y, T, epsilon=1.0, counter=counter, seed=5, replicas=100, regularizer="entropy")
    noise = learner._sums.noise
    rng = np.random.default_rng(0)
    Z = sum(noise.law.simulate(rng, (20_000, 10)) for _ in range(noise.terms))
    expected = Z.max(axis=1).mean()
    regret = regret_of(learner, np.broadcast_to(loss, (T, 10)), X)
    # the standard error of the mean is about 2 %, so a true 0 % has a false alarm far below 1e-6
    assert abs(regret.mean() / expected - 1) < 0.15
    assert regret.mean() <= learner.regret_bound.total
    if counter == "tree":
        assert expected == pytest.approx(1818, rel=0.02)


@pytest.mark.parametrize("make", [FTRL, FTPL])
@pytest.mark.parametrize("rounds", [1000, 1024, 1025])
def test_unknown_horizon_keeps_regret_and_certificate_sane(make, rounds):
    """Mean regret of 50 replicas below the summed bounds of the epochs plus 3 standard errors."""
    X, Y = ds.simplex(5), box_losses(5)
    learner = make(X, Y, None, epsilon=50.0, seed=2, replicas=50)
    rng = np.random.default_rng(3)
    stream = rng.choice([-1.0, 1.0], (rounds, 5))
    stream[:, 2] = -np.abs(stream[:, 2]) * np.where(rng.random(rounds) < 0.9, 1, -1)
    regret = regret_of(learner, stream, X)
    bound = learner.regret_bound
    assert bound.rounds >= rounds and bound.rounds <= 2 * rounds + 16
    assert regret.mean() <= bound.total + 3 * regret.std() / np.sqrt(50)
    assert bound.total <= 2 * rounds / 2  # half of the largest possible regret
    certificate = learner.certificate
    assert certificate.epsilon == 50.0 and certificate.rounds == rounds and certificate.horizon is None


def test_unknown_horizon_forgets_between_epochs():
    """Nothing crosses an epoch: after its end, other losses before it change nothing."""
    X, Y = ds.simplex(3), box_losses(3)
    first, second = (FTRL(X, Y, None, epsilon=50.0, seed=4) for _ in range(2))
    differ = False
    for t in range(60):
        a, b = first.act(), second.act()
        if t >= 16:
            assert np.array_equal(a, b)
        differ |= not np.array_equal(a, b)
        first.update(np.array([1.0, 0, -1]) if t < 16 else np.zeros(3))
        second.update(np.array([-1.0, 1, 0]) if t < 16 else np.zeros(3))
    assert differ


def test_the_bound_is_never_above_the_largest_regret():
    learner = FTRL(ds.simplex(100), box_losses(100), 100, epsilon=0.1)
    assert learner.regret_bound.total == pytest.approx(200)
    assert FTPL(ds.simplex(100), box_losses(100), 100, epsilon=0.1).regret_bound.total == pytest.approx(200)


def test_growing_gaussian_noise_has_the_refined_price():
    """Toeplitz noise grows with time; by Stein's lemma its price is that of its largest deviation, refined."""
    X, Y, T = ds.simplex(3), box_losses(3), 2**14
    learner = FTRL(X, Y, T, epsilon=10.0, delta=1e-6, seed=1, replicas=50, regularizer="entropy")
    refined = learner.learning_rate * learner.noise.deviation**2 / 2
    assert learner.regret_bound.privacy == pytest.approx(refined, rel=1e-3)
    assert refined < mean_width(learner.sizes, learner.noise)
    stream = np.random.default_rng(0).choice([-1.0, 1.0], (T, 3))
    stream[: T - 600] = np.resize([[1.0, -1, 1], [-1, 1, -1]], (T - 600, 3))
    stream[T - 600 :] = [1.0, -1, 1]
    regret = regret_of(learner, stream, X)
    assert regret.mean() <= learner.regret_bound.total + 3 * regret.std() / np.sqrt(50)


@pytest.mark.filterwarnings("ignore::dpcvx.WeakPrivacyWarning")
@pytest.mark.parametrize(
    "privacy", [{}, {"epsilon": 2.0}, {"epsilon": 0.1, "delta": 1e-6}, {"epsilon": 1e3, "delta": 0.1}]
)
def test_the_bound_of_the_perturbed_leader_is_its_formula_on_a_box(privacy):
    """Sides of 2, 3 and 1/2, losses up to 3^(1/2) long: width w, radius r, and s = max(s*, the own of the counter)."""
    T, X = 500, ds.box(np.array([-1.0, 0, 2]), np.array([1.0, 3, 2.5]))
    learner = FTPL(X, box_losses(3, -0.3, 1.0), T, **privacy)
    w, r, most = 2.75 * np.sqrt(2 / np.pi), np.sqrt(4 + 9 + 0.25) / 2, np.sqrt(3.0)
    stability = np.sqrt(2 / np.pi) * r * most**2 / 2
    least, noise = np.sqrt(stability * T / w), learner.noise
    s = max(least, noise.deviation) if noise is not None and noise.gaussian else least
    assert learner.perturbation == pytest.approx(s, rel=1e-5) and (s > least) == (privacy.get("epsilon") == 0.1)
    bound = learner.regret_bound
    assert bound.learning == pytest.approx(2 * np.sqrt(w * stability * T), rel=1e-5)
    price = w * s + stability * T / s - bound.learning
    if noise is not None and not noise.gaussian:
        price += 2.75 * noise.mean_absolute
    assert bound.privacy == pytest.approx(price + T * learner._sums.rounding * 5.5, rel=1e-4, abs=1e-4 * bound.learning)


def test_the_bound_for_losses_that_react_counts_the_modulus_of_the_entropy():
    """On a simplex of mass 3 the entropy is 1/3 strongly convex: c = 3, D = 3 ln 5, and entries of losses up to 1.5."""
    X, Y, T, eta = ds.simplex(5, 3.0), box_losses(5, -1.5, 1.5), 200, 0.07
    learner = FTRL(X, Y, T, 2.0, regularizer="entropy", learning_rate=eta, seed=0)
    c, G, zeta = learner._reacting
    assert (c, G) == (pytest.approx(3), pytest.approx(1.5)) and zeta > 0
    bound = learner.reacting_bound
    assert bound.learning == pytest.approx(3 * np.log(5) / eta + 3 * eta * T * 1.5**2 / 2, rel=1e-6)
    rounding = T * learner._sums.rounding * learner.sizes.one_norm_diameter
    assert bound.privacy == pytest.approx(3 * eta * T * 1.5 * zeta + rounding, rel=1e-6)


@pytest.mark.parametrize("make", [FTRL, FTPL])
def test_rounding_costs_half_a_step_of_each_entry_in_every_round(make):
    """In a game so long that the grid is coarse: its share of the price, on a box with sides of 2, 3 and 1/2."""
    T, X = 2**48, ds.box(np.array([-1.0, 0, 2]), np.array([1.0, 3, 2.5]))
    coarse = make(X, box_losses(3, -0.3, 1.0), T, epsilon=1.0, seed=0)
    rounding = coarse._sums.rounding
    assert coarse._proved(3.0, 5.0, "a").learning == 3
    assert coarse._proved(3.0, 5.0, "a").privacy == pytest.approx(5 + T * rounding * 5.5, rel=1e-6)
    assert coarse._proved(3.0, 5.0, "a").largest == pytest.approx(T * coarse.sizes.variation, rel=1e-12)


def test_rounding_to_the_grid_is_in_the_bound():
    """Losses just below half a unit vanish in the sums: what that costs is part of the price."""
    learner = FTRL(ds.simplex(2), box_losses(2), 2**40, epsilon=1.0)
    step = learner.certificate.grid
    assert learner.regret_bound.privacy >= 2**40 * step / 2 * 2


def test_a_regularizer_of_other_losses_is_refused():
    X = ds.simplex(4)
    small = FTRL(X, box_losses(4, -1e-3, 1e-3), 100)
    with pytest.raises(ValueError, match="another"):
        FTRL(X, box_losses(4), 100, regularizer=small.regularizer)


def test_ftpl_without_privacy_follows_the_exact_sum_and_all_of_its_own_noise():
    learner = FTPL(ds.norm_ball(3, 2), ball_losses(3), 5, seed=0)
    for _ in range(4):
        learner.act()
        learner.update(np.array([0.6, 0.0, 0.8]))
    s = learner.perturbation
    perturbed = np.array([2.4, 0.0, 3.2]) + s * learner._tuned.constants.direction
    assert 0.1 < s < 10
    np.testing.assert_allclose(learner.act(), -perturbed / np.linalg.norm(perturbed), atol=1e-9)


@pytest.mark.parametrize("epsilon", [None, 1.0])
def test_ftpl_pays_nothing_where_there_is_one_action(epsilon):
    x = cp.Variable(2)
    learner = FTPL(DecisionSet(x, [x == np.array([1.0, 2.0])]), box_losses(2), 3, epsilon)
    assert learner.regret_bound.total == 0 == learner.perturbation and (learner.act() == [1.0, 2.0]).all()


def test_ftpl_on_the_ball_has_the_constants_of_the_theory():
    T = 500
    learner = FTPL(ds.norm_ball(5, 2), ball_losses(5), T)
    width = mean_width(learner.sizes, gaussian_noise(1.0))
    assert learner.regret_bound.learning == pytest.approx(2 * np.sqrt(width * T * np.sqrt(2 / np.pi) / 2), rel=1e-9)


class Shifted:
    """|x - a|^2/2 on the ball, with its numbers."""

    name = "shifted square"
    range, dual_norm = 2.0, 1.0

    def __init__(self, a):
        self.a = a

    def argmin(self, covector):
        p = self.a - covector
        return p / max(1.0, np.linalg.norm(p))


def test_an_own_regularizer_plays_with_and_without_a_bound():
    X, Y = ds.norm_ball(3, 2), ball_losses(3)
    learner = FTRL(X, Y, 100, epsilon=5.0, seed=0, replicas=3, regularizer=Shifted(np.array([0.5, 0, 0])))
    assert learner.act().shape == (3, 3) and learner.regret_bound.learning == pytest.approx(20.0)

    class Bare:
        def argmin(self, covector):
            return Shifted(np.zeros(3)).argmin(covector)

    with pytest.raises(ValueError, match="learning_rate"):
        FTRL(X, Y, 100, regularizer=Bare())
    bare = FTRL(X, Y, 100, regularizer=Bare(), learning_rate=0.1)
    assert bare.regret_bound is None and "range and dual_norm" in bare.summary()

    class Negative(Shifted):
        range = -5.0

    with pytest.raises(ValueError, match="at least 0"):
        FTRL(X, Y, 100, regularizer=Negative(np.zeros(3)))

    class Wrong:
        def argmin(self, covector):
            return np.full(3, 9.0)

    with pytest.raises(OracleError, match="not in"):
        FTRL(X, Y, 100, regularizer=Wrong(), learning_rate=0.1).act()


def test_ftpl_reaches_its_deviation_at_every_time():
    """The Gaussian part of prefix and padding has one variance at all times: 4,000 replicas, each time within 15 %.

    The variance of 4,000 normals has a relative error of 2.2 %, so 15 % is 6.7 deviations: false alarm below 1e-9.
    """
    X, Y = ds.simplex(3), box_losses(3)
    for counter in ("toeplitz", "smooth", "tree"):
        learner = FTPL(X, Y, 12, epsilon=3.0, delta=1e-6, counter=counter, seed=1, replicas=4000)
        for _ in range(12):
            missing = max(learner.perturbation**2 - learner._sums.gaussian_deviation**2, 0.0)
            noisy = learner._sums.prefix + np.sqrt(missing) * learner._tuned.constants.direction
            assert noisy.var(axis=0) == pytest.approx(np.full(3, learner.perturbation**2), rel=0.15)
            learner.act()
            learner.update(np.zeros(3))


@pytest.mark.parametrize(("noise", "gaussian"), [("laplace", False), ("knorm", False), (None, True)])
def test_noise_that_is_not_gaussian_counts_nothing_toward_the_perturbation(monkeypatch, noise, gaussian):
    """The padding under Laplace noise has the full deviation at all times, as the proof asks; under Gaussian not."""
    X, Y, T = ds.simplex(3), box_losses(3), 12
    learner = FTPL(X, Y, T, epsilon=3.0, delta=1e-6 if gaussian else 0.0, counter="smooth", noise=noise, seed=1)
    asked = []
    monkeypatch.setattr(type(X), "argmin", lambda self, covector: asked.append(covector) or self.center)
    padding = []
    for _ in range(T):
        learner.act()
        padding.append(asked[-1] - learner._sums.prefix)
        learner.update(np.zeros(3))
    # s* = sqrt(stability T/width) balances s width and stability T/s
    width = mean_width(learner.sizes, gaussian_noise(1.0))
    balanced = np.sqrt(np.sqrt(2 / np.pi) * learner.sizes.radius * learner.sizes.loss_radius**2 / 2 * T / width)
    full = balanced * learner._tuned.constants.direction
    assert np.allclose(padding, full, rtol=1e-9, atol=1e-9) != gaussian
    if not gaussian:
        assert learner.perturbation == pytest.approx(balanced, rel=1e-12)


def test_convex_losses_enter_by_their_gradients():
    """f_t(x) = |x - b_t|^2 on the ball: gradients in the declared set, regret below the bound for linear losses."""
    X, Y = ds.norm_ball(4, 2), ball_losses(4, radius=4.0)
    rng = np.random.default_rng(6)
    targets = 0.5 + 0.1 * rng.standard_normal((500, 4))
    learner = FTRL(X, Y, 500, epsilon=50.0, seed=1)
    cost = 0.0
    for b in targets:
        x = learner.act()
        cost += np.sum((x - b) ** 2)
        learner.update(2 * (x - b))
    best = X.project(targets.mean(axis=0))
    assert cost - np.sum((best - targets) ** 2) <= learner.regret_bound.total


def _between(low, high):
    loss = cp.Variable(len(low))
    return LossSet(loss, [loss >= low, loss <= high])


class _ExpectsNothing(Euclidean):
    """The same regulariser and the same rate, but the public middle of the losses is not used."""

    expected = None


@pytest.mark.parametrize("seed", range(4))
def test_losses_away_from_0_cost_as_much_as_their_spread(seed):
    """Greedy losses against FTRL without noise, which is deterministic: the bound is that of a box around 0."""
    rng = np.random.default_rng(seed)
    n, T, far = 3, 60, rng.uniform(5, 10, 3) * rng.choice([-1, 1], 3)
    X, Y = ds.cube(n), _between(far - 0.5, far + 0.5)
    around_0 = FTRL(X, ds.loss_box(n, -0.5, 0.5), T, regularizer="euclidean").regret_bound.total
    regrets = []
    for kind in (Euclidean, _ExpectsNothing):
        learner = FTRL(X, Y, T, regularizer=kind(sizes_of(X, Y)))
        assert learner.regret_bound.total == pytest.approx(around_0)
        total, paid = np.zeros(n), 0.0
        for _ in range(T):
            action = learner.act()
            loss = far + 0.5 * np.where(rng.random(n) < 0.9, np.sign(action + 1e-9), -1.0)
            learner.update(loss)
            total, paid = total + loss, paid + float(loss @ action)
        regrets.append(paid - float(total @ X.argmin(total)))
    assert regrets[0] <= around_0 < 2 * regrets[1]  # without what is expected the first rounds alone cost more


def test_middles_that_matter_to_no_decision_are_not_expected():
    """On the simplex equal middles act alike, and single losses leave nothing to be surprised by."""
    for Y in (ds.loss_box(4, 0, 1), ds.loss_box(4, -1, 1)):
        assert Euclidean(sizes_of(ds.simplex(4), Y)).expected is None
    one = Euclidean(sizes_of(ds.cube(2), _between([1.0, 2.0], [1.0, 2.0])))
    assert one.expected is None and one.learning_bound(10, one.learning_rate(10)) > 0


def test_without_a_horizon_regularisers_are_compared_as_for_2_to_the_14_rounds():
    for decisions in (ds.simplex(5), ds.norm_ball(3, 2)):
        losses = box_losses(decisions.size)
        unknown, known = (FTRL(decisions, losses, horizon, seed=0).comparison for horizon in (None, 16384))
        told = [(one.name, one.learning, one.privacy) for one in unknown]
        assert told == [(one.name, one.learning, one.privacy) for one in known] and np.isfinite(told[0][1])
