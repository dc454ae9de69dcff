"""Checks that a folder belongs to a study, and that the study is not behind its folder.

Called before a study is opened for writing, before a worker is started and before anything is
removed. Every refusal says what was found and the way out; nothing is changed.
"""

from bhpt.domain import Misuse
from bhpt.storage import Reader
from bhpt.study import State
from bhpt.study.events import SessionStarted
from bhpt.tuning.folder import StudyFolder, logged_checkpoints
from bhpt.tuning.folder_mark import FolderMark

_WAY_OUT = "`bhpt resume --without-checkpoints` sets that folder aside and trains them again"


class WrongFolder(Misuse):
    """The study and the folder found for it do not belong together, or not at this moment."""


def refuse_occupied(folder: StudyFolder) -> None:
    """Refuse to create a study whose folder holds the checkpoints of another.

    Raises:
        WrongFolder: It does.
    """
    if folder.holds_checkpoints or folder.is_marked:
        raise WrongFolder(
            f"{folder.root} holds checkpoints of another study: move it away or name another study"
        )


def refuse_behind(folder: StudyFolder, study: Reader) -> None:
    """Refuse a study that lacks events which its folder remembers, and a folder of another study.

    Raises:
        WrongFolder: One of these.
    """
    mark = FolderMark.read(folder.root)
    if mark is None:
        return
    if mark.identity != study.identity():
        raise WrongFolder(
            f"{folder.root} belongs to another study than {study.address}: move it away, or put "
            f"back the one that belongs here; {_WAY_OUT}"
        )
    found = study.digest_at(mark.position)
    if found == mark.digest:
        return
    there = study.head().position
    what = (
        f"has {there} events, but its folder {folder.root} has seen {mark.position}"
        if found is None
        else f"and its folder {folder.root} differ at event {mark.position}"
    )
    raise WrongFolder(
        f"{study.address} {what}: it was copied without its -wal file, restored from an older "
        f"copy, or damaged. Put the newer one back; to go on from this one, {_WAY_OUT}"
    )


def refuse_wrong_place(folder: StudyFolder, study: Reader, state: State) -> None:
    """Refuse a folder that has none of the study's checkpoints, or only those of another study.

    Raises:
        WrongFolder: One of these.
    """
    logged = logged_checkpoints(state)
    if logged and not state.checkpoints_at and not folder.present(logged):
        raise WrongFolder(
            f"none of the {len(logged)} checkpoints of {study.address} is in {folder.root}"
            f"{_last_seen(study)}: resume where they are, or move them here; {_WAY_OUT}"
        )
    if folder.holds_checkpoints and not folder.is_of(study.identity(), logged):
        raise WrongFolder(
            f"{folder.root} holds checkpoints that are not known to be those of {study.address}: "
            f"move it away; {_WAY_OUT}"
        )


def trouble(folder: StudyFolder, study: Reader, state: State) -> str | None:
    """Why a study could not be resumed with this folder, in one line; None if it could."""
    try:
        refuse_behind(folder, study)
        refuse_wrong_place(folder, study, state)
    except WrongFolder as error:
        return str(error)
    return None


def _last_seen(study: Reader) -> str:
    """Where the last session had its files."""
    sessions = [event for event in study.read() if isinstance(event, SessionStarted)]
    last = next((one for one in reversed(sessions) if one.folder), None)
    return "" if last is None else f"; they were in {last.folder} on {last.host}"
