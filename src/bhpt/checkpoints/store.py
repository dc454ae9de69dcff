"""The record of a study's checkpoints: which generations of which arms are held, and how long.

The order of one checkpoint: `begin` makes a draft, the worker writes and seals it, `commit` makes
it the next generation, the study logs it in the same transaction as the report, `settled` lets go
of what it replaces, and `sweep` removes that in the background. A kill between any two steps
leaves either the old generation in the log or the new one, and opening removes whatever is not in
the log. Where the bytes lie is decided by a `CheckpointPlace`.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from bhpt.checkpoints.checkpoint import Checkpoint
from bhpt.checkpoints.place import CheckpointPlace, Draft, Generation
from bhpt.domain.errors import Misuse


@dataclass(frozen=True, slots=True)
class Thawed:
    """What can be thawed of an arm.

    Attributes:
        checkpoint: The newest whole one, None if the arm must start from nothing.
        folder: Its verified folder, to resume from.
        damaged: Newer ones that failed their check, with the reason; they are never loaded.
    """

    checkpoint: Checkpoint | None
    folder: Path | None
    damaged: tuple[tuple[Checkpoint, str], ...] = ()


class CheckpointStore:
    """The one owner of a study's checkpoints.

    Args:
        place: Where they lie.
        logged: The checkpoints in the study's log, in the order logged. Whatever else is found
            at the place was never acknowledged and is removed.
        generations: How many of each arm are kept: the newest, and older ones in case it is
            damaged.
        protected: One that stays at its place although its arm lets go of it; see `protect`.
    """

    def __init__(
        self,
        place: CheckpointPlace,
        logged: Iterable[Checkpoint] = (),
        generations: int = 2,
        protected: Generation | None = None,
    ) -> None:
        if generations < 1:
            raise Misuse(f"a study must keep at least one checkpoint an arm, not {generations}")
        self._place = place
        self._generations = generations
        self._protected = protected
        self._held: dict[int, list[Checkpoint]] = {}
        self._doomed: list[Generation] = []
        self._sweeper = ThreadPoolExecutor(1, "bhpt-sweeper")
        self._swept: Future[None] | None = None
        there = place.contents()
        for one in logged:
            if _generation(one) in there:
                self._held.setdefault(one.arm, []).append(one)
        for held in self._held.values():
            del held[:-generations]
        self._bytes = sum(one.bytes for one in self.held)
        self._last = {one.arm: one.generation for one in self.held}  # never used again
        kept = {_generation(one) for one in self.held}
        _remove_all(place, there - kept - ({protected} if protected else set()))

    @property
    def held(self) -> tuple[Checkpoint, ...]:
        """Every committed checkpoint that was not let go of, arm by arm, oldest first."""
        return tuple(one for arm in sorted(self._held) for one in self._held[arm])

    @property
    def bytes(self) -> int:
        """What the held checkpoints take."""
        return self._bytes

    def of_arm(self, arm: int) -> Sequence[Checkpoint]:
        """The held checkpoints of one arm, oldest first."""
        return tuple(self._held.get(arm, ()))

    def folder(self, checkpoint: Checkpoint) -> Path:
        """Where a checkpoint's files are; check them with `thaw` before loading."""
        return self._place.fetch(_generation(checkpoint))

    def fetched(self, checkpoint: Checkpoint) -> Path | None:
        """The files of a checkpoint that may not be held any more; None if it is not whole.

        Raises:
            PlaceAway: The place does not answer.
        """
        try:
            return self._place.fetch(_generation(checkpoint), checkpoint.digest)
        except (ValueError, OSError):
            return None

    def begin(self, arm: int, attempt: int) -> Path:
        """An empty private folder for the checkpoint of an attempt, for `Job.freeze_to`.

        Raises:
            DiskFull: There is no room even for that.
        """
        return self._place.begin(Draft(arm, attempt))

    def commit(self, arm: int, attempt: int, epochs: int) -> Checkpoint:
        """Make a draft the next generation; log what is returned, then call `settled`.

        Raises:
            DiskFull: There is no room; the previous generation is untouched.
            UnsafeCheckpoint: It holds links or special files, or changed after it was sealed.
        """
        number = self._last.get(arm, 0) + 1
        sealed = self._place.commit(Draft(arm, attempt), Generation(arm, number))
        self._last[arm] = number
        made = Checkpoint(arm, number, epochs, sealed.digest, sealed.bytes)
        self._held.setdefault(arm, []).append(made)
        self._bytes += made.bytes
        return made

    def settled(self, checkpoint: Checkpoint) -> None:
        """The log has it now: let go of what it replaces, at its place with the next `sweep`."""
        oldest = checkpoint.generation - self._generations + 1
        held = self._held.get(checkpoint.arm, [])
        self.drop([one for one in held if one.generation < oldest])

    def protect(self, generation: Generation | None) -> None:
        """Keep one generation at its place for as long as no other is protected.

        The best checkpoint is: it must be found there although its arm trains on.
        """
        before, self._protected = self._protected, generation
        if before in (None, generation) or before in map(_generation, self.of_arm(before.arm)):
            return
        self._doomed.append(before)

    def sweep(self) -> None:
        """Begin to remove what was let go of, without waiting for it.

        Raises:
            OSError: What was swept before could not be removed.
        """
        if self._swept is not None:
            if not self._swept.done():
                return
            self._swept.result()
            self._swept = None
        if self._doomed:
            doomed, self._doomed = self._doomed, []
            self._swept = self._sweeper.submit(_remove_all, self._place, doomed)

    def finish(self) -> None:
        """Wait until all that was let go of is gone."""
        while self._doomed or self._swept is not None:
            if self._swept is not None:
                wait([self._swept])
            self.sweep()

    def discard(self, arm: int, attempt: int) -> None:
        """Forget the draft of an attempt that failed; nothing happens without one."""
        self._place.remove(Draft(arm, attempt))

    def thaw(self, arm: int) -> Thawed:
        """The newest checkpoint of an arm whose every byte is as committed.

        One that is damaged is passed over for the one before it; log that, then `drop` it. What
        is committed but not in the log yet counts: its report is logged before anything is
        started from it. A place that is away says nothing about what is there.

        Raises:
            PlaceAway: The place does not answer.
        """
        damaged: list[tuple[Checkpoint, str]] = []
        for one in reversed(self.of_arm(arm)):
            try:
                folder = self._place.fetch(_generation(one), one.digest)
            except (ValueError, OSError) as error:
                damaged.append((one, str(error)))
            else:
                return Thawed(one, folder, tuple(damaged))
        return Thawed(None, None, tuple(damaged))

    def drop(self, checkpoints: Iterable[Checkpoint]) -> None:
        """Let go of checkpoints for good: damaged ones, or those of `plan_drops`; log it first.

        They are never thawed again, and gone from their place with the next `sweep`.
        """
        for one in checkpoints:
            held = self._held.get(one.arm, [])
            if one in held:
                held.remove(one)
                self._bytes -= one.bytes
            if not held:
                self._held.pop(one.arm, None)
            if _generation(one) != self._protected:
                self._doomed.append(_generation(one))


def _generation(checkpoint: Checkpoint) -> Generation:
    return Generation(checkpoint.arm, checkpoint.generation)


def _remove_all(place: CheckpointPlace, generations: Iterable[Generation]) -> None:
    for generation in generations:
        place.remove(generation)
