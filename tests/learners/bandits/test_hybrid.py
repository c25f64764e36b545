"""Entropy and log-barrier over arms and boxes: probabilities, estimates, the inequality of the proof, and regret."""

import itertools
import math
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import ball_losses, box_losses
from playing import breaks_the_bound, keeps_its_bound
from scipy.integrate import quad

import decision_sets as ds
from dpcvx import DecisionSet, HybridBandit, PrivateBandit, check_learner
from dpcvx.actions import Simplices
from dpcvx.learners.bandits import entropy_and_barrier
from dpcvx.learners.bandits.entropy_and_barrier import balanced, rebalanced
from dpcvx.learners.bandits.hybrid import Game


@pytest.mark.parametrize("arms", [2, 3, 10, 1000])
@pytest.mark.parametrize("beta", [1e-9, 1e-3, 0.5, 40.0])
@pytest.mark.parametrize("spread", [0.0, 1e-8, 1.0, 1e4, 1e150])
def test_probabilities_solve_the_normal_equation(arms, beta, spread):
    rng = np.random.default_rng(0)
    scores = spread * rng.exponential(size=(6, arms)) ** 3
    scores[1, :-1] = 0.0  # ties
    scores -= scores.min(axis=-1, keepdims=True)
    for start in (-1e3, 0.0, 1e9):
        p, mu = balanced(beta, scores, np.full(6, start))
        assert (p >= 0).all() and np.allclose(p.sum(axis=-1), 1, atol=1e-12)
        seen = p > 1e-200
        right = mu[:, None] - scores
        left = np.log(np.where(seen, p, 1.0)) - beta / np.where(seen, p, 1.0)
        assert np.allclose(left[seen], right[seen], rtol=1e-8, atol=1e-7)


@pytest.mark.parametrize("arms", [2, 10, 300])
@pytest.mark.parametrize("beta", [1e-9, 1e-3, 0.5, 40.0])
@pytest.mark.parametrize("moved", [0.0, 1e-3, 1.0, -1.0, 50.0, -50.0, 1e200])
def test_probabilities_that_are_near_lead_to_the_same_ones(arms, beta, moved):
    rng = np.random.default_rng(0)
    scores = 3 * rng.exponential(size=(5, arms))
    p, mu = balanced(beta, scores, np.zeros(5))
    after = scores.copy()
    after[np.arange(5), [0, 1, 0, 1, 0]] += moved * (1 if abs(moved) > 1e100 else beta + 1 / arms)
    after -= after.min(axis=-1, keepdims=True)
    expected, _ = balanced(beta, after, np.zeros(5))
    found, _ = rebalanced(beta, after, mu, p)
    assert np.allclose(found, expected, rtol=1e-6, atol=1e-12) and np.allclose(found.sum(axis=-1), 1, atol=1e-12)
    wider = np.pad(np.array([[True] * arms] * 5), ((0, 0), (0, 2)))
    fewer, _ = rebalanced(beta, np.pad(after, ((0, 0), (0, 2))), mu, np.pad(p, ((0, 0), (0, 2))), wider)
    assert np.allclose(fewer[:, :arms], expected, rtol=1e-6, atol=1e-12) and not fewer[:, arms:].any()


@pytest.mark.parametrize("beta", [1e-3, 0.5, 40.0])
def test_probabilities_that_are_near_need_no_search_from_afar(beta, monkeypatch):
    scores = 3 * np.random.default_rng(0).exponential(size=(5, 10))
    p, mu = balanced(beta, scores, np.zeros(5))
    expected, _ = balanced(beta, scores + 0.1 * np.eye(5, 10), np.zeros(5))
    monkeypatch.setattr(entropy_and_barrier, "balanced", None)
    assert np.allclose(rebalanced(beta, scores + 0.1 * np.eye(5, 10), mu, p)[0], expected, rtol=1e-8)


