"""Each property of `check_learner` by itself: what breaks it alone, and what it lets pass."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from broken_learners import BROKEN, Follower, N, X, Y, ftrl
from loss_sets import box_losses

import decision_sets as ds
from dpcvx import FTRL, Exp2, HorizonError, LearnerCheckError, LogBarrierBandit, check_learner
from dpcvx.learners.check import PROPERTIES, interruption, memory
from dpcvx.learners.check.subject import Broken, Subject, refused

QUICK = [one for one in BROKEN if one[1] != "interruption"]


@pytest.mark.parametrize(("make", "failed", "words"), QUICK, ids=lambda one: getattr(one, "__name__", None))
def test_the_property_that_is_broken_says_so_by_itself(make, failed, words):
    with pytest.raises((Broken, HorizonError), match=words.removeprefix("HorizonError: ")):
        PROPERTIES[failed](Subject(make))


@pytest.mark.parametrize("name", [one for one in PROPERTIES if one != "interruption"])
@pytest.mark.parametrize(
    "make", [Follower, ftrl(FTRL), lambda seed: Exp2(X, Y, 50, seed=seed)], ids=["own", "FTRL", "Exp2"]
)
def test_a_sound_learner_has_each_property_or_is_told_why_it_is_not_asked(make, name):
    said = PROPERTIES[name](Subject(make))
    assert (
        said is None
        or said.startswith("it has no ")
        or said in ("it makes no replicas by simulated(replicas, seed)", "it is not secure")
    )


def attributed(**given):
    return lambda seed: type("Odd", (Follower,), given)(seed)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"act": None}, "it has no method act"),
        ({"decision_set": "simplex"}, "its decision_set must be a DecisionSet"),
        ({"sees": "all"}, 'sees must be "loss" or "value", not \'all\''),
        ({"horizon": 0}, "whole number of at least 1, not 0"),
        ({"horizon": 2.5}, r"whole number of at least 1, not 2\.5"),
    ],
)
def test_an_interface_in_unknown_words_is_named(given, words):
    with pytest.raises(Broken, match=words):
        PROPERTIES["interface"](Subject(attributed(**given)))
    for right in ({"sees": "value"}, {"horizon": 1}, {"horizon": None}):
        assert PROPERTIES["interface"](Subject(attributed(**right))) is None


def test_an_error_of_the_learner_is_told_with_the_property_that_met_it():
    def act(self):
        raise ZeroDivisionError("by nothing")

    with pytest.raises(LearnerCheckError, match=r"Odd fails the check of actions: it raised ZeroDivisionError: by not"):
        check_learner(attributed(act=act))


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (1,)])
def test_feedback_of_a_wrong_shape_is_one_entry_longer_for_losses_of_any_shape(shape):
    cells, losses = ds.box(np.zeros(shape), np.ones(shape)), box_losses(shape)
    assert PROPERTIES["wrong feedback"](Subject(lambda seed: FTRL(cells, losses, 8, seed=seed))) is None


def test_feedback_that_is_wrong_is_tried_in_five_ways():
    """Each of which alone is found: a learner that takes one of them in is named by it."""
    ways = {
        "NaN": np.isnan,
        "an infinity": np.isinf,
        "a text": lambda x: x.dtype.kind == "U",
        "None": lambda x: x[()] is None,
    }
    for name, found in ways.items():

        class Lenient(Follower):
            def read(self, loss, found=found):
                taken = np.asarray(loss)
                try:
                    wanted = bool(np.any(found(taken)))
                except TypeError:
                    wanted = False
                return np.zeros(N) if wanted else super().read(loss)

        with pytest.raises(Broken, match=f"an update with {name} raised nothing"):
            PROPERTIES["wrong feedback"](Subject(Lenient))


def test_a_refusal_of_another_kind_is_no_refusal():
    def wrong():
        raise KeyError("x")

    with pytest.raises(Broken, match="a call raised KeyError; it must raise ValueError or TypeError"):
        refused(wrong, (ValueError, TypeError), "a call")
    with pytest.raises(Broken, match="a call raised nothing; it must raise ValueError"):
        refused(lambda: None, (ValueError,), "a call")


class Bystander(Follower):
    """Leans to an arm by what it was told; in one round its last replica hears what the first one was told."""

    sees, heard = "value", 0

    def simulated(self, replicas, seed):
        return type(self)(seed, replicas)

    def act(self):
        leaning = 0.1 * np.tanh(np.asarray(self.state[1])[..., :1])
        return X.center + leaning * np.array([1.0, -1.0, 0.0, 0.0]) + 0.0 * super().act()

    def read(self, value):
        told = np.asarray(value) + np.zeros(self.leading)
        if self.leading and self.state[0] == self.heard:
            told[-1] = told[0]
        return told[..., None]


@pytest.mark.parametrize("heard", [0, 20, 38, None])
def test_one_replica_that_learns_once_from_another_within_forty_rounds_is_enough(heard):
    subject = Subject(type("Once", (Bystander,), {"heard": heard}))
    if heard is None:
        assert PROPERTIES["replicas"](subject) is None
    else:
        with pytest.raises(Broken, match="what one replica is told changes what others play"):
            PROPERTIES["replicas"](subject)


def test_replicas_that_no_learner_inside_makes_are_not_asked_for():
    class Wrapper(Follower):
        def simulated(self, replicas, seed):
            raise ValueError("the one inside makes none")

    assert memory.simulated(Wrapper(0), 3, 0) is None
    assert PROPERTIES["replicas"](Subject(Wrapper)) == "it makes no replicas by simulated(replicas, seed)"


def test_learners_whose_runs_without_a_seed_are_equal_need_not_differ_by_seeds():
    class Fixed(Follower):
        def noise(self):
            return np.zeros((*self.leading, N))

    assert PROPERTIES["reproducibility"](Subject(Fixed)) is None


def stating(**changed):
    """FTRL whose certificate says otherwise; `to_dict` as a function of what it says."""

    class Stating(FTRL):
        @property
        def certificate(self):
            found = super().certificate
            return replace(found, **{name: value(found) for name, value in changed.items()})

    return ftrl(Stating)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"horizon": lambda c: 17}, "after 2 of 16 rounds its certificate says 2 of 17"),
        ({"rounds": lambda c: c.rounds + 1}, "after 2 of 16 rounds its certificate says 3 of 16"),
        ({"secure": lambda c: True}, "it was made with a seed, and its certificate claims to be secure"),
    ],
)
def test_a_certificate_that_states_something_untrue_is_named(changed, words):
    with pytest.raises(Broken, match=words):
        PROPERTIES["certificate"](Subject(stating(**changed)))


@pytest.mark.parametrize(
    ("record", "passes"),
    [
        ({"secure": False, "epsilon": 1.0}, True),
        ({"secure": True, "epsilon": 1.0}, False),
        ({"secure": False, "epsilon": 0.5}, False),
        ({"secure": False}, False),
        ({"epsilon": 1.0}, False),
    ],
)
@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_a_record_says_what_its_certificate_says_and_has_none_for_infinity(record, passes, epsilon):
    stated = {"epsilon": None} if "epsilon" in record and record["epsilon"] == 1.0 and math.isinf(epsilon) else {}

    class Certificate(SimpleNamespace):
        def __str__(self):
            return "simulation: not private"

        def to_dict(self):
            return {**record, **stated}

    class Recorded(Follower):
        @property
        def certificate(self):
            return Certificate(secure=False, epsilon=epsilon, horizon=None, rounds=self.state[0])

    subject = Subject(Recorded)
    if passes:
        assert PROPERTIES["certificate"](subject) is None
    else:
        with pytest.raises(Broken, match="to_dict of its certificate differs"):
            PROPERTIES["certificate"](subject)


def test_a_secure_certificate_must_not_say_that_nothing_is_private():
    class Contrary(FTRL):
        @property
        def certificate(self):
            found = super().certificate
            return replace(found, notes=(*found.notes, "not private")) if found.secure else found

    with pytest.raises(Broken, match='its certificate with secure = True says "not private"'):
        PROPERTIES["certificate"](Subject(ftrl(Contrary)))


def test_runs_go_to_the_horizon_and_not_beyond_what_can_be_played():
    played = []

    class Counting(LogBarrierBandit):
        def act(self):
            played.append(self.rounds)
            return super().act()

    for horizon in (256, 257):
        played.clear()
        said = PROPERTIES["horizon"](Subject(lambda seed, T=horizon: Counting(X, Y, T, seed=seed)))
        assert (said is None) == (horizon == 256) and len(played) == (2 * 257 if horizon == 256 else 0)


class Twins:
    """Answers of two learners that play alike until a round."""

    def __init__(self, apart):
        self.rounds, self._apart = 0, apart

    def call(self, method, *_):
        self.rounds += method == "act"
        return np.zeros(2), np.full(2, float(self.rounds == self._apart))


@pytest.mark.parametrize("apart", [1, 2, 7])
def test_the_round_in_which_a_disturbed_learner_plays_otherwise_is_named(apart):
    subject = SimpleNamespace(rounds=lambda most: min(most, 9), feedback=lambda t, action: None)
    with pytest.raises(Broken, match=rf"otherwise in round {apart} than"):
        interruption._play(subject, Twins(apart))
    interruption._play(subject, Twins(10))
