"""Records which quick tests run which line and how long they take: few are to be asked about a line that is changed.

python tests/lines_run.py --output ../lines.json                     # all quick tests, once, by one process
python tests/lines_run.py --output ../lines.json tests/privacy       # these alone

A test that is handed what another one made before it (a fixture of the file, a cached set) does not run the line that
made it. So the other tests of a file are asked as well, after those that run the line themselves.
"""

import argparse
import ast
import json
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import coverage
import pytest

ROOT = Path(__file__).parents[1]
AT_IMPORT = ""  # what coverage calls the time between tests, when modules are loaded


@dataclass(frozen=True)
class LinesRun:
    """What was recorded.

    Attributes:
        seconds: that a test took, by its name; lines: for each module, from the root on, the tests that ran a line.
    """

    seconds: dict[str, float]
    lines: dict[str, dict[int, list[str]]]

    @classmethod
    def load(cls, path: Path) -> "LinesRun":
        kept = json.loads(path.read_text(encoding="utf-8"))
        names = list(kept["seconds"])
        lines = {
            module: {int(line): [AT_IMPORT if k < 0 else names[k] for k in ran] for line, ran in found.items()}
            for module, found in kept["lines"].items()
        }
        return cls(kept["seconds"], lines)

    def save(self, path: Path) -> None:
        number = {name: k for k, name in enumerate(self.seconds)} | {AT_IMPORT: -1}
        lines = {
            module: {line: sorted(number[name] for name in ran if name in number) for line, ran in found.items()}
            for module, found in self.lines.items()
        }
        path.write_text(json.dumps({"seconds": self.seconds, "lines": lines}), encoding="utf-8")

    def judges(self, module: str, lines: Collection[int], near: list[str], budget: float) -> list[str]:
        """The tests to ask about a change of these lines, until the budget of seconds is spent; none if none runs them.

        First come tests that run a line, those in the near files and folders before others; then, for what was made
        before a test, the rest of their files; and, for what is made at import, all tests that run the module.
        """
        found = self.lines.get(module, {})
        ran = {name for line in lines for name in found.get(line, ())}
        if not ran:
            return []
        running = ran - {AT_IMPORT}
        files = {_file(name) for name in running} | {each for each in near if each.endswith(".py")}
        loose = {name for each in found.values() for name in each} - {AT_IMPORT} if AT_IMPORT in ran else set()
        beside = {name for name in self.seconds if _file(name) in files}
        asked: dict[str, None] = {}
        for some in (running, beside, loose):
            for place in (*near, ""):
                asked |= dict.fromkeys(self._in_turn([name for name in some if name.startswith(place)]))
        return self._within(list(asked), budget)

    def _in_turn(self, names: list[str]) -> list[str]:
        """Quick ones first, of each file one in turn."""
        by_file = defaultdict(list)
        for name in sorted(names, key=lambda name: (self.seconds[name], name)):
            by_file[_file(name)].append(name)
        return [name for row in zip_longest(*by_file.values()) for name in row if name is not None]

    def _within(self, names: list[str], budget: float) -> list[str]:
        """Those that fit, and one at least."""
        taken: list[str] = []
        for name in names:
            if not taken or self.seconds[name] <= budget:
                taken.append(name)
                budget -= self.seconds[name]
        return taken


def _file(name: str) -> str:
    return name.partition("::")[0]


def lines_of(tree: ast.Module, node: ast.AST) -> range:
    """The lines of the statement that a node is part of, without the statements inside it."""
    around = [each for each in ast.walk(tree) if isinstance(each, ast.stmt) and any(n is node for n in ast.walk(each))]
    statement = min(around, key=lambda each: (each.end_lineno or 0) - each.lineno)
    first = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])
    inside = [each.lineno for each in getattr(statement, "body", ())]
    return range(first, max(min(inside, default=(statement.end_lineno or 0) + 1), first + 1))


class _Recorder:
    """A plugin of pytest that tells coverage which test runs, and keeps how long the tests that pass take."""

    def __init__(self, cover: coverage.Coverage):
        self._cover = cover
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_runtest_logstart(self, nodeid):
        self._cover.switch_context(nodeid)

    def pytest_runtest_logfinish(self):
        self._cover.switch_context(AT_IMPORT)

    def pytest_runtest_logreport(self, report):
        if report.passed:
            self.seconds[report.nodeid] = round(self.seconds.get(report.nodeid, 0.0) + report.duration, 4)
        else:
            self.failed.add(report.nodeid)


def record(tests: list[str]) -> LinesRun:
    """Runs the tests; those that fail where lines are watched are left out."""
    cover = coverage.Coverage(data_file=None, source=[str(ROOT / "dpcvx")], config_file=False)
    recorder = _Recorder(cover)
    cover.start()
    pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", *tests], plugins=[recorder])
    cover.stop()
    seconds = {name: each for name, each in recorder.seconds.items() if name not in recorder.failed}
    data = cover.get_data()
    lines = {
        Path(module).relative_to(ROOT).as_posix(): data.contexts_by_lineno(module)
        for module in sorted(data.measured_files())
    }
    return LinesRun(seconds, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", default=["tests"], metavar="TEST.py", help="files or folders; all if none")
    parser.add_argument("--output", type=Path, required=True, metavar="LINES.json", help="where the record goes")
    arguments = parser.parse_args()
    found = record(arguments.tests)
    found.save(arguments.output)
    spent = sum(found.seconds.values())
    print(f"{len(found.seconds)} tests of {spent:.0f} s run {len(found.lines)} modules")


if __name__ == "__main__":
    main()
