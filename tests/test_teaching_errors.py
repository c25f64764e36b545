"""Wrong arguments are errors of the package that say what was expected, and ValueErrors still."""

import ast
import warnings
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest

import decision_sets as ds
import dpcvx
from dpcvx.privacy.weakness import weakness

X = ds.simplex(3)
_loss = cp.Variable(3, name="loss")
Y = dpcvx.LossSet(_loss, [_loss >= -1, _loss <= 1])
_point = cp.Variable(3, nonneg=True)
_cut = dpcvx.DecisionSet(_point, [cp.sum(_point) == 1, _point[0] + 2 * _point[1] <= 1.5])


def _noise(rng, n):
    return rng.standard_normal((n, 1))


WRONG_ARGUMENTS = {
    "epsilon of a learner": lambda: dpcvx.FTRL(X, Y, 8, -1.0),
    "epsilon of sums": lambda: dpcvx.PrivateSums(Y, 8, 0),
    "epsilon of a bandit": lambda: dpcvx.PrivateBandit(dpcvx.SCRiBLe(X, Y, 8), float("nan")),
    "delta": lambda: dpcvx.FTRL(X, Y, 8, 1.0, 1.0),
    "horizon": lambda: dpcvx.FTRL(X, Y, 0, 1.0),
    "shapes of two sets": lambda: dpcvx.FTRL(ds.simplex(4), Y, 8, 1.0),
    "shape of a point": lambda: X.contains([1.0, 0.0]),
    "kind of a set": lambda: dpcvx.FTRL(Y, X, 8, 1.0),
    "number of the catalogue": lambda: ds.simplex(0),
    "text of a certificate": lambda: dpcvx.Certificate.from_json("{}"),
    "size of a group": lambda: dpcvx.FTRL(X, Y, 8, 1.0).certificate.group(0),
    "other neighbours": lambda: dpcvx.FTRL(X, Y, 8, 1.0).certificate.epsilon_for("swap"),
    "noise without delta": lambda: dpcvx.FTRL(X, Y, 8, 1.0, noise="gaussian"),
    "what is saved": lambda: dpcvx.save("learner.dpcvx", dpcvx.FTRL(X, Y, 8, 1.0)),
    "losses of people": lambda: ds.share(X, 100),
    "learner without its function": lambda: dpcvx.check_learner(dpcvx.Exp2(X, Y, 8)),
    "function without a seed": lambda: dpcvx.check_learner(lambda: dpcvx.Exp2(X, Y, 8)),
    "mechanism without its function": lambda: dpcvx.couple(dpcvx.FTRL(X, Y, 8, 1.0), np.zeros((8, 3)), np.ones((8, 3))),
    "mechanism without an epsilon": lambda: dpcvx.couple(lambda: dpcvx.FTRL(X, Y, 8), np.zeros((8, 3)), np.eye(8, 3)),
    "seed for a generator": lambda: ds.routes({"tails": [0, 0, 1], "heads": [1, 2, 2]}, 0, 2).draw_path([1, 0, 1], 0),
    "number of replicas": lambda: dpcvx.simulate(dpcvx.FTRL(X, Y, 8), np.zeros((8, 3)), replicas=0),
    "point of a range": lambda: Y.range(np.full(3, np.nan)),
    "points of a range": lambda: Y.range(np.zeros((2, 3))),
    "p of a radius": lambda: Y.radius(0.5),
    "name of a norm": lambda: Y.diameter("fro"),
    "name of a norm of points": lambda: X.norm_bound("nuc"),
    "seed for a generator of vertices": lambda: X.sample_vertex(X.center, 3),
    "seed for a generator of directions": lambda: X.dikin(X.center).sample(3),
    "covector": lambda: X.argmin([np.inf, 0.0, 0.0]),
    "points whose vertex is asked for": lambda: X.sample_vertex(np.full((2, 3), 1 / 3), np.random.default_rng(0)),
    "point off the set": lambda: _cut.sample_vertex(np.ones(3), np.random.default_rng(0)),
    "way to draw": lambda: X.dikin(X.center).sample(np.random.default_rng(0), method="axes"),
    "map of links": lambda: dpcvx.DecisionSet(_point, [cp.sum(_point) == 1], links_map=[["a", "b", "c"]]),
    "shape of a map of links": lambda: dpcvx.DecisionSet(_point, [cp.sum(_point) == 1], links_map=np.eye(2)),
    "streams of an audit": lambda: dpcvx.couple(lambda: None, np.zeros((4, 3)), np.zeros((5, 3))),
    "runs of an audit": lambda: dpcvx.audit(_noise, _noise, claim=1.0, samples=4),
}


