"""Where checkpoints lie: the verbs that a study needs of a folder, a bucket or a server.

A checkpoint is written to a local folder by the attempt that trains (a draft), and then becomes a
generation of its arm. Paths or keys come from the integers in `Draft` and `Generation` only, so no
name can reach another's files. A place keeps no records: which generations count is in the
study's log, and `CheckpointStore` compares the two.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bhpt.checkpoints.manifest import Seal


@dataclass(frozen=True, slots=True)
class Draft:
    """A checkpoint that an attempt is writing; nothing vouches for it."""

    arm: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Generation:
    """A committed checkpoint of an arm, counted from 1; it never changes."""

    arm: int
    generation: int

    @property
    def inside(self) -> str:
        """Its path within a place."""
        return f"arm-{self.arm:06d}/gen-{self.generation:06d}"


class PlaceAway(RuntimeError):
    """The place does not answer or denies access; whether anything there is damaged is unknown."""


class CheckpointPlace(Protocol):
    """The contract: begin, commit, fetch, remove, erase, and the contents when a study is opened.

    Every verb may raise `PlaceAway` where the place is not on this machine.
    """

    def contents(self) -> frozenset[Generation]:
        """Make the place ready, remove drafts and half-removed generations, list the others."""
        ...

    def begin(self, draft: Draft) -> Path:
        """An empty local folder named `files`, private to its user, for a trainer to write to.

        Raises:
            DiskFull: There is no room even for that.
        """
        ...

    def commit(self, draft: Draft, generation: Generation) -> Seal:
        """Make a draft a generation: whole and durable when this returns, or not there at all.

        A draft whose writer did not seal it is sealed here.

        Raises:
            DiskFull: There is no room; the generations before are untouched.
            UnsafeCheckpoint: It holds links or special files, or changed after it was sealed.
        """
        ...

    def fetch(self, generation: Generation, digest: str | None = None) -> Path:
        """The local folder `files` of a generation, with its manifest beside it.

        Args:
            generation: Which one.
            digest: Of its manifest; with it every byte is checked, without it none is.

        Raises:
            ValueError: Something is missing, added or changed.
            OSError: Something cannot be read.
        """
        ...

    def remove(self, one: Draft | Generation) -> None:
        """Remove it for good; nothing happens if it is not there. May be called from a thread."""
        ...

    def erase(self) -> None:
        """Remove all that the study has there, for good; it is not used any more."""
        ...
