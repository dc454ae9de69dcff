"""What a driver works with: the study, its policy, executor and checkpoints, and callbacks."""

from collections.abc import Callable
from dataclasses import dataclass, field

from bhpt.domain import Memory
from bhpt.executors import Executor
from bhpt.policies.interface import Policy
from bhpt.study import Journal, State
from bhpt.tuning.checkpoint_session import CheckpointSession
from bhpt.tuning.finished_units import OnUnit
from bhpt.views.live_view import Watch

Beat = Callable[[float], None]
"""Writes a sign of life with the study's clock; raises `Busy` if it cannot now."""


@dataclass(frozen=True, slots=True)
class DriverParts:
    """What a driver works with.

    Attributes:
        journal: The study.
        policy: Chooses.
        executor: Trains.
        checkpoints: Keeps checkpoints.
        beat: Writes signs of life.
        watch: Shows progress.
        memory: What the policy prepares for the study.
        on_unit: Called with each unit that has ended; None for no call.
        note: Called with a line that the user should read.
        target: A loss that is good enough: once it is reached, nothing more is started.
        settled: Called with the study when further reports are in the log.
    """

    journal: Journal
    policy: Policy
    executor: Executor
    checkpoints: CheckpointSession
    beat: Beat = lambda _: None
    watch: Watch = lambda _state, _running: None
    memory: Memory = field(default_factory=Memory)
    on_unit: OnUnit | None = None
    note: Callable[[str], None] = lambda _: None
    target: float = float("-inf")
    settled: Callable[[State], None] = lambda _: None
