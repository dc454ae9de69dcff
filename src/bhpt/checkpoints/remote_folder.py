"""Any fsspec path as the place where checkpoints lie: a bucket, a server, a shared folder.

    <url>/study.json                            whose checkpoints these are
    <url>/arm-000012/gen-000003/files/...       what the trainer saved
    <url>/arm-000012/gen-000003/manifest.json   written last: without it there is no generation

A local folder holds drafts and a copy of what was committed or fetched, so that nothing is
transferred twice to the same machine. Every object is read back and compared with its digest
after it was uploaded, and compared again after each download.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from bhpt.checkpoints.disk import DiskFull, naming_full_disk, remove_tree, write_private
from bhpt.checkpoints.local_folder import LocalFolder
from bhpt.checkpoints.manifest import FILES, MANIFEST, Manifest, ManifestEntry, Seal, read_manifest
from bhpt.checkpoints.place import Draft, Generation, PlaceAway
from bhpt.domain.errors import Misuse

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

MARK = "study.json"
PATIENCE_S = 30.0
"""How long a place that does not answer is asked again before the session pauses."""

_CHUNK = 1 << 20
_AT_ONCE = 8  # transfers side by side
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 5.0
_KEY = re.compile(r"arm-(\d{6,})/gen-(\d{6,})/(.+)")
_T = TypeVar("_T")


def is_remote(where: str) -> bool:
    """Whether a text names an fsspec path and not a local folder."""
    return "://" in where


def files_url(url: str, generation: Generation) -> str:
    """Where the files of a generation lie, for people; `url` is what `RemoteFolder` was given."""
    return "/".join((url.rstrip("/"), generation.inside, FILES))


def refuse_bad_url(url: str) -> None:
    """Refuse a path that no installed file system serves, or that holds a password.

    Raises:
        Misuse: One of these; nothing was asked of the server.
    """
    if urlsplit(url).password:
        raise Misuse(
            "the path of checkpoints is stored with the study and must not hold a password: "
            "put it where the file system looks for it, such as ~/.aws/credentials"
        )
    _file_system(url)


class RemoteFolder:
    """See `CheckpointPlace` for the contract.

    Args:
        url: An fsspec path that belongs to one study, such as `s3://bucket/team/net-1f2e`.
        local: Folder on this machine for drafts and copies.
        identity: Of the study; what another study has put at the path is never touched.
        patience_s: How long a place that does not answer is asked again; `PATIENCE_S` if None.
        sleep: Waits for so many seconds.
    """

    def __init__(
        self,
        url: str,
        local: Path,
        identity: str,
        patience_s: float | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url = url.rstrip("/")
        self._fs, self._root = _file_system(self._url)
        self._local = LocalFolder(local)
        self._identity = identity
        self._patience_s = PATIENCE_S if patience_s is None else patience_s
        self._sleep = sleep
        self._copied: set[Generation] = set()  # local copies that this process has made

    def contents(self) -> frozenset[Generation]:
        """List what is whole there or here, and remove what interrupted work left at both.

        Raises:
            Misuse: Another study's checkpoints lie there.
        """
        here = self._local.contents()
        keys = self._reached(self._keys)
        self._require_ours(keys)
        whole = {one for one, name in keys if name == MANIFEST}
        for one in {one for one, _ in keys} - whole:
            self._reached(partial(self._remove_objects, one))
        return frozenset(whole) | here

    def begin(self, draft: Draft) -> Path:
        """An empty local folder: a trainer writes to a disk, not over a network."""
        return self._local.begin(draft)

    def commit(self, draft: Draft, generation: Generation) -> Seal:
        """Upload and compare every file, then the manifest; then keep the local copy."""
        sealed = self._local.seal_draft(draft)
        folder = self._local.path(draft)
        manifest = Manifest.from_bytes(read_manifest(folder))
        self._reached(lambda: self._upload(folder, manifest, generation))
        try:
            self._local.commit(draft, generation)
        except BaseException:
            self._reached(lambda: self._remove_objects(generation))
            raise
        self._copied.add(generation)
        return sealed

    def fetch(self, generation: Generation, digest: str | None = None) -> Path:
        """The local copy if that is known to be this generation, else a new one from the place.

        A copy of an earlier session counts only if its digest is asked for: another machine may
        have used the same number for another checkpoint since.
        """
        known = digest is not None or generation in self._copied
        if known and self._local.path(generation).is_dir():
            try:
                return self._local.fetch(generation, digest)
            except (ValueError, OSError):
                pass  # the copy of this machine is damaged; the place may have a whole one
        self._reached(lambda: self._download(generation, digest))
        self._copied.add(generation)
        return self._local.fetch(generation)

    def remove(self, one: Draft | Generation) -> None:
        """Remove it there and then here."""
        if isinstance(one, Generation):
            self._reached(lambda: self._remove_objects(one))
            self._copied.discard(one)
        self._local.remove(one)

    def erase(self) -> None:
        """Remove all that the study has there, for good.

        Raises:
            Misuse: Another study's checkpoints lie there.
        """
        for one in self.contents():
            self.remove(one)
        self._reached(self._remove_root)

    def _remove_root(self) -> None:
        with suppress(FileNotFoundError):
            self._fs.rm(self._root, recursive=True)

    def _keys(self) -> list[tuple[Generation, str]]:
        """Every object of every generation: which generation, and its name within."""
        self._fs.invalidate_cache()
        found = []
        for path in self._fs.find(self._root):
            matched = _KEY.fullmatch(str(path)[len(self._root) :].lstrip("/"))
            if matched is not None:
                found.append((Generation(int(matched[1]), int(matched[2])), matched[3]))
        return found

    def _require_ours(self, keys: list[tuple[Generation, str]]) -> None:
        """Check the mark of the path, or make it if nothing is there yet."""
        mark = self._reached(self._read_mark)
        if mark is None and not keys:
            content = json.dumps({"identity": self._identity}).encode()
            self._reached(lambda: self._put_bytes(self._key(MARK), content))
        elif mark != self._identity:
            raise Misuse(
                f"{self._url} holds checkpoints that are not known to be this study's: "
                "move them away, or name another path"
            )

    def _read_mark(self) -> str | None:
        try:
            fields = json.loads(self._fs.cat_file(self._key(MARK)))
        except FileNotFoundError:
            return None
        except ValueError:
            return ""
        return str(fields.get("identity", "")) if isinstance(fields, dict) else ""

    def _upload(self, folder: Path, manifest: Manifest, generation: Generation) -> None:
        """Put the files of a sealed folder there, compared one by one, the manifest last."""
        self._remove_objects(generation)
        self._fs.makedirs(self._key(generation, FILES), exist_ok=True)
        for inside in manifest.folders:
            self._fs.makedirs(self._key(generation, FILES, inside), exist_ok=True)

        def put(entry: ManifestEntry) -> None:
            key = self._key(generation, FILES, entry.path)
            self._fs.put_file(str(folder / FILES / entry.path), key)
            self._settle(key)
            self._compare(key, entry.sha256)

        _side_by_side(put, manifest.files)
        self._put_bytes(self._key(generation, MANIFEST), read_manifest(folder))

    def _put_bytes(self, key: str, content: bytes) -> None:
        self._fs.makedirs(key.rpartition("/")[0], exist_ok=True)
        self._fs.pipe_file(key, content)
        self._settle(key)
        self._compare(key, hashlib.sha256(content).hexdigest())

    def _settle(self, key: str) -> None:
        """Wait for the disk where the file system is a mounted one; servers do so themselves."""
        if "file" in _protocols(self._fs):
            for path in (Path(key), Path(key).parent):
                descriptor = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)

    def _compare(self, key: str, sha256: str) -> None:
        """Read an object back.

        Raises:
            OSError: It is not what was sent; sent again while there is patience.
        """
        digest = hashlib.sha256()
        with self._fs.open(key, "rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
        if digest.hexdigest() != sha256:
            raise OSError(f"{key} is not what was sent there")

    def _download(self, generation: Generation, digest: str | None) -> None:
        """Bring a generation here under its name, every byte compared."""
        content = self._fs.cat_file(self._key(generation, MANIFEST))
        if digest is not None and hashlib.sha256(content).hexdigest() != digest:
            raise ValueError("the manifest is not the one in the study's log")
        manifest = Manifest.from_bytes(content)
        target = self._local.path(generation)
        temporary = target.with_name(f"tmp-{target.name}")
        remove_tree(temporary)
        (temporary / FILES).mkdir(parents=True, mode=0o700)
        for inside in manifest.folders:
            (temporary / FILES / inside).mkdir(mode=0o700)
        write_private(temporary / MANIFEST, content)
        _side_by_side(
            lambda entry: self._take(generation, entry, temporary / FILES / entry.path),
            manifest.files,
        )
        remove_tree(target)
        temporary.rename(target)

    def _take(self, generation: Generation, entry: ManifestEntry, target: Path) -> None:
        """Copy one object to a new private file and compare it.

        Raises:
            ValueError: It is not what the manifest says.
        """
        digest = hashlib.sha256()
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        key = self._key(generation, FILES, entry.path)
        with os.fdopen(descriptor, "wb") as copy, self._fs.open(key, "rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                copy.write(chunk)
        if digest.hexdigest() != entry.sha256:
            raise ValueError(f"{entry.path!r} has changed")

    def _remove_objects(self, generation: Generation) -> None:
        """Remove the manifest first, so that no half of a generation is ever taken for one."""
        root = self._key(generation)
        with suppress(FileNotFoundError):  # it was never whole, or its removal was interrupted
            self._fs.rm_file(self._key(generation, MANIFEST))
        self._fs.invalidate_cache()
        with suppress(FileNotFoundError):  # a removal in another thread was faster
            if self._fs.exists(root):
                self._fs.rm(root, recursive=True)

    def _key(self, one: Generation | str, *names: str) -> str:
        """The path of an object; the parts that are not integers come from a checked manifest."""
        inside = one.inside if isinstance(one, Generation) else one
        return "/".join((self._root, inside, *names))

    def _reached(self, verb: Callable[[], _T]) -> _T:
        """Do something at the place, again and again while it is away and patience lasts.

        Raises:
            PlaceAway: It stayed away.
            FileNotFoundError: It answers, and what is asked for is not there.
            ValueError: It answers with something else than was put there.
            DiskFull: The disk of this machine is full, or the mounted one.
        """
        waited, pause = 0.0, _FIRST_PAUSE_S
        while True:
            try:
                with naming_full_disk(Path(self._root)):
                    return verb()
            except (FileNotFoundError, ValueError, DiskFull):
                raise
            except Exception as error:  # the boundary to any file system: errors of any class
                if waited >= self._patience_s:
                    line = " ".join(str(error).split())[:200] or type(error).__name__
                    raise PlaceAway(
                        f"the checkpoints at {self._url} cannot be reached ({line}): "
                        "nothing is lost, resume when they can"
                    ) from error
            self._sleep(pause)
            waited, pause = waited + pause, min(2 * pause, _LONGEST_PAUSE_S)


def _side_by_side(do: Callable[[ManifestEntry], None], entries: Iterable[ManifestEntry]) -> None:
    """Do it with every file, several at once; the first error is raised."""
    files = tuple(entries)
    if len(files) < 2:
        for entry in files:
            do(entry)
        return
    with ThreadPoolExecutor(min(len(files), _AT_ONCE), "bhpt-transfer") as pool:
        list(pool.map(do, files))


def _file_system(url: str) -> "tuple[AbstractFileSystem, str]":
    """The file system of an fsspec path, and the path within it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise Misuse(f"checkpoints at {url} need fsspec: pip install 'bhpt[remote]'") from None
    try:
        found, root = url_to_fs(url, use_listings_cache=False, skip_instance_cache=True)
    except ImportError as error:
        raise Misuse(f"checkpoints at {url} need another package: {error}") from None
    except ValueError as error:
        raise Misuse(f"checkpoints cannot lie at {url}: {error}") from None
    return found, str(root).rstrip("/")


def _protocols(file_system: "AbstractFileSystem") -> tuple[str, ...]:
    named = file_system.protocol
    return (named,) if isinstance(named, str) else tuple(named)
