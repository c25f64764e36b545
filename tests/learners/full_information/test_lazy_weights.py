"""Lazy exponential weights: the claim by exhaustive transcripts, the law of the actions, the bound, secure play."""

import itertools
import math
from dataclasses import replace

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest
from loss_sets import box_losses
from scipy.stats import binom

import decision_sets as ds
from dpcvx import Change, HorizonError, LazyWeights, check_learner, couple
from dpcvx.learners.full_information.lazy_costs import FamilyCosts, ListedCosts, SecureDraws
from dpcvx.learners.full_information.lazy_reach import cost_grid
from dpcvx.learners.full_information.lazy_tuning import Lazy, Rates
from dpcvx.privacy.choice_grounds import ChoiceGrounds, choices_cost


def game(T=64, N=4, width=1.0, moved=1.0, apart=2.0, epsilon=1.0, delta=0.0, people=1):
    return Lazy(T, math.log(N), width, moved, apart, epsilon, delta, people)


# privacy


def transcripts(losses, rates, N):
    """All (actions, redraw bits) with their probabilities, for losses (K, N) one batch each."""
    found = {}

    def walk(k, action, used, seen, chance):
        if not chance:
            return
        if k == len(losses) - 1 or used == rates.redraws:
            found[seen] = found.get(seen, 0.0) + chance
            return
        keep = (1 - rates.chance) * math.exp(-rates.eta * losses[k][action])
        walk(k + 1, action, used, (*seen, "keep"), chance * keep)
        weights = np.exp(-rates.eta * np.sum(losses[: k + 1], axis=0))
        for new in range(N):
            walk(k + 1, new, used + 1, (*seen, new), chance * (1 - keep) * weights[new] / weights.sum())

    for first in range(N):
        walk(0, first, 0, (first,), 1 / N)
    assert sum(found.values()) == pytest.approx(1)
    return found


def worst(rates, N, K, zero_out=False):
    """The largest log-ratio over all 0/1 losses and neighbours."""
    rows = list(itertools.product((0.0, 1.0), repeat=N))
    most = 0.0
    for losses in itertools.product(rows, repeat=K - 1):
        stream = np.array([*losses, rows[0]])
        ours = transcripts(stream, rates, N)
        for k in range(K - 1):
            for row in [rows[0]] if zero_out else rows:
                other = stream.copy()
                other[k] = row
                theirs = transcripts(other, rates, N)
                most = max(most, *(abs(math.log(ours[s] / theirs[s])) for s in ours if ours[s] > 1e-300))
    return most


@pytest.mark.parametrize(
    ("eta", "chance", "redraws", "K"), [(0.5, 0.3, 2, 3), (1.0, 0.5, 1, 3), (3.0, 0.1, 2, 3), (0.2, 0.05, 1, 3)]
)
@pytest.mark.parametrize("zero_out", [False, True])
def test_no_transcript_of_a_small_game_costs_more_than_the_claim(eta, chance, redraws, K, zero_out):
    rates = Rates(eta, 1, chance, redraws)
    claim, _ = game(moved=1.0, apart=1.0 if zero_out else 2.0).spent(rates)
    found = worst(rates, 2, K, zero_out)
    assert found <= claim * (1 + 1e-12)
    assert found > 0.4 * claim  # the claim is not far from what happens


def test_without_the_larger_one_of_two_terms_the_claim_would_be_false():
    rates = Rates(1.0, 1, 0.5, 1)
    x = rates.eta
    formula = math.log1p((1 - rates.chance) / rates.chance * -math.expm1(-x)) + x * rates.redraws  # zero-out, R = 1
    assert worst(rates, 2, 3, zero_out=True) > formula
    half = game(moved=1.0, apart=0.5).spent(rates)[0]  # and half of what a redraw costs
    assert worst(rates, 2, 3) > half


def grounds(rates, moved, apart, delta=0.0, **sizes):
    one = {"replaced": (1.0, 2.0), "zeroed": (1.0, 1.0), "radii": (1.0, 1.0, 1.0), "diameters": (1.0, 2**0.5, 2.0)}
    return ChoiceGrounds(
        own="zero-out",
        shape=(2,),
        lower=(0.0, 0.0),
        upper=(1.0, 1.0),
        by_entry=True,
        rate=rates.eta,
        chance=rates.chance,
        redraws=rates.redraws,
        step=0.0,
        most=1.0,
        claimed=choices_cost(rates.eta * moved, rates.eta * apart, rates.chance, rates.redraws, bool(delta)),
        concentrated=bool(delta),
        **one | sizes,
    )


