"""One session of a study: a new one, or one that goes on; from taking it over to letting go."""

import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bhpt.checkpoints import PlaceAway, is_disk_full
from bhpt.domain import Misuse
from bhpt.domain.budget import Budget
from bhpt.executors import Executor
from bhpt.storage import Address, Exists, Store, create_store, new_identity, open_store, peek_store
from bhpt.storage.engines import refuse_taken
from bhpt.study import Journal, State, fold
from bhpt.study.creation import note_of_other_weights
from bhpt.study.events import BudgetAdded, Event, SessionEnded, SessionStarted, StudyCreated
from bhpt.trackers import tracking
from bhpt.tuning.checkpoint_place import path_of, place_of, refuse_bad_path
from bhpt.tuning.checkpoint_session import CheckpointSession
from bhpt.tuning.driver import Driver, drive
from bhpt.tuning.driver_parts import DriverParts
from bhpt.tuning.errors import Paused, TrainerBroken
from bhpt.tuning.folder import StudyFolder, logged_checkpoints
from bhpt.tuning.folder_mark import MarkedLog
from bhpt.tuning.interrupts import catching
from bhpt.tuning.ownership import (
    WrongFolder,
    refuse_behind,
    refuse_occupied,
    refuse_wrong_place,
)
from bhpt.tuning.result import Result, SessionStatus, result_of
from bhpt.tuning.session_setup import SessionHooks, SessionRequest, SessionSetup
from bhpt.tuning.takeover import Takeover, is_done
from bhpt.tuning.tracked import tracked_study
from bhpt.tuning.trust import Ask, remember, require_trust
from bhpt.views.formatting import go_on_command
from bhpt.views.live_view import Watch

_WRITER_PATIENCE_S = 0.25  # training goes on while the store is locked, so do not wait for it


def create(
    address: Address, first: Sequence[Event], request: SessionRequest, hooks: SessionHooks
) -> Result:
    """The first session of a new study.

    Raises:
        Exists: The study is there already.
        Misuse: Its folder cannot be written, or holds the checkpoints of another study.
        Unreachable: The server that it is to lie on does not answer.
    """
    refuse_taken(address)
    refuse_bad_path(request.options.checkpoints)
    identity = new_identity()
    folder = StudyFolder.new(address, identity)
    folder.require_writable()
    refuse_occupied(folder)
    plan = fold(first).plan
    setup = request.completed(address, plan)
    with (
        hooks.view(f"bhpt tune {setup.spec}") as watch,
        setup.executor(folder, plan.budget, plan.budget.amount) as executor,
    ):
        remember(identity, plan.trainer)
        with create_store(address, _identified(first, identity), _WRITER_PATIENCE_S) as store:
            journal = _journal(store, folder)
            return _Session(store, journal, folder, setup, executor, watch, hooks).run()


def _identified(first: Sequence[Event], identity: str) -> list[Event]:
    """First events of a study that has an identity."""
    return [
        replace(event, identity=identity) if isinstance(event, StudyCreated) else event
        for event in first
    ]


def go_on(
    address: Address,
    add_budget: str | Budget | None,
    request: SessionRequest,
    hooks: SessionHooks,
    *,
    without_checkpoints: bool = False,
    trust: bool | Ask = False,
) -> Result:
    """A further session of a study.

    Args:
        address: Where it is.
        add_budget: More of the same kind.
        request: The trainer, the policy and the workers.
        hooks: Callbacks and views.
        without_checkpoints: Whether a wrong folder is set aside rather than refused.
        trust: Whether to run a remembered trainer that is unknown here, or a function that decides.
    """
    refuse_bad_path(request.options.checkpoints)
    if not without_checkpoints:
        _refuse_behind(address)
    with open_store(address, _WRITER_PATIENCE_S) as store:
        state = store.fold()
        folder = _folder(store, state, hooks.note if without_checkpoints else None)
        ledger = state.ledger
        more = _parsed(add_budget, ledger.budget)
        if request.spec is None and state.plan.trainer is not None:
            require_trust(address, store.identity(), state.plan.trainer, trust)
        setup = request.completed(address, state.plan)
        if request.policy is None and (line := note_of_other_weights(state.plan)) is not None:
            hooks.note(line)
        found = Takeover.of(state, store.before, setup.options.beat_s)
        taken = found.applied(state)
        if more is None and is_done(taken):
            return _as_it_stands(store, state, found, folder, setup, hooks)
        left = taken.ledger.left + (0.0 if more is None else more.amount)
        with (
            hooks.view(f"bhpt resume {address}") as watch,
            setup.executor(folder, ledger.budget, left) as executor,
        ):
            journal = _journal(store, folder, state)
            return _Session(store, journal, folder, setup, executor, watch, hooks).run(more)


