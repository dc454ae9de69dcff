"""What a store raises, each with one clear line."""

from bhpt.domain import Misuse
from bhpt.study import Busy


class Damaged(Misuse):
    """The store is not a sound study; it is left exactly as it is."""


class InUse(Misuse):
    """Another driver holds the study."""


class Exists(Misuse):
    """There is a study already where one was to be created."""


class StoreFailed(RuntimeError):
    """The store cannot be written or reached; what was acknowledged is safe."""


class Removed(StoreFailed):
    """The file of a study was removed or replaced while it was written to."""


class Unreachable(Busy):
    """The server does not answer or is starting; try again, it may come back."""
