"""Look at a study without touching it."""

from dataclasses import dataclass

from bhpt.storage import Address, Lease, read_store
from bhpt.study import State, fold
from bhpt.tuning.folder import StudyFolder


@dataclass(frozen=True, eq=False)
class Seen:
    """A study as it was a moment ago.

    Attributes:
        address: Where it is.
        folder: Its files.
        state: All of it.
        lease: Who holds it.
        changed: When its last event was written, ISO 8601 in UTC.
    """

    address: Address
    folder: StudyFolder
    state: State
    lease: Lease
    changed: str

    @property
    def is_running(self) -> bool | None:
        """Whether its driver lives; None if that cannot be seen from here."""
        return False if self.lease.holder is None else self.lease.holder.is_alive()


def see(study: str) -> Seen:
    """Read a study.

    Raises:
        Misuse: There is none, it is damaged, or a newer version wrote it.
    """
    address = Address.parse(study)
    with read_store(address) as reader:
        lease = reader.lease()
        recorded = reader.read_recorded()
    state = fold(event for event, _ in recorded)
    return Seen(address, StudyFolder.of(address), state, lease, recorded[-1][1])
