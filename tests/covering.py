"""Few rows that hold every pair of choices of any two factors: what two features do where they meet."""

from itertools import combinations

import numpy as np


def pairwise(factors, seed=0, tries=30):
    """Rows, each a dictionary with one choice for each factor, in which every pair of choices comes at least once."""
    rng, names = np.random.default_rng(seed), list(factors)
    missing = {
        (a, i, b, j) for a, b in combinations(names, 2) for i in range(len(factors[a])) for j in range(len(factors[b]))
    }

    def pairs(row):
        return {(a, row[a], b, row[b]) for a, b in combinations(names, 2)}

    rows = []
    while missing:
        a, i, b, j = min(missing)
        found = []
        for _ in range(tries):
            row = {name: int(rng.integers(len(factors[name]))) for name in names} | {a: i, b: j}
            found.append((len(pairs(row) & missing), len(found), row))
        row = max(found)[2]
        missing -= pairs(row)
        rows.append({name: factors[name][row[name]] for name in names})
    return rows
