"""The errors of the package: each is a sentence that names the constraint, direction or number at fault."""


class DpcvxError(Exception):
    """Base of the package's errors: about arguments, declared sets, oracles, the protocol and files.

    Example:
        >>> import cvxpy as cp, dpcvx
        >>> x = cp.Variable(2, name="x")
        >>> try:
        ...     dpcvx.DecisionSet(x, [x >= 0])
        ... except dpcvx.DpcvxError as error:
        ...     print(type(error).__name__)
        UnboundedSetError
    """


class ArgumentError(DpcvxError, ValueError):
    """An argument is wrong; the message says which, what came, and what is accepted.

    Example:
        >>> import decision_sets, dpcvx
        >>> try:
        ...     dpcvx.FTRL(decision_sets.simplex(3), decision_sets.loss_box(3), horizon=100, epsilon=-1.0)
        ... except dpcvx.ArgumentError as error:
        ...     print("epsilon" in str(error), isinstance(error, ValueError))
        True True
    """


class MissingArgumentError(ArgumentError, TypeError):
    """An argument was left out that has no default; the message says what it may be."""


class DeclarationError(DpcvxError, ValueError):
    """The declaration cannot be read as a convex set: not convex, not real, or about something else.

    Example:
        >>> import cvxpy as cp, dpcvx
        >>> x = cp.Variable(2, name="x")
        >>> try:
        ...     dpcvx.DecisionSet(x, [cp.norm2(x) >= 1])  # the outside of a ball
        ... except dpcvx.DeclarationError as error:
        ...     print("not convex" in str(error))
        True
    """


class EmptySetError(DpcvxError, ValueError):
    """No point satisfies the constraints.

    Example:
        >>> import cvxpy as cp, dpcvx
        >>> x = cp.Variable(2, name="x")
        >>> dpcvx.DecisionSet(x, [x >= 1, x[0] + x[1] <= 1])
        Traceback (most recent call last):
        dpcvx.errors.EmptySetError: The set is empty: 1.0 <= x and x[0] + x[1] <= 1.0 cannot hold together.
    """


class UnboundedSetError(DpcvxError, ValueError):
    """The set contains a ray; the message and `ray` hold its direction.

    Example:
        >>> import cvxpy as cp, dpcvx
        >>> x = cp.Variable(2, name="x")
        >>> dpcvx.DecisionSet(x, [x >= 0, x[0] <= 1])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        dpcvx.errors.UnboundedSetError: The set is unbounded: ... Add an upper bound on x[1].
    """

    def __init__(self, message: str, ray: object = None) -> None:
        super().__init__(message)
        self.ray = ray


class DegenerateSetError(DpcvxError, ValueError):
    """The set has no interior within its affine hull that the presolve could find.

    Example:
        >>> import cvxpy as cp, dpcvx
        >>> x = cp.Variable(2, name="x")
        >>> try:
        ...     dpcvx.DecisionSet(x, [cp.norm2(x) <= 1, cp.abs(x[0] - x[1]) <= 1e-12])  # a slab that is almost a line
        ... except dpcvx.DegenerateSetError as error:
        ...     print("x[0]" in str(error))
        True
    """


class UnsupportedConeError(DpcvxError, ValueError):
    """The constraints need a cone or a size for which there is no barrier.

    Example:
        >>> import decision_sets, dpcvx
        >>> dpcvx.Exp2(decision_sets.norm_ball(2), decision_sets.loss_ball(2), horizon=10)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        dpcvx.errors.UnsupportedConeError: The norm_ball(2, p=2) is not a polytope after presolve; ...
    """


class OracleError(DpcvxError, RuntimeError):
    """A numerical solver did not reach an answer, or the user's own oracle returned a wrong one.

    Example:
        >>> import cvxpy as cp, dpcvx
        >>> x = cp.Variable(2)
        >>> X = dpcvx.DecisionSet(x, [x >= 0, x <= 1], oracle=lambda c: [1.0])
        >>> X.argmin([1.0, 2.0])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        dpcvx.errors.OracleError: The set's own oracle returned an array of shape (1,); ...
    """


