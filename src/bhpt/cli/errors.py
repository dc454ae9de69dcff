"""Exceptions that end a command; `main` gives each its exit status."""

TRACEBACK = "BHPT_TRACEBACK"
"""The environment variable that asks for tracebacks."""


class Interrupted(Exception):
    """Ctrl-C; the message says how to go on."""


class CommandFailed(Exception):
    """The command ran and its result is a failure; the message is one clear line."""
