"""The errors of the package: each is a sentence that names the constraint, direction or number at fault."""


class DpcvxError(Exception):
    """Base of the package's errors: about arguments, declared sets, oracles, the protocol and files."""


class ArgumentError(DpcvxError, ValueError):
    """An argument is wrong; the message says which, what came, and what is accepted."""


class MissingArgumentError(ArgumentError, TypeError):
    """An argument was left out that has no default; the message says what it may be."""


class DeclarationError(DpcvxError, ValueError):
    """The declaration cannot be read as a convex set: not convex, not real, or about something else."""


class EmptySetError(DpcvxError, ValueError):
    """No point satisfies the constraints."""


class UnboundedSetError(DpcvxError, ValueError):
    """The set contains a ray; the message and `ray` hold its direction."""

    def __init__(self, message: str, ray: object = None) -> None:
        super().__init__(message)
        self.ray = ray


class DegenerateSetError(DpcvxError, ValueError):
    """The set has no interior within its affine hull that the presolve could find."""


class UnsupportedConeError(DpcvxError, ValueError):
    """The constraints need a cone or a size for which there is no barrier."""


class OracleError(DpcvxError, RuntimeError):
    """A numerical solver did not reach an answer, or the user's own oracle returned a wrong one."""


class ProtocolError(DpcvxError, RuntimeError):
    """`act` and `update` did not alternate, an update was interrupted half-way, or a secure learner was forked."""


class LossOutOfSetError(DpcvxError, ValueError):
    """A loss lies outside its declared set."""


class CheckpointError(DpcvxError, RuntimeError):
    """A checkpoint is damaged, cannot be written, or is older than what was already released."""


class MissingCheckpointError(CheckpointError, FileNotFoundError):
    """There is no checkpoint of that name."""


class HorizonError(DpcvxError, RuntimeError):
    """More rounds were asked for than the horizon allows."""


class EntropyError(DpcvxError, RuntimeError):
    """The operating system gives no random bits; secure noise has no other source."""


class LearnerCheckError(DpcvxError, AssertionError):
    """A learner does not have a property that `check_learner` asks for; `failed` is the name of the property."""

    def __init__(self, message: str, failed: str = "") -> None:
        super().__init__(message)
        self.failed = failed


class WeakPrivacyWarning(UserWarning):
    """An epsilon or delta was asked for that protects next to nothing."""


class ThinSetWarning(UserWarning):
    """The set is so thin in some direction that rounding errors may show."""
