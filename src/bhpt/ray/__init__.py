"""bhpt inside Ray Tune: `BHPTScheduler` for a `Tuner`. Needs `pip install 'bhpt[ray]'`."""

from bhpt.ray.scheduler import BHPTScheduler

__all__ = ["BHPTScheduler"]
