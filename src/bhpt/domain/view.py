"""What a policy may look at when it decides: the curves, the prices and what is left.

Notation:
    K  arms, D  encoded features, r_k  units that arm k can still run within what is left.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from bhpt.domain.arrays import BoolArray, FloatArray, IntArray, median
from bhpt.domain.curves import Curves
from bhpt.domain.errors import Misuse
from bhpt.domain.memory import Memory

_ROUNDING = 1e-9  # budgets are sums of floats: ten units of 0.1 must fit into 1


@dataclass(frozen=True, eq=False)
class View:
    """A moment of a study, as a policy sees it.

    Attributes:
        curves: Everything reported so far.
        unit: Epochs in one unit.
        left: What is left of the budget, in the currency of `costs`.
        costs: Predicted price of one unit of each arm, whether it may start or not, [K].
        features: Encoded configurations, [K, D].
        untrained: ℓ_0, the loss of an untrained model; None if nobody knows it.
        pending: Arms with a unit in flight; they cannot be chosen, [P].
        seed: The study's seed; all randomness of a decision comes from it and `step`.
        lanes: Workers that share the clock: with a deadline a unit takes its price from one
            lane of several, so it shortens the other arms' horizon by a part of it only.
        split: Workers that share a total: one arm is trained by one worker at a time, so while
            all are kept busy it gets its part of what is left, but at least its next unit.
        tokens: One token for each hyper-parameter of each arm: its name, value and range as
            numbers, zero where an arm lacks it, [K, N, F]; None if there are no names.
        earlier: Expected rank of each arm by earlier studies, about -1/2 to 1/2, 0 where they
            tell nothing, [K]; None if there are none.
        startable: Arms that may start a unit, [K]; None for all. The others have no horizon,
            unless a unit of theirs is in flight.
        first_arms: How many arms the study started with; those added later follow them. None if
            none was added.
        memory: What was prepared at earlier decisions of the study. It saves time and never
            changes a decision.
    """

    curves: Curves
    unit: int
    left: float
    costs: FloatArray
    features: FloatArray
    untrained: float | None = None
    pending: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    seed: int = 0
    lanes: int = 1
    split: int = 1
    tokens: FloatArray | None = None
    earlier: FloatArray | None = None
    startable: BoolArray | None = None
    first_arms: int | None = None
    memory: Memory = field(default_factory=Memory, repr=False)

    def __post_init__(self) -> None:
        """Check what would otherwise fail far away."""
        if self.unit < 1:
            raise Misuse(f"a unit needs at least one epoch, not {self.unit}")
        if len(self.costs) != self.curves.arms or len(self.features) != self.curves.arms:
            raise Misuse("costs and features must have one row for each arm")
        if self.tokens is not None and len(self.tokens) != self.curves.arms:
            raise Misuse("tokens must have one row for each arm")
        if self.earlier is not None and self.earlier.shape != (self.curves.arms,):
            raise Misuse("earlier studies must expect one rank of each arm")
        if self.startable is not None and self.startable.shape != (self.curves.arms,):
            raise Misuse("startable must say yes or no of each arm")
        if not 1 <= self.started_with <= self.curves.arms:
            raise Misuse(f"{self.first_arms} first arms of {self.curves.arms} make no sense")
        if not np.all(self.costs > 0):
            raise Misuse("the cost of a unit must be positive for every arm")

    @property
    def arms(self) -> int:
        """K, the number of arms."""
        return self.curves.arms

    @property
    def started_with(self) -> int:
        """K₀, the number of arms that the study started with."""
        return self.arms if self.first_arms is None else self.first_arms

    @property
    def step(self) -> int:
        """How many units have been decided: reported and in flight."""
        return len(self.curves.reports) + len(self.pending)

    @property
    def full(self) -> int:
        """T, the units of one full training."""
        return -(-self.curves.epochs // self.unit)

    @cached_property
    def remaining(self) -> IntArray:
        """Units that each arm has left before its last epoch, whatever the budget, [K]."""
        epochs = self.curves.epochs - self.curves.count_by_arm
        return -(-epochs // self.unit)

    @cached_property
    def epochs_with_flights(self) -> IntArray:
        """Epochs that each arm has once its unit in flight is done, [K]."""
        epochs = self.curves.count_by_arm.copy()
        epochs[self.pending] = np.minimum(epochs[self.pending] + self.unit, self.curves.epochs)
        return epochs

    @cached_property
    def barred(self) -> BoolArray:
        """Arms that may not start a unit and have none in flight, [K]."""
        if self.startable is None:
            return np.zeros(self.arms, np.bool_)
        barred = ~self.startable
        barred[self.pending] = False
        return barred

    def bought(self, left: float) -> IntArray:
        """Units of each arm that its part of `left` pays for, whatever its last epoch, [K].

        None of an arm that is barred.
        """
        part: float | FloatArray = left
        if self.split > 1:
            part = np.maximum(left / self.split, np.minimum(self.costs, left))
        units = np.floor(part / self.costs + _ROUNDING).astype(np.int64)
        units[self.barred] = 0
        return units

    def affordable(self, left: float) -> IntArray:
        """r_k, the units that each arm could run with `left` to spend, [K]."""
        return np.clip(self.bought(left), 0, self.remaining)

    @cached_property
    def bought_now(self) -> IntArray:
        """Units of each arm that its part of what is left pays for, [K]."""
        return self.bought(self.left)

    @cached_property
    def horizon(self) -> IntArray:
        """r_k, the units that each arm could still run now, [K]."""
        return np.maximum(np.minimum(self.bought_now, self.remaining), 0)

    def left_after(self, arm_cost: float) -> float:
        """What the other arms have left once a unit of this price is bought."""
        return self.left - arm_cost / self.lanes

    @cached_property
    def choosable(self) -> BoolArray:
        """Arms that can run one more unit now: startable, affordable, unfinished, idle, [K]."""
        can = self.horizon > 0
        can[self.pending] = False
        return can

    @cached_property
    def price(self) -> float:
        """What a unit of an arm that can run one typically costs; of any arm if none can."""
        lowest = float(self.costs.min())
        if lowest == self.costs.max():  # usually all are alike
            return lowest
        return median(self.costs[self.choosable] if self.choosable.any() else self.costs)

    @property
    def units_left(self) -> int:
        """About how many units what is left pays for, those of all workers together."""
        return int(self.left / self.price + _ROUNDING) * self.lanes

    def among(self, arms: BoolArray, called: str) -> "View":
        """The study if no other arms may start.

        Args:
            arms: Which may, [K].
            called: What they are: the name of a memory within the study's.
        """
        return replace(self, startable=arms, memory=self.memory.within(called))

    def only(self, arms: IntArray, memory: Memory) -> "View":
        """The study as if it had some arms alone, numbered anew in the given order.

        What is left, and how many workers share it, stays. Units in flight of other arms are not
        seen.

        Args:
            arms: Which, none twice.
            memory: What was prepared for views of some arms.
        """
        place = np.full(self.arms, -1)
        place[arms] = np.arange(len(arms))
        flying = place[self.pending]
        return replace(
            self,
            curves=self.curves.only(arms),
            costs=self.costs[arms],
            features=self.features[arms],
            pending=flying[flying >= 0],
            tokens=None if self.tokens is None else self.tokens[arms],
            earlier=None if self.earlier is None else self.earlier[arms],
            startable=None if self.startable is None else self.startable[arms],
            first_arms=None,
            memory=memory,
        )

    def rng(self) -> np.random.Generator:
        """The random numbers of this decision: a replay draws the same."""
        return np.random.default_rng((self.seed, self.step))
