"""Tasks by name: synthetic ones, packaged tables, and whatever a folder holds."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from bhpt.bench.synthetic import synthetic
from bhpt.bench.tasks import PACKAGED, Task, from_collection, from_pair, packaged
from bhpt.domain import Misuse


@lru_cache(maxsize=8)
def _table(name: str, data: Path | None) -> Task:
    if data is not None and (data / f"{name}.npz").exists():
        return from_pair(data, name)
    if name in PACKAGED:
        return packaged(name)
    collection, _, key = name.partition(":")
    if collection in ("lcbench", "taskset") and key:
        if data is None:
            raise Misuse(f"task {name}: say where its file is with --data FOLDER")
        return from_collection(data, collection, key)
    there = sorted({*PACKAGED, *in_folder(data), "synthetic", "synthetic-raw"})
    raise Misuse(f"unknown task {name!r}: there are {', '.join(there)}")


def in_folder(data: Path | None) -> list[str]:
    """Names of the NAME.npz + NAME.json pairs in a folder."""
    if data is None:
        return []
    return sorted(f.stem for f in data.glob("*.npz") if f.with_suffix(".json").exists())


def load(name: str, seed: int, data: Path | None = None, arms: int | None = None) -> Task:
    """A task by name; the seed chooses the synthetic set and the sampled arms.

    `NAME@EPOCHS` is the same task with another number of epochs in a unit.
    """
    if data is not None and not data.is_dir():
        raise Misuse(f"--data {data}: no such folder")
    if arms is not None and arms < 1:
        raise Misuse(f"--arms {arms}: at least one arm is needed")
    plain, at, unit = name.partition("@")
    if plain in ("synthetic", "synthetic-raw"):
        task = synthetic(seed, anchored=plain == "synthetic")
    else:
        task = _table(plain, data)
    if at:
        task = replace(task, name=name, unit=_epochs(name, unit))
    return task if arms is None else task.sample(arms, seed)


def _epochs(name: str, unit: str) -> int:
    """Epochs of a unit as a task's name has them."""
    if not unit.isdigit() or not int(unit):
        raise Misuse(f"task {name!r}: after @ comes the number of epochs in a unit")
    return int(unit)