@pytest.mark.parametrize("wrong", WRONG_ARGUMENTS.values(), ids=WRONG_ARGUMENTS)
def test_a_wrong_argument_is_an_error_of_the_package_and_a_value_error(wrong):
    with pytest.raises(dpcvx.DpcvxError) as caught:
        wrong()
    assert isinstance(caught.value, ValueError)


SPEAKING = (  # packages that users call
    "actions", "adapters", "checkpoints", "experiments", "learners", "privacy/audit", "regularizers", "sets", "studies",
)  # fmt: skip
LEAKS = "studies/leaky_mechanisms.py"  # which fail on purpose


def _plain_errors(text):
    """The lines that raise a ValueError that is no error of the package."""
    raised = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Raise)]
    return [
        node.lineno for node in raised if isinstance(node.exc, ast.Call) and ast.unparse(node.exc.func) == "ValueError"
    ]


def test_what_users_call_raises_errors_of_the_package():
    folders = [Path(dpcvx.__file__).parent / name for name in SPEAKING] + [Path(ds.__file__).parent]
    files = [file for folder in folders for file in sorted(folder.rglob("*.py")) if not file.match(LEAKS)]
    files += (Path(dpcvx.__file__).parent / "privacy").glob("*.py")
    assert len(files) > 300
    assert {str(file): lines for file in files if (lines := _plain_errors(file.read_text(encoding="utf-8")))} == {}
    assert _plain_errors("if x:\n    raise ValueError('wrong')") == [2]


@pytest.mark.parametrize("kind", [dpcvx.FTRL, dpcvx.FTPL])
def test_a_missing_horizon_tells_of_none(kind):
    with pytest.raises(dpcvx.DpcvxError, match=f"{kind.__name__} needs a horizon.*horizon=None") as caught:
        kind(X, Y, epsilon=1.0)
    assert isinstance(caught.value, TypeError)
    with pytest.raises(ValueError, match="None where it is unknown"):
        kind(X, Y, 0, 1.0)


@pytest.mark.parametrize("choose", [dpcvx.private_learner, dpcvx.private_bandit])
def test_who_chooses_a_learner_tells_of_a_missing_horizon_and_epsilon(choose):
    name = choose.__name__
    with pytest.raises(dpcvx.DpcvxError, match=f"{name} needs a horizon: the number of rounds.*horizon=None") as caught:
        choose(X, Y, epsilon=1.0)
    assert isinstance(caught.value, TypeError)
    with pytest.raises(dpcvx.DpcvxError, match=f"{name} needs an epsilon.*privacy"):
        choose(X, Y, horizon=8)


def test_an_unknown_horizon_is_for_learners_of_whole_losses():
    assert dpcvx.private_learner(X, Y, None, 1.0).horizon is None
    with pytest.raises(dpcvx.DpcvxError, match="bandits have no horizon=None, so give the most that may come"):
        dpcvx.private_bandit(X, Y, None, 1.0)


def test_a_learner_whose_horizon_has_a_default_may_leave_it_out():
    class Always(dpcvx.FTRL):
        def __init__(self, decision_set, loss_set, horizon=4):
            super().__init__(decision_set, loss_set, horizon)

    assert Always(X, Y).horizon == 4


