"""The simulation loop: exact regret, honest bands, learners of every kind, and what it prints."""

import io
import os
import pickle
import subprocess
import sys
from dataclasses import dataclass, replace

import cvxpy as cp
import matplotlib as mpl
import numpy as np
import pytest

import decision_sets as ds
from dpcvx import FTRL, CheckpointError, DecisionSet, HorizonError, LossSet
from dpcvx.experiments import simulation
from dpcvx.experiments.losses import GENERATORS, altdrift, coins, const, from_array
from dpcvx.experiments.replicas import players
from dpcvx.experiments.simulation import SimulationState, play_on, simulate

mpl.use("Agg")
N = 6
X = ds.simplex(N)
VARIABLE = cp.Variable(N)
Y = LossSet(VARIABLE, [VARIABLE >= -1, VARIABLE <= 1])


@dataclass(frozen=True)
class Bound:
    learning: float
    privacy: float

    @property
    def total(self):
        return self.learning + self.privacy


class Hedge:
    """Softmax of the sum of the losses plus Gaussian noise that every replica draws once."""

    name = "Hedge"
    decision_set, loss_set, certificate = X, Y, None

    def __init__(self, horizon, rate=1.0, deviation=0.0, sign=1, replicas=None, seed=None):
        self.horizon, self._settings = horizon, (rate, deviation, sign)
        learning = np.sqrt(2 * horizon * np.log(N))
        self.regret_bound = Bound(learning, 0.0)
        self._rate = sign * rate * learning / horizon
        self._total = np.zeros(N)
        if replicas is not None:
            self._total = deviation * np.random.default_rng(seed).standard_normal((replicas, N))

    def simulated(self, replicas, seed):
        return Hedge(self.horizon, *self._settings, replicas, seed)

    def act(self):
        score = -self._rate * self._total
        weights = np.exp(score - score.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)

    def update(self, loss):
        self._total = self._total + loss


class Center:
    """Always plays the center; one replica."""

    horizon = None

    def __init__(self, decision_set):
        self.decision_set = decision_set

    def act(self):
        return self.decision_set.center

    def update(self, loss):
        pass


def test_regret_is_taken_against_the_best_point_at_every_checkpoint():
    losses = coins(X, Y, 1000, seed=1)
    result = simulate(Hedge(1000), losses, checkpoints=20)
    rows = losses.block(0, 1000)
    plays, learner = [], Hedge(1000)
    for row in rows:
        plays.append(learner.act())
        learner.update(row)
    incurred, sums = np.cumsum(np.sum(rows * plays, axis=1)), np.cumsum(rows, axis=0)
    assert result.rounds[0] == 1 and result.rounds[-1] == 1000 and np.all(np.diff(result.rounds) > 0)
    assert result.regret.shape == (1, len(result.rounds))
    assert np.allclose(result.regret[0], (incurred - sums.min(axis=1))[result.rounds - 1], atol=1e-9)


def matrices():
    variable = cp.Variable((3, 3), symmetric=True)
    return ds.spectrahedron(3), LossSet(variable, [cp.sigma_max(variable) <= 1])


def rectangles():
    variable = cp.Variable((3, 2))
    return ds.nuclear_ball(3, 2), LossSet(variable, [cp.norm(variable, "fro") <= 1])


def numbers():
    x, v = cp.Variable(), cp.Variable()
    return DecisionSet(x, [x >= -1, x <= 2]), LossSet(v, [v >= -1, v <= 1])


@pytest.mark.parametrize("sets", [matrices, rectangles, numbers])
def test_the_center_has_the_regret_of_the_center_on_any_shape(sets):
    decisions, allowed = sets()
    losses = coins(decisions, allowed, 60)
    result = simulate(lambda seed: Center(decisions), losses, replicas=2, checkpoints=[7, 60])
    for column, stop in enumerate((7, 60)):
        total = losses.block(0, stop).sum(axis=0)
        expected = np.sum(total * decisions.center) - np.sum(total * decisions.argmin(total))
        assert np.allclose(result.regret[:, column], expected, atol=1e-7)
    assert result.learner == "Center" and result.bound is None and result.certificate is None


@pytest.mark.parametrize("generator", GENERATORS)
def test_a_good_learner_stays_below_its_bound(generator):
    result = simulate(Hedge(512), GENERATORS[generator](X, Y, 512))
    assert result.final <= result.bound.total
    assert np.all(result.mean <= result.bound.total)


