"""The files of a study beside its log: checkpoints, a copy of the best, what workers printed."""

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bhpt.checkpoints import Checkpoint, Generation
from bhpt.checkpoints.disk import (
    make_private,
    naming_full_disk,
    prepare_root,
    refuse_elsewhere,
    remove_tree,
    sync,
)
from bhpt.checkpoints.manifest import FILES, copy_sealed, is_whole, read_manifest
from bhpt.domain import Misuse, Saved
from bhpt.storage import Address
from bhpt.study.state import Best, State
from bhpt.tuning.folder_mark import NAME as MARK
from bhpt.tuning.folder_mark import FolderMark

_KEPT = re.compile(r"attempt-(\d{6,})")
_SERVERS = Path(".bhpt")  # in the current folder: the files of studies on servers
_LONGEST_NAME = 60
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class StudyFolder:
    """Where a study's files lie.

    Attributes:
        root: Private to its user.
    """

    root: Path

    @classmethod
    def new(cls, address: Address, identity: str) -> "StudyFolder":
        """Beside the study's file, whichever link leads to it, or under `.bhpt` by identity.

        Names on a server are no names of folders: two databases may have the same ones.

        Raises:
            Misuse: The system has no such names, as they are too long.
        """
        if address.file is not None:
            try:
                linked = address.file.is_symlink()
            except OSError as error:
                name = f"{address.file.name:.40}…"
                raise Misuse(f"a study cannot be called {name}: {error.strerror}") from None
            file = address.file.resolve() if linked else address.file
            return cls(file.with_name(f"{file.name}.files"))
        return cls(_SERVERS / f"{path_part(address.study)}-{identity}")

    @classmethod
    def find(
        cls, address: Address, identity: str, logged: Sequence[Checkpoint] = ()
    ) -> "StudyFolder":
        """The folder of a study that exists.

        Earlier versions put it beside a link to the study's file, or under the study's name; such
        a folder is taken if it is known to be this study's.
        """
        folder = cls.new(address, identity)
        before = cls._of_early_versions(address)
        if before.root == folder.root or os.path.lexists(folder.root):
            return folder
        return before if before.is_of(identity, logged) else folder

    @classmethod
    def _of_early_versions(cls, address: Address) -> "StudyFolder":
        """Beside the name by which the file was reached, or under the study's name."""
        if address.file is not None:
            return cls(address.file.with_name(f"{address.file.name}.files"))
        return cls(_SERVERS / _UNSAFE.sub("_", address.study))

    @property
    def checkpoints(self) -> Path:
        """One folder an arm."""
        return self.root / "checkpoints"

    @property
    def logs(self) -> Path:
        """One file a worker slot."""
        return self.root / "logs"

    @property
    def best(self) -> Path:
        """The checkpoint of the best loss, kept when its arm trains on."""
        return self.root / "best"

    def is_of(self, identity: str, logged: Sequence[Checkpoint]) -> bool:
        """Whether this folder is known to be that of a study.

        Args:
            identity: Of the study.
            logged: Checkpoints in its log: without a mark, one of them here is proof.
        """
        mark = FolderMark.read(self.root)
        if mark is not None:
            return mark.identity == identity
        return any(self._holds(one) for one in logged)

    @property
    def holds_checkpoints(self) -> bool:
        """Whether any study has put a checkpoint here."""
        arms = self.checkpoints.is_dir() and any(self.checkpoints.glob("arm-*/gen-*"))
        kept = self.best.is_dir() and any(self.best.iterdir())
        return arms or kept

    @property
    def is_marked(self) -> bool:
        """Whether any study has put its mark here, readable or not."""
        return os.path.lexists(self.root / MARK)

    def present(self, logged: Sequence[Checkpoint]) -> int:
        """How many of the logged checkpoints are here, whole or not."""
        return sum(self.generation(one).is_dir() for one in logged)

    def set_aside(self) -> Path:
        """Rename the folder, so that nothing in it is lost and another can be made; its new name.

        Raises:
            Misuse: It cannot be renamed.
        """
        number = 1
        while os.path.lexists(aside := self.root.with_name(f"{self.root.name}.aside-{number}")):
            number += 1
        try:
            self.root.rename(aside)
        except OSError as error:
            raise Misuse(f"cannot set {self.root} aside: {error.strerror}") from None
        return aside

    def _holds(self, one: Checkpoint) -> bool:
        """Whether a checkpoint is here with the manifest that is in the log."""
        try:
            content = read_manifest(self.generation(one))
        except (ValueError, OSError):
            return False
        return hashlib.sha256(content).hexdigest() == one.digest

    def generation(self, one: Checkpoint) -> Path:
        """The folder of a committed checkpoint."""
        return self.checkpoints / Generation(one.arm, one.generation).inside

    def require_writable(self) -> None:
        """Refuse a place where nothing can be written, before anything is.

        Raises:
            Misuse: The nearest folder that exists is not one, or not ours to write to, or a link
                would lead what is written elsewhere.
        """
        for folder in (self.root, self.checkpoints, self.best, self.logs):
            refuse_elsewhere(folder)
        there = next(path for path in self.root.absolute().parents if os.path.lexists(path))
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            raise Misuse(f"cannot write to {there}: name another place for the study")

    def prepare(self) -> None:
        """Make the folder, private to its user."""
        prepare_root(self.root)

    def best_checkpoint(self, best: Best | None) -> Path | None:
        """The files of the best checkpoint, every byte checked; None if there are none.

        That is the copy that was kept, or the checkpoint of its arm if that is still there.
        """
        if best is None or best.saved is None:
            return None
        if self.has_best_copy(best):
            return self.best_copy(best) / FILES
        own = self.generation(checkpoint_of(best.arm, best.saved))
        return own / FILES if is_whole(own, best.saved.digest) else None

    def has_best_copy(self, best: Best) -> bool:
        """Whether the copy of the best checkpoint is there, every byte checked."""
        return best.saved is not None and is_whole(self.best_copy(best), best.saved.digest)

    def best_copy(self, best: Best) -> Path:
        """Where the copy of the best checkpoint is, with its manifest, once it was made."""
        return self.best / best_name(best)

    def keep_best(self, best: Best, generation: Path) -> None:
        """Keep a copy of the best checkpoint, and let go of the one before.

        The copy shares nothing with the arm's checkpoint, so that no damage to one harms the
        other. It takes its name once every byte is checked; a checkpoint that is damaged already
        replaces nothing.

        Args:
            best: What was found.
            generation: The committed folder with its manifest.
        """
        if best.saved is None:
            return
        target = self.best_copy(best)
        if not self.has_best_copy(best) and not self._copied(best, generation):
            return
        for other in self.best.iterdir():
            if other != target and (_KEPT.fullmatch(other.name) or other.name.startswith("tmp-")):
                remove_tree(other)

    def _copied(self, best: Best, generation: Path) -> bool:
        """Copy a generation to its name among the best; says whether the copy is whole."""
        make_private(self.best)
        target, temporary = self.best_copy(best), self.best / f"tmp-{best.attempt:06d}"
        remove_tree(temporary)
        with naming_full_disk(self.best):
            try:
                copy_sealed(generation, temporary)
            except (ValueError, FileNotFoundError):
                remove_tree(temporary)
                return False
            except OSError:
                remove_tree(temporary)  # what is there of it may be all the room there was
                raise
            if best.saved is None or not is_whole(temporary, best.saved.digest):
                remove_tree(temporary)
                return False
            remove_tree(target)
            os.rename(temporary, target)  # noqa: PTH104  # one syscall
            sync(self.best)
        return True


def logged_checkpoints(state: State) -> list[Checkpoint]:
    """The checkpoints in a study's log that were not dropped, arm by arm in order."""
    return [checkpoint_of(arm, one) for arm, known in state.tried.items() for one in known.saved]


def checkpoint_of(arm: int, saved: Saved) -> Checkpoint:
    """A logged checkpoint of an arm."""
    return Checkpoint(arm, saved.generation, saved.epochs, saved.digest, saved.bytes)


def path_part(name: str) -> str:
    """A study's name as a part of a path, of any system and not too long."""
    return _UNSAFE.sub("_", name)[:_LONGEST_NAME]


def best_name(best: Best) -> str:
    """The name of a kept best checkpoint within `StudyFolder.best`."""
    return f"attempt-{best.attempt:06d}"
