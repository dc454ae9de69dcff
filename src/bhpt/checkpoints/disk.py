"""Writing that is on the disk when it returns, and one error for a disk that is full."""

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from bhpt.domain.errors import Misuse

_SYNCS_AT_ONCE = 8
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class DiskFull(OSError):
    """No room for a checkpoint; what was committed before is untouched: free space and resume."""


def is_disk_full(error: BaseException | None) -> bool:
    """Whether a full disk, a quota or a file size limit is anywhere in the causes of an error."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        error = error.__cause__ or error.__context__
    return False


@contextmanager
def naming_full_disk(folder: Path) -> Iterator[None]:
    """Turn the ways in which a disk says that it is full into `DiskFull`."""
    try:
        yield
    except OSError as error:
        if not is_disk_full(error) or isinstance(error, DiskFull):
            raise
        raise DiskFull(
            error.errno,
            f"no room left ({os.strerror(error.errno or 0).lower()}): "
            "free some space there and resume",
            str(folder),
        ) from error


def sync(path: Path) -> None:
    """Wait until a file or a folder (its list of names) is on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_all(paths: Sequence[Path]) -> None:
    """Wait until all of these are on the disk: side by side, since the disk writes them at once."""
    if not paths:
        return
    first, *others = paths
    elsewhere = [_syncing_threads().submit(sync, path) for path in others]
    try:
        sync(first)
    finally:
        wait(elsewhere)
    for one in elsewhere:
        one.result()


@cache
def _syncing_threads() -> ThreadPoolExecutor:
    """Threads that wait for the disk: kept, because starting them takes longer than a sync."""
    return ThreadPoolExecutor(_SYNCS_AT_ONCE, "bhpt-sync")


os.register_at_fork(after_in_child=_syncing_threads.cache_clear)  # a fork has no other threads


def make_private(folder: Path) -> None:
    """Create a folder that only its user can enter, and make the name durable."""
    created = not folder.exists()
    folder.mkdir(mode=0o700, exist_ok=True)
    if created:
        sync(folder.parent)


def refuse_elsewhere(root: Path) -> None:
    """Refuse a place for our files that is a link or not a folder."""
    if root.is_symlink() or (root.exists() and not root.is_dir()):
        raise Misuse(f"{root} must be a folder for the study's files: move it away")


def prepare_root(root: Path) -> None:
    """Make a folder for a study's files, and make it private."""
    with naming_full_disk(root):
        refuse_elsewhere(root)
        root.parent.mkdir(parents=True, exist_ok=True)
        make_private(root)
        root.chmod(0o700)


def write_private(path: Path, content: bytes) -> None:
    """Write a new file of ours; `sync` it before relying on it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def remove_tree(path: Path) -> None:
    """Remove whatever is at `path`, never what a symbolic link in it points to."""
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError:  # never there, or another removal was faster
        return
    if not stat.S_ISDIR(kind):
        path.unlink(missing_ok=True)
        return
    while os.path.lexists(path):
        try:
            shutil.rmtree(path)
        except PermissionError:
            unlock(path)
            shutil.rmtree(path)
        except FileNotFoundError:
            continue  # another removal was faster with some of it: see what is left
        except (RecursionError, OSError) as error:
            if isinstance(error, OSError) and error.errno != errno.ENAMETOOLONG:
                raise
            _remove_deep(path)


def _remove_deep(root: Path) -> None:
    """Remove a tree of any depth: what is in a folder is moved up to the root, level by level."""
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    moved = 0
    try:
        while names := os.listdir(top):  # noqa: PTH208  # of a descriptor
            for name in names:
                if not _is_folder(name, top):
                    os.unlink(name, dir_fd=top)
                    continue
                folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
                try:
                    for inside in os.listdir(folder):  # noqa: PTH208  # likewise
                        moved += 1
                        os.rename(inside, f"moved-{moved}", src_dir_fd=folder, dst_dir_fd=top)
                finally:
                    os.close(folder)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    root.rmdir()


def _is_folder(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)


def unlock(folder: Path) -> None:
    """Open up folders that a trainer left in a state that forbids their own removal."""
    folder.chmod(0o700)
    for parent, folders, _ in os.walk(folder):
        for name in folders:
            inside = Path(parent, name)
            if not inside.is_symlink():
                inside.chmod(0o700)
