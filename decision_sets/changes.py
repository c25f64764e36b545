"""The usual changes that one person makes in a round: a share of the losses, a path, a few entries."""

from collections.abc import Callable
from typing import Any

import cvxpy as cp

from decision_sets.flows import PathPolytope, require_paths
from dpcvx.arguments import kind_of, positive, whole
from dpcvx.errors import ArgumentError
from dpcvx.privacy.change import Change
from dpcvx.sets import LossSet


def share(loss_set: LossSet, people: int) -> Change:
    """One of so many people whose mean is the loss: each contributes l/people, l in the loss set, and may replace it.

    The number of people must be public and fixed; of a number that varies, take the smallest.

    Example:
        >>> import decision_sets
        >>> Y = decision_sets.loss_box(10, 0, 1)
        >>> decision_sets.share(Y, people=1000).norm(1)
        0.01 (exact)
    """
    if not isinstance(loss_set, LossSet):
        raise ArgumentError(f"loss_set must be a LossSet, not {kind_of(loss_set)}.")
    people = whole(people, "people")
    old, given = loss_set.variable, dict(loss_set.variable.attributes)
    if given.get("bounds") is not None:
        given["bounds"] = [end / people for end in given["bounds"]]
    c = cp.Variable(old.shape, name="c", **given)
    others = {v.id: v for constraint in loss_set.constraints for v in constraint.variables() if v.id != old.id}
    new: dict[int, Any] = {id(v): cp.Variable(v.shape, **v.attributes) for v in others.values()}
    new[id(old)] = people * c
    constraints = [constraint.tree_copy(id_objects=new) for constraint in loss_set.constraints]
    return Change(c, constraints, replace=True, name=f"one of {people} people")


def one_path(graph: Any, source: Any, target: Any, people: int, *, replace: bool = True) -> Change:
    """One of so many people on the edges of a networkx DAG, each counted as 1/people on the edges of a path.

    Args:
        graph, source, target: see `flow_polytope`; entries follow ``graph.edges``.
        people: how many there are; the number must be public and fixed.
        replace: whether a person takes another path; otherwise one comes, or goes.

    Example:
        >>> import decision_sets
        >>> import networkx as nx
        >>> roads = nx.DiGraph([("home", "hill"), ("home", "lake"), ("hill", "work"), ("lake", "work")])
        >>> decision_sets.one_path(roads, "home", "work", people=1000).norm(1)  # two roads less, two roads more
        0.004 (bound)
    """
    require_paths(graph, source, target)
    paths, people = PathPolytope(graph, source, target), whole(people, "people")
    c = cp.Variable(len(paths.edges), name="c" if replace else "d", nonneg=True)
    constraints = [paths.divergence @ c == paths.demand / people]
    return Change(c, constraints, replace=replace, name=f"one path among {people} people")


def few_entries(shape: int | tuple[int, ...], k: int, a: float) -> Change:
    """At most k entries by at most a each, up or down: {‖d‖_inf <= a, ‖d‖_1 <= k a}, the hull of these changes.

    Example:
        >>> import decision_sets
        >>> D = decision_sets.few_entries(10, k=3, a=0.5)
        >>> round(float(D.norm(1)), 6)
        1.5
    """
    k, a = whole(k, "k"), positive(a, "a")
    d = cp.Variable(shape, name="d")
    entries = cp.vec(d, order="F")
    constraints = [cp.norm_inf(entries) <= a]
    if k < d.size:
        constraints.append(cp.norm1(entries) <= k * a)
    return Change(d, constraints, name=f"at most {k} entries by {a:g}")


# by the word of the command line, which gives the numbers after the losses
NAMED_CHANGES: dict[str, Callable[..., Change]] = {
    "share": share,
    "entries": lambda loss_set, k, a: few_entries(loss_set.shape, k, a),
}
