"""There is one way to keep a file: what it takes is called in `dpcvx.storage` and nowhere else."""

import ast

import pytest
from layers import ROOT, modules_in

TOOLS = {
    "fcntl",
    "hashlib",
    "os.fork",
    "os.fsync",
    "os.getpid",
    "os.link",
    "os.rename",
    "os.replace",
    "shutil.move",
    "tempfile.NamedTemporaryFile",
    "tempfile.mkstemp",
    "threading.Lock",
    "threading.RLock",
}
ELSEWHERE = {
    # the workers of a sweep are told which process they end with
    ("dpcvx.experiments.sweep.workers", "os.getpid"),
}


def tools_in(source: str) -> set[str]:
    """The tools that a module imports or calls."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
        elif isinstance(node, ast.Attribute):
            found.add(ast.unparse(node))
    return found & TOOLS


def test_files_are_replaced_locked_and_hashed_in_one_place():
    used = {
        (name, tool)
        for name, path in modules_in(ROOT).items()
        if not name.startswith("dpcvx.storage.")
        for tool in tools_in(path.read_text(encoding="utf-8"))
    }
    assert used == ELSEWHERE


@pytest.mark.parametrize(
    ("source", "tool"),
    [
        ("import os\nos.replace(a, b)", "os.replace"),
        ("from os import replace as move", "os.replace"),
        ("import hashlib", "hashlib"),
        ("from hashlib import sha256", "hashlib"),
        ("def late():\n    import fcntl", "fcntl"),
        ("import os\nguard = os.getpid", "os.getpid"),
    ],
)
def test_that_test_would_notice(source, tool):
    assert tools_in(source) == {tool}
