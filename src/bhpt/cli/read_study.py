"""Read a study for a command; nothing is locked or written."""

from dataclasses import dataclass

from bhpt.checkpoints import Generation
from bhpt.checkpoints.remote_folder import files_url
from bhpt.storage import Address, Lease, Reader, read_store
from bhpt.study import State
from bhpt.tuning.folder import StudyFolder, logged_checkpoints
from bhpt.tuning.ownership import trouble


@dataclass(frozen=True, eq=False)
class StoredStudy:
    """What the store had of a study when it was read.

    Attributes:
        address: Where it is.
        state: What its events fold to.
        lease: Which driver holds it.
        changed: When its last event was written, ISO 8601 in UTC.
    """

    address: Address
    state: State
    lease: Lease
    changed: str

    @classmethod
    def read(cls, reader: Reader) -> "StoredStudy":
        """Read a study that is open.

        Raises:
            Misuse: It is damaged, or a newer version wrote it.
        """
        lease, found = reader.lease(), reader.folded()
        return cls(reader.address, found.state, lease, found.changed)

    @property
    def is_running(self) -> bool | None:
        """Whether its driver's process exists; None if it is on another machine or container."""
        return False if self.lease.holder is None else self.lease.holder.is_alive()


@dataclass(frozen=True, eq=False)
class StudySnapshot(StoredStudy):
    """A study with its files.

    Attributes:
        identity: Which study it is, wherever it is copied to.
        folder: Its files.
        trouble: Why it could not be resumed with that folder, None if it could.
    """

    identity: str
    folder: StudyFolder
    trouble: str | None

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
    """Read a study and look at its folder.

    Raises:
        Misuse: There is none, it is damaged, or a newer version wrote it.
    """
    address = Address.parse(study)
    with read_store(address) as reader:
        found = StoredStudy.read(reader)
        state, identity = found.state, reader.identity()
        folder = StudyFolder.find(address, identity, logged_checkpoints(state))
        wrong = _trouble(folder, reader, state)
    return StudySnapshot(address, state, found.lease, found.changed, identity, folder, wrong)


def _trouble(folder: StudyFolder, reader: Reader, state: State) -> str | None:
    """What is wrong with the folder; a study of ask and tell has none."""
    return None if state.plan.trainer is None else trouble(folder, reader, state)
