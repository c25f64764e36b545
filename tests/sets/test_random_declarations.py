"""Random declarations from the atoms of cvxpy, each judged by independent solves of the constraints it was made of."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from declaration_judge import Judge
from random_atoms import ATOMS
from random_declarations import KINDS, Declaration, random_declaration
from random_faces import AUXILIARIES, FACES, MATRIX_FACES

from dpcvx import DecisionSet, errors
from dpcvx.errors import DpcvxError

QUICK, BATCH = 200, 10
SLOW_FROM, SLOW, SLOW_BATCH = 1000, 2000, 50
FAILED_ONCE = {  # seeds of declarations that were answered wrongly once
    16: "a point with auxiliaries had no Dikin ellipsoid",
    29: "was empty in units from 1e-5 to 10, and refused without a proof of that",
    53: "was empty in units from 1e-3 to 100, and refused without a proof of that",
    64: "a point with auxiliaries had no Dikin ellipsoid",
    80: "contained points outside the domain of matrix_frac",
    112: "an interval that is the image of a ball had no 1-norm",
    229: "projected half a percent too far in its units",
    249: "was called flat in units from 1e-6 to 1e5",
    253: "projected a quarter too far in its units",
    356: "projected a tenth of its size too far in units from 1e-5 to 1e6",
    414: "projected points inside a ten-thousandth of its size away",
    600: "was called empty in units from 1e-4 to 1e5",
    658: "projected to a root of the tolerance only",
    39: "a vanishing quad_over_lin and a tangent of a power were refused: no proof that they are flat",
    234: "two faces in units of their own were refused: no proof that they are flat",
    1063: "was called empty once its column had the units of its bound",
    1077: "an eigenvalue face in units from 1e-3 to 1e4 was refused: no proof that it is flat",
    1079: "was called unbounded in units from 1e-3 to 1e5",
    1083: "a huber and a tangent of exp at once were refused: no proof that they are flat",
    1129: "touched squares and a touched exponential were refused: no proof that they are flat",
    1161: "a face of entr in units was refused: no proof that it is flat",
    1177: "an eigenvalue face in units from 1e-1 to 1e5 was refused: no proof that it is flat",
    1411: "did not hold its own minimiser at 1e-7",
    2303: "projected off its affine hull in units from 1e-6 to 1e5",
    2381: "projected off its affine hull in units from 1e-6 to 1e5, a polytope",
    2467: "did not hold its own minimiser in units from 1e-6 to 1e5, a hull of points with bounds",
    2342: "was refused because of auxiliaries that may be moved at no cost",
    1510: "two faces in units from 1e-3 to 1e6 were refused: no proof that they are flat",
    3610: "a vanishing huber and a tangent of a power were refused: no proof that they are flat",
    4186: "an unbounded set was called empty, by a point so far out that its slacks were rounding",
    5428: "projected a tenth of its size too far in units from 1e-5 to 1e4, a capped simplex",
    1133: "noise in a normal put the center outside by a thousandth",
    7279: "noise in a normal was taken for a face that is smaller by one dimension",
    10483: "vanishing fourth powers and a kl_div in units from 1e-6 to 1e6 were refused: no proof that they are flat",
    114: "was empty in units from 1e-5 to 30, and refused without a proof of that",
    2610: "a vanishing huber and quad_over_lin were refused: no proof that they are flat",
    71179: "a kernel of a matrix in units was called flat, its center far from the first point inside",
    91410: "was called unbounded, by a direction of which a solver had stopped short",
    2783: "a vanishing quad_form and touched squares, in units, put the center outside by a fifth of the size",
}

TWO_FACES_FAILED_ONCE = {  # the same for seeds of which two faces were asked
    20080: "a vanishing norm in power cones was called empty by 8e-33",
    20200: "a vanishing quad_form and pnorm in units from 1e-1 to 1e6 were refused: no proof that they are flat",
    50072: "a vanishing square and geo_mean in units from 1e-4 to 1e6 were refused: no proof that they are flat",
    50210: "a vanishing frobenius and norm1 in units raised a LinAlgError",
    71076: "a point was refused because of auxiliaries in units far apart",
    60126: "contained points off its hull, in an entry that is fixed at 1e-6 beside one of 1e4",
    60146: "raised NumPy's error where cvxpy itself fails, of geometric means of two lengths",
}


def judged(declaration: Declaration, *, deep: bool = False) -> list[str]:
    """What is wrong with the set of a declaration, or with its refusal."""
    judge = Judge(declaration)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # thin sets, and cvxpy's advice on approximations
            X = DecisionSet(declaration.variable, declaration.constraints)
        return judge.judge(X, deep=deep)
    except DpcvxError as error:
        return judge.refused(error)
    except Exception as error:  # to be listed with the seed that it belongs to
        return [f"raised {type(error).__name__}: {error}"]


def wrong_ones(seeds: range, deep: int | None = None) -> dict[str, list[str]]:
    """The complaints about a range of seeds, by declaration; every `deep`-th is judged deeply."""
    found = {}
    for seed in seeds:
        declaration = random_declaration(seed)
        complaints = judged(declaration, deep=deep is not None and seed % deep == 0)
        if complaints:
            found[f"{seed}: {declaration.kind} of {', '.join(declaration.pieces)}"] = complaints
    return found


@pytest.mark.parametrize("start", range(0, QUICK, BATCH))
def test_random_declarations_are_answered_as_their_constraints_say(start):
    assert wrong_ones(range(start, start + BATCH)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("start", range(SLOW_FROM, SLOW_FROM + SLOW, SLOW_BATCH))
def test_many_random_declarations_are_answered_as_their_constraints_say(start):
    assert wrong_ones(range(start, start + SLOW_BATCH), deep=10) == {}


@pytest.mark.parametrize("seed", list(FAILED_ONCE))
def test_declarations_that_were_wrong_once_are_right(seed):
    assert judged(random_declaration(seed)) == []


def test_sizes_are_proved_where_the_dual_simplex_method_ends_at_a_vertex_that_is_no_optimum():
    assert judged(random_declaration(90380), deep=True) == []  # a hull in nine columns; HiGHS: "Unknown"


@pytest.mark.parametrize("seed", list(TWO_FACES_FAILED_ONCE))
def test_declarations_with_two_faces_that_were_wrong_once_are_right(seed):
    assert judged(random_declaration(seed, "two faces")) == []


def test_the_quick_declarations_are_of_every_kind_and_of_most_atoms():
    drawn = [random_declaration(seed) for seed in range(QUICK)]
    pieces = {piece for declaration in drawn for piece in declaration.pieces}
    assert {declaration.kind for declaration in drawn} == set(KINDS)
    assert len(pieces & set(ATOMS)) >= 0.9 * len(ATOMS)
    assert len(pieces & set(FACES)) >= 0.9 * len(FACES)
    assert set(MATRIX_FACES) <= pieces
    assert len(pieces & set(AUXILIARIES)) >= 0.7 * len(AUXILIARIES)
    units = np.array([[declaration.units.min(), declaration.units.max()] for declaration in drawn])
    assert units.min() < 1e-5 and units.max() > 1e5


def test_a_seed_gives_the_same_declaration_again():
    first, again = random_declaration(5), random_declaration(5)
    x = first.from_plain(first.anchor)
    assert np.array_equal(x, again.from_plain(again.anchor))
    assert first.pieces == again.pieces
    first.variable.save_value(x)
    again.variable.save_value(x)
    sides = zip(first.constraints, again.constraints, strict=True)
    assert all(np.array_equal(a.violation(), b.violation()) for a, b in sides)


# the teeth of the judge: sets that are wrong on purpose


def declared(make, n=3, **attributes):
    """A declaration of one's own in the form that the judge takes: constraints made from a variable and a point."""
    x, z = cp.Variable(n, **attributes), cp.Variable(n, **attributes)
    shape = x.shape
    return Declaration(
        seed=0,
        kind="mixture",
        pieces=(),
        variable=x,
        constraints=make(x),
        plain=z,
        plain_constraints=make(z),
        written=make(z),
        units=np.ones(shape),
        offset=np.zeros(shape),
        anchor=np.zeros(shape),
        has_auxiliaries=False,
    )