def _as_it_stands(
    store: Store,
    state: State,
    found: Takeover,
    folder: StudyFolder,
    setup: SessionSetup,
    hooks: SessionHooks,
) -> Result:
    """The result of a study that is done, once the units that a dead driver left are settled.

    No worker starts: what is left may not pay for that.
    """
    journal = _journal(store, folder, state)
    path = path_of(store.address, store.identity(), state, setup.options.checkpoints)
    checkpoints = _checkpoints(store, journal, folder, path, setup.options.checkpoint_cap)
    if found.lost or found.clock > state.clock:
        started = _started(setup.workers, found.clock, folder, path)
        _recorded(journal, started, *found.lost, SessionEnded("done", found.clock))
    study = tracked_study(store.address, store.identity(), journal.state)
    with tracking(hooks.trackers, study, hooks.note) as offer:
        offer(journal.state)
    with hooks.view(f"bhpt resume {store.address}") as watch:
        watch(journal.state, ())
    checkpoints.finish(journal.state)  # the last session may have been killed before it did
    store.verify()
    checkpoint = checkpoints.best_checkpoint(journal.state.best)
    return result_of(journal.state, "done", str(store.address), checkpoint)


def _recorded(journal: Journal, *events: Event) -> None:
    """Write events now.

    Raises:
        Paused: The store is locked; nothing of them is there.
    """
    if not journal.record(*events):
        raise Paused("the study's store is locked by another program: resume later")


def create_or_open(where: str | Path, first: Sequence[Event]) -> Store:
    """The store of a new study, or of the same one if it is there, with the budget of the new one.

    Raises:
        Misuse: Another study is there.
    """
    address = Address.parse(where)
    try:
        return create_store(address, first)
    except Exists:
        more = more_than_stored(address, first, fold(first).plan.budget)
    store = open_store(address)
    if more is not None:
        journal = Journal(store)
        journal.record(BudgetAdded(more, journal.state.clock))
    return store


def more_than_stored(address: Address, first: Sequence[Event], budget: Budget) -> Budget | None:
    """What a study that is there lacks of a budget; None if it has all of it.

    Raises:
        Misuse: The study is another one: it has another space or metric, or a larger budget.
    """
    with peek_store(address) as reader:
        state = reader.folded().state
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
            f"{address} exists and has a budget of {held}, more than {budget}: name at least that, "
            f"go on with `{go_on_command(str(address), state.plan)}`, or name another study"
        )
    more = budget.amount - held.amount
    return replace(budget, amount=more) if more > 0 else None


def _refuse_behind(address: Address) -> None:
    """Refuse a study that is behind its folder while nothing has been opened for writing.

    Opening for writing would already write back, and with that cut, a damaged write-ahead log.
    """
    with peek_store(address) as seen:
        refuse_behind(StudyFolder.find(address, seen.identity()), seen)


def _folder(store: Store, state: State, note: Callable[[str], None] | None) -> StudyFolder:
    """The folder of a study, known to be its own.

    Args:
        store: The study.
        state: What its log folds to.
        note: Called with what was set aside, if something may be; None to refuse instead.

    Raises:
        Misuse: It is the wrong one, or cannot be written.
    """
    identity = store.identity()
    folder = StudyFolder.find(store.address, identity, logged_checkpoints(state))
    folder.require_writable()
    try:
        refuse_behind(folder, store)
        refuse_wrong_place(folder, store, state)
    except WrongFolder:
        if note is None:
            raise
        folder = StudyFolder.new(store.address, identity)
        if os.path.lexists(folder.root):
            note(f"note: the folder that was there is now {folder.set_aside()}")
    return folder


