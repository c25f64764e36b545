"""Every learner coupled on neighbouring streams: what it shows is the same to the bit, and the price is in the claim.

A pairwise-covering sample of learner, noise and counter, neighbouring relation, set of the catalogue, loss set, epochs,
batches, checkpoints, rounds per person, sampler and kind of stream: nothing here is random, so nothing can be a false
alarm.
"""

from dataclasses import dataclass
from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from catalogue_sets import CATALOGUE
from covering import pairwise

from dpcvx import FTPL, FTRL, Exp2, LogBarrierBandit, LossSet, PrivateBandit, PrivateSums, SCRiBLe, couple, load, save
from dpcvx.privacy.audit import learner_outputs, worst_neighbours
from dpcvx.privacy.feedback import SecureFeedback

FACTORS = {
    "set": list(CATALOGUE),
    "learner": ["FTRL", "FTPL", "Exp2", "SCRiBLe", "LogBarrierBandit", "PrivateSums"],
    "noise": [(0.0, "smooth"), (0.0, "tree"), (1e-6, "toeplitz"), (1e-6, "smooth"), (1e-5, "tree")],
    "losses": ["box", "ball", "cross-polytope", "cut ball"],
    "neighbours": ["replace", "zero-out"],
    "stream": ["random", "worst", "outside"],
    "epochs": [False, True],
    "batch": [1, 3],
    "checkpoints": [False, True],
    "rounds_per_person": [1, 3],
    "sampler": ["opendp", "vector"],
}
ROWS = pairwise(FACTORS)
QUICK = {"simplex", "box", "ball, p = 2", "convex hull", "flow polytope", "capped simplex", "cube"}
SAMPLE = [row for row in ROWS if row["set"] in QUICK and row["losses"] != "cut ball"]
ROUNDS = {False: 9, True: 21}  # the first epoch has 16 rounds
BANDITS = {"Exp2": Exp2, "SCRiBLe": SCRiBLe, "LogBarrierBandit": LogBarrierBandit}


@cache
def decision_set(name):
    return CATALOGUE[name][0]()


@cache
def loss_set(kind, shape):
    loss = cp.Variable(shape)
    flat = cp.vec(loss, order="F")
    declared = {
        "box": [loss >= -1, loss <= 0.5],
        "ball": [cp.norm(flat, 2) <= 1],
        "cross-polytope": [cp.norm(flat, 1) <= 1.3],
        "cut ball": [cp.norm(flat, 2) <= 1, cp.sum(loss) <= 0.4, loss >= -0.8],
    }
    return LossSet(loss, declared[kind])


@dataclass(frozen=True)
class Setting:
    """One row of the sample: how to make the learner, and its streams."""

    row: dict

    @property
    def sets(self):
        X = decision_set(self.row["set"])
        return X, loss_set(self.row["losses"], X.shape)

    @property
    def bandit(self):
        """The bandit learner of the row; None for others, and where the set does not admit it."""
        kind = BANDITS.get(self.row["learner"])
        return None if kind is None or kind.refusal(*self.sets) else kind

    def make(self):
        X, Y = self.sets
        row, (delta, counter) = self.row, self.row["noise"]
        people = {key: row[key] for key in ("neighbours", "rounds_per_person", "sampler")}
        horizon = None if row["epochs"] else ROUNDS[False]
        if self.bandit is not None:
            learner = self.bandit(X, Y, ROUNDS[row["epochs"]])
            return PrivateBandit(learner, 1.0, batch=row["batch"], **people)
        if row["learner"] == "PrivateSums":
            return PrivateSums(Y, horizon, 1.0, delta, counter=counter, **people)
        kind = FTPL if row["learner"] == "FTPL" else FTRL  # which also plays where a set does not admit the bandit
        return kind(X, Y, horizon, 1.0, delta, counter=counter, **people)

    def streams(self):
        _, Y = self.sets
        row, rounds = self.row, ROUNDS[self.row["epochs"]]
        rng = np.random.default_rng(ROWS.index(row))
        size = {"random": 0.4, "worst": 0.4, "outside": 30.0}[row["stream"]]
        first = size * rng.standard_normal((rounds, *Y.shape))
        second, apart = first.copy(), [0, rounds - 2, rounds // 2][: row["rounds_per_person"]]  # in all epochs
        for item in apart:
            second[item] = size * rng.standard_normal(Y.shape)
            if row["stream"] == "worst":
                norm = 2 if row["noise"][0] and self.bandit is None else 1
                ends = worst_neighbours(Y, 1, row["neighbours"], norm=norm)
                first[item], second[item] = ends[0][0], ends[1][0]
            if row["neighbours"] == "zero-out":
                second[item] = 0.0
        return first, second


def through_files(path):
    """Save the learner and go on with what was loaded, every fourth round."""

    def between(learner, round):
        if round % 4 == 2:
            return load(saved(learner, path))
        return None

    return between


def saved(learner, path):
    """The path at which the learner was saved; what an earlier run left there is gone."""
    if not learner.lineage.places:
        for old in (path, path.with_name(f"{path.name}.generation")):
            old.unlink(missing_ok=True)
    save(learner, path)
    return path


def check(row, path, seed=0):
    setting = Setting(row)
    files = row["checkpoints"] and row["learner"] != "PrivateSums"
    found = couple(setting.make, *setting.streams(), between=through_files(path) if files else None, seed=seed)
    assert found.holds, (row, str(found))
    return found


def test_learners_show_nothing_but_their_releases_and_pay_what_they_claim(tmp_path):
    """A part of the sample, on sets that are made fast."""
    found = [check(row, tmp_path / "learner") for row in SAMPLE[::3]]
    assert len(found) > 8 and all(result.releases for result in found)
    assert max(result.price.epsilon for result in found) > 0.999  # and some streams are the worst ones


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CATALOGUE))
def test_every_set_of_the_catalogue_with_every_pair_of_features(name, tmp_path):
    for row in ROWS:
        if row["set"] == name:
            check(row, tmp_path / "learner", seed=1)


