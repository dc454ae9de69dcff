"""Where units run: submit, poll, stop, close. Local processes, or a table and a virtual clock."""

from bhpt.executors.interface import Executor, Failure, FailureKind, Job, Report, Running

__all__ = ["Executor", "Failure", "FailureKind", "Job", "Report", "Running"]
