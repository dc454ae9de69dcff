"""Where units run: submit, poll, stop, close. Local processes, or a table and a virtual clock."""

from bhpt.domain.results import Failure, FailureKind
from bhpt.executors.interface import (
    Executor,
    Job,
    PlacingExecutor,
    Report,
    Running,
    TrainerGone,
)
from bhpt.executors.local import LocalExecutor
from bhpt.executors.local_slot import LocalOptions
from bhpt.executors.simulated import SimulatedExecutor, SimulatedFault

__all__ = [
    "Executor",
    "Failure",
    "FailureKind",
    "Job",
    "LocalExecutor",
    "LocalOptions",
    "PlacingExecutor",
    "Report",
    "Running",
    "SimulatedExecutor",
    "SimulatedFault",
    "TrainerGone",
]
