"""A checkpoint on its way through Ray's object store, compared with its manifest on arrival.

Files travel in chunks, so that neither side holds a whole checkpoint in memory.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bhpt.checkpoints.disk import naming_full_disk, remove_tree, sync_all, write_private
from bhpt.checkpoints.manifest import FILES, MANIFEST, Manifest, read_manifest

if TYPE_CHECKING:
    from ray import ObjectRef

_CHUNK = 32 << 20


@dataclass(frozen=True, slots=True)
class Parcel:
    """A sealed checkpoint.

    Attributes:
        manifest: The bytes of its manifest.
        digest: Of these bytes.
        files: The chunks of each file, in the manifest's order.
    """

    manifest: bytes
    digest: str
    files: "tuple[tuple[ObjectRef[bytes], ...], ...]"


def pack(generation: Path) -> Parcel:
    """Put a sealed checkpoint into the object store.

    Args:
        generation: The folder with `files` and the manifest.
    """
    content = read_manifest(generation)
    files = tuple(
        _put_file(generation / FILES / entry.path) for entry in Manifest.from_bytes(content).files
    )
    return Parcel(content, hashlib.sha256(content).hexdigest(), files)


def unpack(parcel: Parcel, generation: Path) -> None:
    """Write a checkpoint to a folder, on the disk when this returns.

    Args:
        parcel: The checkpoint.
        generation: The folder for `files` and the manifest; what is there is replaced.

    Raises:
        ValueError: What arrived is not what was sent.
        DiskFull: There is no room.
        RayError: Chunks are gone with the node that had them.
    """
    if hashlib.sha256(parcel.manifest).hexdigest() != parcel.digest:
        raise ValueError("the manifest arrived damaged")
    manifest = Manifest.from_bytes(parcel.manifest)
    with naming_full_disk(generation):
        generation.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_tree(generation / FILES)
        (generation / FILES).mkdir(mode=0o700)
        for folder in manifest.folders:
            (generation / FILES / folder).mkdir(mode=0o700)
        for entry, chunks in zip(manifest.files, parcel.files, strict=True):
            if _write_file(generation / FILES / entry.path, chunks) != entry.sha256:
                raise ValueError(f"{entry.path!r} arrived damaged")
        write_private(generation / MANIFEST, parcel.manifest)
        sync_all(manifest.paths(generation))


def _put_file(path: Path) -> "tuple[ObjectRef[bytes], ...]":
    import ray

    chunks = []
    with path.open("rb") as file:
        while content := file.read(_CHUNK):
            chunks.append(ray.put(content))
    return tuple(chunks)


def _write_file(path: Path, chunks: "tuple[ObjectRef[bytes], ...]") -> str:
    """Write a new file from its chunks; the digest of what was written."""
    import ray

    digest = hashlib.sha256()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        for chunk in chunks:
            content = ray.get(chunk)
            digest.update(content)
            file.write(content)
    return digest.hexdigest()
