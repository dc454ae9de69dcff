import json
import math
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bhpt.domain import Misuse, Objective, Resume
from bhpt.domain.reports import EpochReport
from bhpt.trainers import (
    BadReport,
    Command,
    TrainerFailed,
    Work,
    load,
    spec_from_json,
    spec_to_json,
)
from bhpt.trainers.command import CommandTrainer, command_environment, fill, parse_report
from bhpt.trainers.specs import check_names

SCRIPT = """
import json, os, pathlib, sys
config = json.loads(os.environ["BHPT_CONFIG"])
assert config == json.load(open(os.environ["BHPT_CONFIG_FILE"]))
assert os.environ["BHPT_PARAM_opt_name"] == config["opt.name"]
assert float(os.environ["BHPT_PARAM_rate"]) == config["rate"] == float(sys.argv[1])
epoch = 0
if "BHPT_CHECKPOINT_IN" in os.environ:
    epoch = int(pathlib.Path(os.environ["BHPT_CHECKPOINT_IN"], "epoch").read_text())
assert epoch == int(os.environ["BHPT_EPOCHS_DONE"])
print("hello from the command")
for _ in range(int(os.environ["BHPT_EPOCHS"])):
    epoch += 1
    print("bhpt loss", config["rate"] / epoch)
pathlib.Path(os.environ["BHPT_CHECKPOINT_OUT"], "epoch").write_text(str(epoch))
"""
CONFIG = {"rate": 0.5, "opt.name": "sgd <fast>"}


def python(tmp_path: Path, script: str, *words: str) -> CommandTrainer:
    file = tmp_path / "train.py"
    file.write_text(script)
    return CommandTrainer((sys.executable, str(file), *words))


def work(tmp_path: Path, epochs: int = 2, start: int = 0, thaw_from: Path | None = None) -> Work:
    freeze_to = tmp_path / f"at-{start + epochs}" / "files"
    freeze_to.mkdir(parents=True)
    resume = Resume() if thaw_from is None else Resume.checkpoint(start, thaw_from)
    return Work(CONFIG, epochs, freeze_to, resume)


