"""The price of privacy: rows against simulation and theory, bounds, thresholds, extremes, and how it is shown."""

import math
from dataclasses import replace
from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import ball_losses, box_losses
from scipy.stats import t

import decision_sets as ds
import dpcvx
from dpcvx import FTRL, DecisionSet, Exp2, LossSet, PrivateBandit, private_bandit, simulate
from dpcvx.experiments.losses import GENERATORS, const
from dpcvx.studies.price import HARD, PriceRow, price_of_privacy
from dpcvx.studies.price.budget import affordable_horizons
from dpcvx.studies.price.comparison import Comparison
from dpcvx.studies.price.contenders import Contender
from dpcvx.studies.price.free import bound_threshold, measured_threshold
from dpcvx.studies.thresholds import free_epsilon


@pytest.fixture(scope="module")
def found():
    """Three experts, both settings."""
    return price_of_privacy(ds.simplex(3), box_losses(3), (0.3, 30), (1, 128), replicas=16, seed=3)


def violations(rows):
    """Rows whose mean regret is above a bound that says something, by a t-test at the level 1e-6 for all together.

    A row is the worst of the sequences tried, so each of these counts.
    """
    proved = [row for row in rows if row.bound is not None and not row.vacuous]
    level = 1e-6 / max(len(proved) * len(HARD), 1)
    slack = [float(t.isf(level, row.replicas - 1)) * row.standard_error if row.replicas > 1 else 0.0 for row in proved]
    return [row for row, off in zip(proved, slack, strict=True) if row.regret > row.bound + off + 1e-9]


def test_a_row_is_what_simulate_gives_for_the_worst_losses(found):
    X, Y = ds.simplex(3), box_losses(3)
    for row in (found.row("full information", "private", 128, 0.3), found.row("bandit", "private", 128, 0.3)):
        make = FTRL if row.setting == "full information" else private_bandit
        learner = make(X, Y, 128, 0.3, seed=0)
        runs = [simulate(learner, GENERATORS[name](X, Y, 128, seed=3), 16, 3, checkpoints=1) for name in HARD]
        worst = max(runs, key=lambda run: run.final)
        assert (row.regret, row.losses) == (worst.final, worst.losses)
        assert (row.lower, row.upper) == tuple(end[-1] for end in worst.band(0.9))
        assert row.bound == worst.bound.total


def test_every_setting_horizon_and_learner_has_a_row(found):
    for setting in ("full information", "bandit"):
        for horizon in (1, 128):
            assert found.row(setting, "without privacy", horizon).epsilon is None
            for epsilon in (0.3, 30):
                assert found.row(setting, "private", horizon, epsilon).given_epsilon == epsilon
                assert found.row(setting, "paper", horizon, epsilon).epsilon == epsilon
                assert found.row(setting, "in practice", horizon, epsilon).given_epsilon == epsilon
    assert found.row("bandit", "in practice", 128, 30).learner == "private AdaptiveBandit"
    assert found.row("bandit", "in practice", 128, 30).bound is None
    best = found.row("full information", "in practice", 128, 0.3)
    assert best.bound <= found.row("full information", "private", 128, 0.3).bound
    assert len(found.rows) == 28
    with pytest.raises(KeyError):
        found.row("bandit", "private", 7, 0.3)


def test_mean_regret_is_below_every_bound_that_says_something(found):
    """A false alarm has probability at most 1e-6; losses that drive a learner to its bound are among those tried."""
    assert any(row.bound is not None and not row.vacuous for row in found.rows)
    assert not violations(found.rows)


def test_a_learner_that_never_learns_is_caught_above_the_bound(found):
    """The teeth: the same rows, errors included, with the regret of staying at the center."""
    idle = [replace(row, regret=row.idle) for row in found.rows if row.horizon == 128]
    assert violations(idle)


def test_idle_is_the_regret_of_staying_at_the_center(found):
    X, Y = ds.simplex(3), box_losses(3)
    totals = [GENERATORS[name](X, Y, 128, seed=3).block(0, 128).sum(axis=0) for name in HARD]
    assert found.rows[-1].idle == pytest.approx(max(np.mean(total) - total.min() for total in totals))


@pytest.mark.parametrize(
    ("X", "Y", "setting", "ratio"),
    [
        (ds.simplex(4), box_losses(4), "full information", 2.0),
        (ds.simplex(4), box_losses(4, 0, 1), "full information", 1.0),
        (ds.simplex(4), box_losses(4), "bandit", 2.0),
        (ds.simplex(4), box_losses(4, 0, 1), "bandit", 1.0),
        (ds.simplex(4), box_losses(4, 1, 3), "bandit", 2 / 3),
        (ds.norm_ball(3), ball_losses(3), "bandit", 2.0),
        (ds.cube(2), box_losses(2, 0, 1), "bandit", 1.0),
    ],
)
def test_the_papers_noise_states_the_epsilon_that_it_gives(X, Y, setting, ratio):
    """By hand: diameter over radius of what one loss moves; 64 rounds have log T levels exactly."""
    made = Contender(setting, "paper", 64, 0.5).make(X, Y)
    assert made.epsilon == pytest.approx(0.5 * ratio, rel=1e-5)


