"""A sentence on privacy that protects next to nothing, told once where it is asked for."""

import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dpcvx.errors import WeakPrivacyWarning

LARGE_EPSILON = 20.0  # e^20: whoever sees the actions may be half a billion times as sure
LARGE_DELTA = 1e-3  # one release in a thousand may show everything

_told: ContextVar[bool] = ContextVar("told", default=False)


def weakness(epsilon: float, delta: float = 0.0) -> str | None:
    """What so much epsilon or delta protects, in a sentence; None where both are usual."""
    said = []
    if epsilon > LARGE_EPSILON:
        odds = f"e^{epsilon:.4g} = {math.exp(epsilon):.1g}" if epsilon < 700 else f"e^{epsilon:.4g}"
        said.append(f"epsilon = {epsilon:.6g} lets actions make a guess about a person's data {odds} times as likely")
    if delta > LARGE_DELTA:
        said.append(f"delta = {delta:.6g} allows everything to be shown once in {1 / delta:.3g} runs")
    return f"{', and '.join(said)}: that is next to no protection." if said else None


def warn_if_weak(epsilon: float, delta: float = 0.0) -> None:
    """Warn whoever called the package of an epsilon above 20 or a delta above 1/1000."""
    sentence = weakness(epsilon, delta)
    if sentence is not None and not _told.get():
        warnings.warn(sentence, WeakPrivacyWarning, stacklevel=_outside())


@contextmanager
def told_once(epsilon: float, delta: float = 0.0) -> Iterator[None]:
    """Warn now where it is due, and not again inside, where several learners are made to choose from."""
    warn_if_weak(epsilon, delta)
    token = _told.set(True)
    try:
        yield
    finally:
        _told.reset(token)


def _outside() -> int:
    """The stack level, as seen from the caller, of the first frame that is not the package's own."""
    level, frame = 1, sys._getframe(1)
    own = __name__.partition(".")[0]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (own, "contextlib"):
        frame, level = frame.f_back, level + 1
    return level
