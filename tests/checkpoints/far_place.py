"""A place that is not a folder: committed checkpoints are bytes under keys, as in a bucket."""

from dataclasses import dataclass, field
from pathlib import Path

from bhpt.checkpoints import Draft, Generation, LocalFolder, Seal
from bhpt.checkpoints.disk import remove_tree


@dataclass
class FarPlace:
    """Drafts are local, generations are uploaded when they are committed and fetched to be read."""

    near: Path
    bucket: dict[Generation, dict[str, bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._local = LocalFolder(self.near)

    def contents(self) -> frozenset[Generation]:
        for one in self._local.contents():
            self._local.remove(one)
        return frozenset(self.bucket)

    def begin(self, draft: Draft) -> Path:
        return self._local.begin(draft)

    def commit(self, draft: Draft, generation: Generation) -> Seal:
        seal = self._local.commit(draft, generation)
        folder = self._local.fetch(generation).parent
        files = [path for path in folder.rglob("*") if path.is_file()]
        self.bucket[generation] = {
            str(path.relative_to(folder)): path.read_bytes() for path in files
        }
        self._local.remove(generation)
        return seal

    def fetch(self, generation: Generation, digest: str | None = None) -> Path:
        if generation not in self.bucket:
            raise ValueError("it is not there")
        folder = self._local.fetch(generation).parent
        remove_tree(folder)
        for name, content in self.bucket[generation].items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        return self._local.fetch(generation, digest)

    def erase(self) -> None:
        self.bucket.clear()
        self._local.erase()

    def remove(self, one: Draft | Generation) -> None:
        if isinstance(one, Generation):
            self.bucket.pop(one, None)
        self._local.remove(one)
