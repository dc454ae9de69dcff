"""Read a study for a command; nothing is locked or written."""

from dataclasses import dataclass

from bhpt.checkpoints import Generation
from bhpt.checkpoints.remote_folder import files_url
from bhpt.storage import Address, Lease, Reader, read_store
from bhpt.study import State
from bhpt.tuning.folder import StudyFolder, logged_checkpoints
from bhpt.tuning.ownership import trouble


@dataclass(frozen=True, eq=False)
class StudySnapshot:
    """A study as it was when it was read.

    Attributes:
        address: Where it is.
        identity: Which study it is, wherever it is copied to.
        folder: Its files.
        state: What its events fold to.
        lease: Which driver holds it.
        changed: When its last event was written, ISO 8601 in UTC.
        trouble: Why it could not be resumed with that folder, None if it could.
    """

    address: Address
    identity: str
    folder: StudyFolder
    state: State
    lease: Lease
    changed: str
    trouble: str | None

    @property
    def is_running(self) -> bool | None:
        """Whether its driver's process exists; None if it is on another machine or container."""
        return False if self.lease.holder is None else self.lease.holder.is_alive()

    @property
    def remote_best(self) -> str | None:
        """Where the checkpoint of the best lies in a remote place; nothing is asked of that.

        A remote place keeps the best for as long as the study is there. None where checkpoints lie
        in the study's folder, or where the best was not saved.
        """
        best = self.state.best
        if not self.state.checkpoints_at or best is None or best.saved is None:
            return None
        generation = Generation(best.arm, best.saved.generation)
        return files_url(self.state.checkpoints_at, generation)


def read_snapshot(study: str | Address) -> StudySnapshot:
    """Read a study.

    Raises:
        Misuse: There is none, it is damaged, or a newer version wrote it.
    """
    address = Address.parse(study)
    with read_store(address) as reader:
        lease = reader.lease()
        found = reader.folded()
        state, changed = found.state, found.changed
        identity = reader.identity()
        folder = StudyFolder.find(address, identity, logged_checkpoints(state))
        wrong = _trouble(folder, reader, state)
    return StudySnapshot(address, identity, folder, state, lease, changed, wrong)


def _trouble(folder: StudyFolder, reader: Reader, state: State) -> str | None:
    """What is wrong with the folder; a study of ask and tell has none."""
    return None if state.plan.trainer is None else trouble(folder, reader, state)
