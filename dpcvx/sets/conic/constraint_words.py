"""A constraint in words: as cvxpy prints it, with the names by which its atoms are called."""

import re

import cvxpy as cp
import numpy as np

_INNER = r"((?:[^()]|\((?:[^()]|\([^()]*\))*\))*?)"  # an argument, with parentheses two deep
_PLAIN = (  # what cvxpy prints, and what a reader expects
    (r"\[\[.*?\]\]", "(matrix)"),
    (r"\[[^\[\]]{40,}\]", "(vector)"),
    (r"Promote\(([^,()]+), \([^()]*\)\)", r"\1"),
    (rf"\bSum\({_INNER}, None, False\)", r"sum(\1)"),
    (rf"\bquad_over_lin\({_INNER}, 1.0, None, False\)", r"sum_squares(\1)"),
    (rf"\bPnorm(?:Approx)?\({_INNER}, 2\)", r"norm2(\1)"),
    (r"\bPnorm(?:Approx)?\(", "pnorm("),
    (r"\bQuadForm\(", "quad_form("),
    (r"\bTrace\(", "trace("),
)


def constraint_in_words(constraint: cp.Constraint) -> str:
    """A whole constraint on one line: values of parameters, no numbers of matrices and long vectors, plain names."""
    line = " ".join(str(constraint).split())
    for parameter in constraint.parameters():
        if parameter.value is None:
            continue
        value = f"{np.asarray(parameter.value).item():g}" if parameter.size == 1 else "(parameter)"
        line = re.sub(rf"\b{re.escape(parameter.name())}\b", value, line)
    for written, said in _PLAIN:
        line = re.sub(written, said, line)
    return line
