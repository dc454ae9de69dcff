import functools
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import bhpt
from bhpt.domain import Misuse, Objective, Resume
from bhpt.trainers import (
    BadReport,
    ByValue,
    Trainer,
    Work,
    check,
    load,
    spec_from_json,
    spec_of,
    spec_to_json,
)
from bhpt.trainers.specs import spec_from_wire, spec_to_wire

Config = dict[str, float]
ended: list[str] = []


def saving(config: Config) -> None:
    """Goes on from its checkpoint; its loss is rate / epoch."""
    folder = bhpt.checkpoint()
    epoch = 0 if folder is None else int((folder / "epoch").read_text())
    while True:
        epoch += 1

        def save(folder: Path) -> None:
            (folder / "epoch").write_text(str(epoch))  # noqa: B023  # called at once

        bhpt.report({"loss": config["rate"] / epoch, "epoch": epoch}, checkpoint=save)


def living(config: Config) -> None:
    """Saves nothing."""
    try:
        for epoch in range(1, 6):
            bhpt.report(config["rate"] / epoch)
    finally:
        ended.append("living")


def forgetful(config: Config) -> None:
    """Saves, but loads nothing."""
    while True:
        bhpt.report(config["rate"], checkpoint=lambda folder: (folder / "x").write_text("x"))


def failing(config: Config) -> None:
    bhpt.report(config["rate"])
    raise RuntimeError("no more data")


def silent(config: Config) -> float:
    return config["rate"]


def nested(config: Config) -> None:
    """Reports from a thread of its own."""

    def loop() -> None:
        bhpt.report(config["rate"])
        bhpt.report(config["rate"] / 2)

    thread = threading.Thread(target=loop)
    thread.start()
    thread.join()


def work(folder: Path, epochs: int, resume: Resume | None = None, rerun: int = 0) -> Work:
    start = resume or Resume()
    freeze_to = folder / f"at-{start.epochs + rerun + epochs}"
    freeze_to.mkdir()
    return Work({"rate": 1.0}, epochs, freeze_to, start, rerun)


def trainer_of(function: Callable[[Config], object]) -> Trainer:
    trainer = check(function, function.__name__)
    assert trainer.kind == "function"
    return trainer


def test_a_function_that_saves_is_frozen_and_thawed(tmp_path: Path) -> None:
    first = work(tmp_path, 2)
    result, alive = trainer_of(saving).run(first, None)
    assert (result.losses, result.frozen) == ((1.0, 1 / 2), True)
    assert result.metrics[1] == {"loss": 1 / 2, "epoch": 2}
    assert (first.freeze_to / "epoch").read_text() == "2"
    assert alive is not None
    trainer_of(saving).drop(alive)
    later = work(tmp_path, 1, Resume.checkpoint(2, first.freeze_to))
    thawed, again = trainer_of(saving).run(later, None)
    assert thawed.losses == (1 / 3,)
    assert again is not None
    trainer_of(saving).drop(again)


def test_the_time_that_saving_takes_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = iter(range(0, 100, 7))
    monkeypatch.setattr("bhpt.domain.stopwatch.time.monotonic", lambda: float(next(ticks)))
    result, alive = trainer_of(saving).run(work(tmp_path, 2), None)
    assert result.usage.checkpoint_s == 7.0
    trainer_of(saving).drop(alive)


def test_a_function_that_does_not_save_lives_on(tmp_path: Path) -> None:
    trainer = trainer_of(living)
    result, alive = trainer.run(work(tmp_path, 2), None)
    assert (result.losses, result.frozen) == ((1.0, 1 / 2), False)
    result, alive = trainer.run(work(tmp_path, 2, Resume.alive(2)), alive)
    assert result.losses == (1 / 3, 1 / 4)
    ended.clear()
    assert alive is not None
    trainer.drop(alive)
    assert ended == ["living"]
    trainer.drop(alive)  # a second time is no harm


def test_what_was_lost_is_trained_again_and_not_reported(tmp_path: Path) -> None:
    result, alive = trainer_of(living).run(work(tmp_path, 1, rerun=2), None)
    assert result.losses == (1 / 3,)
    assert alive is not None
    trainer_of(living).drop(alive)


