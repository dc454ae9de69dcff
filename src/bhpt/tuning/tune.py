"""`tune` and `resume`: a training job and a limit in, the best model out."""

import os
import re
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from bhpt.checkpoints import LocalFolder, is_disk_full
from bhpt.domain import Memory, Misuse, Objective
from bhpt.domain.budget import Budget
from bhpt.domain.objective import Direction
from bhpt.executors import Executor, LocalExecutor, LocalOptions
from bhpt.policies.interface import Policy, refuse_side_by_side
from bhpt.policies.registry import make_policy
from bhpt.reports.prediction import LivePrediction
from bhpt.storage import Address, Exists, Store, create_store, open_store, read_store
from bhpt.storage.files import exists
from bhpt.study import Journal, Keep, Study, Training, fold
from bhpt.study.creation import default_epochs, first_events, note_of_other_weights
from bhpt.study.events import BudgetAdded, Event, SessionStarted
from bhpt.study.plan import Plan
from bhpt.study.study import policy_name
from bhpt.trainers.specs import (
    TrainerSpec,
    check_names,
    spec_from_json,
    spec_of,
    spec_to_json,
)
from bhpt.tuning.checkpoint_session import CheckpointSession
from bhpt.tuning.driver import Driver, Rooms, Watch, drive
from bhpt.tuning.errors import Paused, TrainerBroken
from bhpt.tuning.finished_units import OnUnit
from bhpt.tuning.folder import StudyFolder
from bhpt.tuning.interrupts import catching
from bhpt.tuning.options import Options
from bhpt.tuning.result import Result, result_of
from bhpt.views.live_view import Mode, watching

_WRITER_PATIENCE_S = 0.25  # training goes on while the store is locked, so do not wait for it

IfExists = Literal["error", "resume"]
"""What `tune` does where the study is there already."""

MakeExecutor = Callable[[TrainerSpec, int, Path, Options], Executor]
"""From a trainer, the number of workers, a folder for logs and the options to an executor."""


def local_executor(trainer: TrainerSpec, workers: int, logs: Path, options: Options) -> Executor:
    """Worker processes on this machine, started, so that the trainer is known to work."""
    local = LocalOptions(
        grace_s=options.grace_s,
        threads=options.threads_per_worker,
        gpus=options.gpus_per_worker,
        variables=options.variables,
    )
    executor = LocalExecutor(trainer, workers, logs, local)
    executor.start()
    return executor


def stored(where: str | Path) -> Keep:
    """Keep an ask/tell study in a new file or on a server: `Study(…, keep=stored("net.db"))`."""
    return partial(create_store, where)


def open_study(where: str | Path, policy: str | Policy | None = None) -> Study:
    """Go on with an ask/tell study that was kept."""
    return Study.resume(open_store(where), policy)


def _warn(note: str) -> None:
    """As a warning to whoever called `tune` or `resume`."""
    warnings.warn(note, stacklevel=3)


