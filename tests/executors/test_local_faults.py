"""Everything that a trainer can do to its worker, really done."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bhpt.domain import Resume
from bhpt.executors import FailureKind, Job, LocalExecutor, LocalOptions, Report, guard
from bhpt.trainers import Command, TrainerSpec
from tests.executors.helpers import (
    NET,
    TRAIN,
    collect,
    eventually,
    freeze_folder,
    lives,
    resumed,
    run,
)

Make = Callable[..., LocalExecutor]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[LocalExecutor] = []

    def one(trainer: TrainerSpec = NET, slots: int = 1, **options: float) -> LocalExecutor:
        chosen = LocalOptions(**{"grace_s": 0.3, **options})  # type: ignore[arg-type]
        made.append(LocalExecutor(trainer, slots, tmp_path / "logs", chosen))
        return made[-1]

    yield one
    for executor in made:
        executor.close()
        assert not guard.members(executor._token)


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., Job]:
    def one(
        attempt: int,
        mode: str = "good",
        arm: int = 0,
        done: int = 0,
        limit_s: float | None = None,
        thaw: tuple[Path, int] = (Path(), 0),
        **config: object,
    ) -> Job:
        config = {"rate": 1.0, "mode": mode, **config}
        return Job(
            attempt=attempt,
            arm=arm,
            config=config,
            epochs=1,
            done=done,
            freeze_to=freeze_folder(tmp_path, attempt),
            resume=Resume.checkpoint(thaw[1], thaw[0]) if thaw[1] else Resume(),
            limit_s=limit_s,
        )

    return one


def failed(report: Report) -> tuple[FailureKind, str, str]:
    assert report.failure is not None
    assert report.outcome is report.failure
    assert "\n" not in report.failure.message
    return report.failure.kind, report.failure.message, report.failure.tail


@pytest.mark.parametrize(
    ("mode", "kind", "message", "tail"),
    [
        ("raise", FailureKind.CRASHED, "RuntimeError: first line second line", "Traceback"),
        ("sysexit", FailureKind.CRASHED, "the trainer called exit('enough')", ""),
        ("exit", FailureKind.CRASHED, "the worker exited with status 3", "last words"),
        ("kill", FailureKind.CRASHED, "the worker was killed by SIGKILL", ""),
        ("segfault", FailureKind.CRASHED, "the worker was killed by SIGSEGV", "Segmentation fault"),
        ("link", FailureKind.BAD_REPORT, "'link' in the checkpoint is a symbolic link", ""),
        ("full", FailureKind.DISK_FULL, "no room for the checkpoint", ""),
        ("closefds", FailureKind.CRASHED, "the worker was killed by SIGKILL", ""),
    ],
)
def test_every_crash_is_told_apart_and_survived(
    make: Make, job: Callable[..., Job], mode: str, kind: FailureKind, message: str, tail: str
) -> None:
    executor = make(slots=2)
    executor.submit(job(1, mode, arm=0))
    executor.submit(job(2, seconds=0.2, arm=1))
    reports = {report.attempt: report for report in collect(executor, 2)}
    got = failed(reports[1])
    assert got[0] is kind
    assert message in got[1]
    assert tail in got[2]
    assert reports[2].result.losses == (1.0,)
    assert run(executor, job(3)).result.losses == (1.0,)


@pytest.mark.parametrize("give", ["text", None, [], [1.0, 2.0], {"acc": 1}, True])
def test_what_is_not_a_loss_is_a_bad_report(
    make: Make, job: Callable[..., Job], give: object
) -> None:
    kind, message, _ = failed(run(make(), job(1, give=give)))
    assert kind is FailureKind.BAD_REPORT
    assert "Net.step() gave" in message


@pytest.mark.parametrize("mode", ["hang", "deaf", "freeze"])
def test_whatever_hangs_is_killed_after_its_limit(
    make: Make, job: Callable[..., Job], mode: str
) -> None:
    executor = make()
    executor.start()
    report = run(executor, job(1, mode, limit_s=0.3))
    kind, _, tail = failed(report)
    assert kind is FailureKind.TIMED_OUT
    assert report.usage.seconds >= 0.3
    if mode == "hang":  # it said where it hung before it went
        assert "in misbehave" in tail
    assert run(executor, job(2)).result.losses == (1.0,)


def test_a_stop_without_grace_is_at_once(make: Make, job: Callable[..., Job]) -> None:
    executor = make()
    executor.start()
    executor.submit(job(1, "deaf"))
    executor.poll(0.3)
    executor.stop(1, grace=0.0)
    kind, _, _ = failed(collect(executor, 1)[0])
    assert kind is FailureKind.STOPPED


def test_a_second_stop_may_shorten_the_grace(make: Make, job: Callable[..., Job]) -> None:
    executor = make()
    executor.start()
    executor.submit(job(1, "deaf"))
    executor.poll(0.3)
    executor.stop(1, grace=600.0)
    assert executor.poll(0.2) == []
    executor.stop(1, grace=0.0)
    assert failed(collect(executor, 1)[0])[0] is FailureKind.STOPPED


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
def test_a_worker_killed_from_outside_is_noticed_at_once(
    make: Make, job: Callable[..., Job], sign: signal.Signals
) -> None:
    executor = make(slots=2)
    executor.start()
    executor.submit(job(1, "hang", arm=0))
    executor.submit(job(2, arm=1, seconds=0.3))
    assert executor.poll(0.1) == []
    pid = next(one.pid for one in executor.running() if one.attempt == 1)
    assert pid is not None
    os.kill(pid, sign)
    reports = {report.attempt: report for report in collect(executor, 2)}
    assert failed(reports[1])[1] == f"the worker was killed by {sign.name}"
    assert reports[2].result.losses == (1.0,)


def test_an_interrupt_reaches_only_the_driver(make: Make, job: Callable[..., Job]) -> None:
    executor = make()
    executor.start()
    executor.submit(job(1, seconds=0.4))
    executor.poll(0.1)
    pid = executor.running()[0].pid
    assert pid is not None
    assert os.getsid(pid) != os.getsid(0)
    assert os.getpgid(pid) == pid != os.getpgid(0)
    os.kill(pid, signal.SIGINT)
    assert collect(executor, 1)[0].result.losses == (1.0,)


@pytest.mark.parametrize("then", ["kill", "exit", "hang", "freeze"])
def test_no_grandchild_survives_its_worker(
    make: Make, job: Callable[..., Job], tmp_path: Path, then: str
) -> None:
    executor = make()
    pids = tmp_path / "pids"
    limit_s = 1.5
    failed(run(executor, job(1, "children", pids=str(pids), then=then, limit_s=limit_s)))
    children = [int(pid) for pid in pids.read_text().split()]
    assert len(children) == 4
    eventually(lambda: not any(lives(pid) for pid in children), within=3)


@pytest.mark.parametrize("busy", [False, True])
def test_no_grandchild_survives_the_close(
    make: Make, job: Callable[..., Job], tmp_path: Path, busy: bool
) -> None:
    executor = make()
    pids = tmp_path / "pids"
    then = "hang" if busy else "good"
    executor.submit(job(1, "children", pids=str(pids), then=then))
    eventually(lambda: pids.exists() and len(pids.read_text().split()) == 4, within=30)
    children = [int(pid) for pid in pids.read_text().split()]
    assert all(lives(pid) for pid in children)
    executor.close()
    eventually(lambda: not any(lives(pid) for pid in children), within=3)


def test_a_worker_that_fails_twice_in_a_row_is_replaced(
    make: Make, job: Callable[..., Job]
) -> None:
    executor = make()
    executor.start()
    pids = []
    for attempt in range(3):
        executor.submit(job(attempt, "raise"))
        pids.append(executor.running()[0].pid)
        collect(executor, 1)
    assert pids[0] == pids[1] != pids[2]


def test_the_class_of_the_last_arm_stays_alive(
    make: Make, job: Callable[..., Job], tmp_path: Path
) -> None:
    executor = make()
    log = tmp_path / "logs" / "slot-00.log"
    first = job(1)
    run(executor, first)
    second = job(2, done=1, thaw=(first.freeze_to, 1))
    assert run(executor, second).result.losses == (1 / 2,)
    assert "thawed" not in log.read_text()
    run(executor, job(3, arm=1))
    third = job(4, done=2, thaw=(second.freeze_to, 2))
    assert run(executor, third).result.losses == (1 / 3,)
    assert log.read_text().count("thawed") == 1


def test_a_living_class_at_another_epoch_is_not_used(make: Make, job: Callable[..., Job]) -> None:
    executor = make()
    first = job(1)
    run(executor, first)
    run(executor, job(2, done=1, thaw=(first.freeze_to, 1)))  # the driver loses this report
    again = run(executor, job(3, done=1, thaw=(first.freeze_to, 1)))
    assert (again.result.losses, again.usage.rerun) == ((1 / 2,), 0)


def test_generators_live_on_where_they_are(make: Make, job: Callable[..., Job]) -> None:
    executor = make(TRAIN, slots=2)
    executor.start()
    done = dict.fromkeys(range(4), 0)
    for attempt in range(12):
        arm = attempt % 4
        ready = job(attempt, arm=arm, done=done[arm])
        assert resumed(executor, ready).rerun == 0
        report = run(executor, ready)
        done[arm] += 1
        assert (report.result.losses, report.usage.rerun) == ((1 / done[arm],), 0)
        assert not report.result.frozen


def test_a_generator_lost_with_its_worker_is_trained_again(
    make: Make, job: Callable[..., Job]
) -> None:
    executor = make(TRAIN)
    executor.submit(job(1, seconds=0.2))
    pid = executor.running()[0].pid
    assert pid is not None
    collect(executor, 1)
    os.kill(pid, signal.SIGKILL)
    again = job(2, done=1, seconds=0.2)
    eventually(lambda: resumed(executor, again).rerun == 1)  # its threads may take a moment to die
    assert not lives(pid)
    report = run(executor, again)
    assert (report.result.losses, report.usage.rerun) == ((1 / 2,), 1)
    assert report.usage.seconds - report.usage.setup_s >= 0.4


def test_a_generator_in_a_busy_slot_starts_anew_elsewhere(
    make: Make, job: Callable[..., Job]
) -> None:
    executor = make(TRAIN, slots=2)
    run(executor, job(1, arm=0))  # lives in one slot
    run(executor, job(2, arm=1))  # in the other
    executor.submit(job(3, arm=2, seconds=2.0))  # goes to the first, which was used longer ago
    again = job(4, arm=0, done=1)
    assert resumed(executor, again).rerun == 1
    assert run(executor, again).result.losses == (1 / 2,)
    collect(executor, 1)
    assert run(executor, job(5, arm=0, done=2)).result.losses == (1 / 3,)


def test_generators_unused_for_longest_are_let_go(make: Make, job: Callable[..., Job]) -> None:
    executor = make(TRAIN, keep_alive=2)
    for arm in range(3):
        run(executor, job(arm, arm=arm))
    assert [executor.can_resume(arm, 1) for arm in range(3)] == [False, True, True]
    assert run(executor, job(20, arm=0, done=1)).result.losses == (1 / 2,)


def test_a_killed_guard_is_replaced(make: Make, job: Callable[..., Job]) -> None:
    executor = make()
    run(executor, job(1))
    assert executor._guard is not None
    first = executor._guard._process.pid
    os.kill(first, signal.SIGKILL)
    eventually(lambda: not lives(first))
    run(executor, job(2, arm=1))
    assert executor._guard._process.pid != first


def test_the_log_is_bounded_and_its_tail_is_clean(
    make: Make, job: Callable[..., Job], tmp_path: Path
) -> None:
    executor = make(log_bytes=50_000)
    executor.submit(job(1, "chatty", seconds=0.1))
    collect(executor, 1)
    executor.submit(job(2, "chatty", arm=1))
    collect(executor, 1)
    run(executor, job(3))
    log = tmp_path / "logs" / "slot-00.log"
    assert log.stat().st_size < 60_000
    assert log.stat().st_mode & 0o077 == 0
    assert log.parent.stat().st_mode & 0o077 == 0
    executor.submit(job(4, "children", arm=2, pids=str(tmp_path / "pids"), then="hang"))
    eventually(lambda: executor.poll(0.1) == [] and executor.running()[0].lines == ("hanging",))
    executor.close()


def test_the_tail_has_no_control_characters(make: Make, job: Callable[..., Job]) -> None:
    executor = make()
    _, _, tail = failed(run(executor, job(1, "chatty", give="nothing")))
    assert "line 1999" in tail
    assert "\x1b" not in tail
    assert "\x07" not in tail
    assert len(tail) < 10_000


def test_a_command_is_a_trainer_too(make: Make, job: Callable[..., Job], tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text(
        'e=$(cat "$BHPT_CHECKPOINT_IN/epoch" 2>/dev/null || echo 0)\n'
        'echo "training at $BHPT_PARAM_rate"; echo oops >&2\n'
        'for i in $(seq $BHPT_EPOCHS); do e=$((e + 1)); echo "bhpt loss $e"; done\n'
        'echo $e > "$BHPT_CHECKPOINT_OUT/epoch"\n'
        '[ "$BHPT_PARAM_mode" = hang ] && { sleep 600 & echo $! > "$0.pid"; sleep 601; }\n'
        'exit "${BHPT_PARAM_status:-0}"\n'
    )
    executor = make(Command(("sh", str(script))))
    first = job(1)
    assert run(executor, first).result.losses == (1.0,)
    assert run(executor, job(2, done=1, thaw=(first.freeze_to, 1))).result.losses == (2.0,)
    assert run(executor, job(3, done=3, thaw=(first.freeze_to, 1))).result.losses == (4.0,)
    kind, message, tail = failed(run(executor, job(4, status=5)))
    assert (kind, message) == (FailureKind.CRASHED, "sh exited with status 5")
    assert "training at 1.0" in tail
    assert "oops" in tail
    kind, _, _ = failed(run(executor, job(5, "hang", limit_s=0.5)))
    assert kind is FailureKind.TIMED_OUT
    sleeping = int(Path(f"{script}.pid").read_text())
    eventually(lambda: not lives(sleeping), within=3)


def test_a_command_that_saves_nothing_pays_for_every_epoch(
    make: Make, job: Callable[..., Job]
) -> None:
    executor = make(
        Command(("sh", "-c", "for i in $(seq $BHPT_EPOCHS); do echo bhpt loss $i; done"))
    )
    report = run(executor, job(1, done=4))
    assert (report.result.losses, report.usage.rerun, report.result.frozen) == ((5.0,), 4, False)
