"""One run of a mechanism on a stream, written down: all that it showed, step by step, and all that it released.

It drives learners (`act`, `update`), private sums (`update`, `prefix`) and functions of the whole stream.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.audit.feeding import feedback
from dpcvx.privacy.audit.shown import Shown, looks, outcome
from dpcvx.privacy.noise.release import Release
from dpcvx.privacy.noise.script import scripted

Between = Callable[[Any, int], Any]


@dataclass(frozen=True)
class Step:
    """One step of a run.

    Attributes:
        round: from 1; 0 before the first.
        name: what was called.
        shown: all that could be seen after it.
        releases: how many releases there were by then.
        certificate: what was promised by then; None where nothing is.
    """

    round: int
    name: str
    shown: dict[str, Shown]
    releases: int
    certificate: Any


@dataclass(frozen=True)
class Transcript:
    """A run: its steps, and its releases in order."""

    steps: list[Step]
    releases: list[Release]


def run(make: Callable[[], Any], stream: Array, seed: int, between: Between | None = None) -> tuple[Any, Transcript]:
    """Make a mechanism on a script and run it on a stream (T, *shape); the mechanism as it was made, and the run.

    Raises:
        TypeError: where the mechanism is nothing that can be run.
    """
    with scripted(seed) as script:
        mechanism = make()
        recorder = _Recorder(mechanism, script.releases)
        if callable(getattr(mechanism, "act", None)) and callable(getattr(mechanism, "update", None)):
            drive = _play
        elif callable(getattr(mechanism, "update", None)) and hasattr(type(mechanism), "prefix"):
            drive = _sum
        elif callable(mechanism):
            drive = _call
        else:
            raise TypeError(
                f"make must return a learner (act, update), sums (update, prefix) or a function of the stream, "
                f"not a {type(mechanism).__name__}."
            )
        drive(recorder, stream, between)
    return mechanism, Transcript(recorder.steps, script.releases)


class _Recorder:
    """Calls a mechanism and writes down what it shows."""

    def __init__(self, mechanism: Any, releases: list[Release]) -> None:
        self.mechanism, self._releases = mechanism, releases
        self.steps: list[Step] = []

    def step(self, round: int, name: str, call: Callable[[], Any], *, look: bool = False) -> Any:
        """The value of a call, or the exception that it raised; what it shows is written down."""
        value, said = outcome(call)
        seen = {f"{name}{what}": bits for what, bits in said.items()}
        if look:
            seen |= looks(self.mechanism)
        certificate = getattr(self.mechanism, "certificate", None) if look else None
        self.steps.append(Step(round, name, seen, len(self._releases), certificate))
        return value

    def between(self, round: int, hook: Between | None) -> None:
        """Let the hook do what it does between rounds, and go on with the mechanism that it returns, if any."""
        if hook is not None:
            after = self.step(round, "between", lambda: hook(self.mechanism, round))
            if after is not None and not isinstance(after, Exception):
                self.mechanism = after


def _play(recorder: _Recorder, stream: Array, between: Between | None) -> None:
    for number, loss in enumerate(stream, 1):
        action = recorder.step(number, "act", lambda: recorder.mechanism.act())
        if not isinstance(action, Exception):
            given = feedback(recorder.mechanism, loss, action)
            recorder.step(number, "update", partial(recorder.mechanism.update, given), look=True)
        recorder.between(number, between)
    recorder.step(len(stream) + 1, "act", lambda: recorder.mechanism.act(), look=True)


def _sum(recorder: _Recorder, stream: Array, between: Between | None) -> None:
    recorder.step(0, "prefix", lambda: recorder.mechanism.prefix, look=True)
    for number, loss in enumerate(stream, 1):
        recorder.step(number, "update", partial(recorder.mechanism.update, loss))
        recorder.between(number, between)
        recorder.step(number, "prefix", lambda: recorder.mechanism.prefix, look=True)


def _call(recorder: _Recorder, stream: Array, between: Between | None) -> None:
    recorder.step(len(stream), "the function", lambda: recorder.mechanism(np.array(stream)))
