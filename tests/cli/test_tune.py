import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from tests.cli.cases import Folder, spawn


def test_a_class(folder: Folder) -> None:
    answer = folder.tune("--workers", "2")
    assert answer.status == 0, answer
    assert answer.out.startswith("Done: 8 of 8 epochs used in ")
    assert "best loss" in answer.out
    assert "bhpt forecast s.db" in answer.out
    assert "bhpt resume s.db --add-budget '8 epochs'" in answer.out
    checkpoint = next(line for line in answer.out.splitlines() if line.startswith("checkpoint"))
    saved = folder.path / checkpoint.split()[1] / "epoch.json"
    assert json.loads(saved.read_text()) >= 1


def test_plain_lines_without_a_terminal(folder: Folder) -> None:
    answer = folder.tune(trainer="job:Slow")
    assert "\x1b" not in answer.out + answer.err
    waited = answer.errors[0].startswith("bhpt tune job:Slow: starting workers")  # if that is long
    assert answer.errors[1 if waited else 0].startswith("[0:0")
    improvements = [
        line.split("best ")[1].split(" ")[0] for line in answer.errors if "best " in line
    ]
    losses = [float(loss) for loss in improvements]
    assert losses == sorted(losses, reverse=True)
    assert "of 8 epochs; " in answer.errors[-1]
    assert "running arm" in answer.err
    assert "at the end" in answer.err


def test_a_maximised_metric_is_shown_in_its_direction(folder: Folder) -> None:
    answer = folder.tune("--metric", "val_acc", "--mode", "max", trainer="job:Accurate")
    assert answer.status == 0, answer
    assert "best val_acc" in answer.out
    assert "best loss" not in answer.out
    best = float(answer.out.split("best val_acc")[1].split()[0])
    assert best < 0
    rows = list(csv.DictReader(io.StringIO(folder.bhpt("export", "s.db").out)))
    assert max(float(row["loss"]) for row in rows) == pytest.approx(best, rel=1e-3)
    assert all(row["metric.val_acc"] == row["loss"] for row in rows)
    assert all(float(row["metric.loss"]) == -float(row["loss"]) for row in rows)
    status = folder.bhpt("status", "s.db").out
    assert "val_acc" in status
    assert f"{best:.4g}" in status
    forecast = folder.bhpt("forecast", "s.db").out
    assert "expected best val_acc" in forecast
    assert "higher by" in forecast


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--mode", "up"], "--mode 'up': use min or max"), (["--metric", "a b"], "without spaces")],
)
def test_an_objective_that_makes_no_sense(folder: Folder, words: list[str], said: str) -> None:
    answer = folder.tune(*words)
    assert answer.status == 2
    assert said in answer.err
    assert not (folder.path / "s.db").exists()


def test_off_means_off(folder: Folder) -> None:
    assert folder.tune("--progress", "off").err == ""


def _on_a_terminal(folder: Folder) -> tuple[str, str]:
    """What `bhpt tune` prints on standard output, and on a terminal."""
    ours, theirs = os.openpty()
    words = ["--space", "listed.json", "--budget", "4 epochs", "--study", "s.db"]
    process = spawn(folder.path, "tune", "job:Slow", *words, stderr=theirs)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # how a terminal says that nobody is there any more
        while chunk := os.read(ours, 65536):
            shown += chunk
    os.close(ours)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    return out, shown.decode()


def test_a_terminal_that_cannot_draw_again_gets_lines(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.cli.cases.TERMINAL", "dumb")
    _, text = _on_a_terminal(folder)
    assert "\x1b" not in text
    assert "of 4 epochs; " in text


def test_a_terminal_gets_a_live_view(folder: Folder) -> None:
    out, text = _on_a_terminal(folder)
    assert out.startswith("Done: 4 of 4 epochs")
    for part in ("bhpt tune job:Slow", "budget", "best arms", "now", "at the end", "━", "\x1b["):
        assert part in text
    assert "\x1b" not in out
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text))
    assert max(map(len, lines)) == 99  # of 100: ^C must not begin another line


def test_a_generator_function(folder: Folder) -> None:
    answer = folder.tune(trainer="job:losses")
    assert answer.status == 0, answer
    assert "none: the trainer saves nothing" in answer.out


def test_a_command(folder: Folder) -> None:
    words = ["--space", "space.json", "--budget", "6 epochs", "--study", "s.db"]
    answer = folder.bhpt("tune", "--command", "python train.py", *words, "--unit-epochs", "2")
    assert answer.status == 0, answer
    assert "6 of 6 epochs" in answer.out
    assert "3 units" in answer.out


def test_a_space_from_a_module(folder: Folder) -> None:
    answer = folder.tune("--space", "job:SPACE", "--candidates", "20")
    assert answer.status == 0, answer


def test_a_study_that_nobody_named(folder: Folder) -> None:
    words = ("tune", "job:Net", "--space", "listed.json", "--budget", "2 epochs")
    assert folder.bhpt(*words).status == 0
    assert [file.suffix for file in (folder.path / "runs").glob("net-*.db")] == [".db"]


def test_a_deadline_and_money(folder: Folder) -> None:
    answer = folder.tune("--budget", "2s")
    assert answer.status == 0, answer
    assert "of 0:02 used" in answer.out
    answer = folder.tune("--budget", "$0.01", "--price-per-hour", "9", study="money.db")
    assert answer.status == 0, answer
    assert "of $0.01 used" in answer.out