def _journal(store: Store, folder: StudyFolder, known: State | None = None) -> Journal:
    """A study that notes in its folder how far it is, read on from what is known of it."""
    folder.prepare()
    return Journal(MarkedLog(store, folder.root), known)


@dataclass(frozen=True, slots=True)
class _Session:
    """One session of a study, and what it works with.

    Attributes:
        store: The study, held by this process.
        journal: The same with the state that it folds to.
        folder: Its files.
        setup: The trainer, the policy, the workers and how they run.
        executor: Runs units.
        watch: Shows progress.
        hooks: Callbacks, and when to end early.
    """

    store: Store
    journal: Journal
    folder: StudyFolder
    setup: SessionSetup
    executor: Executor
    watch: Watch
    hooks: SessionHooks

    def run(self, more: Budget | None = None) -> Result:
        """From taking the study over to letting go of it, with more budget if there is some."""
        store, state, options = self.store, self.journal.state, self.setup.options
        found = Takeover.of(state, store.before, options.beat_s)
        clock = found.clock
        if state.ledger.budget.rules.shared:
            clock += self.executor.start_s
        if more is not None:
            self.journal.record(BudgetAdded(more, clock))
        path = path_of(store.address, store.identity(), state, options.checkpoints)
        checkpoints = _checkpoints(store, self.journal, self.folder, path, options.checkpoint_cap)
        study = tracked_study(store.address, store.identity(), state)
        with tracking(self.hooks.trackers, study, self.hooks.note) as offer:
            driver = Driver(self._parts(checkpoints, offer), options, clock)
            offer(state)
            started = _started(self.setup.workers, clock, self.folder, path)
            status = _driven(driver, started, found.unseen_s)
        store.verify()
        checkpoint = checkpoints.best_checkpoint(driver.state.best)
        return result_of(driver.state, status, str(store.address), checkpoint)

    def _parts(
        self, checkpoints: CheckpointSession, settled: Callable[[State], None]
    ) -> DriverParts:
        """What the driver works with."""
        hooks = self.hooks
        return DriverParts(
            self.journal,
            self.setup.policy,
            self.executor,
            checkpoints,
            beat=self.store.renew,
            watch=self.watch,
            memory=hooks.memory,
            on_unit=hooks.on_unit,
            note=hooks.note,
            target=hooks.target(self.journal.state.plan.objective),
            settled=settled,
        )


def _driven(driver: Driver, session: SessionStarted, unseen_s: float) -> SessionStatus:
    """Drive a session to its end, whatever it is."""
    with catching() as interrupts:
        try:
            driver.begin(session, unseen_s)
            status = drive(driver, interrupts)
            driver.end(status, time.sleep)
        except (Paused, TrainerBroken) as error:
            driver.abandon()
            if not driver.waiting:  # otherwise the store is away: there is nowhere to say so
                driver.end(str(error), time.sleep)
            raise
        except PlaceAway as error:
            driver.abandon()
            raise Paused(str(error)) from error
        except OSError as error:
            if is_disk_full(error):
                raise Paused(f"the disk is full ({error}): free some space and resume") from error
            raise
    return status


def _checkpoints(
    store: Store, journal: Journal, folder: StudyFolder, path: str, cap: int | None
) -> CheckpointSession:
    """What keeps the checkpoints of a session.

    Raises:
        Paused: The place where they lie does not answer.
    """
    place = place_of(path, folder, store.identity())
    try:
        return CheckpointSession(folder, place, journal.state, cap, shared=bool(path))
    except PlaceAway as error:
        raise Paused(str(error)) from error


def _started(workers: int, clock: float, folder: StudyFolder, path: str) -> SessionStarted:
    where = str(folder.root.absolute())
    return SessionStarted(socket.gethostname(), os.getpid(), workers, clock, where, path)


def _parsed(more: str | Budget | None, budget: Budget) -> Budget | None:
    """More budget, refused here if it is of another kind."""
    if more is None:
        return None
    parsed = Budget.parse(more, budget.price_per_hour)
    budget.plus(parsed)
    return parsed
