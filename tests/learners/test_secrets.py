"""No message, warning, repr or summary shows a loss, a value of feedback or a sum that was not released.

`update(np.array([0.73125]))` of a bandit printed the array in its error.
"""

import traceback
import warnings
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from loss_sets import ball_losses, box_losses

import decision_sets as ds
from dpcvx import FTPL, FTRL, DpcvxError, Exp2, LogBarrierBandit, PrivateBandit, SCRiBLe
from dpcvx.arrays import reals
from dpcvx.privacy.private_sums import PrivateSums
from dpcvx.studies.baselines.per_step_noise import PerStepNoise

SECRET, SHOWN = 0.73125, "73125"
SIZE, HORIZON = 3, 6


@cache
def sets():
    return ds.simplex(SIZE), box_losses(SIZE)


@cache
def curved():
    return ds.simplex(SIZE), ball_losses(SIZE, p=3, radius=2.0)


class Own:
    """A learner of a user, without anything that it need not have."""

    def act(self):
        return np.full(SIZE, 1 / SIZE)

    def update(self, value):
        self.last = value


def private(learner, **options):
    X, Y = sets()
    return PrivateBandit(learner, 1.0, loss_set=Y, decision_set=X, horizon=HORIZON, batch=2, **options)


PLAYERS = {
    "FTRL": lambda: FTRL(*sets(), HORIZON, 1.0),
    "FTRL, Gaussian": lambda: FTRL(*sets(), None, 1.0, 1e-6),
    "FTRL that raises": lambda: FTRL(*sets(), HORIZON, 1.0, on_violation="raise"),
    "FTRL on a curved set": lambda: FTRL(*curved(), HORIZON, 1.0, on_violation="raise"),
    "FTRL without privacy": lambda: FTRL(*sets(), HORIZON),
    "FTPL": lambda: FTPL(*sets(), HORIZON, 1.0, neighbours="zero-out"),
    "per-step noise": lambda: PerStepNoise(*sets(), HORIZON, 1.0),
    "Exp2": lambda: Exp2(*sets(), HORIZON, seed=0),
    "Exp2, replicas": lambda: Exp2(*sets(), HORIZON, seed=0, replicas=8),
    "SCRiBLe": lambda: SCRiBLe(*sets(), HORIZON, seed=0),
    "log-barrier": lambda: LogBarrierBandit(*sets(), HORIZON, seed=0),
    "private Exp2": lambda: private(Exp2(*sets(), HORIZON, seed=0)),
    "private SCRiBLe": lambda: private(SCRiBLe(*sets(), HORIZON, seed=0)),
    "private log-barrier": lambda: private(LogBarrierBandit(*sets(), HORIZON, seed=0)),
    "private learner of a user": lambda: private(Own()),
    "private Exp2, simulated": lambda: private(Exp2(*sets(), HORIZON, seed=0), seed=1),
    "private sums": lambda: PrivateSums(sets()[1], HORIZON, 1.0),
    "private sums that raise": lambda: PrivateSums(sets()[1], HORIZON, 1.0, on_violation="raise"),
}


class Telling:
    """An object whose words all show what it holds."""

    def __repr__(self):
        return f"Telling({SECRET})"

    __str__ = __repr__


class TellingArray(Telling):
    """One that NumPy asks for an array, and that fails with the value in its words."""

    def __array__(self, *_, **__):
        raise RuntimeError(f"{SECRET} has no array")


class TellingNumber(Telling):
    def __float__(self):
        raise TypeError(f"{SECRET} is no float")

    def __len__(self):
        raise TypeError(f"{SECRET} has no length")

    def __getitem__(self, key):
        raise TypeError(f"{SECRET}[{key}]")


WRONG = {
    "array of the wrong shape": np.full((2, 7), SECRET),
    "array of one": np.array([SECRET]),
    "flat array": np.full(SIZE + 1, SECRET),
    "list": [SECRET] * 5,
    "nested list": [[SECRET], [SECRET, [SECRET, SECRET]]],
    "text": str(SECRET),
    "texts": [str(SECRET)] * SIZE,
    "bytes": str(SECRET).encode(),
    "complex": complex(SECRET, SECRET),
    "complexes": np.full(SIZE, SECRET + 1j),
    "NaN beside it": np.array([SECRET, np.nan, SECRET]),
    "infinity beside it": [SECRET, float("inf"), SECRET],
    "objects": np.array([Telling()] * SIZE, dtype=object),
    "object": Telling(),
    "object with an array": TellingArray(),
    "object with a length": TellingNumber(),
    "list of objects": [Telling()] * SIZE,
    "numbers and an object": [SECRET, 10**400, Telling()],
    "decimal": Decimal(str(SECRET)),
    "fraction": Fraction(str(SECRET)),
    "mapping": {str(SECRET): SECRET},
    "set": {SECRET},
    "record": np.array([(SECRET, SECRET)], dtype=[("a", float), ("b", float)]),
    "none": None,
    "function": lambda: SECRET,
}


