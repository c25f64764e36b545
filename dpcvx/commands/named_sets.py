"""Sets by a word of the command line: from the catalogue by name and numbers, or from a Python file."""

import importlib
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import cvxpy as cp
import numpy as np

from dpcvx.commands.declared import find
from dpcvx.commands.outcomes import InputError
from dpcvx.errors import DpcvxError
from dpcvx.sets import DecisionSet, LossSet

Declared = TypeVar("Declared")
SETS = (
    "birkhoff",
    "capped_simplex",
    "cube",
    "entropy_ball",
    "norm_ball",
    "nuclear_ball",
    "permutahedron",
    "simplex",
    "spectrahedron",
    "spectral_ball",
)  # of the catalogue, those that numbers describe
_DUAL = {"cube": "ball:1", "norm_ball": "ball:2"}  # usual losses; elsewhere "box"


def decision_set(word: str) -> DecisionSet:
    """NAME:NUMBER,... of the catalogue, FILE.py:NAME, or FILE.py, which then must define X.

    Raises:
        InputError: where there is no such set.
    """
    name, _, numbers = word.partition(":")
    if name in SETS:
        decision_sets = importlib.import_module("decision_sets")
        declare: Callable[..., DecisionSet] = getattr(decision_sets, name)
        return _called(declare, word, _numbers(numbers, word))
    if ".py" not in word:
        raise InputError(
            f"There is no set {word!r}: give FILE.py:NAME, or one of {', '.join(SETS)} with its numbers, as simplex:10."
        )
    return find(_with_name(word, "X"), DecisionSet)


def loss_set(word: str | None, decisions: str, X: DecisionSet) -> LossSet:
    """box:LOW,HIGH (by default -1,1), ball:P,RADIUS (by default 2,1), FILE.py:NAME, or FILE.py, which must define Y.

    Args:
        word: of the losses; None for the usual ones: Y in the file of the decisions, or losses for the named set.
        decisions: the word of the decisions.
        X: the decisions.

    Raises:
        InputError: where there is no such set.
    """
    if word is None and ".py" in decisions:
        word = f"{decisions[: decisions.index('.py')]}.py:Y"
    word = word or _DUAL.get(decisions.partition(":")[0], "box")
    name, _, numbers = word.partition(":")
    if name in _LOSSES:
        return _called(_LOSSES[name], word, [X.shape, *_numbers(numbers, word)])
    if ".py" not in word:
        raise InputError(
            f"There are no losses {word!r}: give box, box:LOW,HIGH, ball:P, ball:P,RADIUS or FILE.py:NAME."
        )
    return find(_with_name(word, "Y"), LossSet)


def box(shape: tuple[int, ...], low: float = -1.0, high: float = 1.0) -> LossSet:
    """low <= loss <= high, entry by entry."""
    loss = cp.Variable(shape, name="loss")
    return LossSet(loss, [loss >= low, loss <= high], name=f"box [{low:g}, {high:g}]")


def ball(shape: tuple[int, ...], p: float = 2.0, radius: float = 1.0) -> LossSet:
    """The ball |loss|_p <= radius of the entries."""
    if not p >= 1:
        raise ValueError(f"P must be at least 1, not {p:g}.")
    loss = cp.Variable(shape, name="loss")
    return LossSet(loss, [cp.pnorm(cp.vec(loss, order="F"), p) <= radius], name=f"{p:g}-norm ball of radius {radius:g}")


_LOSSES = {"box": box, "ball": ball}


def _with_name(word: str, usual: str) -> str:
    return f"{word}:{usual}" if word.endswith(".py") else word


def _numbers(text: str, word: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",")] if text else []
    except ValueError as error:
        raise InputError(f"What follows the colon in {word!r} must be numbers with commas between them.") from error
    return [int(number) if np.isfinite(number) and number == int(number) else number for number in found]


def _called(declare: Callable[..., Declared], word: str, arguments: list[Any]) -> Declared:
    try:
        inspect.signature(declare).bind(*arguments)
    except TypeError as error:
        raise InputError(f"{word!r} has not the right numbers: {error}.") from error
    try:
        return declare(*arguments)
    except (DpcvxError, ValueError, TypeError) as error:
        raise InputError(" ".join(str(error).split())) from error