def test_the_papers_bandit_noise_has_the_papers_scale():
    X, Y = ds.simplex(4), box_losses(4)
    arms = Contender("bandit", "paper", 64, 0.5).make(X, Y).learner
    assert isinstance(arms, PrivateBandit) and arms.batch == 1
    assert arms.certificate.scale == pytest.approx(1 / 0.5, rel=1e-5)  # 1/epsilon for losses in [-1, 1]
    ball = Contender("bandit", "paper", 64, 0.5).make(ds.norm_ball(3), ball_losses(3)).learner
    assert ball.noise == "vector" and ball._feedback.scale == pytest.approx(math.sqrt(3) / 0.5)  # |Y|_1/epsilon


def noise_width(N, horizon, epsilon, draws=20_000):
    """E max_i Z_i of the K-norm noise on the default prefix, drawn from the certificate's own numbers.

    Each term is uniform on a box whose half-widths, 2 for losses in [-1, 1], are multiplied by a Gamma draw.
    """
    certificate = FTRL(ds.simplex(N), box_losses(N), horizon, epsilon, seed=0).certificate
    rng, terms = np.random.default_rng(11), certificate.terms_per_prefix
    assert certificate.noise == "K-norm"
    sizes = rng.gamma(N + 1, certificate.scale, (terms, draws, 1))
    noise = (sizes * rng.uniform(-2, 2, (terms, draws, N))).sum(axis=0)
    return float(noise.max(axis=1).mean())


def test_the_epsilon_of_the_bounds_separates_free_from_not_free():
    """At twice the epsilon noise costs less than learning, sqrt(2 T ln N), at half of it more; all drawn anew.

    The two means have a relative standard error of 0.0102 together: 0.06 is missed with probability below 1e-8.
    """
    N, horizon = 5, 2**14
    threshold = bound_threshold(ds.simplex(N), box_losses(N), "full information", horizon)
    learning = math.sqrt(2 * horizon * math.log(N))
    assert not threshold.vacuous
    assert noise_width(N, horizon, 2 * threshold.epsilon) < learning < noise_width(N, horizon, threshold.epsilon / 2)
    assert noise_width(N, horizon, threshold.epsilon) == pytest.approx(learning, rel=0.06)


@pytest.mark.slow
def test_the_epsilon_of_the_bounds_is_that_of_the_thresholds():
    X, Y = ds.simplex(4), box_losses(4)
    for delta in (0.0, 1e-6):
        expected = free_epsilon(partial(FTRL, X, Y, 1000, delta=delta, seed=0))
        assert bound_threshold(X, Y, "full information", 1000, delta).epsilon == pytest.approx(expected, rel=0.01)


@pytest.mark.slow
def test_the_epsilon_of_the_bandit_bounds_separates_too():
    """By the formulas of the learners themselves, through the public ones."""
    X, Y, horizon = ds.simplex(4), box_losses(4), 2**16
    threshold = bound_threshold(X, Y, "bandit", horizon)
    alone = min(kind(X, Y, horizon).uncapped_bound for kind in (Exp2, dpcvx.LogBarrierBandit, dpcvx.HybridBandit))
    low, high = (private_bandit(X, Y, horizon, factor * threshold.epsilon, seed=0) for factor in (0.5, 2))
    assert high.uncapped_bound < 2 * alone < low.uncapped_bound


def row(role, epsilon, regret):
    return PriceRow("bandit", role, "", 8, epsilon, epsilon, 0.0, "const", 4, regret, 1.0, 0.0, 9.0, None, 100.0, 200.0)


def threshold(alone, regrets):
    rows = [row("private", e, r) for e, r in zip((0.1, 1.0, 10.0), regrets, strict=True)]
    return measured_threshold([row("without privacy", None, alone), *rows], "bandit", 8)


@pytest.mark.parametrize(
    ("regrets", "epsilon"),
    [
        ((30.0, 20.0, 5.0), 1.0),
        ((40.0, 40.0, 10.0), 10 ** (2 / 3)),  # 20 too much at 1, 10 to spare at 10
        ((15.0, 60.0, 10.0), 10 ** (4 / 5)),  # below an epsilon that is not free, none counts
        ((20.0, 12.0, 8.0), 0.0),
        ((90.0, 80.0, 70.0), math.inf),
    ],
)
def test_the_measured_epsilon_is_where_privacy_costs_as_much_as_learning(regrets, epsilon):
    """Regret without privacy is 10, so 20 are allowed."""
    assert threshold(10.0, regrets).epsilon == pytest.approx(epsilon)
    assert not threshold(10.0, regrets).vacuous


