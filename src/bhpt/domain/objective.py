"""What a study optimises: a named metric and its direction. Everything inside is a loss.

A value is turned into a loss where it comes in, and back where it is shown; nothing between those
two edges depends on the direction.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from bhpt.domain.errors import Misuse

Direction = Literal["min", "max"]
"""Whether lower or higher values of the metric are better."""


@dataclass(frozen=True, slots=True)
class Objective:
    """The metric that decides which model is best.

    Attributes:
        metric: Its name, as trainers report it.
        mode: Whether it is minimised or maximised.
    """

    metric: str = "loss"
    mode: Direction = "min"

    def __post_init__(self) -> None:
        """Refuse what no trainer could report, and another direction."""
        named = isinstance(self.metric, str) and self.metric.split() == [self.metric]
        if not named or not self.metric.isprintable():
            raise Misuse(f"metric {self.metric!r}: give a name without spaces, such as 'val_acc'")
        if self.mode not in get_args(Direction):
            raise Misuse(f"mode {self.mode!r}: use 'min' or 'max'")

    def to_loss(self, value: float) -> float:
        """A value of the metric as a loss: negated if it is maximised."""
        return -value if self.mode == "max" else value

    def from_loss(self, loss: float) -> float:
        """A loss as a value of the metric, in the user's direction."""
        return -loss if self.mode == "max" else loss

    def __str__(self) -> str:
        return f"{self.metric} ({self.mode})"
