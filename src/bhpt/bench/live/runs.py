"""One live run: a policy or another tuner trains a real job until its budget is gone.

Budgets in epochs are spent in this process by ask and tell, several workers in step: all ask, all
train, all tell. Budgets in seconds go through `tune` and its worker processes; other tuners train
in this process, so they have one worker there and no start of a process to pay for.
"""

import math
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bhpt.bench.live import tuners
from bhpt.bench.live.job import LiveJob, Trainable
from bhpt.bench.live.jobs import trainer_class
from bhpt.domain import View
from bhpt.domain.budget import Budget
from bhpt.policies.interface import Decision, Explanation, Policy
from bhpt.policies.registry import make_policy
from bhpt.reports.prediction import predict_study
from bhpt.spaces import parse_space
from bhpt.study import MemoryLog, State, Study
from bhpt.study.creation import first_events
from bhpt.study.events import ArmsAdded, Event
from bhpt.study.plan import Training
from bhpt.tuning import tune


@dataclass(frozen=True)
class LiveSetup:
    """How a job is tuned.

    Attributes:
        policy: By its name.
        amount: Epochs or seconds.
        timed: Whether they are seconds.
        seed: Of the policy.
        workers: How many train side by side.
        first: Whether the job's sensible configuration comes first.
    """

    policy: str
    amount: int
    timed: bool
    seed: int
    workers: int = 1
    first: bool = False


@dataclass(frozen=True)
class EndPrediction:
    """What a study predicted of its own end.

    Attributes:
        at: Part of the budget that was gone.
        best: The best loss by then.
        expected: The best loss expected at the end.
        low: Lower end of its 90% interval.
        high: Upper end.
    """

    at: float
    best: float
    expected: float
    low: float
    high: float


@dataclass(frozen=True)
class LiveRun:
    """The lowest loss of a run, the seconds that it took, and what it predicted on the way."""

    loss: float
    seconds: float
    predictions: tuple[EndPrediction, ...] = ()


_MOMENTS = (0.25, 0.5, 0.75)  # parts of the budget at which a study predicts its end


@dataclass
class Predictions:
    """Predictions of a study's end, made at some moments of its budget."""

    found: list[EndPrediction] = field(default_factory=list)
    _asked: int = 0

    def ask(self, state: State, *_: object) -> None:
        """Note the study's prediction if it is time for one."""
        gone = state.ledger.used / state.ledger.budget.amount
        if self._asked == len(_MOMENTS) or gone < _MOMENTS[self._asked] or state.best is None:
            return
        self._asked += 1
        predicted = predict_study(state)
        if predicted is not None:
            final = predicted.final
            self.found.append(
                EndPrediction(gone, state.best.loss, final.middle, final.low, final.high)
            )


@dataclass(frozen=True)
class FirstArm:
    """A policy that is made to begin with arm 0, and decides everything else itself."""

    policy: Policy

    def decide(self, view: View) -> Decision | None:
        """Arm 0 as long as nothing else was tried, then as the policy does."""
        if view.choosable[0] and not len(view.curves.visited) and not len(view.pending):
            return Decision(0, Explanation.in_words("everybody begins with it", view.arms))
        return self.policy.decide(view)


class Models:
    """The models of a run in this process, each trained as far as was asked for."""

    def __init__(self, job: LiveJob) -> None:
        """None yet."""
        self._make = trainer_class(job)
        self._models: dict[int, Trainable] = {}
        self.losses: dict[int, list[float]] = {}
        self.epochs = 0

    @property
    def best(self) -> float:
        """The lowest finite loss, infinity if there is none."""
        seen = (loss for losses in self.losses.values() for loss in losses)
        return min((loss for loss in seen if math.isfinite(loss)), default=math.inf)

    def train(self, number: int, config: dict[str, Any], epochs: int) -> list[float]:
        """The losses of some more epochs of a model."""
        if number not in self._models:
            self._models[number] = self._make(dict(config))
            self.losses[number] = []
        new = [float(self._models[number].step()) for _ in range(epochs)]
        self.losses[number] += new
        self.epochs += epochs
        return new


def run(job: LiveJob, setup: LiveSetup) -> LiveRun:
    """Train until the budget is gone."""
    began, predictions = time.monotonic(), Predictions()
    if setup.policy in tuners.TUNERS:
        loss = _tuner(job, setup)
    elif setup.timed:
        loss = _tuned(job, setup, predictions)
    else:
        loss = _asked(job, setup, predictions)
    return LiveRun(loss, time.monotonic() - began, tuple(predictions.found))


def _asked(job: LiveJob, setup: LiveSetup, predictions: Predictions) -> float:
    """Ask and tell, workers in step."""
    log = MemoryLog()
    log.append(_first(job, setup), 0)
    study, models = Study.resume(log, _policy(setup)), Models(job)
    while True:
        while study.ask() is not None:
            pass
        if not study.in_flight:
            return models.best
        for unit in study.in_flight:
            began = time.monotonic()
            losses = models.train(unit.arm, unit.config, unit.epochs)
            study.tell(unit, losses, seconds=time.monotonic() - began)
        predictions.ask(study.state)


def _policy(setup: LiveSetup) -> Policy:
    policy = make_policy(setup.policy)
    return FirstArm(policy) if setup.first else policy


def _first(job: LiveJob, setup: LiveSetup) -> list[Event]:
    """The first events of a study, with the job's sensible configuration as the first arm."""
    created, arms, *_ = first_events(
        job.space,
        Budget.parse(f"{setup.amount} epochs"),
        training=Training(epochs=job.epochs),
        seed=setup.seed,
        policy=setup.policy,
        workers=setup.workers,
    )
    if not setup.first:
        return [created, arms]
    return [created, ArmsAdded((job.first, *arms.configs), arms.origin)]


def _tuned(job: LiveJob, setup: LiveSetup, predictions: Predictions) -> float:
    """Through the driver, under a deadline."""
    space: object = job.space
    if setup.first:
        _, arms, *_ = first_events(
            parse_space(job.space), Budget(1, "epochs"), training=Training(), seed=setup.seed
        )
        space = [job.first, *arms.configs]
    with tempfile.TemporaryDirectory(prefix="bhpt-live-") as folder:
        result = tune(
            job.trainer,
            space,
            f"{setup.amount}s",
            setup.workers,
            Path(folder) / "study.db",
            setup.seed,
            max_epochs=job.epochs,
            policy=_policy(setup) if setup.first else setup.policy,
            watch=predictions.ask,
        )
    return float(result.best_loss)


def _tuner(job: LiveJob, setup: LiveSetup) -> float:
    """Another tuner's own loop, until the epochs or the seconds are gone."""
    with tempfile.TemporaryDirectory(prefix="bhpt-live-", ignore_cleanup_errors=True) as folder:
        return _tuner_in(folder, job, setup)


def _tuner_in(folder: str, job: LiveJob, setup: LiveSetup) -> float:
    """The same; what the tuner writes lies in `folder`."""
    models, began = Models(job), time.monotonic()
    first = job.first if setup.first else None
    process, message = tuners.begin(setup.policy, job, setup.amount, setup.seed, first, folder)
    while "train" in message:
        asked = message["train"]
        number, to = int(asked["trial"]), min(int(asked["to"]), job.epochs)
        while len(models.losses.get(number, ())) < to:
            gone = time.monotonic() - began if setup.timed else models.epochs
            if gone >= setup.amount:
                return models.best
            models.train(number, asked["config"], 1)
        losses = [one if math.isfinite(one) else None for one in models.losses[number]]
        message = process.exchange({"losses": losses})
    return models.best