def test_nothing_is_called_free_where_the_private_learner_does_not_learn():
    """A portfolio of four funds: 120 without privacy, 238 with it, and 256 for doing nothing."""
    rows = [
        replace(one, idle=256.0)
        for one in (row("without privacy", None, 120.0), row("private", 0.1, 238.0), row("private", 1.0, 238.0))
    ]
    assert measured_threshold(rows, "bandit", 8).epsilon == np.inf
    assert measured_threshold([replace(one, idle=320.0) for one in rows], "bandit", 8).epsilon == 0


def test_nothing_is_called_free_where_nothing_is_learnt_without_privacy_either():
    """Staying at the center costs 100."""
    assert threshold(50.0, (90.0, 80.0, 70.0)).vacuous
    assert not threshold(49.0, (90.0, 80.0, 70.0)).vacuous


@pytest.mark.slow
def test_the_measured_epsilon_separates_under_other_seeds():
    """Worst mean regret over the same losses at twice and half of that epsilon, 400 new runs each.

    Given the threshold of the first runs, the new means are 14 and 15 standard errors from what is allowed: a false
    alarm is far less likely than 1e-6.
    """
    X, Y, horizon = ds.cube(1), box_losses(1), 1024
    options = {"settings": "full information", "replicas": 100, "seed": 5}
    epsilon = price_of_privacy(X, Y, (0.1, 0.2, 0.4, 0.8, 1.6), (horizon,), **options).thresholds[0].epsilon

    def worst(learner, replicas):
        runs = [
            simulate(learner, GENERATORS[name](X, Y, horizon, seed=5), replicas, 77, checkpoints=1) for name in HARD
        ]
        return max(run.final for run in runs)

    allowed = 2 * worst(FTRL(X, Y, horizon), 1)
    cheap, dear = (worst(FTRL(X, Y, horizon, factor * epsilon, seed=0), 400) for factor in (2, 0.5))
    assert cheap < allowed < dear


def test_a_single_point_costs_nothing():
    x = cp.Variable(2)
    found = price_of_privacy(DecisionSet(x, [x == 1]), box_losses(2), 0.5, 4, replicas=2)
    assert all(row.regret == row.bound == 0 or row.bound is None for row in found.rows)
    assert not any(row.vacuous for row in found.rows)
    assert "nothing to learn" in found.recommendation and str(found)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1e-6, 100])
def test_extreme_epsilons_and_one_round_are_measured(epsilon):
    found = price_of_privacy(ds.cube(1), box_losses(1), (epsilon,), (1, 64), replicas=4)
    assert all(-1e-9 <= row.regret <= row.largest for row in found.rows if row.horizon == 64)
    dear = found.row("full information", "private", 64, epsilon)
    alone = found.row("full information", "without privacy", 64)
    assert dear.vacuous if epsilon < 1 else dear.regret == pytest.approx(alone.regret, rel=0.2)


@pytest.mark.slow
def test_matrices_and_delta_are_measured():
    found = price_of_privacy(ds.spectrahedron(2), box_losses((2, 2)), (5.0,), (8,), replicas=2, delta=1e-6)
    assert {row.delta for row in found.rows if row.setting == "bandit"} == {0.0}
    assert found.row("full information", "private", 8, 5.0).delta == 1e-6
    assert all(abs(row.regret) <= row.largest for row in found.rows)


@pytest.mark.slow
def test_own_losses_are_played():
    def mine(X, Y, horizon, seed=0):
        return const(X, Y, horizon, seed=seed)

    found = price_of_privacy(ds.cube(1), box_losses(1), (1.0,), (8,), losses=mine, settings="bandit", replicas=2)
    assert {row.losses for row in found.rows} == {"const"}


