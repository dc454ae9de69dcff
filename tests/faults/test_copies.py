"""Copies, other routes and orphaned folders: nothing is forgotten, nothing foreign is removed."""

import os
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from bhpt.cli.doctor import study_findings
from bhpt.domain import Misuse
from bhpt.storage import create_store, open_store, peek_store, read_store
from bhpt.study import fold
from bhpt.study.events import CheckpointDropped
from bhpt.testing.event_logs import FIRST, notes
from bhpt.tuning import Options, resume, tune
from bhpt.tuning.archive import write_archive
from bhpt.tuning.folder import StudyFolder
from bhpt.tuning.folder_mark import FolderMark
from tests.faults.cases import ROOT, Drivers, events_of, eventually, has_reports, sound
from tests.storage.conftest import postgres_url  # noqa: F401  # a fixture
from tests.study.cases import Greedy
from tests.tuning.trainers import Net, generator

_CONFIGS = [{"x": 0.2}, {"x": 0.4}, {"x": 0.9}]
_HOW = {"policy": Greedy(), "options": Options(grace_s=1.0)}


def _made(where: str | Path, budget: str = "6 epochs") -> None:
    tune(Net, _CONFIGS, budget, 1, where, max_epochs=20, **_HOW)  # type: ignore[arg-type]


def _files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))  # a reader makes these
    }


def _checkpoints(root: Path) -> dict[str, bytes]:
    return {name: content for name, content in _files(root).items() if "/files/" in name}


_KILLED = """
import os, signal, sys, time
from bhpt.storage import open_store
from bhpt.testing.event_logs import notes
store = open_store(sys.argv[1])
for number in range(40):
    store.append(notes(f"{number}"), 2 + number)
time.sleep(float(sys.argv[2]))
store.renew(1.0)
os.kill(os.getpid(), signal.SIGKILL)
"""


def _killed(file: Path, wait: float) -> None:
    done = subprocess.run([sys.executable, "-c", _KILLED, str(file), str(wait)], check=False)
    assert done.returncode == -signal.SIGKILL


def test_acknowledged_events_reach_the_main_file_soon(tmp_path: Path) -> None:
    create_store(tmp_path / "a.db", FIRST).close()
    _killed(tmp_path / "a.db", 1.1)
    shutil.copyfile(tmp_path / "a.db", tmp_path / "copy.db")  # without its -wal
    with read_store(tmp_path / "copy.db") as reader:
        assert len(reader.read()) == 42


def test_a_start_brings_everything_to_the_main_file(tmp_path: Path) -> None:
    create_store(tmp_path / "a.db", FIRST).close()
    _killed(tmp_path / "a.db", 0.0)
    with open_store(tmp_path / "a.db"):
        shutil.copyfile(tmp_path / "a.db", tmp_path / "copy.db")
    with read_store(tmp_path / "copy.db") as reader:
        assert len(reader.read()) == 42


