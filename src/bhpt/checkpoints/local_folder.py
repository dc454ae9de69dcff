"""A folder on this machine as the place where checkpoints lie.

    <root>/arm-000012/tmp-000045/files     a draft: being written by the worker of attempt 45
    <root>/arm-000012/gen-000003/files     a generation: committed, the third checkpoint of arm 12

Committing is a rename: a kill leaves a draft or a generation, never half of one.
"""

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from bhpt.checkpoints.disk import naming_full_disk, prepare_root, remove_tree, sync_all
from bhpt.checkpoints.manifest import (
    FILES,
    MANIFEST,
    Manifest,
    Seal,
    UnsafeCheckpoint,
    read_sealed,
    seal,
    verify,
)
from bhpt.checkpoints.place import Draft, Generation
from bhpt.domain.errors import Misuse

_ARM = re.compile(r"arm-(\d{6,})")
_GENERATION = re.compile(r"gen-(\d{6,})")


class LocalFolder:
    """See `CheckpointPlace` for the contract.

    Args:
        root: Folder of the checkpoints, private to its user; created if it is not there.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._unsynced: set[int] = set()  # arms whose folders may not be on the disk yet

    def contents(self) -> frozenset[Generation]:
        """Make the root and list its generations, without what interrupted work left behind."""
        prepare_root(self._root)
        found: set[Generation] = set()
        for folder in _ours(self._root, _ARM):
            for leftover in folder.glob("tmp-*"):
                remove_tree(leftover)
            for generation in _ours(folder, _GENERATION):
                one = Generation(_number(folder), _number(generation))
                if (generation / FILES).is_dir():
                    found.add(one)
                else:
                    self.remove(one)
        return frozenset(found)

    def begin(self, draft: Draft) -> Path:
        """An empty private folder, instead of what a killed attempt of the same number left."""
        temporary, arm = self.path(draft), self._arm(draft.arm)
        with naming_full_disk(self._root):
            remove_tree(temporary)
            if not arm.is_dir():
                arm.mkdir(mode=0o700)
                self._unsynced.add(draft.arm)
            temporary.mkdir(mode=0o700)
            (temporary / FILES).mkdir(mode=0o700)
        return temporary / FILES

    def commit(self, draft: Draft, generation: Generation) -> Seal:
        """Check the draft against its seal, make it durable and rename it."""
        temporary, final = self.path(draft), self.path(generation)
        sealed = self.seal_draft(draft)
        with naming_full_disk(self._root):
            os.rename(temporary, final)  # noqa: PTH104  # one syscall
            try:
                self._sync_names(draft.arm)
            except OSError:
                os.rename(final, temporary)  # noqa: PTH104  # a draft again
                raise
        return sealed

    def seal_draft(self, draft: Draft) -> Seal:
        """Seal a draft whose writer did not, check what its seal says, and make it durable.

        Raises:
            DiskFull: There is no room for it.
            UnsafeCheckpoint: It holds links or special files, or changed after it was sealed.
        """
        temporary = self.path(draft)
        with naming_full_disk(self._root):
            if not os.path.lexists(temporary / MANIFEST):
                seal(temporary / FILES)
            manifest = _read_sealed(temporary, draft.arm)
            sync_all(manifest.unsynced(temporary))
        return manifest.seal()

    def fetch(self, generation: Generation, digest: str | None = None) -> Path:
        """Its folder, which is here already."""
        folder = self.path(generation)
        if digest is not None:
            verify(folder, digest)
        return folder / FILES

    def remove(self, one: Draft | Generation) -> None:
        """Remove it so that a kill half-way does not leave half of a generation under its name.

        A session that ended by an exception may still be removing the same in the background.
        """
        path = self.path(one)
        if isinstance(one, Generation):
            doomed = path.with_name("tmp-" + path.name)
            remove_tree(doomed)
            with suppress(FileNotFoundError):  # never there, or another removal was faster
                os.rename(path, doomed)  # noqa: PTH104  # one syscall
            path = doomed
        remove_tree(path)

    def erase(self) -> None:
        """Remove the root."""
        remove_tree(self._root)

    def _sync_names(self, arm: int) -> None:
        """Make the names in an arm's folder durable, and its own if it is new."""
        sync_all([self._arm(arm), *([self._root] if arm in self._unsynced else ())])
        self._unsynced.discard(arm)

    def _arm(self, arm: int) -> Path:
        return self._root / f"arm-{_index(arm):06d}"

    def path(self, one: Draft | Generation) -> Path:
        """The folder with `files` and the manifest, whether it is there or not."""
        if isinstance(one, Draft):
            return self._arm(one.arm) / f"tmp-{_index(one.attempt):06d}"
        return self._arm(one.arm) / f"gen-{_index(one.generation):06d}"


def _read_sealed(temporary: Path, arm: int) -> Manifest:
    try:
        return read_sealed(temporary)
    except UnsafeCheckpoint:
        raise
    except ValueError as error:
        raise UnsafeCheckpoint(
            f"the checkpoint of arm {arm} changed while it was committed: {error}"
        ) from None


def _ours(folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    """What we have made in a folder; foreign names are left alone."""
    if not folder.is_dir():
        return []
    named = sorted(child for child in folder.iterdir() if pattern.fullmatch(child.name))
    return [child for child in named if _is_folder(child)]


def _is_folder(child: Path) -> bool:
    """Whether a name of ours is still there.

    Raises:
        Misuse: It is there and no folder.
    """
    try:
        kind = child.lstat().st_mode
    except FileNotFoundError:  # a removal in the background was faster
        return False
    if not stat.S_ISDIR(kind):
        raise Misuse(f"{child} must be a folder made by bhpt: move it away")
    return True


def _number(folder: Path) -> int:
    return int(folder.name.rpartition("-")[2])


def _index(value: int) -> int:
    if not isinstance(value, int) or value < 0:
        raise Misuse(f"a checkpoint path needs a whole number from 0, not {value!r}")
    return value
