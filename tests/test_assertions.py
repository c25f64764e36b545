"""No test without an assertion: each states something that could be false, itself or by a function that it calls."""

import ast
from pathlib import Path

TESTS = Path(__file__).parent
STATING = {"raises", "warns", "fail", "check_learner", "assert_allclose", "assert_array_equal"}  # fail by themselves


def states(function: ast.AST, known: dict[str, list[ast.AST]], seen: frozenset[str] = frozenset()) -> bool:
    """Whether something is asserted in a function, or in one of the tests' own that it calls or takes as a fixture."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert | ast.Raise):
            return True
        name = None
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
        elif isinstance(node, ast.arg):
            name = node.arg
        if name in STATING:
            return True
        if name in known and name not in seen and any(states(one, known, seen | {name}) for one in known[name]):
            return True
    return False


def silent(paths: list[Path]) -> list[str]:
    """The tests in some files that state nothing."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    known: dict[str, list[ast.AST]] = {}
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                known.setdefault(node.name, []).append(node)
    return [
        f"{path.name}: {node.name}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not states(node, known, frozenset({node.name}))
    ]


def test_every_test_states_something():
    assert silent(sorted(TESTS.rglob("*.py"))) == []


def test_a_test_that_states_nothing_is_found(tmp_path):
    file = tmp_path / "test_mine.py"
    file.write_text("def check(x):\n    assert x\n\ndef test_a():\n    check(1)\n\ndef test_b():\n    print(1)\n")
    assert silent([file]) == ["test_mine.py: test_b"]
