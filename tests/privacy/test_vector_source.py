"""Noise that was drawn ahead is handed out once: not after a fork, a load or an interruption, and to no copy."""

import copy
import multiprocessing
import pickle
from typing import Any

import numpy as np
import pytest
from loss_sets import box_losses
from scipy.stats import chi2

import decision_sets as ds
from dpcvx import FTRL, load, save
from dpcvx.errors import EntropyError, ProtocolError
from dpcvx.privacy.noise import Gaussian, Laplace, SecureSource, VectorSource, noise_source, sources
from dpcvx.privacy.noise.drawing import release
from dpcvx.privacy.noise.sources import StreamSource
from dpcvx.privacy.private_sums import PrivateSums
from dpcvx.privacy.samplers import LaplaceStream
from dpcvx.privacy.secret import Secret

LAW = Laplace(1e9)  # two draws are equal with probability 5e-10


class Numbered(Laplace):
    """A law whose draws are 0, 1, 2, ..."""

    count = 0

    def exact_draws(self, shape: tuple[int, ...]) -> Any:
        size = int(np.prod(shape))
        start = Numbered.count
        Numbered.count += size
        return np.arange(start, start + size, dtype=np.int64).reshape(shape)


def handed_out(source: VectorSource) -> np.ndarray:
    """All that a source hands out in requests of many sizes."""
    rng = np.random.default_rng(50)
    return np.concatenate([source.fresh(int(rng.integers(1, 400)), (3,)).ravel() for _ in range(300)])


def test_no_draw_is_handed_out_twice() -> None:
    assert np.unique(drawn := handed_out(VectorSource(Numbered(1.0), 3))).size == drawn.size


def test_a_block_that_forgets_what_it_gave_is_seen() -> None:
    class Forgetful(VectorSource):
        def fresh(self, count: int, shape: tuple[int, ...]) -> Any:
            given = super().fresh(count, shape)
            self._left = len(self._block)
            return given

    assert np.unique(drawn := handed_out(Forgetful(Numbered(1.0), 3))).size < drawn.size / 2


def test_an_interrupted_block_is_not_mixed_with_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    source = VectorSource(LAW, 3)
    first = source.fresh(1, (3,)).copy()
    monkeypatch.setattr(Laplace, "exact_draws", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        source.fresh(1, (2, 3))
    monkeypatch.undo()
    assert not np.array_equal(source.fresh(1, (3,)), first) and source.fresh(1, (2, 3)).shape == (1, 2, 3)


# forks


def _in_child(draw: Any) -> Any:
    """What a draw gives in a forked process, or the words of its error."""

    def run(results: Any) -> None:
        try:
            results.put(draw())
        except RuntimeError as error:
            results.put(str(error))

    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=run, args=(results,))
    child.start()
    found = results.get(timeout=30)
    child.join()
    return found


class _Lax:
    def check(self) -> None:
        """Let everybody pass."""


def test_a_block_is_not_shared_over_a_fork() -> None:
    source = VectorSource(LAW, 4)
    source.fresh(1, (4,))
    assert "after a fork" in _in_child(lambda: source.fresh(1, (4,)).tolist())
    source._guard = _Lax()  # type: ignore[assignment]
    assert (
        _in_child(lambda: source.fresh(1, (4,)).tolist()) == source.fresh(1, (4,)).tolist()
    )  # what the guard prevents


def test_a_stream_is_not_shared_over_a_fork() -> None:
    stream = LaplaceStream()
    stream.draw(1e9)
    assert "after a fork" in _in_child(lambda: stream.draw(1e9))
    stream._guard = _Lax()  # type: ignore[assignment]
    assert _in_child(lambda: stream.draw(1e9)) == stream.draw(1e9)


# copies and checkpoints


@pytest.mark.parametrize("secret", [VectorSource(LAW, 4), LaplaceStream(), StreamSource(LAW, LaplaceStream())])
def test_what_was_drawn_ahead_is_neither_copied_nor_pickled(secret: Secret) -> None:
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(copy.Error, match="cannot be"):
            duplicate(secret)


def _held(secret: Secret) -> Any:
    """A secret after a checkpoint, by what it says of itself."""
    made, arguments, *state = secret.saved()
    found = made(*arguments)
    if state and state[0] is not None:
        found.__dict__.update(state[0])
    return found


class Kept(VectorSource):
    """A source that is saved with its block."""

    def saved(self) -> tuple[Any, ...]:
        return Kept, (self.law, self.size), dict(vars(self))


