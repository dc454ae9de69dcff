"""How a command can end other than well; `main` gives each its exit status."""

TRACEBACK = "BHPT_TRACEBACK"
"""The environment variable that asks for tracebacks."""


class Interrupted(Exception):
    """Ctrl-C; the message says how to go on."""


class CommandFailed(Exception):
    """The command did what it could, and that was not enough; one clear line."""
