"""Who may know what: read from the source, so that a branch on a counter or a peep into private state is seen."""

import ast
from pathlib import Path

import pytest

import dpcvx
from dpcvx.privacy.counters import COUNTERS

PACKAGE = Path(dpcvx.__file__).parent
AUDIT = sorted((PACKAGE / "privacy" / "audit").glob("*.py"))
OUTSIDE = sorted(set((PACKAGE / "privacy").rglob("*.py")) - set((PACKAGE / "privacy" / "counters").glob("*.py")))
OUTSIDE += [PACKAGE / "studies" / name for name in ("audit_table.py", "counter_table.py")]


def private_reads(source):
    """Attributes with a leading underscore that are read from anything but `self` or `super()`."""
    return [
        node.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    ]


def counter_questions(source):
    """Tests for a class of counter, and comparisons with its name."""
    classes = {counter.__name__ for counter in COUNTERS.values()} | {"Tree", "Factorisation"}
    found = []
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("isinstance", "issubclass")
        ):
            found += [name.id for name in ast.walk(node) if isinstance(name, ast.Name) and name.id in classes]
        if isinstance(node, ast.Compare):
            sides = [part for part in ast.walk(node) if isinstance(part, ast.Constant | ast.Name)]
            found += [str(side.value) for side in sides if isinstance(side, ast.Constant) and side.value in COUNTERS]
            found += [side.id for side in sides if isinstance(side, ast.Name) and side.id in classes]
    return found


@pytest.mark.parametrize("path", AUDIT, ids=lambda path: path.name)
def test_the_audit_reads_no_private_attribute(path):
    assert private_reads(path.read_text()) == []


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: path.name)
def test_nobody_outside_the_counters_asks_which_counter_it_has(path):
    assert counter_questions(path.read_text()) == []


def test_peeping_and_asking_are_seen():
    assert sorted(private_reads("sums._source(plan); self._own; a.b._c")) == ["_c", "_source"]
    assert counter_questions('isinstance(counter, Toeplitz); plan.counter == "smooth"; a is BinaryTree; b == "x"') == [
        "Toeplitz",
        "smooth",
        "BinaryTree",
    ]