@pytest.mark.parametrize("learner", [dpcvx.FTRL(X, Y, 8), dpcvx.LazyWeights(X, Y, 8, 1.0, seed=0)])
def test_a_learner_of_whole_losses_is_no_bandit_and_is_refused_at_once(learner):
    kind = type(learner).__name__
    with pytest.raises(dpcvx.DpcvxError, match=rf"{kind} sees whole losses.*{kind}\(decision_set.*SCRiBLe"):
        dpcvx.PrivateBandit(learner, 1.0)


def test_a_bandit_of_ones_own_is_told_of_all_that_is_missing_at_once():
    class Own:
        act = update = print

    with pytest.raises(dpcvx.DpcvxError, match="needs decision_set=, loss_set=, horizon=; for arms, PrivateArms"):
        dpcvx.PrivateBandit(Own(), 1.0)


def test_a_name_guessed_wrongly_is_told_the_right_ones():
    with pytest.raises(TypeError, match="no argument eps; the options of privacy are epsilon, delta, counter"):
        dpcvx.FTRL(X, Y, 8, eps=1.0)


def test_a_whole_number_with_a_point_is_told_how_it_is_written():
    with pytest.raises(dpcvx.ArgumentError, match=r"not 10000\.0; write 10000\.$"):
        dpcvx.FTRL(X, Y, 1e4, 1.0)
    with pytest.raises(dpcvx.ArgumentError, match=r"not 2\.5\.$"):
        dpcvx.FTRL(X, Y, 2.5, 1.0)


def test_what_cannot_be_coupled_or_checked_is_told_what_is_missing():
    first, second = np.zeros((8, 3)), np.eye(8, 3)
    with pytest.raises(dpcvx.ArgumentError, match="not a FTRL; write lambda"):
        dpcvx.couple(dpcvx.FTRL(X, Y, 8, 1.0), first, second)
    with pytest.raises(dpcvx.ArgumentError, match="made without an epsilon"):
        dpcvx.couple(lambda: dpcvx.FTRL(X, Y, 8), first, second)
    with pytest.raises(dpcvx.ArgumentError, match="make must take one argument, the seed"):
        dpcvx.check_learner(lambda: dpcvx.Exp2(X, Y, 8))


def test_a_problem_is_no_set():
    problem = cp.Problem(cp.Minimize(0), [_loss >= 0])
    for given in ((problem,), (problem, []), (_loss, problem)):
        with pytest.raises(dpcvx.DeclarationError, match=r"give its variable and problem\.constraints"):
            dpcvx.DecisionSet(*given)


@pytest.mark.parametrize("kind", [dpcvx.DecisionSet, dpcvx.LossSet, dpcvx.Change])
def test_constraints_alone_or_none_are_told_what_a_declaration_is(kind):
    with pytest.raises(
        dpcvx.DeclarationError, match="a cvxpy Variable, not a list; constraints come second, in a list"
    ):
        kind([_loss >= 0, _loss <= 1])
    with pytest.raises(dpcvx.DeclarationError, match="no constraints: loss may be anything"):
        kind(_loss)
    with pytest.raises(dpcvx.DeclarationError, match="must be a list, not an int"):
        kind(_loss, 3)


def test_a_variable_that_its_attributes_bound_needs_no_constraints():
    assert dpcvx.DecisionSet(cp.Variable(3, bounds=[0, 1])).dim == 3


def test_a_class_is_no_policy_and_a_policy_on_arms_no_learner_of_points():
    class Own:
        act = pull = update = print

    class Pulling:
        pull = update = print

    with pytest.raises(dpcvx.DpcvxError, match="policy must be an object, not the class Own; make one by calling it"):
        dpcvx.PrivateArms(Own, 3, 1.0)
    with pytest.raises(dpcvx.DpcvxError, match="learner must be an object, not the class Own; make one by calling it"):
        dpcvx.PrivateBandit(Own, 1.0)
    with pytest.raises(dpcvx.DpcvxError, match=r"act and update; Pulling has not.*for PrivateArms"):
        dpcvx.PrivateBandit(Pulling(), 1.0)


