"""The small parts of the local executor, each alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bhpt.executors import FailureKind, Job, guard
from bhpt.executors.live_trainers import Alive
from bhpt.executors.logs import SlotLog, readable
from bhpt.executors.messages import (
    Done,
    Failed,
    Ready,
    Reply,
    Unusable,
    decode_order,
    decode_reply,
    encode,
    order_of,
)
from bhpt.executors.processes import environment_of
from tests.executors.helpers import eventually


@pytest.mark.parametrize(
    "reply",
    [
        Ready("class"),
        Unusable("no"),
        Done(1, (0.1, float("inf"), -1e-300), True, False, 1.5, 2.5),
        Failed(2, FailureKind.DISK_FULL, "full", 1.0, 2.0),
    ],
)
def test_replies_survive_the_wire(reply: Reply) -> None:
    line = encode(reply)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode_reply(line) == reply


@pytest.mark.parametrize(
    "line",
    [b"", b"hello", b"[]", b"3", b'{"type": "Order"}', b'{"type": "Done"}', b'{"type": "Ready"}',
     b'{"type": "Failed", "kind": "odd"}', b'{"type": "Ready", "kind": "x", "more": 1}', b"\xff"],
)  # fmt: skip
def test_what_is_not_a_reply_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # any of its kinds
        decode_reply(line)


def test_orders_survive_the_wire_and_say_where_to_start(tmp_path: Path) -> None:
    config = {"x": "\n\0<é", "y": [1, None, 0.1]}
    job = Job(1, 2, config, epochs=3, done=5, freeze_to=tmp_path, thaw_from=tmp_path, thaw_epochs=4)
    cold = order_of(job, warm=False, drop=(7, 8))
    assert (cold.start, cold.rerun, cold.thaw_from) == (4, 1, str(tmp_path))
    assert decode_order(encode(cold).decode()) == cold
    warm = order_of(job, warm=True, drop=())
    assert (warm.start, warm.rerun, warm.thaw_from) == (5, 0, None)


def test_the_living_are_kept_in_order_of_use() -> None:
    alive = Alive()
    for arm in (1, 2, 1, 3):
        alive.remember(arm, epochs=arm, most=2)
    assert not alive.holds(2, 2)
    assert alive.holds(1, 1)
    assert not alive.holds(1, 2)
    assert alive.give_up(3) == (2,)
    assert len(alive) == 1
    alive.forget(1)
    assert alive.give_up(1) == ()  # it is in the worker's hands now


def test_a_tail_starts_after_the_last_heading(tmp_path: Path) -> None:
    log = SlotLog(tmp_path / "log", cap=1000)
    assert log.tail() == ()
    log.mark("first")
    write(log, b"one\n")
    log.mark("second")
    assert log.tail() == ()
    write(log, b"two\nthree")
    assert log.tail() == ("two", "three")
    assert log.tail(1) == ("three",)


def test_a_long_log_loses_its_older_half(tmp_path: Path) -> None:
    log = SlotLog(tmp_path / "log", cap=1000)
    write(log, b"".join(b"line %d\n" % i for i in range(200)))
    log.trim()
    assert log.path.stat().st_size < 600
    assert log.tail(1) == ("line 199",)
    assert log.path.read_text().startswith("--- older lines were cut off\n")


def test_a_log_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        SlotLog(tmp_path / "log", cap=1000).open()


def write(log: SlotLog, content: bytes) -> None:
    descriptor = log.open()
    os.write(descriptor, content)
    os.close(descriptor)


def test_output_becomes_readable() -> None:
    raw = b"\x1b[2J50%\r100%\n\n\xff\ttab\x00\n" + b"y" * 1000
    assert readable(raw, 9) == ("[2J50%", "100%", "\ufffd\ttab", "y" * 400)


def test_a_nested_executor_keeps_the_outer_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv(guard.TOKEN_VARIABLE, "outer")
    environment = environment_of(1, 2, "inner")
    assert environment[guard.TOKEN_VARIABLE] == "outer/inner"
    assert environment["OMP_NUM_THREADS"] == "7"
    assert environment["BHPT_SLOT"] == "1"


def test_processes_are_found_by_mark_and_by_session() -> None:
    token = "test-" + os.urandom(8).hex()
    sleep = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"]
    marked = {**os.environ, guard.TOKEN_VARIABLE: token}
    processes = [
        subprocess.Popen(sleep, env=marked, start_new_session=True, stdout=subprocess.PIPE),
        subprocess.Popen(sleep, start_new_session=True, stdout=subprocess.PIPE),
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        first, second = processes[0].pid, processes[1].pid
        assert guard.members(token) == {first}
        assert guard.members("no such mark", session=second) == {second}
        guard.end(token)
        eventually(lambda: processes[0].poll() is not None)
        assert processes[1].poll() is None
    finally:
        for process in processes:
            process.kill()
            process.communicate()
