"""The smallest amount of training that is decided on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit of training of one arm.

    Attributes:
        arm: Which configuration.
        index: How many units of this arm come before it.
        epochs: How many epochs it runs; it reveals one loss each.
    """

    arm: int
    index: int
    epochs: int
