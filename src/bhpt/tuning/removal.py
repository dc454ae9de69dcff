"""Put a study away: into an archive, and then out of its store."""

from pathlib import Path

from bhpt.checkpoints.disk import remove_tree
from bhpt.domain import Misuse
from bhpt.storage import Address, open_store
from bhpt.tuning.archive import Archived, write_archive
from bhpt.tuning.checkpoint_place import place_of
from bhpt.tuning.folder import StudyFolder, logged_checkpoints
from bhpt.tuning.ownership import refuse_behind, refuse_wrong_place


def put_away(where: str | Path | Address, file: Path) -> Archived:
    """Archive a study that no driver holds, and remove it with its checkpoints.

    The study is held meanwhile, so nothing can be added to it after it was copied.

    Args:
        where: Its file or address.
        file: A new tar file.

    Raises:
        InUse: A driver holds it.
        Misuse: The archive would lack checkpoints; nothing is removed.
    """
    address = Address.parse(where)
    with open_store(address) as store:
        state = store.fold()
        folder = StudyFolder.find(address, store.identity(), logged_checkpoints(state))
        refuse_behind(folder, store)
        refuse_wrong_place(folder, store, state)
        made = write_archive(address, file)
        if made.missing:
            raise Misuse(
                f"{made.missing} checkpoints of {address} are damaged or gone: it is archived in "
                f"{file}, and nothing was removed"
            )
        if state.checkpoints_at:  # those in the study's folder go with it, after the log
            place_of(state.checkpoints_at, folder, store.identity()).erase()
        store.erase()
    remove_tree(folder.root)
    return made