def told(error):
    """All words of an exception, of what is behind it and of the notes on it."""
    lines, seen = [], set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        lines += [str(error), repr(error), repr(error.args), *getattr(error, "__notes__", ())]
        lines += traceback.format_exception_only(error)
        for behind in (error.__cause__, error.__context__):
            lines += [] if behind is None else [str(behind), repr(behind)]
        error = error.__cause__ or error.__context__
    return "\n".join(lines)


def heard(player, given):
    """All that can be heard while a player takes something, and after it."""
    words = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            player.update(given)
        except (DpcvxError, ValueError) as error:
            words.append(told(error))
        words += [str(one.message) for one in caught]
        words += [repr(player), str(player), repr(getattr(player, "_turn", ""))]
        for name in ("summary", "certificate", "lineage"):
            value = getattr(player, name, "")
            words.append(str(value() if callable(value) else value))
    return "\n".join(words)


@pytest.mark.parametrize("name", PLAYERS)
def test_nothing_that_can_be_heard_shows_a_secret(name):
    player = PLAYERS[name]()
    words = heard(player, SECRET)  # out of turn, or of the wrong shape
    if hasattr(player, "act"):
        player.act()
    for given in WRONG.values():
        words += heard(player, given)
    assert getattr(player, "rounds", 0) == 0
    right = np.full(SIZE, SECRET) if getattr(player, "sees", "loss") == "loss" else SECRET
    for factor in (1.0, 1e5, -1e5):
        words += heard(player, factor * right)
        if hasattr(player, "act") and player.rounds and player._acted_in != player.rounds:
            player.act()
    words += heard(player, right) + heard(player, right)
    assert player.rounds >= 1
    assert SHOWN not in words


def test_that_test_would_notice():
    """The teeth: the error as it was, and a cause that is hidden from the reader but not from a program."""

    class Printing:
        rounds = 0

        def update(self, feedback):
            raise ValueError(f"The feedback must be finite numbers of shape (), not {feedback!r}.")

    class Chaining(Printing):
        def update(self, feedback):
            try:
                raise KeyError(feedback)
            except KeyError:
                raise ValueError("It cannot be read.") from None

    for player in (Printing(), Chaining()):
        assert SHOWN in heard(player, np.array([SECRET]))


@pytest.mark.parametrize("given", WRONG.values(), ids=WRONG)
def test_what_is_no_array_of_reals_is_refused_without_its_words(given):
    said = "The loss "
    try:
        reals(given, "loss")
    except ValueError as error:
        said = told(error)
    assert said.startswith("The loss ") and SHOWN not in said


# finite numbers of any size


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (10**20, 1e20),
        ([2**64, -1], [2.0**64, -1.0]),
        ([10**400, 0.5, -(10**400)], [1.7976931348623157e308, 0.5, -1.7976931348623157e308]),
        ([[True, 2**70]], [[1.0, 2.0**70]]),
        (
            np.longdouble("1e400") if np.finfo(np.longdouble).max > 1e308 else 1.7976931348623157e308,
            1.7976931348623157e308,
        ),
        ([10**400, float("inf")], [1.7976931348623157e308, np.inf]),
    ],
)
def test_numbers_beyond_the_range_become_the_largest(given, read):
    assert np.array_equal(reals(given, "loss"), np.array(read))


@pytest.mark.parametrize("huge", [10**25, 10**400, -(10**400)])
def test_a_huge_integer_is_clipped_like_any_finite_loss(huge):
    """Integers beyond 64 bits were refused: np.asarray makes objects of them."""
    Y = sets()[1]
    assert np.array_equal(Y.clip([huge, 0, 0.5]), [np.sign(huge), 0, 0.5])
    one, other = (PrivateSums(Y, HORIZON, 1.0, seed=0) for _ in range(2))
    one.update([huge, 0, 0.5])
    other.update(np.array([np.sign(huge), 0, 0.5], dtype=float))
    assert np.array_equal(one.prefix, other.prefix)


@pytest.mark.parametrize("huge", [10**25, 10**400, -(10**400)])
@pytest.mark.parametrize("kind", [Exp2, SCRiBLe, LogBarrierBandit])
def test_a_huge_integer_is_clipped_like_any_finite_feedback(kind, huge):
    one, other = (private(kind(*sets(), HORIZON, seed=0), seed=1) for _ in range(2))
    for value in (huge, 0):
        assert np.array_equal(one.act(), other.act())
        one.update(value)
        other.update(float(np.clip(float(np.sign(huge)) * 1e25, -1e300, 1e300)) if value else 0.0)
    assert np.array_equal(one.act(), other.act())
    secure = private(kind(*sets(), HORIZON, seed=0))
    secure.act()
    secure.update(huge)
    assert secure.rounds == 1
    alone = kind(*sets(), HORIZON, seed=0)
    alone.act()
    alone.update(huge)
    assert alone.rounds == 1 and np.isfinite(alone.act()).all()
