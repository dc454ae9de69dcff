"""Types as somebody sees them who runs units elsewhere; mypy reads this file, nothing runs it."""

from typing import assert_type

import bhpt
from bhpt.executors import LocalExecutor, SimulatedExecutor


class Nothing:
    """Takes jobs and never reports."""

    def submit(self, job: bhpt.Job) -> None: ...


local: type[bhpt.Executor] = LocalExecutor
simulated: type[bhpt.Executor] = SimulatedExecutor
bad: bhpt.Executor = Nothing()  # type: ignore[assignment]


def polled(executor: bhpt.Executor) -> None:
    for report in executor.poll(1.0):
        assert_type(report, bhpt.Report)
        assert_type(report.outcome, bhpt.UnitResult | bhpt.Failure)
        assert_type(report.usage, bhpt.Usage)
        if report.failure is not None:
            assert_type(report.failure.kind, bhpt.FailureKind)