def ball_with_cap(x):
    return [cp.norm2(x) <= 1, x[0] <= 0.5]


def box(x):
    return [x >= -1, x <= 2]


def disc(x):
    return [cp.norm2(x) <= 1, x[0] == 0.25]


class Broken:
    """A decision set with some of its answers exchanged."""

    def __init__(self, X, **answers):
        self.__dict__.update(answers)
        self._right = X

    def __getattr__(self, name):
        return getattr(self._right, name)


def _dikin_too_large(X):
    real = X.dikin

    class Wide:
        def __init__(self, point):
            self._ellipsoid = real(point)

        def sample(self, rng, size):
            return self._ellipsoid.sample(rng, size, radius=3.0)

    return Broken(X, dikin=Wide)


def _cut(X):
    return Broken(X.recognised, diameter=lambda p: 0.99 * float(X.recognised.diameter(p)))


def _moved_box(X, step):
    lower, upper = X.bounding_box()
    return lower + step, upper


BREAKS = {
    "contains everything": (box, lambda X: Broken(X, contains=lambda x, tol=0: True), "contains is True"),
    "contains nothing": (box, lambda X: Broken(X, contains=lambda x, tol=0: False), "contains"),
    "contains too little": (
        ball_with_cap,
        lambda X: Broken(X, contains=lambda x, tol=0: X.contains(x / 0.9, tol)),
        "contains",
    ),
    "argmin that falls short": (box, lambda X: Broken(X, argmin=lambda c: 0.999 * X.argmin(c)), "argmin has value"),
    "argmin outside": (ball_with_cap, lambda X: Broken(X, argmin=lambda c: 1.001 * X.argmin(c)), "argmin"),
    "project onto the center": (box, lambda X: Broken(X, project=lambda p: X.center), "projection"),
    "diameter 1 % too small": (box, lambda X: Broken(X, recognised=_cut(X)), "diameter"),
    "radius too small": (box, lambda X: Broken(X, norm_bound=lambda p: 0.99 * X.norm_bound(p)), "norm_bound"),
    "reach too small": (
        box,
        lambda X: Broken(X, recognised=Broken(X.recognised, reach=0.99 * X.recognised.reach)),
        "reach",
    ),
    "box too small": (
        box,
        lambda X: Broken(X, bounding_box=lambda: (X.bounding_box()[0] + 0.01, X.bounding_box()[1])),
        "box",
    ),
    "box too large": (
        box,
        lambda X: Broken(X, bounding_box=lambda: (X.bounding_box()[0] - 0.01, X.bounding_box()[1])),
        "loose",
    ),
    "support bound too small": (
        box,
        lambda X: Broken(X, support_bound=lambda c: X.support_bound(c) - 1e-3),
        "support_bound",
    ),
    "nu too small": (box, lambda X: Broken(X, nu=0.5), "nu"),
    "nu infinite": (box, lambda X: Broken(X, nu=np.inf), "nu"),
    "dimension too large": (disc, lambda X: Broken(X, dim=3, basis=np.eye(3)), "dim is 3"),
    "dimension too small": (box, lambda X: Broken(X, dim=2, basis=np.eye(3)[:, :2]), "across"),
    "Dikin ellipsoid too large": (box, _dikin_too_large, "Dikin"),
    "center outside": (box, lambda X: Broken(X, center=np.array([0.0, 0.0, 2.5])), "center"),
}