def tune(
    trainer: object,
    space: object,
    budget: str | Budget,
    workers: int = 1,
    study: str | Path | None = None,
    seed: int = 0,
    *,
    price_per_hour: float | None = None,
    training: Training | None = None,
    unit: int = 1,
    max_epochs: int | None = None,
    policy: str | Policy = "default",
    candidates: int | None = None,
    metric: str = "loss",
    mode: Direction = "min",
    initial: Sequence[Mapping[str, object]] = (),
    fixed: Mapping[str, object] | None = None,
    stop_when: float | None = None,
    on_unit: OnUnit | None = None,
    if_exists: IfExists = "error",
    gpus_per_worker: float | None = None,
    progress: bool | Mode = False,
    options: Options = Options(),  # noqa: B008  # frozen
    watch: Watch | None = None,
    memory: Memory | None = None,
    make_executor: MakeExecutor = local_executor,
    note: Callable[[str], None] = _warn,
) -> Result:
    """Find the best model that a budget can buy.

    Args:
        trainer: A class with `step`, `save` and `load`, a function that calls `bhpt.report` or
            yields losses, or the name of one.
        space: A `ConfigurationSpace`, a dictionary of ranges or a list of configurations.
        budget: "200 epochs", "2h", "90s", "$25" or a `Budget`.
        workers: How many units train side by side.
        study: A new file, or `postgresql://…`; a file under `runs` if None.
        seed: Of all randomness.
        price_per_hour: What one busy worker costs, for a budget in dollars.
        training: How one arm is trained, in detail; instead of `unit` and `max_epochs`.
        unit: Epochs in one unit, the smallest amount that is decided on.
        max_epochs: How far an arm may train.
        policy: By name, or a policy object.
        candidates: How many configurations are drawn from a space at the start.
        metric: Which of the reported metrics decides what is best.
        mode: Whether it is minimised ("min") or maximised ("max").
        initial: Configurations that are tried first.
        fixed: Hyper-parameters that are not tuned but have these values.
        stop_when: A value of the metric that is good enough: nothing more is started then.
        on_unit: Called with each unit that has ended.
        if_exists: What to do if the study is there already: refuse ("error"), or go on with it
            ("resume"), in which case `budget` is what it may cost altogether.
        gpus_per_worker: GPUs of each worker, as `Options` has it.
        progress: Whether to show progress: live on a terminal, plain lines elsewhere; or how.
        options: How the session runs.
        watch: Called now and then with the study and what runs, instead of `progress`.
        memory: Holds what the study's predictor prepares, for a `watch` that predicts too.
        make_executor: Where units run.
        note: Called with a line that the user should read; a warning if nobody else takes it.

    Returns:
        The best value of the metric, its configuration and its checkpoint.

    Raises:
        Misuse: Bad input, one clear line; nothing was created.
        Paused: The disk is full or the store locked; resume when that is put right.
        TrainerBroken: The trainer never works.
    """
    parsed = Budget.parse(budget, price_per_hour)
    epochs = default_epochs(parsed, unit) if max_epochs is None else max_epochs
    spec = spec_of(trainer)
    chosen = make_policy(policy) if isinstance(policy, str) else policy
    refuse_side_by_side(chosen, workers)
    if if_exists not in get_args(IfExists):
        raise Misuse(f"if_exists {if_exists!r}: use 'error' or 'resume'")
    first = first_events(
        space,
        parsed,
        training=training or Training(unit, epochs),
        seed=seed,
        policy=policy_name(policy),
        workers=workers,
        trainer=spec_to_json(spec),
        candidates=candidates,
        objective=Objective(metric, mode),
        initial=initial,
        fixed=fixed,
    )
    check_names(spec, fold(first).configs)
    address = Address.parse(study if study is not None else _new_study(spec))
    crew = _Crew(spec, chosen, workers, make_executor, _with_gpus(options, gpus_per_worker))
    named = policy if isinstance(policy, str) else None
    hooks = _Hooks(named, progress, watch, memory or Memory(), on_unit, note, stop_when)
    try:
        return _create(address, first, crew, hooks)
    except Exists:
        if if_exists == "error":
            raise
    return _go_on(address, _more_than_stored(address, first, parsed), crew, hooks)


