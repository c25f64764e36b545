"""Changes one small thing in a module at a time and asks the tests whether they notice: which numbers are unproved?

python tests/mutate.py dpcvx/privacy/certificate.py dpcvx/privacy/feedback.py --sample 10 --seed 0 \
    --tests tests/privacy/test_private_sums.py tests/privacy/test_feedback.py

python tests/lines_run.py --output ../lines.json
python tests/mutate.py dpcvx/privacy dpcvx/learners --sample 200 --lines ../lines.json

Of all changes that can be made to the modules a sample is drawn. Each is made in a copy of the project, never in place.
Modules may be folders, and so may tests: those that mirror the changed module are run first, because they know best.
With a record of the lines that tests run, only those are run that run the changed line, as many as fit into the budget.
A mutant that survives is either no mistake (another way to say the same) or one that a test should find. It takes as
many runs of the tests as there are mutants, and so is no part of the checks.
"""

import argparse
import importlib
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.queues import SimpleQueue
from pathlib import Path

import pytest
from lines_run import LinesRun
from mutants import Mutant, mutants

_PATIENCE = 4  # times as long as without a change, after which a mutant is said not to end
_TO_COLLECT = 60.0  # seconds more, where it is known how long tests take but not how long it takes to find them
_FIRST = 20  # tests that are asked before those of many more files are loaded
ROOT = Path(__file__).parents[1]
_FORK = multiprocessing.get_context("fork")
_LOADED = ("clarabel", "cvxpy", "highspy", "numpy", "opendp.prelude", "scipy.optimize", "scipy.stats")  # before a fork
COPIED = ("dpcvx", "decision_sets", "tests", "examples", "pyproject.toml")
SURVIVED, ENDLESS = "SURVIVED", "no end"


@dataclass(frozen=True)
class Asked:
    """Tests that are run together.

    Attributes:
        places: their files or folders; chosen: names of those to run, in this order, or None for all; timeout: in
            seconds; at_most: failures until the rest is left.
    """

    places: tuple[str, ...]
    chosen: tuple[str, ...] | None = None
    timeout: float | None = None
    at_most: int = 1

    @classmethod
    def named(cls, names: list[str], seconds: float = 0.0, at_most: int = 1) -> "Asked":
        """These tests, which took so long."""
        files = tuple(dict.fromkeys(name.partition("::")[0] for name in names))
        return cls(files, tuple(names), _TO_COLLECT + _PATIENCE * seconds, at_most)


class _Choice:
    """A plugin of pytest that runs the chosen tests only and tells which fail."""

    def __init__(self, asked: Asked, failed: Connection):
        self._asked = asked
        self._failed = failed

    def pytest_collection_modifyitems(self, items):
        if self._asked.chosen is not None:
            order = {name: k for k, name in enumerate(self._asked.chosen)}
            items[:] = sorted((each for each in items if each.nodeid in order), key=lambda each: order[each.nodeid])

    def pytest_collectreport(self, report):
        self.pytest_runtest_logreport(report)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self._failed.send(report.nodeid)


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


def asked_by_lines(ran: LinesRun, root: Path, path: str, mutant: Mutant, budget: float) -> list[Asked]:
    """The tests that run the changed lines: the first few, and then all others."""
    judges = ran.judges(path, mutant.lines, nearest_first(path, [], root), budget)
    parts = filter(None, (judges[:_FIRST], judges[_FIRST:]))
    return [Asked.named(some, sum(ran.seconds[name] for name in some)) for some in parts]


@cache
def asked_by_name(root: Path, path: str, tests: tuple[str, ...]) -> list[Asked]:
    """The tests that are asked for by name, or mirror the module; ends the program where they fail without a change."""
    found = [Asked((each,)) for each in nearest_first(path, list(tests), root)]
    started = time.perf_counter()
    if any(failures(root, each) for each in found):
        sys.exit(f"The tests of {path} fail without any change; nothing can be learnt from them.")
    timeout = _PATIENCE * (time.perf_counter() - started)
    return [replace(each, timeout=timeout) for each in found]


