"""The project's exchange format for a tabulated task: `NAME.npz` beside `NAME.json`.

Arrays: `loss` [K, T + 1], smaller is better, column 0 before any training and column t after
epoch t; of the same shape `train_loss` and, for classifiers, `cross_entropy`; `seconds` [K, T].
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .tasks import Config

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Table:
    """A tabulated task.

    Attributes:
        configs: The configuration of each arm, K of them.
        arrays: `loss` and what else was recorded, each with one row an arm.
        metric: What `loss` holds.
        epochs_per_unit: Epochs in one unit of a tuner's budget.
        how: How the table was made, in words.
    """

    configs: list[Config]
    arrays: Mapping[str, FloatArray]
    metric: str
    epochs_per_unit: int
    how: str

    def __post_init__(self) -> None:
        arms = len(self.configs)
        if "loss" not in self.arrays:
            raise ValueError("a table needs an array called 'loss'")
        for name, array in self.arrays.items():
            if array.ndim != 2 or len(array) != arms:
                raise ValueError(
                    f"'{name}' must have two dimensions and one row for each of {arms} "
                    f"configurations, not shape {array.shape}"
                )


def write_table(table: Table, folder: Path, name: str) -> None:
    """Writes both files; each appears whole or not at all.

    Args:
        table: The table.
        folder: Where to; made if missing.
        name: Name of the files, without ending.
    """
    folder.mkdir(parents=True, exist_ok=True)
    words = {
        "metric": table.metric,
        "epochs_per_unit": table.epochs_per_unit,
        "how": table.how,
        "configs": table.configs,
    }
    part = folder / f"{name}.part"
    arrays = {key: np.asarray(array, np.float32) for key, array in table.arrays.items()}
    with part.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    part.replace(folder / f"{name}.npz")
    part.write_text(json.dumps(words, indent=1) + "\n", encoding="utf-8")
    part.replace(folder / f"{name}.json")


def read_table(folder: Path, name: str) -> Table:
    """Reads the pair `NAME.npz` and `NAME.json` from a folder."""
    with np.load(folder / f"{name}.npz") as file:
        arrays = {key: file[key] for key in file.files}
    words = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return Table(
        configs=words["configs"],
        arrays=arrays,
        metric=words["metric"],
        epochs_per_unit=words["epochs_per_unit"],
        how=words["how"],
    )