@pytest.mark.parametrize("beta", [1e-3, 0.5, 40.0])
@pytest.mark.parametrize("moved", [0.0, 0.1, 50.0])
def test_probabilities_that_are_near_come_with_the_multiplier_of_their_equations(beta, moved):
    """ln p - beta/p + scores is the same number for all arms, and that is mu."""
    scores = 3 * np.random.default_rng(0).exponential(size=(5, 10))
    p, mu = balanced(beta, scores, np.zeros(5))
    after = scores + moved * np.eye(5, 10)
    for there in (None, np.ones((5, 10), dtype=bool)):
        found, multiplier = rebalanced(beta, after, mu, p, there)
        own = np.log(found) - beta / found + after
        assert np.allclose(own, multiplier[:, None], rtol=1e-6, atol=1e-6)


def test_probabilities_minimise_the_regularised_cost_on_every_group():
    X = ds.box(np.array([-1.0, 0.0, 2.0]), np.array([1.0, 3.0, 2.5]))
    learner = HybridBandit(X, box_losses(3), 300, seed=0)
    costs = np.zeros((3, 2))
    for _ in range(100):
        action, p = learner.act(), learner.probabilities
        value = float(action @ np.array([0.5, -1.0, 1.0]))
        up = (action > learner.simplices.base).astype(int)
        costs[np.arange(3), up] += (value - learner.middle_value) / p[np.arange(3), up]
        learner.update(value)
    p = learner.probabilities
    gradient = learner.learning_rate * costs + np.log(p) - learner.barrier / p
    assert np.ptp(gradient, axis=-1).max() <= 1e-7 * np.abs(gradient).max()


def test_estimates_of_differences_are_unbiased_in_every_group_though_all_share_one_number():
    X = ds.box(np.array([-1.0, 0.0]), np.array([1.0, 2.0]))
    learner = HybridBandit(X, box_losses(2), 100, seed=0)
    for _ in range(30):
        learner.update(float(learner.act() @ np.array([0.3, -1.0])))
    known, loss = learner._state, np.array([0.7, -0.4])
    mean = np.zeros((2, 2))
    for chosen in np.ndindex(2, 2):
        learner._chosen = np.array(chosen)
        value = float(learner.simplices.actions(learner._chosen) @ loss)
        after = learner._after(np.float64(value)).costs - known.costs
        mean += math.prod(known.p[g, i] for g, i in enumerate(chosen)) * (after - after[:, :1])
    assert np.allclose(mean[:, 1] - mean[:, 0], loss * 2, atol=1e-9)  # both sides are 2 long


def most_of_a_round(p, i, w, eta, beta):
    """max over q of <f, p - q> - D_R(q, p)/eta for the estimate f = (w/p_i) e_i, by Newton's method on the dual."""
    score = np.log(p) - beta / p - eta * (w / p[i]) * (np.arange(len(p)) == i)
    q, _ = balanced(beta, -(score - score.max()), np.zeros(()))
    divergence = q @ np.log(q / p) + beta * (q / p - 1 - np.log(q / p)).sum()
    return (w / p[i]) * (p[i] - q[i]) - divergence / eta


def psi(x, N, eta, beta):
    q = beta / eta
    if x <= q:
        return eta / 2 * x * x * (N - 1) / (1 + (N - 1) * (beta - eta * x))
    return eta / 2 * x * x * (N - 1) + N * (x - q)


def test_a_round_costs_at_most_what_the_proof_says_and_nearly_that():
    rng, nearest = np.random.default_rng(0), 0.0
    for _ in range(400):
        N, eta, q = int(rng.integers(2, 6)), 10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-1, 1)
        beta, p = eta * q, rng.dirichlet(np.full(N, rng.choice([0.3, 1.0, 20.0])))
        if p.min() < 1e-8:
            continue
        x = q * rng.choice([0.1, 0.5, 1.0, 1.0, 3.0])
        for sign in (1, -1):
            paid = sum(p[i] * most_of_a_round(p, i, sign * x, eta, beta) for i in range(N))
            said = psi(x, N, eta, beta)
            assert paid <= said * (1 + 1e-9) + 1e-9
            nearest = max(nearest, paid / said)
    assert nearest > 0.9  # so that a tenth less would not hold


