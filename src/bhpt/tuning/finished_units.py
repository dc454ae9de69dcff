"""What `on_unit` is called with: a unit that has ended."""

from collections.abc import Callable
from dataclasses import dataclass

from bhpt.domain.reports import Metrics
from bhpt.spaces import Config
from bhpt.study import State


@dataclass(frozen=True, slots=True)
class FinishedUnit:
    """A unit that has ended, with its report or without.

    Attributes:
        attempt: Counts all attempts from 0.
        arm: Which configuration, by number.
        config: The configuration.
        epoch: Epochs that the arm has behind it now.
        values: The study's metric after each new epoch, in its own direction; empty if it failed.
        metrics: Everything that was reported, one mapping an epoch; empty if only numbers were.
        seconds: How long it was busy.
        cost: What it cost, in the currency of the budget.
        left: What is left of the budget.
        failure: Why it failed, None if it did not.
        best: The best value of the metric so far, on any arm.
    """

    attempt: int
    arm: int
    config: Config
    epoch: int
    values: tuple[float, ...]
    metrics: tuple[Metrics, ...]
    seconds: float
    cost: float
    left: float
    failure: str | None
    best: float

    @classmethod
    def of(cls, state: State, number: int) -> "FinishedUnit":
        """An attempt that is settled."""
        attempt, objective = state.attempts[number], state.plan.objective
        arm = attempt.unit.arm
        failed = attempt.status == "failed"
        losses = [] if state.curves is None or failed else state.curves.of_arm(arm).tolist()
        new = losses[attempt.done : attempt.done + attempt.unit.epochs]
        return cls(
            attempt=number,
            arm=arm,
            config=state.configs[arm],
            epoch=state.count(arm),
            values=tuple(objective.from_loss(loss) for loss in new),
            metrics=attempt.metrics,
            seconds=attempt.seconds,
            cost=attempt.cost,
            left=state.ledger.left,
            failure=attempt.message if failed else None,
            best=objective.from_loss(float("inf") if state.best is None else state.best.loss),
        )


OnUnit = Callable[[FinishedUnit], object]
"""Called with each unit that has ended, once it is in the log."""