@pytest.mark.slow
def test_workers_and_folders_give_the_same_rows(tmp_path):
    x = cp.Variable(2)
    triangle = DecisionSet(x, [x >= 0, x[0] + 2 * x[1] <= 1])
    options = {"epsilons": (1.0,), "horizons": (8,), "replicas": 2}
    alone = price_of_privacy(triangle, box_losses(2), **options)
    shared = price_of_privacy(triangle, box_losses(2), **options, workers=2, folder=tmp_path / "rows")
    assert shared.rows == alone.rows and shared.recommendation == alone.recommendation
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "rows").glob("*.csv")}
    price_of_privacy(triangle, box_losses(2), **options, folder=tmp_path / "rows")
    assert files == {path: path.stat().st_mtime_ns for path in (tmp_path / "rows").glob("*.csv")}
    other = price_of_privacy(triangle, box_losses(2, -2, 2), **options, folder=tmp_path / "rows")
    assert other.rows != alone.rows  # another loss set is never answered from the same files
    assert len(list((tmp_path / "rows").glob("*.csv"))) == 2 * len(files)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"epsilons": (0.0,)}, "epsilon must be a positive number, not 0.0."),
        ({"epsilons": None}, "epsilon must be a positive number, not None."),
        ({"epsilons": "0.5"}, "epsilon must be a positive number, not '0.5'."),
        ({"horizons": 2.5}, "horizon must be a whole number of at least 1, not 2.5."),
        ({"epsilons": ()}, "epsilons must hold at least one"),
        ({"horizons": (0,)}, "horizon must be a whole number of at least 1, not 0."),
        ({"settings": ("full",)}, "settings must be among full information, bandit, not 'full'."),
        ({"losses": ("hard",)}, "losses must be functions or among const, .*, not 'hard'."),
        ({"replicas": 0}, "replicas must be"),
        ({"workers": 0}, "workers must be"),
        ({"delta": 1.0}, "delta must be"),
    ],
)
def test_wrong_arguments_are_named(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        price_of_privacy(ds.cube(1), box_losses(1), **options)


def test_the_table_is_legible_and_says_which_bounds_are_vacuous(found):
    text = str(found)
    assert max(map(len, text.splitlines())) <= 120
    assert "vacuous" in text and "altdrift" in text
    first = [line[0] for setting in found.settings for line in found.table(setting)[1:]]
    assert all(used == f"{plain} used" for plain, used in zip(first[::2], first[1::2], strict=True))
    assert "The paper's noise gives up to 2 times" in found.recommendation
    words = "T = 1e6, by the proved bounds alone, beyond what was measured: privacy is free down to"
    assert words in found.recommendation and words in " ".join(text.split())
    html = found._repr_html_()
    assert html.count('<table class="stacked">') == 2 and "±" in html


def test_the_frame_holds_all_rows(found):
    pandas = pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(found.rows)
    assert set(frame.columns) >= {"setting", "role", "horizon", "epsilon", "regret", "bound", "vacuous"}


def test_the_plot_puts_the_paper_at_the_epsilon_that_it_gives(found):
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    assert found.plot(ax, setting="full information") is ax
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert lines["private"].get_xdata() == pytest.approx([0.3, 30])
    assert lines["the paper's noise, at the epsilon it gives"].get_xdata() == pytest.approx([0.6, 60])
    with pytest.raises(ValueError, match="Nothing was measured for the setting 'bandit' and T = 7"):
        found.plot(ax, setting="bandit", horizon=7)


def test_slow_learners_get_shorter_horizons():
    X, Y = ds.cube(1), box_losses(1)
    comparison = Comparison.checked((1.0,), (1,), ("full information",), HARD, 2, 0, None)
    assert affordable_horizons(X, Y, comparison, 1e9) == (1024, 4096, 16384)
    assert affordable_horizons(X, Y, comparison, 0.0) == (16,)


def test_a_declared_loss_set_of_another_shape_is_refused():
    y = cp.Variable(3)
    with pytest.raises(ValueError, match="shape"):
        price_of_privacy(ds.cube(2), LossSet(y, [y >= 0, y <= 1]), (1.0,), (4,))


@pytest.mark.slow
def test_a_declared_change_is_priced_beside_the_whole_round(tmp_path):
    X, Y = ds.simplex(3), box_losses(3)
    settings = {"settings": "full information", "losses": "const", "replicas": 8, "neighbours": ds.share(Y, 1000)}
    found = price_of_privacy(X, Y, 1.0, 64, **settings)
    private, whole = (found.row("full information", role, 64, 1.0) for role in ("private", "whole round"))
    alone = found.row("full information", "without privacy", 64)
    assert private.regret < 1.1 * alone.regret < whole.regret / 2
    assert "whole round" in str(found) and "paper:" not in str(found) and "whole round" in found._repr_html_()
    assert found.beside == "whole round" and "its eps" not in str(found) + found._repr_html_()
    kept = price_of_privacy(X, Y, 1.0, 64, folder=tmp_path, **settings)
    assert kept.rows == found.rows
    other = price_of_privacy(X, Y, 1.0, 64, folder=tmp_path, **(settings | {"neighbours": ds.share(Y, 2)}))
    assert other.row("full information", "private", 64, 1.0).regret > private.regret  # not taken from the folder
    with pytest.raises(ValueError, match="shape"):
        price_of_privacy(X, Y, 1.0, 64, neighbours=ds.share(box_losses(2), 10))


@pytest.mark.slow
def test_bounds_know_of_a_declared_change():
    X, Y = ds.simplex(3), box_losses(3)
    for setting in ("full information", "bandit"):
        whole, change = (bound_threshold(X, Y, setting, 2**12, 0.0, by) for by in ("replace", ds.share(Y, 100)))
        assert change.epsilon < whole.epsilon / 20
