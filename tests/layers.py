"""The layers of the package, and its imports as the source has them, to be held against each other.

An import counts wherever it stands: at the top of a module, in a function, for types only, or as a call of
`importlib.import_module` or `__import__`. That Python loads a package before its modules is not counted: otherwise each
package that gathers names from its modules would be a cycle.
"""

import ast
import graphlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("dpcvx", "decision_sets")

Layers = Sequence[Sequence[str]]

# From the lowest layer to the highest. A module belongs to the longest name that begins its own, and `dpcvx` is its
# `__init__.py` alone. A module may import its own group and what stands in lower rows; those beside each other in one
# row do not know each other.
LAYERS: Layers = (
    ("dpcvx.version", "dpcvx.errors", "dpcvx.markup"),
    ("dpcvx.arrays", "dpcvx.arguments"),
    ("dpcvx.streams",),
    ("dpcvx.storage", "dpcvx.barriers", "dpcvx.actions", "dpcvx.sets.layout", "dpcvx.sets.sparse_rows"),
    ("dpcvx.sets.solvers",),
    ("dpcvx.sets.conic",),
    ("dpcvx.sets.geometry",),
    ("dpcvx.sets.oracles",),
    ("dpcvx.sets.shapes",),
    ("dpcvx.sets",),
    ("dpcvx.regularizers", "dpcvx.privacy"),
    ("dpcvx.checkpoints", "decision_sets"),
    ("dpcvx.learners",),
    ("dpcvx.adapters", "dpcvx.experiments"),
    ("dpcvx.studies",),
    ("dpcvx.report",),
    ("dpcvx.commands",),
    ("dpcvx.cli",),
    ("dpcvx", "dpcvx.__main__"),
)


@dataclass(frozen=True)
class Import:
    """One module that another imports, and the line that says so."""

    importer: str
    imported: str
    line: int


@dataclass(frozen=True)
class Reading:
    """What the source says.

    Attributes:
        imports: every import of one module by another.
        offences: sentences on private names that cross modules, and on imports whose target is not written down.
    """

    imports: tuple[Import, ...]
    offences: tuple[str, ...]


def modules_in(root: Path, packages: Iterable[str] = PACKAGES) -> dict[str, Path]:
    """The modules of some packages below a folder, by their full names."""
    found = {}
    for package in packages:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def read(modules: Mapping[str, Path]) -> Reading:
    """Read all imports between the modules."""
    readers = [_Reader(name, path, modules) for name, path in modules.items()]
    return Reading(
        tuple(each for reader in readers for each in reader.imports),
        tuple(each for reader in readers for each in reader.offences),
    )


class _Reader(ast.NodeVisitor):
    """Reads the imports of one module."""

    def __init__(self, name: str, path: Path, modules: Mapping[str, Path]) -> None:
        self.name, self.modules = name, modules
        self.package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        self.imports: list[Import] = []
        self.offences: list[str] = []
        self._aliases: dict[str, str] = {}  # names by which modules are known here
        self._importers = {"__import__"}  # names by which functions that import are known here
        self.visit(ast.parse(path.read_text(encoding="utf-8")))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._take(alias.name, alias.asname or alias.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = self._absolute("." * node.level + (node.module or ""))
        for alias in node.names:
            self._take(f"{base}.{alias.name}", alias.asname or alias.name, node)

    def _take(self, target: str, alias: str, node: ast.stmt) -> None:
        """An import of `target`, a module or a name in one, under the name `alias`."""
        if target == "importlib.import_module":
            self._importers.add(alias)
        module = self._add(target, node)
        if module is None:
            return
        if module == target:
            self._aliases[alias] = module
        self._private(target.rpartition(".")[2], target.rpartition(".")[0], node)

    def visit_Call(self, node: ast.Call) -> None:
        if not self._imports(node.func):
            self.generic_visit(node)
            return
        name = node.args[0] if node.args else None
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            self._add(self._absolute(name.value), node)
        else:
            self._offend(node, "imports a module whose name is not written there")
        for argument in (*node.args, *node.keywords):
            self.visit(argument)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        module = self._aliases.get(_dotted(node.value))
        if module is not None:
            self._private(node.attr, module, node)
        self.visit_Name(node)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name | ast.Attribute) -> None:
        if self._imports(node):
            self._offend(node, "hands on a function that imports modules")

    def _imports(self, function: ast.expr) -> bool:
        """Whether a function imports the module that it is given by name."""
        if isinstance(function, ast.Attribute):
            return function.attr in ("import_module", "__import__")
        return isinstance(function, ast.Name) and function.id in self._importers

    def _add(self, target: str, node: ast.AST) -> str | None:
        """Note the import of a module, or of the one that holds the name; None where it is not one of ours."""
        while target and target not in self.modules:
            target = target.rpartition(".")[0]
        if target:
            self.imports.append(Import(self.name, target, node.lineno))
        return target or None

    def _absolute(self, target: str) -> str:
        """The full name of a module; each leading dot but the first leads out of one package."""
        name = target.lstrip(".")
        up = len(target) - len(name)
        if not up:
            return name
        parts = self.package.split(".")
        return ".".join([*parts[: len(parts) + 1 - up], *([name] if name else [])])

    def _private(self, name: str, module: str, node: ast.AST) -> None:
        if name.startswith("_") and not name.endswith("__"):
            self._offend(node, f"takes the private name {name} from {module}")

    def _offend(self, node: ast.AST, words: str) -> None:
        self.offences.append(f"{self.name}, line {node.lineno}, {words}")


def _dotted(node: ast.expr) -> str:
    """An expression such as a.b.c as a text; any other is empty."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return before and f"{before}.{node.attr}"
    return ""


def cycle(imports: Iterable[Import]) -> list[str]:
    """The modules of one cycle, each imported by the one before it; an empty list where there is none."""
    graph: dict[str, set[str]] = {}
    for each in imports:
        graph.setdefault(each.importer, set()).add(each.imported)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(reversed(error.args[1]))
    return []


def place_of(module: str, layers: Layers = LAYERS) -> tuple[int, str]:
    """The row of a module, from 0, and its group there; (-1, "") where it stands in no layer."""
    groups = [(row, name) for row, beside in enumerate(layers) for name in beside]
    fitting = [g for g in groups if module == g[1] or (module.startswith(f"{g[1]}.") and g[1] != PACKAGES[0])]
    return max(fitting, key=lambda group: len(group[1]), default=(-1, ""))


def misplaced(modules: Iterable[str], layers: Layers = LAYERS) -> list[str]:
    """A sentence on each module that stands in no layer, and on each name in the layers that no module has."""
    groups = {module: place_of(module, layers)[1] for module in modules}
    missing = {name for beside in layers for name in beside} - set(groups.values())
    homeless = [module for module, group in groups.items() if not group]
    return [f"{module} stands in no layer" for module in homeless] + [
        f"{name} is no module" for name in sorted(missing)
    ]


def upward(imports: Iterable[Import], layers: Layers = LAYERS) -> list[str]:
    """A sentence on each import that leaves its group and does not go down."""
    found = []
    for each in imports:
        above, below = place_of(each.importer, layers), place_of(each.imported, layers)
        if above != below and above[0] <= below[0]:
            found.append(f"{each.importer}, line {each.line}, imports {each.imported}, which does not stand below it")
    return found
