"""Interruptions on purpose: calls are cut off at one of their steps, as Ctrl-C does, to see what they leave behind.

A step is a line, or the return from a function, in the package or in the learner's own modules. Declared sets are left
out: all learners on a set share it, and a solver that was cut off may give another one of several best answers.
"""

import gc
import math
import pickle
import random
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dpcvx.errors import ProtocolError
from dpcvx.learners.check.memory import REPLICAS, simulated
from dpcvx.learners.check.subject import SEED, Broken, Subject
from dpcvx.privacy.noise import SimulatedSource
from dpcvx.sets import DecisionSet, LossSet

_TIMES = 48  # that `act`, and `update`, are interrupted
_PAIRS = 8  # learners, each beside an undisturbed twin, on which that is done
_TOGETHER = 12  # rounds of a pair: less than an epoch, with which generators may be renewed
_CLOSE = 1e-7  # between the actions of twins, one of which may have computed them from another start
_LEFT_OUT = ("dpcvx.sets", "dpcvx.barriers", "dpcvx.learners.check")
_NOT_ENTERED = (type, types.ModuleType, types.FunctionType, np.ndarray, DecisionSet, LossSet)


def interruptions(subject: Subject) -> str | None:
    """A call that is interrupted leaves the old state or the new one.

    A learner beside an undisturbed twin is interrupted in call after call, each time at another step; then the call is
    made again, unless it was over. Both must play the same. Where privacy is at stake it may also refuse to go on.
    Replicas go through the same: small changes show sooner in them.
    """
    _interrupt_all(subject, subject.make)
    if simulated(subject.sample, REPLICAS, SEED) is not None:
        _interrupt_all(subject, partial(subject.sample.simulated, REPLICAS))
    return None


def _interrupt_all(subject: Subject, make: Callable[[int], Any]) -> None:
    """Interrupt again and again, as long as pairs of learners have rounds for it."""
    steps = {"act": Steps(), "update": Steps()}
    for seed in range(SEED, SEED + _PAIRS):
        if all(one.are_done for one in steps.values()):
            return
        pair = Pair(make(seed), make(seed), steps)
        try:
            _play(subject, pair)
        except ProtocolError as refusal:
            if getattr(pair.disturbed, "certificate", None) is None:
                raise Broken(f"after an interruption it refuses to go on: {refusal}") from refusal


def _play(subject: Subject, pair: "Pair") -> None:
    """Some rounds of a pair.

    Raises:
        ProtocolError: where the disturbed one refuses to go on.
    """
    rounds = subject.rounds(_TOGETHER)
    for t in range(rounds):
        expected, action = pair.call("act")
        if action is not None and not np.allclose(expected, action, rtol=_CLOSE, atol=_CLOSE):
            raise Broken(
                f"after interruptions it plays otherwise in round {t + 1} than without: they left half a state."
            )
        if t + 1 < rounds:
            pair.call("update", subject.feedback(t, expected))


class Steps:
    """The steps at which a call is interrupted: another one each time, the last one first, and then all over again."""

    def __init__(self) -> None:
        self._used = 0

    @property
    def are_done(self) -> bool:
        return self._used >= _TIMES

    def next(self, count: int) -> int:
        """One of `count` steps; as many calls go through all of them."""
        count = max(count, 1)  # a call that shows no steps is not interrupted
        stride = next(k for k in range(max(1, round(0.618 * count)), 2 * count + 2) if math.gcd(k, count) == 1)
        self._used += 1
        return (count - 1 + (self._used - 1) * stride) % count


class Pair:
    """Two learners in the same state; the second one is interrupted."""

    def __init__(self, clean: Any, disturbed: Any, steps: dict[str, Steps]) -> None:
        self.clean, self.disturbed = clean, disturbed
        self._steps = steps
        self._certain = True  # whether the last call of the disturbed one is known to be over

    def call(self, method: str, *arguments: Any) -> tuple[Any, Any]:
        """What both answer; None for the disturbed one where its answer was lost.

        Raises:
            ProtocolError: where the disturbed one refuses, though it is its turn.
        """
        wire = Tripwire(self.clean)
        expected = wire.run(partial(getattr(self.clean, method), *arguments))
        call = partial(getattr(self.disturbed, method), *arguments)
        if not self._certain:
            answer, self._certain = call(), True
        else:
            answer, self._certain = _interrupted(self.disturbed, call, self._steps[method].next(wire.seen))
        return expected, answer


def _interrupted(learner: Any, call: Callable[[], Any], step: int) -> tuple[Any, bool]:
    """Interrupt a call, and make it again: its answer, or None and False where the learner says that it is over."""
    before, wire = Randomness(learner), Tripwire(learner, step)
    answer = wire.run(call)
    if not wire.cut:
        return answer, True
    after = Randomness(learner)
    before.put_back()
    try:
        answer, over = call(), True
    except ProtocolError:
        answer, over = None, False
    if Randomness(learner) == before:  # nothing was drawn again: the learner has kept what it drew
        after.put_back()
    return answer, over


class Interruption(KeyboardInterrupt):
    """A Ctrl-C on purpose."""


class Tripwire:
    """Runs a call, counts its steps, and interrupts it at one of them.

    Args:
        learner: whose modules are counted, beside those of the package.
        step: where to interrupt, from 0; None only counts.

    Attributes:
        seen: steps that were taken.
        cut: whether the call was interrupted.
    """

    def __init__(self, learner: Any, step: int | None = None) -> None:
        self._packages = {kind.__module__.partition(".")[0] for kind in type(learner).__mro__} | {"dpcvx"}
        self._step = step
        self.seen, self.cut = 0, False

    def run(self, call: Callable[[], Any]) -> Any:
        """What the call returns; None where it was interrupted."""
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            return call()
        except Interruption:
            self.cut = True
            return None
        finally:
            sys.settrace(before)

    def _trace(self, frame: types.FrameType, event: str, _: Any) -> Any:
        module = str(frame.f_globals.get("__name__"))
        if module.partition(".")[0] not in self._packages or module.startswith(_LEFT_OUT):
            return None
        if event in ("line", "return"):
            if self.seen == self._step:
                sys.settrace(None)
                raise Interruption
            self.seen += 1
        return self._trace


class Randomness:
    """The random generators that a learner holds, and its sources of simulated noise, as they are now.

    What a call drew before it was cut off nobody saw. With the generators put back, the same call draws it again.
    """

    def __init__(self, learner: Any) -> None:
        held = list(_reached(learner))
        self._numpy = [(one, one.bit_generator.state) for one in held if isinstance(one, np.random.Generator)]
        self._python = [(one, one.getstate()) for one in held if isinstance(one, random.Random)]
        self._sources = [(one, dict(vars(one))) for one in held if isinstance(one, SimulatedSource)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Randomness) and self._contents() == other._contents()

    __hash__ = None  # type: ignore[assignment]  # generators move on

    def _contents(self) -> list[bytes]:
        return [pickle.dumps(state) for _, state in (*self._numpy, *self._python, *self._sources)]

    def put_back(self) -> None:
        for generator, state in self._numpy:
            generator.bit_generator.state = state
        for other, memory in self._python:
            other.setstate(memory)
        for source, contents in self._sources:
            vars(source).update(contents)


def _reached(learner: Any) -> Iterator[Any]:
    """All objects that a learner holds, directly or through others, without what belongs to declared sets."""
    met, waiting = {}, [learner]
    while waiting:
        one = waiting.pop()
        if id(one) not in met and not isinstance(one, _NOT_ENTERED):
            met[id(one)] = one
            waiting += gc.get_referents(one)
            yield one
