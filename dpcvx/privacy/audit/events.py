"""Events that tell two streams apart: thresholds on a score, chosen on one half of the runs and judged on the other."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.audit.confidence import CONFIDENCE, epsilon_lower_bound

Score = Callable[[Array], Array]  # (n, features) -> (n,), large where the first stream is likelier
_CANDIDATES = 80


@dataclass(frozen=True)
class Event:
    """A score at least, or at most, a threshold; `favours` names the stream under which it is the likelier."""

    threshold: float
    favours: str  # "first": score >= threshold; "second": score <= threshold

    def count(self, scores: Array) -> int:
        """How many of the scores are in the event."""
        inside = scores >= self.threshold if self.favours == "first" else scores <= self.threshold
        return int(inside.sum())


def choose_event(first: Array, second: Array, *, delta: float = 0.0, confidence: float = CONFIDENCE) -> Event:
    """The event that would give the largest lower bound on epsilon on runs like these.

    The bound of the chosen event on the same runs is too large; only that on fresh runs is valid.

    Args:
        first, second: scores of as many runs on the first and on the second stream.
    """
    return _best(first, second, delta, confidence)[1]


def best_event(first: Array, second: Array, *, delta: float = 0.0, confidence: float = CONFIDENCE) -> tuple[int, Event]:
    """The score that gives the largest lower bound by an event of its own, counted from 0, and that event.

    Args:
        first, second: (scores, n), every score of as many runs on the first and on the second stream.
    """
    found = [_best(a, b, delta, confidence) for a, b in zip(first, second, strict=True)]
    best = int(np.argmax([bound for bound, _ in found]))
    return best, found[best][1]


def _best(first: Array, second: Array, delta: float, confidence: float) -> tuple[float, Event]:
    """The event of one score with the largest bound, and that bound."""
    n = len(first)
    tails = np.geomspace(1 / n, 0.5, _CANDIDATES)
    levels = np.concatenate([tails, 1 - tails])
    thresholds = np.unique(np.concatenate([np.quantile(first, levels), np.quantile(second, levels)]))
    slack = 1e-9 * max(float(np.ptp(thresholds)), 1e-300)  # keeps an atom whole in spite of rounding
    ordered = np.sort(first), np.sort(second)
    above = [n - np.searchsorted(scores, thresholds - slack, side="left") for scores in ordered]
    below = [np.searchsorted(scores, thresholds + slack, side="right") for scores in ordered]
    for_first = epsilon_lower_bound(above[0], above[1], n, delta=delta, confidence=confidence)
    for_second = epsilon_lower_bound(below[1], below[0], n, delta=delta, confidence=confidence)
    if for_first.max() >= for_second.max():
        return float(for_first.max()), Event(float(thresholds[for_first.argmax()] - slack), "first")
    return float(for_second.max()), Event(float(thresholds[for_second.argmax()] + slack), "second")
