"""Permutations of n things, as vectors (permutahedron) and as matrices (Birkhoff polytope)."""

import cvxpy as cp
import numpy as np
from scipy.optimize import linear_sum_assignment

from decision_sets.arguments import whole
from decision_sets.named import named
from dpcvx.arrays import Array
from dpcvx.sets import DecisionSet

NEGLIGIBLE = 1e-12  # a weight below this is taken as rounding


@named("4")
def permutahedron(n: int) -> DecisionSet:
    """The permutahedron: the convex hull of the n! orderings of the numbers 1, ..., n, in R^n.

    It has 2^n - 2 facets. This declaration runs a sorting network backwards from (n, ..., 1), where each comparator
    may mix its two values: 2 m inequalities for m comparators (Goemans, Smallest compact formulation for the
    permutahedron, 2015), hence nu <= 2 m - 1. For every n this is less than the n^2 - n of a doubly stochastic matrix
    and the about 2 n^2 of bounds on the sums of the k largest entries.

    Example:
        >>> import decision_sets
        >>> decision_sets.permutahedron(3).argmin([3, 1, 2]).tolist()  # the cheapest gets the largest number
        [1.0, 3.0, 2.0]
    """
    n = whole(n, "n", at_least=2)
    network = sorting_network(n)
    m = len(network)
    x, y = cp.Variable(n), cp.Variable(m)
    # Row i of wires is the value on wire i as an affine function of y: m coefficients and a constant.
    wires = np.hstack([np.zeros((n, m)), np.arange(n, 0.0, -1.0)[:, None]])
    above, below = np.zeros((m, m + 1)), np.zeros((m, m + 1))
    for s in reversed(range(m)):
        i, j = network[s]
        above[s], below[s] = wires[i], wires[j]
        mixed = np.eye(1, m + 1, s)[0]
        wires[i], wires[j] = mixed, above[s] + below[s] - mixed
    constraints = [
        below[:, :m] @ y + below[:, m] <= y,
        y <= above[:, :m] @ y + above[:, m],
        x == wires[:, :m] @ y + wires[:, m],
    ]
    return DecisionSet(
        x, constraints, oracle=cheapest_ordering, vertex_sampler=draw_ordering, name=f"permutahedron({n})"
    )


@named("4")
def birkhoff(n: int) -> DecisionSet:
    """The Birkhoff polytope {X >= 0, X 1 = 1, X' 1 = 1} of order n: the hull of the permutation matrices.

    Example:
        >>> import decision_sets
        >>> decision_sets.birkhoff(2).argmin([[1, 0], [0, 1]]).tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """
    n = whole(n, "n", at_least=2)
    X = cp.Variable((n, n), nonneg=True)
    constraints = [cp.sum(X, axis=1) == 1, cp.sum(X, axis=0) == 1]
    return DecisionSet(
        X, constraints, oracle=cheapest_assignment, vertex_sampler=draw_permutation_matrix, name=f"birkhoff({n})"
    )


def sorting_network(n: int) -> list[tuple[int, int]]:
    """Return Batcher's merge exchange network on n wires: comparators (i, j), i < j, in the order they are applied."""
    comparators = []
    top = 1 << max(0, (n - 1).bit_length() - 1)
    p = top
    while p:
        q, phase, distance = top, 0, p
        while True:
            comparators += [(i, i + distance) for i in range(n - distance) if i & p == phase]
            if q == p:
                break
            distance, phase, q = q - p, p, q // 2
        p //= 2
    return comparators


def cheapest_ordering(c: Array) -> Array:
    """Return the ordering of 1, ..., n with the least <c, x>: the largest number where the cost is least."""
    ordering = np.empty(c.size)
    ordering[np.argsort(c)] = np.arange(c.size, 0, -1)
    return ordering


def cheapest_assignment(C: Array) -> Array:
    """Return the permutation matrix X with the least <C, X>."""
    return permutation_matrix(linear_sum_assignment(C)[1])


def permutation_matrix(columns: Array) -> Array:
    """Return the matrix with a one at (i, columns[i]) for every row i."""
    n = len(columns)
    matrix = np.zeros((n, n))
    matrix[np.arange(n), columns] = 1.0
    return matrix


def draw_permutation_matrix(point: Array, rng: np.random.Generator) -> Array:
    """Draw a permutation matrix whose mean is the doubly stochastic matrix ``point``.

    One step of the Birkhoff-von Neumann decomposition writes the matrix as weight * M + (1 - weight) * rest with a
    permutation matrix M and a rest that has one more zero; M is drawn with probability weight, otherwise the rest
    is decomposed.
    """
    rest = np.maximum(point, 0.0)
    n = len(rest)
    while True:
        # An assignment on positive entries, with a large smallest entry: any zero costs more than n positive entries.
        cost = np.where(rest > NEGLIGIBLE, -np.log(np.maximum(rest, NEGLIGIBLE)), -2 * n * np.log(NEGLIGIBLE))
        columns = linear_sum_assignment(cost)[1]
        weight = rest[np.arange(n), columns].min()
        if weight <= NEGLIGIBLE or rng.uniform() < weight or weight >= 1 - NEGLIGIBLE:
            return permutation_matrix(columns)
        rest[np.arange(n), columns] -= weight
        rest /= 1 - weight


def draw_ordering(point: Array, rng: np.random.Generator) -> Array:
    """Draw an ordering of 1, ..., n whose mean is ``point``, a point of the permutahedron.

    The ordering v sorted like the point lies in every face that contains it; the ray from v through the point leaves
    the permutahedron at a point of a smaller face. Either v is drawn, with its weight, or the walk goes on from there.
    """
    n = point.size
    largest_sums = np.cumsum(np.arange(n, 0.0, -1.0))
    for _ in range(n):
        ordering = np.empty(n)
        ordering[np.argsort(-point)] = np.arange(n, 0, -1)
        direction = point - ordering
        if np.abs(direction).max() <= NEGLIGIBLE * n:
            break
        step = _exit_step(point, direction, largest_sums)
        if rng.uniform() * (1 + step) < step:
            break
        point = point + step * direction
    return ordering


def _exit_step(point: Array, direction: Array, largest_sums: Array) -> float:
    """Return the largest t with point + t * direction in the permutahedron, by Newton's method on its facets."""
    rising = direction > 0
    step = float(np.min((largest_sums[0] - point[rising]) / direction[rising]))
    while True:
        order = np.argsort(-(point + step * direction))
        sums, slopes = np.cumsum(point[order]), np.cumsum(direction[order])
        violated = (sums + step * slopes > largest_sums * (1 + NEGLIGIBLE)) & (slopes > 0)
        if not violated.any():
            return max(step, 0.0)
        shorter = float(np.min((largest_sums[violated] - sums[violated]) / slopes[violated]))
        if shorter >= step:
            return max(step, 0.0)
        step = shorter
