"""No two parts of the package that are given one seed draw the same numbers."""

import ast
import importlib
import inspect
import itertools

import numpy as np
import pytest
from layers import ROOT, modules_in
from loss_sets import ball_losses, box_losses
from routing_networks import grid

import decision_sets as ds
from dpcvx import (
    FTPL,
    FTRL,
    AdaptiveBandit,
    Exp2,
    HybridBandit,
    LazyWeights,
    LogBarrierBandit,
    PrivateArms,
    PrivateBandit,
    SCRiBLe,
    audit,
    private_bandit,
    simulate,
)
from dpcvx.experiments import losses
from dpcvx.experiments.exponents import fit_exponent
from dpcvx.privacy.noise import Script, own_generator
from dpcvx.privacy.prefix_noise import gaussian_noise
from dpcvx.privacy.private_sums import PrivateSums
from dpcvx.streams import stream
from dpcvx.studies.baselines import ExploredGradients, PerStepNoise
from dpcvx.studies.routing.days import travel_days
from dpcvx.studies.routing.play import drawn_days
from dpcvx.studies.thresholds import mean_maximum
from dpcvx.studies.town import travel_times

N, T = 3, 6
X, Y, BALL, CROSS = ds.simplex(N), box_losses(N), ball_losses(N), ball_losses(N, 1)
SEED, OTHER = 20_231, 20_232
CHILDREN = 6


class Arms:
    """A learner as a user writes it: it draws from its plain seed."""

    decision_set, loss_set, horizon, sees = X, Y, T, "value"

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def act(self):
        return np.eye(N)[self.rng.integers(N)]

    def update(self, value):
        """Nothing is learnt."""


def drawn(make):
    """A generator of losses, with the numbers of its first stretch."""
    return lambda seed: make(seed).block(0, T)


# every part that takes a seed, by the name of the class or function that does
PARTS = {
    "PrivateSums": lambda seed: PrivateSums(Y, T, 1.0, seed=seed).update(np.zeros(N)),
    "FTRL": lambda seed: FTRL(X, Y, T, 1.0, seed=seed).act(),
    "FTPL": lambda seed: FTPL(X, Y, T, 1.0, seed=seed).act(),
    "Exp2": lambda seed: Exp2(X, Y, T, seed=seed).act(),
    "SCRiBLe": lambda seed: SCRiBLe(X, Y, T, seed=seed).act(),
    "LogBarrierBandit": lambda seed: LogBarrierBandit(N, Y, T, seed=seed).act(),
    "HybridBandit": lambda seed: HybridBandit(N, Y, T, seed=seed).act(),
    "AdaptiveBandit": lambda seed: AdaptiveBandit(X, Y, T, seed=seed).act(),
    "LazyWeights": lambda seed: LazyWeights(X, Y, T, 1.0, seed=seed).act(),
    "ExploredGradients": lambda seed: ExploredGradients(X, Y, T, seed=seed).act(),
    "PerStepNoise": lambda seed: PerStepNoise(X, Y, T, 1.0, seed=seed),
    "PrivateBandit": lambda seed: PrivateBandit(Arms(None), 1.0, seed=seed).act(),
    "private_bandit": lambda seed: private_bandit(X, Y, T, 1.0, seed=seed).act(),
    "PrivateArms": lambda seed: PrivateArms("practice", N, 1.0, horizon=T, seed=seed).act(),
    "players": lambda seed: simulate(lambda each: Arms(each), np.zeros((T, N)), 2, seed, progress=False),
    "audit": lambda seed: audit(*[lambda rng, n: rng.random((n, 1))] * 2, claim=1.0, samples=8, seed=seed),
    "fit_exponent": lambda seed: fit_exponent([1, 2, 4], [[1.0, 2.0], [2.0, 3.0], [3.0, 5.0]], seed=seed),
    "mean_maximum": lambda seed: mean_maximum(X, gaussian_noise(1.0), seed),
    "travel_times": lambda seed: travel_times(T, seed),
    "travel_days": lambda seed: travel_days(grid(2, demand=False), 2, seed),
    "drawn_days": lambda seed: drawn_days(3, T, seed),
    "orthogonal": drawn(lambda seed: losses.orthogonal(X, BALL, T, seed)),
    "axes": drawn(lambda seed: losses.axes(X, CROSS, T, seed)),
    "Script": lambda seed: Script(seed).own_generator(),
    "own_generator": lambda seed: own_generator(seed).random(),
    **{name: drawn(lambda seed, make=make: make(X, Y, T, seed)) for name, make in losses.GENERATORS.items()},
}
# what hands its seed on to one of these, or is a base class of them, or the user's own code takes it
HANDING_ON = {
    *("Bandit", "FullInformation", "bandits", "simulate", "Drawn", "choices", "stream", "simulated"),
    *("perform", "rows_of", "regrets", "play", "price_of_privacy", "Comparison", "attack_rows", "audit_rows"),
    *("couple", "run", "coupled_rows", "scripted", "private_learner", "Wish"),
}


def numbers(sequence):
    """The first numbers of a stream, as they tell it from others."""
    return np.random.PCG64(sequence).random_raw(3).tobytes()


def with_children(sequence):
    """The numbers of a stream and of the first that are spawned from it."""
    key = sequence.spawn_key
    children = [np.random.SeedSequence(sequence.entropy, spawn_key=(*key, k)) for k in range(CHILDREN)]
    return {numbers(each) for each in (sequence, *children)}


