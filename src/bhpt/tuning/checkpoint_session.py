"""The driver's side of checkpoints: thaw before a unit, commit after it, cap what is kept."""

from collections.abc import Iterable

import numpy as np

from bhpt.checkpoints import Checkpoint, CheckpointStore, Thawed, plan_drops
from bhpt.executors import Job
from bhpt.policies.interface import Explanation
from bhpt.study import State
from bhpt.study.events import CheckpointDropped, Saved
from bhpt.study.state import GENERATIONS, Attempt, Best
from bhpt.tuning.folder import StudyFolder, logged_checkpoints


class Freezer:
    """Keeps the checkpoint folders in step with the log.

    Everything that removes a checkpoint is logged first, everything that is logged is on the
    disk first; `settle` is called once the log has what was committed.

    Args:
        folder: Where the study's files lie.
        state: The study, whose logged checkpoints are kept and all others removed.
        cap: Bytes that may be kept, None for no limit.
    """

    def __init__(self, folder: StudyFolder, state: State, cap: int | None = None) -> None:
        folder.prepare()
        self._folder = folder
        self._store = CheckpointStore(folder.checkpoints, logged_checkpoints(state), GENERATIONS)
        self._cap = cap
        self._unsettled: list[Checkpoint] = []
        self._checked: dict[int, Thawed] = {}

    def missing(self, state: State, clock: float) -> list[CheckpointDropped]:
        """Logged checkpoints that somebody has removed."""
        held = set(self._store.held)
        return [
            CheckpointDropped(one.arm, one.generation, "it is not on the disk any more", clock)
            for one in logged_checkpoints(state)
            if one not in held
        ]

    def trust(self, arm: int) -> None:
        """An arm's trainer lives: should it die first, its worker checks what it thaws."""
        self._checked.pop(arm, None)

    def check(self, arm: int, clock: float) -> list[CheckpointDropped]:
        """Verify what an arm's next unit would thaw; damage is removed once it is logged."""
        thawed = self._store.thaw(arm)
        self._checked[arm] = Thawed(thawed.checkpoint, thawed.folder)
        return [
            CheckpointDropped(one.arm, one.generation, f"damaged: {reason}", clock)
            for one, reason in thawed.damaged
        ]

    def drop(self, dropped: Iterable[CheckpointDropped]) -> None:
        """Remove checkpoints whose loss is logged."""
        gone = {(one.arm, one.generation) for one in dropped}
        if gone:
            self._store.drop([one for one in self._store.held if (one.arm, one.generation) in gone])

    def job(self, state: State, attempt: Attempt, limit_s: float | None) -> Job:
        """The job of an attempt, with the checkpoint that was checked, or its digest."""
        arm = attempt.unit.arm
        thawed, digest = self._checked.pop(arm, None), None
        if thawed is None:
            thawed = self._newest(arm)
            digest = None if thawed.checkpoint is None else thawed.checkpoint.digest
        return Job(
            attempt=attempt.number,
            arm=arm,
            config=state.configs[arm],
            epochs=attempt.unit.epochs,
            done=attempt.done,
            freeze_to=self._store.begin(arm, attempt.number),
            thaw_from=thawed.folder,
            thaw_epochs=0 if thawed.checkpoint is None else thawed.checkpoint.epochs,
            limit_s=limit_s,
            digest=digest,
        )

    def probe(self, state: State, arm: int) -> Job:
        """A job of an arm that is only asked about and never submitted."""
        return self._asked(state, arm, self._checked.get(arm) or Thawed(None, None))

    def bare(self, state: State, arm: int) -> Job:
        """The same without its checkpoints."""
        return self._asked(state, arm, Thawed(None, None))

    def _asked(self, state: State, arm: int, thawed: Thawed) -> Job:
        return Job(
            attempt=len(state.attempts),
            arm=arm,
            config=state.configs[arm],
            epochs=1,
            done=state.count(arm),
            freeze_to=self._folder.checkpoints,
            thaw_from=thawed.folder,
            thaw_epochs=0 if thawed.checkpoint is None else thawed.checkpoint.epochs,
        )

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
        for one in self._unsettled:
            oldest = one.generation - GENERATIONS + 1
            if _holds(state.best, one.arm) < oldest:
                self.keep_best(state)
            self._store.settled(one)
        self._unsettled = []

    def sweep(self) -> None:
        """Begin to remove from the disk what was let go of."""
        self._store.sweep()

    def finish(self) -> None:
        """Wait until it is gone."""
        self._store.finish()

    def keep_best(self, state: State) -> None:
        """Keep the best checkpoint under a name of its own, before its arm lets go of it."""
        best = state.best
        if best is None or best.saved is None:
            return
        saved = best.saved
        one = Checkpoint(best.arm, saved.generation, saved.epochs, saved.digest, saved.bytes)
        if one in self._store.of_arm(best.arm):
            self._folder.keep_best(best, self._store.folder(one).parent)

    def _newest(self, arm: int) -> Thawed:
        """The newest checkpoint of an arm, unchecked."""
        made = self._store.of_arm(arm)
        return Thawed(made[-1], self._store.folder(made[-1])) if made else Thawed(None, None)

    def excess(
        self, state: State, explanation: Explanation | None, clock: float
    ) -> list[CheckpointDropped]:
        """What to drop so that the rest fits under the cap, least likely to be thawed first."""
        if self._cap is None or self._store.bytes <= self._cap:
            return []
        keep = {attempt.unit.arm for attempt in state.flying}
        if state.best is not None:
            keep.add(state.best.arm)
        likely = likelihoods(state, explanation)
        return [
            CheckpointDropped(one.arm, one.generation, "the cap on checkpoints", clock)
            for one in plan_drops(self._store.held, likely, self._cap, keep)
        ]


def _holds(best: Best | None, arm: int) -> float:
    """The generation of an arm that is the best checkpoint; infinity if none of them is."""
    if best is None or best.saved is None or best.arm != arm:
        return float("inf")
    return best.saved.generation


def likelihoods(state: State, explanation: Explanation | None) -> dict[int, float]:
    """For each tried arm a number that grows with the chance that it is trained on.

    That is how low the belief expects it to end, or how low it was if nobody predicted that. An
    arm that is finished or given up will never be thawed again.
    """
    if state.curves is None:
        return {}
    found: dict[int, float] = {}
    for row, visited in enumerate(state.curves.visited):
        arm = int(visited)
        if state.arm(arm).closed is not None or state.count(arm) >= state.curves.epochs:
            continue
        known = explanation is not None and arm < len(explanation.end)
        end = float(explanation.end[arm]) if explanation is not None and known else np.nan
        found[arm] = -end if np.isfinite(end) else -float(state.curves.best_by_row[row])
    return found
