"""Changes one small thing in a module at a time and asks the tests whether they notice: which numbers are unproved?

python tests/mutate.py dpcvx/privacy/certificate.py dpcvx/privacy/feedback.py --sample 10 --seed 0 \
    --tests tests/privacy/test_private_sums.py tests/privacy/test_feedback.py

Of all changes that can be made to the modules a sample is drawn. Each is made in a copy of the project, never in place.
Modules may be folders, and so may tests: those that mirror the changed module are run first, because they know best.
A mutant that survives is either no mistake (another way to say the same) or one that a test should find. It takes as
many runs of the tests as there are mutants, and so is no part of the checks.
"""

import argparse
import ast
import copy
import importlib
import itertools
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

_PATIENCE = 4  # times as long as without a change, after which a mutant is said not to end
_NOTHING_TO_RUN = 5  # what pytest answers where all tests are slow ones
ROOT = Path(__file__).parents[1]
_LOADED = ("clarabel", "cvxpy", "highspy", "numpy", "opendp.prelude", "scipy.optimize", "scipy.stats")  # before a fork
COPIED = ("dpcvx", "decision_sets", "tests", "examples", "pyproject.toml")

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


@dataclass(frozen=True)
class Mutant:
    """A module with one change.

    Attributes:
        tree: the module; place: of the node that is changed, in the order of `ast.walk`; changed: what stands there
            then, a list for statements.
    """

    tree: ast.Module
    place: int
    changed: list[ast.stmt] | ast.AST

    @property
    def _node(self) -> ast.AST:
        return next(itertools.islice(ast.walk(self.tree), self.place, None))

    @property
    def line(self) -> int:
        """Where, from 1."""
        return int(getattr(self._node, "lineno", 0))

    @property
    def change(self) -> str:
        """What was there and what is there now."""
        said = "; ".join(ast.unparse(each).splitlines()[0] for each in self._new)
        return f"{ast.unparse(self._node).splitlines()[0]}  ->  {said}"

    @property
    def _new(self) -> list[ast.AST]:
        return list(self.changed) if isinstance(self.changed, list) else [self.changed]

    @property
    def source(self) -> str:
        """The whole module after the change."""
        other = copy.deepcopy(self.tree)
        old = next(itertools.islice(ast.walk(other), self.place, None))
        for parent in ast.walk(other):
            for name, value in ast.iter_fields(parent):
                if value is old:
                    setattr(parent, name, self._new[0])
                elif isinstance(value, list) and any(each is old for each in value):
                    at = next(k for k, each in enumerate(value) if each is old)
                    value[at : at + 1] = self._new
        return ast.unparse(other)


def mutants(source: str) -> Iterator[Mutant]:
    """All changes that can be made to a module, one at a time."""
    tree = ast.parse(source)
    silent = _annotations(tree)
    for place, node in enumerate(ast.walk(tree)):
        if id(node) not in silent:
            yield from (Mutant(tree, place, changed) for changed in _changes(node))


def _annotations(tree: ast.Module) -> set[int]:
    """What is written for readers and type checkers alone, by the identity of its nodes."""
    found = []
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            found += [getattr(node, name, None)]
    return {id(each) for one in found if one is not None for each in ast.walk(one)}


