"""Checkpoint folders of a study: whole and in the log, or gone.

    <root>/arm-000012/tmp-000045/files     being written by the worker of attempt 45
    <root>/arm-000012/gen-000003/files     committed, the third checkpoint of arm 12

Paths come from integers only. The order of one checkpoint: `begin` makes the temporary folder,
the worker writes and seals it, `commit` renames it to the next generation, the study logs it
in the same transaction as the report, `settled` lets go of what it replaces, and `sweep` removes
that from the disk when nobody waits. A kill between any two steps leaves either the old generation
in the log or the new one, and opening removes whatever is not in the log.
"""

import os
import re
import stat
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from bhpt.checkpoints.checkpoint import Checkpoint
from bhpt.checkpoints.disk import naming_full_disk, prepare_root, remove_tree, sync_all
from bhpt.checkpoints.manifest import FILES, MANIFEST, UnsafeCheckpoint, read_sealed, seal, verify
from bhpt.domain.errors import Misuse

_ARM = re.compile(r"arm-(\d{6,})")
_GENERATION = re.compile(r"gen-(\d{6,})")


@dataclass(frozen=True, slots=True)
class Thawed:
    """What can be thawed of an arm.

    Attributes:
        checkpoint: The newest whole one, None if the arm must start from nothing.
        folder: Its verified folder, for `Job.thaw_from`.
        damaged: Newer ones that failed their check, with the reason; they are never loaded.
    """

    checkpoint: Checkpoint | None
    folder: Path | None
    damaged: tuple[tuple[Checkpoint, str], ...] = ()


