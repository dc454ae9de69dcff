"""Where a study's checkpoints lie: in its folder, or at an fsspec path."""

from bhpt.checkpoints import CheckpointPlace, LocalFolder, RemoteFolder
from bhpt.checkpoints.remote_folder import is_remote, refuse_bad_url
from bhpt.domain import Misuse
from bhpt.storage import Address
from bhpt.study import State
from bhpt.tuning.folder import StudyFolder, logged_checkpoints, path_part


def refuse_bad_path(wanted: str | None) -> None:
    """Refuse a path for checkpoints that could not be used, before anything is created.

    Raises:
        Misuse: It is no fsspec path, holds a password, or its file system is not installed.
    """
    if wanted is None:
        return
    if not is_remote(wanted):
        raise Misuse(f"checkpoints cannot lie at {wanted!r}: write an address such as s3://bucket")
    refuse_bad_url(wanted)


def path_of(address: Address, identity: str, state: State, wanted: str | None) -> str:
    """The fsspec path of a study's checkpoints; empty if they lie in its folder.

    Args:
        address: Where the study is.
        identity: Of the study.
        state: What its log folds to.
        wanted: Under which path they are to lie; None for wherever they lay before.

    Raises:
        Misuse: They lie elsewhere already.
    """
    before = state.checkpoints_at
    if wanted is None:
        return before
    path = f"{wanted.rstrip('/')}/{_name(address)}-{identity}"
    if path != before and logged_checkpoints(state):
        raise Misuse(
            f"the checkpoints of {address} lie {f'at {before}' if before else 'in its folder'}: "
            "leave out --checkpoints, or begin another study"
        )
    return path


def place_of(path: str, folder: StudyFolder, identity: str) -> CheckpointPlace:
    """The place of a study's checkpoints, from what `path_of` returns."""
    if not path:
        return LocalFolder(folder.checkpoints)
    return RemoteFolder(path, folder.checkpoints, identity)


def _name(address: Address) -> str:
    """What the study is called, as a part of a path."""
    return path_part(address.study if address.file is None else address.file.stem)