def _changes(node: ast.AST) -> Iterator[list[ast.stmt] | ast.AST]:
    """The nodes that may stand in the place of one."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        yield ast.Compare(node.left, [COMPARISONS[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
        yield ast.AugAssign(node.target, ARITHMETIC[type(node.op)](), node.value)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield ast.Constant({0: 1, 1: 0}.get(node.value, node.value + 1))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in EXTREMES:
            function = copy.deepcopy(node.func)
            setattr(function, "attr" if isinstance(function, ast.Attribute) else "id", EXTREMES[name])
            yield ast.Call(function, node.args, node.keywords)
    elif isinstance(node, ast.With) and all(each.optional_vars is None for each in node.items):
        yield node.body


def nearest_first(path: str, tests: list[str], root: Path = ROOT) -> list[str]:
    """The tests in the order in which they are run: of those asked for, the file and the folder of a module first.

    Where none are asked for, these alone.
    """
    module = Path(path)
    folder = Path("tests", *module.parts[1:-1])
    while not (root / folder).exists():
        folder = folder.parent
    near = [each for each in (folder / f"test_{module.name}", folder) if (root / each).exists()]
    inside = [str(each) for each in near if not tests or any(each.is_relative_to(test) for test in tests)]
    return list(dict.fromkeys([*inside, *tests]))


def verdict(root: Path, path: str, source: str, tests: list[str], timeout: float | None) -> str:
    """What the tests say in a copy of the project with a module so changed: killed, SURVIVED, or no end in time."""
    module = root / path
    before = module.read_text(encoding="utf-8")
    module.write_text(source, encoding="utf-8")
    try:
        for some in nearest_first(path, tests, root):
            code = _run(root, some, timeout)
            if code is None:
                return "no end"
            if code not in (0, _NOTHING_TO_RUN):
                return "killed"
    finally:
        module.write_text(before, encoding="utf-8")
    return "SURVIVED"


def _run(root: Path, test: str, timeout: float | None) -> int | None:
    """What pytest answers in a fork of this process, which has loaded all but the project; None after the timeout."""
    child = multiprocessing.get_context("fork").Process(target=_pytest, args=(root, test))
    child.start()
    child.join(timeout)
    if child.is_alive():
        child.kill()
        child.join()
        return None
    return child.exitcode


def _pytest(root: Path, test: str) -> None:
    os.chdir(root)
    os.environ.update(PYTHONPATH=str(root), PYTHONDONTWRITEBYTECODE="1")
    sys.path.insert(0, str(root))
    sys.dont_write_bytecode = True
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    os._exit(int(pytest.main(["-q", "-x", "-n", "0", "-p", "no:cacheprovider", test])))


def _time_without_change(root: Path, path: Path, tests: list[str]) -> float:
    """How long the tests of a module take where nothing is changed; ends the program where they fail."""
    started = time.perf_counter()
    if verdict(root, str(path), (root / path).read_text(encoding="utf-8"), tests, None) == "killed":
        sys.exit(f"The tests of {path} fail without any change; nothing can be learnt from them.")
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", metavar="MODULE.py", help="modules or folders, from the root on")
    parser.add_argument("--tests", nargs="+", default=[], metavar="TEST.py", help="those that mirror a module if none")
    parser.add_argument("--sample", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    paths = [path for one in arguments.modules for path in sorted((ROOT / one).rglob("*.py")) or [ROOT / one]]
    found = [(path.relative_to(ROOT), each) for path in paths for each in mutants(path.read_text(encoding="utf-8"))]
    drawn = random.Random(arguments.seed).sample(found, min(arguments.sample, len(found)))
    for name in _LOADED:
        importlib.import_module(name)
    sys.path[:] = [each for each in sys.path if Path(each or ".").resolve() != ROOT]  # the copy is to be found
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in COPIED:
            copied = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copied(ROOT / name, root / name)
        verdicts: Counter[str] = Counter()
        patience: dict[tuple[str, ...], float] = {}
        for path, mutant in drawn:
            asked = tuple(nearest_first(str(path), arguments.tests, root))
            if asked not in patience:
                patience[asked] = _PATIENCE * _time_without_change(root, path, arguments.tests)
            said = verdict(root, str(path), mutant.source, arguments.tests, patience[asked])
            verdicts[said] += 1
            print(f"{said:8s}  {path}:{mutant.line}  {mutant.change}", flush=True)
    counts = ", ".join(f"{count} {said}" for said, count in verdicts.items())
    print(f"{len(drawn)} mutants of {len(found)}: {counts}")


if __name__ == "__main__":
    main()