def resume(
    study: str | Path,
    add_budget: str | Budget | None = None,
    workers: int | None = None,
    *,
    trainer: object = None,
    policy: str | Policy | None = None,
    stop_when: float | None = None,
    on_unit: OnUnit | None = None,
    gpus_per_worker: float | None = None,
    progress: bool | Mode = False,
    options: Options = Options(),  # noqa: B008  # frozen
    watch: Watch | None = None,
    memory: Memory | None = None,
    make_executor: MakeExecutor = local_executor,
    note: Callable[[str], None] = _warn,
) -> Result:
    """Go on with a study from where it was.

    Args:
        study: Its file or address.
        add_budget: More of the same kind.
        workers: How many units train side by side; as before if None.
        trainer: The one that the study remembers if None.
        policy: The one that the study remembers if None.
        stop_when: A value of the metric that is good enough: nothing more is started then.
        on_unit: Called with each unit that has ended.
        gpus_per_worker: GPUs of each worker, as `Options` has it.
        progress: Whether to show progress: live on a terminal, plain lines elsewhere; or how.
        options: How the session runs.
        watch: Called now and then with the study and what runs, instead of `progress`.
        memory: Holds what the study's predictor prepares, for a `watch` that predicts too.
        make_executor: Where units run.
        note: Called with a line that the user should read; a warning if nobody else takes it.

    Raises:
        Misuse: There is no such study, it is damaged or in use, or the budget does not fit.
        Paused: The disk is full or the store locked; resume when that is put right.
        TrainerBroken: The trainer never works.
    """
    spec = None if trainer is None else spec_of(trainer)
    chosen = make_policy(policy) if isinstance(policy, str) else policy
    crew = _Crew(spec, chosen, workers, make_executor, _with_gpus(options, gpus_per_worker))
    named = policy if isinstance(policy, str) else None
    hooks = _Hooks(named, progress, watch, memory or Memory(), on_unit, note, stop_when)
    return _go_on(Address.parse(study), add_budget, crew, hooks)


def _with_gpus(options: Options, gpus: float | None) -> Options:
    return options if gpus is None else replace(options, gpus_per_worker=gpus)


@dataclass(frozen=True, slots=True)
class _Crew:
    """Who trains and who chooses; what is None is as the study remembers it."""

    spec: TrainerSpec | None
    policy: Policy | None
    workers: int | None
    make_executor: MakeExecutor
    options: Options

    def remembered(self, address: Address, plan: Plan) -> "_Ready":
        """All of it, as far as a study says.

        Raises:
            Misuse: The study has no trainer and none is given, or the policy cannot work so.
        """
        if self.spec is None and plan.trainer is None:
            raise Misuse(f"{address} was run with ask and tell: give the trainer to resume it")
        spec = self.spec or spec_from_json(plan.trainer or {})
        policy = self.policy if self.policy is not None else make_policy(plan.policy)
        workers = plan.workers if self.workers is None else self.workers
        refuse_side_by_side(policy, workers)
        variables = {**self.options.variables, "BHPT_STUDY": str(address)}
        options = replace(self.options, variables=variables)
        return _Ready(spec, policy, workers, self.make_executor, options)


@dataclass(frozen=True, slots=True)
class _Ready:
    """What a session trains with."""

    spec: TrainerSpec
    policy: Policy
    workers: int
    make_executor: MakeExecutor
    options: Options

    def executor(self, folder: StudyFolder) -> Executor:
        """An executor that could write its logs."""
        try:
            return self.make_executor(self.spec, self.workers, folder.logs, self.options)
        except OSError as error:
            raise Misuse(f"cannot write to {folder.root}: {error.strerror or error}") from error


@dataclass(frozen=True, slots=True)
class _Hooks:
    """Whom a session tells what, and when it is to end early.

    The session and its view share what the study's predictor prepares.
    """

    policy: str | None
    progress: bool | Mode
    watch: Watch | None
    memory: Memory
    on_unit: OnUnit | None
    note: Callable[[str], None]
    stop_when: float | None

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


def _create(address: Address, first: Sequence[Event], crew: _Crew, hooks: _Hooks) -> Result:
    """The first session of a new study.

    Raises:
        Exists: The study is there already.
    """
    if address.file is not None and os.path.lexists(address.file):
        raise exists(address.file)
    folder = StudyFolder.of(address)
    folder.require_writable()
    ready = crew.remembered(address, fold(first).plan)
    with (
        hooks.view(f"bhpt tune {ready.spec}") as watch,
        _closing(ready.executor(folder)) as executor,
        create_store(address, first, _WRITER_PATIENCE_S) as store,
    ):
        return _session(store, Journal(store), folder, ready, executor, watch, hooks)


