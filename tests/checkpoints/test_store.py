import errno
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from bhpt.checkpoints import (
    Checkpoint,
    CheckpointStore,
    DiskFull,
    Generation,
    LocalFolder,
    UnsafeCheckpoint,
    is_disk_full,
    seal,
)
from bhpt.checkpoints.disk import unlock
from bhpt.checkpoints.manifest import Manifest
from bhpt.domain import Misuse


def save(folder: Path, text: str = "weights") -> None:
    (folder / "model.bin").write_text(text)
    (folder / "parts").mkdir()
    (folder / "parts" / "0").write_bytes(b"\x00\xff")
    (folder / "empty").mkdir()


def freeze(store: CheckpointStore, arm: int, attempt: int, epochs: int) -> Checkpoint:
    save(store.begin(arm, attempt), f"weights {attempt}")
    checkpoint = store.commit(arm, attempt, epochs)
    store.settled(checkpoint)
    store.finish()
    return checkpoint


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "study.files"


def test_what_is_committed_can_be_thawed(root: Path) -> None:
    store = CheckpointStore(LocalFolder(root))
    checkpoint = freeze(store, arm=12, attempt=45, epochs=3)
    assert (checkpoint.arm, checkpoint.generation, checkpoint.epochs) == (12, 1, 3)
    assert checkpoint.bytes == len("weights 45") + 2
    thawed = store.thaw(12)
    assert thawed.checkpoint == checkpoint
    assert thawed.damaged == ()
    assert thawed.folder == root / "arm-000012" / "gen-000001" / "files"
    assert (thawed.folder / "model.bin").read_text() == "weights 45"
    assert (thawed.folder / "empty").is_dir()


def test_an_arm_without_checkpoints_starts_from_nothing(root: Path) -> None:
    thawed = CheckpointStore(LocalFolder(root)).thaw(7)
    assert (thawed.checkpoint, thawed.folder, thawed.damaged) == (None, None, ())


def test_folders_are_private(root: Path) -> None:
    root.mkdir(mode=0o755)
    store = CheckpointStore(LocalFolder(root))
    freeze(store, 0, 1, 1)
    generation = root / "arm-000000" / "gen-000001"
    folders = (root, root / "arm-000000", generation, generation / "files")
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}
    assert stat.S_IMODE((generation / "manifest.json").stat().st_mode) == 0o600


def test_the_previous_generation_is_kept_until_the_new_one_is_logged(root: Path) -> None:
    store = CheckpointStore(LocalFolder(root), generations=1)
    first = freeze(store, 0, 1, 1)
    save(store.begin(0, 2))
    second = store.commit(0, 2, 2)
    store.finish()
    assert store.thaw(0).checkpoint == second
    assert store.folder(first).is_dir()
    store.settled(second)
    assert store.folder(first).is_dir()
    store.finish()
    assert store.thaw(0).checkpoint == second
    assert not store.folder(first).exists()


def test_only_the_newest_generations_are_kept(root: Path) -> None:
    store = CheckpointStore(LocalFolder(root), generations=2)
    made = [freeze(store, 0, attempt, attempt) for attempt in range(1, 5)]
    assert store.held == tuple(made[-2:])
    assert store.bytes == sum(one.bytes for one in made[-2:])
    assert sorted(folder.name for folder in (root / "arm-000000").iterdir()) == [
        "gen-000003",
        "gen-000004",
    ]


def test_settling_one_attempt_leaves_the_next_ones_folder_alone(root: Path) -> None:
    store = CheckpointStore(LocalFolder(root))
    first = store.begin(0, 1)
    save(first)
    checkpoint = store.commit(0, 1, 1)
    second = store.begin(0, 2)
    store.settled(checkpoint)
    store.finish()
    assert second.is_dir()


def test_opening_removes_what_the_log_does_not_know(root: Path) -> None:
    store = CheckpointStore(LocalFolder(root))
    logged = freeze(store, 0, 1, 1)
    save(store.begin(0, 2))
    store.commit(0, 2, 2)  # the driver is killed before this is logged
    save(store.begin(0, 3))
    save(store.begin(5, 4))
    (root / "notes.txt").write_text("not ours")
    again = CheckpointStore(LocalFolder(root), [logged])
    assert again.held == (logged,)
    assert [folder.name for folder in (root / "arm-000000").iterdir()] == ["gen-000001"]
    assert list((root / "arm-000005").iterdir()) == []
    assert (root / "notes.txt").exists()
    assert freeze(again, 0, 5, 2).generation == 2


def test_a_logged_checkpoint_that_is_gone_is_not_held(root: Path) -> None:
    gone = Checkpoint(0, 3, 3, "0" * 64, 1)
    assert CheckpointStore(LocalFolder(root), [gone]).held == ()


