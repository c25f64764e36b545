"""What adaptive bandits know after a round is what listed actions, and the minimiser on a body, say that they know."""

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import box_losses

import decision_sets as ds
from dpcvx import AdaptiveBandit, DecisionSet
from dpcvx.actions import Arms, BoxCorners, PointList
from dpcvx.learners.bandits import adaptive_barrier, adaptive_weights
from dpcvx.learners.bandits.adaptive_barrier import AdaptiveBarrier
from dpcvx.learners.bandits.adaptive_weights import AdaptiveWeights
from dpcvx.sets.geometry.dikin import SHRINK

SPREAD, NOISE = 1.8, 0.7
SETTINGS = {"recipe": (0.03, 0.1, 0.5, True), "middle": (1.0, 0.0, 1.0, False)}  # exploring, floor, charged, cuts
BOX = BoxCorners(np.array([-1.0, 0, 2]), np.array([1.0, 3, 2.5]))
CORNERS = np.array(np.meshgrid([-1.0, 1.0], [0.0, 3.0], [2.0, 2.5], indexing="ij")).reshape(3, -1).T
POINTS = np.column_stack([np.random.default_rng(3).normal(size=(9, 3)), np.ones(9)])
FAMILIES = {"arms": (Arms(4, 2.0), 2 * np.eye(4)), "box": (BOX, CORNERS), "list": (PointList(POINTS), POINTS)}


def law(points, covector):
    scores = points @ covector
    weights = np.exp(scores.min() - scores)
    return weights / weights.sum()


def entropy(q):
    return -float(q[q > 0] @ np.log(q[q > 0]))


def known_after(plays, points, size, unit, seed):
    """Something that may be known: estimates of a size, and everything else at random."""
    rng = np.random.default_rng(seed)
    beta = np.float64(unit * rng.uniform(0.5, 3))
    estimates = size * beta * rng.normal(size=points.shape[1])
    log_partition, mean = plays.family.partition(estimates / beta)
    baseline, squares, paid, tilt = unit * rng.normal(), unit**2 * rng.exponential(), unit * rng.exponential(), 3.0
    return adaptive_weights.Known(estimates, beta, baseline, squares, log_partition, mean, paid, tilt)


def expected_after(plays, setting, points, known, drawn, value, rounds):
    """The state after a round in the formulas of the module, over all actions in a list."""
    _, _, charged, cuts = SETTINGS[setting]
    beta, ln = known.temperature, np.log(len(points))
    residual = value - known.baseline
    q = law(points, known.estimates / beta)
    x = points @ drawn.measure * residual
    x = x - q @ x
    reach = np.abs(x).max()
    kept = min(1.0, beta / reach) if cuts else 1.0
    L = known.estimates + kept * residual * drawn.measure
    gap = beta * np.log(q @ np.exp(-kept * x / beta))
    after = law(points, L / beta)
    explored = np.clip(L @ (points.mean(axis=0) - after @ points) / (rounds + 1), 0, plays.spread)
    growth = (charged * gap + drawn.mixing * explored) / max(entropy(after), 0.01 * ln)
    last = law(points, L / (beta + growth))
    paid = known.paid + gap + reach * (1 - kept) + growth * entropy(last)
    tilt = known.tilt
    if not cuts:
        gamma = drawn.mixing
        apart = (points.mean(axis=0) - q @ points)[: plays.losses.size]
        low, high = plays.losses.bounding_box()
        paid += gamma * np.maximum(low * apart, high * apart).sum()
        tilt += 1 / np.sqrt(1 - gamma) + np.sqrt((plays.exploration.reach + 1) / gamma)
    return {
        "estimates": L,
        "temperature": beta + growth,
        "baseline": known.baseline + residual / (rounds + 1),
        "squares": known.squares + residual**2,
        "mean": last @ points,
        "paid": paid,
        "tilt": tilt,
    }


