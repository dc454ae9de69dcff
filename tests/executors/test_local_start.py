"""Starting workers: trainers that cannot be imported, and what set-up costs."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from bhpt.domain import Misuse
from bhpt.executors import FailureKind, Job, LocalExecutor, LocalOptions, guard
from bhpt.executors.messages import Ready
from bhpt.trainers import Command, Imported
from tests.executors.helpers import NET, freeze_folder, run

MODULES = {
    "missing": (None, "there is no file"),
    "lacks": ("class Net: pass", "trainer Net lacks step() and save(folder) and load(folder)"),
    "other": ("class Other: pass", "has no 'Net'"),
    "raises": ("print('loading')\n1 / 0", "fails at import: ZeroDivisionError"),
    "leaves": ("import sys\nsys.exit(1)", "fails at import: SystemExit: 1"),
    "dies": ("import os\nprint('bye', flush=True)\nos._exit(1)", "status 1 while it imported"),
    "killed": ("import os\nos.kill(os.getpid(), 9)", "killed by SIGKILL while it imported"),
    "tunes": (
        "from bhpt.trainers import spec_of\nclass Net: pass\nspec_of(Net)",
        "put that call under `if __name__ == '__main__':`",
    ),
}


def spec(folder: Path, name: str) -> Imported:
    text, _ = MODULES[name]
    file = folder / f"{name}.py"
    if text is not None:
        file.write_text(text)
    return Imported(f"{file}:Net")


@pytest.mark.parametrize("name", MODULES)
def test_a_trainer_that_cannot_be_used_is_one_clear_line(tmp_path: Path, name: str) -> None:
    executor = LocalExecutor(spec(tmp_path, name), 2, tmp_path / "study.files" / "logs")
    with pytest.raises(Misuse) as caught:
        executor.start()
    assert MODULES[name][1] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "study.files").exists()
    assert not guard.members(executor._token)


def test_what_was_printed_before_the_end_is_a_note(tmp_path: Path) -> None:
    executor = LocalExecutor(spec(tmp_path, "dies"), 1, tmp_path / "logs")
    with pytest.raises(Misuse, match="the last it said: bye") as caught:
        executor.start()
    assert caught.value.__notes__ == ["bye"]


def test_a_command_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="no command 'no-such'"):
        LocalExecutor(Command(("no-such",)), 1, tmp_path / "logs").start()


@pytest.mark.parametrize("name", ["raises", "dies"])
def test_without_a_start_the_first_job_says_so(tmp_path: Path, name: str) -> None:
    with LocalExecutor(spec(tmp_path, name), 1, tmp_path / "logs") as executor:
        for attempt in range(2):  # the slot is usable again and again
            freeze_to = freeze_folder(tmp_path, attempt)
            report = run(executor, Job(attempt, 0, {}, 1, 0, freeze_to))
            assert report.failure is not None
            assert report.failure.kind is FailureKind.IMPORT_FAILED
            assert MODULES[name][1] in report.failure.message


def test_an_import_that_hangs_is_ended(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(600)")
    options = LocalOptions(grace_s=0.2, start_limit_s=0.5)
    executor = LocalExecutor(Imported(f"{tmp_path}/slow.py:Net"), 1, tmp_path / "logs", options)
    with pytest.raises(Misuse, match=r"took more than 0\.5 s"):
        executor.start()


def test_set_up_is_told_apart_and_not_under_the_limit(tmp_path: Path) -> None:
    source = Path(NET.name.rpartition(":")[0]).read_text()
    (tmp_path / "slow.py").write_text(f"import time\ntime.sleep(0.6)\n{source}")
    trainer = Imported(f"{tmp_path}/slow.py:Net")
    with LocalExecutor(trainer, 1, tmp_path / "logs") as executor:
        freeze_to = freeze_folder(tmp_path, 1)
        report = run(executor, Job(1, 0, {"rate": 1.0}, 1, 0, freeze_to, limit_s=0.5))
        assert report.result.losses == (1.0,)
        assert 0.6 <= report.usage.setup_s <= report.usage.seconds
        later = run(executor, Job(2, 1, {"rate": 1.0}, 1, 0, freeze_folder(tmp_path, 2)))
        assert later.usage.setup_s < 0.3


def test_an_interrupted_start_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(600)")
    logs = tmp_path / "study.files" / "logs"
    executor = LocalExecutor(Imported(f"{tmp_path}/slow.py:Net"), 1, logs)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            executor.start()
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
    assert not guard.members(executor._token)
    assert not logs.parent.exists()


def test_so_many_workers_that_the_machine_would_stop_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="100000 workers would bring this machine down: at most"):
        LocalExecutor(NET, 100_000, tmp_path / "logs")


def test_a_start_that_a_stopped_driver_hears_of_late_costs_what_it_took(tmp_path: Path) -> None:
    """The worker says when it was ready: the driver may have been stopped since."""
    executor = LocalExecutor(NET, 1, tmp_path / "logs")
    try:
        executor.start()
        slot = executor._slots[0]
        slot._spawned_at = time.monotonic() - 100.0
        slot._hear(Ready("class", 1, slot._spawned_at + 0.5))
        job = Job(0, 0, {"rate": 0.5}, 1, 0, freeze_folder(tmp_path, 0))
        since = executor.submit(job)
        assert time.monotonic() - since < 50.0
    finally:
        executor.close()
