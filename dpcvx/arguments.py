"""Checks of arguments: the value, or a sentence that names the argument and what came."""

import inspect
import operator
from numbers import Real

import numpy as np

from dpcvx.errors import ArgumentError, MissingArgumentError


def as_whole(number: object) -> int | None:
    """The number as an int; None where it is no whole number, as True and False are none."""
    if isinstance(number, bool):
        return None
    try:
        return operator.index(number)  # type: ignore[arg-type]  # what is no index raises
    except TypeError:
        return None


def needed(given: object, owner: str, name: str, words: str) -> None:
    """Refuse an argument that was left out, `...` or None, with a sentence on what it may be."""
    if given is None or given is ...:
        raise MissingArgumentError(f"{owner} needs {name}: {words}.")


def kind_of(given: object) -> str:
    """What something is, in words: "an int", "a list", "the class UCB", "None"."""
    if inspect.isclass(given):
        return f"the class {given.__name__}"
    name = type(given).__name__
    return "None" if given is None else f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def whole(number: object, name: str, at_least: int = 1) -> int:
    """A whole number that is not less than `at_least`."""
    value = as_whole(number)
    if value is None or value < at_least:
        hint = f"; write {int(number)}" if isinstance(number, float) and number.is_integer() and number > 0 else ""
        raise ArgumentError(f"{name} must be a whole number of at least {at_least}, not {number!r}{hint}.")
    return value


def norm_order(p: object) -> float:
    """The p of a p-norm, a number of at least 1 or infinity."""
    if isinstance(p, bool) or not isinstance(p, Real) or not float(p) >= 1:
        raise ArgumentError(f"p must be a number of at least 1, or np.inf, not {p!r}.")
    return float(p)


def generator(rng: object) -> np.random.Generator:
    """A generator of random numbers, which is asked to draw."""
    if not isinstance(rng, np.random.Generator):
        raise ArgumentError(f"rng must be a NumPy Generator, as np.random.default_rng(0), not {kind_of(rng)}.")
    return rng


def positive(number: object, name: str) -> float:
    """A finite number above 0."""
    if isinstance(number, bool) or not isinstance(number, Real) or not 0 < float(number) < np.inf:
        raise ArgumentError(f"{name} must be a positive number, not {number!r}.")
    return float(number)


def share(number: object, name: str) -> float:
    """A number in [0, 1)."""
    if isinstance(number, bool) or not isinstance(number, Real) or not 0 <= float(number) < 1:
        raise ArgumentError(f"{name} must be in [0, 1), not {number!r}.")
    return float(number)
