"""Docstrings as they are written: `Name` is a link where it is public and code otherwise, and types are short."""

import inspect
import re
from functools import cached_property
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docstrings import prepare_docstring
from sphinx.util.inspect import stringify_signature

import decision_sets
import dpcvx

# parts of the package that have a page too, though they are not named in `dpcvx`
PARTS = {
    "ActionFamily": "dpcvx.actions.ActionFamily",
    "Bandit": "dpcvx.learners.bandits.bandit.Bandit",
    "Cone": "dpcvx.barriers.Cone",
    "Factorisation": "dpcvx.privacy.counters.factorisation.Factorisation",
    "FullInformation": "dpcvx.learners.full_information.learner.FullInformation",
    "Regularizer": "dpcvx.regularizers.Regularizer",
    "Shape": "dpcvx.sets.shapes.Shape",
    "Tree": "dpcvx.privacy.counters.tree.Tree",
}
_LONG = {
    r"numpy\.ndarray\[tuple\[(typing\.)?Any, \.\.\.\], numpy\.dtype\[[\w.]+\]\]": "Array",
    r"numpy\.random\._generator\.Generator": "numpy.random.Generator",
    r"collections\.abc\.|typing\.|os\.": "",
    r"cvxpy\.(\w+\.)+(?=[A-Z])": "cvxpy.",
    r"<class '([\w.]+)'>": r"\1",
}


def full_name(text: str) -> str | None:
    """The full name of what is public under a short one, or under one of its methods."""
    first, _, rest = text.removesuffix("()").partition(".")
    if first in ("dpcvx", "decision_sets"):
        return text.removesuffix("()") if rest in (*dpcvx.__all__, *vars(decision_sets)) else None
    home = "dpcvx" if first in dpcvx.__all__ else "decision_sets" if first in vars(decision_sets) else None
    whole = f"{home}.{first}" if home and callable(getattr({"dpcvx": dpcvx}.get(home, decision_sets), first)) else None
    whole = whole or PARTS.get(first)
    return f"{whole}.{rest}" if whole and rest else whole


def public(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: Any = None, content: Any = ()
) -> tuple[list[nodes.Node], list[Any]]:
    """The role of text between single backquotes."""
    code = nodes.literal(rawtext, text, classes=["xref", "py"])
    whole = full_name(text)
    if whole is None:
        return [code], []
    link = addnodes.pending_xref(
        rawtext, code, refdomain="py", reftype="obj", reftarget=whole, refexplicit=True, refwarn=True
    )
    link["refdoc"] = inliner.document.settings.env.docname
    return [link], []


def shortened(app: Sphinx, what: str, name: str, it: Any, options: Any, signature: str, returned: str) -> Any:
    """A signature whose types have the names by which people know them; of a class, the one that Python tells."""
    if what == "class" and signature and "*" in signature:
        signature = stringify_signature(inspect.signature(it), show_return_annotation=False)
    for long, short in _LONG.items():
        signature = re.sub(long, short, signature or "")
        returned = re.sub(long, short, returned or "")
    return signature or None, returned or None


def plain_signs(app: Sphinx, what: str, name: str, it: Any, options: Any, lines: list[str]) -> None:
    """Absolute values and stars are what they are in formulas, not markup; code stays as it is."""
    for k, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = re.split(r"(``?[^`]*``?|^\s*\*{1,2}\w+:)", line)
            parts[::2] = [re.sub(r"([|*])", r"\\\1", part) for part in parts[::2]]
            lines[k] = "".join(parts)


def plain_property(app: Sphinx, what: str, name: str, it: Any, options: Any, lines: list[str]) -> None:
    """The docstring of a property as it is: a colon in its first line does not end the name of a type."""
    if what in ("property", "attribute") and isinstance(it, property | cached_property):
        lines[:] = prepare_docstring(it.__doc__ or "")
        plain_signs(app, what, name, it, options, lines)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_role("public", public)
    app.connect("autodoc-process-signature", shortened)
    app.connect("autodoc-process-docstring", plain_signs, priority=100)
    app.connect("autodoc-process-docstring", plain_property, priority=900)  # after napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