@pytest.mark.parametrize("unit", [1.0, 1e-3])
@pytest.mark.parametrize("size", [0.0, 0.5, 5.0, 60.0])
@pytest.mark.parametrize("setting", ["recipe", "middle"])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_round_of_adaptive_weights_is_that_of_listed_actions(name, setting, size, unit):
    """Undecided, decided, and so decided that the entropy counts as a hundredth of the largest; small and large x."""
    family, points = FAMILIES[name]
    Y = box_losses(family.size - (name == "list"), -0.5 * unit, 1.3 * unit)
    plays = AdaptiveWeights(family, Y, SPREAD * unit, NOISE * unit, setting)
    rng = np.random.default_rng(5)
    for seed, rounds in enumerate((0, 2, 7, 40)):
        known = known_after(plays, points, size, unit, seed)
        n, ln = plays.dim, np.log(len(points))
        deviation = np.sqrt((n * ((SPREAD / 4) ** 2 + 2 * NOISE**2) * unit**2 + known.squares) / (n + rounds))
        exploring, floor, _, _ = SETTINGS[setting]
        share = exploring * n * deviation / known.temperature
        mixing = min(0.5, share + floor * np.sqrt(n * ln / (rounds + n)))
        _, drawn = plays.draw(known, rounds, rng)
        assert drawn.mixing == pytest.approx(mixing, rel=1e-9)
        value = known.baseline + unit * rng.choice([0.01, 0.5, 8.0]) * rng.choice([-1, 1])
        found = plays.after(known, drawn, np.float64(value), rounds)
        expected = expected_after(plays, setting, points, known, drawn, value, rounds)
        for each, number in expected.items():
            assert np.allclose(getattr(found, each), number, rtol=1e-7, atol=1e-9 * unit), each
        log_partition, mean = family.partition(found.estimates / found.temperature)
        assert found.log_partition == log_partition and np.array_equal(found.mean, mean)
        two = adaptive_weights.Known(*(np.stack([each, each]) for each in known))
        both = adaptive_weights.Drawn(np.stack([drawn.measure] * 2), np.array([drawn.mixing] * 2))
        many = plays.after(two, both, np.array([value, known.baseline]), rounds)
        assert all(np.allclose(np.asarray(a)[0], b, rtol=1e-12, atol=0) for a, b in zip(many, found, strict=True))
        assert np.array_equal(many.estimates[1], known.estimates)


@pytest.mark.parametrize("value", [1e200, -1e308])
def test_huge_feedback_leaves_adaptive_weights_finite(value):
    plays = AdaptiveWeights(FAMILIES["arms"][0], box_losses(4), SPREAD, NOISE, "recipe")
    known, rng = plays.start(()), np.random.default_rng(0)
    for t in range(6):
        _, drawn = plays.draw(known, t, rng)
        known = plays.after(known, drawn, np.float64(value * (-1) ** t), t)
        assert all(np.isfinite(each).all() for each in known)


def test_at_most_half_of_all_draws_explore():
    plays = AdaptiveWeights(FAMILIES["arms"][0], box_losses(4), SPREAD, NOISE, "middle")
    known = plays.start(())._replace(temperature=np.float64(1e-6))
    assert plays.draw(known, 0, np.random.default_rng(0))[1].mixing == 0.5


BODIES = {"ball": (ds.norm_ball(3, 2), 2.0), "matrices": (ds.spectrahedron(2), 1.0)}