def stability(M, lam, N, eta, beta, slack):
    """E psi(|M + z| + slack) by quadrature."""
    if not lam:
        return psi(M + slack, N, eta, beta)

    def density(z):
        return psi(abs(M + z) + slack, N, eta, beta) * math.exp(-abs(z) / lam) / (2 * lam)

    q, ends = beta / eta - slack, 40 * lam + 40 * M
    cuts = [each for each in {0.0, -M, q - M, -q - M, *(k * lam for k in range(-40, 41))} if abs(each) < ends]
    pieces = itertools.pairwise([-ends, *sorted(cuts), ends])
    return sum(quad(density, a, b, epsabs=0, epsrel=1e-10)[0] for a, b in pieces)


@pytest.mark.parametrize("slack", [0.0, 0.3])
@pytest.mark.parametrize(("M", "lam", "eta", "beta"), [(1, 0.5, 0.01, 0.05), (1, 3, 0.2, 2.0), (2, 1e-3, 0.1, 0.4)])
def test_the_stability_of_the_bound_is_the_integral_of_the_proof(M, lam, eta, beta, slack):
    game, exact = Game(Simplices.of_simplex(7, 1.0), 1000, M, lam, 2.0), stability(M, lam, 7, eta, beta, slack)
    assert exact * (1 - 1e-9) <= game._stability(7, eta, beta, slack) <= exact * (1 + 1e-6)


@pytest.mark.parametrize("x", [0.3, 1.9999, 2.0, 2.0001, 7.0])
def test_without_noise_a_round_costs_psi_of_the_largest_value(x):
    """q = 2; nothing is proved beyond it, but by rounding values may be there."""
    game = Game(Simplices.of_simplex(5, 1.0), 1000, x - 0.1, 0.0, 2.0)
    assert game._stability(5, 0.3, 0.6, 0.1) == pytest.approx(psi(x, 5, 0.3, 0.6), rel=1e-12)


COUNTS = np.array([2, 3, 3, 5, 1])  # of the arms of groups, one of them without a choice


@pytest.mark.parametrize(("T", "lam", "slack"), [(3000, 1.1, 0.0), (3000, 0.0, 0.05), (4, 0.7, 0.05), (4, 0.0, 0.0)])
def test_the_bound_is_its_formula_for_groups_of_different_sizes(T, lam, slack):
    """In 4 rounds the comparator moves inward by 1/e, the most there is; in 3000 by q sum(N - 1)/(D T)."""
    M, eta, beta, D = 1.7, 0.11, 0.3, 2.9 * (1 - 1 / 5)
    game = Game(SimpleNamespace(counts=COUNTS), T, M, lam, 2.9)
    q = beta / eta
    s = 1 / math.e if T == 4 else q * 9 / (D * T)
    assert (q * 9 / (D * T) > 1 / math.e) == (T == 4)
    expected = s * D * T
    for N in (2, 3, 3, 5):
        inward = -(N - 1) * math.log(s) - math.log(N) - math.log(1 - s + s / N)
        expected += (math.log(N) + beta * inward) / eta + T * stability(M, lam, N, eta, beta, slack)
    assert game.bound(eta, beta, slack=slack) == pytest.approx(expected, rel=1e-7)


def test_the_bound_is_proved_where_beta_over_eta_reaches_the_largest_value():
    game = Game(SimpleNamespace(counts=COUNTS), 100, 2.0, 0.0, 2.9)
    at = game.bound(0.25, 0.5)
    assert game.bound(0.25, 0.5 * (1 - 5e-13)) == pytest.approx(at, rel=1e-9)
    assert math.isinf(game.bound(0.25, 0.5 * (1 - 2e-12))) and math.isinf(game.bound(0.25, 0.5, slack=1e-11))