def test_an_end_brings_everything_to_the_main_file_though_somebody_reads(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    create_store(file, FIRST).close()
    with peek_store(file) as reader:
        assert reader.head().position == 2
        with open_store(file) as store:
            store.append(notes("a", "b"), 2)
        shutil.copyfile(file, tmp_path / "copy.db")
    with read_store(tmp_path / "copy.db") as reader:
        assert len(reader.read()) == 4


def test_a_study_behind_its_folder_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "net.db"
    _made(file)
    shutil.copyfile(file, tmp_path / "older.db")
    resume(file, "4 epochs", **_HOW)  # type: ignore[arg-type]
    shutil.copyfile(tmp_path / "older.db", file)
    before = _files(tmp_path)
    with pytest.raises(Misuse, match=r"-wal file.*--without-checkpoints"):
        resume(file, **_HOW)  # type: ignore[arg-type]
    ill = [found for found in study_findings(str(file)) if found.sound is False]
    assert [found.what for found in ill][:1] == ["folder"]
    assert _files(tmp_path) == before


def test_a_cut_write_ahead_log_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "net.db"
    _made(file)
    wal, folder = tmp_path / "net.db-wal", StudyFolder(tmp_path / "net.db.files")
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "import bhpt.storage.store as s; s._WRITE_BACK_S = 1e9\n"
        "from bhpt.storage import open_store; from bhpt.testing.event_logs import notes\n"
        "from bhpt.tuning.folder_mark import MarkedLog\n"
        "store = open_store(sys.argv[1]); log = MarkedLog(store, Path(sys.argv[2]))\n"
        "at = len(store.read())\n"
        "for n in range(20): log.append(notes(str(n)), at + n)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(file), str(folder.root)], check=False)
    whole = wal.read_bytes()
    kept = tmp_path / "kept"
    kept.mkdir()
    shutil.copyfile(file, kept / "net.db")
    shutil.copytree(folder.root, kept / "net.db.files")
    for cut in range(100, len(whole) - 4200, len(whole) // 7):
        flipped = whole[:cut] + bytes([whole[cut] ^ 1]) + whole[cut + 1 :]
        for damaged in (whole[:cut], flipped):
            (kept / "net.db-shm").unlink(missing_ok=True)
            (kept / "net.db-wal").write_bytes(damaged)
            with pytest.raises(Misuse, match="has seen"):
                resume(kept / "net.db", **_HOW)  # type: ignore[arg-type]
            assert (kept / "net.db-wal").read_bytes() == damaged
    (kept / "net.db-wal").write_bytes(whole)
    (kept / "net.db-shm").unlink(missing_ok=True)
    resume(kept / "net.db", **_HOW)  # type: ignore[arg-type]


def test_a_folder_of_another_study_is_refused_and_kept(tmp_path: Path) -> None:
    _made(tmp_path / "a.db")
    _made(tmp_path / "b.db")
    shutil.rmtree(tmp_path / "b.db.files")
    (tmp_path / "a.db.files").rename(tmp_path / "b.db.files")
    before = _checkpoints(tmp_path)
    with pytest.raises(Misuse, match="another study"):
        resume(tmp_path / "b.db", "4 epochs", **_HOW)  # type: ignore[arg-type]
    assert _checkpoints(tmp_path) == before


def test_an_orphaned_folder_is_not_wiped_by_a_new_study(tmp_path: Path) -> None:
    _made(tmp_path / "net.db")
    (tmp_path / "net.db").unlink()
    before = _files(tmp_path)
    with pytest.raises(Misuse, match="holds checkpoints of another study"):
        _made(tmp_path / "net.db")
    assert _files(tmp_path) == before


def test_all_checkpoints_missing_means_the_wrong_place(tmp_path: Path) -> None:
    _made(tmp_path / "net.db")
    before = events_of(tmp_path / "net.db")
    (tmp_path / "net.db.files").rename(tmp_path / "elsewhere")
    with pytest.raises(Misuse, match=f"they were in {tmp_path / 'net.db.files'}"):
        resume(tmp_path / "net.db", "4 epochs", **_HOW)  # type: ignore[arg-type]
    assert events_of(tmp_path / "net.db") == before
    (tmp_path / "elsewhere").rename(tmp_path / "net.db.files")
    resume(tmp_path / "net.db", "4 epochs", **_HOW)  # type: ignore[arg-type]
    assert not _dropped(tmp_path / "net.db")


def _dropped(file: Path) -> list[object]:
    return [event for event in events_of(file) if isinstance(event, CheckpointDropped)]


def test_without_checkpoints_sets_the_folder_aside_and_goes_on(tmp_path: Path) -> None:
    _made(tmp_path / "net.db")
    shutil.rmtree(tmp_path / "net.db.files" / "checkpoints")
    kept = _checkpoints(tmp_path / "net.db.files" / "best")
    notes_: list[str] = []
    resume(
        tmp_path / "net.db",
        "4 epochs",
        without_checkpoints=True,
        note=notes_.append,
        **_HOW,  # type: ignore[arg-type]
    )
    assert _dropped(tmp_path / "net.db")
    assert sound(tmp_path / "net.db").reports > 6
    assert _checkpoints(tmp_path / "net.db.files.aside-1" / "best") == kept
    assert "aside-1" in notes_[0]


def test_a_link_to_a_study_leads_to_its_checkpoints(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    _made(tmp_path / "runs" / "net.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "runs" / "net.db")
    resume(tmp_path / "link.db", "4 epochs", **_HOW)  # type: ignore[arg-type]
    assert not (tmp_path / "link.db.files").exists()
    assert not _dropped(tmp_path / "runs" / "net.db")
    resume(tmp_path / "runs" / "net.db", "2 epochs", **_HOW)  # type: ignore[arg-type]
    assert not _dropped(tmp_path / "runs" / "net.db")


def test_a_folder_of_before_of_a_trainer_that_saves_nothing_is_still_found(tmp_path: Path) -> None:
    arms = [{"x": 0.2}]
    tune(generator, arms, "3 epochs", 1, tmp_path / "g.db", max_epochs=9, **_HOW)  # type: ignore[arg-type]
    (tmp_path / "g.db.files" / "study.json").unlink()
    result = resume(tmp_path / "g.db", "6 epochs", **_HOW)  # type: ignore[arg-type]
    assert result.state.reports > 3


def test_a_folder_of_before_without_a_mark_is_still_found(tmp_path: Path) -> None:
    _made(tmp_path / "net.db")
    (tmp_path / "net.db.files" / "study.json").unlink()
    resume(tmp_path / "net.db", "2 epochs", **_HOW)  # type: ignore[arg-type]
    assert not _dropped(tmp_path / "net.db")
    assert (tmp_path / "net.db.files" / "study.json").is_file()


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b'{"identity": 1}', b"\xff"])
def test_a_damaged_mark_is_no_proof_and_is_written_anew(tmp_path: Path, content: bytes) -> None:
    _made(tmp_path / "net.db")
    (tmp_path / "net.db.files" / "study.json").write_bytes(content)
    resume(tmp_path / "net.db", "2 epochs", **_HOW)  # type: ignore[arg-type]
    assert not _dropped(tmp_path / "net.db")


def test_no_flipped_bit_makes_a_mark_speak_against_its_study(tmp_path: Path) -> None:
    mark = FolderMark("0123abcd", 87, "ef" * 32)
    mark.write(tmp_path)
    whole = (tmp_path / "study.json").read_bytes()
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        (tmp_path / "study.json").write_bytes(damaged)
        assert FolderMark.read(tmp_path) in (None, mark)


def test_a_mark_is_written_over_the_one_before(tmp_path: Path) -> None:
    digest = "ef" * 32
    FolderMark("0123abcd", 1, digest).write(tmp_path)
    file = tmp_path / "study.json"
    inode, size = file.stat().st_ino, file.stat().st_size
    for position in (9, 10, 123_456_789, 99):
        FolderMark("0123abcd", position, digest).overwrite(file)
        assert FolderMark.read(tmp_path) == FolderMark("0123abcd", position, digest)
        assert (file.stat().st_ino, file.stat().st_size) == (inode, size)
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        FolderMark("0123abcd", 5, digest).overwrite(file)
    assert not (tmp_path / "elsewhere").exists()


def test_a_mark_of_before_had_no_checksum(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text('{"identity": "a", "position": 3, "digest": "b"}')
    assert FolderMark.read(tmp_path) == FolderMark("a", 3, "b")


def test_a_damaged_mark_beside_no_checkpoint_stops_nobody(tmp_path: Path) -> None:
    arms = [{"x": 0.2}]
    tune(generator, arms, "3 epochs", 1, tmp_path / "g.db", max_epochs=9, **_HOW)  # type: ignore[arg-type]
    (tmp_path / "g.db.files" / "study.json").write_bytes(b"{")
    assert resume(tmp_path / "g.db", "6 epochs", **_HOW).state.reports > 3  # type: ignore[arg-type]


def test_names_on_servers_share_no_folder(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    postgres_url: str,  # noqa: F811  # the fixture
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = f"{postgres_url}&study=a/b", f"{postgres_url}&study=a_b"
    _made(first)
    before = _checkpoints(tmp_path)
    assert before
    _made(second)
    assert before.items() <= _checkpoints(tmp_path).items()
    resume(first, "2 epochs", **_HOW)  # type: ignore[arg-type]
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    with pytest.raises(Misuse, match=f"they were in {tmp_path}"):
        resume(first, "2 epochs", **_HOW)  # type: ignore[arg-type]
    assert not list((tmp_path / "other").rglob("*"))


def test_a_name_that_is_taken_on_a_server_is_refused_before_anything_is_made(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    postgres_url: str,  # noqa: F811  # the fixture
) -> None:
    monkeypatch.chdir(tmp_path)
    where = f"{postgres_url}&study=taken"
    _made(where)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    with pytest.raises(Misuse, match="study=taken exists already"):
        _made(where)
    assert not list((tmp_path / "other").rglob("*"))


def test_a_server_study_of_before_is_found_under_its_name(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    postgres_url: str,  # noqa: F811  # the fixture
) -> None:
    monkeypatch.chdir(tmp_path)
    where = f"{postgres_url}&study=of_before"
    _made(where)
    (folder,) = (tmp_path / ".bhpt").iterdir()
    (folder / "study.json").unlink()
    folder.rename(tmp_path / ".bhpt" / "of_before")
    resume(where, "2 epochs", **_HOW)  # type: ignore[arg-type]
    with read_store(where) as reader:
        assert not [one for one in reader.read() if isinstance(one, CheckpointDropped)]
    assert [path.name for path in (tmp_path / ".bhpt").iterdir()] == ["of_before"]


def test_an_archive_is_one_safe_copy(tmp_path: Path) -> None:
    _made(tmp_path / "net.db")
    with open_store(tmp_path / "net.db"):  # somebody holds it
        made = write_archive(tmp_path / "net.db", tmp_path / "net.tar")
    assert (made.checkpoints > 0, made.missing) == (True, 0)
    with tarfile.open(tmp_path / "net.tar") as archive:
        archive.extractall(tmp_path / "copy", filter="data")
    copy = tmp_path / "copy" / "net.db"
    assert events_of(copy) == events_of(tmp_path / "net.db")
    assert all(found.sound is not False for found in study_findings(str(copy)))
    result = resume(copy, "4 epochs", **_HOW)  # type: ignore[arg-type]
    assert result.best_checkpoint is not None
    assert not _dropped(copy)
    assert sound(tmp_path / "net.db").reports == 6


_RUN = (
    "from pathlib import Path; import sys\n"
    "from bhpt.tuning import tune; from tests.study.cases import Greedy\n"
    "from tests.tuning.trainers import Net\n"
    "arms = [{'x': 0.2, 'sleep': 0.1}, {'x': 0.4, 'sleep': 0.1}]\n"
    "tune(Net, arms, '9999 epochs', 2, sys.argv[1], max_epochs=9999, policy=Greedy())\n"
)


def test_an_archive_of_a_running_study_can_be_resumed(tmp_path: Path) -> None:
    drivers = Drivers()
    running = drivers.start("-c", _RUN, str(tmp_path / "net.db"), cwd=ROOT)
    try:
        eventually(has_reports(tmp_path / "net.db", 5))
        write_archive(tmp_path / "net.db", tmp_path / "net.tar")
    finally:
        os.kill(running.pid, signal.SIGKILL)
        running.communicate()
    eventually(drivers.all_gone)
    with tarfile.open(tmp_path / "net.tar") as archive:
        archive.extractall(tmp_path / "copy", filter="data")
    events = events_of(tmp_path / "copy" / "net.db")
    assert events == events_of(tmp_path / "net.db")[: len(events)]
    assert all(f.sound is not False for f in study_findings(str(tmp_path / "copy" / "net.db")))
    assert fold(events).reports >= 5
