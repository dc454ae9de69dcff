"""What a tracker gets: one run an arm, and the epochs that the run does not hold yet."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from bhpt.spaces import Config
from bhpt.spaces.ranges import Range
from bhpt.study import State
from bhpt.study.plan import Plan


@dataclass(frozen=True, slots=True)
class TrackedStudy:
    """The study that runs belong to.

    Attributes:
        name: For people; not unique.
        identity: Text that no other study has.
        plan: Of the study.
        ranges: What each hyper-parameter can be.
    """

    name: str
    identity: str
    plan: Plan
    ranges: Mapping[str, Range] = field(default_factory=dict)

    @property
    def metric(self) -> str:
        """The name of the metric that decides."""
        return self.plan.objective.metric

    @property
    def label(self) -> str:
        """A name that no other study has, of characters that every file system takes."""
        plain = "".join(char if char.isalnum() or char in "-_" else "-" for char in self.name)
        return f"{plain}-{self.identity[:8]}"


@dataclass(frozen=True, slots=True)
class ArmRun:
    """New epochs of one arm.

    Attributes:
        arm: Which one, by number.
        config: Its configuration.
        first: Epoch of the first row, counted from 1.
        rows: All metrics of each new epoch, in the direction of the user.
    """

    arm: int
    config: Config
    first: int
    rows: tuple[Mapping[str, float], ...]

    def __iter__(self) -> Iterator[tuple[int, Mapping[str, float]]]:
        """Each epoch with its metrics."""
        return iter(enumerate(self.rows, start=self.first))


@runtime_checkable
class Tracker(Protocol):
    """Writes runs somewhere. All calls come from one thread, `begin` first, `close` last.

    The study's log is the only truth: whatever a run lacks is written from there, also what an
    earlier session could not write. A run must therefore be found again by study and arm.
    """

    def begin(self, study: TrackedStudy) -> None:
        """Find or make the place of a study's runs."""
        ...

    def epochs(self, arm: int) -> int:
        """How many epochs the run of an arm holds already; asked once an arm."""
        ...

    def write(self, run: ArmRun) -> None:
        """Add epochs to the run of an arm, which is made if it is not there."""
        ...

    def close(self) -> None:
        """End all runs for now; a later session may go on with them."""
        ...


def new_runs(state: State, held: Mapping[int, int]) -> list[ArmRun]:
    """What runs lack of a study.

    Args:
        state: The study.
        held: Epochs that the run of each arm holds; arms that are missing hold none.
    """
    lacking = {arm: count for arm, count in counts(state).items() if count > held.get(arm, 0)}
    reported: dict[int, list[Mapping[str, float]]] = {arm: [] for arm in lacking}
    for attempt in state.attempts:
        if attempt.unit.arm in reported and attempt.status == "observed":
            reported[attempt.unit.arm] += attempt.metrics or ({},) * attempt.unit.epochs
    return [
        ArmRun(arm, state.configs[arm], held.get(arm, 0) + 1, _rows(state, arm, metrics, held))
        for arm, metrics in reported.items()
    ]


def counts(state: State) -> dict[int, int]:
    """Observed epochs of each arm that has some."""
    curves = state.curves
    if curves is None:
        return {}
    pairs = np.column_stack([curves.visited, curves.counts]).tolist()
    return {arm: count for arm, count in pairs if count}


def _rows(
    state: State, arm: int, reported: Sequence[Mapping[str, float]], held: Mapping[int, int]
) -> tuple[Mapping[str, float], ...]:
    """All metrics of the epochs that the run of an arm lacks, the one that decides among them."""
    objective = state.plan.objective
    losses = [] if state.curves is None else state.curves.of_arm(arm).tolist()
    return tuple(
        {**metrics, objective.metric: objective.from_loss(loss)}
        for loss, metrics in list(zip(losses, reported, strict=True))[held.get(arm, 0) :]
    )