@pytest.mark.parametrize("nothing", [{"counts": [1, 1]}, {"magnitude": 0.0}, {"variation": 0.0}])
def test_where_nothing_is_to_choose_or_to_lose_rates_are_those_that_were_given(nothing):
    numbers = {"counts": [2, 3], "magnitude": 1.0, "variation": 2.0} | nothing
    game = Game(SimpleNamespace(counts=np.array(numbers["counts"])), 9, numbers["magnitude"], 0.5, numbers["variation"])
    assert game.is_trivial and game.bound(0.3, 0.01) == 0
    assert [game.rates(*given) for given in ((None, None), (0.3, None), (None, 0.2))] == [(1, 1), (0.3, 1), (1, 0.2)]


@pytest.mark.parametrize("noise", [0.0, 1e-3, 2.0, 300.0])
@pytest.mark.parametrize("T", [3, 10**4])
def test_rates_are_found_in_any_unit_of_losses_and_for_any_noise(noise, T):
    """Against a grid of both rates, finer than a thousandth of the bound; in units of which noise is far apart."""
    bounds = []
    for unit in (1.0, 1e-7, 1e6):
        game = Game(SimpleNamespace(counts=COUNTS), T, unit, noise * unit, 2 * unit)
        eta, beta = game.rates(None, None)
        bounds.append(game.bound(eta, beta) / unit)
    assert bounds[1:] == pytest.approx([bounds[0]] * 2, rel=1e-3)
    q = beta / eta
    rates = ((eta * 1.1**a, max(q * 1.2**b, unit)) for a in range(-12, 13, 2) for b in range(-12, 13, 2))
    assert bounds[2] * unit <= min(game.bound(rate, rate * ratio) for rate, ratio in rates) * (1 + 1e-3)
    for given in ((eta / 3, None), (None, beta * 2)) if bounds[0] < 0.3 * T else ():
        found = game.rates(*given)
        assert given[0] in (None, found[0]) and given[1] in (None, found[1])
        others = (tuple(2**k * a if b is None else a for a, b in zip(found, given, strict=True)) for k in (-1, 1))
        assert game.bound(*found) <= min(game.bound(*other) for other in others)


def test_all_arms_of_a_group_are_as_likely_before_the_first_round():
    learner = HybridBandit(product(), box_losses(6), 100, seed=0, replicas=2)
    counts, p = learner.simplices.counts, learner.probabilities
    assert np.array_equal(p, np.where(np.arange(3) < counts[:, None], 1 / counts[:, None], 0.0) + np.zeros((2, 1, 1)))
    assert np.allclose(learner._state.mu, np.log(1 / counts) - learner.barrier * counts, rtol=1e-12)
    assert not learner._state.costs.any() and learner.rounds == 0


def test_a_tame_round_begins_where_the_last_one_ended(monkeypatch):
    """No search from afar; costs are kept above their least, of which mu goes down."""
    learner = HybridBandit(product(), box_losses(6), 300, seed=0, noise_scale=0.5)
    monkeypatch.setattr(entropy_and_barrier, "balanced", None)
    for _ in range(300):
        learner.update(float(learner.act() @ np.array([0.1, -0.1, 0.2, 0.9, -0.5, 0.3])))
    there = learner.probabilities > 0
    assert (np.where(there, learner._state.costs, np.inf).min(axis=-1) == 0).all() and learner._state.mu.max() < -1e-3


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (ds.simplex(4), "arms             4\n"),
        (ds.cube(3), "arms             3 x 2\n"),
        (ds.cube(1), "arms             2\n"),
        (None, "arms             3 x 2 to 3\n"),
    ],
)
def test_the_summary_tells_how_many_arms_there_are_in_how_many_groups(X, words):
    X = product() if X is None else X
    learner = HybridBandit(X, box_losses(X.size), 50, noise_scale=0.25)
    told = learner.summary()
    assert words in told and f"barrier {learner.barrier:.6g}, noise scale 0.25" in told