def streams_of(part, seed):
    """The streams that a part opens with a seed: of all generators made meanwhile those that another seed changes."""

    def opened(seed):
        found, real = set(), np.random.default_rng

        def recording(seed=None):
            rng = real(seed)
            if not isinstance(seed, np.random.Generator):
                found.update(with_children(rng.bit_generator.seed_seq))
            return rng

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(np.random, "default_rng", recording)
            part(seed)
        return found

    fixed = opened(OTHER)  # first, since sets are probed once, with numbers that no seed changes
    return opened(seed) - fixed


def shared(parts):
    """The pairs of parts that draw the same numbers from one seed; the user's own generator is one part more."""
    streams = {name: streams_of(part, SEED) for name, part in parts.items()}
    streams["default_rng"] = with_children(np.random.SeedSequence(SEED))
    assert all(streams.values())
    return {pair for pair in itertools.combinations(sorted(streams), 2) if streams[pair[0]] & streams[pair[1]]}


def test_no_two_parts_given_one_seed_draw_the_same_numbers():
    assert shared(PARTS) == set()


def test_a_part_that_draws_from_its_plain_seed_is_found():
    """The teeth of the test above: the learner of a user, and a part that spawns from the plain seed."""
    spawned = {"spawned": lambda seed: np.random.default_rng(np.random.default_rng(seed).spawn(1)[0]).random()}
    assert shared({"Exp2": PARTS["Exp2"], "Arms": Arms, **spawned}) == {
        ("Arms", "default_rng"),
        ("Arms", "spawned"),
        ("default_rng", "spawned"),
    }


def test_every_callable_that_takes_a_seed_is_among_the_parts():
    found = set()
    for module in modules_in(ROOT):
        if module.endswith("__main__"):
            continue
        for name, each in vars(importlib.import_module(module)).items():
            if callable(each) and getattr(each, "__module__", "") == module and not name.startswith("_"):
                broken = inspect.isclass(each) and issubclass(each, PrivateSums) and each is not PrivateSums
                if not broken and "seed" in _parameters(each):
                    found.add(name)
    assert found == PARTS.keys() | HANDING_ON


def _parameters(each):
    try:
        return inspect.signature(each).parameters
    except ValueError:
        return {}


def test_generators_are_made_from_a_seed_in_one_place():
    """Elsewhere only from a number that is written there, for what is no simulation."""
    elsewhere = {("dpcvx.sets.geometry.parameter", "np.random.default_rng(found)")}  # counts what it found
    found = set()
    for module, path in modules_in(ROOT).items():
        if module != "dpcvx.streams":
            found |= {(module, call) for call in _made(path.read_text(encoding="utf-8"))}
    assert found == elsewhere


@pytest.mark.parametrize(
    "source", ["np.random.default_rng(seed)", "np.random.default_rng()", "default_rng(seed + 1)", "SeedSequence(0)"]
)
def test_a_generator_made_elsewhere_is_found(source):
    assert _made(f"rng = {source}") == {source}
    assert not _made("rng = np.random.default_rng(0)")


def _made(source):
    """The calls in a source that make generators from anything but a number written there."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            fixed = len(node.args) == 1 and isinstance(node.args[0], ast.Constant)
            if name in ("SeedSequence", "RandomState") or (name == "default_rng" and not fixed):
                found.add(ast.unparse(node))
    return found


def test_a_stream_is_the_same_in_every_process():
    """Also where Python's own hash of texts, which has a salt of its own in each process, is another."""
    assert stream(7, "a purpose", 2).integers(10**9) == 456_874_642


def test_parts_given_one_generator_draw_different_numbers_and_leave_its_own_alone():
    rng, same = np.random.default_rng(5), np.random.default_rng(5)
    first = [stream(rng, "one").random(), stream(rng, "one").random(), stream(same, "other").random()]
    assert len({*first, *(child.random() for child in np.random.default_rng(5).spawn(3))}) == 6
    assert rng.random() == np.random.default_rng(5).random()


def test_a_stream_without_a_seed_is_new_each_time_and_keys_tell_streams_apart():
    assert stream(None, "one").random() != stream(None, "one").random()
    assert len({stream(0, "one", *key).random() for key in ((), (0,), (1,), (0, 1))}) == 4


class ExploresThenCommits(Arms):
    """Flips a coin between two arms for a while, then holds the better one."""

    decision_set, loss_set, horizon = ds.simplex(2), box_losses(2), 200

    def __init__(self, seed):
        super().__init__(seed)
        self.seen = ([], [])

    def act(self):
        self.arm = int(self.rng.random() < 0.5)
        return np.eye(2)[self.arm]

    def update(self, value):
        self.seen[self.arm].append(value)

    @property
    def better(self):
        return int(np.mean(self.seen[1]) < np.mean(self.seen[0]))


def test_a_learner_and_the_noise_on_its_feedback_may_have_one_seed():
    """Both drew `default_rng(seed)`: each coin was also the sign of the noise, so the same arm always looked better.

    The means of two arms that differ by 1 carry noise of deviation 0.4 and are in the wrong order with probability
    0.007; that it happens to 6 of 20 learners has probability 1e-8.
    """
    right = 0
    for seed in range(20):
        learner = ExploresThenCommits(seed)
        private = PrivateBandit(learner, 1.0, batch=1, seed=seed)
        for _ in range(199):
            private.update(0.5 - float(private.act()[0]))  # arm 0 is the better one
        right += learner.better == 0
    assert right > 14