def test_a_loaded_source_draws_new_noise() -> None:
    source, wrong = VectorSource(LAW, 4), Kept(LAW, 4)
    source.fresh(1, (4,)), wrong.fresh(1, (4,))
    assert not np.array_equal(_held(source).fresh(1, (4,)), source.fresh(1, (4,)))
    assert np.array_equal(_held(wrong).fresh(1, (4,)), wrong.fresh(1, (4,)))  # what it would be with the block
    stream = LaplaceStream()
    stream.draw(1e9)
    assert _held(stream).draw(1e9) != stream.draw(1e9)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_checkpoint_holds_no_noise_that_waits(delta: float, tmp_path: Any) -> None:
    learner = FTRL(ds.simplex(4), box_losses(4), 64, 1.0, delta, sampler="vector")
    for _ in range(5):
        learner.act()
        learner.update(np.zeros(learner.loss_set.shape))
    source = learner._sums._epoch.counter.source  # type: ignore[attr-defined]
    assert isinstance(source, VectorSource) and source._left > 0
    waiting = source._block[: source._left].copy()
    path = tmp_path / "state"
    save(learner, path)
    contents = path.read_bytes()
    assert all(row.tobytes() not in contents for row in waiting)
    again = load(path)
    loaded = again._sums._epoch.counter.source
    assert isinstance(loaded, VectorSource) and loaded._left == 0
    again.act()
    again.update(np.zeros(learner.loss_set.shape))
    assert again.certificate.sampler == "vector"


# prices and refusals


@pytest.mark.parametrize("law", [Laplace(12345.678), Gaussian(12345.678)])
def test_the_formula_charges_what_the_map_of_opendp_does(law: Any) -> None:
    for distance in (1, 7, 10**6):
        ours, theirs = VectorSource(law, 2).cost(distance), SecureSource(law, 2).cost(distance)
        assert ours == pytest.approx(theirs, rel=1e-12)
        exact = distance / law.scale if isinstance(law, Laplace) else (distance / law.scale) ** 2 / 2
        assert ours >= exact * (1 - 1e-15)


@pytest.mark.parametrize("stream", [None, LaplaceStream()])
def test_a_release_that_costs_more_than_the_claim_is_refused(stream: LaplaceStream | None) -> None:
    noise_source(Laplace(10.0), 1, count=2, moved=5, allowed=1.0, sampler="vector", stream=stream)
    with pytest.raises(AssertionError, match="The releases cost"):
        noise_source(Laplace(9.99), 1, count=2, moved=5, allowed=1.0, sampler="vector", stream=stream)


def test_values_that_are_no_64_bit_integers_are_refused() -> None:
    for source in (VectorSource(LAW, 2), StreamSource(LAW, LaplaceStream())):
        size = getattr(source, "size", 1)
        with pytest.raises(TypeError, match="64-bit integers, not to float64"):
            source.draw(np.zeros((1, size)))
        with pytest.raises(ValueError, match="A release of 7 entries"):
            source.draw(np.zeros((1, 7), dtype=np.int64))


def test_noise_beyond_64_bits_is_refused_in_a_sentence() -> None:
    with pytest.raises(OverflowError, match=r"the largest scale is 2\^55"):
        VectorSource(Laplace(2.0**56), 1)
    with pytest.raises(OverflowError, match=r"the largest scale is 2\^55"):
        LaplaceStream().draw(2.0**56)
    with pytest.raises(OverflowError, match="do not fit into 64-bit integers"):
        PrivateSums(box_losses(4), 2**60, 1e-9, sampler="vector")


def test_sums_without_randomness_of_the_system_release_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = PrivateSums(box_losses(4), 64, 1.0, sampler="vector")

    def none(count: int) -> bytes:
        raise NotImplementedError

    source = sums._epoch.counter.source
    source._left = 0  # type: ignore[attr-defined]
    monkeypatch.setattr("os.urandom", none)
    with pytest.raises(EntropyError, match="no random bits"):
        sums.update(np.zeros(sums.loss_set.shape))
    with pytest.raises(ProtocolError, match="interrupted"):
        _ = sums.prefix


# the stream and releases of one's own


@pytest.mark.parametrize("scale", [0.7, 1000.5, 2.0**41 * 1.3])
def test_a_stream_has_the_law_of_each_scale(scale: float) -> None:
    """False alarms: 1e-7 each."""
    stream, count = LaplaceStream(), 20_000
    draws = np.array([[stream.draw(scale), stream.draw(3 * scale)][0] for _ in range(count)])
    edges = np.unique(np.rint(np.linspace(-4, 4, 33) * scale))
    right = np.exp(-np.abs(np.where(edges > 0, edges, 1 - edges)) / scale) / (1 + np.exp(-1 / scale))
    survival = np.concatenate([[1.0], np.where(edges > 0, right, 1 - right), [0.0]])
    expected = -np.diff(survival) * count
    found = np.bincount(np.searchsorted(edges, draws, side="right"), minlength=expected.size)
    assert chi2.sf(((found - expected) ** 2 / expected).sum(), expected.size - 1) > 1e-7


def test_a_release_takes_the_sampler_that_its_size_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    for name, kind in list(sources.SAMPLERS.items()):
        monkeypatch.setitem(sources.SAMPLERS, name, lambda *a, name=name, kind=kind: taken.append(name) or kind(*a))
    release(LAW, [1, 2]), release(LAW, [1, 2], sampler="vector"), release(LAW, np.zeros(10_001, dtype=np.int64))
    assert taken == ["opendp", "vector", "vector"]
    with pytest.raises(ValueError, match="sampler must be one of opendp, vector, not 'numpy'"):
        release(LAW, [1], sampler="numpy")
