"""`tune` and `resume`: a training job and a limit in, the best model out."""

import os
import re
import socket
import time
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from bhpt.beliefs.earlier_studies import EarlierStudy
from bhpt.checkpoints import LocalFolder, is_disk_full
from bhpt.domain import Memory, Misuse, Objective
from bhpt.domain.budget import Budget
from bhpt.domain.objective import Direction
from bhpt.executors import Executor, LocalExecutor, LocalOptions
from bhpt.policies.interface import Policy, refuse_side_by_side
from bhpt.policies.registry import make_policy
from bhpt.storage import Address, Store, create_store, open_store, read_store
from bhpt.storage.files import exists
from bhpt.study import Journal, Keep, Study, Training
from bhpt.study.creation import (
    default_epochs,
    first_events,
    note_of_other_weights,
    summarised,
)
from bhpt.study.events import BudgetAdded, SessionStarted
from bhpt.study.state import fold
from bhpt.study.study import policy_name
from bhpt.trainers.specs import TrainerSpec, spec_from_json, spec_of, spec_to_json
from bhpt.tuning.checkpoint_session import CheckpointSession
from bhpt.tuning.driver import Driver, Rooms, Watch, drive
from bhpt.tuning.errors import Paused, TrainerBroken
from bhpt.tuning.folder import StudyFolder
from bhpt.tuning.interrupts import catching
from bhpt.tuning.options import Options
from bhpt.tuning.result import Result, result_of

_WRITER_PATIENCE_S = 0.25  # training goes on while the store is locked, so do not wait for it

MakeExecutor = Callable[[TrainerSpec, int, Path, Options], Executor]
"""From a trainer, the number of workers, a folder for logs and the options to an executor."""


def local_executor(trainer: TrainerSpec, workers: int, logs: Path, options: Options) -> Executor:
    """Worker processes on this machine, started, so that the trainer is known to work."""
    executor = LocalExecutor(trainer, workers, logs, LocalOptions(grace_s=options.grace_s))
    executor.start()
    return executor


def stored(where: str | Path) -> Keep:
    """Keep an ask/tell study in a new file or on a server: `Study(…, keep=stored("net.db"))`."""
    return partial(create_store, where)


def open_study(where: str | Path, policy: str | Policy | None = None) -> Study:
    """Go on with an ask/tell study that was kept."""
    return Study.resume(open_store(where), policy)


def earlier_study(where: str | Path) -> EarlierStudy:
    """What a new study can learn from one that is kept: `Study(…, learn_from=[…])`.

    Nothing is locked or written.

    Raises:
        Misuse: There is none, it is damaged, or a newer version wrote it.
    """
    with read_store(where) as reader:
        return summarised(fold(event for event, _ in reader.stream()))


def _earlier(given: str | Path | Study | EarlierStudy) -> EarlierStudy:
    if isinstance(given, str | Path):
        return earlier_study(given)
    return summarised(given.state) if isinstance(given, Study) else given


def _silent(*_: object) -> None:
    """Nobody watches."""


def _warn(note: str) -> None:
    """As a warning to whoever called `resume`."""
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
    learn_from: Sequence[str | Path | Study | EarlierStudy] = (),
    options: Options = Options(),  # noqa: B008  # frozen
    watch: Watch = _silent,
    memory: Memory | None = None,
    make_executor: MakeExecutor = local_executor,
) -> Result:
    """Find the best model that a budget can buy.

    Args:
        trainer: A class with `step`, `save` and `load`, a generator function, or the name of one.
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
        learn_from: Earlier studies by file or address, as `Study` objects, or as `earlier_study`
            reads them; what they showed is one more opinion, trusted as it proves right.
        options: How the session runs.
        watch: Called now and then with the study and what runs.
        memory: Holds what the study's predictor prepares, for a `watch` that predicts too.
        make_executor: Where units run.

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
        earlier=tuple(_earlier(one) for one in learn_from),
    )
    address = Address.parse(study if study is not None else _new_study(spec))
    if address.file is not None and os.path.lexists(address.file):
        raise exists(address.file)
    folder = StudyFolder.of(address)
    folder.require_writable()
    executor = _made(make_executor, spec, workers, folder, options)
    try:
        with create_store(address, first, _WRITER_PATIENCE_S) as store:
            return _session(
                store,
                Journal(store),
                folder,
                chosen,
                executor,
                options,
                watch,
                workers,
                memory=memory,
            )
    finally:
        executor.close(0.0)


def resume(
    study: str | Path,
    add_budget: str | Budget | None = None,
    workers: int | None = None,
    *,
    trainer: object = None,
    policy: str | Policy | None = None,
    options: Options = Options(),  # noqa: B008  # frozen
    watch: Watch = _silent,
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
        options: How the session runs.
        watch: Called now and then with the study and what runs.
        memory: Holds what the study's predictor prepares, for a `watch` that predicts too.
        make_executor: Where units run.
        note: Called with a line that the user should read; a warning if nobody else takes it.

    Raises:
        Misuse: There is no such study, it is damaged or in use, or the budget does not fit.
        Paused: The disk is full or the store locked; resume when that is put right.
        TrainerBroken: The trainer never works.
    """
    address = Address.parse(study)
    folder = StudyFolder.of(address)
    folder.require_writable()
    with open_store(address, _WRITER_PATIENCE_S) as store:
        journal = Journal(store)
        state = journal.state
        more = _parsed(add_budget, state.ledger.budget)
        if trainer is None and state.plan.trainer is None:
            raise Misuse(f"{address} was run with ask and tell: give the trainer to resume it")
        spec = spec_of(trainer) if trainer is not None else spec_from_json(state.plan.trainer or {})
        if policy is None and (said := note_of_other_weights(state.plan)) is not None:
            note(said)
        named = state.plan.policy if policy is None else policy
        chosen = make_policy(named) if isinstance(named, str) else named
        count = state.plan.workers if workers is None else workers
        refuse_side_by_side(chosen, count)
        executor = _made(make_executor, spec, count, folder, options)
        try:
            return _session(
                store, journal, folder, chosen, executor, options, watch, count, more, memory
            )
        finally:
            executor.close(0.0)


def _session(
    store: Store,
    journal: Journal,
    folder: StudyFolder,
    policy: Policy,
    executor: Executor,
    options: Options,
    watch: Watch,
    workers: int,
    more: Budget | None = None,
    memory: Memory | None = None,
) -> Result:
    """One session of a study, from taking it over to letting go of it."""
    state = journal.state
    unseen = options.beat_s if store.before.holder is not None else 0.0
    clock = max(state.clock, store.before.clock)
    if state.ledger.budget.rules.shared:
        clock += unseen
    if more is not None:
        journal.record(BudgetAdded(more, clock))
    rooms = Rooms(
        journal,
        policy,
        executor,
        CheckpointSession(
            folder, LocalFolder(folder.checkpoints), journal.state, options.checkpoint_cap
        ),
        store.renew,
        watch,
        Memory() if memory is None else memory,
    )
    driver = Driver(rooms, options, clock)
    with catching() as interrupts:
        try:
            driver.begin(_started(workers, clock), unseen)
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


def _made(
    make: MakeExecutor, spec: TrainerSpec, workers: int, folder: StudyFolder, options: Options
) -> Executor:
    """An executor that could write its logs."""
    try:
        return make(spec, workers, folder.logs, options)
    except OSError as error:
        raise Misuse(f"cannot write to {folder.root}: {error.strerror or error}") from error


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
