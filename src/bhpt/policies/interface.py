"""What a policy is, and what it answers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from bhpt.domain import FloatArray, Misuse, View


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why this arm: the numbers behind a decision, in the scale of the losses.

    Attributes:
        why: One sentence for a person.
        end: Predicted best loss of each arm within its horizon, [K]; NaN where not predicted.
        spread: One standard deviation of it, [K]; NaN where not predicted.
        value: What the policy minimises, [K]; infinite where an arm cannot be chosen, NaN
            where the policy does not price arms.
    """

    why: str
    end: FloatArray
    spread: FloatArray
    value: FloatArray

    @classmethod
    def in_words(cls, why: str, arms: int) -> "Explanation":
        """An explanation by a rule that predicts nothing."""
        unknown = np.full(arms, np.nan)
        return cls(why, unknown, unknown, unknown)


@dataclass(frozen=True, eq=False)
class Decision:
    """Run one unit of `arm`.

    Attributes:
        arm: It.
        told: Why, or what can tell it: explaining may take longer than deciding, and a benchmark
            never asks.
    """

    arm: int
    told: Explanation | Callable[[], Explanation]

    @cached_property
    def explanation(self) -> Explanation:
        """Why this arm."""
        return self.told if isinstance(self.told, Explanation) else self.told()


class Policy(Protocol):
    """Chooses the next unit. Deciding never changes what later decisions will be."""

    def decide(self, view: View) -> Decision | None:
        """The next unit to run; None if none can, or if one in flight must be reported first."""
        ...


def refuse_side_by_side(policy: Policy, workers: int) -> None:
    """Refuse several workers for a policy that must see each unit before it decides the next.

    Such a policy says so with a class attribute `sequential`.

    Raises:
        Misuse: It is sequential, and there are several workers or a unit is in flight.
    """
    if workers > 1 and getattr(policy, "sequential", False):
        raise Misuse("this policy decides one unit at a time: use one worker, or `default`")