def _go_on(address: Address, add_budget: str | Budget | None, crew: _Crew, hooks: _Hooks) -> Result:
    """A further session of a study."""
    folder = StudyFolder.of(address)
    folder.require_writable()
    with open_store(address, _WRITER_PATIENCE_S) as store:
        journal = Journal(store)
        plan = journal.state.plan
        more = _parsed(add_budget, journal.state.ledger.budget)
        ready = crew.remembered(address, plan)
        if crew.policy is None and (said := note_of_other_weights(plan)) is not None:
            hooks.note(said)
        with (
            hooks.view(f"bhpt resume {address}") as watch,
            _closing(ready.executor(folder)) as executor,
        ):
            return _session(store, journal, folder, ready, executor, watch, hooks, more)


def _more_than_stored(address: Address, first: Sequence[Event], budget: Budget) -> Budget | None:
    """What a study that is there lacks of a budget; None if it has all of it.

    Raises:
        Misuse: The study is another one: it has another space or metric, or a larger budget.
    """
    with read_store(address) as reader:
        state = fold(reader.read())
    wanted = fold(first)
    if state.plan.objective != wanted.plan.objective:
        raise Misuse(f"{address} exists and is about {state.plan.objective}: name another study")
    other = state.plan.search.space != wanted.plan.search.space
    if other or (state.arms is not None and not all(map(state.arms.has, wanted.configs))):
        raise Misuse(f"{address} exists and has other configurations: name another study")
    held = state.ledger.budget
    held.plus(budget)
    if budget.amount < held.amount:
        raise Misuse(
            f"{address} exists and has a budget of {held}, more than {budget}: go on with "
            f"`bhpt resume {address}` or name another study"
        )
    more = budget.amount - held.amount
    return replace(budget, amount=more) if more > 0 else None


def _session(
    store: Store,
    journal: Journal,
    folder: StudyFolder,
    ready: _Ready,
    executor: Executor,
    watch: Watch,
    hooks: _Hooks,
    more: Budget | None = None,
) -> Result:
    """One session of a study, from taking it over to letting go of it."""
    state, options = journal.state, ready.options
    unseen = options.beat_s if store.before.holder is not None else 0.0
    clock = max(state.clock, store.before.clock)
    if state.ledger.budget.rules.shared:
        clock += unseen
    if more is not None:
        journal.record(BudgetAdded(more, clock))
    checkpoints = CheckpointSession(
        folder, LocalFolder(folder.checkpoints), journal.state, options.checkpoint_cap
    )
    rooms = Rooms(
        journal,
        ready.policy,
        executor,
        checkpoints,
        beat=store.renew,
        watch=watch,
        memory=hooks.memory,
        on_unit=hooks.on_unit,
        note=hooks.note,
        target=hooks.target(state.plan.objective),
    )
    driver = Driver(rooms, options, clock)
    with catching() as interrupts:
        try:
            driver.begin(_started(ready.workers, clock), unseen)
            status = drive(driver, interrupts)
            driver.end(status, time.sleep)
        except (Paused, TrainerBroken) as error:
            driver.abandon()
            driver.end(str(error), time.sleep)
            raise
        except OSError as error:
            if is_disk_full(error):
                raise Paused(f"the disk is full ({error}): free some space and resume") from error
            raise
    checkpoint = folder.best_checkpoint(driver.state.best)
    return result_of(driver.state, status, str(store.address), checkpoint)


@contextmanager
def _closing(executor: Executor) -> Iterator[Executor]:
    """Ends an executor with the session, without grace."""
    try:
        yield executor
    finally:
        executor.close(0.0)


def _started(workers: int, clock: float) -> SessionStarted:
    return SessionStarted(socket.gethostname(), os.getpid(), workers, clock)


def _parsed(more: str | Budget | None, budget: Budget) -> Budget | None:
    """More budget, refused here if it is of another kind."""
    if more is None:
        return None
    parsed = Budget.parse(more, budget.price_per_hour)
    budget.plus(parsed)
    return parsed


def _new_study(spec: TrainerSpec) -> Path:
    """A file for a study that the user did not name."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", str(spec).rpartition(":")[2])[:40].strip("-")
    return Path("runs") / f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}.db"
