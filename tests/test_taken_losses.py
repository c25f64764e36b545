"""Losses as people have them: integers, single precision, pandas Series, anything with `__array__`."""

import cvxpy as cp
import numpy as np
import pytest

import decision_sets as ds
import dpcvx

X = ds.simplex(3)
_loss = cp.Variable(3, name="loss")
Y = dpcvx.LossSet(_loss, [_loss >= -1, _loss <= 1])


class Tensor:
    """What other packages' arrays look like to NumPy."""

    def __init__(self, entries):
        self.entries = entries

    def __array__(self, dtype=None, copy=None):
        return np.array(self.entries, dtype=dtype)


class OldTensor(Tensor):
    """The same, as it was written before NumPy 2."""

    def __array__(self):
        return np.array(self.entries)


class Broken:
    """Raises with a secret in its words."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("0.123456 is a secret")


def sums_after(loss):
    """The exact sums after one loss, as a learner without privacy has them."""
    learner = dpcvx.FTRL(X, Y, 4)
    learner.act()
    learner.update(loss)
    return learner._sums.prefix


TAKEN = {
    "integers": [1, 0, -1],
    "an array of integers": np.array([1, 0, -1]),
    "small integers": np.array([1, 0, -1], dtype=np.int8),
    "single precision": np.array([1, 0, -1], dtype=np.float32),
    "half precision": np.array([1, 0, -1], dtype=np.float16),
    "truth values and numbers": [True, 0, -1.0],
    "a tensor": Tensor([1.0, 0.0, -1.0]),
    "a tensor of integers": Tensor([1, 0, -1]),
    "a tensor of single precision": Tensor(np.array([1, 0, -1], dtype=np.float32)),
    "an old tensor": OldTensor([1, 0, -1]),
}


@pytest.mark.parametrize("loss", TAKEN.values(), ids=TAKEN)
def test_numbers_of_every_kind_are_the_same_loss(loss):
    assert sums_after(loss).tolist() == [1.0, 0.0, -1.0]


def test_an_object_that_cannot_become_an_array_is_refused_without_its_words():
    with pytest.raises(dpcvx.DpcvxError, match="RuntimeError") as caught:
        sums_after(Broken())
    assert "secret" not in str(caught.value) and caught.value.__context__ is None


def test_a_bandit_takes_a_tensor_as_the_action_and_the_feedback_of_a_learner():
    class Mine:
        def act(self):
            return OldTensor([0.0, 1.0, 0.0])

        def update(self, value):
            self.value = value

    mine = Mine()
    private = dpcvx.PrivateBandit(mine, 1.0, decision_set=X, loss_set=Y, horizon=3, batch=1, seed=0)
    assert private.act().tolist() == [0.0, 1.0, 0.0]
    private.update(Tensor(0.5))
    assert private.rounds == 1 and np.isfinite(mine.value)


def test_a_series_is_put_in_the_order_of_its_numbers():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert sums_after(pandas.Series([-1.0, 1.0, 0.0], index=[2, 0, 1])).tolist() == [1.0, 0.0, -1.0]
    assert sums_after(pandas.Series([1, 0, -1])).tolist() == [1.0, 0.0, -1.0]


@pytest.mark.parametrize("labels", [["a", "b", "c"], [1, 2, 3], [0, 0, 1], [0.0, 1.0, 2.0]])
def test_a_series_whose_labels_are_no_numbers_of_entries_is_refused(labels):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    with pytest.raises(dpcvx.DpcvxError, match=r"labels are not the numbers 0 to 2.*to_numpy"):
        sums_after(pandas.Series([1.0, 0.0, -1.0], index=labels))
