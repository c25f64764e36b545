"""Certificates as events of dp-accounting, for whoever keeps accounts with that package; it need not be installed."""

from collections.abc import Iterable
from types import ModuleType
from typing import Any

from scipy.special import expit


def gaussian_event(multiplier: float) -> Any:
    """Gaussian noise of so many times the sensitivity."""
    return _events().GaussianDpEvent(multiplier)


def pure_event(epsilon: float) -> Any:
    """Whatever is (epsilon, 0)-private, at its worst: randomised response between two answers.

    It is told by the probability with which a fair coin is tossed instead of the truth.
    """
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
