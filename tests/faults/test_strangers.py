"""Studies from somebody else: nothing runs unasked, nothing reaches a terminal or a spreadsheet."""

import io
import json
import os
import random
import signal
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.text import Text

from bhpt.cli.main import _say, run
from bhpt.domain import Misuse
from bhpt.domain.budget import Budget
from bhpt.spaces import load_space
from bhpt.storage import Damaged, create_store, open_store, read_store
from bhpt.storage.holder import Holder
from bhpt.study import Training, fold
from bhpt.study.creation import first_events, note_of_other_weights
from bhpt.study.csv_text import as_csv
from bhpt.study.events import Failed
from bhpt.study.tables import Table
from bhpt.testing.event_logs import FIRST, notes
from bhpt.tuning import Options, resume, tune
from bhpt.views.consoles import SafeConsole
from bhpt.views.formatting import to_stderr
from tests.executors.helpers import eventually, lives
from tests.faults.cases import events_of
from tests.study.cases import Greedy
from tests.tuning.trainers import Net

_HOW = {"policy": Greedy(), "options": Options(grace_s=1.0)}


def test_a_strangers_trainer_does_not_run_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tune(Net, [{"x": 0.2}], "2 epochs", 1, tmp_path / "net.db", max_epochs=9, **_HOW)  # type: ignore[arg-type]
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    with pytest.raises(Misuse, match=r"would run '.*Net' with your rights"):
        resume(tmp_path / "net.db", "2 epochs", **_HOW)  # type: ignore[arg-type]
    asked: list[str] = []

    def no(what: str) -> bool:
        asked.append(what)
        return False

    with pytest.raises(Misuse, match="--trust"):
        resume(tmp_path / "net.db", trust=no, **_HOW)  # type: ignore[arg-type]
    assert len(asked) == 1
    assert run(["resume", str(tmp_path / "net.db"), "--progress", "off"]) == 2
    assert "--trust" in capsys.readouterr().err
    resume(tmp_path / "net.db", "2 epochs", trainer=Net, **_HOW)  # type: ignore[arg-type]
    resume(tmp_path / "net.db", "2 epochs", trust=True, **_HOW)  # type: ignore[arg-type]
    resume(tmp_path / "net.db", "2 epochs", **_HOW)  # type: ignore[arg-type]


_HOSTILE = "a\x1b]0;owned\x07\x1b[2Jb\u202e\x9bc"


def test_no_control_character_reaches_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    console = SafeConsole(file=io.StringIO(), force_terminal=True, width=80)
    console.print(Text.assemble("held by ", (_HOSTILE, "bold")), _HOSTILE, soft_wrap=True)
    written = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b]" not in written
    assert not set("\x07\u202e\x9b") & set(written)
    assert "\x1b[2J" not in written
    _say(f"host {_HOSTILE}", 1, [f"trainer {_HOSTILE}"])
    said = capsys.readouterr().err
    assert all(char.isprintable() or char == "\n" for char in said)
    assert "\x1b" not in str(Holder(_HOSTILE, 1, "", 0))
    to_stderr(f"note: {_HOSTILE}")
    said = capsys.readouterr().err
    assert all(char.isprintable() or char == "\n" for char in said)


def test_a_note_of_a_strangers_weights_has_no_control_character() -> None:
    state = fold(first_events([{"x": 1.0}], Budget(3), training=Training(1, 2)))
    hostile = dict.fromkeys(state.plan.networks, _HOSTILE)
    note = note_of_other_weights(replace(state.plan, networks=hostile))
    assert note is not None
    assert note.isprintable()


def test_no_formula_reaches_a_spreadsheet() -> None:
    rows = [{"=x": '=cmd|"calc"!A0', "n": -1.5}, {"=x": "-2", "n": 3}, {"=x": "\udc80@", "n": None}]
    lines = as_csv(Table(("=x", "n"), tuple(rows))).splitlines()  # type: ignore[arg-type]
    assert lines[0] == "'=x,n"
    assert lines[1].startswith("\"'=cmd")
    assert lines[1].endswith(",-1.5")
    assert lines[2] == "-2,3"
    lines[3].encode()


