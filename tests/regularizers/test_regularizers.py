"""Every regulariser on every set that admits it: sizes from sampled truth, argmins by optimality, all in the set."""

import cvxpy as cp
import numpy as np
import pytest
from catalogue_sets import CATALOGUE
from loss_sets import ball_losses, box_losses

import decision_sets as ds
from dpcvx import FTRL, DecisionSet, UnsupportedConeError
from dpcvx.regularizers import REGULARIZERS, Barrier, Entropy, Euclidean
from dpcvx.sets.sizes import Sizes

KINDS = tuple(REGULARIZERS.values())


def sampled_vertices(X, rng, count=40):
    return np.array([X.argmin(c) for c in rng.standard_normal((count, *X.shape))])


@pytest.fixture(scope="module", params=list(CATALOGUE))
def sizes(request):
    X = CATALOGUE[request.param][0]()
    return Sizes(X, box_losses(X.shape))


def admissible(sizes):
    for kind in KINDS:
        if kind.refusal(sizes) is None:
            yield kind(sizes)
        else:
            assert kind not in (Barrier, Euclidean)  # which every set admits


def test_a_regularizer_refuses_by_the_sentence_of_its_refusal(sizes):
    for kind in KINDS:
        reason = kind.refusal(sizes)
        if reason is not None:
            with pytest.raises(UnsupportedConeError) as caught:
                kind(sizes)
            assert str(caught.value) == reason
    if Entropy.refusal(sizes) is not None:
        assert "nonnegative" in Entropy.refusal(sizes)


class Better(Euclidean):
    """Deliberately boastful."""

    name = "better"
    range = dual_norm = 1e-6

    @classmethod
    def refusal(cls, sizes):
        return None if sizes.decision_set.dim == 3 else "Not three dimensions."


def test_a_regularizer_in_the_registry_is_compared_chosen_and_named(monkeypatch):
    monkeypatch.setitem(REGULARIZERS, "better", Better)
    assert isinstance(FTRL(ds.simplex(4), box_losses(4), 10).regularizer, Better)
    assert isinstance(FTRL(ds.simplex(4), box_losses(4), 10, regularizer="better").regularizer, Better)
    other = FTRL(ds.simplex(5), box_losses(5), 10)
    assert other.regularizer.name != "better" and "better: Not three dimensions." in other.summary()


def test_a_regularizer_says_why_nothing_is_proved():
    X, Y = ds.simplex(4), box_losses(4)
    steep = FTRL(X, Y, 10, regularizer="barrier", learning_rate=1e3)
    assert "no bound: the learning rate is too large for the barrier" in steep.summary()

    class Own:
        name = "own"

        def argmin(self, covector):
            return X.center

    unstated = FTRL(X, Y, 10, regularizer=Own(), learning_rate=1.0)
    assert "no bound: the regularizer own does not state its range and dual_norm" in unstated.summary()


def test_the_range_of_a_regularizer_holds_for_sampled_points(sizes):
    X = sizes.decision_set
    vertices = sampled_vertices(X, np.random.default_rng(1))
    for regularizer in admissible(sizes):
        if isinstance(regularizer, Barrier):
            continue
        least = regularizer.value(regularizer.argmin(np.zeros(X.shape)))
        assert (regularizer.value(vertices) - least).max() <= regularizer.range * (1 + 1e-9)


def test_the_dual_norm_of_a_regularizer_holds_at_sampled_points(sizes):
    """By the Hessian itself, where it is known: diag(1/x) for the entropy, the barrier's, the identity."""
    X, Y = sizes.decision_set, sizes.loss_set
    rng = np.random.default_rng(2)
    directions = X.geometry.chart.push(X.geometry.chart.tangent_basis().T)
    for regularizer in admissible(sizes):
        for c in rng.standard_normal((5, *X.shape)):
            x = regularizer.argmin(3 * c)
            loss = Y.flatten(Y.argmin(rng.standard_normal(X.shape)))
            if isinstance(regularizer, Barrier):
                H = directions @ X.barrier.hessian(x) @ directions.T
            elif isinstance(regularizer, Entropy):
                H = directions @ np.diag(1 / np.maximum(X.flatten(x), 1e-12)) @ directions.T
            elif isinstance(regularizer, Euclidean):
                H = directions @ directions.T
            else:
                continue
            g = directions @ loss
            assert g @ np.linalg.solve(H, g) <= regularizer.dual_norm**2 * (1 + 1e-6)
            if regularizer.expected is not None:
                g = g - directions @ X.flatten(regularizer.expected)
            assert g @ np.linalg.solve(H, g) <= regularizer.surprise**2 * (1 + 1e-6)