def test_groups_without_a_choice_cost_nothing():
    """Entries that are fixed are groups of one corner."""
    games = [Game(SimpleNamespace(counts=np.array(counts)), 100, 1.5, 0.4, 2.0) for counts in ([1, 2, 1, 3], [2, 3])]
    assert games[0] == games[1] and games[0].bound(0.01, 0.1) == games[1].bound(0.01, 0.1) > 0
    assert Game(SimpleNamespace(counts=np.array([1, 1])), 100, 1.5, 0.4, 2.0).is_trivial


def test_rates_have_the_smallest_bound():
    for X, Y, lam in ((ds.cube(4), ball_losses(4, 1), 0.0), (ds.simplex(6), box_losses(6), 2.0)):
        learner = HybridBandit(X, Y, 10**4, noise_scale=lam)
        eta, q = learner.learning_rate, learner.barrier / learner.learning_rate
        for a in (0.8, 1.0, 1.25):
            for b in (0.8, 1.0, 1.25):
                other = learner._game.bound(eta * a, eta * a * max(q * b, learner.magnitude))
                assert learner.uncapped_bound <= other * (1 + 1e-3)


@pytest.mark.parametrize(
    ("make", "rounds", "figure"),
    [
        (lambda T: HybridBandit(ds.cube(10), ball_losses(10, 1), T), 10**5, 0.103),
        (lambda T: HybridBandit(10, box_losses(10), T), 2**17, 0.0525),
        (lambda T: HybridBandit(10, box_losses(10, 0, 1), T), 2**17, 0.0262),
        (lambda T: HybridBandit(100, box_losses(100), T), 2**14, 0.702),
    ],
)
def test_the_private_bound_is_that_of_the_theory(make, rounds, figure):
    private = PrivateBandit(make(rounds), 1.0)
    assert 0.97 * figure <= private.uncapped_bound / rounds <= figure
    assert private.batch == 3


def test_rounding_is_charged_for_every_group_and_for_larger_feedback():
    learner = HybridBandit(ds.cube(5), ball_losses(5, 1), 1000, noise_scale=1.0)
    bias = 2 * 1e-3 * 1000 * 5
    assert bias < learner.rounding_cost(1e-3) < 1.2 * bias
    assert learner.rounding_cost(1e-9) == pytest.approx(bias * 1e-6, rel=0.2)
    secure = PrivateBandit(learner, 1.0)
    assert secure.uncapped_bound > HybridBandit(ds.cube(5), ball_losses(5, 1), 1000).uncapped_bound


def product():
    """Two simplices of different sizes and an interval."""
    x = cp.Variable(6)
    return DecisionSet(x, [x[:5] >= 0, x[5] >= -1, x[5] <= 1, cp.sum(x[:2]) == 1, cp.sum(x[2:5]) == 1])


def test_corners_of_products_are_played_and_learnt_below_the_bound():
    """50 runs, 6 standard errors: a false alarm is less likely than 1e-8. Flipped feedback is told apart."""
    X, Y, T = product(), box_losses(6), 1500
    assert sorted(X.recognised.simplices().counts) == [2, 2, 3]
    learner = HybridBandit(X, Y, T, noise_scale=0.2)
    assert learner.uncapped_bound <= 0.5 * T * learner.sizes.variation
    losses = np.tile([0.5, -0.5, 0.5, 0.5, -0.5, 0.5], (T, 1))
    assert keeps_its_bound(learner, losses, learner.uncapped_bound)
    playing = learner.simulated(50, 3)
    for _ in range(30):
        actions = playing.act()
        assert ((actions[:, :5] == 0) | (actions[:, :5] == 1)).all() and (np.abs(actions[:, 5]) == 1).all()
        assert (actions[:, :2].sum(axis=1) == 1).all() and (actions[:, 2:5].sum(axis=1) == 1).all()
        playing.update(actions @ losses[0])
        assert np.allclose(playing.probabilities.sum(axis=-1), 1) and not playing.probabilities[:, :, 2].all()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("X", "Y", "noise", "horizon"),
    [
        (ds.simplex(3), box_losses(3), 0.0, 2000),
        (ds.simplex(4), box_losses(4), 0.7, 3000),
        (ds.cube(3), ball_losses(3, 1), 0.5, 3000),
    ],
)
def test_mean_regret_is_below_the_proved_bound(X, Y, noise, horizon):
    learner = HybridBandit(X, Y, horizon, noise_scale=noise)
    bound = learner.regret_bound.total
    assert bound <= 0.5 * horizon * learner.sizes.variation  # otherwise the comparison says nothing
    loss = np.full(X.size, 1 / X.size)
    loss[0] = -1 / X.size
    losses = np.tile(loss / Y.radius(1) * X.size if X.size != 4 else loss * 4, (horizon, 1))
    losses = losses * (1 if Y.contains(losses[0]) else 1 / np.abs(losses[0]).sum())
    assert keeps_its_bound(learner, losses, bound)


