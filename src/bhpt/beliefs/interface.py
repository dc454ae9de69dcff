"""What a belief is to a policy."""

from typing import Protocol

from bhpt.beliefs.freeze_thaw import Mixture
from bhpt.domain import View


class Belief(Protocol):
    """Curves in, predictive Gaussians out."""

    def condition(self, view: View) -> Mixture:
        """The posterior given everything that the view shows, units in flight included."""
        ...