@pytest.mark.parametrize(
    ("given", "words"), [(3, "an int"), ([], "a list"), (None, "None"), (dict, "the class dict"), (X, "a DecisionSet")]
)
def test_what_came_is_named_with_its_article(given, words):
    with pytest.raises(dpcvx.DpcvxError, match=f"loss_set must be a LossSet, not {words}."):
        dpcvx.LazyWeights(X, given, 8, 1.0)


def test_a_learner_among_certificates_is_told_to_give_its_own():
    with pytest.raises(TypeError, match="not a FTRL: give its certificate"):
        dpcvx.compose(dpcvx.FTRL(X, Y, 8, 1.0))


@pytest.mark.parametrize(("given", "words"), [(None, "a real number, not None"), ("much", "real numbers, not text")])
def test_what_is_no_reward_is_told_in_words(given, words):
    arms = dpcvx.PrivateArms("practice", 3, 1.0, horizon=8)
    arms.act()
    with pytest.raises(dpcvx.DpcvxError, match=f"^The reward must .*{words}"):
        arms.update(given)


NO_LOSSES = {
    "a problem": (cp.Problem(cp.Minimize(0)), r"array of real numbers of shape \(3,\), not a Problem of cvxpy"),
    "a variable": (cp.Variable(3), r"of shape \(3,\), not a Variable of cvxpy: give numbers"),
    "nothing": (None, r"array of real numbers of shape \(3,\), not None"),
    "a dict": ({"a": 1.0}, r"array of real numbers of shape \(3,\), not a dict"),
    "a function": (lambda x: x, r"of shape \(3,\), not a function"),
    "too few": ([1.0, 2.0], r"shape \(2,\); expected \(3,\)"),
}


@pytest.mark.parametrize(("given", "words"), NO_LOSSES.values(), ids=NO_LOSSES)
def test_what_is_no_loss_is_told_what_was_expected_and_changes_nothing(given, words):
    learner = dpcvx.FTRL(X, Y, 8, 1.0)
    learner.act()
    with pytest.raises(dpcvx.DpcvxError, match=words):
        learner.update(given)
    assert learner.rounds == 0
    learner.update([0.5, 0.0, -1.0])
    assert learner.rounds == 1


def test_a_barrier_refuses_a_vertex_and_an_edge_however_they_are_rounded():
    ball = dpcvx.DecisionSet(x := cp.Variable(2), [cp.norm(x, 2) <= 1])
    for declared, point in [
        (X, [1.0, 0.0, 0.0]),
        (X, [0.5, 0.5, 0.0]),
        (ball, [0.6, 0.8]),
        (ds.box([0, 0], [1, 1]), [1, 0]),
    ]:
        with pytest.raises(dpcvx.DpcvxError, match="not in the interior"):
            declared.dikin(np.array(point))
        inner = 0.999999 * np.array(point) + 0.000001 * declared.center
        assert np.allclose(declared.dikin(inner).center, inner)


WEAK = {
    "learner": lambda: dpcvx.FTRL(X, Y, 8, 30.0),
    "sums": lambda: dpcvx.PrivateSums(Y, 8, 21.0),
    "delta": lambda: dpcvx.FTRL(X, Y, 8, 1.0, 0.01),
    "bandit": lambda: dpcvx.PrivateBandit(dpcvx.SCRiBLe(X, Y, 8), 50.0),
    "chosen among several": lambda: dpcvx.private_bandit(X, Y, 8, 1000.0),
    "lazy weights": lambda: dpcvx.LazyWeights(X, Y, 8, 25.0),
}


@pytest.mark.parametrize("make", WEAK.values(), ids=WEAK)
def test_weak_privacy_is_warned_of_once_and_where_it_was_asked_for(make):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        make()
    assert len(told) == 1
    assert told[0].category is dpcvx.WeakPrivacyWarning
    assert told[0].filename == __file__
    assert "next to no protection" in str(told[0].message)