def test_a_rate_ten_times_too_high_pays_more_than_the_bound():
    """100 runs, 6 standard errors: a false alarm is less likely than 1e-8."""
    X, Y, T = ds.simplex(4), box_losses(4), 4000
    right = HybridBandit(X, Y, T, noise_scale=2.0)
    fast = HybridBandit(X, Y, T, noise_scale=2.0, learning_rate=10 * right.learning_rate, barrier=right.barrier)
    losses = np.tile(0.5 - np.eye(4)[0], (T, 1))
    assert breaks_the_bound(right, fast, losses)


def test_actions_are_corners_in_the_shape_of_the_set():
    x = cp.Variable((2, 3))
    X = DecisionSet(x, [x >= -1, x <= np.arange(6.0).reshape(2, 3)])
    learner = HybridBandit(X, box_losses((2, 3)), 20, seed=0)
    for _ in range(20):
        action = learner.act()
        assert ((action == -1) | (action == np.arange(6.0).reshape(2, 3))).all()
        learner.update(float(action.sum()))
    many = HybridBandit(ds.simplex(4), box_losses(4), 20, seed=0, replicas=5)
    assert (np.sort(many.act(), axis=-1) == [0, 0, 0, 1]).all()


@pytest.mark.parametrize("value", [1e300, -1e300, 1.7e308])
def test_huge_feedback_does_not_overflow(value):
    learner = HybridBandit(ds.cube(3), box_losses(3), 40, seed=0, replicas=3, noise_scale=1.0)
    for sign in (1, -1) * 20:
        assert np.isfinite(learner.act()).all()
        learner.update(np.array([value, -value, 0.0]) * sign)
        p = learner.probabilities
        assert (p >= 0).all() and np.allclose(p.sum(axis=-1), 1, atol=1e-9)


def test_other_sets_and_bad_arguments_are_refused_by_sentences():
    with pytest.raises(ValueError, match="is no simplex, no box and no product of them"):
        HybridBandit(ds.norm_ball(3, 2), box_losses(3), 10)
    with pytest.raises(ValueError, match="barrier must be a positive number"):
        HybridBandit(3, box_losses(3), 10, barrier=-1.0)
    assert "no product" in HybridBandit.refusal(ds.norm_ball(3, 2), box_losses(3))
    weak = HybridBandit(3, box_losses(3), 10, learning_rate=1.0, barrier=0.5)  # beta < eta M
    assert weak.regret_bound is None and "no bound is proved" in weak.summary()


def test_a_set_of_one_corner_is_played_without_regret():
    learner = HybridBandit(ds.cube(1), box_losses(1, 0.0, 0.0), 5, seed=0)
    learner.update(float(learner.act()[0]) * 0)
    assert learner.uncapped_bound == 0


@pytest.mark.parametrize("X", [ds.simplex(4), ds.cube(2), pytest.param(product(), marks=pytest.mark.slow)])
def test_the_learner_keeps_the_protocol_alone_and_private(X):
    Y = box_losses(X.size)
    check_learner(lambda seed: HybridBandit(X, Y, 40, seed=seed))
    check_learner(lambda seed: PrivateBandit(HybridBandit(X, Y, 40, seed=seed), 1.0, seed=seed))
