"""The state beside a log changes how long reading takes, and nothing else."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from bhpt.storage import Damaged, Head, Store, StoreFailed, create_store, open_store, read_store
from bhpt.storage import reader as reader_module
from bhpt.storage import store as store_module
from bhpt.storage.state_rows import StateRow, write_state
from bhpt.study import Fenced, Journal, fold
from bhpt.study import stored_state as stored_state_module
from bhpt.study.events import Event
from bhpt.study.stored_state import encode_state
from tests.storage.conftest import Where
from tests.study.logs import any_log
from tests.study.test_stored_state import encoded

LOG = any_log(5, 120)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """States are stored after a few events."""
    monkeypatch.setattr(store_module, "_FEW", 20)


def written(where: str, events: list[Event], at_once: int = 7) -> None:
    """Write a study as a driver does."""
    with create_store(where, events[:3]) as store:
        journal = Journal(store)
        for start in range(3, len(events), at_once):
            assert journal.record(*events[start : start + at_once])


def read(where: str | Path) -> tuple[bytes, int]:
    """What a study folds to, and how many of its events were not folded now."""
    with read_store(where) as reader:
        found = reader.folded()
        assert found.changed
    return encoded(found.state), found.stored


def test_reading_goes_on_from_the_stored_state(where: Where) -> None:
    study = where()
    written(study, LOG)
    state, stored = read(study)
    assert state == encoded(fold(LOG))
    assert len(LOG) - 40 < stored <= len(LOG)
    with open_store(study) as store:
        journal = Journal(store)
        assert encoded(journal.state) == encoded(fold(LOG))
        assert journal.written == len(LOG)
        more = any_log(5, 200)[len(LOG) :]
        assert journal.record(*more)
    assert read(study)[0] == encoded(fold([*LOG, *more]))
    assert read(study)[1] > stored


def test_a_short_study_has_none(where: Where) -> None:
    study = where()
    written(study, LOG[:12])
    assert read(study)[1] == 0


def test_each_study_of_a_database_has_its_own(where: Where) -> None:
    one, other = where(), where()
    written(one, LOG)
    written(other, any_log(9, 150))
    assert read(one)[0] == encoded(fold(LOG))
    assert read(other)[0] == encoded(fold(any_log(9, 150)))
    with open_store(one) as store:
        store.erase()
    assert read(other)[1] > 0
    if "://" in one:
        written(one, any_log(9, 150)[:15])  # the state of the one before is gone
        assert read(one) == (encoded(fold(any_log(9, 150)[:15])), 0)


def test_a_study_of_before_is_read_and_gets_one(where: Where) -> None:
    study = where()
    written(study, LOG)
    with open_store(study) as store, store._engine.begin() as connection:
        connection.execute(text("DROP TABLE bhpt_states"))
    assert read(study) == (encoded(fold(LOG)), 0)
    with open_store(study) as store:
        Journal(store).record(*any_log(5, 200)[len(LOG) :][:1])
    assert read(study)[1] == len(LOG) + 1
    with open_store(study) as store, store._engine.begin() as connection:
        connection.execute(text("DROP TABLE bhpt_states"))
    with open_store(study) as store:
        store.erase()


def test_a_state_that_was_folded_from_other_events_than_it_says_is_not_read(where: Where) -> None:
    study = where()
    written(study, LOG)
    fewer = encode_state(fold(LOG[:30]))
    with open_store(study) as store:
        place = Head(50, _digest_at(store, 50))
        with store._engine.begin() as connection:
            write_state(connection, store.address, StateRow(place, fewer))
    assert read(study) == (encoded(fold(LOG)), 0)


def _digest_at(store: Store, position: int) -> str:
    found = store.digest_at(position)
    assert found is not None
    return found


def test_a_log_that_is_replaced_while_it_is_read_is_noticed(
    where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = where()
    written(study, LOG)
    row = StateRow(Head(30, "of the log before"), encode_state(fold(LOG[:30])))
    monkeypatch.setattr(reader_module, "read_state", lambda *_: row)  # it fitted a moment ago
    with pytest.raises(Damaged, match="replaced while it was read"):
        read(study)


def test_the_state_of_another_version_is_not_read(
    where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = where()
    written(study, LOG)
    monkeypatch.setattr(stored_state_module, "VERSION", stored_state_module.VERSION + 1)
    assert read(study) == (encoded(fold(LOG)), 0)


def test_a_driver_that_was_fenced_out_stores_nothing(where: Where) -> None:
    study = where()
    store = create_store(study, LOG[:15])
    with store._engine.begin() as connection:
        connection.execute(text("UPDATE bhpt_leases SET token = token + 1"))
    with pytest.raises(Fenced):
        store.keep(fold(LOG[:60]))
    store.close()
    assert read(study)[1] == 0


def test_a_store_that_refuses_the_state_is_no_fault(
    where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise StoreFailed("the disk is full")

    study = where()
    with monkeypatch.context() as patched:
        patched.setattr(store_module, "write_state", refused)
        written(study, LOG)
    assert read(study) == (encoded(fold(LOG)), 0)


def test_an_event_that_was_changed_is_found_behind_the_state(where: Where) -> None:
    study = where()
    written(study, LOG)
    with open_store(study) as store, store._engine.begin() as connection:
        connection.execute(text("UPDATE bhpt_events SET body = '{}' WHERE position = 5"))
    with pytest.raises(Damaged, match="event 5"):
        read(study)


def test_a_reader_that_may_not_write_reads_it(tmp_path: Path) -> None:
    study = tmp_path / "study.db"
    written(str(study), LOG)
    before = study.read_bytes()
    study.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        assert read(study)[1] > 0
    finally:
        tmp_path.chmod(0o700)
    assert study.read_bytes() == before


def _shorter(row: dict[str, object], place: int) -> None:
    row["body"] = row["body"][:place]  # type: ignore[index]


def _flipped(row: dict[str, object], place: int) -> None:
    body = bytearray(row["body"])  # type: ignore[call-overload]
    body[place % len(body)] ^= 1 << place % 8
    row["body"] = bytes(body)


def _moved(row: dict[str, object], place: int) -> None:
    row["position"] = place - 5


def _foreign(row: dict[str, object], _place: int) -> None:
    row["event"] = "0" * 64


def _text(row: dict[str, object], place: int) -> None:
    row[("body", "position", "digest", "event")[place % 4]] = "text"


def _nothing(row: dict[str, object], _place: int) -> None:
    row["body"] = b""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with a stored state."""
    file = tmp_path_factory.mktemp("stored") / "study.db"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(store_module, "_FEW", 20)
        written(str(file), LOG)
    return file


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from([_shorter, _flipped, _moved, _foreign, _text, _nothing]),
    st.integers(0, 100_000),
)
def test_any_damage_to_the_state_leaves_the_log(
    whole: Path, damage: Callable[[dict[str, object], int], None], place: int
) -> None:
    with closing(sqlite3.connect(whole, isolation_level=None)) as database:
        database.row_factory = sqlite3.Row
        sound = dict(database.execute("SELECT * FROM bhpt_states").fetchone())
        damaged = dict(sound)
        damage(damaged, place)
        _put(database, damaged)
        try:
            state, stored = read(whole)
        finally:
            _put(database, sound)
    assert state == encoded(fold(LOG))
    assert stored == (sound["position"] if damaged == sound else 0)