@pytest.mark.parametrize("rates", [Rates(0.5, 1, 0.3, 2), Rates(1.0, 1, 0.5, 1), Rates(3.0, 1, 0.1, 2)])
def test_other_neighbours_cost_what_exhaustive_transcripts_say(rates):
    """Made for "zero-out", asked for "replace": by all transcripts, and the own claim would not be enough."""
    found = grounds(rates, 1.0, 1.0)
    asked = found.claimed * found.ratio("replace")
    assert found.claimed < worst(rates, 2, 3) <= asked * (1 + 1e-12)
    assert found.ratio("zero-out") == pytest.approx(1, abs=1e-11)
    d = cp.Variable(2)
    small = Change(d, [cp.norm1(d) <= 0.25])
    streams = [np.array(rows) for rows in itertools.product([(0.0, 0.5), (0.5, 0.25), (0.75, 0.75)], repeat=3)]
    paid = 0.0
    for stream, k, entry in itertools.product(streams, range(2), range(2)):
        other = stream.copy()
        other[k, entry] += 0.25
        ours, theirs = transcripts(stream, rates, 2), transcripts(other, rates, 2)
        paid = max(paid, *(abs(math.log(ours[s] / theirs[s])) for s in ours))
    claim = found.claimed * found.ratio(small)
    assert claim / 3 < paid <= claim < found.claimed
    nearest = replace(found, by_entry=False)
    assert nearest.ratio(small) == nearest.ratio("replace")  # going to the nearest point may stretch it


@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("seed", [None, 1])
def test_the_certificate_says_what_other_neighbours_cost(delta, seed):
    d = cp.Variable(3)
    small, smaller = Change(d, [cp.norm1(d) <= 0.02]), Change(d, [cp.norm1(d) <= 0.01])
    made = [learner(relation, delta, seed=seed).certificate for relation in ("replace", "zero-out", small)]
    for own, certificate in zip(("replace", "zero-out", small), made, strict=True):
        costs = [certificate.epsilon_for(one) for one in ("replace", "zero-out", small, smaller)]
        assert costs[0] >= costs[1] > costs[2] > costs[3] > 0
        assert certificate.epsilon_for(own) == certificate.epsilon == 1.0
        again = type(certificate).from_json(certificate.to_json())
        assert again == certificate and again.epsilon_for(smaller) == costs[3]
    assert made[2].epsilon_for("replace") > 20 and made[1].epsilon_for("replace") < 2.1
    assert made[2].group(2).epsilon_for("replace") >= 1.9 * made[2].epsilon_for("replace")


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_couplings_of_other_neighbours_cost_no_more_than_that(delta):
    """Made for "zero-out" and coupled on streams of which one round is replaced: priced by the exact laws."""

    class Told(LazyWeights):
        @property
        def certificate(self):
            one = super().certificate
            return replace(one, neighbours="replace", epsilon=one.epsilon_for("replace"), rho=one.rho and 16 * one.rho)

    first = np.random.default_rng(0).random((40, 3))
    for at in (0, 11):
        second = first.copy()
        second[at] = 1 - np.rint(first[at])

        def told():
            return Told(ds.simplex(3), box_losses(3, 0.0, 1.0), 40, 1.0, delta, neighbours="zero-out")

        assert couple(told, first, second).holds


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("people", [1, 3])
def test_tuned_rates_spend_no_more_than_the_budget_and_nearly_that(delta, people):
    one = game(T=2**14, N=50, delta=delta, people=people)
    epsilon, rho = one.spent(one.rates())
    if rho is None:
        assert 0.9 < epsilon <= 1
    else:
        assert 0.9 * one.rho < rho <= one.rho


@pytest.mark.parametrize(("width", "moved", "T"), [(1.0, 1.0, 100), (3.0, 0.01, 10), (2.5, 0.3, 2**40), (0.7, 0.0, 50)])
def test_costs_are_counted_on_the_coarsest_grid_that_is_fine_enough(width, moved, T):
    """A power of two, within a factor of two above 2^-24 of what a person moves and what 58 bits of sums need."""
    step = cost_grid(width, moved, T).step
    assert math.frexp(step)[0] == 0.5
    assert step / 2 < max((moved or width) * 2.0**-24, width * T * 2.0**-58) <= step
    assert T * math.ceil(width / step) < 2**59


