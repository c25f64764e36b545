"""The small changes that can be made to a module, one at a time: a comparison, a sign, a number, an extreme, a lock."""

import ast
import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from lines_run import lines_of

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
    def where(self) -> str:
        """Line and column, from 1."""
        node = self._node
        return f"{getattr(node, 'lineno', 0)}:{getattr(node, 'col_offset', -1) + 1}"

    @property
    def lines(self) -> range:
        """Those of the statement that is changed."""
        return lines_of(self.tree, self._node)

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
        more = node.value + 1 if node.value + 1 != node.value else 2 * node.value
        yield ast.Constant({0: 1, 1: 0}.get(node.value, more))
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