def test_a_command_trains_freezes_and_thaws(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    trainer = python(tmp_path, SCRIPT, "{rate}")
    first = work(tmp_path)
    trained, _ = trainer.run(first, None)
    assert (trained.losses, trained.frozen) == ((0.5, 0.25), True)
    assert capfd.readouterr().out == "hello from the command\n"
    assert [path.name for path in first.freeze_to.parent.iterdir()] == ["files"]
    later, _ = trainer.run(work(tmp_path, 1, 2, first.freeze_to), None)
    assert later.losses == (0.5 / 3,)


def test_a_command_that_saves_nothing_is_not_frozen(tmp_path: Path) -> None:
    trained, _ = python(tmp_path, "print('bhpt loss 1')").run(work(tmp_path, 1), None)
    assert (trained.losses, trained.frozen) == ((1.0,), False)


@pytest.mark.parametrize(
    ("line", "regex", "hint"),
    [
        ("echo loss 0.3 && false", None, "'; if && is meant for a shell, write sh -c '...' around"),
        ("echo loss=0.3 | cat", None, r"add --loss-regex '.*'; if \| is meant for a shell"),
        ("echo loss=0.3 > log.txt", "error=(.*)", "BHPT_EPOCHS=1; if > is meant for a shell"),
        ("echo loss 0.3", None, r"add --loss-regex 'loss=[^']*'$"),
    ],
)
def test_what_only_a_shell_understands_is_pointed_out(
    tmp_path: Path, line: str, regex: str | None, hint: str
) -> None:
    trainer = CommandTrainer(Command.parse(line).words, regex)
    with pytest.raises(BadReport, match=hint):
        trainer.run(work(tmp_path, 1), None)


@pytest.mark.parametrize(
    ("script", "match"),
    [
        ("print('bhpt loss 1')", "printed 1 lines .*, not BHPT_EPOCHS=2"),
        ("print('bhpt loss 1\\n' * 3)", "printed 3 lines .*; pass it {epochs}"),
        ("print('loss=0.5')", r"printed 0 lines .*, add --loss-regex 'loss=\(\\S\+\)'$"),
        ("print('bhpt loss cat')", "'bhpt loss cat', which is not a loss"),
        ("print('bhpt loss 1 2')", "not a loss"),
    ],
)
def test_wrong_losses_are_a_bad_report(tmp_path: Path, script: str, match: str) -> None:
    with pytest.raises(BadReport, match=match):
        python(tmp_path, script).run(work(tmp_path), None)


@pytest.mark.parametrize(
    ("script", "match"),
    [
        ("raise SystemExit(3)", "exited with status 3"),
        ("import os; os.kill(os.getpid(), 9)", "was killed by SIGKILL"),
    ],
)
def test_a_command_that_fails_says_how(tmp_path: Path, script: str, match: str) -> None:
    with pytest.raises(TrainerFailed, match=match):
        python(tmp_path, script).run(work(tmp_path), None)


def test_a_child_that_holds_the_output_open_does_not_hold_us(tmp_path: Path) -> None:
    script = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print("child", child.pid)
print("bhpt loss 1", end="")
"""
    began = time.monotonic()
    trained, _ = python(tmp_path, script).run(work(tmp_path, 1), None)
    assert trained.losses == (1.0,)
    assert time.monotonic() - began < 30


def test_a_command_that_closes_its_output_early_may_finish(tmp_path: Path) -> None:
    script = """
import os, time
print("bhpt loss 1", flush=True)
os.close(1)
time.sleep(0.2)
open(os.path.join(os.environ["BHPT_CHECKPOINT_OUT"], "late"), "w").write("x")
"""
    assert python(tmp_path, script).run(work(tmp_path, 1), None)[0].frozen


def test_endless_lines_and_bad_bytes_do_no_harm(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = """
import sys
sys.stdout.buffer.write(b"x" * 300_000 + b"\\xff\\n")
print("bhpt loss 1")
"""
    assert python(tmp_path, script).run(work(tmp_path, 1), None)[0].losses == (1.0,)
    assert capfd.readouterr().out.count("x") == 300_000


@pytest.mark.parametrize(
    ("line", "loss"),
    [("bhpt loss 0.5", 0.5), ("  bhpt  loss\t1e-3 \r", 1e-3), ("bhpt loss inf", math.inf)],
)
def test_protocol_lines(line: str, loss: float) -> None:
    assert parse_report(line, Objective()) == EpochReport(loss)


@pytest.mark.parametrize("line", ["", "loss 0.5", "bhpt", "bhpt losses 1", "epoch 1 bhpt loss 1"])
def test_other_lines_are_none_of_our_business(line: str) -> None:
    assert parse_report(line, Objective()) is None


def test_nan_is_a_loss() -> None:
    report = parse_report("bhpt loss nan", Objective())
    assert report is not None
    assert math.isnan(report.loss)


def test_a_command_may_report_all_its_metrics(tmp_path: Path) -> None:
    script = """
print('bhpt metrics {"acc": 0.5, "loss": 2}')
print('bhpt acc 0.75')
print('bhpt loss 7')
"""
    done = replace(work(tmp_path, 2), objective=Objective("acc", "max"))
    result, _ = python(tmp_path, script).run(done, None)
    assert result.losses == (-0.5, -0.75)
    assert result.metrics == ({"acc": 0.5, "loss": 2.0}, {})


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("bhpt metrics {", "not a JSON object"),
        ("bhpt metrics 3", "not a JSON object"),
        ('bhpt metrics {"loss": 2}', "gave 'loss' but no 'acc'"),
        ('bhpt metrics {"acc": "x"}', "not a number: acc"),
        ("bhpt acc high", "not a acc"),
    ],
)
def test_metrics_that_cannot_be_used_are_named(line: str, match: str) -> None:
    with pytest.raises(BadReport, match=match):
        parse_report(line, Objective("acc", "max"))


def test_values_are_filled_into_the_words() -> None:
    config = {"rate": 0.5, "name": "a b", "flag": True}
    assert fill("--lr={rate}", config) == "--lr=0.5"
    assert fill("{name}/{flag}/{other}/{}", config) == "a b/true/{other}/{}"


@pytest.mark.parametrize(
    ("config", "match"),
    [({"a-b": 1, "a_b": 2}, "share the variable"), ({"a": "x\0y"}, "NUL")],
)
def test_what_no_environment_can_hold_is_refused(
    tmp_path: Path, config: dict[str, object], match: str
) -> None:
    with pytest.raises(BadReport, match=match):
        command_environment(Work(config, 1, tmp_path), tmp_path / "c", tmp_path / "m")


def test_the_whole_configuration_survives_whatever_it_holds(tmp_path: Path) -> None:
    config = {"a": "../<script>\n", "b": [1, None], "c": math.inf}
    variables = command_environment(Work(config, 1, tmp_path), tmp_path / "c", tmp_path / "m")
    assert json.loads(variables["BHPT_CONFIG"]) == config
    assert "BHPT_CHECKPOINT_IN" not in variables


def test_a_command_line_is_split_as_a_shell_would() -> None:
    assert Command.parse("python 'my train.py' --lr {lr}").words == (
        "python",
        "my train.py",
        "--lr",
        "{lr}",
    )


@pytest.mark.parametrize("line", ["", "   ", "python 'open"])
def test_a_command_line_that_is_none_is_refused(line: str) -> None:
    with pytest.raises(Misuse):
        Command.parse(line)


def test_a_command_that_is_not_there_is_refused() -> None:
    with pytest.raises(Misuse, match="no command 'no-such-thing'"):
        load(Command.parse("no-such-thing --lr 1"))


OWN_LINES = """
import sys
for epoch in range(int(sys.argv[1])):
    print(f"epoch {epoch}: train_loss=9 val_loss={0.5 / (epoch + 1)} acc=0.{epoch}",
          file=sys.stderr)
"""


def with_regex(tmp_path: Path, pattern: str) -> CommandTrainer:
    return replace(python(tmp_path, OWN_LINES, "{epochs}"), loss_regex=pattern)


def test_a_pattern_finds_the_loss_in_lines_of_any_kind(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    trained, _ = with_regex(tmp_path, r"val_loss=(\S+)").run(work(tmp_path), None)
    assert trained.losses == (0.5, 0.25)
    assert trained.metrics == ()
    assert "epoch 1" in capfd.readouterr().out


def test_named_groups_are_metrics(tmp_path: Path) -> None:
    pattern = r"val_loss=(?P<loss>\S+) acc=(?P<acc>\S+)"
    trained, _ = with_regex(tmp_path, pattern).run(work(tmp_path), None)
    assert trained.metrics == ({"loss": 0.5, "acc": 0.0}, {"loss": 0.25, "acc": 0.1})


@pytest.mark.parametrize(
    ("pattern", "match"),
    [
        ("test_loss=(.*)", "printed 0 lines that match 'test_loss=.*, not BHPT_EPOCHS=2"),
        ("(epoch)", "finds no number"),
        (r"acc=(?P<acc>\S+)", "gave 'acc' but no 'loss'"),
    ],
)
def test_a_pattern_that_finds_no_loss_is_a_bad_report(
    tmp_path: Path, pattern: str, match: str
) -> None:
    with pytest.raises(BadReport, match=match):
        with_regex(tmp_path, pattern).run(work(tmp_path), None)


@pytest.mark.parametrize(
    ("pattern", "match"), [("(", "no regular expression"), ("loss=", "into brackets")]
)
def test_a_pattern_that_cannot_work_is_refused(pattern: str, match: str) -> None:
    with pytest.raises(Misuse, match=match):
        Command.parse("python train.py", pattern)


def test_a_command_with_a_pattern_is_remembered() -> None:
    spec = Command.parse("python train.py", "loss=(.*)")
    assert spec_from_json(json.loads(json.dumps(spec_to_json(spec)))) == spec
    assert spec_from_json({"command": ["python"]}) == Command(("python",))


def test_reports_in_a_file(tmp_path: Path) -> None:
    script = """
import sys
with open(sys.argv[1], "w") as file:
    print('{"loss": 0.5, "acc": 1}', 0.25, sep="\\n\\n", file=file)
"""
    unit = work(tmp_path)
    trained, _ = python(tmp_path, script, "{metrics_file}").run(unit, None)
    assert trained.losses == (0.5, 0.25)
    assert [path.name for path in unit.freeze_to.parent.iterdir()] == ["files"]
    bad = script.replace("0.25", "'x y'")
    with pytest.raises(BadReport, match="'x y' to BHPT_METRICS_FILE"):
        python(tmp_path, bad, "{metrics_file}").run(work(tmp_path, 3), None)


KEEPS = """
import pathlib, sys
folder, total, done = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
file = folder / "sub" / "epoch"
begun = int(file.read_text()) if file.exists() else 0
assert begun == done
for epoch in range(begun + 1, total + 1):
    print("bhpt loss", 1 / epoch)
if total != 4:
    file.parent.mkdir(exist_ok=True)
    file.write_text(str(total))
"""


def test_a_kept_folder_holds_what_the_command_left_there(tmp_path: Path) -> None:
    trainer = python(tmp_path, KEEPS, "{folder}", "{epochs_total}", "{epochs_done}")
    first = work(tmp_path)
    trained, _ = trainer.run(first, None)
    assert (trained.losses, trained.frozen) == ((1.0, 1 / 2), True)
    later = work(tmp_path, 1, 2, first.freeze_to)
    trained, _ = trainer.run(later, None)
    assert (trained.losses, trained.frozen) == ((1 / 3,), True)
    assert (first.freeze_to / "sub" / "epoch").read_text() == "2"
    unsaved, _ = trainer.run(work(tmp_path, 1, 3, later.freeze_to), None)
    assert (unsaved.losses, unsaved.frozen) == ((1 / 4,), False)


def test_unknown_names_are_refused_before_anything_runs() -> None:
    configs: list[dict[str, object]] = [{"rate": 1, "opt.name": "x"}, {"depth": 2}]
    good = Command.parse("train {rate} {opt.name}-{depth} {folder} {epochs} '{\"a\": 1}' {} { }")
    check_names(good, configs)
    with pytest.raises(Misuse, match=r"has \{lr\}, which is no hyper-parameter: there are rate"):
        check_names(Command.parse("train --lr {lr}"), configs)
