"""Wrong arguments of the catalogue: the error names the argument, what came, and what is accepted."""

import re

import numpy as np
import pytest

import decision_sets as ds

WRONG = [
    (lambda: ds.simplex(1), "n must be a whole number of at least 2, but 1 came."),
    (lambda: ds.simplex(2.5), "n must be a whole number of at least 2, but 2.5 came."),
    (lambda: ds.simplex(True), "n must be a whole number of at least 2, but True came."),
    (lambda: ds.simplex(3, scale=0), "scale must be a positive finite number, but 0 came."),
    (lambda: ds.simplex(3, scale=np.nan), "scale must be a positive finite number, but nan came."),
    (lambda: ds.simplex(3, scale="1"), "scale must be a positive finite number, but '1' came."),
    (lambda: ds.capped_simplex(4, 4), "k must be a whole number from 1 to 3, but 4 came."),
    (lambda: ds.capped_simplex(4, 1.5), "k must be a whole number from 1 to 3, but 1.5 came."),
    (lambda: ds.box([0, 1], [1, 1]), "at entry (1,) lower is 1.0 and upper is 1.0."),
    (lambda: ds.box([0, -np.inf], [1, 1]), "lower must be finite, but its entry (1,) is -inf."),
    (lambda: ds.box([0, 0], [1, np.nan]), "upper must hold numbers, but its entry (1,) is NaN."),
    (lambda: ds.box([0, 0], [1, 1, 1]), "lower and upper must have one shape, but (2,) and (3,) came."),
    (lambda: ds.box([0, 0], ["a", "b"]), "upper must be an array of numbers, but ['a', 'b'] came."),
    (lambda: ds.box([0, 0], [1j, 1]), "upper must be an array of numbers"),
    (lambda: ds.cube(0), "n must be a whole number of at least 1, but 0 came."),
    (lambda: ds.cube(3, -1), "radius must be a positive finite number, but -1 came."),
    (lambda: ds.norm_ball(3, p=0.5), "p must be a number of at least 1, or infinity, but 0.5 came."),
    (lambda: ds.norm_ball(3, p=np.nan), "p must be a number of at least 1, or infinity, but nan came."),
    (lambda: ds.norm_ball(3, p="fro"), "p must be a number of at least 1, or infinity, but 'fro' came."),
    (lambda: ds.norm_ball(3, center=[0, 0]), "center must have length 3, but a vector of length 2 came."),
    (lambda: ds.norm_ball(3, radius=np.inf), "radius must be a positive finite number, but inf came."),
    (lambda: ds.ellipsoid([[1, 2], [0, 1]]), "shape_matrix must be square and symmetric"),
    (lambda: ds.ellipsoid([[1, 0], [0, -2]]), "shape_matrix must be positive definite, but it has the eigenvalue -2."),
    (lambda: ds.polytope([[1, 1]], [1, 2]), "b must have one entry for each of the 1 rows of A, but 2 came."),
    (
        lambda: ds.polytope([1, 1], [1, 2]),
        "A must be a matrix with at least one entry, but an array of shape (2,) came.",
    ),
    (lambda: ds.polytope([[1, np.inf]], [1]), "A must be finite, but its entry (0, 1) is inf."),
    (lambda: ds.polytope([[1, 1]], [1], lower=[0, 0, 0]), "lower must be a number or have length 2"),
    (lambda: ds.convex_hull([[1, 2], [1, 2]]), "points must hold at least two different rows, but all 2 are the same."),
    (lambda: ds.convex_hull([[1, 2], [1]]), "points must be an array of numbers, but numpy cannot read it"),
    (lambda: ds.permutahedron(1), "n must be a whole number of at least 2, but 1 came."),
    (lambda: ds.birkhoff(1), "n must be a whole number of at least 2, but 1 came."),
    (lambda: ds.transport_polytope([1, 2], [1, 1]), "must have the same total, but they sum to 3.0 and 2.0."),
    (lambda: ds.transport_polytope([1, -1], [1, 1]), "row_sums must be positive, but its entry 1 is -1.0."),
    (lambda: ds.transport_polytope([1, 1], [2]), "column_sums must have at least two entries, but one came"),
    (lambda: ds.portfolio(4, 5), "sectors must be a whole number from 1 to 4, but 5 came."),
    (lambda: ds.portfolio(4, 2, turnover=0), "turnover must be a positive finite number, but 0 came."),
    (lambda: ds.portfolio(4, 2, held=[0.5, 0.5]), "held must have length 4, but a vector of length 2 came."),
    (lambda: ds.spectrahedron(1), "k must be a whole number of at least 2, but 1 came."),
    (lambda: ds.nuclear_ball(0, 2), "m must be a whole number of at least 1, but 0 came."),
    (lambda: ds.spectral_ball(2, 2, 0.0), "radius must be a positive finite number, but 0.0 came."),
    (lambda: ds.entropy_ball(3, 1.2), "at_least must be a number from 0 to below log(3) = 1.09861, but 1.2 came."),
    (lambda: ds.entropy_ball(3, -0.1), "at_least must be a number from 0 to below log(3) = 1.09861, but -0.1 came."),
    (lambda: ds.kl_ball([0.5, 0.6], 1.0), "with smallest 0.5 and sum 1.1."),
    (lambda: ds.kl_ball([0.0, 1.0], 1.0), "with smallest 0 and sum 1."),
    (lambda: ds.kl_ball([0.5, 0.5], 0.0), "radius must be a positive finite number, but 0.0 came."),
]


@pytest.mark.parametrize(("call", "sentence"), WRONG, ids=[sentence for _, sentence in WRONG])
def test_a_wrong_argument_is_refused_with_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()


def test_numpy_numbers_and_lists_are_accepted():
    assert ds.simplex(np.int64(3), scale=np.float32(2)).dim == 2
    assert ds.box([0, 0], 1).shape == (2,)
    assert ds.polytope([[1, 1]], [1], lower=[0, 0], upper=[np.inf, np.inf]).dim == 2
