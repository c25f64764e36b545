"""The rates of lazy exponential weights are the best that a search in plain numbers finds, and cost no more."""

import itertools
import math

import numpy as np
import pytest
from loss_sets import box_losses

import decision_sets as ds
from dpcvx import LazyWeights
from dpcvx.learners.bandits.action_set import action_set
from dpcvx.learners.full_information.lazy_costs import ListedCosts
from dpcvx.learners.full_information.lazy_tuning import Lazy, Rates
from dpcvx.privacy.choice_grounds import choices_cost, coin_cost
from dpcvx.privacy.gaussian_calibration import zcdp_rho


def game(T=4096, N=20, width=1.0, moved=0.7, apart=1.3, epsilon=1.2, delta=0.0, people=1):
    return Lazy(T, math.log(N), width, moved, apart, epsilon, delta, people)


@pytest.mark.parametrize("people", [1, 3])
def test_one_person_pays_for_all_rounds_in_which_it_appears(people):
    rates = Rates(0.02, 4, 0.1, 7)
    pure, concentrated = game(people=people), game(people=people, delta=1e-6)
    cost = choices_cost(0.02 * 0.7, 0.02 * 1.3, 0.1, 7, False)
    assert pure.spent(rates) == (pytest.approx(people * cost, rel=1e-14), None)
    cost = choices_cost(0.02 * 0.7, 0.02 * 1.3, 0.1, 7, True)
    assert concentrated.spent(rates) == (0, pytest.approx(people**2 * cost, rel=1e-14))
    rho = zcdp_rho(1.2, 1e-6)
    assert pure.rho is None and concentrated.rho == rho
    for one, budget in ((pure, 1.2 / people), (concentrated, math.sqrt(2 * rho) / people)):
        assert one.budget == pytest.approx(budget, rel=1e-14)
        assert one.share(rates) == pytest.approx(coin_cost(0.014, 0.1) / budget, rel=1e-14)


def test_without_privacy_the_regret_is_that_of_exponential_weights():
    assert game(T=300, N=7, width=1.7).learning == pytest.approx(1.7 * math.sqrt(150 * math.log(7)), rel=1e-14)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(("moved", "epsilon"), [(0.7, 1.2), (0.0, 1.2), (0.7, 8.0), (1e-9, 1e-3)])
def test_the_best_rates_of_a_grid_are_those_of_a_search_one_by_one(delta, moved, epsilon):
    """For each share of the coin the chance that costs as much, and as many redraws as the rest can pay for."""
    one = game(moved=moved, apart=1.3 * (moved or 1.0), epsilon=epsilon, delta=delta, people=2)
    etas, batches, shares = np.geomspace(1e-4, 0.3, 8), np.array([1.0, 3, 10, 40]), np.array([1e-6, 0.05, 0.4, 0.9])
    found, best = one.best(etas, batches, shares), (math.inf, None)
    for eta, batch, share in itertools.product(etas, batches, shares):
        coin = one.budget * share
        if eta * moved > coin * (1 - 1e-9):
            continue
        chance = 1 / (1 + math.expm1(coin) / -math.expm1(-eta * moved)) if moved else 1e-12
        redraw = eta * one.apart
        left = (one.budget - coin) / redraw if not delta else 4 * (one.budget**2 - coin**2) / redraw**2
        rates = Rates(eta, int(batch), chance, math.floor(left * (1 - 1e-9)))
        best = min(best, (one.bound(rates), rates), key=lambda pair: pair[0])
    assert one.bound(found) == pytest.approx(best[0], rel=1e-6)
    assert (found.eta, found.batch) == (best[1].eta, best[1].batch)
    assert found.chance == pytest.approx(best[1].chance, rel=1e-6)
    assert found.redraws == pytest.approx(best[1].redraws, rel=1e-8)
    at, limit = (1, one.rho) if delta else (0, epsilon)
    more = Rates(found.eta, found.batch, found.chance, found.redraws + 1)
    assert one.spent(found)[at] <= limit
    assert moved == 0 or limit * (1 - 1e-9) < one.spent(more)[at]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("T", [1, 30, 2**14])
def test_no_rates_around_the_tuned_ones_are_much_better_in_any_unit(delta, T):
    one = game(T=T, N=50, delta=delta)
    best, bound = one.rates(), one.bound(one.rates())
    for spread in (8.0, 1.4):
        around = np.geomspace(1 / spread, spread, 25)
        batches = np.unique(np.clip(np.round(best.batch * around), 1, T))
        shares = np.clip(one.share(best) * around, 1e-5, 0.9999)
        assert bound <= one.bound(one.best(best.eta * around, batches, shares)) * 1.02
    for unit in (1e-6, 1e5):
        scaled = Lazy(T, math.log(50), unit, 0.7 * unit, 1.3 * unit, 1.2, delta, 1)
        assert scaled.bound(scaled.rates()) == pytest.approx(unit * bound, rel=1e-6)
    assert 1 <= best.batch <= T