def verdict(root: Path, path: str, source: str, asked: list[Asked]) -> str:
    """What happens in a copy of the project with a module so changed: the test that fails, SURVIVED, or no end."""
    module = root / path
    before = module.read_text(encoding="utf-8")
    module.write_text(source, encoding="utf-8")
    try:
        for some in asked:
            failed = failures(root, some)
            if failed:
                return failed[0]
    finally:
        module.write_text(before, encoding="utf-8")
    return SURVIVED


def failures(root: Path, asked: Asked) -> list[str]:
    """Tests that fail in a fork of this process, which has loaded all but the project; "no end" after the timeout."""
    told, telling = _FORK.Pipe(duplex=False)
    child = _FORK.Process(target=_pytest, args=(root, asked, telling))
    child.start()
    telling.close()
    failed = []
    try:
        while told.poll(asked.timeout):
            failed.append(told.recv())
        failed.append(ENDLESS)
    except EOFError:
        child.join(asked.timeout)
        if not failed and child.exitcode not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            failed.append(f"pytest, exit code {child.exitcode}")
    child.kill()
    child.join()
    return failed


def _pytest(root: Path, asked: Asked, telling: Connection) -> None:
    os.chdir(root)
    os.environ.update(PYTHONPATH=str(root), PYTHONDONTWRITEBYTECODE="1")
    sys.path.insert(0, str(root))
    sys.dont_write_bytecode = True
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    options = ["-q", f"--maxfail={asked.at_most}", "-n", "0", "-p", "no:cacheprovider"]
    os._exit(int(pytest.main([*options, *asked.places], plugins=[_Choice(asked, telling)])))


def _work(root: Path, arguments: argparse.Namespace, drawn: list[tuple[str, Mutant]], answers: SimpleQueue) -> None:
    """Makes a copy of the project and judges some mutants in it; the last answer is None."""
    try:
        for name in COPIED:
            copied = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copied(ROOT / name, root / name)
        ran = LinesRun.load(arguments.lines) if arguments.lines else None
        killers = {}
        for path, mutant in drawn:
            if ran is None:
                asked = asked_by_name(root, path, tuple(arguments.tests))
            else:
                asked = asked_by_lines(ran, root, path, mutant, arguments.budget)
            said = verdict(root, path, mutant.source, asked)
            answers.put((said, f"{path}:{mutant.where}  {mutant.change}"))
            if "::" in said:
                killers[said] = ran.seconds.get(said, 0.0) if ran else 0.0
        for name in failures(root, Asked.named(list(killers), sum(killers.values()), at_most=0)) if killers else ():
            print(f"{name} fails without any change: what it killed may live.", flush=True)
    finally:
        answers.put(None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", metavar="MODULE.py", help="modules or folders, from the root on")
    parser.add_argument("--tests", nargs="+", default=[], metavar="TEST.py", help="those that mirror a module if none")
    parser.add_argument("--sample", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lines", type=Path, metavar="LINES.json", help="a record of tests/lines_run.py, for --tests")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of tests for a mutant, with --lines")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    arguments = parser.parse_args()
    paths = [path for one in arguments.modules for path in sorted((ROOT / one).rglob("*.py")) or [ROOT / one]]
    names = [str(path.relative_to(ROOT)) for path in paths]
    found = [(name, each) for name in names for each in mutants((ROOT / name).read_text(encoding="utf-8"))]
    drawn = random.Random(arguments.seed).sample(found, min(arguments.sample, len(found)))
    for name in _LOADED:
        importlib.import_module(name)
    sys.path[:] = [each for each in sys.path if Path(each or ".").resolve() != ROOT]  # the copy is to be found
    verdicts: Counter[str] = Counter()
    answers = _FORK.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        workers = []
        for k in range(arguments.jobs):
            root = Path(tempfile.mkdtemp(dir=folder))
            workers += [_FORK.Process(target=_work, args=(root, arguments, drawn[k :: arguments.jobs], answers))]
            workers[-1].start()
        for _ in workers:
            for said, change in iter(answers.get, None):
                kind = said if said in (SURVIVED, ENDLESS) else "killed"
                verdicts[kind] += 1
                print(f"{kind:8s}  {change}" + (f"  by {said}" if kind == "killed" else ""), flush=True)
        for each in workers:
            each.join()
    counts = ", ".join(f"{count} {said}" for said, count in verdicts.items())
    print(f"{len(drawn)} mutants of {len(found)}: {counts}")


if __name__ == "__main__":
    main()
