"""The paper's Table 1: experts, sphere, cube and general online linear optimisation, with the whole loss seen.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
"""

from dpcvx.learners import FTRL, LazyWeights
from dpcvx.studies.baselines import PerStepNoise
from dpcvx.studies.paper_tables.methods import NON_PRIVATE, Make, Method, Problem
from dpcvx.studies.playing_sets import arms, ball, cube, wide_cube

COLUMNS = ("regret in T", "price in T", "price in 1/eps", "price in N")
DELTA = 1e-6


def _private(**options: object) -> Make:
    # options are those of FTRL; mypy knows them only as objects
    return lambda X, Y, T, epsilon: FTRL(X, Y, T, epsilon, seed=0, **options)  # type: ignore[arg-type]


def _methods(regularizer: str, laplace: str, gaussian: str, per_step: str, cited: str) -> tuple[Method, ...]:
    """The rows of a problem, from the paper's regulariser and the powers of N in the prices."""
    priced = ("1/2", "log", "1", laplace)
    return (
        Method(f"earlier: {cited}", ("1/2", "1/2", "1", ""), reason="cited by the paper, not described"),
        Method(
            "earlier: step noise",
            ("1/2", "1/2", "1", per_step),
            lambda X, Y, T, epsilon: PerStepNoise(X, Y, T, epsilon, seed=0),
        ),
        Method(
            "paper, own constants",
            priced,
            _private(regularizer=regularizer, counter="tree", calibration="paper"),
            additive=True,
        ),
        Method("paper, corrected", priced, _private(regularizer=regularizer, counter="tree"), additive=True),
        Method("ours", priced, _private(), additive=True),
        Method("ours, delta = 1e-6", ("1/2", "log", "1", gaussian), _private(delta=DELTA), additive=True),
        Method(NON_PRIVATE, ("1/2", "", "", ""), lambda X, Y, T, epsilon: FTRL(X, Y, T)),
    )


# log N sqrt(T/eps) is the whole of its pure bound; with delta, sqrt(T log N) and log N T^(1/3)/eps^(2/3) besides
_LAZY = (
    Method(
        "ours, lazy",
        ("1/2", "1/2", "1/2", "log"),
        lambda X, Y, T, epsilon: LazyWeights(X, Y, T, epsilon, seed=0),
    ),
    Method(
        "lazy, delta = 1e-6",
        ("1/2", "1/3", "2/3", "log"),
        lambda X, Y, T, epsilon: LazyWeights(X, Y, T, epsilon, DELTA, seed=0),
    ),
)

PROBLEMS = (
    Problem(
        "experts",
        arms,
        ("sqrt(T log N)/eps", "sqrt(T log N) + N log N log^2 T/eps", "sqrt(T log N)"),
        (*_methods("entropy", "1+", "1/2+", "3/2", "Dwork-Roth"), *_LAZY),
    ),
    Problem(
        "sphere",
        ball,
        ("sqrt(N T)/eps", "sqrt(T) + N log^2 T/eps", "sqrt(T)"),
        _methods("euclidean", "1", "1/2", "1", "leader"),
    ),
    Problem(
        "cube",
        cube,
        ("sqrt(N T)/eps", "sqrt(N T) + N log^2 T/eps", "sqrt(N T)"),
        _methods("euclidean", "1", "1", "1", "leader"),
        steady="round_robin",  # one loss of this set favours one entry alone
    ),
    Problem(
        "general OLO: cube, |l_i| <= 1",
        wide_cube,
        ("sqrt(T)/eps", "sqrt(T) + log^2 T/eps", "sqrt(T)"),
        _methods("euclidean", "2", "3/2", "2", "leader"),
    ),
)
