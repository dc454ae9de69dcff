"""One file with all of a study: its log, its checkpoints and its best model, checked byte by byte.

    NAME.db                     the log as an SQLite file, wherever the study is kept
    NAME.db.files/study.json    whose folder it is, and how far the log was
    NAME.db.files/checkpoints   the logged checkpoints
    NAME.db.files/best          the best one

The study may be running. The log is read as it was at one moment, and every checkpoint that is
there shortly before or after is linked or copied at once; if the driver has replaced one even
faster than that, all is done again.
"""

import os
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bhpt.checkpoints import Checkpoint, CheckpointPlace, Generation
from bhpt.checkpoints.disk import remove_tree
from bhpt.checkpoints.manifest import is_whole
from bhpt.storage import Address, copy_store, read_store
from bhpt.study import State
from bhpt.tuning.checkpoint_place import place_of
from bhpt.tuning.folder import StudyFolder, best_name, logged_checkpoints, path_part
from bhpt.tuning.folder_mark import FolderMark
from bhpt.tuning.ownership import WrongFolder, refuse_behind, refuse_wrong_place

_TRIES = 5


@dataclass(frozen=True, slots=True)
class Archived:
    """What went into an archive.

    Attributes:
        events: Of the log.
        checkpoints: That are in it.
        missing: Logged checkpoints that are not, because they are damaged or gone.
    """

    events: int
    checkpoints: int
    missing: int


def write_archive(where: str | Path | Address, file: Path) -> Archived:
    """Copy a study, which may be running, to a new tar file.

    Args:
        where: Its file or address.
        file: The archive; it is written over.

    Raises:
        Misuse: There is no such study, or it and its folder do not belong together.
    """
    address = Address.parse(where)
    with tempfile.TemporaryDirectory(prefix=".bhpt-archive-", dir=file.parent) as temporary:
        root = Path(temporary)
        copied = _settled_copy(address, root)
        with tarfile.open(file, "w") as archive:
            for entry in sorted(root.iterdir()):
                archive.add(entry, entry.name)
    return copied


def _settled_copy(address: Address, root: Path) -> Archived:
    """Copy until nothing is missing that was only just replaced."""
    for left in reversed(range(_TRIES)):
        for entry in root.iterdir():
            remove_tree(entry)
        try:
            copied = _copy(address, root)
        except WrongFolder:
            if not left:
                raise
            continue
        if not copied.missing:
            break
    return copied


def _copy(address: Address, root: Path) -> Archived:
    """Copy the log and what it says is there.

    Raises:
        WrongFolder: None of the logged checkpoints is where they should be.
    """
    target = root / _file_name(address)
    folder = StudyFolder(target.with_name(f"{target.name}.files"))
    with read_store(address) as reader:
        identity = reader.identity()
        source = StudyFolder.find(address, identity)
        refuse_behind(source, reader)
        _take(source, folder)  # what is removed while the log is read
        rows, clock = reader.rows(), reader.lease().clock
        _take(source, folder)  # what was added since
        head = copy_store(rows, clock, target)
        state = _state(target)
        logged = logged_checkpoints(state)
        before = StudyFolder.find(address, identity, logged)
        if before != source:
            _take(before, folder)
        if state.checkpoints_at:
            _fetch(place_of(state.checkpoints_at, folder, identity), logged)
        whole = _keep_whole(folder, state)
        if logged and not whole:
            refuse_wrong_place(before, reader, state)
    FolderMark(identity, head.position, head.digest).write(folder.root)
    return Archived(head.position, whole, len(logged) - whole)


def _state(file: Path) -> State:
    with read_store(file) as reader:
        return reader.folded().state


def _fetch(place: CheckpointPlace, logged: Sequence[Checkpoint]) -> None:
    """Bring checkpoints from where they lie; what is damaged there is found to be missing here."""
    for one in logged:
        with suppress(ValueError, OSError):
            place.fetch(Generation(one.arm, one.generation), one.digest)


def _take(source: StudyFolder, target: StudyFolder) -> None:
    """Take the checkpoints of a folder under other names, as they are."""
    target.prepare()
    for part in ("checkpoints", "best"):
        _take_tree(source.root / part, target.root / part)


def _take_tree(source: Path, target: Path) -> None:
    """Link the plain files of a tree, or copy them; what goes away meanwhile is left out."""
    with suppress(FileNotFoundError):
        if source.is_symlink():
            return
        names = sorted(os.listdir(source))  # noqa: PTH208  # names only, in one call
        target.mkdir(mode=0o700, exist_ok=True)
        for name in names:
            if (source / name).is_dir():
                _take_tree(source / name, target / name)
            elif (source / name).is_file():
                _take_file(source / name, target / name)


def _take_file(source: Path, target: Path) -> None:
    with suppress(FileNotFoundError):
        try:
            os.link(source, target, follow_symlinks=False)
        except FileExistsError:
            return  # it never changes
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                raise
            shutil.copyfile(source, target, follow_symlinks=False)


def _keep_whole(folder: StudyFolder, state: State) -> int:
    """Remove what the log does not vouch for; how many of the logged checkpoints are whole."""
    logged = {folder.generation(one): one.digest for one in logged_checkpoints(state)}
    whole = {path for path, digest in logged.items() if is_whole(path, digest)}
    for path in folder.checkpoints.glob("*/*"):
        if path not in whole:
            remove_tree(path)
    best = state.best
    for path in folder.best.glob("*"):
        saved = None if best is None or path.name != best_name(best) else best.saved
        if saved is None or not is_whole(path, saved.digest):
            remove_tree(path)
    return len(whole)


def _file_name(address: Address) -> str:
    if address.file is not None:
        return address.file.name
    return f"{path_part(address.study)}.db"
