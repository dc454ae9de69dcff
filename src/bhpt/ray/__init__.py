"""bhpt inside Ray Tune: `BHPTScheduler` for a `Tuner`. Needs `pip install 'bhpt[ray]'`.

Ray is imported when the scheduler is first used: what decides does not need it.
"""

from typing import TYPE_CHECKING

from bhpt.lazy_names import lazy_names

if TYPE_CHECKING:
    from bhpt.ray.scheduler import BHPTScheduler

__all__ = ["BHPTScheduler"]

if not TYPE_CHECKING:  # hidden from type checkers, which then find names that do not exist
    __getattr__ = lazy_names(__name__, {"BHPTScheduler": "bhpt.ray.scheduler"})
