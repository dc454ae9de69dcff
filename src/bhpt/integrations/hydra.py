"""Hydra: `--multirun` under a hard budget. The plug-in itself is in `hydra_plugins`.

A job of Hydra is one unit: the overrides of a configuration and, if the application can go on from
a checkpoint, up to which epoch to train and the folder with what its last job has left there.
"""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hydra.core.override_parser.types import (
    ChoiceSweep,
    IntervalSweep,
    Override,
    Quote,
    QuotedString,
    RangeSweep,
)

from bhpt.domain.errors import Misuse
from bhpt.study.study import AskedUnit

_MOST_VALUES = 10_000  # of a range with a fractional step, which becomes a list


def space_of_overrides(
    overrides: Sequence[Override],
) -> tuple[dict[str, object], list[str]]:
    """The space that overrides describe, and those that are the same for all jobs.

    `a,b` and `choice(a,b)` are choices, `range(1,10)` whole numbers, `interval(0,1)` numbers;
    `tag(log, interval(...))` is on a logarithmic scale, `tag(int, interval(...))` whole.

    Raises:
        Misuse: Nothing is left to choose.
    """
    space: dict[str, object] = {}
    same: list[str] = []
    for override in overrides:
        value = override.value()
        key = override.get_key_element()
        match value:
            case ChoiceSweep():
                space[key] = [_plain(choice) for choice in value.list]
            case RangeSweep():
                space[key] = _range(key, value)
            case IntervalSweep():
                space[key] = _interval(value)
            case _:
                same.append(override.input_line or f"{key}={override.get_value_element_as_str()}")
    if not space:
        raise Misuse("nothing to choose from: give ranges, such as 'lr=interval(0.001,0.1)'")
    return space, same


def _plain(choice: object) -> object:
    return choice.text if isinstance(choice, QuotedString) else choice


def _range(key: str, sweep: RangeSweep) -> object:
    """Whole numbers one after the other, or a list with an order."""
    values = list(_values(sweep))
    if not values:
        raise Misuse(f"{key}: this range has no values: let its end lie above its start")
    if len(values) > _MOST_VALUES:
        raise Misuse(f"{key}: this range has over {_MOST_VALUES} values: use interval() instead")
    whole = all(isinstance(value, int) for value in values)
    if whole and sweep.step == 1 and len(values) > 1:
        return {"min": min(values), "max": max(values), "log": "log" in sweep.tags}
    return {"ordered": sorted(values)}  # no value between the steps, on whichever scale


def _values(sweep: RangeSweep) -> Iterable[int | float]:
    for number, value in enumerate(sweep.range()):
        if number > _MOST_VALUES:
            return
        yield value


def _interval(sweep: IntervalSweep) -> object:
    if sweep.start is None or sweep.end is None:
        raise Misuse("an interval has two ends, such as interval(0.001,0.1)")
    log = "log" in sweep.tags
    if "int" in sweep.tags:
        return {"min": int(sweep.start), "max": int(sweep.end), "log": log}
    return {"min": float(sweep.start), "max": float(sweep.end), "log": log}


@dataclass(frozen=True, slots=True)
class JobFolders:
    """A folder of its own for each unit, which begins as a copy of what the last one left.

    So a job that is killed harms nothing that came before it.

    Attributes:
        root: Where they lie.
    """

    root: Path

    def last(self, unit: AskedUnit) -> Path:
        """Where the last unit of an arm has left its folder; the first one has none before it."""
        return self._after(unit.arm, unit.done)

    def prepare(self, unit: AskedUnit) -> Path:
        """The folder for a unit."""
        folder = self._after(unit.arm, unit.done + unit.epochs)
        if folder.exists():  # a session that was killed has begun it
            shutil.rmtree(folder)
        before = self.last(unit)
        if unit.done and before.is_dir():
            shutil.copytree(before, folder)
        else:
            folder.mkdir(parents=True)
        return folder

    def settle(self, unit: AskedUnit) -> None:
        """Remove what came before, once a unit is in the log."""
        before = self.last(unit)
        if unit.done and before.is_dir():
            shutil.rmtree(before)

    def _after(self, arm: int, epochs: int) -> Path:
        return self.root / f"arm-{arm:04d}" / f"epoch-{epochs:05d}"


@dataclass(frozen=True, slots=True)
class JobKeys:
    """Which keys of the application's configuration say how far to train and from where.

    Attributes:
        epochs: Takes the epoch to train up to; empty if a job trains as a whole.
        folder: Takes the folder to go on from and to save to; empty if there is none.
    """

    epochs: str = ""
    folder: str = ""

    def overrides(self, unit: AskedUnit, same: Sequence[str], folder: Path) -> list[str]:
        """The overrides of the job that trains a unit."""
        own = [f"{name}={_written(value)}" for name, value in unit.config.items()]
        epochs = [f"{self.epochs}={unit.done + unit.epochs}"] if self.epochs else []
        place = [f"{self.folder}={_written(str(folder))}"] if self.folder else []
        return [*same, *own, *epochs, *place]


def _written(value: Any) -> str:  # noqa: ANN401  # any value of a configuration
    """A value as Hydra reads it."""
    if isinstance(value, str):
        quoted: str = QuotedString(value, Quote.single).with_quotes()
        return quoted
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    if isinstance(value, list):
        return f"[{','.join(map(_written, value))}]"
    return repr(value)


def returned(value: Any, unit: AskedUnit) -> list[Any]:  # noqa: ANN401  # whatever a task returns
    """What a job returned as one report an epoch of its unit.

    A job that had to train epochs again may report them, too: the log has them already.

    Raises:
        Misuse: It is none, or not as many as were asked for.
    """
    if value is None:
        raise Misuse("the task function returned nothing: let it return the metric")
    several = isinstance(value, list | tuple) or np.ndim(value) == 1
    reports: list[Any] = list(value) if several else [value]
    if unit.rerun and len(reports) == unit.rerun + unit.epochs:
        return reports[unit.rerun :]
    if len(reports) != unit.epochs:
        raise Misuse(
            f"the task function returned {len(reports)} values where {unit.epochs} epochs were "
            "trained: let it return one for each new epoch"
        )
    return reports
