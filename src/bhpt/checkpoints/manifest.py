"""The seal of a checkpoint: a manifest with the size and SHA-256 of every file.

A generation looks like this; the trainer only ever sees `files`:

    gen-000003/manifest.json    {"format": 1, "folders": [...], "files": [{path, bytes, sha256}]}
    gen-000003/files/...        what the trainer saved, opaque

The digest of the manifest's bytes is what the study logs, so one hash in the log vouches for
every byte of the checkpoint.
"""

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bhpt.checkpoints.disk import naming_full_disk, sync_all, write_private

FILES = "files"
MANIFEST = "manifest.json"
_FORMAT = 1
_CHUNK = 1 << 20
_LARGEST_MANIFEST = 1 << 28
_SMALL = 1 << 20  # bytes of a checkpoint that is made durable when it is committed, not before
_DEEPEST = 100  # folders within folders; deeper ones are a mistake, and paths have an end


class UnsafeCheckpoint(ValueError):
    """A checkpoint holds what cannot be kept: a link, a device, or a path leading outside."""


@dataclass(frozen=True, slots=True)
class Seal:
    """What identifies a checkpoint: the digest of its manifest and how many bytes it holds."""

    digest: str
    bytes: int


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One regular file of a checkpoint, its path relative to `files`, in POSIX form."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that a checkpoint holds; the order is that of the paths."""

    folders: tuple[str, ...]
    files: tuple[ManifestEntry, ...]

    def to_bytes(self) -> bytes:
        """Canonical JSON: equal manifests have equal digests."""
        value = {
            "format": _FORMAT,
            "folders": list(self.folders),
            "files": [
                {"path": entry.path, "bytes": entry.bytes, "sha256": entry.sha256}
                for entry in self.files
            ],
        }
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")

    @classmethod
    def from_bytes(cls, content: bytes) -> "Manifest":
        """Read a manifest back.

        Raises:
            ValueError: It is not one of ours, or names a path outside of its folder.
        """
        value = json.loads(content)
        if not isinstance(value, dict) or value.get("format") != _FORMAT:
            raise ValueError("not a checkpoint manifest of a known format")
        try:
            folders = tuple(str(name) for name in value["folders"])
            files = tuple(
                ManifestEntry(str(file["path"]), int(file["bytes"]), str(file["sha256"]))
                for file in value["files"]
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"the manifest is incomplete: {error!r}") from None
        for path in (*folders, *(entry.path for entry in files)):
            _refuse_outside(path)
        return cls(folders, files)

    @property
    def bytes(self) -> int:
        """What its files hold."""
        return sum(entry.bytes for entry in self.files)

    def seal(self) -> Seal:
        """The identity of the checkpoint."""
        return Seal(hashlib.sha256(self.to_bytes()).hexdigest(), self.bytes)

    def unsynced(self, generation: Path) -> list[Path]:
        """What `seal` has left to be made durable in the folder of a generation.

        A small checkpoint is synced when it is committed, so that a worker does not wait for the
        disk; a large one by its worker, so that the driver does not wait.
        """
        return self.paths(generation) if self.bytes <= _SMALL else []

    def paths(self, generation: Path) -> list[Path]:
        """Every file and folder of a generation."""
        files = generation / FILES
        inside = (*self.folders, *(entry.path for entry in self.files))
        return [*(files / path for path in inside), files, generation / MANIFEST, generation]


def seal(files: Path) -> Seal:
    """Write the manifest of a freshly written checkpoint beside it, and make both durable.

    The worker calls this at the end of a unit, so that hashing happens in parallel and is part of
    the unit's cost. Waiting for the disk is, too, if the checkpoint is large; a small one is
    durable once it is committed (`Manifest.unsynced`).

    Args:
        files: The folder that the trainer wrote to; the manifest goes to its parent.

    Raises:
        UnsafeCheckpoint: It holds links or special files.
        DiskFull: There is no room.
    """
    with naming_full_disk(files):
        manifest = _measure(files)
        write_private(files.parent / MANIFEST, manifest.to_bytes())
        if not manifest.unsynced(files.parent):
            sync_all(manifest.paths(files.parent))
    return manifest.seal()


