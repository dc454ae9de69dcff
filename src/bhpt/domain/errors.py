"""The one error that a user can cause."""


class Misuse(ValueError):
    """Bad input: the message is one clear line that names what is wrong and what to do.

    The command line prints it without a traceback and exits with status 2.
    """
