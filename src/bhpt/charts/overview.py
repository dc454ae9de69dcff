"""The first thing to see of a study: best so far, budget, what is expected, what runs and why."""

from dataclasses import dataclass

from bhpt.charts.decision import in_context
from bhpt.domain.durations import duration
from bhpt.reports.progress import Flight, Progress
from bhpt.spaces import Config
from bhpt.study import State


@dataclass(frozen=True, slots=True)
class Overview:
    """Where a study stands, for a person; amounts of the budget as numbers and in words.

    Attributes:
        metric: Its name.
        mode: "min" or "max".
        budget: The limit.
        used: What is gone of it.
        promised: What units in flight have reserved.
        used_text: What is gone of it in words.
        left_text: What is left in words.
        clock: Seconds for which the study has been running.
        time_left_text: How long it will go on, empty if that is not known.
        best: The best value of the metric, None before there is one.
        best_arm: The configuration that it was seen on.
        best_epoch: The epoch.
        config: That configuration.
        flights: What runs now and why.
        last_attempt: The last decision, None before the first.
        last_why: Its reason.
        last_context: How its arm compared with the best others, empty if nothing was predicted.
        tried: Arms that were trained.
        candidates: Arms that could be.
        units: Units that were reported.
        failures: Attempts that were stopped or failed.
        max_epochs: The last epoch that an arm may reach.
        workers: Units that may run side by side.
        policy: Its name.
    """

    metric: str
    mode: str
    budget: float
    used: float
    promised: float
    used_text: str
    left_text: str
    clock: float
    time_left_text: str
    best: float | None
    best_arm: int | None
    best_epoch: int | None
    config: Config | None
    flights: tuple[Flight, ...]
    last_attempt: int | None
    last_why: str
    last_context: str
    tried: int
    candidates: int
    units: int
    failures: int
    max_epochs: int
    workers: int
    policy: str


def overview_of(state: State, progress: Progress) -> Overview:
    """The overview of a study.

    Args:
        state: The study.
        progress: The same at the moment that is shown.
    """
    rules = progress.budget.rules
    best = progress.best
    last = state.attempts[-1] if state.attempts else None
    return Overview(
        metric=progress.objective.metric,
        mode=progress.objective.mode,
        budget=progress.budget.amount,
        used=progress.used,
        promised=progress.promised,
        used_text=rules.used_text(progress.used),
        left_text=rules.text(max(progress.budget.amount - progress.used, 0.0)),
        clock=progress.clock,
        time_left_text="" if progress.left_s is None else duration(progress.left_s),
        best=None if best is None else best.loss,
        best_arm=None if best is None else best.arm,
        best_epoch=None if best is None else best.epoch,
        config=progress.config,
        flights=progress.flights,
        last_attempt=None if last is None else last.number,
        last_why="" if last is None else last.why,
        last_context="" if last is None else in_context(state, last),
        tried=progress.tried,
        candidates=progress.candidates,
        units=progress.reports,
        failures=progress.failures,
        max_epochs=state.plan.training.epochs,
        workers=state.session_workers,
        policy=state.plan.policy,
    )
