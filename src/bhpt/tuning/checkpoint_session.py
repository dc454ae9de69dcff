"""The driver's side of checkpoints: thaw before a unit, commit after it, cap what is kept."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np

from bhpt.checkpoints import (
    Checkpoint,
    CheckpointPlace,
    CheckpointStore,
    DiskFull,
    Generation,
    PlaceAway,
    plan_drops,
)
from bhpt.domain import FloatArray, Resume, Saved
from bhpt.study import State
from bhpt.study.attempts import Attempt
from bhpt.study.events import CheckpointDropped
from bhpt.study.state import GENERATIONS, Best
from bhpt.tuning.folder import StudyFolder, checkpoint_of, logged_checkpoints


class CheckpointSession:
    """Keeps the checkpoint folders in step with the log.

    Everything that removes a checkpoint is logged first, everything that is logged is on the
    disk first; `settle` is called once the log has what was committed.

    Args:
        folder: Where the study's files lie; the best checkpoint is kept there.
        place: Where checkpoints lie.
        state: The study, whose logged checkpoints are kept and all others removed.
        cap: Bytes that may be kept, None for no limit.
        shared: Whether other machines reach the place: then the best checkpoint stays there, too,
            and not only in the study's folder on this machine.
    """

    def __init__(
        self,
        folder: StudyFolder,
        place: CheckpointPlace,
        state: State,
        cap: int | None = None,
        *,
        shared: bool = False,
    ) -> None:
        folder.prepare()
        self._folder = folder
        self._shared = shared
        best = _generation_of(state.best) if shared else None
        self._store = CheckpointStore(place, logged_checkpoints(state), GENERATIONS, best)
        self._cap = cap
        self._unsettled: list[Checkpoint] = []

    def missing(self, state: State, clock: float) -> list[CheckpointDropped]:
        """Logged checkpoints that are not there any more."""
        held = set(self._store.held)
        return [
            CheckpointDropped(one.arm, one.generation, "it is not on the disk any more", clock)
            for one in logged_checkpoints(state)
            if one not in held
        ]

    def newest(self, saved: Saved, arm: int) -> Resume:
        """From a logged checkpoint of an arm; the worker that loads it checks it."""
        folder = self._store.folder(checkpoint_of(arm, saved))
        return Resume.checkpoint(saved.epochs, folder, saved.digest)

    def verified(self, arm: int, clock: float) -> tuple[Resume, list[CheckpointDropped]]:
        """From the newest checkpoint of an arm whose every byte is as committed.

        Returns:
            Where the arm can go on from, and the newer checkpoints that are damaged: they are
            removed once that is logged.
        """
        thawed = self._store.thaw(arm)
        damaged = [
            CheckpointDropped(one.arm, one.generation, f"damaged: {reason}", clock)
            for one, reason in thawed.damaged
        ]
        if thawed.checkpoint is None or thawed.folder is None:
            return Resume(), damaged
        return Resume.checkpoint(thawed.checkpoint.epochs, thawed.folder), damaged

    def drop(self, dropped: Iterable[CheckpointDropped]) -> None:
        """Remove checkpoints whose loss is logged."""
        gone = {(one.arm, one.generation) for one in dropped}
        if gone:
            self._store.drop([one for one in self._store.held if (one.arm, one.generation) in gone])

    def begin(self, attempt: Attempt) -> Path:
        """An empty folder for the checkpoint that an attempt writes."""
        return self._store.begin(attempt.unit.arm, attempt.number)

    def commit(self, attempt: Attempt) -> Saved:
        """Give a unit's checkpoint its final name; log what is returned, then `settle`."""
        epochs = attempt.done + attempt.unit.epochs
        made = self._store.commit(attempt.unit.arm, attempt.number, epochs)
        self._unsettled.append(made)
        return Saved(made.generation, made.epochs, made.digest, made.bytes)

    def discard(self, attempt: Attempt) -> None:
        """Forget what a failed attempt left."""
        self._store.discard(attempt.unit.arm, attempt.number)

    def settle(self, state: State) -> None:
        """The log has everything that was committed: let go of the replaced, but not the best.

        It stays on the disk until the next `sweep`.
        """
        if self._shared:
            self._store.protect(_generation_of(state.best))
        for one in self._unsettled:
            oldest = one.generation - GENERATIONS + 1
            if _holds(state.best, one.arm) < oldest:
                self.keep_best(state)
            self._store.settled(one)
        self._unsettled = []

    def sweep(self) -> None:
        """Begin to remove from the disk what was let go of; `finish` waits for it."""
        self._store.sweep()

    def finish(self, state: State) -> None:
        """At the end of a session: keep the best, and wait until what was let go of is gone.

        What does not work now is left to the next session: the best is still with its arm.
        """
        with suppress(DiskFull, PlaceAway):
            self.keep_best(state)
        with suppress(PlaceAway):
            self._store.finish()

    def keep_best(self, state: State) -> None:
        """Keep the best checkpoint under a name of its own, before its arm lets go of it."""
        best = state.best
        if best is None or best.saved is None:
            return
        one = checkpoint_of(best.arm, best.saved)
        if one in self._store.of_arm(best.arm):
            self._folder.keep_best(best, self._store.folder(one).parent)

    def best_checkpoint(self, best: Best | None) -> Path | None:
        """The files of the best checkpoint on this machine, every byte checked; None without any.

        One that only the place still has is fetched.
        """
        found = self._folder.best_checkpoint(best)
        if found is not None or best is None or best.saved is None or not self._shared:
            return found
        return self._store.fetched(checkpoint_of(best.arm, best.saved))

    def excess(
        self, state: State, ends: Callable[[], FloatArray | None], clock: float
    ) -> list[CheckpointDropped]:
        """What to drop so that the rest fits under the cap, least likely to be thawed first.

        Args:
            state: The study.
            ends: Predicts where arms end, [K]; called only if something must be dropped.
            clock: The study's clock.
        """
        if self._cap is None or self._store.bytes <= self._cap:
            return []
        keep = {attempt.unit.arm for attempt in state.flying}
        if state.best is not None:
            keep.add(state.best.arm)
        likely = likelihoods(state, ends())
        return [
            CheckpointDropped(one.arm, one.generation, "the cap on checkpoints", clock)
            for one in plan_drops(self._store.held, likely, self._cap, keep)
        ]


def _generation_of(best: Best | None) -> Generation | None:
    """Which generation the best checkpoint is; None if there is none."""
    if best is None or best.saved is None:
        return None
    return Generation(best.arm, best.saved.generation)


def _holds(best: Best | None, arm: int) -> float:
    """The generation of an arm that is the best checkpoint; infinity if none of them is."""
    if best is None or best.saved is None or best.arm != arm:
        return float("inf")
    return best.saved.generation


def likelihoods(state: State, ends: FloatArray | None) -> dict[int, float]:
    """For each tried arm a number that grows with the chance that it is trained on.

    That is how low it is predicted to end, or how low it was if that is not known. An arm that is
    finished or given up will never be thawed again.
    """
    if state.curves is None:
        return {}
    found: dict[int, float] = {}
    for row, visited in enumerate(state.curves.visited):
        arm = int(visited)
        if state.arm(arm).closed is not None or state.count(arm) >= state.curves.epochs:
            continue
        end = float(ends[arm]) if ends is not None and arm < len(ends) else np.nan
        found[arm] = -end if np.isfinite(end) else -float(state.curves.best_by_row[row])
    return found