class CheckpointStore:
    """The one owner of a study's checkpoint folders.

    Args:
        root: Folder of the study's files, private to its user; created if it is not there.
        logged: The checkpoints in the study's log, in the order logged. Whatever else is found
            in `root` under our names was never acknowledged and is removed.
        generations: How many of each arm are kept: the newest, and older ones in case it is
            damaged.
    """

    def __init__(self, root: Path, logged: Iterable[Checkpoint] = (), generations: int = 2) -> None:
        if generations < 1:
            raise Misuse(f"a study must keep at least one checkpoint an arm, not {generations}")
        self._root = root
        self._generations = generations
        self._held: dict[int, list[Checkpoint]] = {}
        self._last: dict[int, int] = {}  # generation of each arm, never used again
        self._unsynced: set[int] = set()  # arms whose folders may not be on the disk yet
        self._doomed: list[Path] = []
        self._sweeper = ThreadPoolExecutor(1, "bhpt-sweeper")
        self._swept: Future[None] | None = None
        prepare_root(root)
        for one in logged:
            if self.folder(one).is_dir():
                self._held.setdefault(one.arm, []).append(one)
        for held in self._held.values():
            del held[:-generations]
        self._bytes = sum(one.bytes for one in self.held)
        for folder in _ours(root, _ARM):
            self._collect(folder)
        for one in self.held:
            self._last[one.arm] = one.generation

    @property
    def held(self) -> tuple[Checkpoint, ...]:
        """Every committed checkpoint that was not let go of, arm by arm, oldest first."""
        return tuple(one for arm in sorted(self._held) for one in self._held[arm])

    @property
    def bytes(self) -> int:
        """What the held checkpoints take on the disk."""
        return self._bytes

    def of_arm(self, arm: int) -> Sequence[Checkpoint]:
        """The held checkpoints of one arm, oldest first."""
        return tuple(self._held.get(arm, ()))

    def folder(self, checkpoint: Checkpoint) -> Path:
        """Where a checkpoint's files are; check them with `thaw` before loading."""
        return self._generation(checkpoint.arm, checkpoint.generation) / FILES

    def begin(self, arm: int, attempt: int) -> Path:
        """An empty private folder for the checkpoint of an attempt, for `Job.freeze_to`.

        Raises:
            DiskFull: There is no room even for that.
        """
        temporary = self._temporary(arm, attempt)
        with naming_full_disk(self._root):
            remove_tree(temporary)
            if not self._arm(arm).is_dir():
                self._arm(arm).mkdir(mode=0o700)
                self._unsynced.add(arm)
            temporary.mkdir(mode=0o700)
            (temporary / FILES).mkdir(mode=0o700)
        return temporary / FILES

    def commit(self, arm: int, attempt: int, epochs: int) -> Checkpoint:
        """Give a sealed checkpoint its final name; log what is returned, then call `settled`.

        A folder that its writer did not seal is sealed here.

        Raises:
            DiskFull: There is no room; the previous generation is untouched.
            UnsafeCheckpoint: It holds links or special files, or changed after it was sealed.
        """
        temporary = self._temporary(arm, attempt)
        with naming_full_disk(self._root):
            if not os.path.lexists(temporary / MANIFEST):
                seal(temporary / FILES)
            try:
                sealed = read_sealed(temporary).seal()
            except UnsafeCheckpoint:
                raise
            except ValueError as error:
                raise UnsafeCheckpoint(
                    f"the checkpoint of arm {arm} changed while it was committed: {error}"
                ) from None
            generation = self._last[arm] = self._last.get(arm, 0) + 1
            os.rename(temporary, self._generation(arm, generation))  # noqa: PTH104  # one syscall
            sync_all([self._arm(arm), *([self._root] if arm in self._unsynced else ())])
            self._unsynced.discard(arm)
        made = Checkpoint(arm, generation, epochs, sealed.digest, sealed.bytes)
        self._held.setdefault(arm, []).append(made)
        self._bytes += made.bytes
        return made

    def settled(self, checkpoint: Checkpoint) -> None:
        """The log has it now: let go of what it replaces, on the disk with the next `sweep`."""
        oldest = checkpoint.generation - self._generations + 1
        held = self._held.get(checkpoint.arm, [])
        self.drop([one for one in held if one.generation < oldest])

    def sweep(self) -> None:
        """Begin to remove from the disk what was let go of, without waiting for it.

        Raises:
            OSError: What was swept before could not be removed.
        """
        if self._swept is not None:
            if not self._swept.done():
                return
            self._swept.result()
            self._swept = None
        if self._doomed:
            doomed, self._doomed = self._doomed, []
            self._swept = self._sweeper.submit(_remove_all, doomed)

    def finish(self) -> None:
        """Wait until all that was let go of is gone."""
        while self._doomed or self._swept is not None:
            if self._swept is not None:
                wait([self._swept])
            self.sweep()

    def discard(self, arm: int, attempt: int) -> None:
        """Forget the temporary folder of an attempt that failed; nothing happens without one."""
        remove_tree(self._temporary(arm, attempt))

    def thaw(self, arm: int) -> Thawed:
        """The newest checkpoint of an arm whose every byte is as committed.

        One that is damaged is passed over for the one before it; log that, then `drop` it. What
        is committed but not in the log yet counts: its report is logged before anything is
        started from it.
        """
        damaged: list[tuple[Checkpoint, str]] = []
        for one in reversed(self.of_arm(arm)):
            try:
                verify(self._generation(arm, one.generation), one.digest)
            except (ValueError, OSError) as error:
                damaged.append((one, str(error)))
            else:
                return Thawed(one, self.folder(one), tuple(damaged))
        return Thawed(None, None, tuple(damaged))

    def drop(self, checkpoints: Iterable[Checkpoint]) -> None:
        """Let go of checkpoints for good: damaged ones, or those of `plan_drops`; log it first.

        They are never thawed again, and gone from the disk with the next `sweep`.
        """
        for one in checkpoints:
            held = self._held.get(one.arm, [])
            if one in held:
                held.remove(one)
                self._bytes -= one.bytes
            if not held:
                self._held.pop(one.arm, None)
            self._doomed.append(self._generation(one.arm, one.generation))

    def _collect(self, folder: Path) -> None:
        """Remove generations of an arm that are not held, and what interrupted attempts left."""
        arm = _number(folder)
        kept = {one.generation for one in self._held.get(arm, ())}
        for generation in _ours(folder, _GENERATION):
            if _number(generation) not in kept:
                _remove(generation)
        for leftover in folder.glob("tmp-*"):
            remove_tree(leftover)

    def _arm(self, arm: int) -> Path:
        return self._root / f"arm-{_index(arm):06d}"

    def _generation(self, arm: int, generation: int) -> Path:
        return self._arm(arm) / f"gen-{_index(generation):06d}"

    def _temporary(self, arm: int, attempt: int) -> Path:
        return self._arm(arm) / f"tmp-{_index(attempt):06d}"


def _remove_all(generations: Iterable[Path]) -> None:
    for generation in generations:
        _remove(generation)


def _remove(generation: Path) -> None:
    """Remove a generation so that a kill half-way does not leave half of one under its name."""
    if not os.path.lexists(generation):
        return
    doomed = generation.with_name("tmp-" + generation.name)
    remove_tree(doomed)
    os.rename(generation, doomed)  # noqa: PTH104  # one syscall
    remove_tree(doomed)


def _ours(folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    """What we have made in a folder; foreign names are left alone."""
    if not folder.is_dir():
        return []
    found = sorted(child for child in folder.iterdir() if pattern.fullmatch(child.name))
    for child in found:
        if not stat.S_ISDIR(child.lstat().st_mode):
            raise Misuse(f"{child} must be a folder made by bhpt: move it away")
    return found


def _number(folder: Path) -> int:
    return int(folder.name.rpartition("-")[2])


def _index(value: int) -> int:
    if not isinstance(value, int) or value < 0:
        raise Misuse(f"a checkpoint path needs a whole number from 0, not {value!r}")
    return value
