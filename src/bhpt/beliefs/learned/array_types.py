"""Types of what runs under NumPy, for one decision, and under JAX, where networks are trained."""

from typing import Any

Array = Any  # of NumPy or of JAX
Xp = Any  # NumPy, or JAX's twin of it
Named = dict[str, Array]  # features by their names
