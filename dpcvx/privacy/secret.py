"""What must not be duplicated: two copies of one private state would release it twice."""

import copy
from typing import Any, NoReturn


class Secret:
    """A state that is neither copied nor pickled.

    A checkpoint is the one way to a file: it writes what `saved` says, and takes care that one state goes on once.
    """

    described = "secret state"  # what the refusals call it

    def saved(self) -> tuple[Any, ...]:
        """How a checkpoint writes it, in the form of `__reduce__`."""
        return tuple(super().__reduce_ex__(4))

    def __copy__(self) -> NoReturn:
        self._refuse_copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        self._refuse_copy()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise copy.Error(f"A {self.described} cannot be pickled; save the learner instead.")

    def _refuse_copy(self) -> NoReturn:
        raise copy.Error(f"A {self.described} cannot be copied: two learners would release the same private state.")