def test_reopening_keeps_the_newest_generations_of_the_whole_log(root: Path) -> None:
    store = CheckpointStore(LocalFolder(root))
    logged = [freeze(store, 0, attempt, attempt) for attempt in range(1, 6)]
    assert CheckpointStore(LocalFolder(root), logged).held == tuple(logged[-2:])


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 1)


def remove(file: Path) -> None:
    file.unlink()


def swap_for_link(file: Path) -> None:
    file.rename(file.with_suffix(".moved"))
    file.symlink_to(file.with_suffix(".moved"))


def add_beside(file: Path) -> None:
    (file.parent / "extra").write_text("x")


def grow(file: Path) -> None:
    with file.open("ab") as stream:
        stream.write(b"x")


DAMAGES = [flip, cut, remove, swap_for_link, grow]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["manifest.json", "files/model.bin", "files/parts/0"])
def test_a_damaged_checkpoint_is_passed_over(
    root: Path, damage: Callable[[Path], None], name: str
) -> None:
    store = CheckpointStore(LocalFolder(root))
    first, second = freeze(store, 0, 1, 1), freeze(store, 0, 2, 2)
    damage(store.folder(second).parent / name)
    thawed = store.thaw(0)
    assert thawed.checkpoint == first
    assert [one for one, _ in thawed.damaged] == [second]
    store.drop([second])
    assert store.thaw(0).damaged == ()


@pytest.mark.parametrize("name", ["files/model.bin", "files/parts/0"])
def test_an_added_file_is_damage(root: Path, name: str) -> None:
    store = CheckpointStore(LocalFolder(root))
    only = freeze(store, 0, 1, 1)
    add_beside(store.folder(only).parent / name)
    thawed = store.thaw(0)
    assert (thawed.checkpoint, thawed.folder) == (None, None)
    assert thawed.damaged[0][0] == only


def test_a_missing_empty_folder_is_damage(root: Path) -> None:
    store = CheckpointStore(LocalFolder(root))
    only = freeze(store, 0, 1, 1)
    (store.folder(only) / "empty").rmdir()
    assert store.thaw(0).checkpoint is None


def test_a_consistent_forgery_is_still_not_the_one_in_the_log(root: Path) -> None:
    store = CheckpointStore(LocalFolder(root))
    only = freeze(store, 0, 1, 1)
    (store.folder(only) / "model.bin").write_text("someone else's")
    seal(store.folder(only))
    assert store.thaw(0).checkpoint is None


def make_link(folder: Path) -> None:
    (folder / "link").symlink_to("/etc/passwd")


def make_link_to_folder(folder: Path) -> None:
    (folder / "link").symlink_to("..")


def make_pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe")


def become_link(folder: Path) -> None:
    folder.rmdir()
    folder.symlink_to("/etc")


@pytest.mark.parametrize("hostile", [make_link, make_link_to_folder, make_pipe, become_link])
def test_links_and_special_files_are_refused(root: Path, hostile: Callable[[Path], None]) -> None:
    store = CheckpointStore(LocalFolder(root))
    folder = store.begin(0, 1)
    hostile(folder)
    with pytest.raises(UnsafeCheckpoint):
        store.commit(0, 1, 1)
    store.discard(0, 1)
    assert list((root / "arm-000000").iterdir()) == []
    assert Path("/etc/passwd").exists()


def test_hostile_names_of_files_stay_inside(root: Path) -> None:
    store = CheckpointStore(LocalFolder(root))
    names = ["..x", "<script>", "a\nb", "-rf", " ", "\udcff", "manifest.json"]
    folder = store.begin(0, 1)
    for name in names:
        (folder / name).write_text(name.encode("utf-8", "surrogateescape").hex())
    store.settled(store.commit(0, 1, 1))
    thawed = store.thaw(0)
    assert thawed.folder is not None
    assert {path.name for path in thawed.folder.iterdir()} == set(names)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "", "a//b", ".", "a\0b"])
def test_a_manifest_that_leads_outside_is_refused(path: str) -> None:
    entry = {"path": path, "bytes": 1, "sha256": "0" * 64}
    content = json.dumps({"format": 1, "folders": [], "files": [entry]}).encode()
    with pytest.raises(UnsafeCheckpoint):
        Manifest.from_bytes(content)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"\xff", b'{"format": 1}', b'{"format": 2}']
)
def test_what_is_not_a_manifest_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # any of its kinds
        Manifest.from_bytes(content)


@pytest.mark.parametrize("arm", [-1, "../../x", "0", 1.5, None])
def test_paths_come_from_whole_numbers_only(root: Path, arm: object) -> None:
    with pytest.raises(Misuse, match="whole number"):
        CheckpointStore(LocalFolder(root)).begin(arm, 1)  # type: ignore[arg-type]


def test_an_arm_folder_that_is_a_link_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    root.mkdir()
    (root / "arm-000000").symlink_to(tmp_path / "outside")
    with pytest.raises(Misuse, match="move it away"):
        CheckpointStore(LocalFolder(root))