def test_the_sample_holds_every_pair_of_features():
    for a in FACTORS:
        for b in FACTORS:
            if a != b:
                pairs = {(str(row[a]), str(row[b])) for row in ROWS}
                assert len(pairs) == len(FACTORS[a]) * len(FACTORS[b])


# teeth: the same check on learners with a hole


ROW = {
    "set": "simplex",
    "learner": "Exp2",
    "noise": (0.0, "smooth"),
    "losses": "box",
    "neighbours": "replace",
    "stream": "outside",
    "epochs": False,
    "batch": 3,
    "checkpoints": True,
    "rounds_per_person": 1,
    "sampler": "vector",
}


@pytest.fixture
def setting(monkeypatch):
    monkeypatch.setattr(f"{__name__}.ROWS", [ROW])
    return Setting(ROW)


def test_feedback_that_is_not_clipped_is_caught(setting, monkeypatch):
    assert couple(setting.make, *setting.streams()).holds
    monkeypatch.setattr(SecureFeedback, "clipped", lambda self, value, interval: round(float(value) / self.grid.step))
    found = couple(setting.make, *setting.streams())
    assert not found.holds and found.price.epsilon > 2 and "releases cost" in found.overspent


def test_a_batch_that_is_released_twice_is_caught(setting, monkeypatch):
    release = SecureFeedback.release

    def twice(self, total, action, interval):
        release(self, total, action, interval)
        return release(self, total, action, interval)

    monkeypatch.setattr(SecureFeedback, "release", twice)
    first, second = np.zeros((2, 9, 5))
    first[0], second[0] = 0.5, -1.0  # the two ends of every interval
    found = couple(setting.make, first, second)
    assert not found.holds and found.price.epsilon == pytest.approx(2) and not found.differences


def test_a_checkpoint_that_is_continued_twice_is_caught(setting, tmp_path):
    """A state that goes on twice is paid once; here its side file is put back by hand."""
    path, side = tmp_path / "learner", tmp_path / "learner.generation"
    streams = setting.streams()

    def between(learner, round):
        if round == 2:
            saved(learner, path)
            before = side.read_text()
            action = learner.act()
            learner.update(float(np.vdot(losses[2], action)))  # the third round of the batch, whose sum is released
            side.write_text(before)
            return load(path)
        return None

    verdicts = []
    for item in (0, 4):  # in the batch that is released twice, and in another
        first, second = streams[0].copy(), streams[0].copy()
        first[item], second[item] = 0.5, -1.0
        losses = first
        verdicts.append(couple(setting.make, first, second, between=between))
    assert not verdicts[0].holds and verdicts[0].price.epsilon == pytest.approx(2 * verdicts[1].price.epsilon)
    assert verdicts[1].holds


def test_draws_of_a_learner_that_differ_between_runs_are_seen(setting):
    """A learner inside that draws by itself, from another seed each time, makes the runs different."""
    X, Y = setting.sets
    seeds = iter((1, 2))
    found = couple(lambda: PrivateBandit(Exp2(X, Y, 9, seed=next(seeds)), 1.0, batch=1), *setting.streams())
    assert any("act differs" in words for words in found.differences)


def test_a_bandit_is_sampled_by_learner_outputs():
    """`learner_outputs` gave a bandit the whole loss, which it refused."""
    X, Y = decision_set("simplex"), loss_set("box", (5,))
    stream = np.full((4, 5), 0.25)
    sampler = learner_outputs(lambda rng: PrivateBandit(Exp2(X, Y, 4, seed=rng), 1.0, batch=1, seed=rng), stream)
    outputs = sampler(np.random.default_rng(0), 3)
    assert outputs.shape == (3, 20) and set(np.unique(outputs)) == {0.0, 1.0}
