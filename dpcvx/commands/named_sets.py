"""Sets by a word of the command line: from the catalogue by name and numbers, or from a Python file."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from decision_sets import NAMED, NAMED_CHANGES, NAMED_LOSSES
from dpcvx.commands.declared import find
from dpcvx.commands.outcomes import InputError
from dpcvx.errors import DpcvxError
from dpcvx.privacy.change import Change
from dpcvx.sets import DecisionSet, LossSet

Declared = TypeVar("Declared")


def decision_set(word: str) -> DecisionSet:
    """NAME:NUMBER,... of the catalogue, FILE.py:NAME, or FILE.py, which then must define X.

    Raises:
        InputError: where there is no such set.
    """
    name, _, numbers = word.partition(":")
    if name in NAMED:
        return _called(NAMED[name].declare, word, _numbers(numbers, word))
    if ".py" not in word:
        names = ", ".join(sorted(NAMED))
        raise InputError(
            f"There is no set {word!r}: give FILE.py:NAME, or one of {names} with its numbers, as simplex:10."
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
    word = word or _usual_losses(decisions)
    name, _, numbers = word.partition(":")
    if name == "box" and len(_numbers(numbers, word)) == 1:
        raise InputError(f"{word!r} says one end of a box only: give both, as box:-1,1.")
    if name in NAMED_LOSSES:
        return _called(NAMED_LOSSES[name], word, _numbers(numbers, word), X.shape)
    if ".py" not in word:
        raise InputError(
            f"There are no losses {word!r}: give box, box:LOW,HIGH, ball:P, ball:P,RADIUS or FILE.py:NAME."
        )
    return find(_with_name(word, "Y"), LossSet)


def change(word: str, Y: LossSet) -> Change:
    """share:PEOPLE, entries:K,A, FILE.py:NAME, or FILE.py, which then must define D.

    Raises:
        InputError: where there is no such change, or it does not go with the losses.
    """
    name, _, numbers = word.partition(":")
    if name in NAMED_CHANGES:
        return _called(NAMED_CHANGES[name], word, _numbers(numbers, word), Y)
    if ".py" not in word:
        raise InputError(f"There is no change {word!r}: give share:PEOPLE, entries:K,A or FILE.py:NAME.")
    found = find(_with_name(word, "D"), Change)
    refusal = found.refusal(Y)
    if refusal is not None:
        raise InputError(refusal)
    return found


def explanation() -> str:
    """What the words of the command line may be, with an example of every named set."""
    examples = ", ".join(f"{name}:{NAMED[name].example}" for name in sorted(NAMED))
    others = ", ".join(f"{name}: {NAMED[name].losses}" for name in sorted(NAMED) if NAMED[name].losses != "box")
    return (
        "SET is FILE.py:NAME, or FILE.py, which then defines X and Y, or a named set with its numbers, as "
        f"{examples}. LOSSES is FILE.py:NAME, box:LOW,HIGH or ball:P,RADIUS; by default Y of the same file, or for a "
        f"named set box:-1,1 ({others}). CHANGE is FILE.py:NAME, share:PEOPLE for one of so many people whose mean "
        "is the loss, or entries:K,A for K entries that move by at most A."
    )


def _usual_losses(decisions: str) -> str:
    if ".py" in decisions:
        return f"{decisions[: decisions.index('.py')]}.py:Y"
    return NAMED[decisions.partition(":")[0]].losses


def _with_name(word: str, usual: str) -> str:
    return f"{word}:{usual}" if word.endswith(".py") else word


def _numbers(text: str, word: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",")] if text else []
    except ValueError as error:
        raise InputError(f"What follows the colon in {word!r} must be numbers with commas between them.") from error
    return [int(number) if np.isfinite(number) and number == int(number) else number for number in found]


def _called(declare: Callable[..., Declared], word: str, numbers: list[float], *first: Any) -> Declared:
    """What a function of the catalogue declares of numbers, after what the command line does not say."""
    try:
        inspect.signature(declare).bind(*first, *numbers)
    except TypeError as error:
        name, own = word.partition(":")[0], list(inspect.signature(declare).parameters.values())[len(first) :]
        needed = ",".join(one.name for one in own if one.default is one.empty)
        numeric = [one for one in own if isinstance(one.default, int | float) and one.kind is not one.KEYWORD_ONLY]
        more = "".join(f"[,{one.name}]" for one in numeric)
        raise InputError(f"{word!r} has not the right numbers: it is written {name}:{needed}{more}.") from error
    try:
        return declare(*first, *numbers)
    except (DpcvxError, ValueError, TypeError) as error:
        raise InputError(" ".join(str(error).split())) from error
