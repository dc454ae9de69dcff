"""What a job is: a training that can be run with any configuration of its space."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .ranges import Axis, Config


@dataclass(frozen=True, eq=False)
class Job:
    """One training job.

    Attributes:
        kind: The kind of job, by which tables are grouped.
        metric: What its losses are.
        units: T, the units of a full training.
        about: Data and fixed settings in words.
        axes: What may be tuned.
        train: From a configuration and a seed to T + 1 losses, the untrained one first.
    """

    kind: str
    metric: str
    units: int
    about: str
    axes: tuple[Axis, ...]
    train: Callable[[Config, int], list[float]]


def log_loss(y: NDArray[np.float64], chances: NDArray[np.float64]) -> float:
    """Mean negative logarithm of the chance of the right class; capped where it is 0."""
    right = chances[np.arange(len(y)), y.astype(int)]
    return float(-np.log(np.clip(right, 1e-12, 1.0)).mean())


def squared(y: NDArray[np.float64], guess: NDArray[np.float64]) -> float:
    """Mean squared error."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.mean((y - guess) ** 2))


def write_table(
    out: Path,
    name: str,
    words: dict[str, str],
    configs: Sequence[Config],
    loss: NDArray[np.float32],
) -> str:
    """Write NAME.npz and NAME.json; the second says that both are there.

    Args:
        out: Folder.
        name: Of the table.
        words: Its `metric`, `kind` and `how` it was made.
        configs: One an arm.
        loss: Losses, the untrained ones first, [K, T + 1].

    Returns:
        A line about the table.
    """
    with (out / f"{name}.npz").open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, loss=loss)
    whole = {**words, "epochs_per_unit": 1, "configs": list(configs)}
    (out / f"{name}.json").write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    ends = loss[:, -1]
    best, median = (
        (np.nanmin(ends), np.nanmedian(ends)) if np.isfinite(ends).any() else (np.nan,) * 2
    )
    return (
        f"{name} {loss.shape[0]} x {loss.shape[1] - 1} start {np.nanmedian(loss[:, 0]):.3g} "
        f"best {best:.3g} median {median:.3g} lost {np.isnan(ends).mean():.0%}"
    )