def test_a_folder_or_a_file_is_copied(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    (made / "model.json").write_text(json.dumps([1]))

    def copying(config: Config) -> None:  # noqa: ARG001
        bhpt.report(0.5, checkpoint=made)
        bhpt.report(0.4, checkpoint=str(made / "model.json"))

    trainer = trainer_of(copying)
    alive: object | None = None
    for resume in (None, Resume.alive(1)):
        unit = work(tmp_path, 1, resume)
        result, alive = trainer.run(unit, alive)
        assert result.frozen
        assert (unit.freeze_to / "model.json").read_text() == "[1]"
    assert alive is not None
    trainer.drop(alive)


def test_a_report_may_come_from_another_thread(tmp_path: Path) -> None:
    result, _ = trainer_of(nested).run(work(tmp_path, 2), None)
    assert result.losses == (1.0, 0.5)


@pytest.mark.parametrize(
    ("function", "epochs", "error", "match"),
    [
        (living, 9, BadReport, "living ended before epoch 9: "),
        (silent, 1, BadReport, "silent returned 1.0, which nobody reads"),
        (lambda _: None, 1, BadReport, "ended before epoch 1: let it call bhpt.report"),
        (
            lambda _: 0.25,
            1,
            BadReport,
            r"returned 0.25, which nobody reads: let it call bhpt.report",
        ),
        (failing, 2, RuntimeError, "no more data"),
        (lambda _: bhpt.report({"acc": 1}), 1, BadReport, "gave 'acc' but no 'loss'"),
        (lambda _: bhpt.report("good"), 1, BadReport, "not a number"),
        (lambda _: bhpt.report([1, 2, 3]), 2, BadReport, "gave 3 epochs, not 2"),
        (lambda _: bhpt.report(1, checkpoint="gone"), 1, BadReport, "no checkpoint 'gone'"),
        (lambda _: bhpt.report(1, checkpoint=print), 1, BadReport, "checkpoint is empty"),
        (lambda _: sys.exit(3), 1, SystemExit, "3"),
        (lambda _: (1.0 for _ in range(9)), 1, BadReport, "returned a generator: hand over"),
    ],
)
def test_what_goes_wrong_is_raised_in_the_worker(
    tmp_path: Path,
    function: Callable[[Config], object],
    epochs: int,
    error: type[BaseException],
    match: str,
) -> None:
    with pytest.raises(error, match=match):
        trainer_of(function).run(work(tmp_path, epochs), None)


def test_a_function_that_saves_must_load(tmp_path: Path) -> None:
    first = work(tmp_path, 1)
    _, alive = trainer_of(forgetful).run(first, None)
    assert alive is not None
    trainer_of(forgetful).drop(alive)
    with pytest.raises(BadReport, match=r"never called bhpt.checkpoint\(\)"):
        trainer_of(forgetful).run(work(tmp_path, 1, Resume.checkpoint(1, first.freeze_to)), None)


def test_checkpoint_comes_before_the_first_report(tmp_path: Path) -> None:
    def late(config: Config) -> None:
        bhpt.report(config["rate"])
        bhpt.checkpoint()

    with pytest.raises(Misuse, match="before the first"):
        trainer_of(late).run(work(tmp_path, 2), None)


@pytest.mark.parametrize("call", [lambda: bhpt.report(1.0), bhpt.checkpoint])
def test_outside_of_a_training_function_they_say_so(call: Callable[[], object]) -> None:
    with pytest.raises(Misuse, match="inside a training function"):
        call()


def test_a_metric_that_is_maximised(tmp_path: Path) -> None:
    unit = Work({"rate": 0.9}, 1, tmp_path, objective=Objective("acc", "max"))
    result, _ = trainer_of(lambda config: bhpt.report({"acc": config["rate"]})).run(unit, None)
    assert result.losses == (-0.9,)


def scaled(factor: float, config: Config) -> None:
    bhpt.report(factor * config["rate"])


def test_closures_and_partials_are_sent_by_value(tmp_path: Path) -> None:
    factor = 3.0

    def closure(config: Config) -> None:
        bhpt.report(factor * config["rate"])

    for trainer in (closure, functools.partial(scaled, 3.0)):
        spec = spec_of(trainer)
        assert isinstance(spec, ByValue)
        sent = spec_from_wire(json.loads(json.dumps(spec_to_wire(spec))))
        assert sent == spec
        folder = tmp_path / spec.name
        folder.mkdir()
        result, _ = load(sent).run(Work({"rate": 1.0}, 1, folder), None)
        assert result.losses == (3.0,)


def test_what_is_sent_by_value_is_never_stored() -> None:
    spec = spec_of(lambda config: bhpt.report(config["rate"]))
    stored = spec_to_json(spec)
    assert stored == {"by_value": "<lambda>"}
    with pytest.raises(Misuse, match=r"bhpt\.resume\(study, trainer=\.\.\.\)"):
        spec_from_json(stored)


def test_what_cannot_be_sent_is_refused_in_one_line() -> None:
    lock = threading.Lock()

    def locked(config: Config) -> None:
        with lock:
            bhpt.report(config["rate"])

    with pytest.raises(Misuse, match="locked cannot be sent to the workers") as caught:
        spec_of(locked)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_made_in_a_worker_is_one_line() -> None:
    with pytest.raises(Misuse, match="cannot be made in a worker"):
        load(ByValue("it", b"no pickle"))
