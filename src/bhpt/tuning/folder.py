"""The files of a study beside its log: checkpoints, the best one, what workers printed."""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from bhpt.checkpoints import Checkpoint
from bhpt.checkpoints.disk import (
    make_private,
    prepare_root,
    refuse_elsewhere,
    remove_tree,
    sync,
)
from bhpt.checkpoints.manifest import FILES, verify
from bhpt.domain import Misuse, Saved
from bhpt.storage import Address
from bhpt.study.state import Best, State

_KEPT = re.compile(r"attempt-(\d{6,})")


@dataclass(frozen=True, slots=True)
class StudyFolder:
    """Where a study's files lie.

    Attributes:
        root: Private to its user.
    """

    root: Path

    @classmethod
    def of(cls, address: Address) -> "StudyFolder":
        """Beside the study's file, or under `.bhpt` for a study on a server."""
        if address.file is not None:
            return cls(address.file.with_name(f"{address.file.name}.files"))
        safe = re.sub(r"[^A-Za-z0-9_-]", "_", address.study)
        return cls(Path(".bhpt") / safe)

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

    def require_writable(self) -> None:
        """Refuse a place where nothing can be written, before anything is.

        Raises:
            Misuse: The nearest folder that exists is not one, or not ours to write to, or a link
                would lead what is written elsewhere.
        """
        refuse_elsewhere(self.root)
        there = next(path for path in self.root.absolute().parents if os.path.lexists(path))
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            raise Misuse(f"cannot write to {there}: name another place for the study")

    def prepare(self) -> None:
        """Make the folder, private to its user."""
        prepare_root(self.root)

    def best_checkpoint(self, best: Best | None) -> Path | None:
        """The files of the best checkpoint, every byte checked; None if there are none."""
        if best is None or best.saved is None:
            return None
        folder = self.best / _name(best)
        try:
            verify(folder, best.saved.digest)
        except (ValueError, OSError):
            return None
        return folder / FILES

    def keep_best(self, best: Best, generation: Path) -> None:
        """Keep the best checkpoint under a name of its own, and let go of the one before.

        The files are linked, not copied: nothing ever writes to a committed checkpoint.

        Args:
            best: What was found.
            generation: The committed folder with its manifest.
        """
        target = self.best / _name(best)
        if not target.exists():
            make_private(self.best)
            temporary = self.best / f"tmp-{best.attempt:06d}"
            remove_tree(temporary)
            shutil.copytree(generation, temporary, copy_function=os.link)
            os.rename(temporary, target)  # noqa: PTH104  # one syscall
            sync(self.best)
        for other in self.best.iterdir():
            if other != target and (_KEPT.fullmatch(other.name) or other.name.startswith("tmp-")):
                remove_tree(other)


def logged_checkpoints(state: State) -> list[Checkpoint]:
    """The checkpoints in a study's log that were not dropped, arm by arm in order."""
    return [checkpoint_of(arm, one) for arm, known in state.tried.items() for one in known.saved]


def checkpoint_of(arm: int, saved: Saved) -> Checkpoint:
    """A logged checkpoint of an arm."""
    return Checkpoint(arm, saved.generation, saved.epochs, saved.digest, saved.bytes)


def _name(best: Best) -> str:
    return f"attempt-{best.attempt:06d}"
