"""One BLAS thread for a decision.

A decision is thousands of operations on small matrices while training keeps every core busy:
more threads only wait for each other there, and make it ten times slower.
"""

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    """Looks for the loaded libraries once: that takes longer than a decision."""
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """Within it BLAS uses one thread; afterwards as many as before."""
    limited: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limited
