"""The tasks of the comparison by suite: packaged ones, and those in a folder."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bhpt.bench.catalogue import in_folder
from bhpt.bench.tasks import PACKAGED
from bhpt.domain import Misuse

_LISTINGS = {"lcbench": "datasets", "taskset": "tasks"}


@dataclass(frozen=True)
class Suite:
    """Tasks whose mean is taken together."""

    name: str
    tasks: tuple[str, ...]


def suites(data: Path | None) -> tuple[Suite, ...]:
    """The packaged tables, pairs and collections below `data`, and the synthetic sets."""
    if data is not None and not data.is_dir():
        raise Misuse(f"--data {data}: no such folder")
    own = [name for name in in_folder(data) if name not in PACKAGED]
    found = [Suite("tables", (*PACKAGED, *own))]
    for collection in _LISTINGS:
        labels = _labels(data, collection)
        if labels:
            found.append(Suite(collection, tuple(f"{collection}:{label}" for label in labels)))
    return (*found, Suite("synthetic", ("synthetic",)))


def grouped(tasks: tuple[str, ...]) -> tuple[Suite, ...]:
    """The named tasks, grouped by suite."""
    by_name: dict[str, list[str]] = {}
    for task in tasks:
        by_name.setdefault(_suite_of(task), []).append(task)
    return tuple(Suite(name, tuple(members)) for name, members in by_name.items())


def _suite_of(task: str) -> str:
    collection = task.partition(":")[0]
    if collection in _LISTINGS or collection.startswith("synthetic"):
        return collection
    return "tables"


def _labels(data: Path | None, collection: str) -> list[str]:
    """Names of the tasks in all files of a collection, each once."""
    labels: dict[str, None] = {}
    for file in sorted(data.rglob(f"{collection}*.npz")) if data is not None else []:
        try:
            with np.load(file, allow_pickle=False) as arrays:
                labels.update(dict.fromkeys(str(label) for label in arrays[_LISTINGS[collection]]))
        except (OSError, ValueError, KeyError) as error:
            raise Misuse(f"{file.name} below --data cannot be read: {error}") from error
    return list(labels)
