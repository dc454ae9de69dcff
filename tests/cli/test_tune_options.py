"""What is tried first, when it is enough, and a study that is there already."""

import io
import json
import subprocess
import sys

import pytest
from rich.console import Console

import bhpt
from bhpt.cli.final_report import print_report
from bhpt.tuning.result import result_of
from tests.cli.cases import Folder


def test_what_is_tried_first_and_what_is_fixed(folder: Folder) -> None:
    (folder.path / "first.json").write_text(json.dumps([{"rate": 0.25}]))
    answer = folder.tune("--initial", "first.json", "--fixed", "depth=2", "--space", "job:SPACE")
    assert answer.status == 0, answer
    exported = json.loads(folder.bhpt("export", "s.db", "--format", "json").out)
    assert exported["arms"][0]["config"] == {"depth": 2, "rate": 0.25}
    assert {arm["config"]["depth"] for arm in exported["arms"]} == {2}
    assert "asked for" in exported["attempts"][0]["why"]


def test_enough_is_enough(folder: Folder) -> None:
    answer = folder.tune("--stop-when", "5")
    assert answer.out.startswith("Done: 1 of 8 epochs used")
    assert answer.out.endswith("bhpt resume s.db\n")  # the rest of the budget is there already
    answer = folder.bhpt("resume", "s.db", "--stop-when", "5")
    assert answer.out.startswith("Done: 1 of 8 epochs used")


def test_a_command_that_is_run_again_goes_on(folder: Folder) -> None:
    assert folder.tune("--if-exists", "resume").status == 0
    assert folder.tune().status == 2
    answer = folder.tune("--if-exists", "resume")
    assert answer.out.startswith("Done: 8 of 8 epochs used")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--fixed", "depth"), "--fixed 'depth': write NAME=VALUE, such as momentum=0.9"),
        (("--fixed", "width=3"), "fixed: the space has no hyper-parameter 'width'"),
        (("--initial", "none.json"), "no such file: none.json"),
        (("--initial", '[{"rate": 1}]'), "--initial takes a file: write the configurations to"),
        (("--if-exists", "maybe"), "--if-exists 'maybe': use error or resume"),
    ],
)
def test_bad_options_are_one_clear_line(folder: Folder, words: tuple[str, ...], line: str) -> None:
    answer = folder.tune(*words, "--space", "job:SPACE")
    assert answer.status == 2
    assert line in answer.err
    assert not (folder.path / "s.db").exists()


def test_more_budget_is_not_offered_to_a_trainer_that_never_worked(folder: Folder) -> None:
    folder.write("list.json", '[{"rate": 1.0}, {"rate": 2.0}]')
    answer = folder.bhpt("tune", "--command", "python gone.py {rate}", "--space", "list.json",
                        "--budget", "2 epochs", "--study", "s.db")  # fmt: skip
    assert answer.status == 1
    assert "more?" not in answer.out
    assert "once mended   bhpt resume s.db --add-budget '2 epochs'" in answer.out


def test_why_there_is_no_best_model_is_said() -> None:
    study = bhpt.Study([{"rate": 1.0}], "3 epochs")
    empty = result_of(study.state, "done", "s.db", None)
    assert empty.why_nothing.startswith("no unit was finished within 3 epochs: ")
    unit = study.ask()
    assert unit is not None
    study.tell(unit, [float("nan")] * unit.epochs)
    diverged = result_of(study.state, "done", "s.db", None)
    assert diverged.why_nothing == "no finite loss was seen: every configuration diverged"
    shown = io.StringIO()
    print_report(diverged, Console(file=shown, width=200))
    assert "more?         bhpt resume s.db\n" in shown.getvalue()  # two epochs are left
    assert "bhpt forecast" not in shown.getvalue()  # there is nothing to forecast from


def test_it_is_a_module_too() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bhpt", "--version"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.strip()


def test_a_range_of_two_whole_numbers_is_pointed_out(folder: Folder) -> None:
    folder.write("two.json", '{"rate": {"min": 0, "max": 1}, "depth": {"choices": [1, 2]}}')
    answer = folder.tune("--space", "two.json", "--budget", "2 epochs")
    assert answer.status == 0, answer
    assert "note: 'rate': from 0 to 1 in whole numbers is 0 or 1" in answer.err
