"""Damage to a checkpoint or to its mark: an error in a sentence, nothing released twice, and nothing lost."""

import itertools

import numpy as np
import pytest
from loss_sets import box_losses
from playing import play
from state_tree import Miniature

import decision_sets as ds
import dpcvx
from dpcvx import FTRL, CheckpointError, Exp2, PrivateBandit
from dpcvx.checkpoints.mark import Mark

X, Y = ds.simplex(3), box_losses(3)
LOSSES = np.zeros((3, 3))


def saved(folder, name="state", make=Miniature, rounds=2):
    learner = make()
    play(learner, LOSSES[:rounds] if learner.sees == "loss" else [0.0] * rounds)
    dpcvx.save(learner, folder / name)
    return learner


def flips(whole, rng, count):
    """One bit of the first byte, of the last, and of others."""
    others = rng.choice(len(whole), min(count, len(whole)), replace=False).tolist()
    for k in (0, len(whole) - 1, *others):
        changed = bytearray(whole)
        changed[k] ^= 1 << int(rng.integers(8))
        yield bytes(changed)


def damages(whole, rng, count):
    yield from flips(whole, rng, count)
    yield from (whole[: int(k)] for k in rng.integers(1, len(whole), 20))
    yield from (whole + more for more in (b"\n", b"\0", b" ", whole))
    yield from (b"", b"\n", whole[1:], whole[::-1], whole.replace(b" ", b"\t"), whole.replace(b"\n", b"\r\n"))


def refuses_in_a_sentence(path):
    with pytest.raises(CheckpointError) as caught:
        dpcvx.load(path)
    return str(caught.value).endswith(".")


@pytest.mark.parametrize("name", ["state", "state.generation"])
@pytest.mark.parametrize("rollback", [False, True])
def test_every_damage_is_refused_and_repaired_the_learner_goes_on(tmp_path, name, rollback):
    """The checksum did not cover the header, and the mark had none: one digit opened an outdated checkpoint."""
    learner, rng = saved(tmp_path), np.random.default_rng(1)
    whole = (tmp_path / name).read_bytes()
    for changed in damages(whole, rng, 10_000):
        if changed == whole:
            continue
        (tmp_path / name).write_bytes(changed)
        before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
        with pytest.raises(CheckpointError) as caught:
            dpcvx.load(tmp_path / "state", allow_rollback=rollback)
        assert str(caught.value).endswith("."), caught.value
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    (tmp_path / name).write_bytes(whole)
    loaded = dpcvx.load(tmp_path / "state")
    assert loaded.rounds == learner.rounds == 2
    play(loaded, LOSSES)
    with pytest.raises(CheckpointError, match="another learner"):
        play(learner, LOSSES)


@pytest.mark.parametrize(
    "make",
    [
        lambda: FTRL(X, Y, 9, epsilon=1.0),
        lambda: FTRL(X, Y, 9, epsilon=1.0, seed=1),
        lambda: PrivateBandit(Exp2(X, Y, 9), 1.0, batch=2),
    ],
)
def test_damage_to_learners_of_the_package_is_refused(tmp_path, make):
    saved(tmp_path, make=make)
    path, rng = tmp_path / "state", np.random.default_rng(2)
    whole = path.read_bytes()
    for changed in damages(whole, rng, 150):
        path.write_bytes(changed)
        assert changed == whole or refuses_in_a_sentence(path)
    path.write_bytes(whole)
    assert dpcvx.load(path).rounds == 2


def test_a_living_learner_stops_at_a_damaged_mark_and_needs_no_file(tmp_path):
    learner, rng = saved(tmp_path), np.random.default_rng(3)
    mark = tmp_path / "state.generation"
    whole = mark.read_bytes()
    for changed in damages(whole, rng, 30):
        if changed == whole:
            continue
        mark.write_bytes(changed)
        for call in (learner.act, lambda: dpcvx.save(learner, tmp_path / "state")):
            with pytest.raises(CheckpointError, match=r"is damaged, so nothing is continued from state\.$"):
                call()
    mark.write_bytes(whole)
    (tmp_path / "state").write_bytes(b"damaged")
    play(learner, LOSSES)
    dpcvx.save(learner, tmp_path / "state")
    assert dpcvx.load(tmp_path / "state").rounds == 5


NAMES = ["first", "first.generation", "other", "other.generation"]


def swap(one, other):
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


@pytest.mark.parametrize("pair", list(itertools.combinations(NAMES, 2)))
def test_files_in_each_others_place_are_refused(tmp_path, pair):
    """The mark of one checkpoint admitted any other with a number that was not smaller."""
    for name, repeats in (("first", 3), ("other", 1)):
        for _ in range(repeats):
            saved(tmp_path, name)
    swap(*(tmp_path / name for name in pair))
    concerned = {name.removesuffix(".generation") for name in pair}
    assert all(refuses_in_a_sentence(tmp_path / name) for name in concerned)
    swap(*(tmp_path / name for name in pair))
    assert dpcvx.load(tmp_path / "first").rounds == dpcvx.load(tmp_path / "other").rounds == 2


def test_an_outdated_checkpoint_is_opened_by_no_mark_of_another(tmp_path):
    learner = saved(tmp_path, "first")
    play(learner, LOSSES)
    saved(tmp_path, "other")
    for name in ("first", "other"):
        (tmp_path / "first.generation").write_bytes((tmp_path / f"{name}.generation").read_bytes())
        assert refuses_in_a_sentence(tmp_path / "first")


@pytest.mark.parametrize("mark", [Mark(-1, "a"), Mark(10**30, "a"), Mark(1, "a", -5), Mark(0, "0" * 32)])
def test_a_mark_of_odd_numbers_admits_nothing(tmp_path, mark):
    learner = saved(tmp_path)
    mark.write(tmp_path / "state")
    assert refuses_in_a_sentence(tmp_path / "state")
    learner.act()
    learner.update(0.0)
    with pytest.raises(CheckpointError, match="another learner"):
        learner.act()


def test_a_mark_that_is_a_folder_is_told_in_a_sentence(tmp_path):
    learner = saved(tmp_path)
    (tmp_path / "state.generation").unlink()
    (tmp_path / "state.generation").mkdir()
    assert refuses_in_a_sentence(tmp_path / "state")
    for call in (learner.act, lambda: dpcvx.save(learner, tmp_path / "state")):
        with pytest.raises(CheckpointError, match=r"cannot be read: Is a directory\.$"):
            call()