def copy_sealed(generation: Path, target: Path) -> None:
    """Copy a sealed checkpoint to a new folder, on the disk when this returns.

    Args:
        generation: The folder with the manifest; `verify` the copy, not this.
        target: Nothing may be there.

    Raises:
        ValueError: The folder does not hold what its manifest says.
        OSError: Something cannot be read or written.
    """
    manifest = read_sealed(generation)
    target.mkdir(mode=0o700)
    (target / FILES).mkdir(mode=0o700)
    for folder in manifest.folders:
        (target / FILES / folder).mkdir(mode=0o700)
    for entry in manifest.files:
        inside = target / FILES / entry.path
        shutil.copyfile(generation / FILES / entry.path, inside, follow_symlinks=False)
    write_private(target / MANIFEST, read_manifest(generation))
    sync_all(manifest.paths(target))


def read_sealed(generation: Path) -> Manifest:
    """The manifest of a generation folder, checked against names and sizes but not contents.

    Raises:
        ValueError: The manifest is not readable, or the folder does not hold what it says.
    """
    manifest = Manifest.from_bytes(read_manifest(generation))
    folders, files = _scan(generation / FILES)
    if files != [(entry.path, entry.bytes) for entry in manifest.files]:
        raise ValueError("the files are not those of the manifest")
    if folders != list(manifest.folders):
        raise ValueError("the folders are not those of the manifest")
    return manifest


def verify(generation: Path, digest: str) -> None:
    """Check every byte of a generation folder against the digest in the study's log.

    Raises:
        ValueError: Something is missing, added or changed.
        OSError: Something cannot be read.
    """
    content = read_manifest(generation)
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError("the manifest is not the one in the study's log")
    for entry in read_sealed(generation).files:
        if _hash(generation / FILES / entry.path) != entry.sha256:
            raise ValueError(f"{entry.path!r} has changed")


def is_whole(generation: Path, digest: str) -> bool:
    """Whether every byte of a checkpoint is there and as the study's log says."""
    try:
        verify(generation, digest)
    except (ValueError, OSError):
        return False
    return True


def _measure(files: Path) -> Manifest:
    """Hash every file; refuse what is not a plain file or folder."""
    folders, sizes = _scan(files)
    entries = [ManifestEntry(path, size, _hash(files / path)) for path, size in sizes]
    return Manifest(tuple(folders), tuple(entries))


def _scan(files: Path) -> tuple[list[str], list[tuple[str, int]]]:
    """Every folder, and every file with its size, in order."""
    found = sorted(_walk(files, PurePosixPath()), key=lambda pair: pair[0])
    folders = [path for path, info in found if stat.S_ISDIR(info.st_mode)]
    return folders, [(path, info.st_size) for path, info in found if stat.S_ISREG(info.st_mode)]


def _walk(folder: Path, inside: PurePosixPath) -> Iterator[tuple[str, os.stat_result]]:
    if not stat.S_ISDIR(folder.lstat().st_mode):
        raise UnsafeCheckpoint(f"{folder.name!r} is not a folder")
    if len(inside.parts) > _DEEPEST:
        raise UnsafeCheckpoint(f"the checkpoint has more than {_DEEPEST} folders in each other")
    with os.scandir(folder) as entries:
        for entry in entries:
            path = inside / entry.name
            info = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(info.st_mode):
                yield str(path), info
                yield from _walk(folder / entry.name, path)
            elif stat.S_ISREG(info.st_mode):
                yield str(path), info
            else:
                kind = "a symbolic link" if stat.S_ISLNK(info.st_mode) else "a special file"
                raise UnsafeCheckpoint(
                    f"{str(path)!r} in the checkpoint is {kind}: save plain files only"
                )


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def read_manifest(generation: Path) -> bytes:
    """The bytes of a generation's manifest, whose digest identifies the checkpoint.

    Raises:
        ValueError: It is too large to be one.
        OSError: It cannot be read.
    """
    descriptor = os.open(generation / MANIFEST, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(_LARGEST_MANIFEST + 1)
    if len(content) > _LARGEST_MANIFEST:
        raise ValueError("the manifest is too large to be one")
    return content


def _refuse_outside(path: str) -> None:
    parts = path.split("/")
    if "\0" in path or any(part in {"", ".", ".."} for part in parts):
        raise UnsafeCheckpoint(f"the manifest names {path!r}, which is not inside the checkpoint")
