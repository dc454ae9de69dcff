"""Trainers that workers import."""

import json
import math
import time
from collections.abc import Iterator
from pathlib import Path

import bhpt


class Net:
    """A deterministic curve; `sleep` seconds an epoch."""

    def __init__(self, config: dict[str, float]) -> None:
        self.config = config
        self.epoch = 0

    def step(self) -> float:
        self.epoch += 1
        time.sleep(self.config.get("sleep", 0.0))
        x = self.config["x"]
        return abs(x - 0.3) + math.exp(-self.epoch / (2 + 5 * x))

    def save(self, folder: Path) -> None:
        (folder / "net.json").write_text(json.dumps({"epoch": self.epoch}))

    def load(self, folder: Path) -> None:
        self.epoch = json.loads((folder / "net.json").read_text())["epoch"]


class Accurate(Net):
    """Reports metrics, of which one is to be maximised."""

    def step(self) -> dict[str, float]:  # type: ignore[override]
        loss = super().step()
        return {"acc": 1 - loss, "loss": loss, "odd": math.nan}


class NoStep:
    """Lacks a method."""

    def __init__(self, config: dict[str, float]) -> None: ...


def generator(config: dict[str, float]) -> Iterator[float]:
    """The same curve, alive in its worker."""
    net = Net(config)
    while True:
        yield net.step()


def raising(config: dict[str, float] | None) -> Iterator[float]:
    """Never works."""
    print("looking for the data")
    if config is not None:
        raise FileNotFoundError(f"no data for {config}")
    yield 0.0


def returning(config: dict[str, float]) -> float:
    """Never works either: it returns its loss."""
    del config
    return 0.1


def reporting(config: dict[str, float]) -> None:
    """The same curve, reported from a loop that saves and loads."""
    net = Net(config)
    if (folder := bhpt.checkpoint()) is not None:
        net.load(folder)
    while True:
        bhpt.report(net.step(), checkpoint=net.save)


def reporting_alive(config: dict[str, float]) -> None:
    """The same curve, reported from a loop that saves nothing."""
    net = Net(config)
    while True:
        bhpt.report({"loss": net.step(), "x": config["x"]})
