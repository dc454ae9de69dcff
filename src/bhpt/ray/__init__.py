"""bhpt inside Ray Tune: `BHPTScheduler` for a `Tuner`. Needs `pip install 'bhpt[ray]'`.

Ray is imported when the scheduler is first used: what decides knows nothing of it.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bhpt.ray.scheduler import BHPTScheduler

__all__ = ["BHPTScheduler"]

if not TYPE_CHECKING:  # hidden from type checkers, which then find names that do not exist

    def __getattr__(name: str) -> object:
        """Import the scheduler."""
        if name not in __all__:
            raise AttributeError(f"module 'bhpt.ray' has no attribute {name!r}")
        from bhpt.ray.scheduler import BHPTScheduler

        return BHPTScheduler