def test_usual_privacy_and_simulations_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dpcvx.FTRL(X, Y, 8, 20.0, 1e-3)
        dpcvx.FTRL(X, Y, 8, 1000.0, 0.5, seed=0)
        assert dpcvx.private_bandit(X, Y, 8, 1000.0, seed=0).epsilon == 1000.0


def test_the_sentence_on_weak_privacy_has_the_odds_in_it():
    assert "e^30 = 1e+13" in weakness(30.0)
    assert "once in 50 runs" in weakness(1.0, 0.02)
    assert weakness(20.0, 1e-3) is None


MISSING = {
    "SCRiBLe needs a horizon": lambda: dpcvx.SCRiBLe(X, Y),
    "Exp2 needs a horizon": lambda: dpcvx.Exp2(X, Y),
    "HybridBandit needs a loss_set": lambda: dpcvx.HybridBandit(X, horizon=8),
    "LazyWeights needs an epsilon": lambda: dpcvx.LazyWeights(X, Y, horizon=8),
    "PrivateBandit needs an epsilon": lambda: dpcvx.PrivateBandit(dpcvx.SCRiBLe(X, Y, 8)),
    "PrivateSums needs a horizon": lambda: dpcvx.PrivateSums(Y, epsilon=1.0),
    "PrivateSums needs an epsilon": lambda: dpcvx.PrivateSums(Y, 8),
    "PrivateArms needs an epsilon": lambda: dpcvx.PrivateArms("bound", 3, horizon=8),
}


@pytest.mark.parametrize("words", MISSING)
def test_what_learners_and_sums_need_is_named_with_what_it_is(words):
    with pytest.raises(dpcvx.ArgumentError, match=f"^{words}: ") as caught:
        MISSING[words]()
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("wrong", [{"epsilon": 0}, {"epsilon": 1.0, "delta": "1e-6"}, {"epsilon": 1.0, "delta": -1}])
def test_who_compares_learners_says_once_what_is_wrong_for_all(wrong):
    with pytest.raises(dpcvx.ArgumentError, match=r"^(epsilon|delta) must be [^;]*\.$"):
        dpcvx.private_learner(X, Y, 8, **wrong)


def test_a_private_bandit_is_not_made_private_again():
    with pytest.raises(dpcvx.ArgumentError, match="private already"):
        dpcvx.PrivateBandit(dpcvx.private_bandit(X, Y, 8, 1.0), 1.0)


@pytest.mark.parametrize("seed", ["a", -1, 1.5])
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(dpcvx.ArgumentError, match=r"^seed must be an int"):
        dpcvx.FTRL(X, Y, 8, 1.0, seed=seed)


def test_an_epsilon_of_single_precision_is_a_number():
    learner = dpcvx.FTRL(X, Y, 8, np.float32(0.5))
    assert learner.certificate.epsilon == 0.5


def test_masked_entries_are_no_loss():
    learner = dpcvx.FTRL(X, Y, 8, seed=0)
    learner.act()
    with pytest.raises(dpcvx.ArgumentError, match="masked"):
        learner.update(np.ma.masked_array(np.zeros(3), [True, False, False]))
    learner.update(np.ma.masked_array(np.zeros(3)))
    assert learner.rounds == 1


def test_shapes_are_told_for_one_round():
    learner, bandit = dpcvx.FTRL(X, Y, 8, seed=0), dpcvx.SCRiBLe(X, Y, 8, seed=0)
    learner.act(), bandit.act()
    with pytest.raises(dpcvx.ArgumentError, match=r"has shape \(1, 3\); expected \(3,\), the loss of one round"):
        learner.update(np.zeros((1, 3)))
    with pytest.raises(dpcvx.ArgumentError, match=r"must be one number, .* not an array of shape \(3,\)"):
        bandit.update(np.zeros(3))


def test_an_option_that_arms_do_not_have_is_named_as_theirs():
    with pytest.raises(TypeError, match=r"^PrivateArms has no argument reward_range; there are rewards, "):
        dpcvx.PrivateArms("bound", 3, 1.0, horizon=8, reward_range=(0, 1))