@pytest.fixture(scope="module")
def right():
    """The sets that are then broken, each judged to be right."""
    found = {}
    for make in (box, disc, ball_with_cap):
        declaration = declared(make)
        X = DecisionSet(declaration.variable, declaration.constraints)
        assert Judge(declaration).judge(X, deep=True) == []
        found[make] = declaration, X
    return found


@pytest.mark.parametrize("name", list(BREAKS))
def test_the_judge_finds_what_is_broken_on_purpose(name, right):
    make, broken, words = BREAKS[name]
    declaration, X = right[make]
    complaints = Judge(declaration).judge(broken(X))
    assert any(words in complaint for complaint in complaints), complaints


def test_the_judge_finds_a_barrier_parameter_that_is_too_small():
    declaration = declared(lambda x: [x >= 0, cp.sum(x) <= 1])
    X = DecisionSet(declaration.variable, declaration.constraints)
    steep = Broken(X.barrier, gradient=lambda point: np.array([50.0, -50.0, 20.0]))
    assert any("barrier falls" in complaint for complaint in Judge(declaration).judge(Broken(X, barrier=steep)))


@pytest.mark.parametrize("name", ["EmptySetError", "UnboundedSetError", "DegenerateSetError", "OracleError"])
def test_the_judge_refutes_refusals_without_a_reason(name):
    declaration = declared(box)
    assert Judge(declaration).refused(getattr(errors, name)("no reason")) != []


def test_the_judge_confirms_refusals_with_a_reason():
    empty = declared(lambda x: [x >= 1, cp.sum(x) <= 1])
    unbounded = declared(lambda x: [x >= 0, cp.log(x[0]) >= 0])
    for declaration in (empty, unbounded):
        assert judged(declaration) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda x: [cp.sum(cp.inv_pos(x)) <= 9, x <= 1],
        lambda x: [cp.log(x) >= -1, x <= 1],
        lambda x: [cp.quad_over_lin(x[:2], x[2]) <= 1, x <= 1],
    ],
)
def test_the_judge_sees_domains(make):
    declaration = declared(make)
    assert Judge(declaration).violation(np.full(3, -5.0)) > 1
