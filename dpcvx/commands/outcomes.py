"""How a command ends when it does not end well: each exception is a message to print and an exit code."""


class InputError(Exception):
    """What the user asked for cannot be done; the message is the one sentence to print."""


class Refutation(Exception):
    """A claim of the package did not hold; the message is the report to print."""