def test_a_trainer_that_always_fails(folder: Folder) -> None:
    answer = folder.tune(trainer="job:Broken")
    assert answer.status == 1
    assert answer.errors[-1].startswith("bhpt: the trainer does not work: ")
    then = "; once it is mended: bhpt resume s.db, or with other options another --study"
    assert answer.errors[-1].endswith(then)
    assert "out of luck" in answer.err
    assert "Traceback" in answer.err  # of the user's own code, as the worker printed it


def test_where_every_configuration_is_given_up_a_new_study_is_the_way(folder: Folder) -> None:
    folder.write("one.json", '[{"rate": 1.0}]')
    answer = folder.tune("--space", "one.json", trainer="job:Broken")
    assert answer.status == 1
    assert "once it is mended: start anew with another --study" in answer.errors[-1]
    assert folder.bhpt("status", "s.db").out.startswith("s.db: done, nothing is left to train\n")
    resumed = folder.bhpt("resume", "s.db", "--add-budget", "4 epochs")
    assert "once mended   start anew with another --study" in resumed.out
    assert "--add-budget" not in resumed.out


def test_where_no_configuration_can_go_on_no_more_budget_is_proposed(folder: Folder) -> None:
    folder.write("one.json", '[{"rate": 1.0, "depth": 2}]')
    answer = folder.tune("--space", "one.json", "--budget", "3 epochs")
    assert answer.out.startswith("Done, nothing is left to train: 3 of 3 epochs used")
    further = "with other configurations or a larger --max-epochs, and --learn-from s.db\n"
    assert answer.out.endswith(f"more?         another --study, {further}")
    assert "bhpt resume" not in answer.out


def test_a_budget_that_ends_before_the_trainer_is_known_not_to_work(folder: Folder) -> None:
    answer = folder.tune("--budget", "2 epochs", trainer="job:Broken")
    assert answer.status == 1
    assert answer.errors[-1].endswith("RuntimeError: out of luck")
    assert "Traceback" in answer.err
    shown = folder.bhpt("status", "s.db").out
    assert "last failure: arm " in shown
    assert "RuntimeError: out of luck" in shown
    assert "0 of 5" in folder.bhpt("studies", ".").out  # none was tried, as `status` says


def test_a_trainer_that_always_diverges(folder: Folder) -> None:
    answer = folder.tune("--budget", "3 epochs", trainer="job:Diverging")
    assert answer.status == 1
    assert "no finite loss" in answer.errors[-1]


def test_more_budget(folder: Folder) -> None:
    assert folder.tune().status == 0
    answer = folder.bhpt("resume", "s.db", "--add-budget", "4 epochs", "--workers", "2")
    assert answer.status == 0, answer
    assert answer.out.startswith("Done: 12 of 12 epochs used")
    rows = list(csv.DictReader(io.StringIO(folder.bhpt("export", "s.db").out)))
    assert len({(row["arm"], row["epoch"]) for row in rows}) == len(rows) == 12


def test_a_trainer_that_is_not_there_any_more(study: Folder) -> None:
    (study.path / "job.py").rename(study.path / "moved.py")
    answer = study.bhpt("resume", "s.db", "--add-budget", "2 epochs")
    assert (answer.status, len(answer.errors)) == (2, 1)
    assert "no module 'job'" in answer.err
    (study.path / "moved.py").rename(study.path / "job.py")
    assert study.bhpt("resume", "s.db", "--add-budget", "2 epochs").status == 0


def test_started_from_python_and_resumed_here(folder: Folder) -> None:
    folder.write(
        "start.py",
        "import bhpt\nfrom job import Net\n\nif __name__ == '__main__':\n"
        "    bhpt.tune(Net, [{'rate': 0.1, 'depth': 1}], '2 epochs', study='s.db', max_epochs=4)\n",
    )
    subprocess.run([sys.executable, "start.py"], cwd=folder.path, check=True)
    answer = folder.bhpt("resume", "s.db", "--add-budget", "2 epochs")
    assert answer.status == 0, answer
    assert "4 of 4 epochs" in answer.out
    assert "every configuration is given up or at its last epoch, 4" in answer.out


def test_nothing_left_is_no_error(study: Folder) -> None:
    answer = study.bhpt("resume", "s.db")
    assert answer.status == 0
    assert answer.out.startswith("Done: 14 of 14 epochs")


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_can_be_resumed(folder: Folder, presses: int) -> None:
    words = ["--space", "listed.json", "--budget", "12 epochs", "--study", "s.db"]
    process = spawn(folder.path, "tune", "job:Slow", *words, "--workers", "2")
    assert process.stderr is not None
    for line in process.stderr:
        if "best" in line:
            break
    for _ in range(presses):
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert out.startswith("Interrupted: ")
    assert "interrupted; go on with: bhpt resume s.db" in err
    assert "Traceback" not in err
    if presses == 1:
        assert "finishing what runs" in err
    answer = folder.bhpt("resume", "s.db")
    assert answer.status == 0, answer
    assert answer.out.startswith("Done: 12 of 12 epochs used")


def test_two_drivers(folder: Folder) -> None:
    words = ["--space", "listed.json", "--budget", "60 epochs", "--study", "s.db"]
    process = spawn(folder.path, "tune", "job:Slow", *words)
    try:
        assert process.stderr is not None
        process.stderr.readline()
        answer = folder.bhpt("resume", "s.db")
        assert answer.status == 2
        assert f"in use by process {process.pid}" in answer.err
        assert f"running, held by process {process.pid}" in folder.bhpt("status", "s.db").out
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 130