def test_a_grid_on_which_one_person_moves_less_than_eight_units_is_refused():
    assert cost_grid(1.0, 8.0, 2**58).step == 1.0
    with pytest.raises(OverflowError, match=r"of which one person moves 7\.99, do not fit"):
        cost_grid(1.0, 7.99, 2**58)


def learner(neighbours="replace", delta=0.0, T=40, N=3, **options):
    return LazyWeights(ds.simplex(N), box_losses(N, 0.0, 1.0), T, 1.0, delta, neighbours=neighbours, **options)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_secure_play_redraws_as_often_as_it_can_pay_for(delta, monkeypatch):
    """Rates that redraw five times too often for the budget are brought down to it, and no further."""
    tuned = learner(delta=delta, T=2**14, N=50)
    monkeypatch.setattr(Lazy, "rates", lambda game: replace(tuned.rates, redraws=tuned.rates.redraws + 5))
    playing = learner(delta=delta, T=2**14, N=50)
    more = replace(playing.rates, redraws=playing.rates.redraws + 1)
    at = 0 if not delta else 1
    limit = playing._game.rho if delta else playing.epsilon
    assert playing._game.spent(playing.rates)[at] <= limit < playing._game.spent(more)[at]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("neighbours", ["replace", "zero-out", "change"])
def test_couplings_cost_no_more_than_the_certificate_says(neighbours, delta):
    d = cp.Variable(3)
    relation = Change(d, [cp.norm1(d) <= 0.02]) if neighbours == "change" else neighbours
    first = np.random.default_rng(0).random((40, 3)) * 0.98
    for at in (0, 11, 25):
        second = first.copy()
        second[at] = {"replace": 1 - np.rint(first[at]), "zero-out": np.zeros(3), "change": first[at]}[neighbours]
        if neighbours == "change":
            second[at, 1] += 0.02
        found = couple(lambda: learner(relation, delta), first, second)
        assert found.holds, str(found)


def test_a_coupling_catches_a_third_of_the_scale():
    class Fast(LazyWeights):
        def _secure_scale(self):
            return super()._secure_scale() / 3

    first = np.zeros((40, 3))
    first[0] = [0.0, 1.0, 0.0]
    second = first.copy()
    second[0] = [1.0, 0.0, 1.0]

    def made():
        return Fast(ds.simplex(3), box_losses(3, 0.0, 1.0), 40, 1.0)

    assert not all(couple(made, first, second, seed=seed).holds for seed in range(8))


# regret