@pytest.mark.parametrize("horizon", [2, 10**9])
@pytest.mark.parametrize("far", [0.0, 0.5, 0.9999])
@pytest.mark.parametrize("name", BODIES)
def test_a_round_of_the_adaptive_barrier_is_its_formula(name, far, horizon):
    """Also so near to the edge that nothing is left of the range of the barrier, and with estimates that are cut."""
    X, rng = BODIES[name][0], np.random.default_rng(0)
    chart, body = X.geometry.chart, AdaptiveBarrier(X, horizon, SPREAD, NOISE)
    n, edge = X.dim, X.argmin(rng.normal(size=X.shape))
    point = chart.coordinates(X.flatten(X.center + far * (edge - X.center)))
    for rounds, (share, sign) in enumerate([(1e-3, 1), (0.1, -1), (0.499, 1), (0.501, 1), (7.0, -1)]):
        beta, baseline, squares = np.array([1.7]), np.array([0.3]), np.array([2.0])
        start = rng.normal(size=(1, chart.width))
        known = adaptive_barrier.Known(start, beta, baseline, squares, point[None])
        _, drawn = body.draw(known, rounds, rng)
        residual = sign * share * drawn.stretch * beta / n  # so that its norm over beta is the share
        found = body.after(known, drawn, baseline + residual, rounds)
        norm, kept = min(share, 0.5), min(1.0, 0.5 / share)
        assert np.allclose(found.estimates, start + n * residual * kept * drawn.measure, rtol=1e-12)
        cost, whole = beta * (-np.log(1 - norm) - norm), X.nu * np.log(horizon)
        left = max(whole - float(chart.value(point)), 0.05 * whole)
        assert np.allclose(found.temperature, beta + cost / (2 * left), rtol=1e-12)
        assert np.allclose(found.baseline, baseline + residual / (rounds + 1), rtol=1e-12)
        assert np.allclose(found.squares, squares + residual**2, rtol=1e-12)
        gradient = chart.factor(found.point).gradient + found.estimates / found.temperature
        assert np.abs(chart.tangential(gradient)).max() <= 1e-5 * (1 + np.abs(found.estimates).max())
    assert (float(chart.value(point)) > 0.95 * whole) == (far > 0.9 and horizon == 2)


def test_a_step_of_the_adaptive_barrier_is_measured_at_the_point_and_stretched():
    X = BODIES["ball"][0]
    chart, body = X.geometry.chart, AdaptiveBarrier(X, 100, SPREAD, NOISE)
    known = body.start((5,))._replace(point=np.tile(chart.coordinates(np.array([0.3, -0.2, 0.5])), (5, 1)))
    action, drawn = body.draw(known, 0, np.random.default_rng(0))
    factor, step = chart.factor(known.point), chart.coordinates(action) - known.point
    displacement, measure = step / drawn.stretch[:, None], drawn.measure * drawn.stretch[:, None] * SHRINK**2
    assert np.allclose((measure * displacement).sum(axis=-1), SHRINK**2) and np.allclose(
        factor.solve(measure), displacement, atol=1e-12
    )
    assert np.allclose(drawn.stretch, chart.stretch(known.point, displacement))


@pytest.mark.parametrize("size", [0.5e6, 1e6, 1e9])
def test_estimates_beyond_a_million_of_beta_lead_no_further_than_those_of_a_million(size):
    """The gradient of the barrier at the minimiser is the covector, turned."""
    X = BODIES["ball"][0]
    chart, body = X.geometry.chart, AdaptiveBarrier(X, 100, SPREAD, NOISE)
    known = body.start((1,))
    direction = np.array([[0.6, 0.0, 0.8]])
    known = known._replace(estimates=size * known.temperature * direction)
    _, drawn = body.draw(known, 0, np.random.default_rng(0))
    found = body.after(known, drawn, np.zeros(1), 0)
    gradient = chart.factor(found.point).gradient
    assert np.linalg.norm(gradient) == pytest.approx(min(size, 1e6), rel=1e-4)
    assert np.allclose(gradient / np.linalg.norm(gradient), -direction, atol=1e-4)


def test_what_cannot_be_learnt_is_played_without_a_draw():
    """One point, or losses of which all are the same."""
    x = cp.Variable(2)
    for X, Y in ((DecisionSet(x, [x == 1]), box_losses(2)), (ds.norm_ball(3, 2), box_losses(3, 0.0, 0.0))):
        learner = AdaptiveBandit(X, Y, 5, seed=0, replicas=3)
        before = learner.act()
        assert before.shape == (3, X.size) and X.contains(before[0])
        learner.update(np.zeros(3))
        assert np.array_equal(learner.act(), before) and np.ptp(before, axis=0).max() == 0
        assert learner.own_batch(7.0) >= 1
