"""SCRiBLe: unbiased estimates, actions in the set, few Newton steps, regret below the bound, on every kind of set."""

from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from catalogue_sets import CATALOGUE
from declared_sets import DECLARED
from loss_sets import box_losses
from scipy.stats import ks_2samp

import decision_sets as ds
import dpcvx
from dpcvx import DecisionSet, HorizonError, LossSet, ProtocolError, UnsupportedConeError, simulate
from dpcvx.experiments.losses import GENERATORS
from dpcvx.learners.bandits import scrible
from dpcvx.learners.bandits.bandit import Progress
from dpcvx.learners.bandits.scrible import DECREMENT, LARGE, SAMPLING, SCRiBLe
from dpcvx.sets.geometry.dikin import DikinEllipsoid

OTHERS = ("SOC", "pnorm3 power", "log_sum_exp", "kl_div", "eigenvalues", "hull of points", "interval", "power cone n-d")
SETS = [*CATALOGUE, *OTHERS]
LONG = ("cube", "simplex", "polytope", "spectrahedron", "entropy ball")


@cache
def pair(name):
    """A set of the lists, and entries of losses in [-1, 1]."""
    X = CATALOGUE[name][0]() if name in CATALOGUE else DecisionSet(*DECLARED[name]())
    return X, box_losses(X.shape)


def pushed(learner, covector):
    """The largest feedback, signed so that the learner always takes the loss for the same one."""
    return learner.sizes.magnitude * (1.0 if learner._drawn[0] @ covector > 0 else -1.0)


def play_the_worst(learner, rounds, seed=0, looks=1):
    """Worst-case feedback, pushed or of random signs for some rounds each; what must hold after every round."""
    X = learner.decision_set
    rng = np.random.default_rng(seed)
    covector = rng.standard_normal(X.geometry.chart.width)
    worst = 0.0
    for t in range(rounds):
        action = learner.act()
        if t % looks == 0:
            assert X.contains(action), t
        value = pushed(learner, covector)
        learner.update(value if t // 50 % 4 < 3 else learner.sizes.magnitude * rng.choice([-1.0, 1.0]))
        worst = max(worst, learner._state.left)
    return worst


# Newton steps and actions


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SETS)
def test_actions_are_in_the_set_and_the_decrement_is_small_after_worst_feedback(name):
    X, Y = pair(name)
    short, long = SCRiBLe(X, Y, 100, seed=1), SCRiBLe(X, Y, 10**5, seed=1)
    assert play_the_worst(short, 60, looks=10) <= DECREMENT
    assert play_the_worst(long, 200, looks=10) <= DECREMENT


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_a_thousand_rounds_of_worst_feedback(name):
    X, Y = pair(name)
    assert play_the_worst(SCRiBLe(X, Y, 1000, seed=2), 1000, seed=2, looks=10) <= DECREMENT


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_a_hundred_thousand_rounds_of_worst_feedback(name):
    X, Y = pair(name)
    assert play_the_worst(SCRiBLe(X, Y, 10**5, seed=3), 10**5, seed=3, looks=1000) <= DECREMENT


@pytest.mark.parametrize("name", ["cube", "simplex", "entropy ball"])
def test_one_newton_step_is_enough_while_steps_are_small(name, monkeypatch):
    """theory: one step keeps the decrement below 1/12 while eta n |v| <= 1/8; seen as one factorisation a round."""
    X, Y = pair(name)
    learner = SCRiBLe(X, Y, 10**5, seed=1)
    assert learner.learning_rate * X.dim * learner.sizes.magnitude <= LARGE
    made = []
    factor = type(X.geometry.chart).factor
    monkeypatch.setattr(type(X.geometry.chart), "factor", lambda self, *a, **o: made.append(1) or factor(self, *a, **o))
    play_the_worst(learner, 100, looks=1000)
    assert len(made) == 100


def told_along(learner, along):
    """Play a round whose feedback moves eta times the sum of estimates by this much in the local norm."""
    learner.act()
    value = along * learner._drawn[2] / learner._gain
    learner.update(value if learner.leading else float(value))


@pytest.mark.parametrize("replicas", [None, 2])
@pytest.mark.parametrize("name", ["cube", "simplex", "entropy ball"])
def test_steps_of_an_eighth_are_followed_to_the_exact_minimiser_and_others_to_a_hundredth(name, replicas):
    X, Y = pair(name)
    for along, exact in ((0.1245, False), (-0.1245, False), (0.1255, True), (-0.1255, True), (3.0, True)):
        learner = SCRiBLe(X, Y, 10, seed=1, replicas=replicas)
        assert np.max(learner._state.left) <= 1e-9
        told_along(learner, along)
        assert np.all(learner._state.left <= (1e-6 if exact else 1e-2))
        assert exact or np.all(learner._state.left > 1e-5)