def test_the_action_of_every_batch_has_the_law_of_exponential_weights():
    """Over 20,000 replicas each frequency is within 5 of its deviations: a false alarm below 1e-6 for 12 of them."""
    T, N, n = 40, 4, 20_000
    playing = LazyWeights(ds.simplex(N), box_losses(N, 0.0, 1.0), T, 50.0, seed=0, replicas=n)
    playing.rates = Rates(0.3, 10, 0.2, 10**6)
    losses = np.random.default_rng(1).random((T, N))
    for t, loss in enumerate(losses):
        action = playing.act()
        if t % 10 == 5:
            weights = np.exp(-0.3 * losses[: t // 10 * 10].sum(axis=0))
            law = weights / weights.sum()
            assert np.all(np.abs(action.mean(axis=0) - law) <= 5 * np.sqrt(law * (1 - law) / n))
        playing.update(loss)


def test_replicas_with_losses_of_their_own_learn_for_themselves():
    """Half of 8,000 replicas pay for the first action, half for the second; 5.5 deviations: an alarm below 1e-6."""
    n = 4000
    playing = LazyWeights(ds.simplex(3), box_losses(3, 0.0, 1.0), 40, 50.0, seed=0, replicas=2 * n)
    playing.rates = Rates(0.2, 5, 0.3, 10**6)
    losses = np.repeat([[1.0, 0.0, 0.5], [0.0, 1.0, 0.25]], n, axis=0)
    for _ in range(10):
        playing.act()
        playing.update(losses)
    means = playing.act().reshape(2, n, 3).mean(axis=1)
    for mean, loss in zip(means, losses[[0, n]], strict=True):
        law = np.exp(-0.2 * 10 * loss)
        law /= law.sum()
        assert np.all(np.abs(mean - law) <= 5.5 * np.sqrt(law * (1 - law) / n))


@pytest.mark.parametrize("seed", [None, 0])
@pytest.mark.parametrize(("redraws", "batch", "times"), [(2, 1, 2), (0, 1, 0), (100, 3, 3), (100, 4, 2), (100, 12, 0)])
def test_actions_are_redrawn_at_most_as_often_as_was_paid_for_and_never_after_the_last_round(
    seed, redraws, batch, times
):
    """In 12 rounds, with coins that all but always ask for a redraw: one of 22 coins shows otherwise once in 1e10."""
    playing = LazyWeights(ds.simplex(3), box_losses(3, 0.0, 1.0), 12, 1.0, seed=seed)
    playing.rates = replace(playing.rates, batch=batch, chance=1 - 1e-12, redraws=redraws)
    if seed is None:
        playing._draws = SecureDraws(playing._draws.scale, playing.rates.chance)
    for _ in range(12):
        playing.act()
        playing.update(np.array([0.5, 0.2, 0.9]))
    assert playing.redrawn == times and playing.rounds == 12
    with pytest.raises(HorizonError, match="12 rounds is used up"):
        playing.act()


def test_large_families_are_kept_and_redrawn_as_if_they_were_listed():
    """Costs by entries, counted from the least one, against a list; 5 deviations at a false alarm below 1e-6 for 1."""
    n, rates = 20_000, Rates(0.3, 2, 0.2, 10**6)
    playing = LazyWeights(ds.simplex(3), box_losses(3, -1.25, 1.0), 40, 50.0, seed=0, replicas=n)
    listed = playing._costs
    playing.rates, playing._costs = rates, FamilyCosts(listed.family, listed.low, listed.width)
    playing._turn = playing._turn._replace(
        costs=np.zeros(3), batch=np.zeros(3), chosen=listed.actions(playing._turn.chosen)
    )
    losses = np.array([[0.5, -1.0, 0.2], [0.1, -0.8, 1.0]])
    for loss in losses:
        playing.act()
        playing.update(loss)
    own = losses.sum(axis=0) + 2.5  # above the least cost of -1.25 in both rounds
    share = 1 - 0.8 * np.mean(np.exp(-0.3 * own))
    assert abs(playing.redrawn.mean() - share) <= 5 * math.sqrt(share * (1 - share) / n)


def test_the_bound_is_its_formula():
    one, rates = game(T=1000, N=7), Rates(0.01, 8, 0.05, 12)
    rate = 1 - 0.95 * math.exp(-0.01 * 8)
    formula = math.log(7) / 0.01 + 0.01 * 125 * 64 / 8 + 1000 * binom.sf(12, 124, rate)
    assert one.bound(rates) == pytest.approx(formula, rel=1e-9)
    assert one.bound(Rates(0.01, 8, 0.05, 200)) == pytest.approx(math.log(7) / 0.01 + 10, rel=1e-9)  # no limit


@pytest.mark.parametrize(
    ("N", "T", "delta", "figure"),
    [(1000, 2**16, 0.0, 3889), (1000, 2**16, 1e-6, 1455), (100, 2**16, 0.0, 2737), (100, 2**20, 0.0, 10451)],
)
def test_bounds_are_those_of_the_theory(N, T, delta, figure):
    one = game(T=T, N=N, delta=delta)
    assert 0.93 * figure <= one.bound(one.rates()) <= figure


def test_mean_regret_is_below_the_bound_and_a_rate_ten_times_as_high_is_not():
    N, T, n = 30, 2**12, 40
    loss = np.ones(N)
    loss[4] = 0.0
    playing = LazyWeights(ds.simplex(N), box_losses(N, 0.0, 1.0), T, 1.0, 1e-6, seed=0, replicas=n)
    bound = playing.regret_bound.total
    assert bound < 0.6 * T
    regret = np.zeros(n)
    for _ in range(T):
        regret += playing.act() @ loss
        playing.update(loss)
    assert regret.mean() + 5 * regret.std() / math.sqrt(n) <= bound
    hasty = game(T=T, N=N, delta=1e-6)
    faster = Rates(10 * playing.rates.eta, playing.rates.batch, playing.rates.chance, playing.rates.redraws // 100)
    assert hasty.bound(faster) > 1.5 * bound  # which spends the same budget


# play


@pytest.mark.sampled(3)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_learner_keeps_the_protocol(delta):
    check_learner(lambda seed: learner(delta=delta, seed=seed))


@pytest.mark.parametrize("seed", [None, 1])
def test_the_certificate_tells_the_numbers_of_the_mechanism(seed):
    playing = learner(seed=seed, T=2**12)
    told, rates = playing.certificate, playing.rates
    assert (told.releases_per_loss, told.terms_per_prefix) == (rates.redraws + 1, 1)
    assert told.scale == 1 / rates.eta and told.prefix_deviation == pytest.approx(1.2825498 / rates.eta, rel=1e-6)
    assert told.grid == (0.0 if seed else playing._costs.step) and told.sensitivity == playing._game.moved
    assert (told.horizon, told.rounds, told.sensitivity_norm, told.secure) == (2**12, 0, 1, seed is None)


@pytest.mark.filterwarnings("ignore::dpcvx.WeakPrivacyWarning")
def test_secure_play_learns_and_stays_on_vertices():
    X = ds.capped_simplex(5, 2)
    playing = LazyWeights(X, box_losses(5, 0.0, 1.0), 600, 100.0)
    loss, cost = np.array([0.0, 0.0, 1.0, 1.0, 1.0]), 0.0
    for _ in range(600):
        action = playing.act()
        assert sorted(action) == [0, 0, 0, 1, 1]
        cost += action @ loss
        playing.update(loss)
    assert cost < 200  # doing nothing costs 720; below 200 in all but 1e-6 of the runs by the exponential tails
    assert playing.certificate.secure and playing.certificate.epsilon == 100


def test_large_families_are_simulated_and_refused_without_a_seed():
    grid = nx.DiGraph(
        [
            ((i, j), (i + a, j + b))
            for i in range(8)
            for j in range(8)
            for a, b in ((0, 1), (1, 0))
            if i + a < 8 and j + b < 8
        ]
    )
    X = ds.flow_polytope(grid, (0, 0), (7, 7))
    Y = box_losses(X.size, 0.0, 1.0)
    with pytest.raises(ValueError, match="draws exactly from lists of actions only"):
        LazyWeights(X, Y, 100, 1.0)
    playing = LazyWeights(X, Y, 100, 1.0, seed=0, replicas=3)
    for _ in range(30):
        action = playing.act()
        assert (
            action.shape == (3, X.size) and np.all((action == 0) | (action == 1)) and np.all(action.sum(axis=-1) == 14)
        )
        playing.update(np.random.default_rng(0).random(X.size))


def test_bad_input_is_refused_by_sentences():
    with pytest.raises(ValueError, match="needs a horizon"):
        LazyWeights(ds.simplex(3), box_losses(3), None, 1.0)
    with pytest.raises(ValueError, match="replicas are for simulation"):
        LazyWeights(ds.simplex(3), box_losses(3), 10, 1.0, replicas=2)
    with pytest.raises(ValueError, match="epsilon"):
        LazyWeights(ds.simplex(3), box_losses(3), 10, -1.0)


def test_distances_of_named_neighbours_are_those_of_the_largest_losses():
    """Entries in [-1/2, 1]: costs move by 1.5 and differences by 3 where one is replaced, by 1 and 1.5 if it is 0."""
    found = LazyWeights(ds.simplex(3), box_losses(3, -0.5, 1.0), 40, 1.0).certificate.grounds
    assert found.replaced == pytest.approx((1.5, 3.0), rel=1e-6) and found.zeroed == pytest.approx((1.0, 1.5), rel=1e-6)


def test_a_change_of_nothing_costs_nothing_and_the_weights_still_learn():
    d = cp.Variable(3)
    nobody = Change(d, [d == 0])
    playing = learner(nobody, T=2000)
    loss = np.array([1.0, 0.0, 1.0])
    cost = 0.0
    for _ in range(2000):
        cost += playing.act() @ loss
        playing.update(loss)
    assert cost < 500 and playing.regret_bound.total < 100
    assert any("no person changes any loss" in note for note in playing.certificate.notes)


def test_a_declared_change_lowers_the_bound():
    d = cp.Variable(3)
    small = Change(d, [cp.norm1(d) <= 0.01])
    assert learner(small, T=2**12).uncapped_bound < 0.3 * learner(T=2**12).uncapped_bound
    assert learner(small, T=2**12)._game.apart == pytest.approx(0.01, rel=1e-3)  # one entry moves, and no more of it


def test_costs_far_beyond_the_range_of_exponentials_leave_the_cheapest_action():
    costs = ListedCosts(ds.simplex(3).action_family(), 0.0, 1.0, None)
    far = np.array([1e6, 0.0, 2e6])
    assert (costs.draw(far, 1.0, np.random.default_rng(0), (50,)) == 1).all()
