"""What the user declared, checked: one real cvxpy variable and convex constraints that speak about it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
from cvxpy.reductions.eval_params import EvalParams

from dpcvx.arguments import kind_of
from dpcvx.errors import DeclarationError
from dpcvx.sets.conic.constraint_words import constraint_in_words

# the inequality that each attribute of a variable stands for; cvxpy's own `violation()` does not see attributes
_ATTRIBUTE_CONSTRAINTS: dict[str, Callable[[cp.Variable], list[cp.Constraint]]] = {
    "nonneg": lambda x: [x >= 0],
    "pos": lambda x: [x >= 0],
    "nonpos": lambda x: [x <= 0],
    "neg": lambda x: [x <= 0],
    "PSD": lambda x: [x >> 0],
    "NSD": lambda x: [x << 0],
    "bounds": lambda x: [x >= x.attributes["bounds"][0], x <= x.attributes["bounds"][1]],
}
_REFUSED = {
    "integer": "an integer variable describes no convex set",
    "boolean": "a boolean variable describes no convex set; declare bounds=[0, 1] for its convex hull",
    "complex": "a complex variable is not supported; declare its real and imaginary parts",
    "imag": "an imaginary variable is not supported; declare its imaginary part as a real variable",
    "hermitian": "a Hermitian variable is complex and not supported; declare a real symmetric one",
}


@dataclass(frozen=True)
class Declaration:
    """A variable and its constraints with parameters replaced by the values they had at declaration."""

    variable: cp.Variable
    constraints: tuple[cp.Constraint, ...]
    names: tuple[str, ...]  # the constraints as the user wrote them
    has_user_auxiliaries: bool

    @property
    def attribute_constraints(self) -> list[cp.Constraint]:
        """The inequalities behind the variable's attributes."""
        given = self.variable.attributes
        return [
            c for key, make in _ATTRIBUTE_CONSTRAINTS.items() if _is_set(given.get(key)) for c in make(self.variable)
        ]

    @property
    def attribute_name(self) -> str:
        """The variable's attributes in words."""
        return f"the attribute {', '.join(self._attributes)} of {self.variable.name()}"

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The attributes one by one, as they are given to a variable."""
        return tuple(f"{self.variable.name()} is {key}" for key in self._attributes)

    @property
    def _attributes(self) -> list[str]:
        return [key for key, value in self.variable.attributes.items() if _is_set(value)]


def _is_set(value: Any) -> bool:
    return value is not None and value is not False


def declare(variable: Any, constraints: Iterable[Any]) -> Declaration:
    """Check a declaration and freeze the values of its parameters.

    Raises `DeclarationError` with a sentence that names the constraint at fault.
    """
    if isinstance(variable, cp.Problem) or isinstance(constraints, cp.Problem):
        raise DeclarationError(
            "A set is declared by a cvxpy Variable and a list of constraints, not by a Problem: "
            "give its variable and problem.constraints."
        )
    if not isinstance(variable, cp.Variable):
        raise DeclarationError(
            f"The first argument must be a cvxpy Variable, not {kind_of(variable)}; constraints come second, in a list."
        )
    _check_variable(variable, f"The variable {variable.name()}")
    if variable.size == 0:
        raise DeclarationError(f"The variable {variable.name()} has no entries: its shape is {variable.shape}.")
    if isinstance(constraints, cp.Constraint) or not isinstance(constraints, Iterable):
        one = "; put the one constraint in brackets" if isinstance(constraints, cp.Constraint) else ""
        raise DeclarationError(f"The constraints must be a list, not {kind_of(constraints)}{one}.")
    written = list(constraints)
    for position, constraint in enumerate(written):
        _check_constraint(constraint, position)
    attributes = [key for key, value in variable.attributes.items() if _is_set(value)]
    if not written and not attributes:
        raise DeclarationError(
            f"There are no constraints: {variable.name()} may be anything, and the set is unbounded. Add bounds."
        )
    _check_connected(variable, written)
    evaluated = EvalParams().apply(cp.Problem(cp.Minimize(0), written))[0].constraints
    others = {v.id for c in written for v in c.variables()} - {variable.id}
    return Declaration(variable, tuple(evaluated), tuple(_one_line(c) for c in written), bool(others))


def _one_line(constraint: cp.Constraint, most: int = 120) -> str:
    """The constraint in words that are not too long."""
    text = constraint_in_words(constraint)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _check_variable(variable: cp.Variable, subject: str) -> None:
    for key, reason in _REFUSED.items():
        if _is_set(variable.attributes.get(key)):
            raise DeclarationError(f"{subject} is declared with {key}=True: {reason}.")


def _check_constraint(constraint: Any, position: int) -> None:
    if not isinstance(constraint, cp.Constraint):
        raise DeclarationError(
            f"Constraint number {position} is {constraint!r} of type {type(constraint).__name__}, "
            "not a cvxpy constraint."
        )
    if not constraint.variables():
        raise DeclarationError(f"The constraint {_one_line(constraint)} mentions no variable; remove it.")
    for parameter in constraint.parameters():
        if parameter.value is None:
            raise DeclarationError(
                f"The parameter {parameter.name()} in the constraint {_one_line(constraint)} has no value; "
                f"set {parameter.name()}.value before the declaration."
            )
    for variable in constraint.variables():
        _check_variable(variable, f"The variable {variable.name()} in the constraint {_one_line(constraint)}")
    if constraint.is_complex():
        raise DeclarationError(f"The constraint {_one_line(constraint)} is complex; only real sets are supported.")
    if isinstance(constraint, cp.constraints.FiniteSet):
        raise DeclarationError(f"The constraint {_one_line(constraint)} describes finitely many points, no convex set.")
    if not constraint.is_dcp():
        try:
            cp.Problem(cp.Minimize(0), [constraint]).get_problem_data(cp.CLARABEL)
        except cp.DCPError as error:
            raise DeclarationError(
                f"The constraint {_one_line(constraint)} is not convex by cvxpy's rules. {error}"
            ) from error
        raise DeclarationError(f"The constraint {_one_line(constraint)} is not convex by cvxpy's rules.")


def _check_connected(variable: cp.Variable, constraints: list[cp.Constraint]) -> None:
    """Every constraint must reach the variable, directly or through auxiliary variables."""
    reached, waiting = {variable.id}, list(constraints)
    while True:
        touching = [c for c in waiting if reached & {v.id for v in c.variables()}]
        if not touching:
            break
        reached |= {v.id for c in touching for v in c.variables()}
        waiting = [c for c in waiting if not any(c is t for t in touching)]
    if waiting:
        raise DeclarationError(
            f"The constraint {_one_line(waiting[0])} does not mention the variable {variable.name()}, "
            "nor any variable tied to it."
        )