def _put(database: sqlite3.Connection, row: dict[str, object]) -> None:
    words = ", ".join(f"{name} = :{name}" for name in row)
    database.execute(f"UPDATE bhpt_states SET {words}", row)


@settings(deadline=None, max_examples=6)
@given(st.integers(1, 60), st.booleans())
def test_the_state_of_another_log_is_not_read(
    tmp_path_factory: pytest.TempPathFactory, cut: int, longer: bool
) -> None:
    """A log that was put back to an earlier position and went on otherwise, under one name."""
    folder = tmp_path_factory.mktemp("other")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(store_module, "_FEW", 20)
        written(str(folder / "a.db"), LOG)
        notes = [event for event in any_log(7, 200) if type(event).__name__ == "Noted"]
        other = [*LOG[:cut], *notes[:1], *([] if not longer else notes * 60)]
        create_store(folder / "b.db", other).close()
    with closing(sqlite3.connect(folder / "b.db", isolation_level=None)) as database:
        database.execute("ATTACH ? AS a", (str(folder / "a.db"),))
        database.execute("INSERT INTO bhpt_states SELECT * FROM a.bhpt_states")
        name = database.execute("SELECT study FROM bhpt_events").fetchone()[0]
        database.execute("UPDATE bhpt_states SET study = ?", (name,))
    assert read(folder / "b.db") == (encoded(fold(other)), 0)


_KILLED = """
import os, sys
from sqlalchemy import event
from bhpt.storage import open_store
from bhpt.storage import store as store_module
from bhpt.study import fold
from tests.storage.test_stored_state import LOG, encoded

real = store_module.write_state


def killed_at(point):
    store = open_store(sys.argv[1])
    state = store.fold()
    if encoded(state) != encoded(fold(LOG)):
        os._exit(5)
    seen = 0

    def count(*_):
        nonlocal seen
        seen += 1
        if seen > point:
            os._exit(9)

    def writing(*arguments):
        for name in ("before_cursor_execute", "after_cursor_execute", "commit"):
            event.listen(store._engine, name, count)
        real(*arguments)

    store_module.write_state, store_module._FEW = writing, 1
    store.keep(state)
    os._exit(0)


for point in range(100):
    child = os.fork()
    if not child:
        killed_at(point)
    end = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(end, flush=True)
    if end != 9:
        break
"""


def test_a_kill_at_any_statement_leaves_a_whole_state(tmp_path: Path) -> None:
    study = tmp_path / "study.db"
    written(str(study), LOG[:60])
    before = read(study)[1]
    assert before
    with open_store(study) as store:
        store.append(LOG[60:], 60)
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(study)],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    ends = [int(line) for line in done.stdout.split()]
    assert ends[-1] == 0
    assert set(ends[:-1]) == {9}
    assert len(ends) > 5
    assert read(study) == (encoded(fold(LOG)), len(LOG))