@pytest.mark.sampled(3)
def test_argmins_are_in_the_set_and_optimal(sizes):
    """No move toward a vertex or another argmin lowers the objective by more than a solver's error."""
    X = sizes.decision_set
    rng = np.random.default_rng(3)
    vertices = sampled_vertices(X, rng, 8)
    for regularizer in admissible(sizes):
        batch = rng.standard_normal((4, *X.shape)) * np.array([0.1, 1, 10, 100]).reshape(4, *(1,) * len(X.shape))
        answers = regularizer.argmin(batch)
        for c, x in zip(batch, answers, strict=True):
            assert X.contains(x)
            value = float(np.sum(c * x) + regularizer.value(x))
            for v in vertices:
                for share in (1e-3, 0.1, 0.5):
                    near = (1 - share) * x + share * v
                    other = float(np.sum(c * near) + regularizer.value(near))
                    assert other >= value - 1e-6 * max(1.0, abs(value))


def test_the_barrier_argmin_is_the_same_from_an_earlier_answer(sizes):
    X = sizes.decision_set
    barrier = Barrier(sizes)
    c = np.random.default_rng(4).standard_normal((3, *X.shape))
    first = barrier.argmin(5 * c)
    assert barrier.argmin(c, first) == pytest.approx(barrier.argmin(c), abs=1e-6)


def test_the_dual_norm_of_the_barrier_on_the_ball_is_half_of_the_variation():
    """At the center the local norm is 1/sqrt 2 of it: half of the constant would be refuted."""
    X = ds.norm_ball(3, 2)
    barrier, g = Barrier(Sizes(X, ball_losses(3))), np.eye(3)[0]
    local = np.sqrt(g @ np.linalg.solve(X.barrier.hessian(X.center), g))
    assert barrier.dual_norm == pytest.approx(1.0) and barrier.dual_norm / 2 < local <= barrier.dual_norm


@pytest.mark.parametrize(("box", "G"), [((-1, 1), 1.0), ((0, 1), 0.5), ((2, 5), 1.5)])
def test_entropy_on_the_simplex_has_the_constants_of_the_theory(box, G):
    X = ds.simplex(7)
    entropy = Entropy(Sizes(X, box_losses(7, *box)))
    assert entropy.range == pytest.approx(np.log(7), rel=1e-9)
    assert entropy.dual_norm == pytest.approx(G, rel=1e-9)
    T = 1000
    expected = np.sqrt(2 * T * np.log(7)) * G
    assert entropy.learning_bound(T, entropy.learning_rate(T)) == pytest.approx(expected, rel=1e-9)


def test_euclidean_constants_on_ball_and_cube():
    T = 400
    ball = Euclidean(Sizes(ds.norm_ball(5, 2), ball_losses(5)))
    assert ball.learning_bound(T, ball.learning_rate(T)) == pytest.approx(np.sqrt(T), rel=1e-9)
    cube = Euclidean(Sizes(ds.cube(5), ball_losses(5, 1)))
    assert cube.learning_bound(T, cube.learning_rate(T)) == pytest.approx(np.sqrt(5 * T), rel=1e-9)


def test_the_corrected_constant_is_needed():
    """T = 1, X = Y = [-1, 1]: regret 1 at the middle; the paper's constant would claim 0.71."""
    x = cp.Variable(1, name="x")
    X, Y = DecisionSet(x, [cp.abs(x) <= 1]), box_losses(1)
    learner = FTRL(X, Y, 1, regularizer="euclidean")
    action = learner.act()
    regret = float(action[0] * 1.0) - X.argmin(np.ones(1))[0]
    assert regret == pytest.approx(1.0) and regret <= learner.regret_bound.total
    assert learner.regret_bound.total / np.sqrt(2) < regret  # the teeth


def test_entropy_on_capped_simplices_and_boxes_agrees_with_the_cone_program():
    rng = np.random.default_rng(5)
    x = cp.Variable(6, nonneg=True, name="x")
    for constraints in ([cp.sum(x) == 2, x <= 1], [x <= 1], [cp.sum(x) == 1, x >= 0.05, x <= 0.4]):
        X = DecisionSet(x, constraints)
        entropy = Entropy(Sizes(X, box_losses(6)))
        for c in rng.standard_normal((6, 6)) * np.array([0.1, 1, 5, 30, 300, 3000])[:, None]:
            fast, slow = entropy.argmin(c), X.unflatten(entropy._solve(c))
            assert X.contains(fast)
            assert c @ fast + entropy.value(fast) <= c @ slow + entropy.value(slow) + 1e-6 * max(1, abs(c @ fast))
