"""One thread for the driver's matrices, all the others for the training.

Decisions are small matrices: threads of a linear algebra library would gain nothing there and
fight with the training workers for the cores. The libraries read these variables once, when they
are loaded, and workers inherit whatever is set: so they are set before numpy is imported, and
taken back before the first worker starts, which then gets its share of the cores.
"""

import os

_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_ours: list[str] = []


def keep_to_one() -> None:
    """Call before numpy is imported; what the user has set stays."""
    missing = [name for name in _VARIABLES if name not in os.environ]
    _ours.extend(missing)
    os.environ.update(dict.fromkeys(missing, "1"))


def give_back() -> None:
    """Call once the libraries are loaded and before workers start."""
    while _ours:
        os.environ.pop(_ours.pop(), None)
