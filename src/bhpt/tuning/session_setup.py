"""What a session is requested with, what it runs with, and its callbacks."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from bhpt.domain import Memory, Misuse, Objective
from bhpt.domain.budget import Budget
from bhpt.executors import Executor
from bhpt.policies.interface import Policy, refuse_side_by_side
from bhpt.reports.prediction import LivePrediction
from bhpt.storage import Address
from bhpt.study.plan import Plan
from bhpt.study.study import named_policy
from bhpt.trackers import Tracker
from bhpt.trainers.specs import TrainerSpec, spec_from_json
from bhpt.tuning.finished_units import OnUnit
from bhpt.tuning.folder import StudyFolder
from bhpt.tuning.options import Options
from bhpt.views.live_view import Mode, Watch, watching

ExecutorFactory = Callable[[TrainerSpec, int, Path, Options], Executor]
"""From a trainer, the number of workers, a folder for logs and the options to an executor."""


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """What a caller asks for; what is None is as the study remembers it."""

    spec: TrainerSpec | None
    policy: Policy | None
    workers: int | None
    make_executor: ExecutorFactory
    options: Options

    def completed(self, address: Address, plan: Plan) -> "SessionSetup":
        """All of it, with what a study remembers.

        Raises:
            Misuse: The study has no trainer and none is given, or the policy cannot work so.
        """
        if self.spec is None and plan.trainer is None:
            raise Misuse(
                f"{address} was run with ask and tell: go on with "
                f"bhpt.open_study({str(address)!r}), or give bhpt.resume(...) its trainer"
            )
        spec = self.spec or spec_from_json(plan.trainer or {})
        policy = self.policy if self.policy is not None else named_policy(plan.policy)
        workers = plan.workers if self.workers is None else self.workers
        refuse_side_by_side(policy, workers)
        variables = {**self.options.variables, "BHPT_STUDY": str(address)}
        options = replace(self.options, variables=variables)
        return SessionSetup(spec, policy, workers, self.make_executor, options)


@dataclass(frozen=True, slots=True)
class SessionSetup:
    """What a session trains with."""

    spec: TrainerSpec
    policy: Policy
    workers: int
    make_executor: ExecutorFactory
    options: Options

    @contextmanager
    def executor(self, folder: StudyFolder, budget: Budget, left: float) -> Iterator[Executor]:
        """An executor that could write its logs; it ends with the context, without grace.

        Args:
            folder: Of the study.
            budget: Of the study.
            left: What is left of it: workers take no longer to start than that pays for.

        Raises:
            Misuse: It cannot write there.
        """
        options = _start_limited(self.options, budget, left, self.workers)
        try:
            executor = self.make_executor(self.spec, self.workers, folder.logs, options)
        except OSError as error:
            raise Misuse(f"cannot write to {folder.root}: {error.strerror or error}") from error
        try:
            yield executor
        finally:
            executor.close(0.0)


def _start_limited(options: Options, budget: Budget, left: float, workers: int) -> Options:
    """Options under which workers take no longer to start than what is left pays for."""
    if left <= 0:
        return options
    limit = min(options.start_limit_s, budget.rules.start_limit_s(left, workers))
    return replace(options, start_limit_s=limit)


@dataclass(frozen=True, slots=True)
class SessionHooks:
    """The callbacks and views of a session, and when it ends early.

    The session and its view share what the study's predictor prepares.
    """

    policy: str | None
    progress: bool | Mode
    watch: Watch | None
    memory: Memory
    on_unit: OnUnit | None
    note: Callable[[str], None]
    stop_when: float | None
    trackers: Sequence[Tracker] = ()

    def view(self, title: str) -> AbstractContextManager[Watch]:
        """What shows progress."""
        if self.watch is not None:
            return nullcontext(self.watch)
        shown = self.progress
        how: Mode = ("auto" if shown else "off") if isinstance(shown, bool) else shown
        return watching(how, title, LivePrediction(self.policy, self.memory))

    def target(self, objective: Objective) -> float:
        """The loss that is good enough; minus infinity if none is."""
        return float("-inf") if self.stop_when is None else objective.to_loss(self.stop_when)