@pytest.mark.parametrize("broken", [{"rate": 100.0}, {"sign": -1}])
def test_a_broken_learner_exceeds_its_bound_somewhere(broken):
    finals = [simulate(Hedge(512, **broken), make(X, Y, 512)).final for make in GENERATORS.values()]
    assert max(finals) > 1.5 * Hedge(512).regret_bound.total


def test_replicas_are_independent_and_a_seed_repeats_them():
    learner, losses = Hedge(200, deviation=20.0), const(X, Y, 200)
    first, again, other = (simulate(learner, losses, replicas=40, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.regret, again.regret)
    assert not np.array_equal(first.regret, other.regret)
    assert len(np.unique(first.regret[:, -1])) == 40


def test_a_factory_gets_one_child_seed_a_replica():
    seeds = []

    def factory(seed):
        seeds.append(seed)
        return Center(X)

    losses = coins(X, Y, 50)
    simulate(factory, losses, replicas=5, seed=3)
    simulate(factory, losses, replicas=5, seed=3)
    assert len(set(seeds[:5])) == 5 and seeds[:5] == seeds[5:]


def test_one_learner_with_replicas_equals_many_with_one():
    losses = altdrift(X, Y, 300)

    class One(Hedge):
        def act(self):
            return super().act()[0]

    together = simulate(Hedge(300), losses, replicas=3)
    apart = simulate(lambda seed: One(300, replicas=1, seed=seed), losses, replicas=3)
    assert np.allclose(together.regret, apart.regret, atol=1e-10)
    assert apart.bound == together.bound


def test_the_state_is_all_that_the_loop_remembers():
    losses, rounds = coins(X, Y, 1500), np.array([1, 10, 700, 1500])
    learner, state = players(Hedge(1500, deviation=5.0), 4, 0)[1], SimulationState.start(4, (N,), 4)
    stops = []
    while state.round < 1500:
        play_on(state, learner, losses, rounds, X)
        learner, state = pickle.loads(pickle.dumps((learner, state)))
        stops.append(state.round)
    direct = simulate(Hedge(1500, deviation=5.0), losses, replicas=4, checkpoints=rounds)
    assert stops == [1, 10, 256, 512, 700, 768, 1024, 1280, 1500]
    assert np.array_equal(state.regret, direct.regret)


def test_an_array_will_do_for_losses():
    rows = coins(X, Y, 30).block(0, 30)
    assert np.array_equal(simulate(Hedge(30), rows).regret, simulate(Hedge(30), from_array(rows)).regret)


class Untouchable(Hedge):
    def act(self):
        raise AssertionError("a round was played")

    def simulated(self, replicas, seed):
        return self


def test_wrong_settings_are_refused_before_the_first_round():
    with pytest.raises(HorizonError, match="There are 101 losses, but the learner's horizon is 100"):
        simulate(Untouchable(100), coins(X, Y, 101))
    with pytest.raises(ValueError, match=r"Losses have shape \(3,\) and decisions \(6,\)"):
        simulate(Untouchable(100), np.ones((10, 3)))
    with pytest.raises(ValueError, match="replicas"):
        simulate(Untouchable(100), coins(X, Y, 10), replicas=0)
    with pytest.raises(ValueError, match="There are 10 rounds, but a checkpoint is 11"):
        simulate(Untouchable(100), coins(X, Y, 10), checkpoints=[11])
    with pytest.raises(ValueError, match="checkpoints"):
        simulate(Untouchable(100), coins(X, Y, 10), checkpoints=0)
    with pytest.raises(ValueError, match="simulated"):
        simulate("FTRL", coins(X, Y, 10))
    with pytest.raises(ValueError, match="decision_set"):
        simulate(lambda seed: object(), coins(X, Y, 10))


def test_an_action_of_the_wrong_shape_is_refused():
    class Flat(Hedge):
        def simulated(self, replicas, seed):
            return Hedge(self.horizon)  # without a leading axis

    with pytest.raises(ValueError, match=r"act\(\) returned an array of shape \(6,\); expected \(1, 6\)"):
        simulate(Flat(10), coins(X, Y, 10))


def test_mean_error_and_band_describe_the_replicas():
    result = simulate(Hedge(200, deviation=20.0), const(X, Y, 200), replicas=50)
    lower, upper = result.band(0.8)
    inside = (result.regret >= lower) & (result.regret <= upper)
    assert np.allclose(inside.mean(axis=0), 0.8, atol=0.05)
    assert np.allclose(result.standard_error, result.regret.std(axis=0, ddof=1) / np.sqrt(50))
    assert result.final == result.mean[-1] and result.replicas == 50
    assert np.isnan(simulate(Hedge(10), coins(X, Y, 10)).standard_error).all()
    with pytest.raises(ValueError, match="level"):
        result.band(90)


def test_the_result_prints_as_a_short_table():
    result = simulate(Hedge(1000), altdrift(X, Y, 1000), replicas=3)
    text, html = str(result), result._repr_html_()
    assert "Hedge on altdrift: 1000 rounds, 3 replicas" in text and "proved bound" in text
    assert 4 < len(text.splitlines()) <= 14 and f"{result.final:.5g}" in text
    assert html.count("<tr>") == len(text.splitlines()) - 2 and "Hedge on altdrift" in html
    assert "no proved bound" in str(simulate(lambda seed: Center(X), coins(X, Y, 1)))


def test_plot_shows_mean_band_and_bound_where_that_fits():
    from matplotlib import pyplot

    result = simulate(Hedge(100, deviation=3.0), coins(X, Y, 100), replicas=5)
    ax = result.plot(bound=True)
    assert np.array_equal(ax.lines[0].get_ydata(), result.mean)
    assert ax.lines[1].get_ydata()[0] == result.bound.total
    assert len(ax.collections) == 1
    assert simulate(Hedge(100), coins(X, Y, 100)).plot(ax, bound=False, label="mine") is ax and len(ax.lines) == 3
    assert ax.get_legend_handles_labels()[1][-1] == "mine"
    top = result.band()[1].max()
    near, far = (replace(result, bound=Bound(factor * top, 0.0)) for factor in (1.9, 2.1))
    assert len(near.plot(ax).lines) == 5 and len(far.plot(ax).lines) == 6
    pyplot.close(ax.figure)


def test_a_run_is_labelled_by_learner_epsilon_and_counter():
    losses = coins(X, Y, 8)
    private = simulate(FTRL(X, Y, 8, 0.5, counter="tree"), losses)
    gaussian = simulate(FTRL(X, Y, 8, 0.5, 1e-6), losses)
    assert private.label == "FTRL, epsilon = 0.5, binary tree"
    assert gaussian.label.startswith("FTRL, epsilon = 0.5, delta = 1e-06, ")
    assert simulate(FTRL(X, Y, 8), losses).label == "FTRL, no privacy"
    assert simulate(Hedge(8), losses).label == "Hedge"


def test_replicas_of_a_deterministic_learner_are_played_once(monkeypatch):
    played = []
    simulated = FTRL.simulated
    monkeypatch.setattr(FTRL, "simulated", lambda self, n, seed: played.append(n) or simulated(self, n, seed))
    losses = altdrift(X, Y, 64)
    alone, several = simulate(FTRL(X, Y, 64), losses), simulate(FTRL(X, Y, 64), losses, replicas=5)
    private = simulate(FTRL(X, Y, 64, 1.0), losses, replicas=5)
    assert played == [1, 1, 5]
    assert several.replicas == 5 and np.array_equal(several.regret, np.repeat(alone.regret, 5, axis=0))
    assert len(np.unique(private.regret[:, -1])) == 5


def test_pandas_is_asked_for_only_when_it_is_needed(monkeypatch):
    result = simulate(Hedge(20), coins(X, Y, 20), replicas=2, checkpoints=[5, 20])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_pandas needs pandas"):
        result.to_pandas()

    class Pandas:
        DataFrame = staticmethod(dict)

    monkeypatch.setitem(sys.modules, "pandas", Pandas)
    frame = result.to_pandas()
    assert list(frame) == ["learner", "losses", "replica", "round", "regret"]
    assert frame["round"].tolist() == [5, 20, 5, 20] and frame["replica"].tolist() == [0, 0, 1, 1]
    assert np.array_equal(frame["regret"], result.regret.ravel())


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_progress_bar_is_for_terminals(monkeypatch, capsys):
    losses = coins(X, Y, 600)
    simulate(Hedge(600), losses)
    assert capsys.readouterr() == ("", "")
    for progress, shown in ((None, True), (False, False)):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        simulate(Hedge(600), losses, progress=progress)
        assert ("100 %  600/600  took 0:00" in terminal.getvalue()) == shown
        assert terminal.getvalue().endswith("\n") == shown


KILL_AND_RESUME = """
import os, signal, sys
from pathlib import Path
import cvxpy as cp
import numpy as np
import decision_sets as ds
from dpcvx import FTPL, FTRL, LossSet, simulate
from dpcvx.experiments.losses import altdrift

rounds, path = 1000, Path(sys.argv[1])
loss = cp.Variable(6)
Y = LossSet(loss, [loss >= -1, loss <= 1])
x = cp.Variable(6, nonneg=True)
polytope = ds.polytope(np.eye(6)[:2] + 0.3, np.full(2, 0.9), lower=0, upper=1)
learners = [FTRL(ds.simplex(6), Y, rounds, epsilon=1.0), FTPL(ds.simplex(6), Y, rounds, epsilon=1.0, delta=1e-6),
            FTRL(ds.cube(6), Y, None, epsilon=1.0, counter="tree"), FTPL(polytope, Y, 60, epsilon=1.0)]
rng = np.random.default_rng(0)
for run in range(10):
    learner = learners[run % len(learners)]
    length = learner.horizon or rounds
    losses = altdrift(learner.decision_set, Y, length, seed=run)
    whole = simulate(learner, losses, 3, seed=run)
    last = int(rng.integers(1, length))
    child = os.fork()
    if child == 0:
        played, kind = 0, type(learner)
        update = kind.update
        def dies(self, feedback):
            global played
            played += 1
            if played == last:
                os.kill(os.getpid(), signal.SIGKILL)
            update(self, feedback)
        kind.update = dies
        simulate(learner, losses, 3, seed=run, resume=path, save_seconds=0)
        os._exit(1)  # it should have died
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert path.exists() == (last > 1)  # the first checkpoint of the curve is round 1
    resumed = simulate(learner, losses, 3, seed=run, resume=path, save_seconds=0)
    assert not path.exists()
    assert resumed.regret.tobytes() == whole.regret.tobytes(), run
    assert resumed.certificate == whole.certificate
print("bit-identical")
"""


@pytest.mark.slow
def test_a_run_killed_at_a_random_round_resumes_to_the_same_bits(tmp_path):
    """SIGKILL at a random round, ten times, over different learners and sets."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", KILL_AND_RESUME, str(tmp_path / "run")]
    answer = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert answer.stdout == "bit-identical\n", answer.stderr


@pytest.mark.sampled(3)
@pytest.mark.parametrize("change", ["learner", "set", "losses", "seed", "replicas", "checkpoints", "key", "nothing"])
def test_a_kept_run_is_not_continued_by_another(tmp_path, monkeypatch, change):
    path = tmp_path / "run"
    x = cp.Variable(N, nonneg=True)
    capped = [DecisionSet(x, [cp.sum(x) == 1, x[i] <= 0.4]) for i in (0, 1)]
    call = {
        "learner": FTRL(capped[0], Y, 1000, epsilon=1.0),
        "losses": coins(capped[0], Y, 1000, seed=1),
        "replicas": 2,
        "seed": 3,
        "checkpoints": 5,
        "resume_key": "",
    }
    other = {
        "learner": {"learner": FTRL(capped[0], Y, 1000, epsilon=2.0)},
        "set": {"learner": FTRL(capped[1], Y, 1000, epsilon=1.0)},
        "losses": {"losses": coins(capped[0], Y, 1000, seed=2)},
        "seed": {"seed": 4},
        "replicas": {"replicas": 3},
        "checkpoints": {"checkpoints": 6},
        "key": {"resume_key": "other"},
        "nothing": {},
    }[change]
    played = simulation.play_on

    def stops(state, *rest):
        if state.round > 500:
            raise KeyboardInterrupt
        played(state, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(simulation, "play_on", stops)
        with pytest.raises(KeyboardInterrupt):
            simulate(**call, resume=path, save_seconds=0)
    assert path.exists()
    if change == "nothing":
        assert np.array_equal(simulate(**call, resume=path).regret, simulate(**call).regret)
        return
    with pytest.raises(CheckpointError, match="another run"):
        simulate(**{**call, **other}, resume=path)


def test_a_secure_learner_is_not_kept(tmp_path):
    with pytest.raises(ValueError, match="save and load"):
        simulate(lambda seed: FTRL(X, Y, 10, epsilon=1.0), coins(X, Y, 10), resume=tmp_path / "run")
    with pytest.raises(CheckpointError, match="no folder"):
        simulate(FTRL(X, Y, 10, epsilon=1.0), coins(X, Y, 10), resume=tmp_path / "none" / "run")