def test_damaged_files_are_called_damaged(tmp_path: Path) -> None:
    made = tmp_path / "a.db"
    with create_store(made, FIRST) as store:
        store.append(notes(*[f"{n} {'x' * 300}" for n in range(40)]), 2)
    whole, rng = made.read_bytes(), random.Random(5)
    for number in range(330):
        broken = bytearray(whole)
        for _ in range(rng.choice([1, 1, 8, 300])):
            broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
        if number % 5 == 0:
            del broken[rng.randrange(100, len(broken)) :]
        (tmp_path / "b.db").write_bytes(broken)
        for opened in (read_store, open_store):
            for leftover in tmp_path.glob("b.db-*"):
                leftover.unlink()
            try:
                with opened(tmp_path / "b.db") as reader:
                    assert len(fold_events(reader)) == 42
            except Misuse:
                continue


def fold_events(reader: object) -> list[object]:
    events = reader.read()  # type: ignore[attr-defined]
    fold(events)
    return list(events)


@pytest.mark.parametrize("lease", ["{", "[]", '{"host": 1}', "[" * 9999, '{"host":1,"pid":"x"}'])
def test_a_damaged_lease_is_one_clear_line(tmp_path: Path, lease: str) -> None:
    create_store(tmp_path / "a.db", FIRST).close()
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("UPDATE bhpt_leases SET holder=?", (lease,))
    connection.commit()
    connection.close()
    with pytest.raises(Damaged, match="lease"):
        open_store(tmp_path / "a.db")


@pytest.mark.parametrize(
    "words",
    [
        ["--seed", "-1"],
        ["--disk-cap", "9" * 400 + "TB"],
        ["--untrained-loss", "nan"],
        ["--untrained-loss", "inf"],
        ["--max-epochs", "1000000000"],
        ["--grace", "nan"],
        ["--grace", "inf"],
        ["--patience", "nan"],
    ],
)
def test_nonsense_on_the_command_line_is_misuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.json").write_text('[{"x": 0.1}]')
    start = ["tune", "tests.tuning.trainers:Net", "--space", "space.json", "--budget", "3 epochs"]
    assert run([*start, "--study", "a.db", *words]) == 2
    assert not (tmp_path / "a.db").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [("[" * 100_000, "nested too deeply"), ('{"a": [0, 1, 2], "a": [0, 1, 3]}', "twice")],
)
def test_odd_json_is_misuse(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "space.json").write_text(text)
    with pytest.raises(Misuse, match=why):
        load_space(tmp_path / "space.json")


def test_negative_seeds_are_refused_for_every_space() -> None:
    from bhpt.domain.budget import Budget

    with pytest.raises(Misuse, match="seed"):
        first_events({"x": (0.0, 1.0)}, Budget(3), training=Training(1, 3), seed=-1)


class Daemon(Net):
    """Starts a process that forgets where it comes from."""

    def step(self) -> float:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                Path(self.config["pid"]).write_text(json.dumps(os.getpid()))  # type: ignore[arg-type]
                os.execve("/bin/sleep", ["sleep", "600"], {})
            os._exit(0)
        os.wait()
        return super().step()


class KilledDaemon(Daemon):
    """The same, in a worker that is killed in the middle of a unit, as by the kernel."""

    def step(self) -> float:
        super().step()
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("a killed worker goes on")


class OrphanedDaemon(Daemon):
    """The same, and the process that waits for the worker is killed."""

    def step(self) -> float:
        super().step()
        os.kill(os.getsid(0), signal.SIGKILL)
        time.sleep(60.0)
        raise AssertionError("nobody has ended the worker")


@pytest.mark.parametrize("trainer", [Daemon, KilledDaemon, OrphanedDaemon])
def test_a_daemon_that_clears_its_environment_is_ended(
    tmp_path: Path, trainer: type[Daemon]
) -> None:
    arms = [{"x": 0.2, "pid": str(tmp_path / "pid")}]
    how = {**_HOW, "note": print}  # a study without a finished unit is a warning otherwise
    tune(trainer, arms, "1 epoch", 1, tmp_path / "net.db", max_epochs=2, **how)  # type: ignore[arg-type]
    (failed,) = _failed(tmp_path / "net.db") or (None,)
    assert (failed is None) == (trainer is Daemon)
    assert failed is None or (failed.kind, "SIGKILL" in failed.message) == ("crashed", True)
    pid = json.loads((tmp_path / "pid").read_text())
    try:
        eventually(lambda: not lives(pid))
    finally:
        if lives(pid):
            os.kill(pid, signal.SIGKILL)


def _failed(file: Path) -> list[Failed]:
    return [event for event in events_of(file) if isinstance(event, Failed)]
