"""The small parts of the local executor, each alone."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bhpt.domain import Failure, FailureKind, Objective, Resume, UnitResult, Usage
from bhpt.executors import Job, Report, guard, worker
from bhpt.executors.live_trainers import Alive
from bhpt.executors.logs import SlotLog, readable
from bhpt.executors.messages import (
    Order,
    Ready,
    Reply,
    Unusable,
    decode_order,
    decode_reply,
    encode,
)
from bhpt.executors.processes import Surroundings, worker_environment
from bhpt.trainers import check
from tests.executors.helpers import eventually
from tests.executors.sample_trainers import Net


@pytest.mark.parametrize(
    "reply",
    [
        Ready("class", 7, 1.5),
        Unusable("no"),
        Report(1, 7, UnitResult((0.1, float("inf"), -1e-300), usage=Usage(1.5, 0.5, 2)), True),
        Report(1, 7, UnitResult((0.1,), ({"acc": 0.5, "b": float("-inf")},), frozen=True)),
        Report(2, 7, Failure(FailureKind.DISK_FULL, "full", "tail", Usage(2.0))),
    ],
)
def test_replies_survive_the_wire(reply: Reply) -> None:
    line = encode(reply)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode_reply(line) == reply


@pytest.mark.parametrize(
    "line",
    [b"", b"hello", b"[]", b"3", b'{"type": "Order"}', b'{"type": "Report"}', b'{"type": "Ready"}',
     b'{"type": "Report", "attempt": 1, "arm": 1, "outcome": {"kind": "odd", "usage": {}}}',
     b'{"type": "Report", "attempt": 1, "arm": 1, "outcome": 3}',
     b'{"type": "Ready", "kind": "x", "more": 1}', b"\xff"],
)  # fmt: skip
def test_what_is_not_a_reply_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # any of its kinds
        decode_reply(line)


@pytest.mark.parametrize("resume", ["nothing", "checkpoint", "alive"])
def test_orders_survive_the_wire_and_say_where_to_start(tmp_path: Path, resume: str) -> None:
    config = {"x": "\n\0<é", "y": [1, None, 0.1]}
    start, rerun = {
        "nothing": (Resume(), 5),
        "checkpoint": (Resume.checkpoint(4, tmp_path, "abc"), 1),
        "alive": (Resume.alive(5), 0),
    }[resume]
    objective = Objective("acc", "max")
    job = Job(1, 2, config, 3, 5, tmp_path / "to", start, 9.0, objective)
    assert job.rerun == rerun
    order = Order(job, 1.5, drop=(7, 8))
    assert decode_order(encode(order).decode()) == order


def test_paths_on_the_wire_do_not_depend_on_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    order = decode_order(encode(Order(Job(1, 2, {}, 3, 5, Path("to")), 1.5)).decode())
    assert order.job.freeze_to == tmp_path / "to"


def test_a_worker_never_starts_anew_where_it_was_to_go_on_alive(tmp_path: Path) -> None:
    order = Order(Job(1, 2, {"rate": 1.0}, 1, 3, tmp_path, Resume.alive(3)), 0.0)
    report = worker._attempt(check(Net, "Net"), order, {})
    assert report.failure is not None
    assert "live trainer of arm 2" in report.failure.message
    living = Net({"rate": 1.0})
    living.epoch = 3
    alive: dict[int, object] = {2: living}
    assert worker._attempt(check(Net, "Net"), order, alive).result.losses == (1 / 4,)
    assert alive == {2: living}


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
    environment = worker_environment(Surroundings(slot=1, slots=2), "inner")
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
        assert guard.members(token) == [first]
        assert guard.members("no such mark", session=second) == [second]
        guard.end(token)
        eventually(lambda: processes[0].poll() is not None)
        assert processes[1].poll() is None
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_a_parent_is_ended_before_its_child(tmp_path: Path) -> None:
    token = "test-" + os.urandom(8).hex()
    marked = {**os.environ, guard.TOKEN_VARIABLE: token}
    shells = [
        subprocess.Popen(["sh", "-c", f"sleep 60; echo on > {tmp_path / str(number)}"], env=marked)
        for number in range(12)
    ]
    try:
        eventually(lambda: len(guard.members(token)) == 24)
        guard.send(signal.SIGTERM, token)
        assert {shell.wait(10) for shell in shells} == {-signal.SIGTERM}
        assert not list(tmp_path.iterdir())
    finally:
        guard.end(token)
        for shell in shells:
            shell.wait()