@pytest.mark.parametrize("nothing", [{"N": 1}, {"width": 0.0}])
def test_where_nothing_is_to_choose_or_to_lose_nothing_is_redrawn(nothing):
    trivial = game(T=9, **nothing)
    assert trivial.is_trivial and trivial.rates() == Rates(1.0, 9, 0.5, 0) and not game(T=9).is_trivial


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_secure_rates_are_on_the_grid_and_no_larger_than_the_tuned_ones(delta):
    X, Y, T = ds.simplex(9), box_losses(9, -0.5, 1.0), 2000
    secure = LazyWeights(X, Y, T, 1.0, delta, rounds_per_person=2)
    tuned, rates, step = secure._game.rates(), secure.rates, secure._costs.step
    assert secure._draws.scale * step * tuned.eta == pytest.approx(1, rel=1e-11)
    assert secure._draws.scale * step * tuned.eta > 1 and rates.eta < tuned.eta
    assert rates.eta == pytest.approx(1 / (secure._draws.scale * step), rel=1e-15)
    assert float(secure._draws._share) == pytest.approx(1 - rates.chance, rel=1e-15)
    game = secure._game
    assert game.people == 2 and game.width == pytest.approx(1.5, rel=1e-6) and game.width >= 1.5
    bound = secure.regret_bound
    assert secure.uncapped_bound == pytest.approx(game.bound(rates) + T * step, rel=1e-14)
    assert bound.learning == game.learning and bound.proved == pytest.approx(secure.uncapped_bound, rel=1e-14)
    assert bound.largest == pytest.approx(1.5 * T, rel=1e-6)
    assert secure.certificate.rho == game.rho and (not delta or game.spent(rates)[1] < game.rho)
    claimed = secure.certificate.grounds.claimed
    assert claimed == pytest.approx(0.5 if not delta else game.rho / 4, rel=1e-14)


def test_costs_of_listed_actions_are_whole_units_above_the_least_one_and_no_more_than_the_largest():
    """<loss, action> + 1 in quarters, from 0 to 2.6, which is 11 of them."""
    family = action_set(ds.simplex(3)).family
    counted, exact = ListedCosts(family, -1.0, 2.6, 0.25), ListedCosts(family, -1.0, 2.6, None)
    losses = np.array([[-1.0, -0.9, 0.0], [0.1, 1.6, 7.0], [-3.0, -0.74, 1.59]])
    actions = family.actions(np.arange(3))
    order = actions.argmax(axis=1)
    assert counted.most == 11 and counted.start().dtype == np.int64 and not counted.start().any()
    assert np.array_equal(counted.of(losses), np.array([[0, 0, 4], [4, 10, 11], [0, 1, 10]])[:, order])
    clipped = np.array([[0, 0.1, 1], [1.1, 2.6, 2.6], [0, 0.26, 2.59]])
    assert np.allclose(exact.of(losses), clipped[:, order], rtol=1e-12)
    costs = exact.of(losses)
    assert exact.own(costs[0], np.array(2)) == costs[0, 2]
    assert np.array_equal(exact.own(costs, np.array([2, 0, 1])), costs[[0, 1, 2], [2, 0, 1]])


@pytest.mark.parametrize("eta", [0.5, 40.0])
def test_drawn_actions_have_the_law_of_exponential_weights(eta):
    """20,000 draws, 5.5 deviations for each of 3 frequencies: a false alarm is less likely than 1e-6."""
    family, costs = action_set(ds.simplex(3)).family, np.array([1e4 + 0.01, 1e4 + 0.1, 1e4])
    found = ListedCosts(family, 0.0, 1.0, None).draw(costs, eta, np.random.default_rng(0), (20_000,))
    law = np.exp(-eta * (costs - 1e4))
    law /= law.sum()
    assert np.all(np.abs(np.bincount(found, minlength=3) / 20_000 - law) <= 5.5 * np.sqrt(law * (1 - law) / 20_000))


def test_simulated_costs_stand_on_no_grid():
    playing = LazyWeights(ds.simplex(9), box_losses(9, -0.5, 1.0), 2000, 1.0, seed=0)
    assert playing.uncapped_bound == playing._game.bound(playing.rates) and playing._game.width == pytest.approx(1.5)
    assert playing.certificate.grid == 0 and (playing.delta, playing.rounds_per_person) == (0, 1)
