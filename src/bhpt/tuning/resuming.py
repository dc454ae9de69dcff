"""Where every arm can go on from, and what it would have to train again; decided here alone.

An arm goes on with its trainer if that is still alive at the arm's last epoch, else from its
newest whole checkpoint, else from nothing. What is alive comes from the executor, which
checkpoints there are from the log, whether they are whole from the disk.
"""

from bhpt.domain import Resume
from bhpt.executors import Executor
from bhpt.study import Journal
from bhpt.study.events import CheckpointDropped
from bhpt.tuning.checkpoint_session import CheckpointSession


class Resumption:
    """Answers for a session where its arms go on from.

    Args:
        journal: The study.
        executor: Says which trainers are alive.
        checkpoints: Says which checkpoints are whole.
    """

    def __init__(
        self, journal: Journal, executor: Executor, checkpoints: CheckpointSession
    ) -> None:
        self._journal = journal
        self._executor = executor
        self._checkpoints = checkpoints

    def rerun(self, arm: int) -> int:
        """Epochs that the next unit of an arm would have to train again; reads no files."""
        done = self._journal.state.count(arm)
        saved = self._journal.state.arm(arm).saved
        held = saved[-1].epochs if saved else 0
        return 0 if held == done or self._executor.can_resume(arm, done) else done - held

    def checked(self, arm: int, clock: float) -> tuple[Resume, list[CheckpointDropped]]:
        """Where an arm goes on from, with every byte of its checkpoint read.

        Returns:
            That, and the checkpoints that turned out to be damaged; log them.
        """
        live = self._live(arm)
        return (live, []) if live is not None else self._checkpoints.verified(arm, clock)

    def at_start(self, arm: int, checked: Resume) -> Resume:
        """Where an arm goes on from, now that its unit is started.

        Args:
            arm: Which one.
            checked: What was found when the unit was decided on. A trainer that was alive then
                may be dead by now; its checkpoint was not read, so the worker has to do that.
        """
        live = self._live(arm)
        if live is not None or not checked.live:
            return live or checked
        saved = self._journal.state.arm(arm).saved
        return self._checkpoints.newest(saved[-1], arm) if saved else Resume()

    def _live(self, arm: int) -> Resume | None:
        done = self._journal.state.count(arm)
        alive = done > 0 and self._executor.can_resume(arm, done)
        return Resume.alive(done) if alive else None