def test_a_root_that_is_a_file_is_refused(root: Path) -> None:
    root.write_text("mine")
    with pytest.raises(Misuse, match="move it away"):
        CheckpointStore(LocalFolder(root))
    assert root.read_text() == "mine"


def test_a_folder_that_forbids_its_removal_is_removed(root: Path) -> None:
    store = CheckpointStore(LocalFolder(root))
    folder = store.begin(0, 1)
    (folder / "locked").mkdir()
    (folder / "locked" / "x").write_text("x")
    (folder / "locked").chmod(0o500)
    unlock(folder)
    assert stat.S_IMODE((folder / "locked").stat().st_mode) == 0o700
    (folder / "locked").chmod(0o000)
    store.discard(0, 1)
    assert not folder.exists()


def test_a_removal_may_find_that_another_session_of_this_process_was_faster(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thread may still be removing what the next session removes when it opens."""
    freeze(CheckpointStore(LocalFolder(root)), 0, 1, 1)
    rename = os.rename

    def late(source: Path, target: Path) -> None:
        monkeypatch.setattr(os, "rename", rename)
        LocalFolder(root).remove(Generation(0, 1))
        rename(source, target)

    monkeypatch.setattr(os, "rename", late)
    store = CheckpointStore(LocalFolder(root))  # its log knows nothing of that checkpoint
    assert store.held == ()
    assert list((root / "arm-000000").iterdir()) == []


def test_a_checkpoint_that_goes_while_the_folder_is_listed_is_not_there(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = LocalFolder(root)
    freeze(CheckpointStore(place), 0, 1, 1)
    listed = {folder: list(folder.iterdir()) for folder in (root, root / "arm-000000")}
    place.remove(Generation(0, 1))
    monkeypatch.setattr(Path, "iterdir", lambda folder: iter(listed[folder]))
    assert place.contents() == frozenset()


def test_a_checkpoint_that_changed_after_its_seal_is_not_committed(root: Path) -> None:
    store = CheckpointStore(LocalFolder(root))
    folder = store.begin(0, 1)
    save(folder)
    seal(folder)
    (folder / "late").write_text("written by a child that was left running")
    with pytest.raises(UnsafeCheckpoint, match="changed"):
        store.commit(0, 1, 1)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_has_one_name_and_costs_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    store = CheckpointStore(LocalFolder(root))
    first = freeze(store, 0, 1, 1)
    save(store.begin(0, 2))

    def full(_descriptor: int) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(DiskFull, match="free some space"):
            store.commit(0, 2, 2)
    assert store.thaw(0).checkpoint == first
    assert store.commit(0, 2, 2).generation == 2  # with space again, it goes through


def test_a_full_disk_is_found_behind_other_errors() -> None:
    error = RuntimeError("writer failed")
    error.__cause__ = OSError(errno.ENOSPC, "no space")
    assert is_disk_full(error)
    assert not is_disk_full(RuntimeError("other"))


def test_everything_is_synced_before_the_rename_and_the_parent_after(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = CheckpointStore(LocalFolder(root))
    save(store.begin(0, 1))
    trace: list[str] = []
    fsync, rename = os.fsync, os.rename

    def traced_fsync(descriptor: int) -> None:
        trace.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    def traced_rename(source: Path, target: Path) -> None:
        trace.append("rename")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", traced_fsync)
    monkeypatch.setattr(os, "rename", traced_rename)
    store.commit(0, 1, 1)
    before, after = trace[: trace.index("rename")], trace[trace.index("rename") + 1 :]
    assert set(before) == {
        "model.bin",
        "0",
        "parts",
        "empty",
        "files",
        "manifest.json",
        "tmp-000001",
    }
    assert set(after) == {"arm-000000", "study.files"}


def test_drops_are_gone_for_good(root: Path) -> None:
    store = CheckpointStore(LocalFolder(root))
    first, second = freeze(store, 0, 1, 1), freeze(store, 1, 2, 1)
    assert store.bytes == first.bytes + second.bytes
    store.drop([first, first])
    store.finish()
    assert store.held == (second,)
    assert store.bytes == second.bytes
    assert not store.folder(first).exists()
    assert store.thaw(0).checkpoint is None


@pytest.mark.parametrize(("size", "by_worker"), [(100, False), (2 << 20, True)])
def test_a_large_checkpoint_is_synced_by_its_worker_a_small_one_when_it_is_committed(
    root: Path, monkeypatch: pytest.MonkeyPatch, size: int, by_worker: bool
) -> None:
    store = CheckpointStore(LocalFolder(root))
    folder = store.begin(0, 1)
    (folder / "model.bin").write_bytes(b"x" * size)
    synced: list[str] = []
    fsync = os.fsync

    def traced_fsync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", traced_fsync)
    seal(folder)
    assert ("model.bin" in synced) == by_worker
    synced.clear()
    store.commit(0, 1, 1)
    assert ("model.bin" in synced) == (not by_worker)