@pytest.mark.parametrize("replicas", [None, 2])
@pytest.mark.parametrize(("along", "most"), [(0.3, 15), (1.0, 25), (20.0, 90), (1e4, 60)])
@pytest.mark.parametrize("name", ["cube", "simplex", "polytope"])
def test_damped_steps_lead_to_the_minimiser_from_far_without_a_search_from_the_center(
    name, along, most, replicas, monkeypatch
):
    X, Y = pair(name)
    learner, made = SCRiBLe(X, Y, 10, seed=1, replicas=replicas), []
    factor = type(X.geometry.chart).factor
    monkeypatch.setattr(type(X.geometry.chart), "factor", lambda self, *a, **o: made.append(1) or factor(self, *a, **o))
    for search in ("minimise", "minimise_all"):
        monkeypatch.setattr(scrible, search, None)
    for sign in (1, -1, 1):
        told_along(learner, sign * along)
        assert np.max(learner._state.left) <= 1e-6
    assert len(made) <= most


@pytest.mark.parametrize("rate", [1e-100, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("name", ["cube", "simplex", "polytope", "entropy ball"])
@pytest.mark.parametrize("replicas", [None, 3])
def test_extreme_learning_rates_stay_in_the_set(name, rate, replicas):
    X, Y = pair(name)
    learner = SCRiBLe(X, Y, 8, learning_rate=rate, seed=1, replicas=replicas)
    assert (learner.regret_bound is None) == (rate >= 1.0)
    for t in range(8):
        actions = learner.act()
        assert all(X.contains(x, 1e-7) for x in np.reshape(actions, (-1, *X.shape)))
        learner.update(np.full(learner.leading, (-1.0) ** (t // 3))[()])
    assert np.max(learner._state.left) <= DECREMENT


# the estimator


def drawn_estimate(learner, loss):
    """What the learner adds to the sum of estimates after playing against a loss, in coordinates of the chart."""
    X = learner.decision_set
    actions = X.flatten(learner._draw_action())
    after = learner._after(actions @ X.flatten(loss))
    return (after.linear - learner._state.linear)[..., X.geometry.chart.auxiliaries :] / learner.learning_rate


@pytest.mark.sampled(3)
@pytest.mark.parametrize("method", ["cholesky", "eigen"])
@pytest.mark.parametrize("name", SETS)
def test_the_mean_over_all_poles_is_the_loss_exactly(name, method, monkeypatch):
    X, Y = pair(name)
    learner = SCRiBLe(X, Y, 200, sampling=method, seed=1)
    play_the_worst(learner, 20, looks=20)  # away from the center
    loss = np.random.default_rng(2).uniform(-1, 1, X.shape)
    poles = learner.ellipsoid.poles(method)
    assert len(poles) == 2 * X.dim
    estimates = []
    for pole in poles:
        monkeypatch.setattr(DikinEllipsoid, "directions", lambda self, rng, method, pole=pole: pole.copy())
        estimates.append(drawn_estimate(learner, loss))
    mean = X.geometry.chart.spread(np.mean(estimates, axis=0))
    expected = learner.sizes.tangential(X.flatten(loss))
    assert np.abs(mean - expected).max() <= 1e-9 * max(1.0, np.abs(estimates).max())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SETS)
def test_the_mean_over_directions_is_the_loss(name):
    """4,000 draws at one point; every coordinate within 6.5 standard errors: false alarm below 1e-7 over all sets."""
    X, Y = pair(name)
    R = 4000
    one = SCRiBLe(X, Y, 200, seed=1)
    play_the_worst(one, 20, looks=20)
    many = SCRiBLe(X, Y, 200, seed=3, replicas=R, learning_rate=1e-9)
    z = np.broadcast_to(one._state.z, (R, X.geometry.chart.size)).copy()
    many._progress = Progress(0, many._state._replace(z=z, factor=X.geometry.chart.factor(z)))
    loss = np.random.default_rng(2).uniform(-1, 1, X.shape)
    basis = X.geometry.chart.tangent_basis()
    estimates = drawn_estimate(many, loss) @ basis
    off = estimates.mean(axis=0) - X.geometry.chart.pull(X.flatten(loss)) @ basis
    assert np.all(np.abs(off) <= 6.5 * estimates.std(axis=0) / np.sqrt(R) + 1e-9 * np.abs(estimates).max())


@pytest.mark.parametrize("method", SAMPLING)
def test_every_draw_lies_on_the_ellipsoid_and_its_estimate_has_the_norm_of_the_theory(method):
    X, Y = pair("Birkhoff polytope")
    learner = SCRiBLe(X, Y, 200, sampling=method, seed=1)
    for _ in range(20):
        learner.act()
        at = learner._state
        displacement, measure, stretch = learner._drawn  # no auxiliary variables here
        assert displacement @ at.factor.apply(displacement) == pytest.approx(1)
        assert np.sqrt(measure @ at.factor.solve(measure)) == pytest.approx(1)
        assert measure @ displacement == pytest.approx(1)
        slack = X.geometry.chart.slack(at.z + stretch * displacement)
        mirrored = X.geometry.chart.slack(at.z - stretch * displacement)
        assert stretch > 1 and min(slack.min(), mirrored.min()) == pytest.approx(0, abs=1e-7)
        learner.update(0.7)


@pytest.mark.parametrize("name", ["cube", "simplex", "polytope"])
def test_stretches_of_polyhedra_have_the_moment_of_the_proof(name):
    X, Y = pair(name)
    learner = SCRiBLe(X, Y, 200, seed=1)
    play_the_worst(learner, 20, looks=20)
    chart, z = X.geometry.chart, np.tile(learner._state.z, (20_000, 1))
    displacement, _ = chart.factor(z).sample(np.random.default_rng(0), 1.0)
    stretch = chart.stretch(z, displacement)
    assert (stretch >= 1).all() and (1 / stretch**2).mean() <= X.recognised.stretch_moment
    assert chart.interior(z + stretch[:, None] * displacement).all()
    assert not chart.interior(z + 1.01 * stretch[:, None] * displacement).all()


# vertices


def test_vertices_are_played_with_the_right_mean():
    """4,000 paths from the first point, whose mean is the center: within 6.5 standard errors (below 1e-9)."""
    X, Y = pair("flow polytope")
    R = 4000
    vertices = SCRiBLe(X, Y, 10, play="vertices", seed=1, replicas=R).act()
    assert set(np.unique(vertices)) == {0.0, 1.0} and X.contains(vertices[0])
    error = vertices.std(axis=0) / np.sqrt(R)
    assert np.all(np.abs(vertices.mean(axis=0) - X.center) <= 6.5 * error + 1e-9)


@pytest.mark.parametrize("name", ["Birkhoff polytope", "capped simplex", "polytope", "convex hull"])
def test_vertices_of_any_polytope_are_played(name):
    X, Y = pair(name)
    learner = SCRiBLe(X, Y, 20, play="vertices", seed=1)
    for _ in range(20):
        vertex = learner.act()
        assert X.contains(vertex, 1e-7)
        learner.update(float(np.sum(vertex)) / X.size)


def test_vertices_of_a_ball_are_refused():
    with pytest.raises(UnsupportedConeError, match="no finite set of vertices"):
        SCRiBLe(*pair("ball, p = 2"), 10, play="vertices", seed=0).act()


# replicas


@pytest.mark.slow
def test_replicas_have_the_law_of_single_runs():
    """300 final costs of either kind by the test of Kolmogorov and Smirnov at 1e-6; one replica is the single run."""
    X, Y = ds.simplex(4), box_losses(4)
    loss, T, R = np.array([1.0, -0.5, 0.2, -1.0]), 40, 300

    def costs(learner):
        total = 0.0
        for _ in range(T):
            value = learner.act() @ loss
            total = total + value
            learner.update(value)
        return total

    together = costs(SCRiBLe(X, Y, T, seed=0, replicas=R))
    single = [costs(SCRiBLe(X, Y, T, seed=[1, k])) for k in range(R)]
    assert ks_2samp(together, single).pvalue > 1e-6
    assert costs(SCRiBLe(X, Y, T, seed=7, replicas=1)) == pytest.approx([costs(SCRiBLe(X, Y, T, seed=7))], rel=1e-9)


@pytest.mark.parametrize("name", ["cube", "polytope", "entropy ball"])
def test_a_large_step_of_one_replica_does_not_touch_the_others(name):
    X, Y = pair(name)
    calm, wild = (SCRiBLe(X, Y, 10**4, seed=1, replicas=3) for _ in range(2))
    for _ in range(10):
        a, b = calm.act(), wild.act()
        assert np.allclose(a[1:], b[1:], rtol=0, atol=1e-13)
        calm.update(np.array([0.1, 0.2, -0.3]))
        wild.update(np.array([500.0, 0.2, -0.3]))


# protocol


@pytest.mark.parametrize("replicas", [None, 2])
def test_act_and_update_alternate_to_the_horizon(replicas):
    learner = SCRiBLe(*pair("simplex"), 3, seed=0, replicas=replicas)
    with pytest.raises(ProtocolError, match="call act first"):
        learner.update(0.0)
    for t in range(3):
        learner.act()
        with pytest.raises(ProtocolError, match="twice"):
            learner.act()
        learner.update(0.5)
        assert learner.rounds == t + 1
    with pytest.raises(HorizonError):
        learner.act()


@pytest.mark.parametrize("bad", [np.nan, np.inf, "cheap", None, 1j, np.zeros(3), [1.0, 2.0]])
def test_wrong_feedback_raises_and_changes_nothing(bad):
    clean, disturbed = (SCRiBLe(*pair("cube"), 6, seed=1) for _ in range(2))
    for _ in range(6):
        assert np.array_equal(clean.act(), disturbed.act())
        with pytest.raises(ValueError, match=r"The feedback (must|holds|is) .*\.$"):
            disturbed.update(bad)
        clean.update(0.5)
        disturbed.update(0.5)


def test_an_interruption_leaves_the_old_state_or_the_new_one(monkeypatch):
    clean, disturbed = (SCRiBLe(*pair("cube"), 6, seed=1) for _ in range(2))
    for learner in (clean, disturbed):
        learner.act()
    with monkeypatch.context() as patch:
        patch.setattr("dpcvx.learners.bandits.scrible._settle", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            disturbed.update(0.5)
    for learner in (clean, disturbed):
        learner.update(0.5)
    assert np.array_equal(clean.act(), disturbed.act())


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"sampling": "gaussian"}, "sampling must be one of direction, cholesky, eigen"),
        ({"play": "corners"}, "play must be"),
        ({"learning_rate": -1.0}, "learning_rate must be a positive number"),
        ({"learning_rate": np.nan}, "learning_rate"),
        ({"noise_scale": -1.0}, "noise_scale"),
        ({"replicas": 0}, "replicas"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": 2.5}, "horizon"),
        ({"decision_set": box_losses(2)}, "decision_set must be a DecisionSet"),
        ({"loss_set": ds.cube(2)}, "loss_set must be a LossSet"),
        ({"loss_set": box_losses(3)}, "shape"),
    ],
)
def test_wrong_settings_are_named(options, word):
    with pytest.raises(ValueError, match=word):
        SCRiBLe(**({"decision_set": ds.cube(2), "loss_set": box_losses(2), "horizon": 10} | options))


def test_a_single_point_a_single_loss_and_one_round():
    x = cp.Variable(2, name="x")
    for replicas in (None, 2):
        learner = SCRiBLe(DecisionSet(x, [x == np.array([1.0, 2.0])]), box_losses(2), 2, replicas=replicas)
        assert np.allclose(learner.act(), [1, 2]) and learner.regret_bound.total == 0
        learner.update(1.0)
    learner = SCRiBLe(ds.cube(2), LossSet(x, [x == 0]), 3)
    learner.act()
    learner.update(0.0)
    assert learner.regret_bound.total == 0
    assert ds.cube(2).contains(SCRiBLe(ds.cube(2), box_losses(2), 1).act())


def test_matrices_and_scalars_keep_their_shape():
    for name in ("spectrahedron", "interval", "box of matrices"):
        X, Y = pair(name)
        for leading in ((), (3,)):
            learner = SCRiBLe(X, Y, 5, seed=0, replicas=3 if leading else None)
            assert learner.act().shape == (*leading, *X.shape)


@pytest.mark.parametrize(
    "options", [{}, {"replicas": 3}, {"baseline": True, "sampling": "eigen"}, {"play": "vertices"}]
)
@pytest.mark.parametrize("name", ["simplex", "polytope"])
def test_a_resumed_learner_equals_an_uninterrupted_one(tmp_path, name, options):
    values = np.random.default_rng(0).uniform(-1, 1, 12)
    X, Y = pair(name)

    def play(learner, stream):
        actions = []
        for value in stream:
            actions.append(learner.act())
            learner.update(value)
        return actions

    whole = play(SCRiBLe(X, Y, 12, seed=3, **options), values)
    learner, parts = SCRiBLe(X, Y, 12, seed=3, **options), []
    for start in range(0, 12, 5):
        parts += play(learner, values[start : start + 5])
        dpcvx.save(learner, tmp_path / "state")
        learner = dpcvx.load(tmp_path / "state")
    assert np.array_equal(parts, whole)


def test_simulate_plays_replicas_and_states_the_bound():
    X, Y = ds.simplex(3), box_losses(3)
    result = simulate(SCRiBLe(X, Y, 256), GENERATORS["const"](X, Y, 256), replicas=20, seed=0)
    assert result.regret.shape[0] == 20 and result.learner == "SCRiBLe"
    assert result.final <= result.bound.total == SCRiBLe(X, Y, 256).regret_bound.total
    again = simulate(SCRiBLe(X, Y, 256), GENERATORS["const"](X, Y, 256), replicas=20, seed=0)
    assert np.array_equal(result.regret, again.regret)