class ProtocolError(DpcvxError, RuntimeError):
    """`act` and `update` did not alternate, an update was interrupted half-way, or a secure learner was forked.

    Example:
        >>> import decision_sets, dpcvx
        >>> learner = dpcvx.FTRL(decision_sets.simplex(3), decision_sets.loss_box(3), horizon=10, epsilon=1.0)
        >>> learner.update([0.0, 1.0, 1.0])
        Traceback (most recent call last):
        dpcvx.errors.ProtocolError: update was called without an action; call act first.
    """


class LossOutOfSetError(DpcvxError, ValueError):
    """A loss lies outside its declared set.

    Example:
        >>> import decision_sets, dpcvx
        >>> sums = dpcvx.PrivateSums(decision_sets.loss_box(3), horizon=10, epsilon=1.0, on_violation="raise")
        >>> sums.update([0.0, 1.0, 3.0])
        Traceback (most recent call last):
        dpcvx.errors.LossOutOfSetError: The loss is outside its declared set; nothing was changed.
    """


class CheckpointError(DpcvxError, RuntimeError):
    """A checkpoint is damaged, cannot be written, or is older than what was already released.

    Example:
        >>> import dpcvx, tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     try:
        ...         dpcvx.load(file.name)  # an empty file
        ...     except dpcvx.CheckpointError as error:
        ...         print(type(error).__name__)
        CheckpointError
    """


class MissingCheckpointError(CheckpointError, FileNotFoundError):
    """There is no checkpoint of that name.

    Example:
        >>> import dpcvx
        >>> try:
        ...     dpcvx.load("no such learner")
        ... except FileNotFoundError as error:
        ...     print(type(error).__name__)
        MissingCheckpointError
    """


class HorizonError(DpcvxError, RuntimeError):
    """More rounds were asked for than the horizon allows.

    Example:
        >>> import decision_sets, dpcvx
        >>> learner = dpcvx.FTRL(decision_sets.simplex(3), decision_sets.loss_box(3), horizon=1, epsilon=1.0)
        >>> action = learner.act()
        >>> learner.update([0.0, 1.0, 1.0])
        >>> learner.act()
        Traceback (most recent call last):
        dpcvx.errors.HorizonError: The horizon of 1 rounds is used up; nothing more is released.
    """


class EntropyError(DpcvxError, RuntimeError):
    """The operating system gives no random bits; secure noise has no other source."""


class LearnerCheckError(DpcvxError, AssertionError):
    """A learner does not have a property that `check_learner` asks for; `failed` is the name of the property.

    Example:
        >>> import decision_sets, dpcvx, numpy as np
        >>> class Careless:
        ...     decision_set = decision_sets.simplex(4)
        ...     def act(self):
        ...         return np.ones(4)
        ...     def update(self, loss):
        ...         pass
        >>> dpcvx.check_learner(lambda seed: Careless())  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        dpcvx.errors.LearnerCheckError: Careless fails the check of actions: the action of round 1 lies outside ...
    """

    def __init__(self, message: str, failed: str = "") -> None:
        super().__init__(message)
        self.failed = failed


class WeakPrivacyWarning(UserWarning):
    """An epsilon or delta was asked for that protects next to nothing.

    Example:
        >>> import decision_sets, dpcvx, warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     sums = dpcvx.PrivateSums(decision_sets.loss_box(3), horizon=100, epsilon=50.0)
        >>> caught[0].category.__name__
        'WeakPrivacyWarning'
    """


class ThinSetWarning(UserWarning):
    """The set is so thin in some direction that rounding errors may show.

    Example:
        >>> import cvxpy as cp, dpcvx, warnings
        >>> x = cp.Variable(2, name="x")
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     X = dpcvx.DecisionSet(x, [x >= 0, x <= 1, cp.abs(x[0] - x[1]) <= 5e-8])
        >>> caught[0].category.__name__
        'ThinSetWarning'
    """
