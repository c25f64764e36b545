"""Certificates as events of dp-accounting, for whoever keeps accounts with that package; it need not be installed."""

from collections.abc import Iterable
from types import ModuleType
from typing import Any

from scipy.special import expit

from dpcvx.errors import ArgumentError

RELATIONS = ("ADD_OR_REMOVE_ONE", "REPLACE_ONE", "REPLACE_SPECIAL")  # in that package's words


def gaussian_event(mu: float, relation: str) -> Any:
    """Gaussian noise where the sensitivity is mu deviations.

    Under REPLACE_ONE that package takes one record out and puts another in, and so counts twice the sensitivity.
    """
    return _events().GaussianDpEvent((2 if relation == "REPLACE_ONE" else 1) / mu)


def pure_event(epsilon: float, relation: str) -> Any:
    """Whatever is (epsilon, 0)-private, at its worst: randomised response between two answers.

    It is told by the probability with which a fair coin is tossed instead of the truth.

    Raises:
        ArgumentError: where the relation is one under which that package takes randomised response for something else.
    """
    if relation != "REPLACE_ONE":
        raise ArgumentError(f"Pure privacy is an event of dp-accounting under REPLACE_ONE only, not under {relation}.")
    return _events().RandomizedResponseDpEvent(2 * float(expit(-epsilon)), 2)


def zcdp_event(rho: float) -> Any:
    """Whatever is rho-zCDP."""
    return _events().ZCDpEvent(rho)


def unprotected_event() -> Any:
    """Releases without noise."""
    return _events().NonPrivateDpEvent()


def composed_event(events: Iterable[Any]) -> Any:
    """Events over the same persons."""
    return _events().ComposedDpEvent(list(events))


def _events() -> ModuleType:
    """The module of events.

    Raises:
        ImportError: in a sentence, where the package is not installed.
    """
    try:
        from dp_accounting import dp_event
    except ImportError as error:
        raise ImportError("dp-accounting is not installed; pip install 'dpcvx[accounting]' brings it.") from error
    found: ModuleType = dp_event
    return found


def checked_relation(relation: str) -> str:
    """The name of a relation.

    Raises:
        ArgumentError: where that package has none of that name.
    """
    if relation not in RELATIONS:
        raise ArgumentError(f"relation must be one of {', '.join(RELATIONS)}, not {relation!r}.")
    return relation
