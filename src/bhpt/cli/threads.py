"""One thread for the driver's linear algebra; the other cores are for training.

Decisions are small matrices: threads of a linear algebra library would gain nothing there and
fight with the training workers for the cores. The libraries read these variables once, when they
are loaded, and workers inherit whatever is set: so they are set before numpy is imported, and
taken back before the first worker starts, which then gets its share of the cores.
"""

import os

_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_ours: list[str] = []


def keep_to_one() -> None:
    """Set one thread for linear algebra, except where the user has set a number.

    Must be called before numpy is imported.
    """
    missing = [name for name in _VARIABLES if name not in os.environ]
    _ours.extend(missing)
    os.environ.update(dict.fromkeys(missing, "1"))


def give_back() -> None:
    """Remove the variables again, before workers start and inherit them."""
    while _ours:
        os.environ.pop(_ours.pop(), None)
