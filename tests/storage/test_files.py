"""Faults of a study's file, each really injected."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import DBAPIError

from bhpt.domain import Misuse
from bhpt.storage import (
    Damaged,
    Exists,
    InUse,
    Removed,
    StoreFailed,
    create_store,
    open_store,
    read_store,
)
from bhpt.storage.files import file_engine
from bhpt.study import Busy, Journal, MemoryLog, NewerVersion, fold
from bhpt.study.events import Event
from bhpt.testing.event_logs import FIRST, notes


@pytest.fixture
def made(tmp_path: Path) -> Path:
    file = tmp_path / "study.db"
    with create_store(file, FIRST) as store:
        store.append(notes(*[f"{n} {'x' * 400}" for n in range(60)]), 2)
    return file


def test_the_file_is_private_and_alone(made: Path) -> None:
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert os.listdir(made.parent) == ["study.db"]  # noqa: PTH208


def test_the_open_file_and_its_companions_are_private(made: Path) -> None:
    with open_store(made) as store:
        store.append(notes("a"), 62)
        modes = {stat.S_IMODE(file.stat().st_mode) for file in made.parent.iterdir()}
    assert modes == {0o600}


def test_a_cut_file_is_refused_and_left_as_it_is(made: Path, tmp_path: Path) -> None:
    whole = made.read_bytes()
    size = len(whole)
    for cut in [1, 15, 16, 60, 99, 100, 101, 1000, 4095, 4096, 4097, *range(5000, size, 2777)]:
        broken = tmp_path / f"cut-{cut}.db"
        broken.write_bytes(whole[:cut])
        for opened in (open_store, read_store):
            with pytest.raises(Misuse) as caught:
                opened(broken)
            assert "\n" not in str(caught.value)
        with pytest.raises(Exists):
            create_store(broken, FIRST)
        assert broken.read_bytes() == whole[:cut], cut


def test_flipped_bytes_never_go_unnoticed(made: Path, tmp_path: Path) -> None:
    whole = made.read_bytes()
    for place in range(4096, len(whole), 1511):
        broken = tmp_path / "flipped.db"
        broken.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        try:
            with read_store(broken) as reader:
                events = reader.read()
        except (Damaged, Misuse):
            continue
        assert len(events) == 62  # the byte was unused
        assert fold(events)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x7fELF" + b"\0" * 5000, b"SQLite format 3"])
def test_foreign_and_empty_files_are_refused_and_kept(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "foreign.db"
    file.write_bytes(content)
    for opened in (open_store, read_store, lambda where: create_store(where, FIRST)):
        with pytest.raises(Misuse):
            opened(file)
    assert file.read_bytes() == content


def test_another_programs_database_is_refused_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE bhpt_studies (study TEXT, format INTEGER)")
    connection.commit()
    connection.close()
    before = file.read_bytes()
    for opened in (open_store, read_store):
        with pytest.raises(Misuse, match="not a bhpt study"):
            opened(file)
    assert file.read_bytes() == before


def test_a_newer_version_is_refused(made: Path) -> None:
    connection = sqlite3.connect(made)
    connection.execute("PRAGMA user_version=2")
    connection.close()
    with pytest.raises(NewerVersion, match="newer"):
        open_store(made)
    connection = sqlite3.connect(made)
    connection.execute("PRAGMA user_version=1")
    connection.execute("UPDATE bhpt_studies SET format=2")
    connection.commit()
    connection.close()
    with pytest.raises(NewerVersion, match="newer"):
        read_store(made)


@pytest.mark.parametrize(
    "harm",
    [
        "DELETE FROM bhpt_events WHERE position=5",
        "UPDATE bhpt_events SET body=replace(body, 'x', 'y') WHERE position=5",
        "UPDATE bhpt_events SET position=99 WHERE position=62",
    ],
)
def test_a_changed_log_is_noticed(made: Path, harm: str) -> None:
    connection = sqlite3.connect(made)
    connection.execute(harm)
    connection.commit()
    connection.close()
    with read_store(made) as reader, pytest.raises(Damaged):
        reader.read()


def test_what_to_type_is_quoted_for_a_shell(tmp_path: Path) -> None:
    file = tmp_path / "my study.db"
    create_store(file, FIRST).close()
    with pytest.raises(Exists, match=r"go on with `bhpt resume '.*my study\.db'`"):
        create_store(file, FIRST)
    (tmp_path / "my runs").mkdir()
    with pytest.raises(Misuse, match=r"`bhpt studies '.*my runs'` lists those in it"):
        open_store(tmp_path / "my runs")


def test_a_folder_is_no_study(tmp_path: Path) -> None:
    with pytest.raises(Misuse):
        open_store(tmp_path)
    with pytest.raises(Exists):
        create_store(tmp_path, FIRST)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Misuse, match="cannot create"):
        create_store(tmp_path / "file" / "study.db", FIRST)


@pytest.mark.parametrize("where", ["", "a\0b", "sqlite://", "sqlite:///:memory:", "mysql://x/y"])
def test_bad_addresses_are_one_clear_line(where: str) -> None:
    with pytest.raises(Misuse) as caught:
        open_store(where)
    assert "\n" not in str(caught.value)


def test_odd_names_stay_in_their_folder(tmp_path: Path) -> None:
    for name in ("a b?mode=memory#x%41.db", "é'\".db", "-x.db"):
        with create_store(tmp_path / name, FIRST) as store:
            assert len(store.read()) == 2
        assert (tmp_path / name).is_file()
    assert len(list(tmp_path.iterdir())) == 3


def test_a_study_that_this_process_holds_is_held_by_whichever_path(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = made.with_name("link.db")
    link.symlink_to(made)
    twin = made.with_name("twin.db")
    os.link(made, twin)
    around = Path("..") / made.parent.name / made.name
    paths: list[str | Path] = [made, link, twin, f"sqlite:///{made}", Path("study.db"), around]
    with open_store(made) as store:
        monkeypatch.chdir(made.parent)
        for path in paths:
            with pytest.raises(InUse, match=r"this very one: close\(\) it first"):
                open_store(path)
        store.append(notes("still the holder"), 62)
    with open_store(link) as store:
        assert store.head().position == 63


def test_a_reader_cannot_write_and_does_not_block_the_writer(made: Path) -> None:
    with open_store(made, patience_s=0.1) as store, read_store(made) as reader:
        assert len(reader.read()) == 62
        with reader._engine.begin() as connection:
            connection.exec_driver_sql("SELECT count(*) FROM bhpt_events").all()
            store.append(notes("while somebody reads"), 62)
            with pytest.raises(Exception, match="readonly"):
                connection.exec_driver_sql("DELETE FROM bhpt_events")
        assert len(reader.read()) == 63


def test_a_study_in_a_read_only_folder_can_be_looked_at(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bhpt.storage.files.os.access", lambda *_: False)
    with read_store(made) as reader:
        assert len(reader.read()) == 62
        assert [file.name for file in made.parent.iterdir()] == [made.name]  # none to read with
        with pytest.raises(Exception, match="readonly"), reader._engine.begin() as connection:
            connection.exec_driver_sql("DELETE FROM bhpt_events")
        with pytest.raises(Misuse, match=f"cannot write to {made.parent}, where study.db lies"):
            open_store(made)
        monkeypatch.undo()
        with open_store(made) as store:  # from elsewhere, where the folder can be written
            store.append(notes("meanwhile"), 62)
            monkeypatch.setattr("bhpt.storage.files.os.access", lambda *_: False)
            assert len(reader.read()) == 63
            with read_store(made) as another:
                assert len(another.read()) == 63


def test_a_journal_reads_on_from_what_is_known(made: Path) -> None:
    """Once more from the beginning would cost as much as the study is long."""
    asked: list[int] = []

    class Counted(MemoryLog):
        def read(self, after: int = 0) -> list[Event]:
            asked.append(after)
            return super().read(after)

    with open_store(made) as store:
        known = Journal(store)
        assert known.written == 62
        log = Counted([*store.read(), *notes("since")])
        journal = Journal(log, known.state)
    assert asked == [62]
    assert journal.written == 63
    anew = Journal(log).state
    assert journal.state.events == anew.events == 63
    assert (journal.state.ledger, journal.state.plan) == (anew.ledger, anew.plan)
    assert journal.record(*notes("more"))
    assert log.read(62) == notes("since", "more")


def test_a_locked_store_loses_nothing(made: Path) -> None:
    other = sqlite3.connect(made, isolation_level=None)
    with open_store(made, patience_s=0.05) as store:
        journal = Journal(store)
        other.execute("BEGIN IMMEDIATE")
        assert not journal.record(*notes("a"))
        assert not journal.record(*notes("b", "c"))
        assert journal.waiting == 3
        assert journal.state.events == 65
        with pytest.raises(Busy):
            store.renew(1.0)
        other.execute("ROLLBACK")
        assert journal.record(*notes("d"))
        assert store.read(after=62) == notes("a", "b", "c", "d")
    other.close()


def test_a_patient_writer_waits_for_the_lock(made: Path) -> None:
    other = sqlite3.connect(made, isolation_level=None, check_same_thread=False)
    with open_store(made, patience_s=30.0) as store:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.3, lambda: other.execute("ROLLBACK"))
        timer.start()
        store.append(notes("late"), 62)
        timer.join()
        assert store.read(after=62) == notes("late")
    other.close()


_FILL = """
import resource, sys
from bhpt.storage import StoreFailed, open_store
from bhpt.testing.event_logs import notes
store = open_store(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
position = 62
try:
    while True:
        store.append(notes("z" * 20_000), position)
        position += 1
except StoreFailed as error:
    print(position, error)
"""


def test_a_full_disk_is_named_and_the_store_stays_intact(made: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FILL, str(made)], capture_output=True, text=True, check=True
    )
    position, _, message = done.stdout.partition(" ")
    assert "free some space, then resume" in message
    with open_store(made) as store:
        assert len(store.read()) == int(position)
        store.append(notes("again"), int(position))


_KILL = """
import os, signal, sys, threading, time
from bhpt.storage import open_store
from bhpt.testing.event_logs import notes
store = open_store(sys.argv[1])
position = len(store.read())
threading.Timer(float(sys.argv[2]), lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
while True:
    store.append(notes("z" * 3_000), position)
    position += 1
    print(position, flush=True)
"""


def test_every_acknowledged_event_survives_a_kill(made: Path) -> None:
    for delay in (0.02, 0.11):
        done = subprocess.run(
            [sys.executable, "-c", _KILL, str(made), str(delay)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode < 0, done.stderr
        acknowledged = [int(line) for line in done.stdout.split()]
        with open_store(made) as store:
            there = len(store.read())
        assert there - (acknowledged[-1] if acknowledged else there) in (0, 1)


def test_a_copy_of_the_file_opens_on_its_own(made: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with open_store(made):
        shutil.copyfile(made, copy)
        with read_store(copy) as reader:
            assert len(reader.read()) == 62


def test_a_kill_while_creating_leaves_no_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bhpt.storage.files.os.link", interrupted)
    with pytest.raises(KeyboardInterrupt):
        create_store(tmp_path / "study.db", FIRST)
    assert list(tmp_path.iterdir()) == []


def test_store_failures_are_not_misuse() -> None:
    assert not issubclass(StoreFailed, Misuse)


def test_a_connection_to_what_is_no_database_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def recorded(*words: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*words, **options))
        return opened[-1]

    file = tmp_path / "noise.db"
    file.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    monkeypatch.setattr(sqlite3, "connect", recorded)
    with pytest.raises(DBAPIError):
        file_engine(file, writable=True, patience_s=0.0).connect()
    assert len(opened) == 1
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].execute("SELECT 1")


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_removed_or_replaced_in_use_is_noticed_and_copied(
    made: Path, replaced: bool
) -> None:
    """What was acknowledged is still in the open file: it must not go with the process."""
    other = made.with_name("other.db")
    create_store(other, FIRST).close()
    with open_store(made) as store:
        if replaced:
            other.rename(made)
        else:
            made.unlink()
        store._written_back = float("-inf")
        with pytest.raises(Removed, match="removed or replaced while the study ran; all of it is"):
            store.append(notes("the last"), 62)
        with pytest.raises(Removed, match="could not be copied"):  # the copy is not overwritten
            store.verify()
    with read_store(made.with_name("study.db.rescued")) as copy:
        events = copy.read()
    assert len(events) == 63
    assert events[-1] == notes("the last")[0]


def test_at_the_end_of_a_session_all_of_it_is_in_the_file(made: Path) -> None:
    with open_store(made) as store:
        store.append(notes("a"), 62)
        store.verify()
        with made.open("r+b") as opened:
            opened.truncate(5000)
        with pytest.raises(Damaged):
            store.verify()
