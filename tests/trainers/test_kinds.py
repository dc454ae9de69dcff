import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from bhpt.domain import Misuse, Resume
from bhpt.trainers import BadReport, Command, Imported, Work, check, spec_from_json, spec_to_json


class Net:
    loads = 0

    def __init__(self, config: dict[str, float]) -> None:
        self.rate = config["rate"]
        self.epoch = 0

    def step(self) -> float:
        self.epoch += 1
        return self.rate / self.epoch

    def save(self, folder: Path) -> None:
        (folder / "epoch").write_text(str(self.epoch))

    def load(self, folder: Path) -> None:
        Net.loads += 1
        self.epoch = int((folder / "epoch").read_text())


class Pairs(Net):
    def step(self) -> list[float]:  # type: ignore[override]
        return [super().step(), super().step()]


def train(config: dict[str, float]) -> Iterator[float]:
    for epoch in range(1, 6):
        yield config["rate"] / epoch


def work(
    folder: Path, epochs: int, start: int = 0, thaw_from: Path | None = None, rate: float = 1.0
) -> Work:
    freeze_to = folder / f"at-{start + epochs}"
    freeze_to.mkdir()
    resume = Resume() if not start else Resume.alive(start)
    if thaw_from is not None:
        resume = Resume.checkpoint(start, thaw_from)
    return Work({"rate": rate}, epochs, freeze_to, resume)


def test_a_class_is_stepped_frozen_and_thawed(tmp_path: Path) -> None:
    trainer = check(Net, "Net")
    first = work(tmp_path, 2)
    trained, _ = trainer.run(first, None)
    assert (trained.losses, trained.frozen) == ((1.0, 1 / 2), True)
    later, _ = trainer.run(work(tmp_path, 1, 2, first.freeze_to), None)
    assert later.losses == (1 / 3,)


def test_a_living_class_goes_on_without_loading(tmp_path: Path) -> None:
    trainer = check(Net, "Net")
    _, alive = trainer.run(work(tmp_path, 2), None)
    loads = Net.loads
    assert trainer.run(work(tmp_path, 2, 2), alive)[0].losses == (1 / 3, 1 / 4)
    assert Net.loads == loads


def test_a_class_may_give_several_losses_at_once(tmp_path: Path) -> None:
    trainer = check(Pairs, "Pairs")
    assert trainer.run(work(tmp_path, 4), None)[0].losses == (1.0, 1 / 2, 1 / 3, 1 / 4)
    with pytest.raises(BadReport, match="multiple"):
        trainer.run(work(tmp_path, 3), None)


def test_a_generator_lives_on_and_cannot_be_frozen(tmp_path: Path) -> None:
    trainer = check(train, "train")
    trained, alive = trainer.run(work(tmp_path, 2), None)
    assert (trained.losses, trained.frozen) == ((1.0, 1 / 2), False)
    assert trainer.run(work(tmp_path, 2, 2), alive)[0].losses == (1 / 3, 1 / 4)


def test_a_generator_that_ends_early_is_a_bad_report(tmp_path: Path) -> None:
    with pytest.raises(BadReport, match=r"ended before epoch 9: .* or give max_epochs"):
        check(train, "train").run(work(tmp_path, 9), None)


class NoStep:
    def save(self, folder: Path) -> None: ...

    def load(self, folder: Path) -> None: ...


class NoConfig(Net):
    def __init__(self) -> None: ...


class StepIsNumber(Net):
    step = 3  # type: ignore[assignment]


def greedy(config: dict[str, float], data: str) -> Iterator[float]:
    yield config["rate"] + len(data)


@pytest.mark.parametrize(
    ("trainer", "match"),
    [
        (NoStep, r"lacks step\(\): it needs step\(\), save\(folder\), load\(folder\)"),
        (StepIsNumber, r"lacks step\(\)"),
        (dict, r"lacks step\(\) and save\(folder\) and load\(folder\)"),
        (NoConfig, "configuration as its only argument"),
        (greedy, "configuration as its only argument"),
        (len, "neither a class"),
        (Net({"rate": 1.0}), "the class Net itself, not an object of it"),
        (3, "neither a class"),
        ("x", "neither a class"),
    ],
)
def test_what_is_not_a_trainer_is_told_why(trainer: object, match: str) -> None:
    with pytest.raises(Misuse, match=match) as caught:
        check(trainer, "it")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spec", [Imported("train:Net"), Command(("python", "train.py", "a b"))])
def test_specifications_survive_json(spec: Imported | Command) -> None:
    assert spec_from_json(json.loads(json.dumps(spec_to_json(spec)))) == spec


@pytest.mark.parametrize("value", [{}, {"name": 3}, {"command": []}, {"command": [1]}])
def test_what_is_not_a_specification_is_refused(value: dict[str, object]) -> None:
    with pytest.raises(Misuse):
        spec_from_json(value)


def test_infinite_losses_are_kept(tmp_path: Path) -> None:
    trained, _ = check(Net, "Net").run(work(tmp_path, 1, rate=math.inf), None)
    assert trained.losses == (math.inf,)
